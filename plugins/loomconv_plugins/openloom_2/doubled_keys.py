"""Whether a key of the document is there twice, which a decoder does not tell: from sizes and numbers of strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec

from loomconv import jsontext
from loomconv.format import ReadContext
from loomconv.model import Document
from loomconv.storage import Source
from loomconv_plugins.openloom_2.envelope import DocumentText, TreeText

__all__ = ["Counted", "account_for_keys", "is_free_of_doubles"]

# So many texts are joined at once.
_BATCH = 256


class Counted(Protocol):
    """What was counted while a tree was read: strings of its edges, and whether a node has a key twice."""

    edge_strings: int
    doubled: bool


def is_free_of_doubles(text: DocumentText, readers: Sequence[Counted], data: Any) -> bool:
    """Whether it is plain that no key is there twice; saves counting all strings of the file."""
    parts = _members_are_accounted_for(text) and all(map(_is_accounted_for, readers, text.trees))
    return parts and _has_size_of_parts(text, data)


def _is_accounted_for(reader: Counted, tree: TreeText) -> bool:
    """Whether nothing in the tree has a key twice, but for the tree itself and its map of nodes."""
    if reader.doubled or not _members_are_accounted_for(tree):
        return False
    edges = [] if tree.edges is msgspec.UNSET else tree.edges
    return sum(jsontext.strings_in_text(text) for text in _joined(edges)) == reader.edge_strings


def _members_are_accounted_for(text: Any) -> bool:
    return all(jsontext.keys_accounted(value, jsontext.decode(value)) for value in _own_members(text).values())


def _has_size_of_parts(text: DocumentText, data: Any) -> bool:
    """Whether neither the document nor a tree nor a map of nodes has a key twice: quick to say, but not of any layout.

    But for line breaks the file has just the length of its parts, unless a key has overwritten another.
    """
    size = len('{"trees":[]}') + _size_of_members(text) + len(text.trees) - 1
    for tree in text.trees:
        size += len('{"nodes":{}}') + _size_of_members(tree)
        size += _size_of_items(tree.nodes.values()) + sum(len(key.encode()) + len('"":') for key in tree.nodes)
        if tree.edges is not msgspec.UNSET:
            size += len(',"edges":[]') + _size_of_items(tree.edges)
    return size == len(data) - jsontext.line_breaks(data)


def _own_members(text: Any) -> dict[str, bytes]:
    """The members of an envelope struct that are neither trees nor nodes nor edges, as text."""
    members = {key: getattr(text, key) for key in text.__struct_fields__ if key not in ("trees", "nodes", "edges")}
    return {key: bytes(value) for key, value in members.items() if value is not msgspec.UNSET}


def _size_of_members(text: Any) -> int:
    """Bytes of these members, each with a comma."""
    return sum(len(key) + len('"":,') + len(value) for key, value in _own_members(text).items())


def _size_of_items(items: Iterable[msgspec.Raw]) -> int:
    """Bytes of items with a comma between two."""
    return max(sum(len(text) + 1 for text in _joined(items)) - 1, 0)


def _joined(items: Iterable[msgspec.Raw]) -> Iterator[bytes]:
    """The items with commas between them, in pieces: quicker to measure than one by one."""
    items = iter(items)
    while batch := list(islice(items, _BATCH)):
        yield b",".join(batch)


def account_for_keys(source: Source, document: Document, strings_in_trees: int, context: ReadContext) -> None:
    """Notice keys that are there twice: the text then has more strings than the values that were decoded.

    The nodes' own bytes are kept in any case, so that the same format loses nothing; what another format loses is said.
    """
    if jsontext.strings_in_text(source.data) != strings_in_trees + jsontext.strings_in_value(document.fields) + 1:
        oddities = jsontext.parse_exact(source.data).oddities
        context.note([oddity for oddity in oddities if oddity.kind == "duplicate-key"])
