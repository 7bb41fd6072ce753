"""Every fixture is what the table says: valid, or wrong in the way that `faults.json` names."""

from __future__ import annotations

import json
import math
import re
import zipfile
from pathlib import Path

import pytest

from loomconv.schema import engines, load_schema, validate, validate_nodes
from loomconv.validation import validate_file

FIXTURES = Path(__file__).parents[2] / "fixtures"
FAULTS = json.loads((FIXTURES / "faults.json").read_text("utf-8"))
FORMATS = ("openloom-1", "openloom-2", "socketteer")
SCHEMAS = {name: load_schema("loomconv_schemas", f"{name}.schema.json") for name in FORMATS}
# All formats that have fixtures; those of the tree formats are checked file by file here.
FOLDERS = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "third_party")
FILES = sorted(
    path.relative_to(FIXTURES).as_posix() for name in FOLDERS for path in (FIXTURES / name).rglob("*") if path.is_file()
)

# What keeps a file from being JSON at all, and what a schema sees of the rest. Everything else is for readers to find.
UNREADABLE = {"bad-encoding", "non-finite-number", "not-json", "syntax", "truncated"}
SEEN = {
    "openloom-1": {"bad-text", "missing-id", "unknown-author"},
    "openloom-2": {
        *("author", "bad-edge", "bad-time", "bad-value", "content", "edge-type", "empty-tree", "major-version", "meta"),
        *("missing-edges", "missing-id", "missing-roots", "no-trees", "null", "opaque-node", "title", "version"),
    },
    "socketteer": {"bad-text", "bad-value", "child-ids", "missing-id", "not-a-tree", "sidecar"},
}


def refuse(constant):
    raise ValueError(constant)


def parse(text):
    # Python gives up on integers of more than 4,300 digits; their value does not matter here.
    return json.loads(text, parse_constant=refuse, parse_int=lambda n: int(n) if len(n) < 4000 else math.inf)


def pieces(path):
    """What the file holds, and the definition of the schema that it has to meet (None: the whole schema)."""
    file = FIXTURES / path
    if path.endswith(".zip"):
        with zipfile.ZipFile(file) as bundle:
            return [parse(bundle.read("tree.openloom").decode())], None
    text = file.read_bytes().decode("utf-8-sig")
    if path.endswith(".jsonl"):
        return [parse(line) for line in text.split("\n") if line], "jsonlLine"
    return [parse(text)], "sidecar" if "/backups/" in path else None


@pytest.mark.parametrize("path", [path for path in FILES if path.split("/")[0] not in FORMATS])
def test_fixture_of_another_format(path):
    """Sound files meet the schema of their format (lines and databases by way of the format's own check)."""
    if path in FAULTS:
        return
    report = validate_file(FIXTURES / path).report
    assert not report.codes["validate.schema"]


@pytest.mark.parametrize("path", [path for path in FILES if path.split("/")[0] in FORMATS])
def test_fixture(path):
    name, faults = path.split("/")[0], set(FAULTS.get(path, ()))
    if faults & UNREADABLE:
        with pytest.raises(ValueError):
            pieces(path)
        return
    values, definition = pieces(path)
    for bulk in ("reference", "auto") if engines._fast_library() is not None else ("reference",):
        if definition is None:
            found = validate(values[0], SCHEMAS[name], bulk=bulk)
        else:
            found = validate_nodes(((f"/{n}", v) for n, v in enumerate(values)), SCHEMAS[name], definition).faults
        assert bool(found) == bool(faults & SEEN[name]), found


def test_every_fixture_is_in_the_table_and_every_fault_has_a_file():
    text = (FIXTURES / "README.md").read_text("utf-8")
    listed = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name = section.split("\n")[0]
        listed += [f"{name}/{file}" for file in re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)]
    assert sorted(listed) == FILES
    assert set(FAULTS) <= set(FILES)
    assert list(FAULTS) == sorted(FAULTS)


def test_the_table_names_the_faults():
    text = (FIXTURES / "README.md").read_text("utf-8")
    for path, faults in FAULTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{path.split('/', 1)[1]}` |"))
        if text.count(f"\n| `{path.split('/', 1)[1]}` |") == 1:
            assert row.endswith(f"| {', '.join(faults)} | CC0 |")
