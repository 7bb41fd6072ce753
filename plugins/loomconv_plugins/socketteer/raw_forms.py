"""The difference between an object of the file and the one that the core alone would give; and the way back.

A stash holds, at their own names, the raw values that the core does not imply, and under `absent` the keys that the
core implies but the file does not have. `order` is a position in the tree's table of key orders.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from loomconv import jsontext
from loomconv_plugins.socketteer.facts import CARRIER, META_ORDER, NODE_ORDER, OWN_KEYS, Raw

__all__ = ["STRUCTURE", "OrderTable", "difference", "in_order", "node_difference", "restored", "same"]

_LAST: Final = 1 << 20
_SCALARS: Final = (str, int, bool, type(None))
# Values that are put together from the tree's structure, never from a stash.
STRUCTURE: Final = frozenset({"children", "masked_head"})


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are written alike: types, key order and number spellings included."""
    if type(a) is not type(b):
        return False
    if type(a) in _SCALARS:
        return bool(a == b)
    return a is b or jsontext.encode(a) == jsontext.encode(b)


class OrderTable:
    """Key orders that differ from the app's usual one, each once; nodes refer to them by position."""

    __slots__ = ("_positions", "orders")

    def __init__(self) -> None:
        self.orders: list[list[str]] = []
        self._positions: dict[tuple[str, ...], int] = {}

    def position(self, keys: Collection[str], ranks: Mapping[str, int]) -> int | None:
        """Where the order of these keys stands in the table; None when it is the usual one."""
        found = tuple(keys)
        if found == tuple(sorted(found, key=lambda key: _rank(key, ranks))):
            return None
        position = self._positions.get(found)
        if position is None:
            position = self._positions[found] = len(self.orders)
            self.orders.append(list(found))
        return position


def _rank(key: str, ranks: Mapping[str, int]) -> int:
    return _LAST + 1 if key == CARRIER else ranks.get(key, _LAST)


def in_order(entry: Raw, ranks: Mapping[str, int], orders: Sequence[Any], position: Any) -> Raw:
    """The entry with its keys in the usual order, or in that of the table; keys unknown to that order come last."""
    if isinstance(position, int) and not isinstance(position, bool) and 0 <= position < len(orders):
        known = orders[position]
        if isinstance(known, list):
            places = {key: place for place, key in enumerate(known) if isinstance(key, str)}
            beyond = len(places)
            return {
                key: entry[key]
                for key in sorted(entry, key=lambda key: places.get(key, beyond + 1 + _rank(key, ranks)))
            }
    return {key: entry[key] for key in sorted(entry, key=lambda key: _rank(key, ranks))}


def difference(raw: Raw, base: Raw, *, shared: Collection[str] = (), passed: Collection[str] = ()) -> Raw:
    """The stash of an object: raw values that `base` does not have, and `absent` keys of `base`.

    `shared` keys are absent from all objects of the file; `passed` keys are looked after by the caller.
    """
    stash: Raw = {}
    unknown: Raw = {}
    for key, value in raw.items():
        if key in STRUCTURE or key in passed:
            continue
        if key in base and same(value, base[key]):
            continue
        (unknown if key in OWN_KEYS else stash)[key] = value
    absent = [key for key in base if key not in raw and key not in shared and key not in passed]
    if absent:
        stash["absent"] = absent
    if unknown:
        stash["unknown"] = unknown
    return stash


def node_difference(raw: Raw, base: Raw, shared: Collection[str], table: OrderTable, passed: Collection[str]) -> Raw:
    """The stash of a node. Its `meta` is compared key by key; a `meta` that is no object is kept whole."""
    meta = raw.get("meta")
    passed = (*passed, CARRIER)
    if isinstance(meta, dict):
        stash = difference(raw, base, shared=shared, passed=(*passed, "meta"))
        patch = difference(meta, base["meta"])
        position = table.position(meta, META_ORDER)
        if position is not None:
            patch["order"] = position
        if patch:
            stash["meta"] = patch
    else:
        stash = difference(raw, base, shared=shared, passed=passed)
    position = table.position(raw, NODE_ORDER)
    if position is not None:
        stash["order"] = position
    return stash


def restored(base: Raw, stash: Raw, *, shared: Collection[str] = ()) -> Raw:
    """`base` with the stash put over it; the order of keys is left to `in_order`."""
    absent = stash.get("absent")
    gone = {key for key in absent if isinstance(key, str)} if isinstance(absent, list) else set()
    gone.update(shared)
    entry = {key: value for key, value in base.items() if key not in gone}
    for key, value in stash.items():
        if key not in OWN_KEYS and key not in STRUCTURE:
            entry[key] = value
    unknown = stash.get("unknown")
    if isinstance(unknown, dict):
        entry.update((key, value) for key, value in unknown.items() if key in OWN_KEYS)
    return entry
