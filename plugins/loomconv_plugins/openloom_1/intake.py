"""Taking a file apart: its fields, the blocks of its nodes, and what the nodes say of their links.

The quick way leaves plain nodes as bytes. It is taken only for a text that the fast reader takes as it is and in which
no object has a key twice; any other text is read exactly, and no node counts as plain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from loomconv import jsontext
from loomconv.errors import InvalidDocument
from loomconv.format import ReadContext
from loomconv.storage.source import Source
from loomconv_plugins.openloom_1.bookmarks import copy_difference
from loomconv_plugins.openloom_1.links import Claims
from loomconv_plugins.openloom_1.shape import MISSING, NODE_KEYS
from loomconv_plugins.openloom_1.strict import (
    PlainNode,
    has_strings,
    plain_extensions,
    plain_node,
    plain_nodes,
    plain_strings,
    unknown_members,
)

__all__ = ["Intake", "take_apart"]


@dataclass(slots=True)
class Intake:
    """A file taken apart.

    `fields` is the top of the file without nodes and bookmarks. `blocks` are the bytes of the plain nodes, `values` the
    values of all others, by id; `claims` has all nodes in file order. `extended` are the plain nodes with `extensions`,
    `with_more` those with unknown keys, `null_parents` those with a parent of null, `flagged` all bookmarked nodes.
    `copies` is the map of bookmarks, or what stands in its place; plain copies are bytes, too.
    """

    fields: dict[str, Any]
    claims: Claims
    copies: Any = MISSING
    blocks: dict[str, Raw] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    extended: set[str] = field(default_factory=set)
    with_more: set[str] = field(default_factory=set)
    null_parents: set[str] = field(default_factory=set)
    flagged: set[str] = field(default_factory=set)

    @property
    def has_no_copies(self) -> bool:
        """Whether the file has nothing at all under `bookmarkedNodes`."""
        return self.copies is MISSING

    def object(self, node_id: str) -> Any:
        """The value of a node's entry, decoded if it is not yet."""
        return self.values[node_id] if node_id in self.values else jsontext.decode(bytes(self.blocks[node_id]))

    def copy_difference(self, node_id: str) -> dict[str, Any] | None:
        """How an entry of the map of bookmarks differs from the node's own object, None when it does not."""
        copy, block = self.copies[node_id], self.blocks.get(node_id)
        if type(copy) is Raw and block is not None and plain_node(node_id, copy) == plain_node(node_id, block):
            return None
        return copy_difference(self.copy(node_id), self.object(node_id))

    def copy(self, node_id: str) -> Any:
        """The value of an entry of the map of bookmarks."""
        copy = self.copies[node_id]
        return jsontext.decode(bytes(copy)) if type(copy) is Raw else copy

    def add_value(self, node_id: str, raw: Any) -> None:
        """Append a node that is not plain."""
        self.values[node_id] = raw
        self.claims.add(raw)
        if isinstance(raw, dict) and raw.get("isBookmarked") is True:
            self.flagged.add(node_id)


def take_apart(source: Source, context: ReadContext) -> Intake:
    """The file, by the quick way or the exact one.

    Raises UnreadableFile for what is no JSON, InvalidDocument for what is no OpenLoom 1.0 file.
    """
    intake = _take_quickly(source.data)
    if intake is not None:
        return intake
    return _take_exactly(context.load_json(source, non_finite="null"), context)


# -- the quick way ---------------------------------------------------------------------------------------------


class _Top(msgspec.Struct, forbid_unknown_fields=True):
    """The top of a file as the app writes it."""

    nodes: dict[str, Raw]
    bookmarkedNodes: Raw | UnsetType = UNSET  # noqa: N815
    id: Raw | UnsetType = UNSET
    title: Raw | UnsetType = UNSET
    description: Raw | UnsetType = UNSET
    lastModified: Raw | UnsetType = UNSET  # noqa: N815
    systemMessage: Raw | UnsetType = UNSET  # noqa: N815
    rootNodeId: Raw | UnsetType = UNSET  # noqa: N815
    currentNodeId: Raw | UnsetType = UNSET  # noqa: N815
    extensions: Raw | UnsetType = UNSET


# So many nodes are decoded at once.
_BATCH = 256
_TOP = msgspec.json.Decoder(_Top)
_BLOCKS = msgspec.json.Decoder(dict[str, Raw])


class _Odd(Exception):
    """The text holds something that only the exact reader sees."""


def _take_quickly(data: Any) -> Intake | None:
    try:
        top, nodes = _open(data)
        fields = {key: _load(block) for key, block in top.items() if key != "bookmarkedNodes"}
        copies = _take_copies(top["bookmarkedNodes"]) if "bookmarkedNodes" in top else MISSING
        intake = Intake(fields, Claims(list(nodes)), copies)
        size = _take_nodes(intake, nodes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, _Odd):
        return None
    # Without white space the file has just the length of its parts, unless a key has overwritten another.
    size += sum(map(_size_of_member, top, map(bytes, top.values()))) + len('{"nodes":}')
    if size == _size_without_end(data) or _strings_of(intake, top) == jsontext.strings_in_text(data):
        return intake
    return None


def _open(data: Any) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """The top of the file without its nodes, and the nodes. Raises KeyError without any, or what msgspec raises."""
    try:
        top = _TOP.decode(data)
    except msgspec.ValidationError:  # one key more, or none of the nodes
        blocks = _BLOCKS.decode(data)
        return blocks, _BLOCKS.decode(blocks.pop("nodes"))
    names = _Top.__struct_fields__[1:]
    return {name: getattr(top, name) for name in names if getattr(top, name) is not UNSET}, top.nodes


