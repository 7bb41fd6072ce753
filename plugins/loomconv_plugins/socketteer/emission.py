"""Pieces of JSON text at any level, in any layout, for values that are nested by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from loomconv import jsontext
from loomconv.format import Sink
from loomconv.jsontext import Layout

__all__ = ["Texts", "Writer"]

_CHUNK: Final = 1 << 16


class Writer:
    """Collects pieces and hands them to a sink in chunks of some 64 KiB; `sink` may come later."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, piece: bytes) -> None:
        """Append bytes."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._sink is not None and self._size >= _CHUNK:
            self.flush()

    def flush(self) -> None:
        """Hand everything over."""
        if self._sink is not None and self._pieces:
            self._sink.write(b"".join(self._pieces))
            self._pieces.clear()
            self._size = 0

    def into(self, other: Writer) -> None:
        """Hand everything to another writer."""
        for piece in self._pieces:
            other.write(piece)
        self._pieces.clear()
        self._size = 0


class Texts:
    """Texts of values and members in one layout. A level is the number of containers around a value."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._plain = replace(layout, bom=False, final_newline=False)
        self._break = layout.newline.encode()
        self._unit = layout.unit.encode()
        self._lines: list[bytes] = []
        self._commas: list[bytes] = []
        self._names: dict[str, bytes] = {}
        self._first = len(layout.line(1)) + 1
        self._last = len(layout.line(0)) + 1
        # A blank line within an empty container must not be indented.
        self._exact = layout.indent is not None and layout.empty == "blank"

    def line(self, level: int) -> bytes:
        """A line break with the indentation of a level."""
        while level >= len(self._lines):
            self._lines.append(self.layout.line(len(self._lines)).encode())
        return self._lines[level]

    def comma(self, level: int) -> bytes:
        """What stands between two items on a level."""
        while level >= len(self._commas):
            self._commas.append(self.layout.item_separator.encode() + self.line(len(self._commas)))
        return self._commas[level]

    def empty(self, brackets: str, level: int) -> bytes:
        """An empty container."""
        return self.layout.empty_container(brackets, level).encode()

    def name(self, key: str) -> bytes:
        """A key with the separator behind it."""
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = jsontext.dump(key, self._plain) + self.layout.key_separator.encode()
        return found

    def value(self, value: Any, level: int) -> bytes:
        """A whole value."""
        if self._exact:
            return b"".join(jsontext.iter_exact(value, self._plain, level))
        text = jsontext.dump(value, self._plain)
        return text.replace(self._break, self.line(level)) if level and self.layout.indent is not None else text

    def members(self, members: dict[str, Any], level: int) -> bytes:
        """The members of an object on a level, without what stands before the first and behind the last one."""
        if self._exact:
            text = b"".join(jsontext.iter_exact(members, self._plain, level))
            return text[1 + len(self.line(level + 1)) : -1 - len(self.line(level))]
        text = jsontext.dump(members, self._plain)[self._first : -self._last]
        return text.replace(self._break, self.line(level)) if level and self.layout.indent is not None else text
