"""Every fixture: what is found in it, and that writing gives back what was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loomconv import jsontext
from loomconv.errors import LoomconvError
from tests.made import as_json, spelled
from tests.plugins.openloom_2.harness import FIXTURES, dump, faults, load, rewritten, value_of

EXPECTED = json.loads((Path(__file__).parent / "expected_findings.json").read_text("utf-8"))
READABLE = sorted(name for name, found in EXPECTED.items() if isinstance(found, dict))
# Bundles have tests of their own (tests/media).
CLEAN = [name for name in READABLE if load(name)[0].pristine and not name.endswith(".zip")]

# Fixtures whose bytes the writer does not give back when something in them was edited, and why; their values it does.
OTHER_BYTES = {
    "escapes.openloom": "the title's needless escapes, and a short list on one line",
    "gap-a02-duplicate-key.openloom": "the first of two nodes with one key is gone; a node with a key twice keeps it",
    "layout-tabs-crlf.openloom": "the blank lines at the end",
    "number-beyond-double.openloom": "a short list on one line",
    "numbers.openloom": "a short list on one line",
}
# What is found again in what was written, since it is left as it is.
STAYS = {
    "gap-a02-duplicate-key.openloom": {"read.duplicate-key": 1},
    "gap-a20-lineage.openloom": {"repair.bad-lineage": 1},
    "gap-a21-no-nodes.openloom": {"repair.empty-tree": 1},
    "gap-a39-lone-surrogate.openloom": {"read.exact": 1, "read.lone-surrogate": 2},
    "minor-2.7.openloom": {"read.version": 1},
    "repair-bad-node.openloom": {"read.opaque-node": 3},
}


def test_the_table_has_every_fixture() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in FIXTURES.iterdir())
    assert set(OTHER_BYTES) | set(STAYS) <= set(READABLE)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_found(name: str) -> None:
    expected = EXPECTED[name]
    if isinstance(expected, str):
        with pytest.raises(LoomconvError) as caught:
            load(name)
        assert type(caught.value).__name__ == expected
        assert name in str(caught.value)
        return
    _, report = load(name)
    assert dict(report.codes) == expected


@pytest.mark.parametrize("name", CLEAN)
def test_untouched_is_the_same_bytes(name: str) -> None:
    document, _ = load(name)
    assert dump(document) == (FIXTURES / name).read_bytes()


@pytest.mark.parametrize("name", CLEAN)
def test_written_again_is_the_same_bytes_or_values(name: str) -> None:
    source = (FIXTURES / name).read_bytes()
    document, _ = load(name)
    written = rewritten(document)
    assert (written == source) != (name in OTHER_BYTES)
    assert spelled(value_of(written)) == spelled(value_of(source)), "spelling of numbers included"
    assert list(value_of(written)) == list(value_of(source))


@pytest.mark.parametrize("name", [name for name in READABLE if not name.endswith(".zip")])
def test_what_was_written_is_in_order_and_stable(name: str) -> None:
    document, _ = load(name)
    before = spelled(as_json(document))
    written = rewritten(document)
    again, report = load(written)
    assert faults(report) == STAYS.get(name, {})
    assert spelled(as_json(again)) == before
    assert rewritten(again) == written


@pytest.mark.parametrize("name", CLEAN)
def test_the_mapping_says_what_the_file_says(name: str) -> None:
    """Looked at through the model, nothing is missing and nothing is added."""
    document, _ = load(name)
    value = value_of((FIXTURES / name).read_bytes())
    for tree in value["trees"]:
        for node_id, node in tree["nodes"].items():
            if not isinstance(node, dict):
                tree["nodes"][node_id] = {
                    "id": node_id,
                    "content": [],
                    "author": {"role": "human"},
                    "extensions": {"loomconv": {"opaque": node}},
                }
        tree.setdefault("edges", [])
    assert spelled(as_json(document)) == spelled(value)


@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("layout", ["lines", "compact", "indented"])
def test_a_new_file_has_the_layout_that_was_chosen(name: str, layout: str) -> None:
    document, _ = load(name)
    document.origin = None
    written = dump(document, format_options={"openloom-2": {"layout": layout}})
    assert spelled(value_of(written)["trees"]) == spelled(value_of((FIXTURES / name).read_bytes())["trees"])
    lines = written.count(b"\n")
    nodes = sum(len(tree.nodes) for tree in document.trees)
    if layout == "compact":
        assert lines == 0
        assert jsontext.recognise_layout(written, written[-64:]) == jsontext.COMPACT
    elif layout == "lines":
        assert nodes < lines < 40 + 8 * nodes
    else:
        assert b'\n  "trees": [' in written
