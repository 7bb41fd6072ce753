"""The nesting of a file to be written: chains are folded again where nothing has changed (dossier §1.6)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomconv.model.document import Tree
from loomconv_plugins.socketteer.facts import Raw

__all__ = ["ROOT", "Item", "Kids", "Mask", "Structure"]

# The structural root among the ordinals of nodes.
ROOT: Final = -1


@dataclass(slots=True)
class Kids:
    """A part of a node's children: ordinals, and the place of the first among all of them."""

    ordinals: Sequence[int]
    start: int
    stop: int

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Place and ordinal of each."""
        for place in range(self.start, self.stop):
            yield place, self.ordinals[place]


@dataclass(slots=True, eq=False)
class Mask:
    """A chain that is written folded: the item that waits in `masked_head`, the tail, and the children on the mask."""

    entry: Raw
    masked: Item
    head: int
    tail: Item
    last: int
    kids: Kids


# An ordinal, ROOT, or a mask.
Item = int | Mask


class Structure:
    """What stands where in the file."""

    def __init__(self, tree: Tree, records: Any) -> None:
        self.graph = tree.graph
        self.roots = tree.root_ordinals
        self._kids: dict[Item, Kids] = {}
        self._placed: dict[Item, Mask] = {}
        self._masks: dict[int, Mask] = {}
        if isinstance(records, list) and records:
            self._ordinals = tree.nodes.ordinals
            self._number()
            for position in range(len(records) - 1, -1, -1):  # inner ones first
                if isinstance(records[position], dict):
                    self._fold(position, records[position])

    def kids(self, item: Item) -> Kids:
        """The children in the item's own list."""
        found = self._kids.get(item)
        if found is not None:
            return found
        if isinstance(item, Mask):
            return item.kids
        ordinals = self.roots if item == ROOT else self.graph.children(item)
        return Kids(ordinals, 0, len(ordinals))

    def placed(self, item: Item) -> Item:
        """What stands in the file where this one belongs: itself, or the mask of the chain that it heads."""
        while item in self._placed:
            item = self._placed[item]
        return item

    # -- folding -----------------------------------------------------------------------------------------------

    def _number(self) -> None:
        """Walking order and sizes of subtrees, by ordinal."""
        count = len(self.graph)
        self._enter = array("q", bytes(8 * count))
        self._size = array("q", bytes(8 * count))
        order = list(self.graph.walk(self.roots))
        for at, ordinal in enumerate(order):
            self._enter[ordinal] = at
        for ordinal in reversed(order):
            self._size[ordinal] += 1
            parent = self.graph.parent[ordinal]
            if parent >= 0:
                self._size[parent] += self._size[ordinal]
        # By the identity of the list of children, which is kept with it.
        self._sums: dict[int, tuple[Sequence[int], list[int]]] = {}

    def _fold(self, position: int, record: Raw) -> None:
        head = self._core(record.get("head"))
        tail = self._tail(record.get("tail"))
        kept = record.get("kept", 0)
        entry = record.get("entry")
        if head is None or tail is None or not isinstance(kept, int) or not isinstance(entry, dict):
            return
        last = tail.last if isinstance(tail, Mask) else tail
        whole = self.kids(tail)
        if not self._is_above(head, last) or not 0 <= kept <= whole.stop - whole.start:
            return
        taken = Kids(whole.ordinals, whole.start + kept, whole.stop)
        inside = (len(self.graph) if head == ROOT else self._size[head]) - self._size_of(taken)
        if inside != record.get("nodes"):
            return
        mask = Mask(entry, self.placed(head), head, tail, last, taken)
        self._kids[tail] = Kids(whole.ordinals, whole.start, whole.start + kept)
        if isinstance(tail, Mask):
            tail.kids = self._kids[tail]
        self._placed[mask.masked] = mask
        self._masks[position] = mask

    def _core(self, node_id: Any) -> int | None:
        if node_id is None:
            return ROOT
        return self._ordinals.get(node_id) if isinstance(node_id, str) else None

    def _tail(self, found: Any) -> Item | None:
        if isinstance(found, dict):
            position = found.get("fold")
            return self._masks.get(position) if isinstance(position, int) else None
        return self._core(found)

    def _is_above(self, head: int, tail: int) -> bool:
        if head == ROOT:
            return True
        return tail != ROOT and self._enter[head] <= self._enter[tail] < self._enter[head] + self._size[head]

    def _size_of(self, kids: Kids) -> int:
        """Nodes below and including these children; sums are kept, so that nested masks cost no second walk."""
        _, sums = self._sums.get(id(kids.ordinals), (None, []))
        if not sums:
            sums.append(0)
            for ordinal in kids.ordinals:
                sums.append(sums[-1] + self._size[ordinal])
            self._sums[id(kids.ordinals)] = (kids.ordinals, sums)
        return sums[kids.stop] - sums[kids.start]