def _size_without_end(data: Any) -> int:
    size = len(data)
    while size and data[size - 1] in b" \t\r\n":
        size -= 1
    return size


def _size_of_member(key: str, block: bytes) -> int:
    """Bytes of a member without white space, with one more for the comma or bracket behind it."""
    return len(key if key.isascii() else key.encode()) + len(block) + 4


def _strings_of(intake: Intake, top: dict[str, Raw]) -> int:
    """The strings of the whole file if no key is there twice."""
    strings = 1 + len(intake.claims.ids) + len(top)
    strings += sum(jsontext.strings_in_value(value) for value in [*intake.fields.values(), *intake.values.values()])
    strings += sum(jsontext.strings_in_text(bytes(block)) for block in intake.blocks.values())
    if "bookmarkedNodes" in top:
        strings += jsontext.strings_in_text(bytes(top["bookmarkedNodes"]))
    return strings


def _load(block: Raw) -> Any:
    loaded = jsontext.load(bytes(block))
    if loaded.oddities:
        raise _Odd
    return loaded.value


def _take_copies(block: Raw) -> Any:
    """The map of bookmarks, plain copies as bytes, or what stands in its place."""
    try:
        copies: dict[str, Any] = dict(_BLOCKS.decode(block))
    except msgspec.ValidationError:
        return _load(block)
    strings = len(copies)
    for node_id, copy in copies.items():
        node = plain_node(node_id, copy)
        if node is None or node.extensions is not UNSET:
            copies[node_id] = _load(copy)
            strings += jsontext.strings_in_value(copies[node_id])
        else:
            strings += plain_strings(node)
    if strings != jsontext.strings_in_text(bytes(block)):
        raise _Odd
    return copies


def _take_nodes(intake: Intake, nodes: dict[str, Raw]) -> int:
    """Take in the nodes; the size of their map if it has no white space."""
    claims, blocks, flagged = intake.claims, intake.blocks, intake.flagged
    add_parent, add_children, remember = claims.parents.append, claims.children.append, claims.remembered.append
    # Each id names the node's own one instead of being kept a second, third and fourth time.
    own_ids = dict(zip(claims.ids, claims.ids, strict=True))
    own_id = own_ids.get
    size = 1 if nodes else 2
    for node_id, block, node in _with_plain_nodes(nodes):
        text = bytes(block)
        size += len(text) + 4 + len(node_id if node_id.isascii() else node_id.encode())
        strings = 0 if node is None else plain_strings(node)
        if node is not None and node.extensions is not UNSET:
            extensions = plain_extensions(node)
            strings = 0 if extensions is None else strings + 1 + jsontext.strings_in_value(extensions)
            intake.extended.add(node_id)
        elif node is not None and not has_strings(text, strings):
            unknown = unknown_members(node, block)
            strings = 0 if unknown is None else strings + jsontext.strings_in_value(unknown)
            intake.with_more.add(node_id)
        if node is None or not strings or not has_strings(text, strings):
            intake.with_more.discard(node_id)
            intake.add_value(node_id, _load(block))
            continue
        blocks[node_id] = block
        parent, remembered = node.parentId, node.rememberedChildId
        if parent is None:
            intake.null_parents.add(node_id)
        add_parent(None if parent is UNSET or parent is None else own_id(parent, parent))
        add_children([own_id(child, child) for child in node.childrenIds])
        remember(MISSING if remembered is UNSET else remembered and own_id(remembered, remembered))
        if node.isBookmarked is True:
            flagged.add(node_id)
    return size


def _with_plain_nodes(nodes: dict[str, Raw]) -> Iterator[tuple[str, Raw, PlainNode | None]]:
    """The entries of the map of nodes, each with the plain node that it is, if it is one."""
    entries = iter(nodes.items())
    while batch := list(islice(entries, _BATCH)):
        for (node_id, block), node in zip(batch, plain_nodes(batch), strict=True):
            yield node_id, block, node


# -- the exact way ---------------------------------------------------------------------------------------------


def _take_exactly(value: Any, context: ReadContext) -> Intake:
    if not isinstance(value, dict):
        raise InvalidDocument("the file is no object", next_step="Check that it is an OpenLoom 1.0 file.")
    nodes = value.get("nodes")
    if not isinstance(nodes, dict):
        raise InvalidDocument(
            "the file has no map of nodes", pointer="/nodes", next_step="Choose the format by --from."
        )
    if context.truncated:
        _drop_cut_node(value, context)
    fields = {key: item for key, item in value.items() if key not in ("nodes", "bookmarkedNodes")}
    intake = Intake(fields, Claims(list(nodes)), value.get("bookmarkedNodes", MISSING))
    for node_id, raw in nodes.items():
        intake.add_value(node_id, raw)
    return intake


def _drop_cut_node(value: dict[str, Any], context: ReadContext) -> None:
    """Leave out the node in which the file ends, when neither its text nor its author stands before the cut.

    Only the last member of each object can be cut.
    """
    nodes = value["nodes"]
    if next(reversed(value)) != "nodes" or not nodes:
        return
    last = next(reversed(nodes))
    raw = nodes[last]
    if isinstance(raw, dict) and raw.keys() <= NODE_KEYS and "text" not in raw and "author" not in raw:
        del nodes[last]
        context.report.count("cutNodes")
