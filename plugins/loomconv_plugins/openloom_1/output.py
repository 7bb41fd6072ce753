"""Bytes for the sink: members of objects in any layout, gathered into pieces of some 64 KiB."""

from __future__ import annotations

from typing import Any

import msgspec

from loomconv import jsontext
from loomconv.format import Sink
from loomconv.jsontext import Layout

__all__ = ["Output"]

_PIECE = 1 << 16
_encode = msgspec.json.Encoder().encode


class Output:
    """Writes an object, and objects in it, member by member: `open`, `member`s, `close`, and in the end `finish`."""

    def __init__(self, sink: Sink, layout: Layout) -> None:
        self.layout = layout
        # Whether the layout is msgspec's own, but for escaped slashes.
        self.compact = (
            layout.indent is None
            and (layout.item_separator, layout.key_separator) == (",", ":")
            and layout.escape == "raw"
        )
        self._sink = sink
        self._pieces: list[bytes] = [layout.before]
        self._size = 0
        self._level = 0
        self._colon = layout.key_separator.encode()
        # What stands before the next member, and before all later ones.
        self._glue = self._next = b""

    def open(self, key: str | None = None) -> None:
        """Begin an object, as the value of `key` if it stands in another one. It must get a member."""
        if key is not None:
            self.put(self._glue + self.key_text(key) + self._colon)
        self.put(b"{")
        self._level += 1
        self._glue = self.layout.line(self._level).encode()
        self._next = self.layout.item_separator.encode() + self._glue

    def close(self) -> None:
        """End the object."""
        self._level -= 1
        line = self.layout.line(self._level).encode()
        self.put(line + b"}")
        self._glue = self._next = self.layout.item_separator.encode() + line

    def member(self, key: str, block: bytes) -> None:
        """Write a member whose value has been laid out by `block_of`."""
        self._pieces += (self._glue, self.key_text(key), self._colon, block)
        self._glue = self._next
        self._size += len(block) + 50
        if self._size >= _PIECE:
            self._flush()

    def key_text(self, key: str) -> bytes:
        """A key in quotes."""
        if self.compact:
            try:
                return self.escaped(_encode(key))
            except UnicodeEncodeError:  # half a character
                pass
        return self.block_of(key)

    def block_of(self, value: Any) -> bytes:
        """A value as a member of the object that is open."""
        if self.compact:
            return self.escaped(jsontext.encode(value))
        return b"".join(jsontext.iter_exact(value, self.layout, self._level))

    def escaped(self, text: bytes) -> bytes:
        """Compact JSON with its slashes as the layout has them: a slash stands in strings only."""
        return text.replace(b"/", b"\\/") if self.layout.escape_slash else text

    def put(self, piece: bytes) -> None:
        """Append bytes."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= _PIECE:
            self._flush()

    def _flush(self) -> None:
        self._sink.write(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0

    def finish(self) -> None:
        """End the text."""
        self._pieces.append(self.layout.after)
        self._flush()
