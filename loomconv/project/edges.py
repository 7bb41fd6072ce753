"""Edges in a residue: compact where an edge is plain, whole where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loomconv.model.document import Tree
from loomconv.model.edges import CONTINUATION, ODD, EdgeTable, is_edge, primary_source
from loomconv.model.types import Edge

__all__ = ["pack_edges", "simple_edges", "unpack_edges"]


def simple_edges(tree: Tree) -> EdgeTable:
    """The plain parent → child edges of a strict tree: each node keeps its first parent, in the same array order."""
    edges, parent = tree.edges, tree.graph.parent
    table = EdgeTable(tree.nodes)
    seen = bytearray(len(tree.nodes))
    for kind, source, target in zip(edges.kinds, edges.parents, edges.targets, strict=True):
        if kind == CONTINUATION and parent[target] == source and not seen[target]:
            seen[target] = 1
            table.add(source, target)
    return table


def pack_edges(tree: Tree) -> dict[str, Any] | None:
    """All edges of the tree for its residue, or None when a reader of the strict tree makes the very same ones.

    `{"form": bits, "list": [...]}`: in the list a plain edge is the id of its target alone (its source is the parent
    that the target has in the tree), any other edge is the whole object. `form` says which optional parts plain edges
    lack. When all edges are plain there need be no list: without one they stand in the order that readers give them,
    grouped by parent, parents depth-first; with `"order": "nodes"` in the depth-first order of their targets.
    """
    edges, ids = tree.edges, tree.nodes.ids
    if not len(edges):
        return None
    form = next((form for form in edges.forms if not form & ODD), 0)
    parent = tree.graph.parent
    packed: list[Any] = []
    all_plain = True
    seen = bytearray(len(ids))
    rows = zip(edges.kinds, edges.forms, edges.parents, edges.targets, strict=True)
    for position, (kind, own_form, source, target) in enumerate(rows):
        if kind == CONTINUATION and own_form == form and parent[target] == source and not seen[target]:
            packed.append(ids[target])
        else:
            all_plain = False
            packed.append(edges[position])
        if kind == CONTINUATION:
            seen[target] = 1
    if all_plain:
        walk = list(tree.graph.walk(tree.root_ordinals))
        if packed == _grouped(tree, walk):
            return {"form": form} if form else None
        if packed == _by_node(tree, walk):
            return {"form": form, "order": "nodes"}
    return {"form": form, "list": packed}


def _grouped(tree: Tree, walk: list[int]) -> list[str]:
    """Targets of plain edges grouped by parent, parents depth-first."""
    ids, children = tree.nodes.ids, tree.graph.children
    return [ids[child] for ordinal in walk for child in children(ordinal)]


def _by_node(tree: Tree, walk: list[int]) -> list[str]:
    """Targets of plain edges in depth-first order."""
    ids, parent = tree.nodes.ids, tree.graph.parent
    return [ids[ordinal] for ordinal in walk if parent[ordinal] >= 0]


def unpack_edges(tree: Tree, packed: dict[str, Any]) -> tuple[EdgeTable, list[Edge]]:
    """The edges of a residue against the tree as it is now, and those that do not fit any more.

    A node's parent is the one that it has *now*, and siblings have the order that they have now: what was moved stays
    moved. Edges of nodes that are new come last.
    """
    return _Unpacking(tree, packed).run()


class _Unpacking:
    def __init__(self, tree: Tree, packed: dict[str, Any]) -> None:
        self.tree = tree
        self.graph = tree.graph
        self.form = packed["form"] if isinstance(packed.get("form"), int) else 0
        ids = tree.nodes.ids
        self.entries: list[Any] = self._entries(packed)
        self.table = EdgeTable(tree.nodes)
        self.placed = bytearray(len(ids))
        # Children that a whole edge in the list places; a plain entry must not take their turn.
        self.reserved = {
            entry["targetNodeId"] for entry in self.entries if isinstance(entry, dict) and self._gives_parent(entry)
        }
        self.turns: dict[int, Iterator[int]] = {}

    def _entries(self, packed: dict[str, Any]) -> list[Any]:
        entries = packed.get("list")
        if isinstance(entries, list):
            return entries
        walk = list(self.graph.walk(self.tree.root_ordinals))
        return (_by_node if packed.get("order") == "nodes" else _grouped)(self.tree, walk)

    def run(self) -> tuple[EdgeTable, list[Edge]]:
        gone: list[Edge] = []
        ordinals = self.tree.nodes.ordinals
        for entry in self.entries:
            if isinstance(entry, str):
                ordinal = ordinals.get(entry, -1)
                if ordinal >= 0 and self.graph.parent[ordinal] >= 0:
                    self._place_next(self.graph.parent[ordinal])
            elif not self._fits(entry):
                gone.append(entry)
            elif self._gives_parent(entry):
                self.placed[ordinals[entry["targetNodeId"]]] = 1
                self.table.append(entry)
            elif self._is_further(entry):
                self.table.append(entry)
        for target in self.tree.edges.targets:
            if not self.placed[target]:
                self._place(target)
        return self.table, gone

    def _place_next(self, parent: int) -> None:
        """Place the next child of the parent, in today's order; as many turns come as plain entries have the parent."""
        turn = self.turns.setdefault(parent, iter(self.graph.children(parent)))
        for child in turn:
            if not self.placed[child] and self.tree.nodes.ids[child] not in self.reserved:
                self._place(child)
                return

    def _place(self, child: int) -> None:
        self.placed[child] = 1
        self.table.add(self.graph.parent[child], child, self.form)

    def _fits(self, entry: Any) -> bool:
        """Whether all nodes that the edge names are there."""
        ordinals = self.tree.nodes.ordinals
        return (
            is_edge(entry)
            and entry["targetNodeId"] in ordinals
            and all(source["nodeId"] in ordinals for source in entry["sources"])
        )

    def _gives_parent(self, entry: Any) -> bool:
        """Whether the edge links its target to the parent that it has now."""
        if not self._fits(entry) or entry["type"] != "continuation":
            return False
        target = self.tree.nodes.ordinals[entry["targetNodeId"]]
        parent = self.graph.parent[target]
        return parent >= 0 and not self.placed[target] and primary_source(entry) == self.tree.nodes.ids[parent]

    def _is_further(self, entry: Any) -> bool:
        """Whether the edge is an annotation, or one that gives its target a further parent."""
        if entry["type"] != "continuation":
            return True
        return bool(self.placed[self.tree.nodes.ordinals[entry["targetNodeId"]]])
