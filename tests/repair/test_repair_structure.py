"""The invariants of OL2-4.1 and the gaps around them, on documents made by hand and by chance."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from loomconv.model import Document, Tree
from loomconv.model.edges import BROKEN, CONTINUATION
from loomconv.model.record import own_record
from loomconv.repair import mend_node, repair_document
from loomconv.report import Report
from tests.made import (
    as_json,
    damaged,
    document_from,
    document_of,
    documents,
    examples,
    link,
    node,
    note_edge,
    spelled,
    tree_of,
)


def repaired(*trees: Tree, **fields: Any) -> tuple[Document, Report]:
    report = Report(limit=None)
    document = document_of(*trees, **fields)
    repair_document(document, report)
    return document, report


def one(tree: Tree) -> tuple[Tree, Report]:
    document, report = repaired(tree)
    return document.trees[0], report


def codes(report: Report) -> dict[str, int]:
    return dict(report.codes)


def plain_edges(tree: Tree) -> list[tuple[str, list[str], str]]:
    return [
        (edge["type"], [source["nodeId"] for source in edge["sources"]], edge["targetNodeId"]) for edge in tree.edges
    ]


def removed(tree: Tree) -> list[Any]:
    return [each["edge"] for each in own_record(tree.fields).get("removedEdges", [])]


# -- references --------------------------------------------------------------------------------------------------------


def test_an_edge_to_nowhere_goes_ol2_4_1_edgeref() -> None:
    """OL2-4.1-edgeref, OL2-4.1-repair."""
    gone = {**link("a", "ghost"), "id": "e", "extensions": {"x": 1}}
    tree, report = one(tree_of([node("a"), node("b")], [gone, link("a", "b")], rootNodeIds=["a"]))
    assert codes(report) == {"repair.missing-target": 1}
    assert report.findings[0].severity == "warning"
    assert plain_edges(tree) == [("continuation", ["a"], "b")]
    assert removed(tree) == [gone]


def test_an_edge_from_nowhere_goes_and_its_target_is_a_root() -> None:
    tree, report = one(tree_of([node("a"), node("b")], [link("ghost", "b")], rootNodeIds=["a"]))
    assert codes(report) == {"repair.missing-source": 1}
    assert (report.findings[0].node, report.findings[0].value) == ("b", "ghost")
    assert tree.fields["rootNodeIds"] == ["a", "b"], "without a further word"
    assert removed(tree) == [link("ghost", "b")]


def test_a_missing_source_of_several_is_taken_out() -> None:
    edge = {**link("a", "c"), "sources": [{"nodeId": "ghost"}, {"nodeId": "a", "role": "context"}], "weight": 1}
    tree, report = one(tree_of(map(node, "ac"), [edge], rootNodeIds=["a"]))
    assert codes(report) == {"repair.missing-source": 1}
    assert list(tree.edges) == [{**edge, "sources": [{"nodeId": "a", "role": "context"}]}]
    assert tree.graph.parent_of("c") == "a"
    assert removed(tree) == [edge]


def test_an_edge_without_sources_goes_ol2_4_4_sources() -> None:
    edge = {**link("a", "b"), "sources": []}
    tree, report = one(tree_of(map(node, "ab"), [edge], rootNodeIds=["a", "b"]))
    assert codes(report) == {"repair.bad-edge": 1}
    assert removed(tree) == [edge]
    assert len(tree.edges) == 0


def test_a_claimed_parent_that_is_not_there_is_called_a_parent() -> None:
    tree = tree_of([node("b")])
    tree.edges.add_claim("ghost", "b")
    fixed, report = one(tree)
    assert codes(report) == {"repair.missing-parent": 1}
    assert fixed.fields["rootNodeIds"] == ["b"]
    assert len(removed(fixed)) == 1


def test_an_edge_without_a_type_is_a_continuation_ol2_4_4_type() -> None:
    edge = {key: value for key, value in link("a", "b").items() if key != "type"}
    tree, report = one(tree_of(map(node, "abc"), [edge, {**link("a", "c"), "type": 5}], rootNodeIds=["a"]))
    assert codes(report) == {"repair.edge-type": 2}
    assert plain_edges(tree) == [("continuation", ["a"], "b"), ("continuation", ["a"], "c")]


def test_an_edge_without_a_type_to_nowhere_is_both() -> None:
    edge = {"sources": [{"nodeId": "a"}], "targetNodeId": "ghost"}
    tree, report = one(tree_of(map(node, "a"), [edge], rootNodeIds=["a"]))
    assert codes(report) == {"repair.edge-type": 1, "repair.missing-target": 1}
    assert len(tree.edges) == 0


@pytest.mark.parametrize("value", [None, 7, "a", [], {}, {"type": "continuation", "targetNodeId": "a"}, {"sources": 1}])
def test_what_is_no_edge_is_kept_aside(value: Any) -> None:
    tree, report = one(tree_of(map(node, "ab"), [value, link("a", "b")], rootNodeIds=["a"]))
    assert codes(report) == {"repair.bad-edge": 1}
    assert removed(tree) == [value]
    assert plain_edges(tree) == [("continuation", ["a"], "b")]


def test_unknown_types_and_roles_are_left_alone() -> None:
    """OL2-4.4-type-unknown, OL2-A-preserve, A4."""
    edges = [{**link("a", "b"), "type": "quotes"}, {**link("a", "b"), "sources": [{"nodeId": "a", "role": "muse"}]}]
    tree, report = one(tree_of(map(node, "ab"), edges, rootNodeIds=["a"]))
    assert codes(report) == {}
    assert list(tree.edges) == edges


# -- doubles -----------------------------------------------------------------------------------------------------------


def test_the_first_of_equal_edges_stays_a47() -> None:
    """A47: type, sources and target count, ids and times do not."""
    edges = [{**link("a", "b"), "id": "e1"}, {**link("a", "b"), "id": "e2"}, note_edge("a", "b"), note_edge("a", "b")]
    tree, report = one(tree_of(map(node, "ab"), edges, rootNodeIds=["a"]))
    assert codes(report) == {"repair.duplicate-edge": 2}
    assert list(tree.edges) == [edges[0], edges[2]]
    assert removed(tree) == [edges[1], edges[3]]


def test_edges_that_differ_in_a_role_are_not_equal() -> None:
    other = {**link("a", "b"), "sources": [{"nodeId": "a", "role": "context"}]}
    _, report = one(tree_of(map(node, "ab"), [link("a", "b"), other], rootNodeIds=["a"]))
    assert codes(report) == {}


def test_an_absent_and_a_null_role_are_the_same_a09() -> None:
    sources: list[list[dict[str, Any]]] = [
        [{"nodeId": "a"}],
        [{"nodeId": "a", "role": None}],
        [{"nodeId": "a", "role": "primary"}],
    ]
    _, report = one(
        tree_of(map(node, "ab"), [{**link("a", "b"), "sources": each} for each in sources], rootNodeIds=["a"])
    )
    assert codes(report) == {"repair.duplicate-edge": 2}


def test_several_parents_are_no_fault_ol2_4_1_oneparent() -> None:
    tree, report = one(tree_of(map(node, "abc"), [link("a", "c"), link("b", "c")], rootNodeIds=["a", "b"]))
    assert codes(report) == {}
    assert tree.graph.parent_of("c") == "a"
    assert tree.graph.incoming[2] == 2


def test_an_edge_gives_way_to_a_node_and_to_an_earlier_edge_a02() -> None:
    """OL2-3.2-idscope, A2: nothing refers to edge ids."""
    edges = [{**link("a", "b"), "id": "c"}, {**link("a", "c"), "id": "e"}, {**note_edge("a", "b"), "id": "e"}]
    tree, report = one(tree_of(map(node, "abc"), edges, rootNodeIds=["a"]))
    assert codes(report) == {"repair.edge-id": 2}
    ids = [edge["id"] for edge in tree.edges]
    assert ids[1] == "e" and len(set(ids)) == 3 and not set(ids) & set("abc")
    assert [own_record(edge).get("originalId") for edge in tree.edges] == ["c", None, "e"]


@pytest.mark.parametrize("own", ["", 7, [], False])
def test_an_edge_id_that_is_no_id_is_replaced_ol2_3_2_ids(own: Any) -> None:
    tree, report = one(tree_of(map(node, "ab"), [{**link("a", "b"), "id": own}], rootNodeIds=["a"]))
    assert codes(report) == {"repair.edge-id": 1}
    assert len(tree.edges[0]["id"]) == 26
    assert own_record(tree.edges[0]) == {"originalId": own}


def test_a_null_edge_id_is_an_absent_one_a09() -> None:
    tree, report = one(tree_of(map(node, "ab"), [{**link("a", "b"), "id": None}], rootNodeIds=["a"]))
    assert codes(report) == {}
    assert tree.edges[0]["id"] is None


# -- rings -------------------------------------------------------------------------------------------------------------


def demoted(tree: Tree) -> list[tuple[str, str]]:
    return [
        (edge["sources"][0]["nodeId"], edge["targetNodeId"])
        for edge in tree.edges
        if own_record(edge).get("demotedFrom") == "continuation"
    ]


def test_a_ring_without_a_root_is_cut_above_the_listed_one_a05() -> None:
    """OL2-4.1-acyclic, A5."""
    edges = [link("a", "b"), link("b", "c"), link("c", "a")]
    tree, report = one(tree_of(map(node, "abc"), edges, rootNodeIds=["b"]))
    assert codes(report) == {"repair.cycle": 1}
    assert demoted(tree) == [("a", "b")]
    assert tree.roots == tree.fields["rootNodeIds"] == ["b"]
    assert tree.graph.path_to("a") == ["b", "c", "a"]


def test_without_a_listed_root_the_first_node_of_the_ring_becomes_one_a05() -> None:
    tree, report = one(tree_of(map(node, "xyr"), [link("x", "y"), link("y", "x")], rootNodeIds=["r"]))
    assert codes(report) == {"repair.cycle": 1}
    assert demoted(tree) == [("y", "x")]
    assert tree.fields["rootNodeIds"] == ["r", "x"], "cutting says it already"


def test_a_self_loop_is_a_ring_a05() -> None:
    tree, report = one(tree_of(map(node, "as"), [link("a", "s"), link("s", "s")], rootNodeIds=["a"]))
    assert codes(report) == {"repair.cycle": 1}
    assert demoted(tree) == [("s", "s")]
    assert tree.graph.parent_of("s") == "a"
    assert tree.roots == ["a"]


def test_a_node_that_is_only_its_own_parent_is_a_root_and_no_note() -> None:
    tree, _ = one(tree_of(map(node, "as"), [link("s", "s")], rootNodeIds=["a"]))
    assert tree.roots == ["a", "s"]


def test_a_ring_that_hangs_on_the_story_is_cut_where_it_comes_back_a05() -> None:
    """The node by which the story enters the ring keeps its place, whatever the order of the nodes."""
    edges = [link("a", "b"), link("b", "a"), link("r", "b")]
    tree, report = one(tree_of(map(node, "abr"), edges, rootNodeIds=["r"]))
    assert codes(report) == {"repair.cycle": 1}
    assert demoted(tree) == [("a", "b")]
    assert tree.roots == ["r"]
    assert tree.graph.path_to("a") == ["r", "b", "a"]


def test_each_ring_is_cut_once() -> None:
    edges = [link("a", "b"), link("b", "a"), link("c", "d"), link("d", "c"), link("b", "c")]
    tree, report = one(tree_of(map(node, "abcd"), edges, rootNodeIds=["a"]))
    assert codes(report) == {"repair.cycle": 2}
    assert demoted(tree) == [("b", "a"), ("d", "c")]
    assert tree.roots == ["a"]
    assert tree.graph.path_to("d") == ["a", "b", "c", "d"]


def test_a_cut_edge_keeps_everything_it_had() -> None:
    loop = {**link("s", "s"), "id": "e", "createdAt": "2026-01-01T00:00:00Z", "extensions": {"x": 1}}
    tree, _ = one(tree_of([node("s")], [loop], rootNodeIds=["s"]))
    assert list(tree.edges) == [
        {**loop, "type": "annotation", "extensions": {"x": 1, "loomconv": {"demotedFrom": "continuation"}}}
    ]


# -- roots and pointers ------------------------------------------------------------------------------------------------


def test_the_list_of_roots_is_mended_listed_order_first_ol2_4_1_roots() -> None:
    """OL2-4.1-rootref, OL2-4.1-roots, OL2-4.1-redundant, A5."""
    tree, report = one(tree_of(map(node, "abcd"), [link("a", "b")], rootNodeIds=["d", "ghost", "a", "d", "b", None, 5]))
    assert codes(report) == {"repair.bad-root": 5, "repair.unlisted-root": 1}
    assert tree.fields["rootNodeIds"] == ["d", "a", "c"]


@pytest.mark.parametrize("listed", ["a", 5, {}, {"a": 1}])
def test_a_list_of_roots_that_is_no_list(listed: Any) -> None:
    tree, report = one(tree_of([node("a")], rootNodeIds=listed))
    assert report.codes["repair.bad-root"] == 1
    assert tree.fields["rootNodeIds"] == ["a"]
    assert own_record(tree.fields) == {"originalRootNodeIds": listed}


def test_an_attached_note_needs_no_listing_a06() -> None:
    tree, report = one(tree_of(map(node, "abn"), [link("a", "b"), note_edge("b", "n")], rootNodeIds=["a"]))
    assert codes(report) == {}
    assert tree.fields["rootNodeIds"] == ["a"]


def test_a_listed_note_stays_listed_and_is_no_root_a06() -> None:
    tree, report = one(tree_of(map(node, "an"), [note_edge("a", "n")], rootNodeIds=["n", "a"]))
    assert codes(report) == {}
    assert tree.fields["rootNodeIds"] == ["n", "a"]


def test_a_current_node_that_is_not_there_is_none_a19() -> None:
    tree, report = one(tree_of([node("a")], rootNodeIds=["a"], currentNodeId="ghost"))
    assert codes(report) == {"repair.bad-current": 1}
    assert "currentNodeId" not in tree.fields
    assert own_record(tree.fields) == {"originalCurrentNodeId": "ghost"}


@pytest.mark.parametrize("current", [5, [], ""])
def test_a_current_node_of_another_type_is_none(current: Any) -> None:
    tree, report = one(tree_of([node("a")], rootNodeIds=["a"], currentNodeId=current))
    assert codes(report) == {"repair.bad-current": 1}
    assert own_record(tree.fields) == {"originalCurrentNodeId": current}


def test_single_roots_need_no_edges_a22() -> None:
    tree, report = one(tree_of(map(node, "ab"), rootNodeIds=["b", "a"]))
    assert codes(report) == {}
    assert tree.roots == ["b", "a"]


def test_a_tree_without_nodes_is_reported_a21() -> None:
    tree, report = one(tree_of(rootNodeIds=[]))
    assert codes(report) == {"repair.empty-tree": 1}
    assert len(tree.nodes) == 0


# -- fields of trees ---------------------------------------------------------------------------------------------------


def test_a_tree_id_that_is_taken_or_none_a49() -> None:
    """OL2-4-id, A49, A32."""
    document, report = repaired(
        tree_of([node("a")]), tree_of([node("a")]), tree_of([node("a")], id=5), tree_of([node("a")], id="")
    )
    assert report.codes["repair.tree-id"] == 3
    ids = [tree.fields["id"] for tree in document.trees]
    assert ids[0] == "t" and len(set(ids)) == 4 and all(len(each) == 26 for each in ids[1:])
    assert [own_record(tree.fields).get("originalId") for tree in document.trees] == [None, "t", 5, ""]


def test_a_tree_without_an_id() -> None:
    tree = tree_of([node("a")], rootNodeIds=["a"])
    del tree.fields["id"]
    fixed, report = one(tree)
    assert codes(report) == {"repair.tree-id": 1}
    assert own_record(fixed.fields) == {}


def test_a_title_is_always_there_ol2_4_title() -> None:
    document, report = repaired(tree_of([node("a")], id="1", title=None), tree_of([node("a")], id="2", title=5))
    assert report.codes["repair.title"] == 2
    assert [tree.fields["title"] for tree in document.trees] == ["", ""]
    assert own_record(document.trees[1].fields) == {"originalTitle": 5}


@pytest.mark.parametrize(
    "key, value",
    [
        ("description", 1),
        ("mode", []),
        ("systemContext", {}),
        ("createdAt", 5),
        ("updatedAt", []),
        ("tags", "x"),
        ("agents", []),
        ("extensions", "mine"),
    ],
)
def test_fields_of_the_wrong_type_are_kept_aside(key: str, value: Any) -> None:
    tree, report = one(tree_of([node("a")], rootNodeIds=["a"], **{key: value}))
    assert codes(report) == {"read.bad-value": 1}
    assert own_record(tree.fields) == {f"original{key[0].upper()}{key[1:]}": value}
    assert key == "extensions" or key not in tree.fields


def test_extensions_of_a_wrong_type_survive_other_repairs() -> None:
    tree, _ = one(tree_of([node("a")], id=5, title=6, rootNodeIds=["a"], extensions="mine"))
    assert own_record(tree.fields) == {"originalId": 5, "originalTitle": 6, "originalExtensions": "mine"}


# -- the laws ----------------------------------------------------------------------------------------------------------


def invariants(document: Document) -> None:
    ids = [tree.fields["id"] for tree in document.trees]
    assert len(set(ids)) == len(ids) and all(isinstance(each, str) and each for each in ids)
    for tree in document.trees:
        assert isinstance(tree.fields["title"], str)
        assert BROKEN not in tree.edges.kinds and not tree.edges.unusable
        for edge in tree.edges:
            assert edge["sources"]
            assert edge["targetNodeId"] in tree.nodes
            assert all(source["nodeId"] in tree.nodes for source in edge["sources"])
        own = [edge["id"] for edge in tree.edges if edge.get("id") is not None]
        assert len(set(own)) == len(own) and not set(own) & set(tree.nodes)
        graph = tree.graph
        walked = list(graph.walk(graph.roots()))
        assert len(walked) == len(tree.nodes), "something is in a ring, or below one"
        for ordinal in range(len(tree.nodes)):
            path = graph.path(ordinal)
            assert graph.parent[path[0]] == -1 and len(set(path)) == len(path)
        notes = {tree.nodes.ids[each] for each in tree.attached_notes()}
        roots = {tree.nodes.ids[each] for each in graph.roots()}
        listed = tree.fields["rootNodeIds"]
        assert len(set(listed)) == len(listed)
        assert roots - notes <= set(listed) <= roots
        assert tree.fields.get("currentNodeId") is None or tree.fields["currentNodeId"] in tree.nodes


def leaves(value: Any) -> Iterator[bytes]:
    todo = [value]
    for item in todo:
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
        else:
            yield spelled(item)


@examples(37)
@given(documents())
def test_a_valid_document_is_left_alone(value: dict[str, Any]) -> None:
    document, report = document_from(value), Report()
    repair_document(document, report)
    assert codes(report) == {}
    assert not document.touched
    assert spelled(as_json(document)) == spelled(value)


@examples(62)
@given(damaged())
def test_whatever_comes_is_mended_and_a_second_repair_has_nothing_to_do(value: dict[str, Any]) -> None:
    """OL2-4.1-repair, OL2-2-lenient."""
    document, report = document_from(value), Report(limit=None)
    for tree in document.trees:
        for node_id in tree.nodes:
            tree.nodes[node_id] = mend_node(node_id, tree.nodes[node_id], report)
    repair_document(document, report)
    invariants(document)
    assert document.touched or not report.codes["repair.cycle"]
    first = spelled(as_json(document))
    again = Report()
    repair_document(document, again)
    assert codes(again) == {}
    assert spelled(as_json(document)) == first
    # Nothing is dropped: whatever was said is in the document or in the report.
    kept = set(leaves(as_json(document))) | set(leaves([finding.value for finding in report.findings]))
    assert set(leaves(value)) - kept <= {spelled(None)}


@examples(15)
@given(damaged())
def test_repair_is_the_same_every_time(value: dict[str, Any]) -> None:
    results = []
    for _ in range(2):
        document, report = document_from(value), Report()
        repair_document(document, report)
        results.append((spelled(as_json(document)), report.to_json()))
    assert results[0] == results[1]


COUNT = 100_000


@pytest.mark.parametrize("shape", ["chain", "star", "ring", "dangling"])
def test_large_trees_are_repaired_in_linear_time(shape: str) -> None:
    ids = [str(number) for number in range(COUNT)]
    tree = tree_of(rootNodeIds=["0"])
    for each in ids:
        tree.nodes.add_block(each, b"{}")
    for number in range(1, COUNT):
        tree.edges.add(0 if shape == "star" else number - 1, number)
    if shape == "ring":
        tree.edges.add(COUNT - 1, 0)
    if shape == "dangling":
        tree.edges.extend([link(ids[number], "ghost") for number in range(20_000)])  # type: ignore[list-item]
    start = time.perf_counter()
    fixed, report = one(tree)
    taken = time.perf_counter() - start
    expected = {"ring": {"repair.cycle": 1}, "dangling": {"repair.missing-target": 20_000}}
    assert codes(report) == expected.get(shape, {})
    assert fixed.roots == ["0"]
    assert sum(kind == CONTINUATION for kind in fixed.edges.kinds) == COUNT - 1
    assert taken < 15
