"""Where something is in a JSON text, and what was odd there."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Any, Final, Literal, TypeAlias

from loomconv.errors import Place

__all__ = ["BOM", "Bytes", "Oddity", "OddityKind", "PlaceFinder", "locate", "pointer_of"]

Bytes: TypeAlias = bytes | bytearray | memoryview | mmap

BOM: Final = b"\xef\xbb\xbf"

OddityKind: TypeAlias = Literal[
    "bom", "duplicate-key", "lone-surrogate", "non-finite-number", "bad-encoding", "truncated", "deep"
]

_SEGMENTS_SHOWN: Final = 32  # at each end of a pointer
_SEGMENT_LENGTH: Final = 200
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something in a JSON text that a reader must know of, though it could be read.

    | kind | place | value |
    |---|---|---|
    | `bom` | start of the file | None |
    | `duplicate-key` | the later key; the later value wins, the first position stays | the key |
    | `lone-surrogate` | the first escape of half a character in a string or key (one oddity per string) | None |
    | `non-finite-number` | the token, which was read as null | `NaN`, `Infinity` or `-Infinity` |
    | `bad-encoding` | first byte of a run that is not UTF-8, kept as U+DC80 … U+DCFF | None |
    | `truncated` | end of the text; pointer of the innermost container that was open | None |
    | `deep` | first bracket beyond 1000 levels (one oddity per text) | None |

    The first 10,000 of each kind in a text are listed, of `bad-encoding` the first 100; the last one's message says so.

    `pointer` is an RFC 6901 pointer of the value concerned ("" is the whole text). Pointers of more than 64 segments
    are cut in the middle, where the segment `…` stands, and so are segments of more than 200 characters; halves of
    characters are shown as `\\udxxx`. `message` is a sentence without any content of the file; `value` is content.
    """

    kind: OddityKind
    message: str
    place: Place
    pointer: str
    value: str | None = None


class PlaceFinder:
    """Turns positions in a decoded text into places.

    Cost: linear in the distance from the position asked for last, so that questions in the order of the text cost one
    pass in all.
    """

    def __init__(self, text: str, first_byte: int = 0) -> None:
        """`first_byte` is the byte offset of the text in its file, on the file's first line."""
        self._text = text
        self._position = 0
        self._line = 1
        self._line_start = 0
        self._byte = first_byte

    def place(self, position: int) -> Place:
        """The place of the character at `position`, which may be the length of the text."""
        text = self._text
        start, end = sorted((self._position, position))
        sign = 1 if position == end else -1
        lines = text.count("\n", start, end)
        if lines:
            self._line += sign * lines
            self._line_start = text.rfind("\n", start if sign > 0 else 0, position) + 1
        # The text was decoded with surrogateescape, so this restores the bytes of the file.
        self._byte += sign * len(text[start:end].encode("utf-8", "surrogateescape"))
        self._position = position
        return Place(self._line, position - self._line_start + 1, self._byte)


def locate(data: Bytes, byte: int) -> Place:
    """The place of a byte offset in a file: lines end with LF, a BOM has no column, offsets past the end mean the end.

    A byte that is not UTF-8 counts as one character, a byte within a character as the start of that character.
    Cost: linear in `byte`.
    """
    byte = min(max(byte, 0), len(data))
    with memoryview(data) as view:
        head = bytes(view[:byte])
    line_start = head.rfind(b"\n") + 1
    line = head[line_start:]
    if line_start == 0 and line.startswith(BOM):
        line = line[len(BOM) :]
    return Place(head.count(b"\n") + 1, _whole_characters(line) + 1, byte)


def _whole_characters(line: bytes) -> int:
    # An incomplete character at the end would be escaped byte by byte; without `final` it is left out.
    return len(codecs.utf_8_decode(line, "surrogateescape", False)[0])


def pointer_of(containers: Sequence[Any], keys: Sequence[str | None], last: str | int | None = None) -> str:
    """The JSON pointer of the innermost of the open `containers`, or of its member `last`.

    `keys[i]` is the key of `containers[i]` in the container before; None if that is an array, whose last item it is.
    Cost: bounded, whatever the depth, since long pointers are cut in the middle.
    """
    count = len(containers)
    shown: Sequence[int] = range(1, count)
    cut = count - 1 > 2 * _SEGMENTS_SHOWN
    if cut:
        shown = [*range(1, 1 + _SEGMENTS_SHOWN), *range(count - _SEGMENTS_SHOWN, count)]
    segments: list[str | int] = []
    for i in shown:
        key = keys[i]
        segments.append(len(containers[i - 1]) - 1 if key is None else key)
    if cut:
        segments.insert(_SEGMENTS_SHOWN, "…")
    if last is not None:
        segments.append(last)
    return "".join([f"/{_segment(segment)}" for segment in segments])


def _segment(key: str | int) -> str:
    if isinstance(key, int):
        return str(key)
    if len(key) > _SEGMENT_LENGTH:
        half = _SEGMENT_LENGTH // 2
        key = f"{key[:half]}…{key[-half:]}"
    escaped = key.replace("~", "~0").replace("/", "~1")
    return escaped if escaped.isascii() else _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", escaped)
