"""Rendered texts of chats: lists of messages, of which each node has those that it adds (dossier §4.5).

A chat's text is an object with its messages, printed with two blanks. A text that is no such object counts as one
message of the user. The usual child has its parent's text with messages put in before the closing brackets; that is
seen from the end of the text alone, so that long chats cost no more than their file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LoomconvError
from loomconv_plugins.miniloom.facts import ROOT, same
from loomconv_plugins.miniloom.patches import Hunk, apply_exact, make_patch
from loomconv_plugins.miniloom.utf16 import from_units, to_units

__all__ = ["ChatRopes", "Message", "messages_of", "text_of"]

Message = dict[str, Any]

_CLOSING: Final = "\n  ]\n}"
_BEFORE: Final = "\n    "
# As much of a text's end as is looked at, at least.
_TAIL: Final = 64


@dataclass(slots=True)
class _Turn:
    """What a node adds to its base's messages. `text` is its whole text where that is not the usual spelling."""

    base: str
    above: str
    added: list[Message]
    count: int
    system: list[Message]
    text: str | None
    length: int


def messages_of(text: str) -> list[Message] | None:
    """The messages of a chat's text; None for any other text."""
    if '"messages"' not in text:
        return None
    try:
        value = jsontext.decode(text.encode("utf-8", "surrogatepass"))
    except LoomconvError:
        return None
    listed = value.get("messages") if isinstance(value, dict) else None
    return listed if isinstance(listed, list) and all(isinstance(each, dict) for each in listed) else None


def text_of(messages: list[Message]) -> str:
    """The usual text of a chat, as JavaScript prints it."""
    return jsontext.dump({"messages": messages}, jsontext.TWO_SPACES).decode()


def _understood(text: str) -> list[Message]:
    listed = messages_of(text)
    if listed is not None:
        return listed
    return [{"role": "user", "content": text.strip()}] if text.strip() else []


def _leading(messages: list[Message]) -> int:
    """How many system messages stand first."""
    return next((n for n, each in enumerate(messages) if each.get("role") != "system"), len(messages))


def _spelled(message: Message) -> str:
    return b"".join(jsontext.iter_exact(message, jsontext.TWO_SPACES, 2)).decode()


