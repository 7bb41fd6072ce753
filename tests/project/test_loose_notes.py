"""Notes that only annotations reach, in a format whose app would take them for roots."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from loomconv.capabilities import EVERYTHING
from loomconv.model import Document
from loomconv.project import project_document, restore_document
from loomconv.report import Report
from tests.made import as_json, document_from, document_of, documents, examples, link, node, note_edge, spelled, tree_of

HOLDING = replace(EVERYTHING, loose_notes=False)


def _there(document: Document) -> tuple[Document, Report]:
    report = Report()
    (written,) = project_document(document, HOLDING, report)
    return written, report


def _back(written: Document) -> Document:
    restore_document(written, Report())
    return written


def _noted() -> Document:
    nodes = [node("r"), node("a"), node("n"), node("m"), node("x"), node("y")]
    edges = [link("r", "a"), note_edge("a", "n"), note_edge("m", "n"), note_edge("x", "y")]
    return document_of(tree_of(nodes, edges, rootNodeIds=["n", "r"]))


def test_every_note_gets_a_continuation_and_no_root_is_added() -> None:
    written, report = _there(_noted())
    tree = written.trees[0]
    parents = {each: tree.graph.parent_of(each) for each in tree.nodes.ids}
    assert parents == {"r": None, "a": "r", "n": "a", "m": "n", "x": "r", "y": "x"}
    assert tree.listed_roots == ["r"]
    assert [finding.node for finding in report.findings if finding.code == "loss.loose-note"] == ["n", "m", "x", "y"]


def test_they_are_loose_again_afterwards() -> None:
    before = spelled(as_json(_noted()))
    assert spelled(as_json(_back(_there(_noted())[0]))) == before


def test_a_note_that_was_continued_stays_in_the_story() -> None:
    written, _ = _there(_noted())
    tree = written.trees[0]
    tree.nodes["new"] = node("new")
    tree.edges.append(link("n", "new"))
    tree = _back(written).trees[0]
    assert tree.graph.parent_of("n") == "a"
    assert tree.graph.parent_of("m") is None
    assert all("loomconv" not in (edge.get("extensions") or {}) for edge in tree.edges)


@given(documents())
@examples(60)
def test_any_document_comes_back(value: dict[str, object]) -> None:
    assert spelled(as_json(_back(_there(document_from(value))[0]))) == spelled(value)
