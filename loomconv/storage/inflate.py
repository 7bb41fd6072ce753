"""Unpacks gzip data as it streams, bounded, and saves what stands before a cut."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass, field
from typing import BinaryIO

from loomconv.errors import UnreadableFile
from loomconv.storage.incident import Incident
from loomconv.storage.limits import Limits

__all__ = ["GZIP_MAGIC", "Inflated", "inflate"]

GZIP_MAGIC = b"\x1f\x8b"

_READ = 64 * 1024
_STEP = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inflated:
    """Unpacked data; `truncated` if the file ends before the gzip stream does."""

    data: bytes
    truncated: bool = False
    incidents: list[Incident] = field(default_factory=list)


def inflate(stream: BinaryIO, packed: int, limits: Limits, source: str) -> Inflated:
    """Unpack the gzip file that `stream` stands at the start of; `packed` is its whole size in bytes.

    Concatenated members make one text and zero padding after them is ignored, as gzip does; other bytes after the last
    member are reported (`gzip-trailing`). A file that ends too early gives what stands before the cut
    (`gzip-truncated`). No header field is believed: output is counted as it comes. Raises LimitExceeded
    (`document_bytes`, `ratio`, `members`), UnreadableFile for damaged data. Linear in what is read and written.
    """
    return _Inflation(stream, packed, limits, source).run()


class _Inflation:
    def __init__(self, stream: BinaryIO, packed: int, limits: Limits, source: str) -> None:
        self._stream = stream
        self._packed = packed
        self._limits = limits
        self._source = source
        self._bound, self._option = limits.allowance(packed, "document_bytes")
        self._out = io.BytesIO()
        self._rest = b""

    def run(self) -> Inflated:
        members = 0
        while True:
            members += 1
            # Each member copies the rest of a read buffer: counting them keeps a file of empty members linear.
            if self._limits.members is not None and members > self._limits.members:
                raise self._limits.exceeded("members", "the number of gzip members", source=self._source)
            try:
                complete = self._member()
            except zlib.error:
                place = self._stream.tell() - len(self._rest)
                raise UnreadableFile(
                    f"the gzip data is damaged (before byte {place} of the packed file)",
                    source=self._source,
                    next_step="Fetch or export the file again.",
                ) from None
            if not complete:
                message = "the gzip data ends before its end mark; what stands before the cut was read"
                return Inflated(self._out.getvalue(), True, [Incident("gzip-truncated", message)])
            if not self._skip_padding():
                return Inflated(self._out.getvalue())
            if not self._rest.startswith(GZIP_MAGIC):
                trailing = self._packed - self._stream.tell() + len(self._rest)
                message = "bytes after the end of the gzip data were ignored"
                return Inflated(self._out.getvalue(), False, [Incident("gzip-trailing", message, f"{trailing} bytes")])

    def _member(self) -> bool:
        """Unpack one member; False if the input ends inside it."""
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if not self._rest:
                self._rest = self._stream.read(_READ)
            at_end = not self._rest
            piece = member.decompress(self._rest, _STEP)
            self._rest = member.unconsumed_tail
            self._keep(piece)
            if at_end and not piece and not member.eof:
                return False
        self._rest = member.unused_data
        return True

    def _keep(self, piece: bytes) -> None:
        self._out.write(piece)
        if self._bound is not None and self._out.tell() > self._bound:
            what = "the compression ratio" if self._option == "ratio" else "the unpacked size"
            raise self._limits.exceeded(self._option, what, source=self._source)

    def _skip_padding(self) -> bool:
        """Move past zero bytes; False at the end of the file."""
        while True:
            self._rest = self._rest.lstrip(b"\0")
            if len(self._rest) >= len(GZIP_MAGIC):
                return True
            more = self._stream.read(_READ)
            self._rest += more
            if not more:
                return bool(self._rest)
