"""The index of a tree's nodes: source bytes until somebody looks, plain dictionaries when somebody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from loomconv import jsontext
from loomconv.model.types import Node

__all__ = ["NodeDecoder", "NodeIndex", "NodeTransform", "plain_text"]

# Turns the source bytes of one node into an OpenLoom node. Must be pure: it is called each time the node is looked at.
NodeDecoder = Callable[[str, msgspec.Raw], Node]
# Makes another node of a node, or returns the very same object when nothing changes. Must be pure, too.
NodeTransform = Callable[[str, Node], Node]


class NodeIndex(Mapping[str, Node]):
    """Nodes by id, in file order.

    `index[id]` gives a fresh dictionary each time, which is not kept alive: change it and assign it back to edit the
    node. An untouched node stays the bytes that it was read from. Looking up costs one decode of the node (about 2 µs
    for 600 bytes); an id's ordinal (its position) and everything about topology costs no decode at all.

    Blocks are `msgspec.Raw` (bytes of the source file, read by the tree's decoder) or `bytes` (an OpenLoom node as
    compact JSON, made by an edit or by a reader).
    """

    __slots__ = ("_blocks", "_decoder", "_ids", "_ordinals", "_transforms", "edited")

    def __init__(self, decoder: NodeDecoder | None = None) -> None:
        self._ordinals: dict[str, int] = {}
        self._ids: list[str] = []
        self._blocks: list[msgspec.Raw | bytes] = []
        self._decoder = decoder
        self._transforms: tuple[NodeTransform, ...] = ()
        self.edited = False

    @classmethod
    def from_blocks(cls, blocks: dict[str, msgspec.Raw], decoder: NodeDecoder | None = None) -> NodeIndex:
        """An index over the blocks of a decoded `{id: Raw}` map, without looking at any of them."""
        index = cls(decoder)
        index._ids = list(blocks)
        index._blocks = list(blocks.values())
        index._ordinals = dict(zip(index._ids, range(len(index._ids)), strict=True))
        return index

    # -- identity and order ------------------------------------------------------------------------------------

    @property
    def ids(self) -> list[str]:
        """All ids in file order; position in this list is the node's ordinal. Do not change the list."""
        return self._ids

    @property
    def ordinals(self) -> dict[str, int]:
        """Ordinal by id. Do not change the dictionary."""
        return self._ordinals

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._ordinals

    # -- looking -----------------------------------------------------------------------------------------------

    def __getitem__(self, node_id: str) -> Node:
        node = self._decode(node_id, self._blocks[self._ordinals[node_id]])
        for transform in self._transforms:
            node = transform(node_id, node)
        return node

    def in_order(self) -> Iterator[Node]:
        """All nodes in file order, looked at one by one; the same as asking for each, with less ado."""
        transforms = self._transforms
        for node_id, block in zip(self._ids, self._blocks, strict=True):
            node = self._decode(node_id, block)
            for transform in transforms:
                node = transform(node_id, node)
            yield node

    def _decode(self, node_id: str, block: msgspec.Raw | bytes) -> Node:
        if self._decoder is not None and type(block) is msgspec.Raw:
            return self._decoder(node_id, block)
        return cast(Node, jsontext.decode(block))

    def source_block(self, node_id: str) -> msgspec.Raw | bytes:
        """The node's bytes as they are held, in the source's own form when nobody touched it."""
        return self._blocks[self._ordinals[node_id]]

    def block(self, node_id: str) -> msgspec.Raw | bytes:
        """The node as OpenLoom JSON: its own bytes when nothing changed them, otherwise compact JSON."""
        return self._as_block(node_id, self._blocks[self._ordinals[node_id]])

    def blocks(self) -> Iterator[msgspec.Raw | bytes]:
        """All nodes as OpenLoom JSON, in file order: `block` of each, with less ado."""
        return map(self._as_block, self._ids, self._blocks)

    def _as_block(self, node_id: str, block: msgspec.Raw | bytes) -> msgspec.Raw | bytes:
        if not self._transforms and (self._decoder is None or type(block) is bytes):
            return block
        before = node = self._decode(node_id, block)
        for transform in self._transforms:
            node = transform(node_id, node)
        if node is before and (self._decoder is None or type(block) is bytes):
            return block
        return jsontext.encode_plain(node)

    # -- changing ----------------------------------------------------------------------------------------------

    def __setitem__(self, node_id: str, node: Node) -> None:
        block = jsontext.encode(node)
        ordinal = self._ordinals.get(node_id)
        if ordinal is None:
            self._add(node_id, block)
        else:
            self._blocks[ordinal] = block
        self.edited = True

    def add_block(self, node_id: str, block: msgspec.Raw | bytes) -> int:
        """Append a node that is not there yet as bytes and return its ordinal; a reader's way, not an edit."""
        if node_id in self._ordinals:
            raise KeyError(node_id)
        return self._add(node_id, block)

    def extend_blocks(self, blocks: Sequence[tuple[str, msgspec.Raw | bytes]]) -> None:
        """Append many nodes of different ids, none of which is there yet, as bytes; raises KeyError if one is."""
        start = len(self._ids)
        self._ordinals.update((node_id, start + place) for place, (node_id, _) in enumerate(blocks))
        if len(self._ordinals) != start + len(blocks):
            raise KeyError("an id is taken")
        self._ids.extend([node_id for node_id, _ in blocks])
        self._blocks.extend([block for _, block in blocks])

    def put_block(self, node_id: str, block: bytes) -> None:
        """Replace a node's bytes by OpenLoom JSON: a reader's way, not an edit."""
        self._blocks[self._ordinals[node_id]] = block

    def _add(self, node_id: str, block: msgspec.Raw | bytes) -> int:
        ordinal = len(self._ids)
        self._ordinals[node_id] = ordinal
        self._ids.append(node_id)
        self._blocks.append(block)
        return ordinal

    # -- derived indexes ---------------------------------------------------------------------------------------

    def transformed(self, transform: NodeTransform) -> NodeIndex:
        """An index over the same blocks whose nodes are seen through `transform`; costs nothing until looked at."""
        index = self._empty()
        index._ids, index._ordinals, index._blocks = self._ids, self._ordinals, list(self._blocks)
        index._transforms = (*self._transforms, transform)
        return index

    def without(self, node_ids: set[str]) -> NodeIndex:
        """An index without these nodes, in the same order; linear, decodes nothing."""
        index = self._empty()
        for node_id, block in zip(self._ids, self._blocks, strict=True):
            if node_id not in node_ids:
                index._add(node_id, block)
        return index

    def with_inserted(self, nodes: Mapping[int, Node]) -> NodeIndex:
        """An index with further nodes, each at its position in the result (behind all others when beyond the end).

        Nodes are given as they are to be seen: this index must not be a transformed one.
        """
        index = self._empty()
        for node_id, block in zip(self._ids, self._blocks, strict=True):
            while len(index) in nodes:
                index._insert(nodes[len(index)])
            index._add(node_id, block)
        for position in sorted(nodes):
            if nodes[position]["id"] not in index:
                index._insert(nodes[position])
        return index

    def _insert(self, node: Node) -> None:
        self._add(node["id"], jsontext.encode(node))

    def _empty(self) -> NodeIndex:
        index = NodeIndex(self._decoder)
        index._transforms = self._transforms
        index.edited = self.edited
        return index

    def __repr__(self) -> str:
        return f"<NodeIndex of {len(self)} nodes>"


def plain_text(node: Node | dict[str, Any]) -> str:
    """The node's own segment: its text blocks joined without a separator (A3)."""
    return "".join(block["text"] for block in node["content"] if block.get("type") == "text" and "text" in block)
