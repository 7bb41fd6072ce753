"""The exact writer: any JSON value of any depth, in any layout, without recursion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final

from msgspec import Raw

from loomconv.errors import UsageFault
from loomconv.jsontext.layout import COMPACT, Layout
from loomconv.jsontext.values import ExactFloat

__all__ = ["float_text", "iter_exact", "write_exact"]

_PIECES_PER_CHUNK: Final = 4096
_MEMO_LIMIT: Final = 8192
_FIRST_CYCLE_CHECK: Final = 1 << 12
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DONE: Final = object()
_CHUNK_FULL: Final = object()


def write_exact(value: Any, layout: Layout = COMPACT) -> bytes:
    """A JSON value as a whole text in the given layout, with its BOM and final line break if it has them.

    The value is made of `dict` with `str` keys, `list`, `str`, `int`, `float`, `bool`, None; an `ExactFloat` is written
    as its spelling, an integer of any length in full, a lone surrogate as an escape, a `msgspec.Raw` as it is. Other
    floats are spelled as by Python's `repr` (and, but for small and large ones, by JavaScript). A high and a low
    surrogate side by side in a `str` become one character when read again: JSON has no other way to write them.

    Raises `UsageFault` for NaN and infinite floats, for what is not JSON, and for a value that contains itself.
    Cost: linear, some 50 MB/s, and a few µs per container.
    """
    return b"".join((layout.before, *iter_exact(value, layout), layout.after))


def iter_exact(value: Any, layout: Layout = COMPACT, level: int = 0) -> Iterator[bytes]:
    """The same in chunks, without BOM and final line break (`layout.before`, `layout.after`).

    `level` is the number of containers around the value; its first line is not indented.
    """
    writer = _Writer(layout, level)
    child = writer.write(value)
    while True:
        if child is not _DONE and child is not _CHUNK_FULL:
            writer.begin(child)
        if len(writer.pieces) >= _PIECES_PER_CHUNK:
            yield writer.flush()
        if not writer.frames:
            break
        child = writer.fill()
        if child is _DONE:
            writer.end()
    yield writer.flush()


class _Writer:
    """The open containers, and the pieces of text that have not been flushed."""

    def __init__(self, layout: Layout, level: int) -> None:
        self.pieces: list[str] = []
        # (container, iterator over what is still to come)
        self.frames: list[tuple[Any, Iterator[Any]]] = []
        self._layout = layout
        self._one_line = layout.indent is None
        self._level = level
        self._first = False
        self._memo: dict[str, str] = {}
        self._next_cycle_check = _FIRST_CYCLE_CHECK
        self._escape = _escape_of(layout)
        self._leaves: dict[type, Callable[[Any], str]] = {
            str: self._escape,
            int: _int_text,
            float: float_text,
            bool: lambda value: "true" if value else "false",
            type(None): lambda value: "null",
            ExactFloat: lambda value: value.token,
            Raw: lambda value: bytes(value).decode("utf-8", "surrogateescape"),
        }

    def write(self, value: Any, before: str = "") -> Any:
        """Write a leaf or an empty container behind `before` and answer `_DONE`; or answer the container to begin."""
        leaf = self._leaves.get(type(value))
        if leaf is not None:
            self.pieces.append(before + leaf(value))
            return _DONE
        if isinstance(value, dict):
            brackets = "{}"
        elif isinstance(value, list | tuple):
            brackets = "[]"
        else:
            for kind in (str, int, float):
                if isinstance(value, kind):
                    self.pieces.append(before + self._leaves[kind](value))
                    return _DONE
            raise UsageFault(f"a {type(value).__name__} is not a JSON value")
        if value:
            self.pieces.append(before)
            return value
        self.pieces.append(before + self._layout.empty_container(brackets, self._level + len(self.frames)))
        return _DONE

    def begin(self, node: Any) -> None:
        """Open a container that is not empty."""
        is_object = isinstance(node, dict)
        self.frames.append((node, iter(node.items() if is_object else node)))
        depth = len(self.frames)
        self.pieces.append("{" if is_object else "[")
        if not self._one_line:
            self.pieces.append(self._layout.line(self._level + depth))
        self._first = True
        if depth == self._next_cycle_check:
            self._next_cycle_check *= 2
            if len({id(frame[0]) for frame in self.frames}) < depth:
                raise UsageFault("a value that contains itself cannot be written")

    def fill(self) -> Any:
        """Write on in the innermost container.

        Answers the container to begin, `_DONE` at the end of this one, or `_CHUNK_FULL` if it is time to flush.
        """
        node, rest = self.frames[-1]
        return self._fill_object(rest) if isinstance(node, dict) else self._fill_array(rest)

    def end(self) -> None:
        """Close the innermost container."""
        node, _ = self.frames.pop()
        if not self._one_line:
            self.pieces.append(self._layout.line(self._level + len(self.frames)))
        self.pieces.append("}" if isinstance(node, dict) else "]")
        self._first = False

    def flush(self) -> bytes:
        """The pieces so far, as bytes."""
        text = "".join(self.pieces)
        self.pieces.clear()
        try:
            return text.encode()
        except UnicodeEncodeError:
            # A surrogate can stand in strings only, hence it may be replaced in the text.
            return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()

    def _glue(self) -> tuple[str, str]:
        """What to put before the next item, and before all later ones of the innermost container."""
        glue = self._layout.item_separator
        if not self._one_line:
            glue += self._layout.line(self._level + len(self.frames))
        first, self._first = self._first, False
        return "" if first else glue, glue

    def _fill_object(self, members: Iterator[tuple[str, Any]]) -> Any:
        before, glue = self._glue()
        pieces, memo, leaves = self.pieces, self._memo, self._leaves
        for key, value in members:
            name = memo.get(key) or self._name(key)
            leaf = leaves.get(type(value))
            if leaf is not None:
                pieces.append(f"{before}{name}{leaf(value)}")
            else:
                child = self.write(value, before + name)
                if child is not _DONE:
                    return child
            before = glue
            if len(pieces) >= _PIECES_PER_CHUNK:
                return _CHUNK_FULL
        return _DONE

    def _fill_array(self, items: Iterator[Any]) -> Any:
        before, glue = self._glue()
        pieces, leaves = self.pieces, self._leaves
        for value in items:
            leaf = leaves.get(type(value))
            if leaf is not None:
                pieces.append(before + leaf(value))
            else:
                child = self.write(value, before)
                if child is not _DONE:
                    return child
            before = glue
            if len(pieces) >= _PIECES_PER_CHUNK:
                return _CHUNK_FULL
        return _DONE

    def _name(self, key: object) -> str:
        """A key with the separator behind it."""
        if not isinstance(key, str):
            raise UsageFault(f"a {type(key).__name__} cannot be a key of a JSON object")
        if len(self._memo) > _MEMO_LIMIT:
            self._memo.clear()
        name = self._escape(key) + self._layout.key_separator
        self._memo[key] = name
        return name


def _escape_of(layout: Layout) -> Callable[[str], str]:
    """The function that writes a string in quotes. Lone surrogates are left to `_Writer.flush` in raw layouts."""
    escape: Callable[[str], str] = encode_basestring_ascii if layout.escape == "ascii" else encode_basestring
    if not layout.escape_slash:
        return escape
    return lambda text: escape(text).replace("/", "\\/")


def _int_text(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # more digits than Python prints
        from decimal import Decimal

        return format(Decimal(value), "f")


def float_text(value: float) -> str:
    """A float as JSON. Raises `UsageFault` if it is not finite."""
    if value - value != 0.0:
        raise UsageFault(
            "NaN and infinite numbers cannot be written as JSON", next_step="Write null, or leave them out"
        )
    return float.__repr__(value)
