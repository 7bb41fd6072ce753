"""Rendered texts of running prose, without holding them: each node has the piece that it adds to an earlier text.

The node whose text a piece continues is its *base*: the parent in the file where the node only appends, otherwise the
deepest ancestor whose text is the beginning of its own (dossier §4.3, B2). A whole text is put together when an edit
asks for it. All texts are unit strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loomconv_plugins.miniloom.patches import Hunk, apply_exact, common_prefix, inserted_text

__all__ = ["ROOT", "TextRopes"]

ROOT: Final = "1"

# As much of a text's end as is looked at at least.
_TAIL: Final = 8


@dataclass(slots=True)
class _Piece:
    """What one node adds to its base.

    `above` is its parent in the file; `level` and `jump` are of the chain of bases, `jump` leading far up it. `top` is
    where the run of appends begins that the node is in: the root, or an edit, which has `common` units of its text from
    its parent's.
    """

    text: str
    base: str
    above: str
    length: int
    level: int
    jump: str
    top: str
    common: int = 0


class TextRopes:
    """The texts of all nodes seen so far; parents come before children."""

    def __init__(self) -> None:
        self._pieces: dict[str, _Piece] = {ROOT: _Piece("", ROOT, ROOT, 0, 0, ROOT, ROOT)}
        # The text that was put together last: siblings that are edits ask for the same one.
        self._last = (ROOT, "")

    def length(self, key: str) -> int:
        """Length of the node's text in units."""
        return self._pieces[key].length

    def __contains__(self, key: str) -> bool:
        return key in self._pieces

    def base(self, key: str) -> str:
        """The node whose text this one's continues; the root's is the root."""
        return self._pieces[key].base

    def piece(self, key: str) -> str:
        """What the node adds to its base's text."""
        return self._pieces[key].text

    def tail(self, key: str, units: int = _TAIL) -> str:
        """The last units of the node's text, at least so many, or all of it."""
        pieces: list[str] = []
        found = 0
        while found < units and key != ROOT:
            piece = self._pieces[key]
            pieces.append(piece.text)
            found += len(piece.text)
            key = piece.base
        return "".join(reversed(pieces))

    def text(self, key: str) -> str:
        """The node's whole text. Costs its length."""
        if self._last[0] == key:
            return self._last[1]
        pieces: list[str] = []
        at = key
        while at != ROOT:
            pieces.append(self._pieces[at].text)
            at = self._pieces[at].base
        self._last = (key, "".join(reversed(pieces)))
        return self._last[1]

    def after(self, above: str, hunks: list[Hunk]) -> str | None:
        """The text that a patch makes of a node's, put together; None where it does not fit exactly."""
        return apply_exact(hunks, self.text(above))

    def appended(self, above: str, hunks: list[Hunk]) -> str | None:
        """What a patch only appends to a node's text, found without putting that together; None for all else."""
        return inserted_text(hunks, self.tail(above, _context_of(hunks)), self.length(above))

    def put(self, key: str, above: str, base: str, text: str, common: int = 0) -> None:
        """Say what a node adds to its base."""
        below = self._pieces[base]
        far = self._pieces[below.jump]
        # Skew-binary jumps: a way up of any length takes logarithmically many steps.
        jump = far.jump if below.level - far.level == far.level - self._pieces[far.jump].level else base
        top = below.top if above == base else key
        self._pieces[key] = _Piece(text, base, above, below.length + len(text), below.level + 1, jump, top, common)

    def put_text(self, key: str, above: str, text: str) -> None:
        """Say what a node's whole text is, given its parent in the file."""
        parent = self.text(above)
        if text.startswith(parent):
            self.put(key, above, above, text[len(parent) :])
            return
        common = common_prefix(parent, text)
        base = self._graft_base(above, common, text)
        self.put(key, above, base, text[self.length(base) :], common)

    def _graft_base(self, above: str, common: int, text: str) -> str:
        """The deepest ancestor in the file whose text is the beginning of the given one.

        `common` units are what the text has in common with that of `above`. Along a run of appends the ancestors' texts
        are beginnings of one another, so that lengths tell. Beyond an edit it is known what its text had in common with
        its parent's, and only where that is as much as the given text has is the parent's text looked at.
        """
        at = above
        while True:
            found = self._shortened(at, common)
            top = self._pieces[at].top
            edit = self._pieces[top]
            if top == ROOT or self._pieces[found].level >= edit.level:
                return found
            known = min(common, edit.length)
            common = min(known, edit.common)
            if known == edit.common:
                common = common_prefix(self.text(edit.above), text)
            at = edit.above

    def _shortened(self, key: str, most: int) -> str:
        """The nearest node on the chain of bases, from the given one up, whose text has at most so many units."""
        while self._pieces[key].length > most:
            piece = self._pieces[key]
            key = piece.jump if self._pieces[piece.jump].length > most else piece.base
        return key


def _context_of(hunks: list[Hunk]) -> int:
    return max(_TAIL, *(len(text) for hunk in hunks[:1] for operation, text in hunk.diffs if operation == 0), 0)
