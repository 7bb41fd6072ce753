"""Attached notes, nodes that only annotations reach: in the residue of a strict tree, or held by a continuation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, cast

from loomconv.model.document import Tree
from loomconv.model.edges import CONTINUATION, is_edge, plain_edge
from loomconv.model.ids import mint_ulid
from loomconv.model.nodes import NodeIndex
from loomconv.model.record import NAMESPACE, own_record, without_members
from loomconv.model.types import Edge, Node

__all__ = ["held_edge", "hold_notes", "notes_in", "stray_notes", "with_notes", "without_held_edges"]


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


def hold_notes(tree: Tree) -> list[tuple[str, str]]:
    """For each attached note the node to hang it on: what it is about, else another note, else the first root.

    Pairs of ids in the order of the notes; together with the continuations that are there they make no ring.
    """
    notes = tree.attached_notes()
    if not notes:
        return []
    edges, ids = tree.edges, tree.nodes.ids
    ends: dict[int, list[int]] = {}
    for position, kind in enumerate(edges.kinds):
        if kind != CONTINUATION:
            around = [*edges.sources(position), edges.targets[position]]
            for each in around:
                ends.setdefault(each, []).extend(other for other in around if other != each)
    anchors: dict[int, int] = {}
    waiting: deque[int] = deque()
    for note in sorted(notes):
        story = next((other for other in ends.get(note, ()) if other not in notes), None)
        if story is not None:
            anchors[note] = story
            waiting.append(note)
    roots = tree.root_ordinals
    for note in [*sorted(notes)]:
        while waiting:
            near = waiting.popleft()
            for other in ends.get(near, ()):
                if other in notes and other not in anchors:
                    anchors[other] = near
                    waiting.append(other)
        if note not in anchors and roots:
            anchors[note] = roots[0]
            waiting.append(note)
    return [(ids[anchors[note]], ids[note]) for note in sorted(anchors)]


def held_edge(anchor: str, note: str) -> Edge:
    """The continuation that holds a note, with its mark."""
    return {
        **plain_edge(anchor, note),
        "id": mint_ulid("held-note", anchor, note),
        "extensions": {NAMESPACE: {"heldNote": True}},
    }


def without_held_edges(tree: Tree) -> tuple[Tree, set[str]]:
    """The tree without the continuations that only hold notes, and the ids of those notes.

    A note with a continuation of its own by now is part of the story: its edge stays, without the mark.
    """
    edges = tree.edges
    held = {
        position: edges[position]
        for position in edges.rich
        if edges.kinds[position] == CONTINUATION and own_record(edges[position]).get("heldNote")
    }
    if not held:
        return tree, set()
    anchor_of = {edges.targets[position]: edges.parents[position] for position in held}
    story = {
        end
        for position, kind in enumerate(edges.kinds)
        if kind == CONTINUATION and position not in held
        for end in (edges.targets[position], *edges.sources(position))
        if end in anchor_of
    }
    for note in list(story):
        while (above := anchor_of[note]) in anchor_of and above not in story:
            story.add(above)
            note = above

    def change(position: int) -> Edge | bool:
        if position not in held:
            return True
        stays = edges.targets[position] in story
        return cast(Edge, without_members(held[position], "heldNote")) if stays else False

    free = {tree.nodes.ids[note] for note in anchor_of if note not in story}
    return Tree(dict(tree.fields), tree.nodes, edges.rebuilt(tree.nodes, change), tree.key_order), free
