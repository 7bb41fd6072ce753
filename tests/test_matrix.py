"""Every format against every other: A → B → A is the identity for every fixture (promise 4), chains included."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from loomconv import LoomconvError, Report, load
from loomconv.errors import PluginFault
from loomconv.options import ConversionOptions
from loomconv.registry import default_registry
from loomconv.roundtrip import round_trip

FIXTURES = Path(__file__).parents[1] / "fixtures"
FORMATS = sorted(default_registry().formats)

# Fixtures that do not come back the same, each with the reason. Everything else must.
EXCEPTIONS = {
    "openloom-2/gap-a02-duplicate-key.openloom": "another format cannot have a key twice; reported",
    "openloom-1/root-dangling-several.openloom.json": "several roots, which the format cannot have; it gets one",
    "socketteer/lone-surrogate.json": "the app cannot open half a character; reported",
}


@cache
def _is_clean(path: Path) -> bool:
    """Whether the file can be read and nothing in it had to be mended or left out."""
    try:
        return load(str(path), report=Report()).pristine
    except PluginFault:
        raise
    except LoomconvError:
        return False


def _fixtures() -> list[tuple[str, str]]:
    found = []
    for name in FORMATS:
        for path in sorted((FIXTURES / name).rglob("*")):
            if path.is_file() and path.suffix != ".md" and "backups" not in path.parts:
                found.append((name, path.relative_to(FIXTURES).as_posix()))
    return found


# A format that writes files of several kinds goes through each of them.
KINDS = {"aspen-grove": ("dump", "database", "openloom")}
PAIRS = [(name, path, via) for name, path in _fixtures() for via in FORMATS if via != name]
KIND_PAIRS = [
    (path, via, kind) for _, path in _fixtures() for via, kinds in KINDS.items() for kind in kinds if via not in path
]


@pytest.mark.parametrize(("name", "path", "via"), PAIRS, ids=[f"{path}-{via}" for _, path, via in PAIRS])
def test_there_and_back(name: str, path: str, via: str) -> None:
    source = FIXTURES / path
    if not _is_clean(source):
        # Mended files have tests of their own; here it only matters that they convert or are refused in words.
        try:
            trip = round_trip(str(source), [via])
        except PluginFault:
            raise
        except LoomconvError as error:
            assert str(error)
        else:
            assert trip.steps
        return
    trip = round_trip(str(source), [via])
    shown = [(each.pointer, each.left, each.right) for each in trip.differences[:5]]
    if path in EXCEPTIONS:
        return
    assert not shown, shown


@pytest.mark.parametrize(("path", "via", "kind"), KIND_PAIRS, ids=[f"{path}-{kind}" for path, _, kind in KIND_PAIRS])
def test_there_and_back_by_every_kind_of_file(path: str, via: str, kind: str) -> None:
    if not _is_clean(FIXTURES / path) or path in EXCEPTIONS:
        return
    trip = round_trip(FIXTURES / path, [via], options=ConversionOptions(format_options={via: {"as": kind}}))
    assert not [(each.pointer, each.left, each.right) for each in trip.differences[:5]]


@pytest.mark.parametrize("path", sorted(EXCEPTIONS))
def test_exceptions_are_still_needed(path: str) -> None:
    name = path.split("/")[0]
    assert any(round_trip(str(FIXTURES / path), [via]).differences for via in FORMATS if via != name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_chain_through_all_formats_comes_home(name: str) -> None:
    sample = {
        "aspen-grove": "aspen-grove/full.aspen-grove.json",
        "loom-write-log": "loom-write-log/history.loom.jsonl",
        "miniloom": "miniloom/full.json",
        "openloom-1": "openloom-1/swift-layout.openloom.json",
        "openloom-2": "openloom-2/full.openloom",
        "socketteer": "socketteer/full.json",
    }[name]
    others = [other for other in FORMATS if other != name]
    trip = round_trip(str(FIXTURES / sample), [*others, *reversed(others)])
    assert not trip.differences
