"""Tree and document: roots, notes, and whether anything was changed."""

from __future__ import annotations

from loomconv.jsontext import COMPACT
from loomconv.model import Document, Origin, Tree
from loomconv.model.record import own_record, with_record
from tests.made import document_of, link, node, note_edge, tree_of


def noted() -> Tree:
    return tree_of(
        map(node, ["a", "b", "n", "m", "x"]),
        [link("a", "b"), note_edge("b", "n"), note_edge("n", "m"), note_edge("b", "a")],
        rootNodeIds=["n", "x", "a"],
    )


def test_notes_are_no_roots_a06() -> None:
    """A6: a node that touches an annotation and no continuation is an attached note, even if it is listed."""
    tree = noted()
    assert {tree.nodes.ids[each] for each in tree.attached_notes()} == {"n", "m"}
    assert tree.listed_roots == ["n", "x", "a"]
    assert tree.roots == ["x", "a"]
    assert tree.root_ordinals == [4, 0]


def test_the_direction_of_an_annotation_does_not_matter_a06b() -> None:
    """A6b: the end inside the story is what is annotated."""
    tree = tree_of(map(node, "abn"), [link("a", "b"), note_edge("n", "a")])
    assert tree.attached_notes() == {2}


def test_an_annotation_that_repair_made_hides_no_root() -> None:
    cut = with_record(note_edge("s", "s"), demotedFrom="continuation")
    tree = tree_of([node("s")], [cut], rootNodeIds=["s"])
    assert tree.attached_notes() == set()
    assert tree.roots == ["s"]


def test_without_nodes_takes_their_edges_along() -> None:
    tree = noted().without_nodes({"b"})
    assert list(tree.nodes) == ["a", "n", "m", "x"]
    assert [(edge["sources"][0]["nodeId"], edge["targetNodeId"]) for edge in tree.edges] == [("n", "m")]


def test_odd_fields_are_no_trouble() -> None:
    tree = tree_of([node("a")], id=5, rootNodeIds=["a", None, 7])
    assert tree.id == "5"
    assert tree.listed_roots == ["a"]
    assert Tree({"rootNodeIds": "a"}).listed_roots == []
    assert Tree({}).roots == []


def test_pristine_until_something_is_changed() -> None:
    document = document_of(tree_of([node("a")]))
    assert not document.pristine, "what was made has no source"
    document.origin = Origin("made", "x", b"", COMPACT)
    assert document.pristine
    document.trees[0].nodes["a"] = node("a", "new")  # type: ignore[assignment]
    assert not document.pristine
    assert not Document(origin=document.origin, touched=True).pristine


def test_the_hubs_own_record_stands_beside_other_extensions() -> None:
    holder = {"id": "a", "extensions": {"app": 1}}
    noted_holder = with_record(holder, original=5)
    assert noted_holder == {"id": "a", "extensions": {"app": 1, "loomconv": {"original": 5}}}
    assert holder == {"id": "a", "extensions": {"app": 1}}
    assert own_record(with_record(noted_holder, more=6)) == {"original": 5, "more": 6}
    assert own_record({"extensions": 5}) == {}


def test_extensions_of_a_wrong_type_are_kept_aside_with_the_record() -> None:
    """OL2-7-preserve: nothing is overwritten in silence."""
    assert own_record(with_record({"extensions": "mine"}, note=1)) == {"originalExtensions": "mine", "note": 1}
    assert own_record(with_record({"extensions": {"loomconv": 7}}, note=1)) == {"originalRecord": 7, "note": 1}
