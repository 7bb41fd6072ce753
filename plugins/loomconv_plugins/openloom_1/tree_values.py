"""The tree's own values, both ways (dossier §5, §6): what stands at the top of the file beside nodes and bookmarks."""

from __future__ import annotations

from types import NoneType
from typing import Any

from loomconv_plugins.openloom_1.dates import read_time
from loomconv_plugins.openloom_1.lens import Found, Group, Lens, Setting
from loomconv_plugins.openloom_1.node_values import written_time
from loomconv_plugins.openloom_1.shape import TREE_KEYS, TREE_VALUE_KEYS, id_of

__all__ = ["NO_CURRENT", "TREE"]

# The mark of a tree in which no node is current: the app's file always names one.
NO_CURRENT = "currentNodeIdUnknown"


def _read_id(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    """The tree's id; without one it has its root's, as in Aspen Grove (dossier §1.1)."""
    own = id_of(raw.get("id"))
    if own is not None:
        return {"id": own}
    if setting.own_id is None:
        return {}
    found("read.missing-id", "The tree has no id; it has its root's.", "/id", raw.get("id"))
    return {"id": setting.own_id}


def _read_text(raw: dict[str, Any], key: str, found: Found) -> str | None:
    value = raw.get(key)
    if value is None or isinstance(value, str):
        return value
    found("read.bad-value", f"{key} is no text; it was kept aside.", f"/{key}", value)
    return None


def _read_title(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    return {"title": _read_text(raw, "title", found) or ""}


def _read_description(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    description = _read_text(raw, "description", found)
    return {} if description is None else {"description": description}


def _read_mode(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    return {"mode": "dialogue"}


def _read_system(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    system = _read_text(raw, "systemMessage", found)
    return {"systemContext": system} if system else {}


def _read_modified(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    time = read_time(raw.get("lastModified"), setting.zone)
    if time.code is not None:
        found(time.code, time.message, "/lastModified", raw.get("lastModified"))
    return {} if time.iso is None else {"updatedAt": time.iso}


def _base_tree(fields: dict[str, Any]) -> dict[str, Any]:
    """What the file says of a tree (OL1-w-keys); a description that is not there is null, which the format allows."""
    system, description = fields.get("systemContext"), fields.get("description")
    return {
        "id": _text(fields.get("id")),
        "title": _text(fields.get("title")),
        "description": description if isinstance(description, str) else None,
        "systemMessage": _text(system),
        "lastModified": written_time(fields.get("updatedAt")),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


TREE = Lens(
    groups=(
        Group(("id",), ("id",), _read_id),
        Group(("title",), ("title",), _read_title),
        Group(("description",), ("description",), _read_description),
        Group((), ("mode",), _read_mode),
        Group(("systemMessage",), ("systemContext",), _read_system),
        Group(("lastModified",), ("updatedAt",), _read_modified),
    ),
    base=_base_tree,
    aside=frozenset({"rootNodeIds", "currentNodeId", "extensions", "nodes", "edges"}),
    known=TREE_KEYS,
    stash_keys=frozenset(
        {*TREE_VALUE_KEYS, "absent", "unknown", "extensions", "links", "bookmarkedNodes", "timezone", "ids"}
    ),
    date=("lastModified", "updatedAt", "lastModifiedUnknown"),
    kinds={
        **dict.fromkeys(("id", "title", "description", "mode", "systemContext"), (str, NoneType)),
        "updatedAt": (str,),
    },
)
