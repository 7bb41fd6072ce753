"""The quick ways of the model say the same as the careful ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.model import EdgeTable, NodeIndex
from loomconv.model.graph import Graph
from tests.made import VALUES, document_from, documents, examples, link, node, note_edge

ODD = st.one_of(VALUES, st.just({"type": "continuation", "sources": [], "targetNodeId": "a"}))
EDGES = st.lists(
    st.one_of(st.sampled_from([link("a", "b"), link("b", "c", id="e"), note_edge("c", "a")]), ODD), max_size=6
)


def rows(table: EdgeTable) -> list[Any]:
    names = ("parents", "targets", "kinds", "forms", "rich", "_id_hashes")
    return [list(getattr(table, name)) for name in names] + [table.strings, table.more_sources, table.unusable]


@examples(100)
@given(EDGES)
def test_edges_are_taken_alike_together_and_alone(edges: list[Any]) -> None:
    nodes = NodeIndex()
    for node_id in "abc":
        nodes.add_block(node_id, jsontext.encode(node(node_id)))
    blocks = [msgspec.Raw(jsontext.encode(edge)) for edge in edges]
    together, alone = EdgeTable(nodes), EdgeTable(nodes)
    together.extend(blocks)
    for block in blocks:
        alone.append_block(block)
    assert rows(together) == rows(alone)
    assert [bytes(block) for block in together.blocks()] == [bytes(block) for block in alone.blocks()]


@examples(100)
@given(documents())
def test_further_sources_are_linked_alike_with_and_without_other_kinds_of_edges(value: dict[str, Any]) -> None:
    for tree in document_from(value).trees:
        table = tree.edges.rebuilt(tree.nodes, lambda position, tree=tree: tree.edges.kinds[position] == 0)
        quick, careful = Graph(table), Graph(EdgeTable(tree.nodes))
        monkey = careful._link_odd(table)
        ends = sorted(range(len(monkey[0])), key=monkey[0].__getitem__)
        assert list(quick.links()) == [monkey[1][end] for end in ends]
        assert list(quick.parent) == list(careful.parent)
        assert list(quick.incoming) == list(careful.incoming)


def test_nodes_in_order_are_those_that_are_looked_up() -> None:
    nodes = NodeIndex(lambda node_id, block: node(node_id, bytes(block).decode()))  # type: ignore[arg-type,return-value]
    nodes.extend_blocks([("b", msgspec.Raw(b"1")), ("a", msgspec.Raw(b"2"))])
    nodes.extend_blocks([])
    seen = nodes.transformed(lambda node_id, each: {**each, "id": node_id * 2})  # type: ignore[typeddict-item]
    assert list(seen.in_order()) == [seen["b"], seen["a"]]
    assert list(seen.blocks()) == [seen.block("b"), seen.block("a")]
    assert nodes.ordinals == {"b": 0, "a": 1}
    for taken in ([("a", b"{}")], [("c", b"{}"), ("c", b"{}")]):
        with pytest.raises(KeyError):
            NodeIndex.from_blocks({"a": msgspec.Raw(b"{}")}).extend_blocks(taken)
