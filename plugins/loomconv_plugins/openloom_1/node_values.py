"""A node's own values, both ways: what a node of the file means, and what the file says for a node (dossier §5, §6).

Links between nodes are elsewhere (`links`).
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from loomconv.jsontext import encode
from loomconv_plugins.openloom_1.bookmarks import Bookmarks, default_title
from loomconv_plugins.openloom_1.dates import app_number, from_iso, from_own_iso, read_time
from loomconv_plugins.openloom_1.lens import Found, Group, Lens, Setting
from loomconv_plugins.openloom_1.shape import MISSING, NAMESPACE, NODE_KEYS, VALUE_KEYS, own_part

__all__ = ["NODE", "NO_NAMES", "ROLES", "node_object", "node_of", "raw_instead", "written_time"]

ROLES = {"user": "human", "assistant": "model", "system": "system"}
_AUTHORS = {"human": "user", "model": "assistant", "mixed": "assistant", "system": "system"}
# What stands in a user's `modelId` when there is no name: the app's default, and a placeholder seen once.
NO_NAMES = frozenset({"User", "<model identifier>", ""})

_NO_BOOKMARKS = Bookmarks()


# -- reading ---------------------------------------------------------------------------------------------------


def _read_text(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    """OL1-text: kept exactly, a missing one is empty."""
    text = raw.get("text", "")
    if not isinstance(text, str):
        found("read.bad-text", "The text is no string; it was read as one and the original kept aside.", "/text", text)
        text = "" if text is None or isinstance(text, dict | list) else encode(text).decode()
    return {"content": [{"type": "text", "text": text}]}


def _read_author(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    """OL1-author; a user's `modelId` is a name, an assistant's the model, a system message's says nothing (§5)."""
    author, model = raw.get("author"), raw.get("modelId")
    role = ROLES.get(author.lower()) if isinstance(author, str) else None
    if role is None:
        role = "human"
        message = "The node has no author; it was read as a user's." if author is None else (
            "The author is none that the format knows; it was read as a user and kept aside."
        )  # fmt: skip
        found("read.unknown-author", message, "/author", author)
    if model is not None and not isinstance(model, str):
        found("read.bad-value", "modelId is no text; it was kept aside.", "/modelId", model)
        model = None
    if role == "human" and model is not None and model not in NO_NAMES:
        return {"author": {"role": role, "name": model}}
    if role == "model" and model:
        return {"author": {"role": role}, "generation": {"model": model}}
    return {"author": {"role": role}}


