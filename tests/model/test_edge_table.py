"""Edges: plain ones in arrays, all others as the bytes that they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from loomconv.model import EdgeTable, NodeIndex, plain_edge, primary_source
from loomconv.model.edges import ANNOTATION, BROKEN, CONTINUATION, ID_ABSENT, ODD, OWN_ID, ROLE_ABSENT, derived_edge_id
from tests.made import examples, link, node, note_edge, tree_of, trees


def index_of(*ids: str) -> NodeIndex:
    nodes = NodeIndex()
    for each in ids:
        nodes.add_block(each, b"{}")
    return nodes


def table_of(*edges: Any, ids: str = "abc") -> EdgeTable:
    return EdgeTable.from_edges(index_of(*ids), edges)


@pytest.mark.parametrize("form", [0, ID_ABSENT, ROLE_ABSENT, ID_ABSENT | ROLE_ABSENT])
def test_a_plain_edge_has_the_parts_that_its_form_says(form: int) -> None:
    """OL2-4.4-simple, OL2-4.4-id, OL2-4.4-role."""
    table = EdgeTable(index_of("a", "b"))
    table.add(0, 1, form)
    edge = table[0]
    assert edge["type"] == "continuation"
    assert edge["targetNodeId"] == "b"
    assert ("id" in edge) == (not form & ID_ABSENT)
    assert ("role" in edge["sources"][0]) == (not form & ROLE_ABSENT)
    assert primary_source(edge) == "a"
    # The same edge given as an object has the same form.
    assert table_of(edge, ids="ab").forms[0] == form
    assert [json.loads(block) for block in map(bytes, table.blocks())] == [edge]


def test_the_written_id_of_an_edge_is_derived_from_its_target() -> None:
    """OL2-4.4-id, A38: nothing is random."""
    assert plain_edge("a", "b")["id"] == derived_edge_id("b") == "edge:b"


@pytest.mark.parametrize(
    "edge",
    [
        {**link("a", "b"), "id": "own"},
        {**link("a", "b"), "createdAt": "2026-01-01T00:00:00Z"},
        {**link("a", "b"), "extensions": {}},
        {**link("a", "b"), "weight": 1},
        {**link("a", "b"), "sources": [{"nodeId": "a", "role": "context"}]},
        {**link("a", "b"), "sources": [{"nodeId": "a", "role": "primary", "weight": 1}]},
        {**link("a", "b"), "sources": [{"nodeId": "a"}, {"nodeId": "c"}]},
        note_edge("a", "b"),
        {**link("a", "b"), "id": None},
        {**link("a", "b"), "createdAt": None},
        {**link("a", "b"), "sources": [{"nodeId": "a", "role": None}]},
    ],
    ids=[
        "id",
        "time",
        "extensions",
        "unknown",
        "role",
        "unknown-on-source",
        "sources",
        "type",
        "null-id",
        "null-time",
        "null-role",
    ],
)
def test_an_edge_with_anything_of_its_own_is_odd_and_kept(edge: dict[str, Any]) -> None:
    table = table_of(edge)
    assert table.forms[0] & ODD
    assert table[0] == edge
    assert table.kinds[0] != BROKEN


@examples(20)
@given(trees())
def test_edges_come_back_as_they_were(value: dict[str, Any]) -> None:
    """OL2-4.2-keep, OL2-4.4-ext, OL2-2-unknown."""
    table = tree_of(value["nodes"], value["edges"]).edges
    assert list(table) == value["edges"]
    assert table[:] == value["edges"]
    assert [json.loads(bytes(block)) for block in table.blocks()] == value["edges"]


def test_an_edge_that_has_but_an_id_besides_says_so() -> None:
    table = table_of(
        {"id": "own", **link("a", "b")},
        {"id": "own-2", **link("a", "c"), "createdAt": "2026-01-01T00:00:00Z"},
        {"id": "own-3", "type": "continuation", "sources": [{"nodeId": "b"}], "targetNodeId": "c"},
        {"id": "own-4", **note_edge("a", "b")},
    )
    assert list(table.forms) == [ODD | OWN_ID, ODD, ODD | OWN_ID | ROLE_ABSENT, ODD]
    assert [table.own_id(position) for position in (0, 2)] == ["own", "own-3"]


def test_edges_with_more_than_the_usual_are_known() -> None:
    table = table_of(
        link("a", "b"),
        {"id": "e", **note_edge("a", "b"), "createdAt": "x"},
        {**link("a", "b"), "extensions": {}},
        {**link("a", "b"), "sources": [{"nodeId": "a"}, {"nodeId": "b"}]},
        {**link("a", "b"), "weight": 1},
        5,
    )
    assert table.rich == [2, 3, 4, 5]
    assert table.rebuilt(table.nodes, lambda position: position != 2).rich == [2, 3, 4]


def test_blocks_are_verbatim() -> None:
    text = b'{ "type":"continuation","targetNodeId":"b", "sources":[{"nodeId":"a"}], "w": 1.50, "w": 1.50 }'
    table = EdgeTable(index_of("a", "b"))
    table.append_block(text)
    assert list(table.blocks()) == [text]
    assert table.kinds[0] == CONTINUATION


@pytest.mark.parametrize(
    "sources, parent",
    [
        ([{"nodeId": "a"}, {"nodeId": "b"}], "a"),
        ([{"nodeId": "a", "role": "context"}, {"nodeId": "b", "role": "primary"}], "b"),
        ([{"nodeId": "a", "role": "context"}, {"nodeId": "b"}], "b"),
        ([{"nodeId": "a", "role": "context"}, {"nodeId": "b", "role": "instruction"}], "a"),
        ([{"nodeId": "a", "role": "context"}, {"nodeId": "b", "role": None}], "b"),
        ([{"nodeId": "a", "role": "context"}], "a"),
    ],
)
def test_the_parent_is_the_first_primary_source_else_the_first_a04(sources: list[Any], parent: str) -> None:
    """OL2-4.4-strictparent, OL2-4.4-role (absent and null mean primary, A9), A4."""
    edge = {"type": "continuation", "sources": sources, "targetNodeId": "c"}
    assert primary_source(edge) == parent
    table = table_of(edge)
    assert table.nodes.ids[table.parents[0]] == parent


def test_an_edge_without_sources_has_no_parent() -> None:
    assert primary_source({"type": "continuation", "sources": [], "targetNodeId": "c"}) is None


def test_ends_that_are_no_nodes_make_an_edge_broken() -> None:
    table = table_of(link("ghost", "b"), link("a", "ghost"), {**link("a", "b"), "sources": []}, link("a", "b"))
    assert list(table.kinds) == [BROKEN, BROKEN, BROKEN, CONTINUATION]
    assert (table.parents[0], table.targets[0]) == (-1, 1)
    assert not table.unusable


def test_one_missing_source_of_several_breaks_the_edge() -> None:
    edge = {**link("a", "b"), "sources": [{"nodeId": "a"}, {"nodeId": "ghost"}]}
    table = table_of(edge)
    assert table.kinds[0] == BROKEN
    assert table.sources(0) == (0, -1)


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "edge",
        [],
        {},
        {"type": "continuation"},
        {"type": 1, "sources": [], "targetNodeId": "b"},
        {**link("a", "b"), "sources": "a"},
        {**link("a", "b"), "sources": ["a"]},
        {**link("a", "b"), "sources": [{"nodeId": 1}]},
        {**link("a", "b"), "targetNodeId": None},
    ],
)
def test_values_that_are_no_edges_are_kept_as_unusable(value: Any) -> None:
    table = table_of(value)
    assert table.unusable == {0: value}
    assert table.kinds[0] == BROKEN
    assert table[0] == value


def test_a_claim_is_remembered() -> None:
    table = EdgeTable(index_of("a"))
    table.add_claim("ghost", "a")
    assert table.claims == {0}
    assert table.kinds[0] == BROKEN


def test_kinds() -> None:
    table = table_of(link("a", "b"), note_edge("a", "b"), {**link("a", "b"), "type": "quotes"})
    assert list(table.kinds) == [CONTINUATION, ANNOTATION, ANNOTATION]


def test_rebuilt_keeps_replaces_and_drops() -> None:
    table = table_of(link("a", "b"), {**link("b", "c"), "id": "e"}, link("a", "c"))
    table.add(0, 1)
    other = {**link("c", "a"), "id": "new"}
    rebuilt = table.rebuilt(table.nodes, lambda position: [True, other, False, True][position])  # type: ignore[return-value]
    assert list(rebuilt) == [link("a", "b"), other, plain_edge("a", "b")]
    assert list(table.kinds) == [CONTINUATION] * 4, "the former table stays as it was"


def test_rebuilt_over_fewer_nodes_has_broken_edges() -> None:
    table = table_of({**link("a", "b"), "id": "e"}, ids="ab")
    table.add(0, 1)
    rebuilt = table.rebuilt(index_of("b"), lambda position: True)
    assert list(rebuilt.kinds) == [BROKEN, BROKEN]
    assert [edge["targetNodeId"] for edge in rebuilt] == ["b", "b"]


def test_over_shows_the_same_edges_on_other_nodes() -> None:
    tree = tree_of(map(node, "ab"), [link("a", "b")])
    seen = tree.nodes.transformed(lambda node_id, value: value)
    over = tree.edges.over(seen)
    assert over.nodes is seen
    assert list(over) == list(tree.edges)


@pytest.mark.parametrize(
    "edges, clash",
    [
        ([link("a", "b")], False),
        ([{**link("a", "b"), "id": "e1"}, {**link("a", "c"), "id": "e2"}], False),
        ([{**link("a", "b"), "id": "e1"}, {**link("a", "c"), "id": "e1"}], True),
        ([{**link("a", "b"), "id": "c"}], True),
        ([{**link("a", "b"), "id": ""}], True),
        ([{**link("a", "b"), "id": 7}], True),
        ([{**link("a", "b"), "id": "e1"}, {**note_edge("a", "c"), "id": "e1"}], True),
    ],
)
def test_clashes_of_ids_are_noticed(edges: list[Any], clash: bool) -> None:
    """OL2-3.2-idscope, A2."""
    assert table_of(*edges).ids_may_clash() is clash
