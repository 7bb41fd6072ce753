"""Orders of keys: the app's usual one for each kind of object, and the table of those that a file has otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from loomconv_plugins.socketteer.facts import CARRIER, Raw

__all__ = ["META_ORDER", "NODE_ORDER", "ROOT_ORDER", "TOP_ORDER", "KeyOrder", "OrderTable", "in_order"]

_MOST_KNOWN: Final = 4096


class KeyOrder:
    """The order in which the app adds keys; keys that are not listed follow as they come, and CARRIER is last."""

    __slots__ = ("_known", "keys", "ranks")

    def __init__(self, *keys: str) -> None:
        self.keys = keys
        self.ranks = {key: rank for rank, key in enumerate(keys)}
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def rank(self, key: str) -> int:
        """The place of a key."""
        return len(self.ranks) + 1 if key == CARRIER else self.ranks.get(key, len(self.ranks))

    def arranged(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys in order; the answer is remembered."""
        known = self._known.get(keys)
        if known is None:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            known = self._known[keys] = tuple(sorted(keys, key=self.rank))
        return known


NODE_ORDER: Final = KeyOrder(
    *("id", "text", "children", "mutable", "open", "parent_id", "meta", "generation", "visited", "tags"),
    *("chapter_id", "summaries", "memories", "frame", "text_attributes", "template", "history", "multimedia"),
    *("masked_head", "tail_id", "hoisted"),
)
# `add_immutable_root` of the app, then what it adds when it opens a file.
ROOT_ORDER: Final = KeyOrder("mutable", "visited", "text", "id", "children", "open")
META_ORDER: Final = KeyOrder("generation", "origin", "creation_timestamp", "source", "modified", "diffs", "author")
TOP_ORDER: Final = KeyOrder(
    *("root", "chapters", "canonical", "memories", "summaries", "model_responses", "generation_settings"),
    *("inline_generation_settings", "frame", "visualization_settings", "preferences", "module_settings", "tags"),
    "selected_node_id",
)


class OrderTable:
    """Key orders of one file that differ from the usual one, each once; stashes refer to them by position."""

    __slots__ = ("_positions", "orders")

    def __init__(self) -> None:
        self.orders: list[list[str]] = []
        self._positions: dict[tuple[str, ...], int] = {}

    def note(self, stash: Raw, keys: Iterable[str], usual: KeyOrder) -> None:
        """Put into an object's stash where the order of its keys stands in the table, unless it is the usual one."""
        found = tuple(keys)
        # A stash keeps keys with names of ours apart, so that it forgets where they stood.
        if found == usual.arranged(found) and "unknown" not in stash:
            return
        position = self._positions.get(found)
        if position is None:
            position = self._positions[found] = len(self.orders)
            self.orders.append(list(found))
        stash["order"] = position


def in_order(entry: Raw, usual: KeyOrder, orders: Sequence[Any] = (), position: Any = None) -> Raw:
    """The entry with its keys in the usual order, or in that of the table; keys unknown to that order come last."""
    keys = tuple(entry)
    arranged = usual.arranged(keys)
    if type(position) is int and 0 <= position < len(orders) and isinstance(orders[position], list):
        places = {key: place for place, key in enumerate(orders[position]) if isinstance(key, str)}
        last = len(places)
        arranged = tuple(sorted(arranged, key=lambda key: places.get(key, last)))
    return entry if arranged == keys else {key: entry[key] for key in arranged}
