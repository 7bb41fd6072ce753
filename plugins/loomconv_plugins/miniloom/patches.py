"""Patches of diff-match-patch: read, applied exactly, and made (dossier §2).

All texts are unit strings (see `utf16`), and so are the texts in hunks. A hunk's place is counted in the text that the
earlier hunks have made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from loomconv_plugins.miniloom.utf16 import from_units, splits_pair, to_units

__all__ = ["Hunk", "append_patch", "apply_exact", "common_prefix", "inserted_text", "make_patch", "parse_patch"]

DELETE: Final = -1
KEEP: Final = 0
INSERT: Final = 1

# The library pads the text with so many units on each side; a hunk with less context hangs on the text's edge.
_MARGIN: Final = 4


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: pairs of operation and text, and where they go; lengths as stated, which the library does not check."""

    diffs: tuple[tuple[int, str], ...]
    start1: int
    start2: int
    length1: int
    length2: int

    @property
    def before(self) -> str:
        """The text that the hunk stands on."""
        return "".join(text for operation, text in self.diffs if operation != INSERT)

    @property
    def after(self) -> str:
        """The text that it leaves."""
        return "".join(text for operation, text in self.diffs if operation != DELETE)


def parse_patch(raw: Any) -> list[Hunk] | None:
    """The hunks of a stored patch; None for what the app cannot load (dossier §3).

    `""` and `[]` are no hunks. A diff may be an object with the keys "0" and "1"; unknown keys of a hunk are passed
    over, and hunks without diffs change nothing.
    """
    if raw == "" and isinstance(raw, str):
        return []
    if not isinstance(raw, list):
        return None
    hunks = []
    for each in raw:
        hunk = _parse_hunk(each)
        if hunk is None:
            return None
        if hunk.diffs:
            hunks.append(hunk)
    return hunks


def _parse_hunk(raw: Any) -> Hunk | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("diffs"), list):
        return None
    numbers = [raw.get(name) for name in ("start1", "start2", "length1", "length2")]
    if not all(_is_count(number) for number in numbers):
        return None
    diffs = []
    for diff in raw["diffs"]:
        if isinstance(diff, dict):
            diff = [diff.get("0"), diff.get("1")]
        if not isinstance(diff, list) or len(diff) != 2:
            return None
        operation, text = diff
        if isinstance(operation, bool) or operation not in (DELETE, KEEP, INSERT) or not isinstance(text, str):
            return None
        diffs.append((int(operation), to_units(text)))
    return Hunk(tuple(diffs), *(int(number) for number in numbers))  # type: ignore[arg-type]


def _is_count(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and number >= 0 and number == number // 1


def apply_exact(hunks: list[Hunk], text: str) -> str | None:
    """The text after the hunks, each exactly at its place; None as soon as one does not fit there.

    A hunk with little context at an outer side must stand at the text's edge: by padding the library sees to the same
    (dossier §2.3), so that what fits here is what the app makes of it.
    """
    if hunks and not _is_anchored_at_start(hunks[0]):
        return None
    for position, hunk in enumerate(hunks):
        before, start = hunk.before, hunk.start2
        end = start + len(before)
        if text[start:end] != before or start > len(text):
            return None
        if position == len(hunks) - 1 and _context(hunk.diffs[-1]) < _MARGIN and end != len(text):
            return None
        text = text[:start] + hunk.after + text[end:]
    return text


def _context(diff: tuple[int, str]) -> int:
    operation, text = diff
    return len(text) if operation == KEEP else 0


def _is_anchored_at_start(hunk: Hunk) -> bool:
    return hunk.start2 == 0 or _context(hunk.diffs[0]) >= _MARGIN


def inserted_text(hunks: list[Hunk], tail: str, length: int) -> str | None:
    """What a patch appends to a text of which only the length and the last units (`tail`) are known.

    None when it is no pure append, when it does not fit, or when its context is longer than the tail.
    """
    if not hunks:
        return ""
    if len(hunks) > 1:
        return None
    hunk = hunks[0]
    operations = [operation for operation, _ in hunk.diffs]
    if operations not in ([INSERT], [KEEP, INSERT]):
        return None
    context = hunk.before
    fits = hunk.start2 + len(context) == length and tail.endswith(context) and _is_anchored_at_start(hunk)
    return hunk.diffs[-1][1] if fits and len(context) <= len(tail) else None


def make_patch(parent: str, child: str) -> list[dict[str, Any]]:
    """A patch that the app applies exactly: one hunk cut between characters, or none for equal texts (dossier §2.4)."""
    if parent == child:
        return []
    start = common_prefix(parent, child)
    if splits_pair(parent, start) or splits_pair(child, start):
        start -= 1
    behind = _common_suffix(parent, child, min(len(parent), len(child)) - start)
    if splits_pair(parent, len(parent) - behind) or splits_pair(child, len(child) - behind):
        behind -= 1
    end = len(parent) - behind
    first, last = max(0, start - _MARGIN), min(len(parent), end + _MARGIN)
    first -= splits_pair(parent, first)
    last += splits_pair(parent, last)
    diffs = [
        (KEEP, parent[first:start]),
        (DELETE, parent[start:end]),
        (INSERT, child[start : len(child) - behind]),
        (KEEP, parent[end:last]),
    ]
    return [_raw_hunk(first, diffs)]


def append_patch(tail: str, length: int, inserted: str) -> list[dict[str, Any]]:
    """The same as `make_patch` for a text that only grows, from its length and its last units (five, or all)."""
    if not inserted:
        return []
    first = max(0, len(tail) - _MARGIN)
    first -= splits_pair(tail, first)
    start = len(tail)
    if splits_pair(tail + inserted[:1], start):
        # The text ended in half a character, and the other half comes now.
        start -= 1
        first = max(0, start - _MARGIN)
        first -= splits_pair(tail, first)
        diffs = [(KEEP, tail[first:start]), (DELETE, tail[start:]), (INSERT, tail[start:] + inserted)]
    else:
        diffs = [(KEEP, tail[first:]), (INSERT, inserted)]
    return [_raw_hunk(length - len(tail) + first, diffs)]


def _raw_hunk(start: int, diffs: list[tuple[int, str]]) -> dict[str, Any]:
    kept = [(operation, text) for operation, text in diffs if text]
    return {
        "diffs": [[operation, from_units(text)] for operation, text in kept],
        "start1": start,
        "start2": start,
        "length1": sum(len(text) for operation, text in kept if operation != INSERT),
        "length2": sum(len(text) for operation, text in kept if operation != DELETE),
    }


def common_prefix(left: str, right: str) -> int:
    """How many units two texts have in common at their start; by halves, so that long texts cost little."""
    high = min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(left: str, right: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        ends = [text[len(text) - middle : len(text) - low] for text in (left, right)]
        if ends[0] == ends[1]:
            low = middle
        else:
            high = middle - 1
    return low
