"""Document and tree: the envelope of an OpenLoom document around its index of blocks."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from loomconv.jsontext import Layout
from loomconv.model.edges import ANNOTATION, EdgeTable
from loomconv.model.graph import Graph
from loomconv.model.nodes import NodeIndex
from loomconv.model.record import own_record

__all__ = ["Document", "Origin", "Tree", "copy_of", "document_json"]


class Tree:
    """One tree: `fields` (everything but nodes and edges, key order kept), `nodes` and `edges`.

    `fields` follows `loomconv.model.types.TreeFields`, unknown keys included.
    """

    __slots__ = ("_graph", "_graph_edges", "edges", "fields", "key_order", "nodes")

    def __init__(
        self,
        fields: dict[str, Any],
        nodes: NodeIndex | None = None,
        edges: EdgeTable | None = None,
        key_order: tuple[str, ...] = (),
    ) -> None:
        self.fields = fields
        self.nodes = NodeIndex() if nodes is None else nodes
        self.edges = EdgeTable(self.nodes) if edges is None else edges
        # Order of all keys in the source, `nodes` and `edges` among them; empty when there is no source order.
        self.key_order = key_order
        self._graph: Graph | None = None
        self._graph_edges: tuple[EdgeTable, int, int] | None = None

    @property
    def id(self) -> str:
        """The tree's id."""
        return str(self.fields.get("id", ""))

    @property
    def listed_roots(self) -> list[str]:
        """`rootNodeIds` as the fields have it; texts only."""
        listed = self.fields.get("rootNodeIds")
        return [root for root in listed if isinstance(root, str)] if isinstance(listed, list) else []

    @property
    def roots(self) -> list[str]:
        """Ids of the nodes where a story starts, in root order; attached notes are none (A6)."""
        notes = self.attached_notes()
        if not notes:
            return self.listed_roots
        return [root for root in self.listed_roots if self.nodes.ordinals.get(root, -1) not in notes]

    def attached_notes(self) -> set[int]:
        """Ordinals of the nodes that touch an annotation and no continuation at all (A6).

        An annotation that a repair made of a continuation does not count. Costs a look at each annotation edge.
        """
        edges = self.edges
        if ANNOTATION not in edges.kinds:
            return set()
        graph = self.graph
        notes: set[int] = set()
        for position, kind in enumerate(edges.kinds):
            if kind != ANNOTATION:
                continue
            if "demotedFrom" in own_record(edges[position]):
                continue
            for ordinal in (edges.targets[position], *edges.sources(position)):
                if not graph.incoming[ordinal] and not graph.child_count(ordinal):
                    notes.add(ordinal)
        return notes

    @property
    def graph(self) -> Graph:
        """Topology as it is now; made when first asked for, and again after the edges or nodes have changed."""
        state = (self.edges, len(self.edges), len(self.nodes))
        if self._graph is None or self._graph_edges != state:
            self._graph = Graph(self.edges)
            self._graph_edges = state
        return self._graph

    @property
    def root_ordinals(self) -> list[int]:
        """Ordinals of the roots, in root order; ids that are not nodes are passed over."""
        ordinals = self.nodes.ordinals
        return [ordinals[root] for root in self.roots if root in ordinals]

    def without_nodes(self, node_ids: set[str]) -> Tree:
        """The tree without these nodes and without the edges that touch them; linear."""
        nodes = self.nodes.without(node_ids)
        gone = {self.nodes.ordinals[node_id] for node_id in node_ids if node_id in self.nodes}
        edges = self.edges

        def stays(position: int) -> bool:
            return edges.targets[position] not in gone and gone.isdisjoint(edges.sources(position))

        return Tree(dict(self.fields), nodes, edges.rebuilt(nodes, stays), self.key_order)

    def with_edges(self, edges: EdgeTable) -> Tree:
        """The tree with other edges between the same nodes."""
        tree = Tree(self.fields, self.nodes, edges, self.key_order)
        if edges.links_alike(self.edges):
            tree._take_graph(self)
        return tree

    def over(self, nodes: NodeIndex) -> Tree:
        """The tree over an index of the same nodes in the same order; shares edges and graph."""
        tree = Tree(self.fields, nodes, self.edges.over(nodes), self.key_order)
        tree._take_graph(self)
        return tree

    def _take_graph(self, other: Tree) -> None:
        """Share the graph of a tree with the same nodes and links, if it is made."""
        if other._graph_edges == (other.edges, len(other.edges), len(other.nodes)):
            self._graph = other._graph
            self._graph_edges = (self.edges, len(self.edges), len(self.nodes))

    def __repr__(self) -> str:
        return f"<Tree {self.id!r}: {len(self.nodes)} nodes, {len(self.edges)} edges>"


@dataclass(slots=True)
class Origin:
    """What a document was read from: enough to write the very same bytes when nothing has changed."""

    format: str
    name: str
    data: Any  # bytes or mmap of the (decompressed) file
    layout: Layout
    container: str = "plain"
    # The residue file that lay beside it, if that was of any use.
    residue: bytes | None = None


@dataclass(slots=True)
class Document:
    """An OpenLoom document: `fields` (everything but the trees, key order kept) and its trees.

    `touched` is set by whoever changes something that a writer of the same format must not overlook. While it is
    unset, and no node has been assigned, writing the format that the document came from reproduces the source's bytes.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    trees: list[Tree] = field(default_factory=list)
    key_order: tuple[str, ...] = ()
    origin: Origin | None = None
    touched: bool = False
    # The `loomconv.media.store.MediaStore` that references of the document lead into, if it was read from a file.
    media: Any = None

    @property
    def pristine(self) -> bool:
        """True while nothing read from the source has been changed."""
        if self.origin is None or self.touched:
            return False
        return not any(tree.nodes.edited for tree in self.trees)


def copy_of(document: Document) -> Document:
    """A document that can be changed without changing this one; blocks of nodes and edges are shared, for they are
    replaced and never changed. Costs a walk over the nodes and edges, and decodes nothing."""
    trees = []
    for tree in document.trees:
        nodes = tree.nodes.without(set())
        edges = tree.edges.rebuilt(nodes, lambda position: True)
        trees.append(Tree(deepcopy(tree.fields), nodes, edges, tree.key_order))
    return Document(
        deepcopy(document.fields), trees, document.key_order, document.origin, document.touched, document.media
    )


def document_json(document: Document) -> dict[str, Any]:
    """The whole document as one OpenLoom 2.0 value, every node decoded; for comparisons, not for large files."""
    trees = [{**tree.fields, "nodes": dict(tree.nodes.items()), "edges": list(tree.edges)} for tree in document.trees]
    return {**document.fields, "trees": trees}
