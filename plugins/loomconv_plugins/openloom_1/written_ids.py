"""Ids as upper-case UUIDs, for an app that should want them (OL1-w-ids); the original ids wait in marks.

The tree of such a file has the marks `ids` (`uuid`) and, where its own id was changed, `originalId`; so has each node
with another id. Reading gives the original ids back, and writing the same UUIDs again.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from loomconv_plugins.openloom_1.intake import Intake
from loomconv_plugins.openloom_1.links import Claims
from loomconv_plugins.openloom_1.shape import MISSING, NAMESPACE, id_of, own_part

__all__ = ["ORIGINAL", "STYLE", "renamed_links", "uuid_ids", "with_former_ids", "with_marks"]

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
    """The original ids of the nodes that have one in a mark, by present id; none if they cannot be the right ones."""
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


def with_former_ids(intake: Intake) -> tuple[Intake, tuple[str, ...]]:
    """The file with the ids from before they became UUIDs, and the marks of the tree that were used up by that."""
    extensions = intake.fields.get("extensions")
    marks = own_part(extensions)
    if marks.get(STYLE) != "uuid":
        return intake, ()
    objects = {node_id: intake.object(node_id) for node_id in intake.claims.ids}
    former = former_ids(objects)

    def rename(node_id: str) -> str:
        return former.get(node_id, node_id)

    fields = {
        key: rename(value) if key in ("rootNodeId", "currentNodeId") and isinstance(value, str) else value
        for key, value in intake.fields.items()
    }
    used: tuple[str, ...] = (STYLE,)
    if isinstance(marks.get(ORIGINAL), str):
        fields["id"] = marks[ORIGINAL]
        used = (STYLE, ORIGINAL)
    renamed = Intake(fields, Claims([rename(node_id) for node_id in objects]), intake.copies)
    for node_id, raw in objects.items():
        renamed.add_value(rename(node_id), _with_former_id(raw, node_id, rename))
    if isinstance(intake.copies, dict):
        renamed.copies = {
            rename(node_id): _with_former_id(intake.copy(node_id), node_id, rename) for node_id in intake.copies
        }
    return renamed, used


def _with_former_id(raw: Any, node_id: str, rename: Callable[[str], str]) -> Any:
    if not isinstance(raw, dict):
        return raw
    changed = renamed_links(raw, node_id, rename)
    if rename(node_id) != node_id:
        extensions = with_marks(changed.pop("extensions", MISSING), {}, without=ORIGINAL)
        if extensions is not MISSING:
            changed["extensions"] = extensions
    return changed


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
