"""Single JSON tokens, read or found wrong with a reason: where the patterns for ordinary members do not match."""

from __future__ import annotations

from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final

from loomconv.jsontext.grammar import BLANK, LITERALS, NUMBER, NUMBER_CUT, STRING_BODY, STRING_CUT
from loomconv.jsontext.values import float_from_token, int_from_token

__all__ = ["Fault", "next_token", "read_number", "read_string", "read_word"]

_WORDS: Final = (*LITERALS, "NaN", "Infinity", "-Infinity")


class Fault(Exception):
    """The reader cannot go on: why, and at which character. `at_end` if all was well as far as the text goes.

    `partial` is what there was of a string value that the end of the text cuts.
    """

    def __init__(
        self, message: str, position: int, *, at_end: bool = False, over_limit: bool = False, partial: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.at_end = at_end
        self.over_limit = over_limit
        self.partial = partial


def next_token(text: str, position: int) -> int:
    """The position of the next character that is not white space. Raises `Fault` at the end of the text."""
    blank = BLANK.match(text, position)
    end = blank.end() if blank else position
    if end < len(text):
        return end
    if position == 0:
        raise Fault("the text holds no JSON value", end)
    raise Fault("the text ends in the middle of a value", end, at_end=True)


def read_string(text: str, start: int) -> tuple[str, int]:
    """The string whose opening quote stands before `start`, and the position behind its closing quote."""
    try:
        string, end = scanstring(text, start)
    except JSONDecodeError:
        raise _string_fault(text, start) from None
    return string, end


def _string_fault(text: str, start: int) -> Fault:
    body = STRING_BODY.match(text, start)
    end = body.end() if body else start
    if STRING_CUT.match(text, end):
        partial = scanstring(f'{text[start:end]}"', 0)[0]
        if "\ud800" <= partial[-1:] <= "\udbff":  # the first half of a character whose second half is cut off
            partial = partial[:-1]
        return Fault("the text ends in the middle of a string", len(text), at_end=True, partial=partial)
    if text[end] == "\\":
        return Fault("a string holds a backslash that starts no JSON escape", end)
    return Fault("a string holds a control character that is not escaped", end)


def read_number(text: str, position: int, *, nested: bool) -> tuple[int | float, int]:
    """The number at `position` and the position behind it.

    A number that reaches the end of the text within a container (`nested`) counts as cut.
    """
    found = NUMBER.match(text, position)
    end = found.end() if found else position
    cut = NUMBER_CUT.match(text, end)
    if cut and (nested or found is None or cut.end() > end):
        raise Fault("the text ends in the middle of a number", len(text), at_end=True)
    if found is None or text[end : end + 1] in (".", "e", "E"):
        raise Fault("a number is not spelled as JSON demands", position)
    if "0" <= text[end : end + 1] <= "9":
        raise Fault("a number starts with a superfluous zero", position)
    token = found[0]
    plain = token.isdigit() or (token[0] == "-" and token[1:].isdigit())
    return int_from_token(token) if plain else float_from_token(token), end


def read_word(text: str, position: int) -> tuple[str, int]:
    """The literal or non-finite number at `position` and the position behind it."""
    for word in _WORDS:
        if text.startswith(word, position):
            return word, position + len(word)
    if len(text) - position < len("-Infinity"):
        rest = text[position:]
        if any(word.startswith(rest) for word in _WORDS):
            raise Fault("the text ends in the middle of a value", len(text), at_end=True)
    raise Fault("a JSON value should stand here", position)
