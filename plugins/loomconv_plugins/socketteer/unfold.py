"""Taking the nesting of a file apart: flat lists of raw nodes, with folded chains put back in place (dossier §1.6).

A mask stands for a chain of nodes, which waits in its `masked_head`; the children of the chain's tail hang on the mask.
Unfolding puts the head where the mask was and the mask's children under the tail. Nothing here recurses, and no walk
repeats for nested masks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from loomconv_plugins.socketteer.facts import EMPTY_ID, Raw

__all__ = ["FOLDED_HEAD", "LINKS", "Fold", "Nest", "from_links", "id_key", "is_structural", "link_of", "unfold"]

# Keys by which the nodes of a flat list name their parent (dossier §1.1, §1.2 W4).
LINKS: Final = ("parent_id", "parentId")

# Where a node stands in the file when it heads a folded chain: its `parent_id` is null then.
FOLDED_HEAD: Final[Raw] = {"id": None}


def id_key(value: Any) -> str | None:
    """The id that a raw one means: texts as they are, whole numbers with every digit; None for no usable id."""
    if isinstance(value, str):
        return "" if value == EMPTY_ID else value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def is_structural(raw: Raw) -> bool:
    """Whether a root is the app's immutable, empty wrapper and no node (dossier §3.5)."""
    return raw.get("mutable", True) is False and raw.get("text", "") == "" and "masked_head" not in raw


@dataclass(slots=True, eq=False)
class Fold:
    """A mask that was unfolded, by positions in `Nest.raws`; -1 stands for the structural root."""

    mask: Raw
    above: Raw | None
    head: int = -1
    tail: int = -1
    # The mask that is the tail, when it is no node: position in `Nest.folds`.
    tail_fold: int | None = None
    # How many children the tail keeps when the chain is folded, and how many nodes are folded in.
    kept: int = 0
    nodes: int = 0


@dataclass(slots=True)
class Nest:
    """The nodes of a file in pre-order, unfolded."""

    raws: list[Raw] = field(default_factory=list)
    # Position of each node's parent, -1 for a root.
    parents: list[int] = field(default_factory=list)
    # The raw object in whose `children` each node stands, None at the top of the file.
    above: list[Raw | None] = field(default_factory=list)
    # Things among a node's children that are no objects: node → place in the list → value.
    strays: dict[int, dict[str, Any]] = field(default_factory=dict)
    structural: Raw | None = None
    folds: list[Fold] = field(default_factory=list)
    # Masks whose chain could not be found: position of the mask → raw head, which hangs on it as first child.
    unresolved: dict[int, Raw] = field(default_factory=dict)
    # Parents that nodes of a flat list name and that are not there.
    claims: dict[int, str] = field(default_factory=dict)

    def kids(self) -> list[list[int]]:
        """Positions of each node's children; those of the roots are last."""
        kids: list[list[int]] = [[] for _ in range(len(self.raws) + 1)]
        for position, parent in enumerate(self.parents):
            kids[parent].append(position)
        return kids


def unfold(tops: list[Raw], *, root: bool) -> Nest:
    """Take the nesting apart. With `root` the only top is a tree's root, which may be structural."""
    masks = _Masks(tops)
    nest = Nest()
    stack: list[tuple[Raw, int, Raw | None]] = []
    if root:
        top, above = _resolved(tops[0], None, masks, nest)
        if is_structural(top):
            nest.structural = top
            stack.extend((kid, -1, over) for kid, over in reversed(list(masks.kids(top))))
        else:
            stack.append((tops[0], -1, None))
            nest.folds.clear()
    else:
        stack.extend((top, -1, None) for top in reversed(tops))
    while stack:
        raw, parent, above = stack.pop()
        raw, above = _resolved(raw, above, masks, nest)
        position = len(nest.raws)
        nest.raws.append(raw)
        nest.parents.append(parent)
        nest.above.append(above)
        listed = raw.get("children")
        if listed or masks.any:
            kids = list(masks.kids(raw))
            if type(listed) is list and not all(type(kid) is dict for kid in listed):
                nest.strays[position] = _strays(listed)
            head = masks.unresolved.get(id(raw))
            if head is not None:
                nest.unresolved[position] = masks.real(head)
                kids.insert(0, (head, FOLDED_HEAD))
            stack.extend((kid, position, over) for kid, over in reversed(kids))
    masks.describe(nest)
    return nest


def link_of(raw: Raw) -> str | None:
    """The id of the parent that a node of a flat list names."""
    for key in LINKS:
        found = id_key(raw.get(key))
        if found is not None:
            return found
    return None


def from_links(entries: list[Raw]) -> Nest:
    """The nodes of a flat list, nested by the parents that they name (dossier §5.9); the order is that of the list."""
    nest = Nest(raws=entries, above=[None] * len(entries))
    first: dict[str, int] = {}
    for position, raw in enumerate(entries):
        key = id_key(raw.get("id"))
        if key is not None:
            first.setdefault(key, position)
    for position, raw in enumerate(entries):
        link = link_of(raw)
        parent = -1 if link is None else first.get(link, -1)
        if link is not None and parent < 0:
            nest.claims[position] = link
        nest.parents.append(parent)
    return nest


def _strays(listed: list[Any]) -> dict[str, Any]:
    return {str(place): kid for place, kid in enumerate(listed) if type(kid) is not dict}


