"""Ids of nodes in files that have none: nodes are found again by their place in the tree and by what they say.

A tree that goes to such a format records `places`: its nodes from the roots down, each with its id, the position of its
parent in the list (-1 for a root), and a digest of its content. When the tree comes back with ids that its reader made
up, the nodes get their own again, and everything that was set aside by id fits.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any, cast

from loomconv import jsontext
from loomconv.model.document import Tree
from loomconv.model.edges import ODD, EdgeTable
from loomconv.model.ids import mint_ulid
from loomconv.model.nodes import NodeIndex
from loomconv.model.types import Edge, Node
from loomconv.project.residue import digest

__all__ = ["places_of", "with_former_ids"]


def places_of(tree: Tree) -> list[list[Any]]:
    """The record of a tree as it will be written; costs a look at every node that can be reached from the roots."""
    graph, ids = tree.graph, tree.nodes.ids
    positions: dict[int, int] = {}
    places: list[list[Any]] = []
    for ordinal in graph.walk(tree.root_ordinals):
        positions[ordinal] = len(places)
        parent = positions.get(graph.parent[ordinal], -1)
        places.append([ids[ordinal], parent, digest(tree.nodes[ids[ordinal]]["content"])])
    return places


def with_former_ids(tree: Tree, record: Any) -> Tree:
    """The tree with the ids of the record, where its nodes are found; the very same tree when they have them already.

    Top down, children of a node that was found are found among the children that it had: first by content, then in
    order if as many are left on both sides. What is left over anywhere is found by its content alone. A record of an
    unknown shape is passed over.
    """
    former = _read(record)
    if former is None:
        return tree
    found = _match(tree, former)
    ids = tree.nodes.ids
    names = {ids[ordinal]: former.ids[position] for ordinal, position in found.items()}
    if all(own == given for own, given in names.items()):
        return tree
    taken = set(former.ids)
    for node_id in ids:
        if node_id not in names:
            given = node_id
            while given in taken:
                given = mint_ulid("place", given)
            taken.add(given)
            names[node_id] = given
    return _renamed(tree, names)


class _Former:
    """The nodes as they were: ids, digests, and children by position; -1 for the roots."""

    def __init__(self, places: Iterable[Sequence[Any]]) -> None:
        self.ids: list[str] = []
        self.digests: list[str | None] = []
        self.below: defaultdict[int, list[int]] = defaultdict(list)
        for position, (node_id, parent, mark) in enumerate(places):
            self.ids.append(node_id)
            self.digests.append(mark)
            self.below[parent].append(position)


def _read(record: Any) -> _Former | None:
    if not isinstance(record, list):
        return None
    for position, place in enumerate(record):
        if not isinstance(place, list) or len(place) != 3:
            return None
        node_id, parent, mark = place
        if not isinstance(node_id, str) or not node_id or not isinstance(mark, str | None):
            return None
        if type(parent) is not int or not -1 <= parent < position:
            return None
    former = _Former(record)
    return former if len(set(former.ids)) == len(former.ids) else None


def _match(tree: Tree, former: _Former) -> dict[int, int]:
    """Ordinals of the tree's nodes → positions in the record."""
    ids, graph = tree.nodes.ids, tree.graph
    marks = [digest(tree.nodes[node_id].get("content")) for node_id in ids]
    found: dict[int, int] = {}
    waiting: deque[tuple[int, Sequence[int]]] = deque([(-1, tree.root_ordinals)])
    while waiting:
        above, children = waiting.popleft()
        children = [child for child in children if child not in found]
        pairs = _aligned(children, [marks[child] for child in children], former, former.below[above])
        found.update(pairs)
        waiting.extend((position, graph.children(child)) for child, position in pairs.items())
    # What somebody moved.
    by_mark: defaultdict[str | None, deque[int]] = defaultdict(deque)
    used = set(found.values())
    for position, mark in enumerate(former.digests):
        if position not in used:
            by_mark[mark].append(position)
    for ordinal, mark in enumerate(marks):
        if ordinal not in found and by_mark[mark]:
            found[ordinal] = by_mark[mark].popleft()
    return found


def _aligned(
    children: Sequence[int], marks: Sequence[str | None], former: _Former, positions: Sequence[int]
) -> dict[int, int]:
    """Siblings as they are → siblings as they were."""
    by_mark: defaultdict[str | None, deque[int]] = defaultdict(deque)
    for position in positions:
        by_mark[former.digests[position]].append(position)
    pairs = {child: by_mark[mark].popleft() for child, mark in zip(children, marks, strict=True) if by_mark[mark]}
    used = set(pairs.values())
    rest = [position for position in positions if position not in used]
    others = [child for child in children if child not in pairs]
    if len(rest) == len(others):
        pairs.update(zip(others, rest, strict=True))
    return pairs


def _renamed(tree: Tree, names: dict[str, str]) -> Tree:
    """The tree with other ids for its nodes."""
    nodes = NodeIndex()
    for node_id in tree.nodes.ids:
        node: dict[str, Any] = {**cast("dict[str, Any]", tree.nodes[node_id]), "id": names[node_id]}
        origin = node.get("editedFrom")
        if isinstance(origin, str) and origin in names:
            node["editedFrom"] = names[origin]
        nodes.add_block(names[node_id], jsontext.encode(cast(Node, node)))
    edges = EdgeTable(nodes)
    for position, form in enumerate(tree.edges.forms):
        parent, target = tree.edges.parents[position], tree.edges.targets[position]
        if form & ODD or parent < 0 or target < 0:
            edges.append(_renamed_edge(tree.edges[position], names))
        else:
            edges.add(parent, target, form)
    fields = dict(tree.fields)
    if isinstance(fields.get("rootNodeIds"), list):
        fields["rootNodeIds"] = [
            names.get(each, each) if isinstance(each, str) else each for each in fields["rootNodeIds"]
        ]
    current = fields.get("currentNodeId")
    if isinstance(current, str):
        fields["currentNodeId"] = names.get(current, current)
    return Tree(fields, nodes, edges, tree.key_order)


def _renamed_edge(edge: Edge, names: dict[str, str]) -> Any:
    return {
        **edge,
        "sources": [{**source, "nodeId": names.get(source["nodeId"], source["nodeId"])} for source in edge["sources"]],
        "targetNodeId": names.get(edge["targetNodeId"], edge["targetNodeId"]),
    }