def _read_created(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    """OL1-date-*."""
    time = read_time(raw.get("createdTime"), setting.zone)
    if time.code is not None:
        found(time.code, time.message, "/createdTime", raw.get("createdTime"))
    return {} if time.iso is None else {"createdAt": time.iso}


def _read_meta(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    """OL1-bookmarks: the flag or the map bookmarks a node; the label is the node's, else its copy's."""
    flag, label = raw.get("isBookmarked"), raw.get("bookmarkTitle")
    if flag is not None and not isinstance(flag, bool):
        found("read.bad-value", "isBookmarked is neither true nor false; it was kept aside.", "/isBookmarked", flag)
    if label is not None and not isinstance(label, str):
        found("read.bad-value", "bookmarkTitle is no text; it was kept aside.", "/bookmarkTitle", label)
        label = None
    marked = flag is True
    if setting.own_id is not None and setting.bookmarks.holds(setting.own_id):
        marked = True
        label = setting.bookmarks.title(setting.own_id) if label is None else label
    meta: dict[str, Any] = {"bookmarked": True} if marked else {}
    if label is not None:
        meta["bookmarkLabel"] = label
    return {"meta": meta} if meta else {}


def _read_id(raw: dict[str, Any], setting: Setting, found: Found) -> dict[str, Any]:
    """OL1-key-id: the key is the identity."""
    own = raw.get("id")
    if own is None:
        found("read.missing-id", "The node has no id of its own; it has the key it stands under.", "/id", None)
    elif own != setting.own_id:
        found("read.id-mismatch", "The node's id differs from the key it stands under; the key counts.", "/id", own)
    return {"id": setting.own_id}


# -- writing ---------------------------------------------------------------------------------------------------


def base_node(node: dict[str, Any]) -> dict[str, Any]:
    """What the file says for a node when there is nothing else to go by: all of `VALUE_KEYS` that have a value."""
    content: Any = node.get("content")
    text = _joined_text(content)
    raw: dict[str, Any] = {"id": node["id"], "text": text}
    author = node.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    raw["author"] = _AUTHORS.get(role, "user") if isinstance(role, str) else "user"
    raw["modelId"] = _model_id(node, raw["author"])
    raw["createdTime"] = written_time(node.get("createdAt"))
    meta = node.get("meta")
    marked = isinstance(meta, dict) and meta.get("bookmarked") is True
    label = meta.get("bookmarkLabel") if isinstance(meta, dict) else None
    raw["isBookmarked"] = marked
    if isinstance(label, str):
        raw["bookmarkTitle"] = label
    elif marked:
        raw["bookmarkTitle"] = default_title(text)
    return raw


def _joined_text(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _model_id(node: dict[str, Any], author: str) -> str:
    """OL1-w-modelId: an assistant's model, else its name; a user's name, else `User`; nothing for the system."""
    if author == "system":
        return ""
    generation, name = node.get("generation"), None
    if isinstance(node.get("author"), dict):
        name = node["author"].get("name")
    name = name if isinstance(name, str) and name else None
    if author == "user":
        return name or "User"
    model = generation.get("model") if isinstance(generation, dict) else None
    return model if isinstance(model, str) and model else name or ""


def written_time(iso: Any) -> int | float:
    """The number for a time (OL1-w-date), 0 without one (OL1-w-nodate)."""
    if not isinstance(iso, str):
        return 0
    milliseconds = from_own_iso(iso)
    if milliseconds is None:
        milliseconds = from_iso(iso)
    return 0 if milliseconds is None else app_number(milliseconds)


def _fits_map(node: dict[str, Any], setting: Setting) -> bool:
    """A node that the map of bookmarks has is bookmarked, whatever a mark says."""
    if setting.own_id is None or not setting.bookmarks.holds(setting.own_id):
        return True
    meta = node.get("meta")
    return isinstance(meta, dict) and meta.get("bookmarked") is True


NODE = Lens(
    groups=(
        Group(("id",), ("id",), _read_id),
        Group(("text",), ("content",), _read_text),
        Group(("author", "modelId"), ("author", "generation"), _read_author),
        Group(("createdTime",), ("createdAt",), _read_created),
        Group(("isBookmarked", "bookmarkTitle"), ("meta",), _read_meta),
    ),
    base=base_node,
    aside=frozenset({"id", "extensions"}),
    known=NODE_KEYS,
    stash_keys=frozenset(
        {*VALUE_KEYS, "rememberedChildId", "strayRememberedChildId", "absent", "unknown", "extensions", "is"}
    ),
    date=("createdTime", "createdAt", "createdTimeUnknown"),
    kinds={
        "content": (list,),
        "author": (dict,),
        "createdAt": (str,),
        "meta": (dict, NoneType),
        "generation": (dict, NoneType),
    },
    fits=_fits_map,
)


# -- what is no object -----------------------------------------------------------------------------------------


def node_of(raw: Any, setting: Setting, found: Found, remembered: dict[str, Any]) -> dict[str, Any]:
    """The pivot node of an entry of the file, links aside. What is no object becomes an empty node.

    `remembered` is the part of the stash that needs the links to be known.
    """
    if not isinstance(raw, dict):
        found("read.opaque-node", "The node is no object; an empty node stands for it.", "", raw)
        return {**NODE.values({}, setting), "extensions": {NAMESPACE: {"is": raw}}}
    more = {key: value for key, value in remembered.items() if key != "absent"}
    return NODE.get(raw, setting, found, more=more, absent=remembered.get("absent", ()))


def raw_instead(node: dict[str, Any], setting: Setting) -> Any:
    """What stood in place of a node's object, when the node is still the empty one that stands for it; else MISSING."""
    extensions = node.get("extensions")
    stash = own_part(extensions)
    if "is" not in stash or isinstance(stash["is"], dict) or len(stash) != 1 or len(node["extensions"]) != 1:
        return MISSING
    core = {key: value for key, value in node.items() if key != "extensions"}
    return stash["is"] if core == NODE.values({}, _setting_of(node, setting)) else MISSING


def _setting_of(node: dict[str, Any], setting: Setting) -> Setting:
    """The setting in which the node will be read again: only bookmarked ones will be in the map."""
    meta = node.get("meta")
    marked = isinstance(meta, dict) and meta.get("bookmarked") is True
    return Setting(node["id"], setting.bookmarks if marked else _NO_BOOKMARKS, setting.zone)


def node_object(node: dict[str, Any], setting: Setting) -> dict[str, Any]:
    """The object of the file for a node, links aside. `setting` has the map of bookmarks that will be written."""
    return NODE.put(node, _setting_of(node, setting))
