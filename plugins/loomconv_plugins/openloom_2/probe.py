"""The quick look at one node: passes what is ordinary, leaves everything else to the close look.

A node that passes has an id, text blocks, an author, proper times and flags, and not a key more; it can stay the bytes
that it is. That no key is unknown, and none there twice, is proved by counting strings: the text has exactly as many as
the values that were decoded (`jsontext.keys_accounted` says why).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from loomconv import jsontext

__all__ = ["ProbedNode", "core_strings", "has_strings", "ordinary_strings", "probe_node", "probe_nodes"]

_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_UNSET: Any = msgspec.UNSET


class _Text(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str


class _Author(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    agentId: str | msgspec.UnsetType = _UNSET  # noqa: N815 - the specification's spelling
    name: str | msgspec.UnsetType = _UNSET


class _Meta(msgspec.Struct, forbid_unknown_fields=True):
    bookmarked: bool | msgspec.UnsetType = _UNSET
    bookmarkLabel: str | msgspec.UnsetType = _UNSET  # noqa: N815 - the specification's spelling
    pruned: bool | msgspec.UnsetType = _UNSET
    excluded: bool | msgspec.UnsetType = _UNSET
    tags: list[str] | msgspec.UnsetType = _UNSET
    rating: int | msgspec.UnsetType = _UNSET
    note: str | msgspec.UnsetType = _UNSET


class ProbedNode(msgspec.Struct):
    """A node's known parts; unknown keys are passed over here, and found by counting (`core_strings`)."""

    id: str
    content: list[_Text]
    author: _Author
    createdAt: Annotated[datetime, msgspec.Meta(tz=True)] | msgspec.UnsetType = _UNSET  # noqa: N815
    editedFrom: str | msgspec.UnsetType = _UNSET  # noqa: N815 - the specification's spelling
    meta: _Meta | msgspec.UnsetType = _UNSET
    # Numbers lose their spelling here: the value is for looking at only.
    generation: dict[str, Any] | msgspec.UnsetType | None = _UNSET


probe_node = msgspec.json.Decoder(ProbedNode).decode
_decode_nodes = msgspec.json.Decoder(list[ProbedNode]).decode


def probe_nodes(blocks: Sequence[msgspec.Raw]) -> list[ProbedNode | None]:
    """The known parts of each node, None for one that is not in shape; in one go where all of them are."""
    try:
        return list(_decode_nodes(b"[%b]" % b",".join(blocks)))
    except _REFUSED:
        return [_probed(block) for block in blocks]


def _probed(block: msgspec.Raw) -> ProbedNode | None:
    try:
        return probe_node(block)
    except _REFUSED:
        return None


def ordinary_strings(node: ProbedNode, text: bytes) -> int:
    """How many strings the node's text has if it holds nothing but what the probe has seen, each key once; else -1."""
    strings = core_strings(node)
    # With so many quotes none can be escaped, since values cannot have more strings than their text.
    ordinary = strings >= 0 and (text.count(b'"') == 2 * strings or has_strings(text, strings))
    return strings if ordinary else -1


def core_strings(node: ProbedNode) -> int:
    """How many strings a node's text has that holds nothing but what the probe has seen, each key once; -1 if none can.

    Strings in the text beyond these are those of unknown keys and `extensions`, or of a key that is there twice.
    """
    author = node.author
    strings = 6 + 4 * len(node.content)
    if node.createdAt is not _UNSET:
        strings += 2
    if author.agentId is not _UNSET:
        strings += 2
    if author.name is not _UNSET:
        strings += 2
    if node.editedFrom is not _UNSET:
        strings += 2
    if node.meta is not _UNSET:
        strings += 1 + _strings_in_meta(node.meta)
    if node.generation is not _UNSET:
        if node.generation is None:
            return -1
        strings += 1 + jsontext.strings_in_value(node.generation)
    return strings


def has_strings(text: bytes, strings: int) -> bool:
    """Whether a valid JSON text has so many strings: `jsontext.strings_in_text`, quicker for small texts."""
    quotes = text.count(b'"')
    if b"\\" in text:
        if b"\\\\" in text:
            text = text.replace(b"\\\\", b"")
        quotes -= text.count(b'\\"')
    return quotes == 2 * strings


def _strings_in_meta(meta: Any) -> int:
    count = 0
    for value in msgspec.structs.astuple(meta):
        if value is not _UNSET:
            count += 2 if type(value) is str else 1 + len(value) if type(value) is list else 1
    return count
