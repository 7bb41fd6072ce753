"""The two laws of a lens, for documents of all kinds and in every layout."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.jsontext import COMPACT, PYTHON_INDENT_4, SWIFT, TWO_SPACES, Layout
from loomconv.model import Document
from tests.made import as_json, damaged, document_from, documents, examples, node, spelled
from tests.plugins.openloom_2.harness import dump, faults, load, rewritten, value_of

LAYOUTS = st.sampled_from(
    [
        COMPACT,
        PYTHON_INDENT_4,
        SWIFT,
        TWO_SPACES,
        Layout(indent="\t", newline="\r\n", key_separator=": ", final_newline=True),
    ]
)


@examples(40)
@given(documents(), LAYOUTS)
def test_what_was_read_is_written_back(value: dict[str, Any], layout: Layout) -> None:
    """GetPut: the same bytes untouched, the same values rewritten; no finding says that anything is wrong."""
    source = jsontext.dump(value, layout)
    document, report = load(source)
    assert not set(faults(report)) - {"read.exact", "read.lone-surrogate", "read.version"}
    assert dump(document) == source
    document, _ = load(source)
    written = rewritten(document)
    assert spelled(value_of(written)) == spelled(value)
    assert jsontext.recognise_layout(written, written[-64:]) == jsontext.recognise_layout(source, source[-64:])


@examples(40)
@given(documents(), st.sampled_from(["lines", "compact", "indented"]))
def test_what_was_written_is_read_again(value: dict[str, Any], layout: str) -> None:
    """PutGet: a document that was made elsewhere comes back as it is, with nothing of ours in it but the generator."""
    document = document_from(value)
    written = dump(document, format_options={"openloom-2": {"layout": layout}})
    back, _ = load(written)
    expected = as_json(document)
    expected.setdefault("generator", back.fields["generator"])
    for tree, before in zip(json.loads(written)["trees"], value["trees"], strict=True):
        listed = tree["rootNodeIds"]
        assert listed[: len(before["rootNodeIds"])] == before["rootNodeIds"], "true roots first, then notes (A6)"
    assert spelled(as_json(back)) == spelled(expected)
    # Which notes were listed for the specification's sake is all that is added.
    assert re.search(rb'"loomconv":\s*\{(?!\s*"listedNotes")', written) is None


@examples(60)
@given(damaged(), LAYOUTS)
def test_what_was_mended_stays_mended(value: dict[str, Any], layout: Layout) -> None:
    source = jsontext.dump(value, layout)
    document, _ = load(source)
    before = spelled(as_json(document))
    again, report = load(rewritten(document))
    assert not set(faults(report)) - {
        "read.exact",
        "read.lone-surrogate",
        "read.version",
        "read.opaque-node",
        "repair.bad-lineage",
        "repair.empty-tree",
    }
    assert spelled(as_json(again)) == before


@examples(30)
@given(documents(max_trees=1), st.data())
def test_one_edit_changes_one_node(value: dict[str, Any], data: st.DataObject) -> None:
    source = jsontext.dump(value, TWO_SPACES)
    document, _ = load(source)
    chosen = data.draw(st.sampled_from(sorted(value["trees"][0]["nodes"])))
    document.trees[0].nodes[chosen] = node(chosen, "edited")  # type: ignore[assignment]
    value["trees"][0]["nodes"][chosen] = node(chosen, "edited")
    assert spelled(value_of(dump(document))) == spelled(value)


@pytest.mark.parametrize("key_order", [(), ("trees", "version", "format")])
def test_the_generator_is_ours_unless_the_document_was_openloom_before(key_order: tuple[str, ...]) -> None:
    """OL2-3-generator: a document that had none, and comes home, gets none."""
    document = document_from({"format": "open-loom", "version": "2.0", "trees": []})
    document.key_order = key_order
    value = value_of(dump(document))
    assert ("generator" in value) == (not key_order)
    assert list(value) == (list(key_order) or ["format", "version", "generator", "trees"])


def test_the_time_of_the_export_is_written_only_when_given() -> None:
    """OL2-3-exportedAt: output is reproducible."""
    document = document_from({"format": "open-loom", "version": "2.0", "trees": []})
    assert "exportedAt" not in value_of(dump(document))
    assert value_of(dump(document, exported_at="2026-01-01T00:00:00Z"))["exportedAt"] == "2026-01-01T00:00:00Z"


def test_exporting_with_a_time_is_no_copy() -> None:
    document, _ = load("minimal.openloom")
    value = value_of(dump(document, exported_at="2026-01-01T00:00:00Z"))
    assert value["exportedAt"] == "2026-01-01T00:00:00Z"


def test_an_empty_tree_gets_a_root_and_loses_it_again_a21() -> None:
    document = document_from(
        {
            "format": "open-loom",
            "version": "2.0",
            "trees": [{"id": "t", "title": "", "rootNodeIds": [], "nodes": {}, "edges": []}],
        }
    )
    written = value_of(dump(document))["trees"][0]
    (root,) = written["rootNodeIds"]
    assert written["nodes"][root]["extensions"] == {"loomconv": {"syntheticRoot": True}}
    back, report = load(dump(document))
    assert len(back.trees[0].nodes) == 0
    assert faults(report) == {"repair.empty-tree": 1}


def test_it_is_written_in_pieces() -> None:
    pieces: list[int] = []

    class Sink:
        def write(self, data: bytes) -> int:
            pieces.append(len(data))
            return len(data)

    from loomconv.format import WriteContext
    from loomconv.report import Report
    from loomconv_plugins.openloom_2.writer import write

    value = {
        "format": "open-loom",
        "version": "2.0",
        "trees": [
            {
                "id": "t",
                "title": "",
                "rootNodeIds": ["0"],
                "nodes": {str(n): node(str(n), "x" * 100) for n in range(3000)},
                "edges": [],
            }
        ],
    }
    document: Document = document_from(value)
    write(document, Sink(), WriteContext(report=Report(), layout=COMPACT))
    assert sum(pieces) > 400_000
    assert max(pieces) < 100_000


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_nodes_there_and_back(shape: str) -> None:
    count = 100_000
    nodes = ",".join(
        f'"{n}":{{"id":"{n}","content":[{{"type":"text","text":"{n}"}}],"author":{{"role":"human"}}}}'
        for n in range(count)
    )
    edges = ",".join(
        f'{{"type":"continuation","sources":[{{"nodeId":"{n - 1 if shape == "chain" else 0}"}}],"targetNodeId":"{n}"}}'
        for n in range(1, count)
    )
    source = (
        f'{{"format":"open-loom","version":"2.0","trees":[{{"id":"t","title":"","rootNodeIds":["0"],"nodes":{{{nodes}}},"edges":[{edges}]}}]}}'
    ).encode()
    document, report = load(source)
    assert not faults(report)
    assert rewritten(document) == source
    assert max(document.trees[0].graph.depths([0])) == (count if shape == "chain" else 2)
