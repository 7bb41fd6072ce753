"""Where the values are that JSON pointers name: for faults that are found in a value, long after its text was read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final

from loomconv.errors import Place
from loomconv.jsontext.exact_reader import decoded
from loomconv.jsontext.grammar import BLANK
from loomconv.jsontext.places import Bytes, PlaceFinder

__all__ = ["find_pointers"]

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]', re.DOTALL)


class _Wanted:
    """A value that is asked for, or one with such a value in it, by the steps that lead on."""

    __slots__ = ("inner", "pointer")

    def __init__(self) -> None:
        self.inner: dict[str, _Wanted] = {}
        self.pointer: str | None = None


class _Frame:
    """An open container; `wanted` is None when nothing in it is asked for."""

    __slots__ = ("index", "is_object", "wanted")

    def __init__(self, wanted: _Wanted | None, is_object: bool) -> None:
        self.wanted = wanted
        self.is_object = is_object
        self.index = 0


def find_pointers(data: Bytes, pointers: Iterable[str]) -> dict[str, Place]:
    """The places at which the values begin that the RFC 6901 pointers name, by pointer; unknown ones are left out.

    Of a key that is there twice the last one counts. Never raises: in a text that is not well-formed, what stands
    behind the fault may be missing. Cost: one pass over the text at any depth, some 20 MB/s.
    """
    root = _wanted(pointers)
    source = decoded(data)
    text = source.text
    found: dict[str, int] = {}

    def begin(value: _Wanted | None, behind: int) -> _Wanted | None:
        if value is not None and value.pointer is not None:
            blank = BLANK.match(text, behind)
            found[value.pointer] = blank.end() if blank else behind
        return value

    following = begin(root, 0)
    frames: list[_Frame] = []
    key = (0, 0)
    for token in _TOKEN.finditer(text):
        kind = text[token.start()]
        if kind == '"':
            key = token.span()
        elif kind == "{" or kind == "[":
            frames.append(_Frame(following, kind == "{"))
            following = None
            if kind == "[" and frames[-1].wanted is not None:
                following = begin(frames[-1].wanted.inner.get("0"), token.end())
        elif not frames:
            break
        elif kind == "}" or kind == "]":
            frames.pop()
        elif (within := frames[-1].wanted) is not None:
            if kind == "," and not frames[-1].is_object:
                frames[-1].index += 1
                following = begin(within.inner.get(str(frames[-1].index)), token.end())
            elif kind == ":":
                following = begin(within.inner.get(_key(text, key)), token.end())
    finder = PlaceFinder(text, source.first_byte)
    return {pointer: finder.place(position) for pointer, position in sorted(found.items(), key=lambda each: each[1])}


def _wanted(pointers: Iterable[str]) -> _Wanted:
    root = _Wanted()
    for pointer in pointers:
        value = root
        for step in pointer.split("/")[1:]:
            value = value.inner.setdefault(step.replace("~1", "/").replace("~0", "~"), _Wanted())
        value.pointer = pointer
    return root


def _key(text: str, span: tuple[int, int]) -> str:
    """A key without its escapes; as it is when they are none that JSON knows."""
    start, end = span
    raw = text[start + 1 : end - 1]
    if "\\" not in raw:
        return raw
    try:
        return str(scanstring(text, start + 1)[0])
    except ValueError:
        return raw
