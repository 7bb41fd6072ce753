"""Counting the strings of a JSON text and of its value: equal counts prove that no key is there twice."""

from __future__ import annotations

from typing import Any

from loomconv.jsontext.places import Bytes

__all__ = ["line_breaks", "strings_in_text", "strings_in_value"]

_CHUNK = 1 << 20


def strings_in_text(data: Bytes) -> int:
    """The number of strings, keys included, in a valid JSON text; half the number of its quotes that are not escaped.

    Taking all pairs of backslashes away leaves a backslash before a quote exactly where the quote is escaped, since the
    backslashes of a run pair up from its left end. Read in pieces of 1 MiB, so that a map is not copied.
    """
    quotes = position = 0
    size = len(data)
    while position < size:
        end = min(position + _CHUNK, size)
        piece = bytes(data[position:end])
        # A piece never ends between a backslash and what it escapes.
        while piece.endswith(b"\\") and end < size:
            piece += bytes(data[end : end + 1])
            end += 1
            if not piece.endswith(b"\\"):
                break
        quotes += piece.count(b'"')
        if b"\\" in piece:
            if b"\\\\" in piece:
                piece = piece.replace(b"\\\\", b"")
            quotes -= piece.count(b'\\"')
        position = end
    return quotes // 2


def line_breaks(data: Bytes) -> int:
    """The number of line feeds in a text. Read in pieces of 1 MiB, so that a map is not copied."""
    return sum(bytes(data[start : start + _CHUNK]).count(b"\n") for start in range(0, len(data), _CHUNK))


def strings_in_value(value: Any) -> int:
    """The number of strings in a value, keys included."""
    count = 0
    todo = [value]
    for item in todo:
        kind = type(item)
        if kind is str:
            count += 1
        elif kind is dict:
            count += len(item)
            todo.extend(item.values())
        elif kind is list:
            todo.extend(item)
    return count
