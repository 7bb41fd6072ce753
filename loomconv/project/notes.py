"""Attached notes in a residue: nodes that only annotations reach, which a strict tree has no place for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from loomconv.model.document import Tree
from loomconv.model.edges import CONTINUATION, is_edge
from loomconv.model.nodes import NodeIndex
from loomconv.model.types import Node

__all__ = ["notes_in", "stray_notes", "with_notes"]


def notes_in(record: Any, nodes: NodeIndex) -> dict[str, tuple[int, dict[str, Any]]]:
    """The notes that a tree's record holds, by id, with their former positions; ids that are taken are passed over."""
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for entry in record if isinstance(record, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("node"), dict):
            continue
        node_id, position = entry["node"].get("id"), entry.get("position")
        if isinstance(node_id, str) and node_id and isinstance(position, int) and node_id not in nodes:
            found.setdefault(node_id, (position, entry["node"]))
    return found


def with_notes(
    nodes: NodeIndex, notes: dict[str, tuple[int, dict[str, Any]]], mend: Callable[[str, Node], Node]
) -> NodeIndex:
    """The index with the notes, each at its former position, or behind the others where that is taken."""
    at: dict[int, Node] = {}
    behind = len(nodes) + len(notes)
    for node_id, (position, node) in notes.items():
        if position in at:
            position, behind = behind, behind + 1
        at[position] = mend(node_id, cast(Node, node))
    return nodes.with_inserted(at)


def stray_notes(tree: Tree, notes: set[str], gone: list[Any]) -> list[str]:
    """Those of the notes that hung, if only by way of other notes, on something that is gone; in file order."""
    ordinals = tree.nodes.ordinals
    own = {ordinals[note] for note in notes}
    near: dict[int, set[int]] = {}
    anchored: list[int] = []
    for position, kind in enumerate(tree.edges.kinds):
        if kind == CONTINUATION:
            continue
        ends = {tree.edges.targets[position], *tree.edges.sources(position)}
        touched = ends & own
        if ends - own:
            anchored.extend(touched)
        for each in touched:
            near.setdefault(each, set()).update(touched)
    torn = [
        ordinals[end]
        for edge in gone
        if is_edge(edge)
        for end in (edge["targetNodeId"], *(source["nodeId"] for source in edge["sources"]))
        if end in notes
    ]
    stray = _reach(torn, near) - _reach(anchored, near)
    return [tree.nodes.ids[ordinal] for ordinal in sorted(stray)]


def _reach(starts: list[int], near: dict[int, set[int]]) -> set[int]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for each in near.get(waiting.pop(), ()):
            if each not in reached:
                reached.add(each)
                waiting.append(each)
    return reached
