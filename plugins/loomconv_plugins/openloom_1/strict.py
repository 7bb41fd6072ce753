"""The quick way for nodes that are just as the app writes them: bytes until somebody looks.

A node is *plain* when its object has no key that the app does not write, no value of another type, its key as its id,
and a creation time that is plainly seconds since 2001. It may have `extensions`, if those of this format are nothing
but the mark of a time that is none. Everything else is read key by key (`node_values`). Both ways give the same node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from loomconv import jsontext
from loomconv.model.types import Node
from loomconv.privacy import drop_secrets
from loomconv_plugins.openloom_1.dates import to_iso
from loomconv_plugins.openloom_1.node_values import NO_NAMES, ROLES
from loomconv_plugins.openloom_1.shape import NAMESPACE, NODE_KEYS

__all__ = [
    "PlainNode",
    "has_strings",
    "node_decoder",
    "plain_extensions",
    "plain_node",
    "plain_nodes",
    "plain_strings",
    "unknown_members",
]


class PlainNode(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The object of a plain node. Names are the file's; what is unset is not in the file."""

    id: str
    text: str
    author: Literal["user", "assistant", "system"]
    createdTime: Raw  # noqa: N815
    childrenIds: list[str]  # noqa: N815
    modelId: str | UnsetType = UNSET  # noqa: N815
    parentId: str | UnsetType | None = UNSET  # noqa: N815
    rememberedChildId: str | UnsetType | None = UNSET  # noqa: N815
    isBookmarked: bool | UnsetType = UNSET  # noqa: N815
    bookmarkTitle: str | UnsetType | None = UNSET  # noqa: N815
    extensions: Raw | UnsetType = UNSET


_decode: Callable[[Raw | bytes], PlainNode] = msgspec.json.Decoder(PlainNode).decode
# From 2001 to 2048, to the microsecond, spelled as Python and Swift spell it (or with the `.0` of Python).
_is_plain_time = re.compile(rb"0|(?:[1-9][0-9]{0,8}|1[0-4][0-9]{8})(?:\.[0-9]{0,5}[1-9]|\.0)?").fullmatch
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_NO_DATE: dict[str, Any] = {"createdTimeUnknown": True}


def plain_node(node_id: str, block: Raw) -> PlainNode | None:
    """The node if it is plain, else None; whether a key is there twice is for `plain_strings` to tell."""
    try:
        node = _decode(block)
    except _REFUSED:
        return None
    return node if _is_plain(node, node_id) else None


def _is_plain(node: PlainNode, node_id: str) -> bool:
    return node.id == node_id and _is_plain_time(bytes(node.createdTime)) is not None


class _NodeWithMore(PlainNode, forbid_unknown_fields=False, gc=False):
    """A node that may have keys which the app does not write."""


_decode_with_more: Callable[[Raw], _NodeWithMore] = msgspec.json.Decoder(_NodeWithMore).decode
_decode_all_with_more: Callable[[bytes], list[_NodeWithMore]] = msgspec.json.Decoder(list[_NodeWithMore]).decode
_decode_members: Callable[[Raw], dict[str, Raw]] = msgspec.json.Decoder(dict[str, Raw]).decode


def plain_nodes(entries: Sequence[tuple[str, Raw]]) -> Iterator[PlainNode | None]:
    """Nodes as `plain_node` gives them, in one go where that can be; but they may have unknown keys besides.

    `plain_strings` tells whether they have.
    """
    try:
        nodes: Iterable[PlainNode | None] = _decode_all_with_more(b"[%b]" % b",".join([block for _, block in entries]))
    except _REFUSED:
        nodes = map(_node_with_more, (block for _, block in entries))
    for (node_id, _), node in zip(entries, nodes, strict=True):
        yield node if node is not None and _is_plain(node, node_id) else None


def _node_with_more(block: Raw) -> PlainNode | None:
    try:
        return _decode_with_more(block)
    except _REFUSED:
        return None


def unknown_members(node: PlainNode, block: Raw) -> dict[str, Any] | None:
    """The unknown keys of a node that is plain but for these; None if it has to be read carefully.

    That is so for one with `extensions`, with a secret, or with values that only the exact reader takes.
    """
    if node.extensions is not UNSET:
        return None
    unknown: dict[str, Any] = {}
    for key, value in _decode_members(block).items():
        if key not in NODE_KEYS:
            loaded = jsontext.load(bytes(value))
            if loaded.rung != "fast":
                return None
            unknown[key] = loaded.value
    # Whatever of these may come to stand in the stash.
    kept = {"unknown": unknown, "modelId": node.modelId, "bookmarkTitle": node.bookmarkTitle}
    return None if drop_secrets(kept)[1] else unknown


