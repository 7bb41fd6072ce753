"""Writing OpenLoom 2.0: untouched nodes and edges as the bytes that they are, everything else in the chosen layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from loomconv import __version__, jsontext
from loomconv.format import Sink, WriteContext
from loomconv.model import Document, Tree, mint_ulid
from loomconv.model.record import own_record, with_record
from loomconv_plugins.openloom_2.envelope import LARGE, source_key_orders
from loomconv_plugins.openloom_2.layouts import LAYOUTS, LINES

__all__ = ["write"]

# Order of keys in a file that has no order of its own (openloom-2 dossier §2, §3).
_DOCUMENT_KEYS = ("format", "version", "exportedAt", "generator", "agents", "trees", "extensions")
_TREE_KEYS = (
    "id",
    "title",
    "description",
    "mode",
    "systemContext",
    "rootNodeIds",
    "currentNodeId",
    "createdAt",
    "updatedAt",
    "tags",
    "agents",
    "nodes",
    "edges",
    "extensions",
)
_CHUNK = 1 << 16


def write(document: Document, sink: Sink, context: WriteContext) -> None:
    """Write the document; nodes are encoded one by one, none is kept.

    A document that came from OpenLoom 2 keeps its own keys, their order and its layout. Any other gets this program as
    generator (OL2-3-generator), and attached notes are listed behind the true roots (A6).
    """
    home = document.origin is not None and document.origin.format == "openloom-2"
    _Writer(document, _Buffer(sink), context, home).run()


class _Buffer:
    """Collects small pieces into chunks."""

    __slots__ = ("_pieces", "_sink", "_size")

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _CHUNK:
            self.flush()

    def flush(self) -> None:
        self._sink.write(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0


class _Writer:
    def __init__(self, document: Document, out: _Buffer, context: WriteContext, home: bool) -> None:
        self.document = document
        self.out = out
        self.home = home
        layout = context.layout
        asked = context.options.get("layout", "lines")
        if asked != "lines" or not (home or context.layout_is_original):
            layout = LAYOUTS[asked]
        # Blocks that nobody touched stay as they are, unless another layout was asked for.
        self.verbatim = home and asked == "lines"
        self.lines = layout == LINES
        # The text is written piece by piece; marks around the whole file are written here.
        self.layout = jsontext.COMPACT if self.lines else replace(layout, final_newline=False, bom=False)
        self.end = layout.newline if layout.final_newline else ""
        self.exported_at = context.exported_at
        # A document that was OpenLoom 2 before its journey says itself what it holds.
        self.foreign = not home and not document.key_order

    def run(self) -> None:
        fields = dict(self.document.fields)
        fields.setdefault("format", "open-loom")
        fields.setdefault("version", "2.0")
        if self.exported_at is not None:
            fields["exportedAt"] = self.exported_at
        if self.foreign or "generator" in self.document.key_order:
            fields.setdefault("generator", {"name": "loomconv", "version": __version__})
        order, tree_orders = self.document.key_order, [tree.key_order for tree in self.document.trees]
        if self.home and self.document.origin is not None and len(self.document.origin.data) >= LARGE:
            order, tree_orders = self._orders_of_source(tree_orders)
        self._open("{", 0)
        for position, key in enumerate(_ordered({**fields, "trees": None}, order or _DOCUMENT_KEYS)):
            self._key(key, 1, first=position == 0)
            if key == "trees":
                self._trees(tree_orders)
            else:
                self._value(fields[key], 1)
        self._close("}", 0)
        self.out.add(self.end.encode())
        self.out.flush()

    def _orders_of_source(self, orders: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Key orders of a large source, which the reader leaves out."""
        assert self.document.origin is not None
        try:
            document_order, tree_orders = source_key_orders(self.document.origin.data)
        except msgspec.MsgspecError:
            return self.document.key_order, orders
        return (document_order, tree_orders) if len(tree_orders) == len(orders) else (document_order, orders)

    def _trees(self, orders: list[tuple[str, ...]]) -> None:
        self._open("[", 1)
        for position, (tree, order) in enumerate(zip(self.document.trees, orders, strict=True)):
            self._separate(2, first=position == 0)
            self._tree(self._complete(tree), order)
        self._close("]", 1)

    def _complete(self, tree: Tree) -> Tree:
        """A foreign tree as the specification wants it: at least one node (A21), attached notes listed last (A6)."""
        if not self.foreign:
            return tree
        if not tree.nodes:
            root = mint_ulid("empty-tree", tree.id)
            tree = Tree({**tree.fields, "rootNodeIds": [root]}, key_order=tree.key_order)
            node: dict[str, Any] = {
                "id": root,
                "content": [{"type": "text", "text": ""}],
                "author": {"role": "human"},
                "extensions": {"loomconv": {"syntheticRoot": True}},
            }
            tree.nodes.add_block(root, jsontext.encode(node))
            return tree
        listed = tree.listed_roots
        notes = [tree.nodes.ids[ordinal] for ordinal in sorted(tree.attached_notes())]
        missing = [note for note in notes if note not in listed]
        if missing:
            fields = with_record({**tree.fields, "rootNodeIds": [*listed, *missing]}, listedNotes=missing)
            return Tree(fields, tree.nodes, tree.edges, tree.key_order)
        return tree

    def _tree(self, tree: Tree, order: tuple[str, ...]) -> None:
        self._open("{", 2)
        fields = {**tree.fields, "nodes": None, "edges": None}
        for position, key in enumerate(_ordered(fields, order or _TREE_KEYS)):
            self._key(key, 3, first=position == 0)
            if key == "nodes":
                self._nodes(tree)
            elif key == "edges":
                self._edges(tree)
            else:
                self._value(tree.fields[key], 3)
        self._close("}", 2)

    def _nodes(self, tree: Tree) -> None:
        if not tree.nodes:
            self.out.add(self.layout.empty_container("{}", 3).encode())
            return
        self._open("{", 3)
        self._entries(zip(map(jsontext.encode_plain, tree.nodes.ids), map(_shown, tree.nodes.blocks()), strict=True), 4)
        self._close("}", 3, lines=True)

    def _edges(self, tree: Tree) -> None:
        if not len(tree.edges):
            self.out.add(self.layout.empty_container("[]", 3).encode())
            return
        self._open("[", 3)
        self._entries(((b"", block) for block in tree.edges.blocks()), 4)
        self._close("]", 3, lines=True)

    def _entries(self, entries: Iterable[tuple[bytes, bytes | msgspec.Raw]], level: int) -> None:
        """Members of a map of nodes or items of a list of edges, separated as the layout says."""
        if self.lines:
            before, colon, between = b"\n", b":", b",\n"
        else:
            before = self.layout.line(level).encode()
            colon = self.layout.key_separator.encode()
            between = self.layout.item_separator.encode() + before
        plain = self.layout.indent is None and self.layout == _COMPACT
        glue = before
        pieces: list[bytes] = []
        size = 0
        for key, block in entries:
            # A source's own bytes have their own layout, which is that of the file only if the source is at home here.
            as_it_is = self.verbatim if type(block) is msgspec.Raw else plain
            text = bytes(block) if as_it_is else self._laid_out(block, level)
            if key and not plain:
                key = self._laid_out(key, level)
            pieces += (glue, key, colon, text) if key else (glue, text)
            glue = between
            size += len(text)
            if size > _CHUNK:
                self.out.add(b"".join(pieces))
                pieces.clear()
                size = 0
        self.out.add(b"".join(pieces))

    def _laid_out(self, block: bytes | msgspec.Raw, level: int) -> bytes:
        return b"".join(jsontext.iter_exact(jsontext.decode(block), self.layout, level))

    # -- punctuation -------------------------------------------------------------------------------------------

    def _open(self, bracket: str, level: int) -> None:
        self.out.add(bracket.encode())

    def _close(self, bracket: str, level: int, *, lines: bool = False) -> None:
        before = "\n" if self.lines and (lines or level <= 1) else self.layout.line(level)
        self.out.add((before + bracket).encode())

    def _separate(self, level: int, *, first: bool) -> None:
        comma = "" if first else self.layout.item_separator
        self.out.add((comma + ("\n" if self.lines else self.layout.line(level))).encode())

    def _key(self, key: str, level: int, *, first: bool) -> None:
        self._separate(level, first=first)
        self.out.add(b"".join(jsontext.iter_exact(key, self.layout)))
        self.out.add(self.layout.key_separator.encode())

    def _value(self, value: Any, level: int) -> None:
        for piece in jsontext.iter_exact(value, self.layout, level):
            self.out.add(piece)


_COMPACT = jsontext.COMPACT


def _shown(block: bytes | msgspec.Raw) -> bytes | msgspec.Raw:
    """A node's bytes; a value that was no node at all is written as what it was."""
    if b'"opaque"' in bytes(block):
        node: Any = jsontext.decode(block)
        kept = own_record(node) if isinstance(node, dict) else {}
        if "opaque" in kept and not node["content"]:
            return jsontext.encode(kept["opaque"])
    return block


def _ordered(fields: dict[str, Any], order: Iterable[str]) -> Iterator[str]:
    """The fields' keys: first those that the order names, then the others as they come."""
    known = [key for key in order if key in fields]
    yield from known
    named = set(known)
    yield from (key for key in fields if key not in named)
