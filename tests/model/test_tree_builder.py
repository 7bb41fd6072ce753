"""What a reader feeds: nodes and edges in any order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from loomconv.model import TreeBuilder, mint_ulid
from loomconv.model.edges import BROKEN, CONTINUATION
from tests.made import link, node


def test_edges_may_name_nodes_that_come_later() -> None:
    builder = TreeBuilder({"id": "t"})
    builder.add_edge("a", "b")
    builder.add_node("a", node("a"))  # type: ignore[arg-type]
    builder.add_edge("a", "c")
    builder.add_node("c", node("c"))  # type: ignore[arg-type]
    builder.add_node("b", node("b"))  # type: ignore[arg-type]
    tree = builder.build()
    assert tree.graph.children_of("a") == ["b", "c"]
    assert list(tree.edges.kinds) == [CONTINUATION] * 2


def test_the_order_of_calls_is_the_order_of_siblings_however_edges_are_given() -> None:
    builder = TreeBuilder()
    for each in "abcd":
        builder.add_node(each, node(each))  # type: ignore[arg-type]
    builder.add_edge("a", "d")
    builder.append_edge({**link("a", "c"), "id": "e"})  # type: ignore[arg-type, typeddict-item]
    builder.add_edge("a", "b")
    assert builder.build().graph.children_of("a") == ["d", "c", "b"]


def test_an_edge_to_nowhere_is_a_claim_for_repair() -> None:
    builder = TreeBuilder()
    builder.add_node("a", node("a"))  # type: ignore[arg-type]
    builder.add_edge("ghost", "a")
    tree = builder.build()
    assert list(tree.edges.kinds) == [BROKEN]
    assert tree.edges.claims == {0}


def test_a_taken_id_is_refused_and_another_can_be_minted() -> None:
    """OL2-8.4-mint, A38."""
    builder = TreeBuilder()
    builder.add_node("a", node("a"))  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        builder.add_node("a", node("a"))  # type: ignore[arg-type]
    first = builder.mint("file", "1")
    assert first == mint_ulid("file", "1")
    builder.add_node(first, node(first))  # type: ignore[arg-type]
    second = builder.mint("file", "1")
    assert second == mint_ulid("file", "1", "1") != first


def test_examination_may_replace_a_node() -> None:
    def shout(node_id: str, each: Any, sound: bool) -> Any:
        return each if node_id == "a" else {**each, "meta": {"note": "!"}}

    builder = TreeBuilder(examine=shout)
    text = b'{ "id":"a", "content":[], "author":{"role":"human"} }'
    builder.add_node("a", node("a"), msgspec.Raw(text))  # type: ignore[arg-type]
    builder.add_node("b", node("b"), msgspec.Raw(b'{"id":"b"}'))  # type: ignore[arg-type]
    tree = builder.build()
    assert bytes(tree.nodes.block("a")) == text, "a node that is kept as it is keeps its bytes"
    assert tree.nodes["b"]["meta"] == {"note": "!"}


def test_blocks_are_not_examined() -> None:
    builder = TreeBuilder(decoder=lambda node_id, block: node(node_id, "decoded"), examine=lambda *_: 1 / 0)  # type: ignore
    builder.add_block("a", msgspec.Raw(b'"x"'))
    assert builder.build().nodes["a"] == node("a", "decoded")
