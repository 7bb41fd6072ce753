"""Appending to a log from a running program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LoomconvError, UnreadableFile, UsageFault
from loomconv.writelog.chain import Chain
from loomconv.writelog.records import FORMAT, VERSION, commit_record, encode_record

__all__ = ["Writer"]

_PIECE: Final = 1 << 20


class Writer:
    """Appends records to a log, each in one write of a whole line; what was written before never changes.

        with Writer(path) as log:
            log.put_tree({"id": "t", "title": "A walk"})
            log.put_node("t", {"id": "a", "content": [...], "author": {"role": "human"}})
            log.commit()

    A file that is not there, or empty, begins with an `open` record. One that is there goes on behind its last line
    feed; a torn line at its end is cut off. Killed at any moment, the program loses at most the record being written.
    Not for two writers at once. Raises UsageFault for a file that cannot be written, UnreadableFile for one that is no
    log.
    """

    def __init__(self, path: str | os.PathLike[str], fields: Mapping[str, Any] | None = None) -> None:
        """Open the log; `fields` are those of the document, for a new one."""
        self.path = Path(path)
        self._chain = Chain()
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise UsageFault(f"the log cannot be opened ({error.strerror})", source=str(path)) from None
        try:
            self._resume()
            if os.fstat(self._descriptor).st_size == 0:
                document = {"format": "open-loom", "version": "2.0", **(fields or {})}
                self.append("open", format=FORMAT, version=VERSION, document=document)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- records -----------------------------------------------------------------------------------------------

    def append(self, op: str, **members: Any) -> None:
        """Append any record; members that are None are left out."""
        self._write(encode_record(op, **members))

    def put_document(self, fields: Mapping[str, Any]) -> None:
        """Put the document's fields, all of them."""
        self.append("document", document=dict(fields))

    def put_tree(self, fields: Mapping[str, Any]) -> None:
        """Put a tree's fields (an id among them), all but nodes and edges."""
        self.append("tree", tree=dict(fields))

    def put_agent(self, agent_id: str, agent: Mapping[str, Any], tree: str | None = None) -> None:
        """Put an agent of the document, or of one tree."""
        self.append("agent", id=agent_id, agent=dict(agent), tree=tree)

    def put_node(self, tree: str, node: Mapping[str, Any]) -> None:
        """Put a node: a new one, or a new value for one that is there."""
        self.append("node", tree=tree, node=dict(node))

    def put_edge(self, tree: str, edge: Mapping[str, Any]) -> None:
        """Put an edge; one without an id is known by its type, sources and target."""
        self.append("edge", tree=tree, edge=dict(edge))

    def delete(self, *, tree: str | None = None, node: str | None = None, edge: Any = None, agent: Any = None) -> None:
        """Delete a node or an edge (its id, or the edge itself) of a tree, an agent, or a whole tree."""
        self.append("delete", tree=tree, node=node, edge=edge, agent=agent)

    def commit(self) -> int:
        """Record that the document is consistent here, see that all is on the disk, and give the commit's number."""
        digest, seq = self._chain.digest(), self._chain.seq + 1
        self._put(commit_record(seq, self._chain.records, digest))
        os.fsync(self._descriptor)
        self._chain.commit(digest, seq)
        return seq

    def close(self) -> None:
        """Close the file; without a commit, what was appended since the last one is there and uncommitted."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    # -- bytes -------------------------------------------------------------------------------------------------

    def _write(self, line: bytes) -> None:
        self._put(line)
        self._chain.add(line)

    def _put(self, line: bytes) -> None:
        if self._descriptor < 0:
            raise UsageFault("the log is closed", source=str(self.path))
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError as error:
                raise UsageFault(f"the log cannot be written ({error.strerror})", source=str(self.path)) from None

    def _resume(self) -> None:
        """Read the lines that are there, one at a time; cut a torn one off."""
        kept, rest, first = 0, b"", True
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        while piece := os.read(self._descriptor, _PIECE):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                raw = line + b"\n"
                kept += len(raw)
                if line.strip(b"\0\r\t "):
                    self._take(raw, first)
                    first = False
                else:
                    self._chain.skip(raw)
        if rest:
            os.ftruncate(self._descriptor, kept)

    def _take(self, raw: bytes, first: bool) -> None:
        record: Any = None
        if first or b'"commit"' in raw:
            try:
                record = jsontext.decode(raw.strip(b"\0\r\n\t "))
            except LoomconvError:
                record = None
        if first and not (isinstance(record, dict) and record.get("op") == "open" and record.get("format") == FORMAT):
            raise UnreadableFile(
                "the file is there, and is no write-boundary log",
                source=str(self.path),
                next_step="Choose another name.",
            )
        if isinstance(record, dict) and record.get("op") == "commit" and isinstance(record.get("seq"), int):
            stated = record.get("sha256")
            self._chain.commit(stated if isinstance(stated, str) else self._chain.digest(), record["seq"])
        else:
            self._chain.add(raw)
