"""Links: who is whose parent, child and remembered child (OL1-parent, OL1-order, OL1-dangling, OL1-current).

A node of the file says both who its parent is and, in order, who its children are; where the two disagree, the parent
counts. Everything here is linear in nodes and entries, and iterative.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from loomconv_plugins.openloom_1.shape import MISSING, id_of, same_json

__all__ = [
    "Claims",
    "Links",
    "child_ids",
    "derived_current",
    "in_depth_order",
    "named_ids",
    "next_on_path",
    "raw_links",
    "settle",
]

# Takes a finding about the node at a position: code, message, JSON pointer below the node, value.
Found = Callable[[int, str, str, str, Any], None]


@dataclass(slots=True)
class Claims:
    """What the nodes of the file say of their links, by position in the file, as far as it names ids."""

    ids: list[str]
    parents: list[str | None] = field(default_factory=list)
    children: list[list[str]] = field(default_factory=list)
    # Raw values, MISSING where there is none.
    remembered: list[Any] = field(default_factory=list)
    ordinals: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.ordinals = dict(zip(self.ids, range(len(self.ids)), strict=True))

    def add(self, raw: Any) -> None:
        """Append what the next node's object says; anything that is no object says nothing."""
        raw = raw if isinstance(raw, dict) else {}
        self.parents.append(id_of(raw.get("parentId")))
        self.children.append(child_ids(raw.get("childrenIds")))
        self.remembered.append(raw.get("rememberedChildId", MISSING))


class Links(NamedTuple):
    """The settled links by position: id of the parent (None for a root), and ids of the children in order.

    `lost` are the positions of nodes whose parent is named but not in the file. `agreed` says that nobody disagreed,
    `torn` that nodes were listed by others than their parent.
    """

    parents: list[str | None]
    children: list[list[str]]
    lost: list[int]
    agreed: bool = True
    torn: bool = False


def child_ids(value: Any) -> list[str]:
    """The ids that a list of children names; what is none is passed over."""
    if not isinstance(value, list):
        return []
    return [child for child in map(id_of, value) if child is not None]


def settle(claims: Claims, root: str | None, time_of: Callable[[int], float | None], found: Found) -> Links:
    """The links that the claims amount to. `root` is the `rootNodeId`, which no list of children makes a child.

    `time_of` gives the creation time of the node at a position, for children that no list names.
    """
    if _agree(claims):
        return Links(claims.parents, claims.children, [])
    return _Settlement(claims, root, found).run(time_of)


def _agree(claims: Claims) -> bool:
    """Whether each node that names a parent is listed by it, once, and nobody lists any other."""
    pending = {
        node_id: parent for node_id, parent in zip(claims.ids, claims.parents, strict=True) if parent is not None
    }
    take = pending.pop
    for node_id, children in zip(claims.ids, claims.children, strict=True):
        for child in children:
            if take(child, None) != node_id:
                return False
    return not pending