def _resolved(raw: Raw, above: Raw | None, masks: _Masks, nest: Nest) -> tuple[Raw, Raw | None]:
    """The node that stands where this one does once folds are undone, and what it stands under in the file."""
    while id(raw) in masks.tails:
        nest.folds.append(Fold(raw, above))
        raw, above = raw["masked_head"], (None if above is None else FOLDED_HEAD)
    return raw, above


class _Masks:
    """The masks of a file: which node is each one's tail, and whose children each node takes over."""

    def __init__(self, tops: list[Raw]) -> None:
        # By the identity of the raw objects, which live as long as the file's value does.
        self.tails: dict[int, Raw] = {}
        self.unresolved: dict[int, Raw] = {}
        self._over: dict[int, list[Raw]] = {}
        masks = [raw for raw in _every_node(tops) if type(raw.get("masked_head")) is dict]
        self.any = bool(masks)
        if masks:
            self._find_tails(tops, masks)

    def _find_tails(self, tops: list[Raw], masks: list[Raw]) -> None:
        enter, leave, by_id = _intervals(tops)
        masks.sort(key=lambda raw: enter[id(raw)])
        for mask in masks:
            head = mask["masked_head"]
            key = id_key(mask.get("tail_id"))
            found = by_id.get(key or "", [])
            at = bisect_left(found, enter[id(head)], key=lambda entry: entry[0])
            if key is None or at == len(found) or found[at][0] > leave[id(head)]:
                self.unresolved[id(mask)] = head
                continue
            tail = found[at][1]
            self.tails[id(mask)] = tail
            self._over.setdefault(id(tail), []).append(mask)

    def own(self, raw: Raw) -> int:
        """How many nodes stand in the object's own list of children."""
        listed = raw.get("children")
        return sum(type(kid) is dict for kid in listed) if type(listed) is list else 0

    def kids(self, raw: Raw) -> Iterator[tuple[Raw, Raw]]:
        """The node's children when all is unfolded, each with the object in whose list it stands."""
        owners = [raw]
        while owners:
            owner = owners.pop()
            listed = owner.get("children")
            if type(listed) is list:
                for kid in listed:
                    if type(kid) is dict:
                        yield kid, owner
            if self.any:
                owners.extend(reversed(self._over.get(id(owner), ())))

    def describe(self, nest: Nest) -> None:
        """Fill in what the folds need for being folded again; linear."""
        if not nest.folds:
            return
        place = {id(raw): position for position, raw in enumerate(nest.raws)}
        fold_of = {id(fold.mask): position for position, fold in enumerate(nest.folds)}
        sizes = [1] * len(nest.raws)
        for position in range(len(nest.raws) - 1, -1, -1):
            if nest.parents[position] >= 0:
                sizes[nest.parents[position]] += sizes[position]
        count: dict[int, int] = {}
        size: dict[int, int] = {}
        kept: dict[int, int] = {}
        for fold in nest.folds:  # outer ones first, so that what a mask takes over is known
            mask, taken = fold.mask, self._over.get(id(fold.mask), ())
            own = [self.real(kid) for kid in mask.get("children") or () if type(kid) is dict] if self.own(mask) else []
            count[id(mask)] = len(own) + sum(count[id(other)] for other in taken)
            size[id(mask)] = sum(sizes[place[id(kid)]] for kid in own) + sum(size[id(other)] for other in taken)
        for fold in nest.folds:
            tail = self.tails[id(fold.mask)]
            fold.head = place.get(id(self.real(fold.mask)), -1)
            fold.tail_fold = fold_of.get(id(tail))
            fold.tail = place.get(id(tail), -1)
            # The head of an unresolved mask is a child of it, too.
            fold.kept = kept.setdefault(id(tail), self.own(tail) + (id(tail) in self.unresolved))
            kept[id(tail)] += count[id(fold.mask)]
            whole = sizes[fold.head] if fold.head >= 0 else len(nest.raws)
            fold.nodes = whole - size[id(fold.mask)]

    def real(self, raw: Raw) -> Raw:
        """The node that stands where this one does once folds are undone."""
        while id(raw) in self.tails:
            raw = raw["masked_head"]
        return raw


def _every_node(tops: list[Raw]) -> Iterator[Raw]:
    stack = list(tops)
    while stack:
        raw = stack.pop()
        yield raw
        listed = raw.get("children")
        if type(listed) is list:
            stack.extend([kid for kid in listed if type(kid) is dict])
        head = raw.get("masked_head")
        if type(head) is dict:
            stack.append(head)


def _intervals(tops: list[Raw]) -> tuple[dict[int, int], dict[int, int], dict[str, list[tuple[int, Raw]]]]:
    """When a walk enters each raw node, when it has left all below it, and the nodes of each id in walking order."""
    enter: dict[int, int] = {}
    leave: dict[int, int] = {}
    by_id: dict[str, list[tuple[int, Raw]]] = {}
    clock = 0
    stack: list[tuple[Raw, bool]] = [(raw, True) for raw in reversed(tops)]
    while stack:
        raw, entering = stack.pop()
        if not entering:
            leave[id(raw)] = clock - 1
            continue
        enter[id(raw)] = clock
        key = id_key(raw.get("id"))
        if key is not None:
            by_id.setdefault(key, []).append((clock, raw))
        clock += 1
        stack.append((raw, False))
        listed = raw.get("children")
        if type(listed) is list:
            stack.extend([(kid, True) for kid in reversed(listed) if type(kid) is dict])
        head = raw.get("masked_head")
        if type(head) is dict:
            stack.append((head, True))
    return enter, leave, by_id
