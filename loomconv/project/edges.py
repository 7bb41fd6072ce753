"""Edges in a residue: compact where an edge is plain, whole where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from loomconv.model.document import Tree
from loomconv.model.edges import CONTINUATION, ODD, EdgeTable, plain_edge, primary_source
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

    `{"form": bits, "list": [...]}`: in the list a plain edge is the id of its target alone (its source is the
    parent that the target has in the tree), any other edge is the whole object. `form` says which optional parts
    plain edges lack.
    """
    edges, ids = tree.edges, tree.nodes.ids
    if not len(edges):
        return None
    plain_forms = {form for form in edges.forms if not form & ODD}
    form = min(plain_forms, default=0)
    parent = tree.graph.parent
    packed: list[Any] = []
    seen = bytearray(len(ids))
    for position, (kind, own_form, source, target) in enumerate(
        zip(edges.kinds, edges.forms, edges.parents, edges.targets, strict=True)
    ):
        plain = kind == CONTINUATION and own_form == form and parent[target] == source and not seen[target]
        if kind == CONTINUATION:
            seen[target] = 1
        packed.append(ids[target] if plain else edges[position])
    if form == 0 and len(plain_forms) <= 1 and packed == _depth_first_targets(tree):
        return None
    return {"form": form, "list": packed}


def _depth_first_targets(tree: Tree) -> list[str]:
    """Targets in the order in which a reader of a nested or parent/child file emits its edges."""
    graph, ids = tree.graph, tree.nodes.ids
    return [ids[child] for ordinal in graph.walk(tree.root_ordinals) for child in graph.children(ordinal)]


def unpack_edges(tree: Tree, packed: dict[str, Any]) -> Iterator[tuple[Edge | None, Edge | None]]:
    """The edges of a residue against the tree as it is now: pairs of (edge to keep, edge that does not fit any more).

    A node's parent is the one that it has *now*: a moved node stays moved. Edges of nodes that are new come last.
    """
    graph, ids, ordinals = tree.graph, tree.nodes.ids, tree.nodes.ordinals
    form = int(packed.get("form", 0))
    placed = bytearray(len(ids))
    for entry in packed.get("list", ()):
        if isinstance(entry, str):
            ordinal = ordinals.get(entry, -1)
            if ordinal >= 0 and graph.parent[ordinal] >= 0 and not placed[ordinal]:
                placed[ordinal] = 1
                yield plain_edge(ids[graph.parent[ordinal]], entry, form), None
            continue
        edge = cast(Edge, entry)
        target = ordinals.get(edge["targetNodeId"], -1)
        if target < 0 or any(source["nodeId"] not in ordinals for source in edge["sources"]):
            yield None, edge
            continue
        parent = graph.parent[target]
        if edge["type"] == "continuation" and not placed[target] and parent >= 0:
            if primary_source(edge) != ids[parent]:
                continue  # moved: the plain edge to its present parent follows below
            placed[target] = 1
        yield edge, None
    for position, target in enumerate(tree.edges.targets):
        if not placed[target] and tree.edges.kinds[position] == CONTINUATION:
            placed[target] = 1
            yield plain_edge(ids[graph.parent[target]], ids[target], form), None
