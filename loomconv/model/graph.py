"""Topology of a tree: who continues whom, answered from arrays, never by recursion."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, repeat

from loomconv.model.edges import CONTINUATION, EdgeTable

__all__ = ["Graph"]


class Graph:
    """A read-only view of the continuation edges as they were when the view was made.

    Nodes are ordinals here (positions in `tree.nodes.ids`); `Tree.graph` hands one out, and its methods `parent_of`,
    `children_of` and `path_to` speak ids. Who first asks for children pays a sort of the edges (about 0.5 µs an edge).

    `parent[i]` is the ordinal of the node's parent or -1: the acting source of the *first* continuation edge in array
    order that points at it (OL2-4.1-oneparent-strict, OL2-4.4-strictparent).
    """

    __slots__ = ("_arranged", "_ids", "_links", "_ordinals", "has_hyperedges", "incoming", "parent")

    def __init__(self, edges: EdgeTable) -> None:
        self._ids: Sequence[str] = edges.nodes.ids
        self._ordinals = edges.nodes.ordinals
        count = len(self._ids)
        self.parent = array("q", bytes(b"\xff" * (8 * count)))
        # Continuation edges into each node; more than one means several parents.
        self.incoming = array("q", bytes(8 * count))
        self.has_hyperedges = bool(edges.more_sources)
        self._link(edges, count)

    def _link(self, edges: EdgeTable, count: int) -> None:
        if edges.kinds.count(CONTINUATION) != len(edges):
            sources, targets = self._link_odd(edges)
        else:
            # Copies, since the table may grow.
            sources, targets = _with_more_sources(edges) if edges.more_sources else (edges.parents[:], edges.targets[:])
            self._link_plain(edges, count)
        self._links: tuple[array[int], array[int]] | None = (sources, targets)
        self._arranged = (array("q"), array("q"))

    def _children_and_starts(self) -> tuple[array[int], array[int]]:
        """All children, those of one node together, and where those of each node begin; made when first asked for."""
        if self._links is not None:
            sources, targets = self._links
            # A stable sort by source keeps the sibling order; counting gives each node's share.
            order = sorted(range(len(sources)), key=sources.__getitem__)
            children = array("q", map(targets.__getitem__, order))
            shares = Counter(sources)
            count = range(len(self._ids))
            self._arranged = children, array("q", accumulate(map(shares.get, count, repeat(0)), initial=0))
            self._links = None
        return self._arranged

    def _link_plain(self, edges: EdgeTable, count: int) -> None:
        """Parents where every edge is a continuation; the first edge into a node wins."""
        first = dict(zip(reversed(edges.targets), reversed(edges.parents), strict=True))
        self.parent = array("q", map(first.get, range(count), repeat(-1)))
        incoming = Counter(edges.targets)
        self.incoming = array("q", map(incoming.get, range(count), repeat(0)))

    def _link_odd(self, edges: EdgeTable) -> tuple[array[int], array[int]]:
        """Parents among edges of all kinds; gives the links between each source and its target."""
        parent, incoming = self.parent, self.incoming
        sources, targets = array("q"), array("q")
        for position, (kind, source, target) in enumerate(zip(edges.kinds, edges.parents, edges.targets, strict=True)):
            if kind != CONTINUATION:
                continue
            if not incoming[target]:
                parent[target] = source
            incoming[target] += 1
            # A child counts under every source that it has (A31).
            for each in dict.fromkeys(edges.sources(position)) if position in edges.more_sources else (source,):
                sources.append(each)
                targets.append(target)
        return sources, targets

    def __len__(self) -> int:
        return len(self._ids)

    # -- by ordinal --------------------------------------------------------------------------------------------

    def children(self, ordinal: int) -> array[int]:
        """Ordinals of the node's children in sibling order, those of its hyperedges included."""
        children, starts = self._children_and_starts()
        return children[starts[ordinal] : starts[ordinal + 1]]

    def child_count(self, ordinal: int) -> int:
        """How many children the node has."""
        starts = self._children_and_starts()[1]
        return starts[ordinal + 1] - starts[ordinal]

    def links(self) -> array[int]:
        """The target of every link between a source and a target, in no particular order."""
        return self._children_and_starts()[0]

    def walk(self, roots: Sequence[int]) -> Iterator[int]:
        """Ordinals reachable from the roots, parents before children, siblings in order; each once."""
        children, starts = self._children_and_starts()
        seen = bytearray(len(self._ids))
        stack = list(reversed(roots))
        while stack:
            ordinal = stack.pop()
            if seen[ordinal]:
                continue
            seen[ordinal] = 1
            yield ordinal
            start, end = starts[ordinal], starts[ordinal + 1]
            if start != end:
                stack.extend(reversed(children[start:end]))

    def depths(self, roots: Sequence[int]) -> array[int]:
        """Depth of each node (a root has 1, an unreachable node 0), by first parent."""
        depth, parent = array("q", bytes(8 * len(self._ids))), self.parent
        reached = list(self.walk(roots))
        # -1: reached, depth not known yet. A node of several parents may be reached before its first one.
        for ordinal in reached:
            depth[ordinal] = -1
        for root in roots:
            depth[root] = 1
        for ordinal in reached:
            chain = []
            while ordinal >= 0 and depth[ordinal] == -1:
                depth[ordinal] = 0
                chain.append(ordinal)
                ordinal = parent[ordinal]
            known = depth[ordinal] if ordinal >= 0 else 0
            for below in reversed(chain):
                known += 1
                depth[below] = known
        return depth

    def path(self, ordinal: int) -> list[int]:
        """Ordinals from the root down to the node; ends where a cycle closes."""
        path, seen = [], set()
        while ordinal >= 0 and ordinal not in seen:
            seen.add(ordinal)
            path.append(ordinal)
            ordinal = self.parent[ordinal]
        path.reverse()
        return path

    def roots(self) -> list[int]:
        """Ordinals of the nodes that no continuation edge points at, in file order (OL2-4.1-roots)."""
        return [ordinal for ordinal, count in enumerate(self.incoming) if not count]

    def on_or_behind_rings(self) -> set[int]:
        """Ordinals that cannot be reached in topological order: members of rings and what hangs below them."""
        waiting = [0] * len(self._ids)
        for child in self.links():
            waiting[child] += 1
        ready = [ordinal for ordinal, count in enumerate(waiting) if not count]
        placed = 0
        while ready:
            placed += 1
            for child in self.children(ready.pop()):
                waiting[child] -= 1
                if not waiting[child]:
                    ready.append(child)
        if placed == len(waiting):
            return set()
        return {ordinal for ordinal, count in enumerate(waiting) if count > 0}

    # -- by id -------------------------------------------------------------------------------------------------

    def parent_of(self, node_id: str) -> str | None:
        """Id of the node's parent, None for a root."""
        parent = self.parent[self._ordinals[node_id]]
        return self._ids[parent] if parent >= 0 else None

    def children_of(self, node_id: str) -> list[str]:
        """Ids of the node's children in sibling order."""
        return [self._ids[child] for child in self.children(self._ordinals[node_id])]

    def path_to(self, node_id: str) -> list[str]:
        """Ids from the root down to the node."""
        return [self._ids[ordinal] for ordinal in self.path(self._ordinals[node_id])]


def _with_more_sources(edges: EdgeTable) -> tuple[array[int], array[int]]:
    """The links between each source and its target; a child counts under every source that it has (A31)."""
    sources, targets = array("q"), array("q")
    start = 0
    for position in sorted(edges.more_sources):
        sources += edges.parents[start:position]
        targets += edges.targets[start:position]
        own = dict.fromkeys(edges.sources(position))
        sources.extend(own)
        targets.extend([edges.targets[position]] * len(own))
        start = position + 1
    return sources + edges.parents[start:], targets + edges.targets[start:]
