"""The text of a document down to its nodes and edges, which stay bytes: the fast way, None when it cannot be gone."""

from __future__ import annotations

from typing import Any

import msgspec

from loomconv import jsontext
from loomconv.errors import UnreadableFile
from loomconv.storage import Source

__all__ = [
    "LARGE",
    "DocumentText",
    "Envelope",
    "TreeText",
    "decode_document",
    "decode_object",
    "fast_envelope",
    "plain_fields",
    "source_key_orders",
]

_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# Every value is decoded by `jsontext`, which keeps the spelling of numbers.
_Text = msgspec.Raw | msgspec.UnsetType


class TreeText(msgspec.Struct, forbid_unknown_fields=True):
    """A tree whose keys are all known: everything in one pass over the text."""

    nodes: dict[str, msgspec.Raw]
    edges: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    id: _Text = msgspec.UNSET
    title: _Text = msgspec.UNSET
    description: _Text = msgspec.UNSET
    mode: _Text = msgspec.UNSET
    systemContext: _Text = msgspec.UNSET  # noqa: N815 - the specification's spelling
    rootNodeIds: _Text = msgspec.UNSET  # noqa: N815 - the specification's spelling
    currentNodeId: _Text = msgspec.UNSET  # noqa: N815 - the specification's spelling
    createdAt: _Text = msgspec.UNSET  # noqa: N815 - the specification's spelling
    updatedAt: _Text = msgspec.UNSET  # noqa: N815 - the specification's spelling
    tags: _Text = msgspec.UNSET
    agents: _Text = msgspec.UNSET
    extensions: _Text = msgspec.UNSET


class DocumentText(msgspec.Struct, forbid_unknown_fields=True):
    """A document whose keys are all known, and so are those of its trees."""

    trees: list[TreeText]
    format: _Text = msgspec.UNSET
    version: _Text = msgspec.UNSET
    exportedAt: _Text = msgspec.UNSET  # noqa: N815 - the specification's spelling
    generator: _Text = msgspec.UNSET
    agents: _Text = msgspec.UNSET
    extensions: _Text = msgspec.UNSET


decode_document = msgspec.json.Decoder(DocumentText).decode
decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode

# From this size on the pass that finds the order of keys is left to the writer, which hardly ever needs it.
LARGE = 1 << 20


class Envelope:
    """A document's own fields and its trees, whichever way they were decoded."""

    def __init__(
        self,
        fields: dict[str, Any],
        trees: Any,
        key_order: tuple[str, ...],
        is_text: bool = False,
        text: DocumentText | None = None,
    ) -> None:
        self.fields = fields
        self.trees: list[Any] = trees if isinstance(trees, list) else []
        self.key_order = key_order
        self.is_text = is_text
        self.text = text


def fast_envelope(source: Source) -> Envelope | None:
    """The envelope with nodes and edges as bytes, None when the fast decoder refuses the text."""
    try:
        if source.size >= LARGE:
            try:
                text = decode_document(source.data)
                fields = plain_fields(text, "trees")
                return Envelope(fields, text.trees, (*fields, "trees"), is_text=True, text=text)
            except msgspec.ValidationError:
                pass  # unknown keys or odd types: keep them, which takes another pass
        top = decode_object(source.data)
        trees = [_tree_object(block) for block in _decode_list(top["trees"])] if "trees" in top else None
        fields = {key: jsontext.decode(block) for key, block in top.items() if key != "trees"}
        return Envelope(fields, trees, tuple(top), is_text=True)
    except (*_REFUSED, UnreadableFile):
        return None


def plain_fields(text: Any, *left_out: str) -> dict[str, Any]:
    """The fields of an envelope struct that were there, decoded."""
    fields = {}
    for key in text.__struct_fields__:
        value = getattr(text, key)
        if key not in left_out and value is not msgspec.UNSET:
            fields[key] = jsontext.decode(value)
    return fields


def _tree_object(block: msgspec.Raw) -> Any:
    """A tree as a mapping whose nodes and edges are bytes; the plain value when it is no such object."""
    try:
        tree: dict[str, Any] = dict(decode_object(block))
        for key, raw in tree.items():
            if key == "nodes":
                tree[key] = decode_object(raw)
            elif key == "edges":
                tree[key] = _decode_list(raw)
            else:
                tree[key] = jsontext.decode(raw)
    except msgspec.ValidationError:
        return jsontext.decode(block)
    return tree


def source_key_orders(data: Any) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The order of keys of the document and of each tree in a text that the fast decoder takes."""
    top = decode_object(data)
    return tuple(top), [tuple(decode_object(tree)) for tree in _decode_list(top["trees"])]
