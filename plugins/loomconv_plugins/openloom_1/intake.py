"""Taking a file apart: its fields, the blocks of its nodes, and what the nodes say of their links.

The quick way leaves plain nodes as bytes. It is taken only for a text that the fast reader takes as it is and in which no
object has a key twice; any other text is read exactly, and no node counts as plain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from loomconv import jsontext
from loomconv.errors import InvalidDocument
from loomconv.format import ReadContext
from loomconv.storage.source import Source
from loomconv_plugins.openloom_1.bookmarks import copy_difference
from loomconv_plugins.openloom_1.links import Claims
from loomconv_plugins.openloom_1.shape import MISSING, NODE_KEYS
from loomconv_plugins.openloom_1.strict import plain_node, plain_strings

__all__ = ["Intake", "take_apart"]

_BLOCKS = msgspec.json.Decoder(dict[str, Raw])


@dataclass(slots=True)
class Intake:
    """A file taken apart.

    `fields` is the top of the file without nodes and bookmarks. `blocks` are the bytes of the plain nodes, `values` the
    values of all others, by id; `claims` has all nodes in file order. `null_parents` are the plain nodes with a parent
    of null, `flagged` all bookmarked ones. `copies` is the map of bookmarks, or what stands
    in its place; plain copies are bytes, too.
    """

    fields: dict[str, Any]
    claims: Claims
    copies: Any = MISSING
    blocks: dict[str, Raw] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    null_parents: set[str] = field(default_factory=set)
    flagged: set[str] = field(default_factory=set)

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


def _take_quickly(data: Any) -> Intake | None:
    try:
        top = _BLOCKS.decode(data)
        nodes = _BLOCKS.decode(top.pop("nodes"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
        return None
    # Strings that are there if no object has a key twice: `nodes` and its keys to begin with.
    strings = 1 + len(nodes)
    copies: Any = MISSING
    if "bookmarkedNodes" in top:
        taken = _take_copies(top.pop("bookmarkedNodes"))
        if taken is None:
            return None
        copies = taken[0]
        strings += 1 + taken[1]
    fields = {}
    for key, block in top.items():
        loaded = _load(block)
        if loaded is MISSING:
            return None
        fields[key] = loaded
        strings += 1 + jsontext.strings_in_value(loaded)
    intake = Intake(fields, Claims(list(nodes)), copies)
    found = _take_nodes(intake, nodes)
    if found is None or strings + found != jsontext.strings_in_text(data):
        return None
    return intake


def _load(block: Raw) -> Any:
    """The value of a block that has nothing odd about it, else MISSING."""
    loaded = jsontext.load(bytes(block))
    return MISSING if loaded.oddities else loaded.value


def _take_copies(block: Raw) -> tuple[Any, int] | None:
    """The map of bookmarks, plain copies as bytes, and its strings if no key is there twice; None for an odd one.

    What is no map is given as a value.
    """
    try:
        copies: dict[str, Any] = dict(_BLOCKS.decode(block))
    except msgspec.ValidationError:
        value = _load(block)
        return None if value is MISSING else (value, jsontext.strings_in_value(value))
    strings = len(copies)
    for node_id, copy in copies.items():
        node = plain_node(node_id, copy)
        if node is not None:
            strings += plain_strings(node)
            continue
        copies[node_id] = value = _load(copy)
        if value is MISSING:
            return None
        strings += jsontext.strings_in_value(value)
    return copies, strings


def _take_nodes(intake: Intake, nodes: dict[str, Raw]) -> int | None:
    """Take in the nodes; the number of strings that they have if no key is there twice, None for an odd one."""
    claims, blocks = intake.claims, intake.blocks
    strings = 0
    for node_id, block in nodes.items():
        node = plain_node(node_id, block)
        if node is None:
            raw = _load(block)
            if raw is MISSING:
                return None
            intake.add_value(node_id, raw)
            strings += jsontext.strings_in_value(raw)
            continue
        strings += plain_strings(node)
        blocks[node_id] = block
        parent = node.parentId
        if parent is None or parent is UNSET:
            if parent is None:
                intake.null_parents.add(node_id)
            claims.parents.append(None)
        else:
            claims.parents.append(parent)
        claims.children.append(node.childrenIds)
        claims.remembered.append(MISSING if node.rememberedChildId is UNSET else node.rememberedChildId)
        if node.isBookmarked is True:
            intake.flagged.add(node_id)
    return strings


# -- the exact way ---------------------------------------------------------------------------------------------


def _take_exactly(value: Any, context: ReadContext) -> Intake:
    if not isinstance(value, dict):
        raise InvalidDocument("the file is no object", next_step="Check that it is an OpenLoom 1.0 file.")
    nodes = value.get("nodes")
    if not isinstance(nodes, dict):
        raise InvalidDocument("the file has no map of nodes", pointer="/nodes", next_step="Choose the format by --from.")
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
