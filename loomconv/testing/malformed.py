"""Checks with files that are not as they should be: every one ends in findings or in an error that says what to do."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from loomconv import api
from loomconv.errors import LoomconvError, PluginFault
from loomconv.testing.looms import link, loom, node
from loomconv.testing.problems import Problem
from loomconv.testing.subject import Subject

__all__ = ["cut", "damaged", "written_damaged"]

_LARGEST: Final = 200_000
# Wrong types, empty things, numbers beyond all, half a character, and things within things.
_JUNK: Final[tuple[Any, ...]] = (
    *(None, 5, -1, 0.5, True, "", "x", "\ud83e", 10**30, [], {}, [None], [[]], [5], {"a": None}, {"id": {}}),
    *("../../etc/passwd", "\0", "9" * 400, {"extensions": 5}, [{"id": 1}, {"id": 1}]),
)
_ROUNDS: Final = 150
_BYTES: Final = 60


def cut(subject: Subject, fixture: Path, folder: Path) -> Iterator[Problem]:
    """The file ends too early: behind its first bytes, in between, in the middle of a text, just before its end."""
    data = fixture.read_bytes()[:_LARGEST]
    quote, comma = data.rfind(b'"'), data.rfind(b",")
    offsets = {1, 2, 3, len(data) - 1, len(data) - 2, quote, quote + 1, comma, comma + 1}
    offsets |= {len(data) * part // 17 for part in range(1, 17)}
    # In the middle of a character.
    offsets.add(next((position + 1 for position, byte in enumerate(data) if byte >= 0x80), 0))
    for offset in sorted(each for each in offsets if 0 < each < len(data)):
        yield from _tried(subject, folder, fixture.suffix, data[:offset], f"{fixture.name} cut behind byte {offset}")


def damaged(subject: Subject, fixture: Path, folder: Path) -> Iterator[Problem]:
    """Values are other ones: of other types, the same id twice, links in a ring or to nowhere, keys that are gone."""
    yield from _damage(subject, fixture.read_bytes(), fixture.suffix, folder, fixture.name)


def written_damaged(subject: Subject, folder: Path) -> Iterator[Problem]:
    """The same with a file that was written, for formats without fixtures."""
    nodes = [node(f"n{number}", f"text {number}", meta={"tags": ["t"]}) for number in range(5)]
    value = loom(*nodes, edges=[link("n0", f"n{number}") for number in range(1, 5)], title="T", currentNodeId="n2")
    path = subject.write(value, folder, stem="to-damage")
    yield from _damage(subject, path.read_bytes(), path.suffix, folder, "a written file")


def _damage(subject: Subject, data: bytes, suffix: str, folder: Path, name: str) -> Iterator[Problem]:
    if len(data) > _LARGEST:
        return
    chance = random.Random(name)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    for number in range(max(1, int((_ROUNDS if value is not None else _BYTES) * min(subject.effort, 1)))):
        spoilt = _other_value(data, chance) if value is not None and number % 5 else _other_bytes(data, chance)
        yield from _tried(subject, folder, suffix, spoilt, f"{name}, damage {number}")


def _other_value(data: bytes, chance: random.Random) -> bytes:
    """The JSON text with one to three values replaced, removed, doubled, or swapped with another one's."""
    value = json.loads(data)
    for _ in range(chance.randint(1, 3)):
        places = _places(value)
        if not places:
            break
        holder, key = chance.choice(places)
        what = chance.random()
        if what < 0.5:
            holder[key] = copy.deepcopy(chance.choice(_JUNK))
        elif what < 0.65 and isinstance(holder, dict):
            del holder[key]
        elif what < 0.75 and isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            # Links in a ring, links to nowhere and ids that are there twice are values in another's place.
            other, other_key = chance.choice([each for each in places if type(each[1]) is type(key)])
            holder[key] = json.loads(json.dumps(other[other_key]))
    return json.dumps(value).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys; without recursion."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        current = waiting.pop()
        keys = list(current) if isinstance(current, dict) else range(len(current)) if isinstance(current, list) else ()
        for key in keys:
            found.append((current, key))
            waiting.append(current[key])
    return found


def _other_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _tried(subject: Subject, folder: Path, suffix: str, data: bytes, where: str) -> Iterator[Problem]:
    """Read it and, if that can be done, write it to the pivot's format and to the format itself."""
    path = folder / f"spoilt{suffix}"
    path.write_bytes(data)
    pivot = folder / f"spoilt-pivot{subject.suffix_of(subject.pivot)}"
    try:
        api.convert(
            path,
            pivot,
            source_format=subject.format.name,
            target_format=subject.pivot.name,
            registry=subject.registry,
        )
        if subject.format.writes:
            api.convert(
                pivot,
                folder / f"spoilt-again{suffix}",
                source_format=subject.pivot.name,
                target_format=subject.format.name,
                registry=subject.registry,
            )
    except PluginFault as error:
        yield Problem(
            error.message,
            f"{where} ({path.name} with {len(data)} bytes begins with {data[:60]!r})",
            "ask for the type of everything that you read; a bad value is reported and kept, only a file that is no "
            "document at all raises InvalidDocument or UnreadableFile",
        )
    except LoomconvError as error:
        if not error.message:
            yield Problem("the error says nothing", where, "name what is wrong and what to do")
    except Exception as error:  # nothing else may come out
        yield Problem(
            f"{type(error).__name__} came out",
            where,
            "raise InvalidDocument or UnreadableFile for what cannot be read",
        )
