"""Damaged files of every format convert or are refused in words: nothing else ever comes out."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from loomconv.api import convert
from loomconv.errors import LoomconvError, PluginFault
from loomconv.registry import default_registry

FIXTURES = Path(__file__).parents[1] / "fixtures"
ROUNDS = int(40 * float(os.environ.get("LOOMCONV_TEST_EFFORT", "1")))
VALUE = re.compile(rb'(?<=:)\s*("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|null|true|false|\[\]|\{\})')
JUNK = [
    *(b"null", b"5", b'"x"', b"[]", b"{}", b"true", b"-1", b"1e999", b'"1"', b"[null]", b'"\\ud83e"', b"[[]]"),
    *(b'{"openloom":{"nodes":{"2":5},"tree":3}}', b'{"aspen-grove":{"marks":5,"stash":7,"ids":[]},"loomconv":[]}'),
]


def damaged(data: bytes, chance: random.Random, *, is_text: bool) -> bytes:
    """The bytes with some values replaced by others, or some bytes by any."""
    changed = bytearray(data)
    places = [match.span() for match in VALUE.finditer(data)] if is_text else []
    if places and chance.random() < 0.7:
        for start, end in sorted(chance.sample(places, min(len(places), chance.randint(1, 3))), reverse=True):
            changed[start:end] = chance.choice(JUNK)
    else:
        for _ in range(chance.randint(1, 5)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("name", sorted(default_registry().formats))
def test_damage_is_never_a_fault_of_the_program(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    files = [path for path in sorted((FIXTURES / name).iterdir()) if path.is_file() and path.stat().st_size < 200_000]
    targets = sorted(default_registry().formats)
    outcomes = {"converted": 0, "refused": 0}
    for number in range(ROUNDS):
        path = chance.choice(files)
        source = tmp_path / f"in{path.suffix}"
        source.write_bytes(damaged(path.read_bytes(), chance, is_text=path.suffix != ".db"))
        target = targets[number % len(targets)]
        kind = chance.choice([".db", ".json"]) if target == "aspen-grove" else ".x"
        try:
            convert(source, tmp_path / f"out{kind}", source_format=name, target_format=target)
            convert(tmp_path / f"out{kind}", tmp_path / "back.openloom", source_format=target)
        except PluginFault:
            raise
        except LoomconvError as error:
            assert str(error)
            outcomes["refused"] += 1
        else:
            outcomes["converted"] += 1
    assert outcomes["converted"] > 0


@pytest.mark.parametrize("name", sorted(default_registry().formats))
def test_a_byte_that_is_no_text_may_stand_anywhere(name: str, tmp_path: Path) -> None:
    """In keys and values that a quick reader passes over, too."""
    chance = random.Random(name)
    files = [path for path in sorted((FIXTURES / name).iterdir()) if path.is_file() and path.stat().st_size < 20_000]
    for number in range(ROUNDS * 2):
        path = chance.choice(files)
        data = path.read_bytes()
        places = [match.start() + 1 for match in re.finditer(rb'"', data)] or [len(data) // 2]
        place = chance.choice(places)
        source = tmp_path / f"in{path.suffix}"
        source.write_bytes(data[:place] + b"\xff" + data[place:])
        try:
            convert(source, tmp_path / f"out-{number}.openloom", source_format=name)
        except LoomconvError as error:
            assert not isinstance(error, PluginFault), f"{path.name} at {place}: {error}"
