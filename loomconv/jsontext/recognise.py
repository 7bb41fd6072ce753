"""Telling the layout of a JSON text from its first and last bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final, Literal

from loomconv.jsontext.layout import Layout
from loomconv.jsontext.places import BOM

__all__ = ["recognise_layout", "settled_layout"]

_STRUCTURE_BYTES: Final = 65536
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_OPENING: Final = re.compile(rb"[{\[]([ \t\r\n]*)[^ \t\r\n}\]]")
_COMMA: Final = re.compile(rb"([ \t]*),([ \t]*)")
_COLON: Final = re.compile(rb"([ \t]*):([ \t]*)")
_EMPTY: Final = re.compile(rb"\{([ \t\r\n]*)\}|\[([ \t\r\n]*)\]")
# The escape of a character that has no need of one (any but a control character or half a character).
_NEEDLESS_ESCAPE: Final = re.compile(
    rb"\\u(?:(?!00[01]|[dD][89a-fA-F])[0-9a-fA-F]{4}|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F])"
)


def recognise_layout(head: bytes, tail: bytes) -> Layout:
    """The layout of a JSON text, told by its first bytes (64 KB are ample, all of it is best) and its last ones.

    It is a guess that the caller proves by writing: a text that no single layout describes gets the nearest one. If
    nothing in `head` shows how characters beyond ASCII are written, the style of the rest decides: as Python if it
    looks like `json.dump` (four spaces, one space, or a space behind the commas of one line), otherwise as JavaScript.
    Never raises. Cost: structure is looked for in the first 64 KB, escapes in all of `head`, at some 100 MB/s.
    """
    bom = head.startswith(BOM)
    text = head[len(BOM) :] if bom else head
    # Without the insides of strings, all that is left is structure.
    bare = _STRING.sub(b'""', text[:_STRUCTURE_BYTES])
    indent, newline = _indent_of(bare)
    ending = tail[-2:]
    if newline is None:
        newline = "\r\n" if ending == b"\r\n" else "\n"
    item_separator = _separator(_COMMA, bare, "," if indent is not None else ", " if b": " in bare else ",")
    layout: dict[str, Any] = {
        "indent": indent,
        "item_separator": item_separator,
        "key_separator": _separator(_COLON, bare, ":" if indent is None else ": "),
        "empty": _empty_of(bare) if indent is not None else "closed",
        "newline": newline,
        "final_newline": ending.endswith(b"\n"),
        "bom": bom,
        **_escapes_of(text, python=indent in (1, 4) or (indent is None and item_separator == ", ")),
    }
    return Layout(**layout)


def settled_layout(recognised: Layout, usual: Layout, head: bytes) -> Layout:
    """The recognised layout, with the usual one's habits wherever `head` shows nothing of a habit.

    A text without a slash, an empty container or a character beyond ASCII does not say how it would write one; that it
    differs from the usual layout there would be a mere guess.
    """
    habits: dict[str, Any] = {}
    if b"/" not in head:
        habits["escape_slash"] = usual.escape_slash
    if head.isascii() and b"\\u" not in head:
        habits["escape"] = usual.escape
    if _EMPTY.search(_STRING.sub(b'""', head)) is None:
        habits["empty"] = usual.empty
    return replace(recognised, **habits)


def _indent_of(bare: bytes) -> tuple[int | Literal["\t"] | None, Literal["\n", "\r\n"] | None]:
    found = _OPENING.search(bare)
    if found is None or b"\n" not in found[1]:
        return None, None
    space = found[1]
    unit = space[space.rindex(b"\n") + 1 :]
    newline: Literal["\n", "\r\n"] = "\r\n" if b"\r\n" in space else "\n"
    return ("\t" if b"\t" in unit else min(len(unit), 64)), newline


def _separator(pattern: re.Pattern[bytes], bare: bytes, default: str) -> str:
    found = pattern.search(bare)
    return found[0].decode() if found and len(found[0]) <= 64 else default


def _empty_of(bare: bytes) -> Literal["closed", "open", "blank"]:
    found = _EMPTY.search(bare)
    lines = (found[1] or found[2] or b"").count(b"\n") if found else 0
    return "closed" if lines == 0 else "open" if lines == 1 else "blank"


def _escapes_of(text: bytes, *, python: bool) -> dict[str, Any]:
    if b"\\" not in text:
        escaped, slash = False, False
    else:
        single = text.replace(b"\\\\", b"")  # so that each backslash starts an escape
        escaped = _NEEDLESS_ESCAPE.search(single) is not None
        slashes = single.count(b"\\/")
        slash = slashes > 0 and slashes == single.count(b"/")
    if not text.isascii():
        escape = "raw"
    else:
        escape = "ascii" if escaped or python else "raw"
    return {"escape": escape, "escape_slash": slash}
