"""The keys of a tree object beside its root, made when the nodes have been written."""

from __future__ import annotations

from typing import Any

from loomconv.model.document import Tree
from loomconv_plugins.socketteer.carrier import pack
from loomconv_plugins.socketteer.facts import CARRIER, EMPTY_EXTENSIONS, OWN_KEYS, Raw
from loomconv_plugins.socketteer.frame_switch import with_switch
from loomconv_plugins.socketteer.items import Items
from loomconv_plugins.socketteer.key_order import TOP_ORDER, in_order
from loomconv_plugins.socketteer.refold import ROOT, Mask
from loomconv_plugins.socketteer.stamps import parse_zone
from loomconv_plugins.socketteer.tags import hides, with_definitions
from loomconv_plugins.socketteer.tree_stash import SHAPE_KEYS, zone_mark
from loomconv_plugins.socketteer.unfold import id_key

__all__ = ["TopLevel"]

# Stash keys that are no keys of the file.
_NOT_WRITTEN = OWN_KEYS | {"root"}


class TopLevel:
    """Puts the top level together: stashed keys, and what the nodes call for."""

    def __init__(self, tree: Tree, stash: Raw, items: Items, extensions: dict[str, Any]) -> None:
        self.tree = tree
        self.stash = stash
        self.items = items
        self.extensions = extensions
        self.mark: Raw = {}

    def is_needed(self) -> bool:
        """Whether something stands here that the shapes without a top level have no place for."""
        return bool(self.items.responses.made) or bool(zone_mark(self.items.zones, self.stash))

    def members(self, *, forced: bool) -> Raw:
        """The members but `root`, in order."""
        stash = self.stash
        top = {key: value for key, value in stash.items() if key not in _NOT_WRITTEN and key != CARRIER}
        unknown = stash.get("unknown")
        if isinstance(unknown, dict):
            top.update(unknown)
        self._put_tags(top)
        self._put_responses(top)
        self._put_selected(top)
        if not stash and self.items.chapters:
            # The app fails on a chapter that is not there (dossier §2.1).
            top["chapters"] = self.items.chapters
        self.mark.update(zone_mark(self.items.zones, stash))
        if forced:
            self.mark["shape"] = {key: stash[key] for key in SHAPE_KEYS if key in stash}
        self._put_carrier(top)
        return in_order(top, TOP_ORDER, self.items.orders, None if forced else stash.get("order"))

    def _is_absent(self, key: str) -> bool:
        absent = self.stash.get("absent")
        return isinstance(absent, list) and key in absent

    def _put_tags(self, top: Raw) -> None:
        """Complete definitions of all tags in use, but for those that the file itself left undefined."""
        used = dict.fromkeys(name for names in self.items.tags.values() for name in names)
        defined = top.get("tags")
        if "tags" in top and not isinstance(defined, dict):
            return
        undefined = self.stash.get("undefinedTags")
        complete = with_definitions(defined or {}, used, undefined if isinstance(undefined, list) else ())
        if complete or "tags" in top:
            top["tags"] = complete

    def _put_responses(self, top: Raw) -> None:
        """Entries for models that nodes name; with any, the app must be told to keep them (dossier §2.3.7)."""
        made = self.items.responses.made
        if not made:
            return
        top["model_responses"] = self.items.responses.entries()
        switched, added = with_switch(top)
        if added is not None:
            self.mark["added"] = added
            top["frame"] = switched["frame"]

    def _put_selected(self, top: Raw) -> None:
        """The current node, by the raw form if that still means it; where the app would not show it, as a mark."""
        current = self.items.current
        if "selected_node_id" in top and self._meaning(top["selected_node_id"]) == current:
            return
        top.pop("selected_node_id", None)
        if current < 0:
            return
        nameless = id_key(self.items.current_id) is None
        if nameless or self._is_absent("selected_node_id") or self._is_hidden(top.get("tags"), current):
            self.mark["current"] = self.tree.nodes.ids[current]
        else:
            top["selected_node_id"] = self.items.current_id

    def _meaning(self, value: Any) -> int:
        """The node that a selected id means, -1 for none."""
        key = id_key(value)
        if key is None:
            return -1
        ordinal = self.tree.nodes.ordinals.get(key)
        if ordinal is not None:
            return ordinal
        for mask_id, mask in self.items.masks:
            if id_key(mask_id) == key:
                return _last(mask)
        return -1

    def _is_hidden(self, definitions: Any, ordinal: int) -> bool:
        graph = self.tree.graph
        return hides(definitions, graph.path(ordinal), self.items.tags, graph.parent)

    def _former_mark(self, top: Raw) -> Raw:
        """What a mark of the file said that was not true, as far as it would not be believed now."""
        former = self.stash.get("mark")
        if not isinstance(former, dict):
            return {}
        harmless = {
            "current": "selected_node_id" in top or former.get("current") not in self.tree.nodes.ids,
            "zone": parse_zone(former.get("zone")) == self.items.zones.usual,
            "added": not self.items.responses.made,
            "shape": not isinstance(former.get("shape"), dict),
        }
        return {key: value for key, value in former.items() if harmless.get(key, True)}

    def _put_carrier(self, top: Raw) -> None:
        mark = {**self._former_mark(top), **self.mark}
        if self.tree.fields.get("extensions") == {}:
            mark = {**mark, EMPTY_EXTENSIONS: True}
        carrier = pack(self.extensions, mark)
        if carrier is not None:
            top[CARRIER] = carrier
        elif CARRIER in self.stash:
            top[CARRIER] = self.stash[CARRIER]


def _last(mask: Mask) -> int:
    return mask.last if mask.last != ROOT else -1