class ChatRopes:
    """The chats of all nodes seen so far; parents come before children. Texts that go in and out are unit strings."""

    def __init__(self, leading: int | None = None) -> None:
        # How many system messages at the start are the prompt, where that is known; else all of them.
        self._leading = leading
        self._turns: dict[str, _Turn] = {ROOT: _Turn(ROOT, ROOT, [], 0, [], "", 0)}
        self._last = (ROOT, "")

    def __contains__(self, key: str) -> bool:
        return key in self._turns

    def base(self, key: str) -> str:
        """The node whose messages this one's continue."""
        return self._turns[key].base

    def added(self, key: str) -> list[Message]:
        """The messages that the node adds."""
        return self._turns[key].added

    def system(self, key: str) -> list[Message]:
        """The system messages that the node's chat begins with."""
        return self._turns[key].system

    def is_plain(self, key: str) -> bool:
        """Whether the node's text is no chat object."""
        return self._turns[key].text is not None and messages_of(from_units(self.text(key))) is None

    def messages(self, key: str) -> list[Message]:
        """All messages of the node's chat but the leading system ones."""
        pieces: list[list[Message]] = []
        while key != ROOT:
            pieces.append(self._turns[key].added)
            key = self._turns[key].base
        return [message for piece in reversed(pieces) for message in piece]

    def text(self, key: str) -> str:
        """The node's whole text. Costs its length."""
        turn = self._turns[key]
        if turn.text is not None:
            return turn.text
        if self._last[0] != key:
            self._last = (key, to_units(text_of([*turn.system, *self.messages(key)])))
        return self._last[1]

    def after(self, above: str, hunks: list[Hunk]) -> str | None:
        """The text that a patch makes of a node's; None where it does not fit exactly."""
        return apply_exact(hunks, self.text(above))

    def put_text(self, key: str, above: str, text: str) -> None:
        """Say what a node's whole text is, given its parent in the file."""
        listed = _understood(from_units(text))
        cut = _leading(listed) if self._leading is None else min(self._leading, _leading(listed))
        system, rest = listed[:cut], listed[cut:]
        base, count = self._base_of(above, rest)
        usual = messages_of(from_units(text)) is not None and text == to_units(text_of(listed))
        self._turns[key] = _Turn(
            base, above, rest[count:], len(rest), system, None if usual else text, len(text) if usual else 0
        )

    def _base_of(self, above: str, messages: list[Message]) -> tuple[str, int]:
        """The deepest ancestor in the file whose messages are the first of these, and how many those are."""
        at = above
        while at != ROOT:
            known = self.messages(at)
            if len(known) <= len(messages) and all(map(same, known, messages)):
                return at, len(known)
            at = self._turns[at].above
        return ROOT, 0

    # -- the usual step ----------------------------------------------------------------------------------------

    def put_appended(self, key: str, above: str, hunks: list[Hunk]) -> bool:
        """Say by its patch what a node is that only adds messages to a usual chat; whether it is such a node."""
        turn = self._turns[above]
        if turn.text is not None or len(hunks) != 1 or not turn.count:
            return False
        hunk = hunks[0]
        before = hunk.before
        if hunk.start2 + len(before) != turn.length or [op for op, _ in hunk.diffs] not in ([0, 1, 0], [0, 1]):
            return False
        tail = self._tail(above, max(len(before), _TAIL))
        shifted = Hunk(hunk.diffs, 0, len(tail) - len(before), hunk.length1, hunk.length2)
        child = apply_exact([shifted], tail)
        common = len(tail) - len(_CLOSING)
        if child is None or child[:common] != tail[:common] or not child.endswith(_CLOSING):
            return False
        added = _listed(child[common : len(child) - len(_CLOSING)])
        if not added:
            return False
        self.put_messages(key, above, above, added, turn.system, turn.length + len(child) - len(tail))
        return True

    def put_messages(
        self, key: str, above: str, base: str, added: list[Message], system: list[Message], length: int | None = None
    ) -> None:
        """Say what messages a node of usual text adds to its base."""
        turn = _Turn(base, above, added, self._turns[base].count + len(added), system, None, length or 0)
        self._turns[key] = turn
        if length is None:
            below = self._turns[base]
            if below.text is None and below.count and same(below.system, system):
                turn.length = below.length + sum(len(to_units("," + _BEFORE + _spelled(each))) for each in added)
            else:
                turn.length = len(self.text(key))

    def patch(self, key: str, above: str) -> list[dict[str, Any]]:
        """A patch from one node's text to another's, from their ends alone where that will do."""
        turn, parent = self._turns[key], self._turns[above]
        usual = turn.text is None and parent.text is None and turn.base == above and parent.count
        if not usual or not same(turn.system, parent.system) or not turn.added:
            return make_patch(self.text(above), self.text(key))
        tail = self._tail(above, _TAIL)
        more = "".join(to_units("," + _BEFORE + _spelled(each)) for each in turn.added)
        patch = make_patch(tail, tail[: -len(_CLOSING)] + more + _CLOSING)
        for hunk in patch:
            hunk["start1"] += parent.length - len(tail)
            hunk["start2"] += parent.length - len(tail)
        return patch

    def _tail(self, key: str, units: int) -> str:
        """At least so many of the last units of a usual chat, or all."""
        pieces, found = [_CLOSING], len(_CLOSING)
        at = key
        while at != ROOT:
            for message in reversed(self._turns[at].added):
                pieces.append(to_units(_BEFORE + _spelled(message)))
                found += len(pieces[-1])
                if found >= units:
                    return ",".join(reversed(pieces[1:])) + _CLOSING
            at = self._turns[at].base
        return self.text(key)


def _listed(text: str) -> list[Message] | None:
    """The messages in a piece of text that stands behind another message; None unless it is the usual spelling."""
    if not text.startswith("," + _BEFORE + "{"):
        return None
    try:
        value = jsontext.decode(f"[{from_units(text[1:])}]".encode("utf-8", "surrogatepass"))
    except LoomconvError:
        return None
    if not isinstance(value, list) or not all(isinstance(each, dict) and "role" in each for each in value):
        return None
    return value if text == to_units("".join("," + _BEFORE + _spelled(each) for each in value)) else None
