"""What a reader feeds: nodes, edges and fields, in any order; out comes a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from loomconv import jsontext
from loomconv.model.document import Tree
from loomconv.model.edges import EdgeTable
from loomconv.model.ids import mint_ulid
from loomconv.model.nodes import NodeDecoder, NodeIndex
from loomconv.model.types import Edge, Node

__all__ = ["TreeBuilder"]


class TreeBuilder:
    """Collects the nodes and edges of one tree.

    A reader that decodes its nodes anyway calls `add_node`; one that wants nodes to stay bytes until somebody looks
    gives a `decoder` and calls `add_block`. Edges may name nodes that come later. Nothing is checked beyond the types:
    structural repair is the hub's business.
    """

    __slots__ = ("_examine", "_late", "edges", "fields", "nodes")

    def __init__(
        self,
        fields: dict[str, Any] | None = None,
        *,
        decoder: NodeDecoder | None = None,
        examine: Callable[[str, Node, bool], Node] | None = None,
    ) -> None:
        self.fields: dict[str, Any] = {} if fields is None else fields
        self._examine = examine
        self.nodes = NodeIndex(decoder)
        self.edges = EdgeTable(self.nodes)
        self._late: list[tuple[str, str] | Edge] = []

    def add_node(self, node_id: str, node: Node, block: msgspec.Raw | None = None, *, sound: bool = False) -> int:
        """Append a node and return its ordinal. Raises KeyError when the id is taken: see `mint`.

        `block` are the node's own bytes, if they are OpenLoom JSON: they stay when the node is kept as it is. `sound`
        says that the reader knows the node's core to be in shape, with text blocks only.
        """
        examined = node if self._examine is None else self._examine(node_id, node, sound)
        if block is None or examined is not node:
            return self.nodes.add_block(node_id, jsontext.encode(examined))
        return self.nodes.add_block(node_id, block)

    def add_block(self, node_id: str, block: msgspec.Raw) -> int:
        """Append a node as source bytes, for the builder's decoder to read when looked at; raises KeyError as above."""
        return self.nodes.add_block(node_id, block)

    def mint(self, *seed: str) -> str:
        """A new id for a node whose own is missing or taken: a ULID derived from the seed (A38), not yet in use."""
        attempt = 0
        while (minted := mint_ulid(*seed, *([str(attempt)] if attempt else []))) in self.nodes:
            attempt += 1
        return minted

    def add_edge(self, parent: str, child: str) -> None:
        """Append a plain parent → child edge; sibling order is the order of these calls."""
        ordinals = self.nodes.ordinals
        if not self._late and parent in ordinals and child in ordinals:
            self.edges.add(ordinals[parent], ordinals[child])
        else:
            self._late.append((parent, child))

    def append_edge(self, edge: Edge) -> None:
        """Append any edge as an OpenLoom object."""
        self._late.append(edge)

    def build(self) -> Tree:
        """The tree. Edges whose ends are no nodes are in it as broken ones, for repair to deal with."""
        ordinals = self.nodes.ordinals
        for edge in self._late:
            if isinstance(edge, tuple):
                parent, child = edge
                if parent in ordinals and child in ordinals:
                    self.edges.add(ordinals[parent], ordinals[child])
                else:
                    self.edges.add_claim(parent, child)
            else:
                self.edges.append(edge)
        self._late.clear()
        return Tree(self.fields, self.nodes, self.edges)
