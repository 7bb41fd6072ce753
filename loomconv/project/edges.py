"""Edges in a residue: compact where an edge is plain, whole where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from loomconv.model.document import Tree
from loomconv.model.edges import (
    BROKEN,
    CONTINUATION,
    ID_ABSENT,
    ODD,
    OWN_ID,
    ROLE_ABSENT,
    EdgeTable,
    is_edge,
    plain_edge,
    primary_source,
)
from loomconv.model.graph import Graph
from loomconv.model.types import Edge

__all__ = ["pack_edges", "simple_edges", "unpack_edges"]


def simple_edges(tree: Tree) -> EdgeTable:
    """The plain parent → child edges of a strict tree: each node keeps its first parent, in the same array order."""
    edges, parent = tree.edges, tree.graph.parent
    table = EdgeTable(tree.nodes)
    if edges.kinds.count(CONTINUATION) == len(edges) and max(tree.graph.incoming, default=0) < 2:
        table.extend_plain(edges.parents, edges.targets)
        return table
    seen = bytearray(len(tree.nodes))
    for kind, source, target in zip(edges.kinds, edges.parents, edges.targets, strict=True):
        if kind == CONTINUATION and parent[target] == source and not seen[target]:
            seen[target] = 1
            table.add(source, target)
    return table


def pack_edges(tree: Tree) -> dict[str, Any] | None:
    """All edges of the tree for its residue, or None when a reader of the strict tree makes the very same ones.

    `{"form": bits, "list": [...]}`: in the list a plain edge is the id of its target alone (its source is the parent
    that the target has in the tree), one that has an id besides is `[id, target]`, and any other edge is the whole
    object. `form` says which optional parts plain edges lack. When all edges are plain there need be no list: without
    one they stand in the order that readers give them, grouped by parent, parents depth-first; with `"order": "nodes"`
    in the depth-first order of their targets.
    """
    edges, ids = tree.edges, tree.nodes.ids
    if not len(edges):
        return None
    form = next((form & ~(ODD | OWN_ID) for form in edges.forms if not form & ODD or form & OWN_ID), 0)
    with_id = (form & ~ID_ABSENT) | ODD | OWN_ID
    parent = tree.graph.parent
    packed: list[Any] = []
    all_plain = True
    seen = bytearray(len(ids))
    rows = zip(edges.kinds, edges.forms, edges.parents, edges.targets, strict=True)
    for position, (kind, own_form, source, target) in enumerate(rows):
        simple = kind == CONTINUATION and parent[target] == source and not seen[target]
        if simple and own_form == form:
            packed.append(ids[target])
        else:
            all_plain = False
            packed.append([edges.own_id(position), ids[target]] if simple and own_form == with_id else edges[position])
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


class Unpacked(NamedTuple):
    """The edges of a residue, put back, and those of them that do not fit any more."""

    table: EdgeTable
    # Edges of which a node is gone (what is left of them is put back).
    gone: list[Any]
    # Continuations into nodes that hang elsewhere by now.
    moved: list[Edge]
    # Edges that lost sources which by now come after their target.
    closing: list[Edge]


def unpack_edges(tree: Tree, packed: dict[str, Any]) -> Unpacked:
    """Put a residue's edges into the tree as it is now.

    A node's parent is the one that it has *now*, and siblings have the order that they have now: what was moved stays
    moved. Edges of nodes that are new come last.
    """
    return _Unpacking(tree, packed).run()


class _Unpacking:
    def __init__(self, tree: Tree, packed: dict[str, Any]) -> None:
        self.tree = tree
        self.graph = tree.graph
        self.form = packed["form"] if packed.get("form") in _PLAIN_FORMS else 0
        self.table = EdgeTable(tree.nodes)
        self.gone: list[Any] = []
        self.moved: list[Edge] = []
        # Ordinals of nodes that have their edge, and the edges of those whose edge is no plain one.
        self.placed = bytearray(len(tree.nodes))
        self.own: dict[int, Edge] = {}
        self.turns: dict[int, Iterator[int]] = {}
        self.further: dict[int, list[Edge]] = {}
        self.entries = self._entries(packed)

    def _entries(self, packed: dict[str, Any]) -> list[int | Edge]:
        """What stands in the list: the ordinal of a node where its edge from its parent is, else any further edge."""
        listed, ordinals = packed.get("list"), self.tree.nodes.ordinals
        if not isinstance(listed, list):
            walk = list(self.graph.walk(self.tree.root_ordinals))
            listed = (_by_node if packed.get("order") == "nodes" else _grouped)(self.tree, walk)
        entries: list[int | Edge] = []
        seen = bytearray(len(self.tree.nodes))
        for entry in listed:
            each = self._with_parent(entry) if isinstance(entry, list) else entry
            edge = None if isinstance(each, str) else self._alive(each)
            if edge is None and not isinstance(each, str):
                continue
            ordinal = ordinals.get(each if edge is None else edge["targetNodeId"], -1)
            if ordinal < 0:
                continue
            if edge is not None and (edge["type"] != "continuation" or seen[ordinal]):
                entries.append(edge)
                continue
            seen[ordinal] = 1
            parent = self.graph.parent[ordinal]
            if edge is not None:
                if parent >= 0 and primary_source(edge) == self.tree.nodes.ids[parent]:
                    self.own[ordinal] = edge
                else:
                    self.moved.append(edge)
            if parent >= 0:
                entries.append(ordinal)
        return entries

    def _with_parent(self, entry: list[Any]) -> Any:
        """The edge of an entry `[id, target]`, from the parent that the target has now; the entry if there is none."""
        if len(entry) != 2 or not all(isinstance(each, str) for each in entry):
            return entry
        own_id, target = entry
        ordinal = self.tree.nodes.ordinals.get(target, -1)
        parent = self.graph.parent[ordinal] if ordinal >= 0 else -1
        if parent < 0:
            return entry
        return {**plain_edge(self.tree.nodes.ids[parent], target, self.form & ROLE_ABSENT), "id": own_id}

    def _alive(self, entry: Any) -> Edge | None:
        """The edge without those of its sources that are gone; None when nothing of it is left."""
        ordinals = self.tree.nodes.ordinals
        if not is_edge(entry) or entry["targetNodeId"] not in ordinals:
            self.gone.append(entry)
            return None
        sources = [source for source in entry["sources"] if source["nodeId"] in ordinals]
        if len(sources) == len(entry["sources"]):
            return cast(Edge, entry)
        self.gone.append(entry)
        return cast(Edge, {**entry, "sources": sources}) if sources else None

    def run(self) -> Unpacked:
        for entry in self.entries:
            if isinstance(entry, int):
                self._place_next(self.graph.parent[entry])
            elif entry["type"] != "continuation":
                self.table.append(entry)
            elif self.graph.parent[target := self._target(entry)] >= 0:
                if self.placed[target]:
                    self.table.append(entry)
                else:
                    # The first continuation into a node makes its parent, which may be another one by now.
                    self.further.setdefault(target, []).append(entry)
            else:
                self.moved.append(entry)  # a further parent of a node that was made a root
        edges = self.tree.edges
        for position, (kind, target) in enumerate(zip(edges.kinds, edges.targets, strict=True)):
            if kind == BROKEN:
                self._keep_broken(position)
            elif kind == CONTINUATION and not self.placed[target]:
                self._place(target)
        table, closing = self._without_rings()
        return Unpacked(table, self.gone, self.moved, closing)

    def _without_rings(self) -> tuple[EdgeTable, list[Edge]]:
        """The edges without the further sources that close a ring, since nodes were moved; and those that had some."""
        table = self.table
        if not table.more_sources and len(set(table.targets)) == len(table):
            return table, []
        ringed = Graph(table).on_or_behind_rings()
        if not ringed:
            return table, []
        changes: dict[int, Edge | bool] = {}
        closing: list[Edge] = []
        for position, (kind, target) in enumerate(zip(table.kinds, table.targets, strict=True)):
            if kind != CONTINUATION or target not in ringed:
                continue
            edge, parent = table[position], self.graph.parent[target]
            kept = [
                source
                for source, ordinal in zip(edge["sources"], table.sources(position), strict=True)
                if ordinal == parent or ordinal not in ringed
            ]
            if len(kept) < len(edge["sources"]):
                changes[position] = cast(Edge, {**edge, "sources": kept}) if kept else False
                closing.append(edge)
        return table.rebuilt(self.tree.nodes, lambda position: changes.get(position, True)), closing

    def _keep_broken(self, position: int) -> None:
        """An edge of today that leads to nowhere stays, for repair to report and to make a root of its target."""
        edges = self.tree.edges
        if position in edges.claims:
            edge = edges[position]
            self.table.add_claim(edge["sources"][0]["nodeId"], edge["targetNodeId"])
        else:
            self.table.append(edges[position])

    def _target(self, edge: Edge) -> int:
        return self.tree.nodes.ordinals[edge["targetNodeId"]]

    def _place_next(self, parent: int) -> None:
        """Place the next child of the parent, in today's order; each child in the list gives its parent one turn."""
        turn = self.turns.get(parent)
        if turn is None:
            turn = self.turns[parent] = iter(self.graph.children(parent))
        for child in turn:
            self._place(child)
            return

    def _place(self, child: int) -> None:
        self.placed[child] = 1
        own = self.own.get(child)
        if own is None:
            self.table.add(self.graph.parent[child], child, self.form)
        else:
            self.table.append(own)
        for edge in self.further.pop(child, ()):
            self.table.append(edge)


_PLAIN_FORMS = (0, ID_ABSENT, ROLE_ABSENT, ID_ABSENT | ROLE_ABSENT)