class _Settlement:
    """Claims that disagree, settled step by step."""

    def __init__(self, claims: Claims, root: str | None, found: Found) -> None:
        self.claims = claims
        self.root = root
        self.found = found
        ordinals = claims.ordinals
        self.parents = [parent if parent in ordinals else None for parent in claims.parents]
        self.children: list[list[str]] = []
        # Positions of nodes that are in their place in a list, and of those that a node lists that is not their parent.
        self.placed: set[int] = set()
        self.foreign: set[int] = set()
        # By position of a list: the ids about which it disagrees with the nodes themselves.
        self.disputed: dict[int, list[str]] = {}

    def run(self, time_of: Callable[[int], float | None]) -> Links:
        self._take_listed()
        self._place_listed()
        self._place_unlisted(time_of)
        for position in sorted(self.disputed):
            message = "The list of children and what the nodes themselves say disagree."
            self.found(position, "read.children-disagree", message, "/childrenIds", self.disputed[position])
        lost = [
            position
            for position, (claimed, parent) in enumerate(zip(self.claims.parents, self.parents, strict=True))
            if claimed is not None and parent is None
        ]
        return Links(self.parents, self.children, lost, agreed=False, torn=bool(self.foreign))

    def _dispute(self, position: int, node_id: str) -> None:
        self.disputed.setdefault(position, []).append(node_id)

    def _take_listed(self) -> None:
        """A node without a parent in the file belongs to the first one that lists it."""
        claims = self.claims
        listers: dict[int, int] = {}
        for position, (node_id, children) in enumerate(zip(claims.ids, claims.children, strict=True)):
            for child in children:
                ordinal = claims.ordinals.get(child)
                if ordinal is None:
                    message = "The list of children names a node that is not in the file."
                    self.found(position, "read.missing-child", message, "/childrenIds", child)
                elif self.parents[ordinal] is None and child != self.root and child != node_id:
                    listers.setdefault(ordinal, position)
        # A file in which no node names a parent just has its links in one place.
        both_ways = any(parent is not None for parent in self.parents)
        for ordinal, position in listers.items():
            self.parents[ordinal] = claims.ids[position]
            if claims.parents[ordinal] is not None:
                message = "The node's parent is not in the file; it belongs to the node that lists it."
                self.found(ordinal, "repair.missing-parent", message, "/parentId", claims.parents[ordinal])
            elif both_ways:
                self._dispute(position, claims.ids[ordinal])

    def _place_listed(self) -> None:
        """Children in the order of the lists, first occurrence."""
        claims = self.claims
        for position, (node_id, children) in enumerate(zip(claims.ids, claims.children, strict=True)):
            own = []
            for child in children:
                ordinal = claims.ordinals.get(child)
                if ordinal is None:
                    continue
                if self.parents[ordinal] != node_id:
                    self.foreign.add(ordinal)
                    self._dispute(position, child)
                elif ordinal in self.placed:
                    self._dispute(position, child)
                else:
                    self.placed.add(ordinal)
                    own.append(child)
            self.children.append(own)

    def _place_unlisted(self, time_of: Callable[[int], float | None]) -> None:
        """Behind them the children that their parent does not list, by time, then in file order."""
        claims = self.claims
        unlisted: dict[int, list[int]] = {}
        for ordinal, parent in enumerate(self.parents):
            if parent is not None and ordinal not in self.placed:
                unlisted.setdefault(claims.ordinals[parent], []).append(ordinal)
                if ordinal not in self.foreign:  # otherwise the list that has it is disputed
                    self._dispute(claims.ordinals[parent], claims.ids[ordinal])
        for position, ordinals in unlisted.items():
            timed = [(time_of(ordinal), ordinal) for ordinal in ordinals]
            timed.sort(key=lambda each: (each[0] is None, each[0] or 0, each[1]))
            self.children[position].extend(claims.ids[ordinal] for _, ordinal in timed)


# -- what follows from settled links ---------------------------------------------------------------------------


def in_depth_order(claims: Claims, links: Links, roots: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Parents with their children, parents depth-first, as edges want them; what hangs in rings comes last."""
    ordinals, children = claims.ordinals, links.children
    done = bytearray(len(claims.ids))
    starts: list[int] = [ordinals[root] for root in roots]
    starts += [position for position, parent in enumerate(links.parents) if parent is None]
    starts += range(len(claims.ids)) if len(claims.ids) else ()
    for start in starts:
        stack = [start]
        while stack:
            position = stack.pop()
            if done[position]:
                continue
            done[position] = 1
            below = children[position]
            if below:
                yield position, below
                stack.extend([ordinals[child] for child in reversed(below)])


def next_on_path(claims: Claims, links: Links, current: str | None) -> dict[str, str]:
    """For each node above the current one, the child that leads to it."""
    steps: dict[str, str] = {}
    node_id = current
    while node_id is not None:
        parent = links.parents[claims.ordinals[node_id]]
        if parent is None or parent in steps or parent == current:
            break
        steps[parent] = node_id
        node_id = parent
    return steps


def derived_current(
    root: str | None, remembered: Callable[[str], str | None], is_child: Callable[[str, str], bool]
) -> str | None:
    """The end of the remembered chain (OL1-current): None when it does not even begin."""
    node_id, seen = root, set()
    while node_id is not None and node_id not in seen:
        seen.add(node_id)
        child = remembered(node_id)
        if child is None or not is_child(node_id, child):
            break
        node_id = child
    return None if node_id == root else node_id


def raw_links(raw: dict[str, Any], parent: str | None, children: list[str], nodes: Container[str]) -> dict[str, Any]:
    """What a node's object says of its links otherwise than would be written: its entry in the stash.

    `missing` are the ids in it that name no node of the file.
    """
    entry: dict[str, Any] = {}
    absent = []
    if "parentId" not in raw:
        absent += [] if parent is None else ["parentId"]
    elif not same_json(raw["parentId"], parent) or parent is None:
        entry["parentId"] = raw["parentId"]
    if "childrenIds" not in raw:
        absent.append("childrenIds")
    elif not same_json(raw["childrenIds"], children):
        entry["childrenIds"] = raw["childrenIds"]
    if absent:
        entry["absent"] = absent
    missing = sorted({each for each in named_ids(entry) if each not in nodes})
    return {**entry, "missing": missing} if missing else entry


def named_ids(entry: dict[str, Any]) -> list[str]:
    """The ids that an entry of the stash names."""
    parent = id_of(entry.get("parentId"))
    return [*child_ids(entry.get("childrenIds")), *([] if parent is None else [parent])]
