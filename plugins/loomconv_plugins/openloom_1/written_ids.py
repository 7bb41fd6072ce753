"""Ids as upper-case UUIDs, for an app that should want them (OL1-w-ids); the original ids wait in marks.

The tree of such a file has the marks `ids` (`uuid`) and, where its own id was changed, `originalId`; so has each node
with another id. Reading gives the original ids back, and writing the same UUIDs again.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from loomconv_plugins.openloom_1.shape import MISSING, NAMESPACE, id_of, own_part

__all__ = ["ORIGINAL", "STYLE", "former_ids", "renamed_links", "uuid_ids", "with_marks"]

STYLE, ORIGINAL = "ids", "originalId"

_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}").fullmatch
_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:loomconv:openloom-1")


def uuid_ids(ids: Iterable[str]) -> dict[str, str]:
    """An upper-case UUID for each id: its own when it is one, else one that is derived from it. No two are equal."""
    ids = list(ids)
    taken: set[str] = set()
    mapped: dict[str, str] = {}
    for node_id in ids:
        if _UUID(node_id) and node_id.upper() not in taken:
            mapped[node_id] = node_id.upper()
            taken.add(mapped[node_id])
    for node_id in ids:
        seed = node_id
        while node_id not in mapped:
            candidate = str(uuid.uuid5(_SPACE, repr(seed))).upper()
            if candidate not in taken:
                mapped[node_id] = candidate
                taken.add(candidate)
            seed += "\0"
    return mapped


def former_ids(nodes: dict[str, Any]) -> dict[str, str]:
    """The original ids of the nodes that have one in a mark, by present id; none if they are not what they should be."""
    former = {}
    for node_id, raw in nodes.items():
        original = own_part(raw.get("extensions")).get(ORIGINAL) if isinstance(raw, dict) else None
        if isinstance(original, str):
            former[node_id] = original
    names = [former.get(node_id, node_id) for node_id in nodes]
    if len(set(names)) < len(names):
        return {}
    mapped = uuid_ids(names)
    return {node_id: name for node_id, name in former.items() if mapped[name] == node_id}


def renamed_links(raw: dict[str, Any], own: str, rename: Callable[[str], str]) -> dict[str, Any]:
    """A node's object with other ids: its own (`own` is the present one), and all that it names."""
    changed = dict(raw)
    if changed.get("id") == own:
        changed["id"] = rename(own)
    for key in ("parentId", "rememberedChildId"):
        named = id_of(changed.get(key))
        if named is not None and rename(named) != named:
            changed[key] = rename(named)
    children = changed.get("childrenIds")
    if isinstance(children, list):
        changed["childrenIds"] = [rename(child) if isinstance(child, str) else child for child in children]
    return changed


def with_marks(extensions: Any, marks: dict[str, Any], *, without: str | None = None) -> Any:
    """The `extensions` of an object of the file with further marks, or without one; MISSING when nothing is left."""
    united = dict(extensions) if isinstance(extensions, dict) else {}
    own = {key: value for key, value in {**own_part(united), **marks}.items() if key != without}
    united.pop(NAMESPACE, None)
    if own:
        united[NAMESPACE] = own
    return united or MISSING
