"""A document as a log: one pass, each record written when it is encoded."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from loomconv import __version__, jsontext
from loomconv.format import Sink
from loomconv.model import Document, Tree
from loomconv.model.record import extensions_of
from loomconv.writelog import FORMAT, VERSION, Chain, commit_record, encode_record

__all__ = ["write"]

_CHUNK: Final = 1 << 16


def write(document: Document, sink: Sink) -> None:
    """Write the document; nodes stand in file order, each edge as soon as its nodes are there, a commit at the end."""
    log = _Log(sink)
    fields, kept = _without_kept(document.fields)
    if fields.get("generator") == {"name": "loomconv", "version": __version__}:
        fields = {key: value for key, value in fields.items() if key != "generator"}  # made up in an earlier step
    keys = list(document.key_order) or None
    log.add(encode_record("open", format=FORMAT, version=VERSION, document=fields, keys=keys))
    for record in kept:
        log.add(jsontext.encode(record) + b"\n")
    for tree in document.trees:
        log.add(encode_record("tree", tree=tree.fields, keys=list(tree.key_order) or None))
        _write_tree(tree, log)
    log.commit()


class _Log:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._chain = Chain()
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, line: bytes) -> None:
        self._chain.add(line)
        self._put(line)

    def commit(self) -> None:
        self._put(commit_record(self._chain.seq + 1, self._chain.records, self._chain.digest()))
        self._sink.write(b"".join(self._pieces))

    def _put(self, line: bytes) -> None:
        self._pieces.append(line)
        self._size += len(line)
        if self._size > _CHUNK:
            self._sink.write(b"".join(self._pieces))
            self._pieces.clear()
            self._size = 0


def _write_tree(tree: Tree, log: _Log) -> None:
    name = jsontext.encode(tree.id)
    edges = tree.edges
    blocks = enumerate(edges.blocks())
    waiting = next(blocks, None)
    for ordinal, node_id in enumerate(tree.nodes.ids):
        log.add(b'{"op":"node","tree":' + name + b',"node":' + _on_one_line(tree.nodes.block(node_id)) + b"}\n")
        while waiting is not None and max(edges.targets[waiting[0]], *edges.sources(waiting[0]), 0) <= ordinal:
            log.add(_edge_line(name, waiting[1]))
            waiting = next(blocks, None)
    while waiting is not None:
        log.add(_edge_line(name, waiting[1]))
        waiting = next(blocks, None)


def _edge_line(tree: bytes, block: msgspec.Raw | bytes) -> bytes:
    return b'{"op":"edge","tree":' + tree + b',"edge":' + _on_one_line(block) + b"}\n"


def _on_one_line(block: msgspec.Raw | bytes) -> bytes:
    """A node's or an edge's own bytes; encoded anew where they have line breaks in them."""
    text = bytes(block)
    return jsontext.encode(jsontext.decode(text)) if b"\n" in text or b"\r" in text else text


def _without_kept(fields: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The document's fields without the records of unknown kind that an earlier log had, and those records."""
    extensions = extensions_of(fields)
    own = extensions.get(FORMAT)
    kept = own.get("records") if isinstance(own, dict) and own.keys() == {"records"} else None
    if not isinstance(kept, list) or not all(
        isinstance(each, dict) and isinstance(each.get("op"), str) for each in kept
    ):
        return fields, []
    others = {name: value for name, value in extensions.items() if name != FORMAT}
    rest = {key: value for key, value in fields.items() if key != "extensions"}
    return ({**rest, "extensions": others} if others else rest), kept
