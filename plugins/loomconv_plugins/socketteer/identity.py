"""Ids: those of the file where they can be, minted ones where they are missing or taken (gap A38, OL2-8.4-mint).

A minted id depends on the parent's id and the place among its children only, so that reading the same entry again gives
the same id, whatever is edited elsewhere.
"""

from __future__ import annotations

from typing import Any, Final

from loomconv.format import ReadContext
from loomconv.model.ids import mint_ulid
from loomconv_plugins.socketteer.facts import EMPTY_ID, NAMESPACE, Raw
from loomconv_plugins.socketteer.unfold import Nest, id_key

__all__ = ["Identities", "minted_id", "root_id"]

# Compared by identity: any text can be an id.
_UNSET: Final = "".join(("not", " set"))


def minted_id(parent: str, place: int) -> str:
    """The id of a node without one: `place` counts its parent's children, `parent` is empty for a root."""
    return mint_ulid(NAMESPACE, "child", parent, str(place))


def root_id(first_root: str) -> str:
    """The id of the empty root above the roots of a tree that did not come from the app."""
    return mint_ulid(NAMESPACE, "root", first_root)


class Identities:
    """The ids of a file's nodes, in the order of `Nest.raws`."""

    def __init__(self, nest: Nest, kids: list[list[int]], context: ReadContext) -> None:
        self.nest = nest
        self.ids: list[str] = [_UNSET] * len(nest.raws)
        self._originals: dict[int, Any] = {}
        self._by_raw: dict[int, str] | None = None
        self._first: dict[str, int] = {}
        own = [id_key(raw.get("id")) for raw in nest.raws]
        for position, key in enumerate(own):
            if key is not None and self._first.setdefault(key, position) == position:
                self.ids[position] = key
        if len(self._first) != len(own):
            self._mint(kids, own, context)

    def _mint(self, kids: list[list[int]], own: list[str | None], context: ReadContext) -> None:
        """Ids for the nodes that have none of their own; parents come first, but in flat lists, where they have ids."""
        taken = set(self._first)
        for parent in range(-1, len(own)):
            for place, position in enumerate(kids[parent]):
                if self.ids[position] is not _UNSET:
                    continue
                above = "" if parent < 0 else self.ids[parent]
                key = own[position]
                seed = minted_id(above, place) if key is None else mint_ulid(NAMESPACE, "again", key, above, str(place))
                minted, attempt = seed, 0
                while minted in taken:
                    attempt += 1
                    minted = mint_ulid(seed, str(attempt))
                taken.add(minted)
                self.ids[position] = minted
                self._report(position, key, context)

    def _report(self, position: int, key: str | None, context: ReadContext) -> None:
        raw, node_id = self.nest.raws[position], self.ids[position]
        if key is None:
            context.report.add("read.missing-id", "The node has no id; it got one.", node=node_id, pointer="/id")
            return
        self._originals[position] = raw["id"]
        context.touched = True
        message = "Two nodes have the same id; the later one got a new id."
        context.report.add("read.duplicate-id", message, node=node_id, pointer="/id", value=raw["id"])

    def keep(self, position: int, stash: Raw, shared: list[str]) -> None:
        """Note in a node's stash how its id is written, when the id itself does not say it."""
        raw = self.nest.raws[position]
        if position in self._originals:
            stash["originalId"] = self._originals[position]
        elif "id" not in raw:
            if "id" not in shared:
                stash["absent"] = ["id", *stash.get("absent", ())]
        elif raw["id"] != (self.ids[position] or EMPTY_ID) or type(raw["id"]) is not str:
            stash["id"] = raw["id"]

    def find(self, value: Any) -> int | None:
        """The position of the node that an id of the file means: the first one that has it."""
        key = id_key(value)
        return None if key is None else self._first.get(key)

    def of_raw(self, raw: Raw) -> str:
        """The id of a raw object that is a node."""
        if self._by_raw is None:
            self._by_raw = {id(each): node_id for each, node_id in zip(self.nest.raws, self.ids, strict=True)}
        return self._by_raw[id(raw)]
