"""What was edited on the way stands, exactly where it was edited; all the rest returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.model import Document, EdgeTable, Tree, plain_text
from loomconv.model.record import own_record
from loomconv.project import project_document, restore_document
from loomconv.project.restoration import join_parts, part_of
from loomconv.repair import mend_node, repair_document
from loomconv.report import Report
from tests.made import (
    as_json,
    document_from,
    document_of,
    examples,
    link,
    node,
    note_edge,
    spelled,
    tree_json,
    tree_of,
    trees,
)
from tests.project.journeys import KEEPING, through_file

STRICT = KEEPING["strict tree"]
ONE_ROOT = KEEPING["strict tree, one root"]
CHAT = KEEPING["chat"]


def journey(
    tree: Tree, edit: Callable[[Tree], Tree | None], capabilities: Any = STRICT, **fields: Any
) -> tuple[Document, Report]:
    """There, edited in the file, and back."""
    (part,) = project_document(document_of(tree, **fields), capabilities, Report())
    there = through_file(part, capabilities)
    there.trees[0] = edit(there.trees[0]) or there.trees[0]
    report = Report()
    restore_document(there, report)
    return there, report


def with_links(tree: Tree, *links: tuple[str, str]) -> Tree:
    """The tree of a strict file with other links in this order."""
    return tree.with_edges(EdgeTable.from_edges(tree.nodes, [link(*each) for each in links]))  # type: ignore[arg-type]


def siblings(tree: Tree, parent: str = "r") -> str:
    return "".join(tree.graph.children_of(parent))


# -- nodes -------------------------------------------------------------------------------------------------------------


def rich() -> dict[str, Any]:
    return node(
        "a",
        "one",
        "mixed",
        createdAt="2026-07-08T21:14:00.123456Z",
        editedFrom="r",
        meta={"note": "n", "bookmarked": True},
        generation={"model": "m", "provider": "p"},
        mystery=[1],
        extensions={"my-app": {"x": 1}},
    )


def test_an_edited_text_stands_and_the_rest_of_the_node_returns() -> None:
    def edit(tree: Tree) -> None:
        each = tree.nodes["a"]
        each["content"] = [{"type": "text", "text": "two"}]
        tree.nodes["a"] = each

    document, report = journey(tree_of([node("r"), rich()], [link("r", "a")], rootNodeIds=["r"]), edit, CHAT)
    assert document.trees[0].nodes["a"] == {**rich(), "content": [{"type": "text", "text": "two"}]}
    assert not report.codes, "the text was held as it was, so there is nothing to say"


def test_each_key_is_judged_by_itself() -> None:
    def edit(tree: Tree) -> None:
        each = tree.nodes["a"]
        each["meta"] = {"bookmarked": False, "tags": ["new"]}
        each["author"] = {"role": "human"}
        tree.nodes["a"] = each

    document, report = journey(tree_of([node("r"), rich()], [link("r", "a")], rootNodeIds=["r"]), edit, CHAT)
    back = document.trees[0].nodes["a"]
    assert back == {**rich(), "author": {"role": "human"}, "meta": {"bookmarked": False, "tags": ["new"]}}
    assert report.codes == {"restore.edited": 2}
    assert {finding.pointer for finding in report.findings} == {"/author", "/meta"}
    assert all(finding.node == "a" and finding.severity == "notice" for finding in report.findings)


def test_an_edit_of_a_text_that_had_to_change_stands() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "poll", "options": []}]

    def edit(tree: Tree) -> None:
        each = tree.nodes["a"]
        assert plain_text(each) == "a\n\n[unsupported block: poll]"
        each["content"][0]["text"] += "!"
        tree.nodes["a"] = each

    tree = tree_of([{**node("a"), "content": content}], rootNodeIds=["a"])
    document, report = journey(tree, edit, CHAT)
    assert plain_text(document.trees[0].nodes["a"]) == "a\n\n[unsupported block: poll]!"
    assert report.codes == {"restore.edited": 1}
    untouched, _ = journey(tree, lambda each: None, CHAT)
    assert untouched.trees[0].nodes["a"]["content"] == content


def test_looking_twice_reports_once() -> None:
    def edit(tree: Tree) -> None:
        each = tree.nodes["a"]
        each["author"] = {"role": "human"}
        tree.nodes["a"] = each

    document, report = journey(tree_of([rich()], rootNodeIds=["a"]), edit, CHAT)
    first = document.trees[0].nodes["a"]
    assert document.trees[0].nodes["a"] == first
    assert report.codes == {"restore.edited": 1}


def test_new_nodes_have_no_residue_and_gone_ones_take_theirs_along() -> None:
    def edit(tree: Tree) -> Tree:
        smaller = tree.without_nodes({"a"})
        smaller.nodes["n"] = node("n", "new")  # type: ignore[assignment]
        return with_links(smaller, ("r", "n"))

    tree = tree_of([node("r"), rich()], [{**link("r", "a"), "id": "e"}], rootNodeIds=["r"])
    document, report = journey(tree, edit, CHAT)
    assert set(document.trees[0].nodes) == {"r", "n"}
    assert document.trees[0].nodes["n"] == node("n", "new")
    assert siblings(document.trees[0]) == "n"
    assert report.codes == {"restore.missing": 1}


def test_a_file_that_lost_its_residue_is_a_good_file() -> None:
    def edit(tree: Tree) -> None:
        tree.fields.pop("extensions")
        for node_id in list(tree.nodes):
            each = tree.nodes[node_id]
            each.pop("extensions", None)
            tree.nodes[node_id] = each

    document, report = journey(tree_of([node("r"), rich()], [link("r", "a")], rootNodeIds=["r"]), edit, CHAT)
    assert not report.codes
    assert document.trees[0].nodes["a"] == {
        **node("a", "one", "model"),
        "createdAt": "2026-07-08T21:14:00.123Z",
        "meta": {"bookmarked": True},
        "generation": {"model": "m"},
    }


# -- order and parents -------------------------------------------------------------------------------------------------


def family(**more: Any) -> Tree:
    """A root with three children in an order of their own, with edges that have details."""
    edges = [{**link("r", "b"), "id": "e-b"}, {**link("r", "c"), "createdAt": "2026-01-01T00:00:00Z"}, link("r", "a")]
    return tree_of(map(node, "rabc"), edges, rootNodeIds=["r"], **more)


def test_untouched_edges_return_with_their_details() -> None:
    document, report = journey(family(), lambda tree: None)
    assert list(document.trees[0].edges) == list(family().edges)
    assert not report.codes


def test_another_order_of_siblings_stands_and_edges_keep_their_details() -> None:
    document, _ = journey(family(), lambda tree: with_links(tree, ("r", "a"), ("r", "b"), ("r", "c")))
    tree = document.trees[0]
    assert siblings(tree) == "abc"
    assert {edge["targetNodeId"]: edge.get("id") for edge in tree.edges} == {"a": None, "b": "e-b", "c": None}
    assert [edge.get("createdAt") for edge in tree.edges if edge["targetNodeId"] == "c"] == ["2026-01-01T00:00:00Z"]


@pytest.mark.parametrize("order", ["nbca", "bnca", "bcna", "bcan"])
def test_a_new_sibling_stays_where_it_was_put(order: str) -> None:
    def edit(tree: Tree) -> Tree:
        tree.nodes["n"] = node("n")  # type: ignore[assignment]
        return with_links(tree, *(("r", child) for child in order))

    document, _ = journey(family(), edit)
    assert siblings(document.trees[0]) == order
    assert [edge.get("id") for edge in document.trees[0].edges if edge["targetNodeId"] == "b"] == ["e-b"]


def test_a_moved_node_stays_moved() -> None:
    document, report = journey(family(), lambda tree: with_links(tree, ("r", "c"), ("r", "a"), ("a", "b")))
    tree = document.trees[0]
    assert siblings(tree) == "ca" and siblings(tree, "a") == "b"
    assert [edge.get("id") for edge in tree.edges if edge["targetNodeId"] == "b"] == ["e-b"]
    assert not report.codes, "all that its edge said beyond its ends was an id, and that moves along"


def test_a_moved_node_loses_what_its_edge_said_of_its_former_parent() -> None:
    document, report = journey(family(), lambda tree: with_links(tree, ("r", "a"), ("r", "b"), ("a", "c")))
    tree = document.trees[0]
    assert siblings(tree) == "ab" and siblings(tree, "a") == "c"
    assert report.codes == {"restore.edited": 1}
    assert report.findings[0].node == "c"


def test_a_moved_node_keeps_its_further_parents() -> None:
    edges = [link("r", "a"), link("r", "b"), link("a", "x"), link("b", "x")]
    tree = tree_of(map(node, "rabx"), edges, rootNodeIds=["r"])
    document, _ = journey(tree, lambda each: with_links(each, ("r", "a"), ("r", "b"), ("r", "x")))
    back = document.trees[0]
    assert back.graph.parent_of("x") == "r"
    assert siblings(back, "b") == "x" and siblings(back, "a") == ""


def test_a_node_that_was_made_a_root_stays_one() -> None:
    edges = [link("r", "a"), link("r", "b"), link("a", "x"), link("b", "x")]
    tree = tree_of(map(node, "rabx"), edges, rootNodeIds=["r"])

    def edit(each: Tree) -> Tree:
        each.fields["rootNodeIds"] = ["r", "x"]
        return with_links(each, ("r", "a"), ("r", "b"))

    document, report = journey(tree, edit)
    assert document.trees[0].roots == ["r", "x"]
    assert document.trees[0].graph.parent_of("x") is None
    assert report.codes["restore.edited"] == 1


def test_hyperedges_and_annotations_return() -> None:
    both = {**link("a", "x"), "sources": [{"nodeId": "a"}, {"nodeId": "b", "role": "context"}]}
    edges = [link("r", "a"), link("r", "b"), both, note_edge("x", "a", id="n1"), {**link("x", "b"), "type": "quotes"}]
    tree = tree_of(map(node, "rabx"), edges, rootNodeIds=["r"])
    document, report = journey(tree, lambda each: None)
    assert list(document.trees[0].edges) == edges
    assert not report.codes


def test_of_a_hyperedge_what_is_left_returns() -> None:
    both = {**link("a", "x"), "sources": [{"nodeId": "a"}, {"nodeId": "b", "role": "context"}], "id": "h"}
    tree = tree_of(map(node, "rabx"), [link("r", "a"), link("r", "b"), both], rootNodeIds=["r"])
    document, report = journey(tree, lambda each: each.without_nodes({"b"}))
    assert list(document.trees[0].edges) == [link("r", "a"), {**both, "sources": [{"nodeId": "a"}]}]
    assert report.codes == {"restore.missing": 1}


def test_a_note_returns_to_its_node() -> None:
    tree = tree_of(map(node, "rna"), [link("r", "a"), note_edge("a", "n")], rootNodeIds=["n", "r"], currentNodeId="n")
    document, report = journey(tree, lambda each: None)
    assert spelled(tree_json(document.trees[0])) == spelled(tree_json(tree))
    assert list(document.trees[0].nodes)[1] == "n", "at its former position"
    assert not report.codes


def test_a_note_of_a_node_that_is_gone_goes_with_it() -> None:
    tree = tree_of(
        map(node, ["r", "a", "n", "m"]), [link("r", "a"), note_edge("a", "n"), note_edge("n", "m")], rootNodeIds=["r"]
    )
    document, report = journey(tree, lambda each: each.without_nodes({"a"}))
    assert list(document.trees[0].nodes) == ["r"]
    assert report.codes["restore.missing"] >= 1
    assert {"n", "m"} <= {finding.node for finding in report.findings}
    again = Report()
    repair_document(document, again)
    assert not again.codes


# -- fields and roots --------------------------------------------------------------------------------------------------


def test_edited_fields_of_a_tree_stand() -> None:
    tree = tree_of([node("r")], rootNodeIds=["r"], mode="buffer", description="d", createdAt="2026-01-01T00:00:00.5Z")

    def edit(each: Tree) -> None:
        assert each.fields["mode"] == "dialogue" and each.fields["createdAt"] == "2026-01-01T00:00:00Z"
        each.fields.update(title="new", createdAt="2027-01-01T00:00:00Z")

    document, report = journey(tree, edit, CHAT)
    fields = document.trees[0].fields
    assert (fields["title"], fields["mode"], fields["description"]) == ("new", "buffer", "d")
    assert fields["createdAt"] == "2027-01-01T00:00:00Z"
    assert [finding.pointer for finding in report.findings] == ["/createdAt"]


def two_roots() -> Tree:
    return tree_of(map(node, "xayn"), [link("x", "a"), note_edge("a", "n")], rootNodeIds=["y", "n", "x"])


def test_an_empty_root_above_several_goes_again() -> None:
    seen: list[Tree] = []
    document, report = journey(two_roots(), lambda each: seen.append(each), ONE_ROOT)
    (above,) = seen[0].roots
    assert seen[0].graph.children_of(above) == ["y", "x"]
    assert plain_text(seen[0].nodes[above]) == "" and len(above) == 26
    assert spelled(tree_json(document.trees[0])) == spelled(tree_json(two_roots()))
    assert not report.codes


def test_an_empty_root_that_somebody_wrote_into_stays() -> None:
    def edit(each: Tree) -> None:
        (above,) = each.roots
        written = each.nodes[above]
        written["content"] = [{"type": "text", "text": "Once"}]
        each.nodes[above] = written

    document, _ = journey(two_roots(), edit, ONE_ROOT)
    tree = document.trees[0]
    (root,) = tree.roots
    assert plain_text(tree.nodes[root]) == "Once"
    assert tree.graph.children_of(root) == ["y", "x"]


def test_roots_that_were_added_taken_or_reordered_below_the_empty_one() -> None:
    def edit(each: Tree) -> Tree:
        (above,) = each.roots
        smaller = each.without_nodes({"y"})
        smaller.nodes["z"] = node("z")  # type: ignore[assignment]
        return with_links(smaller, (above, "z"), (above, "x"), ("x", "a"))

    document, _ = journey(two_roots(), edit, ONE_ROOT)
    report = Report()
    repair_document(document, report)
    assert document.trees[0].roots == ["z", "x"]
    assert not report.codes, "an edit is no fault"


def test_the_current_node_may_be_the_empty_root() -> None:
    def edit(each: Tree) -> None:
        each.fields["currentNodeId"] = each.roots[0]

    document, _ = journey(two_roots(), edit, ONE_ROOT)
    assert "currentNodeId" not in document.trees[0].fields


# -- several trees -----------------------------------------------------------------------------------------------------


def test_trees_go_to_files_of_their_own_and_are_joined_again() -> None:
    value = {
        "format": "open-loom",
        "version": "2.7",
        "agents": {"m": {"name": "M", "type": "model"}},
        "trees": [
            {"id": "one", "title": "1", "rootNodeIds": ["a"], "nodes": {"a": node("a")}, "edges": []},
            {"id": "two", "title": "2", "rootNodeIds": ["a"], "nodes": {"a": node("a", "x")}, "edges": []},
        ],
    }
    document = document_from(value)
    document.key_order = ("version", "format", "agents", "trees")
    report = Report()
    parts = project_document(document, CHAT, report)
    assert report.codes["loss.extra-tree"] == 1
    there = [through_file(part, CHAT) for part in parts]
    infos = [part_of(part) for part in there]
    assert [info and info[:2] for info in infos] == [(1, 2), (2, 2)]
    assert infos[0] is not None and infos[1] is not None and infos[0][2] == infos[1][2]
    home = Report()
    for part in there:
        restore_document(part, home)
        assert part_of(part) is None
    joined = join_parts(there)
    assert spelled(as_json(joined)) == spelled(value)
    assert joined.key_order == document.key_order
    assert home.codes["restore.restored"] == 2


def test_a_part_alone_is_a_document_of_one_tree() -> None:
    value = {
        "format": "open-loom",
        "version": "2.0",
        "trees": [
            {"id": name, "title": "", "rootNodeIds": ["a"], "nodes": {"a": node("a")}, "edges": []} for name in "12"
        ],
    }
    second = through_file(project_document(document_from(value), CHAT, Report())[1], CHAT)
    restore_document(second, Report())
    assert [tree.id for tree in second.trees] == ["2"]
    assert "extensions" not in second.trees[0].fields


# -- residue that was tampered with ------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from(["", "a", "r", "t", "content"])),
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "residue",
                    "written",
                    "edges",
                    "nodes",
                    "absent",
                    "list",
                    "form",
                    "order",
                    "position",
                    "node",
                    "id",
                    "content",
                    "author",
                    "meta",
                    "rootNodeIds",
                    "extensions",
                    "part",
                    "document",
                    "fields",
                    "keys",
                    "index",
                    "of",
                    "syntheticRoot",
                    "sources",
                    "targetNodeId",
                    "type",
                    "trees",
                ]
            ),
            below,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@examples(50)
@given(value=trees(max_nodes=3), junk=JUNK, place=st.sampled_from(["document", "tree", "node"]))
def test_whatever_stands_in_the_residue_there_is_a_document(value: dict[str, Any], junk: Any, place: str) -> None:
    whole = {"format": "open-loom", "version": "2.0", "trees": [value]}
    holder = {"document": whole, "tree": value, "node": next(iter(value["nodes"].values()))}[place]
    holder["extensions"] = {"loomconv": junk}
    document = document_from(whole)
    report = Report()
    restore_document(document, report, mend_node)
    repair_document(document, report)
    as_json(document)
    for part in project_document(document, CHAT, report):
        as_json(part)


def restored_node(record: dict[str, Any], **fields: Any) -> dict[str, Any]:
    tree = tree_of([{**node("a", "x"), "extensions": {"loomconv": record}}], rootNodeIds=["a"], **fields)
    document = document_of(tree)
    restore_document(document, Report(), mend_node)
    return document.trees[0].nodes["a"]  # type: ignore[return-value]


@pytest.mark.parametrize("key, value", [("meta", 5), ("createdAt", []), ("generation", "x"), ("editedFrom", {})])
def test_a_restored_value_of_the_wrong_type_is_mended_like_any_other(key: str, value: Any) -> None:
    back = restored_node({"residue": {key: value}, "written": {key: None}})
    assert key not in back
    assert own_record(back)["original"] == {key: value}


def test_an_identity_cannot_be_restored_away() -> None:
    from loomconv.project.residue import digest

    back = restored_node({"residue": {"id": "b"}, "written": {"id": digest("a")}})
    assert back["id"] == "a"


def test_notes_with_one_id_come_once() -> None:
    notes = [{"position": 0, "node": node("n", "1")}, {"position": 1, "node": node("n", "2")}]
    edges = {"list": [note_edge("a", "n")]}
    tree = tree_of([node("a")], rootNodeIds=["a"], extensions={"loomconv": {"nodes": notes, "edges": edges}})
    document = document_of(tree)
    restore_document(document, Report())
    assert sorted(document.trees[0].nodes) == ["a", "n"]
    assert len(document.trees[0].nodes) == 2
