"""The lines of a log, with their places: only a line feed ends one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Line", "split_lines"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line: number from 1, first byte in the file, raw bytes with the line feed, and whether there is one."""

    number: int
    byte: int
    raw: bytes
    complete: bool

    @property
    def record(self) -> bytes:
        """The bytes without the line end, and without the NULs that a crash can leave around a record."""
        return self.raw.strip(b"\0\r\n\t ")


def split_lines(data: Any) -> Iterator[Line]:
    """The lines of a log (bytes or a map), one at a time; what follows the last line feed comes as incomplete."""
    position, number, size = 0, 0, len(data)
    while position < size:
        number += 1
        found = data.find(b"\n", position)
        end = size if found < 0 else found + 1
        yield Line(number, position, bytes(data[position:end]), found >= 0)
        position = end
