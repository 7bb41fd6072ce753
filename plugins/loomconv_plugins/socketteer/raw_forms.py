"""The difference between an object of the file and the one that the core alone would give; and the way back.

A stash holds, at their own names, the raw values that the core does not imply, and under `absent` the keys that the
core implies but the file does not have. `order` is a position in the tree's table of key orders.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from loomconv import jsontext
from loomconv_plugins.socketteer.facts import CARRIER, OWN_KEYS, Raw
from loomconv_plugins.socketteer.key_order import META_ORDER, NODE_ORDER, OrderTable

__all__ = ["STRUCTURE", "difference", "node_difference", "restored", "same"]

_SCALARS: Final = frozenset({str, int, bool, type(None)})
# Values that are put together from the tree's structure, never from a stash.
STRUCTURE: Final = frozenset({"children", "masked_head"})
# Keys of a node that others look after; `meta` only while it is an object.
_ELSEWHERE: Final = STRUCTURE | {"id", CARRIER}
_ELSEWHERE_AND_META: Final = _ELSEWHERE | {"meta"}


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are written alike: types, key order and number spellings included."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in _SCALARS or a is b:
        return bool(a == b)
    if kind is list and len(a) == len(b):
        return _same_items(a, b)
    if kind is dict and list(a) == list(b):
        return _same_items(list(a.values()), list(b.values()))
    return kind is not list and kind is not dict and jsontext.encode(a) == jsontext.encode(b)


def _same_items(these: list[Any], those: list[Any]) -> bool:
    for one, other in zip(these, those, strict=True):
        kind = type(one)
        if kind is not type(other):
            return False
        if kind in _SCALARS:
            if one != other:
                return False
        elif jsontext.encode(one) != jsontext.encode(other):  # values may be nested deeply, and the encoder may
            return False
    return True


def difference(raw: Raw, base: Raw, *, shared: Collection[str] = (), elsewhere: Collection[str] = STRUCTURE) -> Raw:
    """The stash of an object: raw values that `base` does not have, and `absent` keys of `base`.

    `shared` keys are absent from all objects of the file. The values of `elsewhere` are looked after by the caller; of
    these only `children` can be absent.
    """
    stash: Raw = {}
    unknown: Raw = {}
    for key, value in raw.items():
        if key in elsewhere or (key in base and same(value, base[key])):
            continue
        (unknown if key in OWN_KEYS else stash)[key] = value
    absent = [
        key for key in base if key not in raw and key not in shared and (key not in elsewhere or key == "children")
    ]
    if absent:
        stash["absent"] = absent
    if unknown:
        stash["unknown"] = unknown
    return stash


def node_difference(raw: Raw, base: Raw, shared: Collection[str], table: OrderTable) -> Raw:
    """The stash of a node, its id aside. `meta` is compared key by key; one that is no object is kept whole."""
    meta = raw.get("meta")
    if type(meta) is dict:
        stash = difference(raw, base, shared=shared, elsewhere=_ELSEWHERE_AND_META)
        patch = difference(meta, base["meta"], elsewhere=())
        table.note(patch, meta, META_ORDER)
        if patch:
            stash["meta"] = patch
    else:
        stash = difference(raw, base, shared=shared, elsewhere=_ELSEWHERE)
    table.note(stash, raw, NODE_ORDER)
    return stash


def restored(base: Raw, stash: Raw, *, shared: Collection[str] = ()) -> Raw:
    """`base` with the stash put over it; the order of keys is left to `in_order`."""
    entry = dict(base)
    absent = stash.get("absent")
    for key in (*absent, *shared) if isinstance(absent, list) else shared:
        if isinstance(key, str):
            entry.pop(key, None)
    for key, value in stash.items():
        if key not in OWN_KEYS and key not in STRUCTURE:
            entry[key] = value
    unknown = stash.get("unknown")
    if isinstance(unknown, dict):
        entry.update((key, value) for key, value in unknown.items() if key in OWN_KEYS)
    return entry
