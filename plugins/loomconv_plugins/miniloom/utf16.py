"""Texts as the app counts them: one character for each UTF-16 unit (dossier §2.2).

A *unit string* is a `str` in which everything above U+FFFF stands as its two surrogates. For most texts it is the text
itself.
"""

from __future__ import annotations

import re
import sys
from typing import Final

__all__ = ["from_units", "has_lone_half", "splits_pair", "to_units"]

_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CODEC: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def to_units(text: str) -> str:
    """The text as a unit string; the very same object where no character needs two units."""
    if text.isascii() or _ASTRAL.search(text) is None:
        return text
    return "".join(map(chr, memoryview(text.encode(_CODEC, "surrogatepass")).cast("H")))


def from_units(units: str) -> str:
    """The text of a unit string; halves that stand side by side become one character."""
    if units.isascii() or _SURROGATE.search(units) is None:
        return units
    return units.encode(_CODEC, "surrogatepass").decode(_CODEC, "surrogatepass")


def has_lone_half(text: str) -> bool:
    """Whether half a character stands in the text."""
    return not text.isascii() and _SURROGATE.search(from_units(text)) is not None


def splits_pair(units: str, position: int) -> bool:
    """Whether a cut at this position of a unit string goes through a character."""
    return (
        0 < position < len(units)
        and "\ud800" <= units[position - 1] <= "\udbff"
        and "\udc00" <= units[position] <= "\udfff"
    )