def plain_extensions(node: PlainNode) -> dict[str, Any] | None:
    """The `extensions` of a node that has some; None when with these it is not plain."""
    if node.extensions is UNSET:
        return None
    extensions = jsontext.decode(bytes(node.extensions))
    if not isinstance(extensions, dict) or not extensions:
        return None
    if NAMESPACE in extensions:
        own = extensions[NAMESPACE]
        if type(own) is not dict or own != _NO_DATE or own["createdTimeUnknown"] is not True:
            return None
        if bytes(node.createdTime) != b"0":
            return None
    return extensions


def plain_strings(node: PlainNode) -> int:
    """The number of strings, keys included, that the node's object has if no key is there twice, `extensions` aside."""
    strings = 8 + len(node.childrenIds)
    if node.modelId is not UNSET:
        strings += 2
    if node.isBookmarked is not UNSET:
        strings += 1
    for value in (node.parentId, node.rememberedChildId, node.bookmarkTitle):
        if value is not UNSET:
            strings += 1 if value is None else 2
    return strings


def has_strings(text: bytes, strings: int) -> bool:
    """Whether a valid JSON text has so many strings: `jsontext.strings_in_text`, quicker for small texts."""
    quotes = text.count(b'"')
    if quotes == 2 * strings:
        return True
    if b"\\\\" in text:
        text = text.replace(b"\\\\", b"")
    return quotes - text.count(b'\\"') == 2 * strings


class _SeenNode(msgspec.Struct, gc=False):
    """What a plain node says of itself. It is known that its time is spelled as Python spells it."""

    text: str
    author: str
    createdTime: int | float  # noqa: N815
    modelId: str | UnsetType = UNSET  # noqa: N815
    rememberedChildId: str | UnsetType | None = UNSET  # noqa: N815
    isBookmarked: bool | UnsetType = UNSET  # noqa: N815
    bookmarkTitle: str | UnsetType | None = UNSET  # noqa: N815
    extensions: Raw | UnsetType = UNSET


_see: Callable[[Raw | bytes], _SeenNode] = msgspec.json.Decoder(_SeenNode).decode


def node_decoder(remembered: dict[str, dict[str, Any]], with_more: Collection[str] = ()) -> Callable[[str, Raw], Node]:
    """A pure decoder of plain nodes. `remembered` are parts of the stash that need the links, by id of the node.

    `with_more` are the nodes that have unknown keys.
    """

    def decode(node_id: str, block: Raw) -> Node:
        raw = _see(block)
        model, number = raw.modelId, raw.createdTime
        author = {"role": ROLES[raw.author]}
        node: dict[str, Any] = {"id": node_id, "content": [{"type": "text", "text": raw.text}], "author": author}
        stash: dict[str, Any] = {}
        absent: list[str] = []
        if model is UNSET:
            absent.append("modelId")
        elif raw.author == "assistant":
            if model:
                node["generation"] = {"model": model}
        elif raw.author == "system":
            if model:
                stash["modelId"] = model
        elif model not in NO_NAMES:
            author["name"] = model
        elif model != "User":
            stash["modelId"] = model
        if type(number) is int:
            node["createdAt"] = to_iso(number * 1000)
        else:
            # Whole microseconds, for there are no more than six decimals.
            milliseconds, rest = divmod(int(number * 1e6 + 0.5), 1000)
            node["createdAt"] = to_iso(milliseconds)
            if rest or not milliseconds % 1000:
                stash["createdTime"] = number
        if raw.isBookmarked is not False or raw.bookmarkTitle is not UNSET:
            _put_bookmark(node, stash, absent, raw)
        if node_id in remembered:
            kept = remembered[node_id]
            stash.update((key, value) for key, value in kept.items() if key != "absent")
            absent.extend(kept.get("absent", ()))
        elif raw.rememberedChildId is None:
            stash["rememberedChildId"] = None
        if absent:
            stash["absent"] = absent
        if node_id in with_more:
            members = _decode_members(block).items()
            stash["unknown"] = {key: jsontext.decode(bytes(value)) for key, value in members if key not in NODE_KEYS}
        extensions = {} if raw.extensions is UNSET else jsontext.decode(bytes(raw.extensions))
        if NAMESPACE in extensions:
            del extensions[NAMESPACE], node["createdAt"]
        if stash:
            extensions[NAMESPACE] = stash
        if extensions:
            node["extensions"] = extensions
        return cast(Node, node)

    return decode


def _put_bookmark(node: dict[str, Any], stash: dict[str, Any], absent: list[str], raw: _SeenNode) -> None:
    meta: dict[str, Any] = {}
    if raw.isBookmarked is UNSET:
        absent.append("isBookmarked")
    elif raw.isBookmarked:
        meta["bookmarked"] = True
    if raw.bookmarkTitle is None:
        stash["bookmarkTitle"] = None
    elif raw.bookmarkTitle is not UNSET:
        meta["bookmarkLabel"] = raw.bookmarkTitle
    elif meta:
        absent.append("bookmarkTitle")
    if meta:
        node["meta"] = meta
