"""Notes that only annotations reach, in a format whose app would take them for roots."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from loomconv.capabilities import EVERYTHING
from loomconv.model import Document, EdgeTable, plain_text
from loomconv.project import project_document, restore_document
from loomconv.report import Report
from tests.made import as_json, document_from, document_of, documents, examples, link, node, note_edge, spelled, tree_of

STRICT = replace(EVERYTHING, parents="one", notes="child", note_tag="note", edge_types=("continuation",))
HOLDING = replace(EVERYTHING, notes="child")


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


def test_a_strict_tree_has_them_as_children_with_the_tag_of_the_app() -> None:
    capabilities = replace(STRICT, note_tag="note")
    report = Report()
    (written,) = project_document(_noted(), capabilities, report)
    tree = written.trees[0]
    assert {each: tree.graph.parent_of(each) for each in tree.nodes.ids} == {
        **dict.fromkeys("r"),
        "a": "r",
        "n": "a",
        "m": "n",
        "x": "r",
        "y": "x",
    }
    assert [each for each in tree.nodes.ids if tree.nodes[each].get("meta") == {"tags": ["note"]}] == list("nmxy")
    assert report.codes["loss.annotation-edge"] == 3
    assert spelled(as_json(_back(written))) == spelled(as_json(_noted()))


def test_a_note_that_was_edited_in_a_strict_tree_is_a_note_again() -> None:
    (written,) = project_document(_noted(), STRICT, Report())
    tree = written.trees[0]
    tree.nodes["n"] = {**tree.nodes["n"], "content": [{"type": "text", "text": "Edited."}]}
    tree = _back(written).trees[0]
    assert plain_text(tree.nodes["n"]) == "Edited."
    assert tree.graph.parent_of("n") is None
    assert [edge["type"] for edge in tree.edges] == ["continuation", "annotation", "annotation", "annotation"]


def test_a_note_that_was_moved_stays_where_it_is() -> None:
    (written,) = project_document(_noted(), STRICT, Report())
    tree = written.trees[0]
    edges = [edge for edge in tree.edges if edge["targetNodeId"] != "n"]
    written.trees[0] = tree.with_edges(EdgeTable.from_edges(tree.nodes, [*edges, link("r", "n")]))
    assert _back(written).trees[0].graph.parent_of("n") == "r"


@given(documents())
@examples(60)
def test_any_document_comes_back_from_a_strict_tree(value: dict[str, object]) -> None:
    (written, *_) = documents_written = project_document(document_from(value), replace(STRICT, trees="many"), Report())
    assert len(documents_written) == 1
    assert spelled(as_json(_back(written))) == spelled(value)


@given(documents())
@examples(60)
def test_any_document_comes_back(value: dict[str, object]) -> None:
    assert spelled(as_json(_back(_there(document_from(value))[0]))) == spelled(value)
