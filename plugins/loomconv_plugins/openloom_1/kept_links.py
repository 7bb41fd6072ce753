"""The raw form of links, kept in the tree's stash under `links`, and whether it still says what the tree says.

An entry, by id of the node, has the raw `parentId` and `childrenIds` and the `absent` ones of the two, as far as they
differ from what the writer would put there, and the ids in them that were `missing` in the file. Links of one node bear
upon others, hence they are judged together.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from loomconv.model.document import Tree
from loomconv_plugins.openloom_1.links import Claims, Links, child_ids, named_ids, settle
from loomconv_plugins.openloom_1.shape import id_of

__all__ = ["usable_links"]

Entries = dict[str, dict[str, Any]]


def usable_links(kept: Any, tree: Tree, root: str | None, time_of: Callable[[int], float | None]) -> Entries:
    """The entries whose use leaves the tree's links as they are, read by the rules of `settle`.

    Those that contradict the tree are left out, with all that touch the same nodes. Costs nothing without entries, and
    a few passes over the nodes where lists of children or parents of inner nodes are kept.
    """
    if not isinstance(kept, dict):
        return {}
    nodes, graph = tree.nodes, tree.graph
    entries = {
        node_id: entry
        for node_id, entry in kept.items()
        if node_id in nodes and isinstance(entry, dict) and _names_nobody_new(entry, nodes)
    }
    rootlike = {
        node_id
        for node_id, entry in entries.items()
        if graph.parent[nodes.ordinals[node_id]] < 0
        and "childrenIds" not in entry
        and not _is_absent(entry, "childrenIds")
        and id_of(entry.get("parentId")) not in nodes
    }
    if len(rootlike) == len(entries):
        return entries
    actual = _actual_links(tree)
    for _ in range(2):
        wrong = _contradicted(entries, tree, actual, root, time_of)
        if not wrong:
            return entries
        entries = {
            node_id: entry
            for node_id, entry in entries.items()
            if node_id not in wrong and wrong.isdisjoint(child_ids(entry.get("childrenIds")))
        }
    if not _contradicted(entries, tree, actual, root, time_of):
        return entries
    return {node_id: entry for node_id, entry in entries.items() if node_id in rootlike}


def _names_nobody_new(entry: dict[str, Any], nodes: Container[str]) -> bool:
    """Whether the ids that name no node did so in the file, too: not those of nodes that are gone since then."""
    missing = entry.get("missing")
    known = missing if isinstance(missing, list) else ()
    return all(each in nodes or each in known for each in named_ids(entry))


def _is_absent(entry: dict[str, Any], key: str) -> bool:
    absent = entry.get("absent")
    return isinstance(absent, list) and key in absent


def _actual_links(tree: Tree) -> Links:
    ids, graph = tree.nodes.ids, tree.graph
    parents = [ids[parent] if parent >= 0 else None for parent in graph.parent]
    return Links(parents, [[ids[child] for child in graph.children(ordinal)] for ordinal in range(len(ids))], [])


def _contradicted(
    entries: Entries, tree: Tree, actual: Links, root: str | None, time_of: Callable[[int], float | None]
) -> set[str]:
    """Ids of the nodes that would get another parent or other children, and their parents in the tree."""
    ids = tree.nodes.ids
    claims = Claims(ids, list(actual.parents), list(actual.children))
    for node_id, entry in entries.items():
        ordinal = claims.ordinals[node_id]
        if "parentId" in entry or _is_absent(entry, "parentId"):
            claims.parents[ordinal] = id_of(entry.get("parentId"))
        if "childrenIds" in entry or _is_absent(entry, "childrenIds"):
            claims.children[ordinal] = child_ids(entry.get("childrenIds"))
    read = settle(claims, root, time_of, lambda *_: None)
    wrong: set[str] = set()
    for ordinal, node_id in enumerate(ids):
        if read.parents[ordinal] != actual.parents[ordinal]:
            wrong.update(filter(None, (node_id, actual.parents[ordinal], read.parents[ordinal])))
        if read.children[ordinal] != actual.children[ordinal]:
            wrong.add(node_id)
            wrong.update(set(actual.children[ordinal]).symmetric_difference(read.children[ordinal]))
    return wrong
