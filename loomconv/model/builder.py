"""What a reader feeds: nodes, edges and fields, in any order; out comes a tree."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import repeat
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

    __slots__ = ("_examine", "_late", "_plain", "edges", "fields", "nodes")

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
        # How many edges came by `add_edge`.
        self._plain = 0

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
        """Append a plain parent → child edge; sibling order is the order of these calls.

        When all edges of a tree come this way, they stand by parents in the tree, parents depth first, in whatever
        order their parents came: such an order says nothing.
        """
        self._plain += 1
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
        tree = Tree(self.fields, self.nodes, self.edges)
        return tree.with_edges(_by_parents(tree)) if self._plain == len(self.edges) else tree


def _by_parents(tree: Tree) -> EdgeTable:
    """The edges of a strict tree by parents, parents depth first; the same table when they stand so, or it is none."""
    edges, graph = tree.edges, tree.graph
    roots = tree.root_ordinals or graph.roots()
    if max(graph.incoming, default=0) > 1 or len(edges) != sum(graph.incoming):
        return edges
    parents, targets = array("q"), array("q")
    for ordinal in graph.walk(roots):
        children = graph.children(ordinal)
        parents.extend(repeat(ordinal, len(children)))
        targets.extend(children)
    if targets == edges.targets or len(targets) != len(edges):
        return edges
    table = EdgeTable(tree.nodes)
    table.extend_plain(parents, targets)
    return table
