"""The plugin API changes only when that is announced: by its version, and in the list of changes.

`python tests/plugin/test_surface.py` records the surface of a new version.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loomconv.plugin as api

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
PLUGINS = ROOT / "plugins" / "loomconv_plugins"
RECORDS = Path(__file__).parent / "surfaces"
VERSION = ".".join(map(str, api.API_VERSION))
REFERENCE = (ROOT / "docs" / "plugin-reference.md").read_text("utf-8")


def surface() -> list[str]:
    found: list[str] = importlib.import_module("reference").surface()
    return found


def records() -> dict[tuple[int, int], list[str]]:
    """Version → its surface, in order."""
    found = {}
    for path in RECORDS.glob("*.txt"):
        first, second = path.stem.split(".")
        found[int(first), int(second)] = path.read_text("utf-8").splitlines()
    return dict(sorted(found.items()))


def test_the_surface_is_as_announced() -> None:
    announced = set(records()[api.API_VERSION])
    present = set(surface())
    assert present == announced, (
        "The plugin API has changed. Raise API_VERSION (the second number if something was added, the first one if "
        "something went or means something else), add a line to the list of changes in docs/reference.py, and record "
        "it: python tests/plugin/test_surface.py"
    )


def test_every_version_is_in_the_list_of_changes() -> None:
    listed = re.findall(r"^\| (\d+\.\d+) \|", REFERENCE, re.MULTILINE)
    assert listed == [".".join(map(str, version)) for version in records()]
    assert listed[-1] == VERSION


def test_nothing_goes_but_with_the_first_number() -> None:
    former = None
    for version, lines in records().items():
        if former is not None and former[0][0] == version[0]:
            assert set(former[1]) <= set(lines)
        former = (version, lines)
    assert former is not None


def test_every_public_name_is_there_and_on_the_page() -> None:
    homes = [name for by_home in api.SUBJECTS.values() for names in by_home.values() for name in names]
    assert sorted(homes) == sorted(api.__all__) and len(set(homes)) == len(homes)
    assert set(dir(api)) == set(api.__all__)
    for name in api.__all__:
        assert getattr(api, name) is not None
        assert f"### `{name}`" in REFERENCE
    with pytest.raises(AttributeError, match="has no attribute 'Registry'"):
        api.Registry  # noqa: B018


def test_a_deprecated_name_works_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api.DEPRECATED, "make_id", api.Deprecated("loomconv.model.ids", "1.1", "2.0", "mint_ulid"))
    monkeypatch.setattr("loomconv.model.ids.make_id", api.mint_ulid, raising=False)
    with pytest.warns(DeprecationWarning, match=r"deprecated since plugin API 1.1 and goes with 2.0: use mint_ulid"):
        assert api.make_id is api.mint_ulid


# The log for running programs is a public part of loomconv with a page of its own (docs/write-log.md).
OF_THE_WRITE_LOG = "loomconv.writelog"


def public_objects() -> list[object]:
    """What the names of the API, and those of its modules, stand for."""
    found: list[object] = [getattr(api, name) for name in api.__all__]
    for module in (api.jsontext, api.times):
        found += [getattr(module, name) for name in module.__all__]
    return found


def imported_by(path: Path) -> Iterator[tuple[str, str]]:
    """What a module takes from the hub: module and name."""
    for each in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(each, ast.ImportFrom) and each.module and each.module.partition(".")[0] == "loomconv":
            yield from ((each.module, alias.name) for alias in each.names)


@pytest.mark.parametrize("folder", sorted(path.name for path in PLUGINS.iterdir() if path.name[0] != "_"))
def test_formats_that_come_along_use_nothing_that_a_strangers_cannot(folder: str) -> None:
    public = public_objects()
    private = {
        f"{module}.{name}"
        for path in (PLUGINS / folder).glob("*.py")
        for module, name in imported_by(path)
        if module != OF_THE_WRITE_LOG
        and not any(getattr(importlib.import_module(module), name) is each for each in public)
    }
    assert private == set()


@pytest.mark.parametrize("project", ["loomconv-canopy", "loomconv-mycelium"])
def test_strangers_formats_import_the_one_module_and_nothing_else(project: str) -> None:
    sources = list((ROOT / "fixtures" / "third_party" / project / "src").rglob("*.py"))
    assert sources
    assert {module for path in sources for module, _ in imported_by(path)} == {"loomconv.plugin"}


def test_the_docstrings_say_something() -> None:
    for name in api.__all__:
        value = getattr(api, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name


if __name__ == "__main__":
    target = RECORDS / f"{VERSION}.txt"
    if target.exists() and "--again" not in sys.argv:
        sys.exit(f"version {VERSION} is recorded already: raise API_VERSION in loomconv/format.py first")
    RECORDS.mkdir(exist_ok=True)
    target.write_text("".join(f"{line}\n" for line in surface()), encoding="utf-8")
