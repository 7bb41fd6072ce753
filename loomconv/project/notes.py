"""Attached notes, nodes that only annotations reach: in the residue of a strict tree, or held by a continuation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, cast

from loomconv.model.document import Tree
from loomconv.model.edges import CONTINUATION, is_edge
from loomconv.model.nodes import NodeIndex
from loomconv.model.types import Node

__all__ = ["hold_notes", "in_annotation_order", "notes_in", "stray_notes", "with_notes", "without_held_notes"]


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


def in_annotation_order(tree: Tree, notes: set[int]) -> list[int]:
    """The notes as annotations name them first: unlike the order of the nodes it is the same after any journey."""
    edges = tree.edges
    named = (
        each
        for position, kind in enumerate(edges.kinds)
        if kind != CONTINUATION
        for each in (*edges.sources(position), edges.targets[position])
    )
    return list(dict.fromkeys(each for each in named if each in notes))


def hold_notes(tree: Tree) -> dict[str, str]:
    """For each attached note the node to hang it on: what it is about, else another note, else the first root.

    Ids, in the order of the annotations; together with the continuations that are there they make no ring.
    """
    notes = tree.attached_notes()
    if not notes:
        return {}
    edges, ids = tree.edges, tree.nodes.ids
    ends: dict[int, list[int]] = {}
    for position, kind in enumerate(edges.kinds):
        if kind != CONTINUATION:
            around = [*edges.sources(position), edges.targets[position]]
            for each in around:
                ends.setdefault(each, []).extend(other for other in around if other != each)
    order = in_annotation_order(tree, notes)
    anchors: dict[int, int] = {}
    waiting: deque[int] = deque()
    for note in order:
        story = next((other for other in ends.get(note, ()) if other not in notes), None)
        if story is not None:
            anchors[note] = story
            waiting.append(note)
    roots = tree.root_ordinals
    for note in order:
        while waiting:
            near = waiting.popleft()
            for other in ends.get(near, ()):
                if other in notes and other not in anchors:
                    anchors[other] = near
                    waiting.append(other)
        if note not in anchors and roots:
            anchors[note] = roots[0]
            waiting.append(note)
    return {ids[note]: ids[anchors[note]] for note in order if note in anchors}


def without_held_notes(tree: Tree, held: Any) -> tuple[Tree, set[str]]:
    """The tree without the continuations that only hold notes (note → anchor), and the ids of the notes now loose.

    A note that hangs elsewhere by now, or that something continues, is part of the story and stays there.
    """
    if not isinstance(held, dict) or not held:
        return tree, set()
    ordinals, edges, graph = tree.nodes.ordinals, tree.edges, tree.graph
    anchor_of = {
        ordinals[note]: ordinals[anchor]
        for note, anchor in held.items()
        if note in ordinals and isinstance(anchor, str) and anchor in ordinals and graph.incoming[ordinals[note]] == 1
    }
    holding = {
        position
        for position, (kind, parent, target) in enumerate(zip(edges.kinds, edges.parents, edges.targets, strict=True))
        if kind == CONTINUATION and anchor_of.get(target) == parent and len(edges.sources(position)) == 1
    }
    loose = {edges.targets[position] for position in holding}
    story = [
        edges.parents[position]
        for position, kind in enumerate(edges.kinds)
        if kind == CONTINUATION and position not in holding
    ]
    for note in story:
        while note in loose:
            loose.discard(note)
            note = anchor_of[note]
    table = edges.rebuilt(tree.nodes, lambda position: position not in holding or edges.targets[position] not in loose)
    return Tree(dict(tree.fields), tree.nodes, table, tree.key_order), {tree.nodes.ids[note] for note in loose}
