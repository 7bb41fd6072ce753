"""The JSON grammar of RFC 8259 as compiled patterns: what the readers match at a position, and nothing else.

Repeats are possessive, so that a match that fails costs no more than one that succeeds. `\\d` and `\\s` would match
digits and spaces of all scripts, hence the explicit sets.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["AFTER", "BLANK", "ELEMENT", "LITERALS", "MEMBER", "NUMBER", "NUMBER_CUT", "STRING_BODY", "STRING_CUT"]

_SPACE = r"[ \t\n\r]*+"
# Surrogates are left out, so that a string with one is not ordinary and gets a closer look.
_PLAIN = '[^"\\\\\x00-\x1f\ud800-\udfff]'
_INTEGER = r"-?(?:0|[1-9][0-9]*+)"
_FLOAT = rf"{_INTEGER}(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"


def _value_and(separator: str) -> str:
    """A pattern for a value with the separator behind it; for two kinds of value, only its start.

    Groups: 1 short string, 2 empty container, 3 opening bracket, 4 integer, 5 literal, 6 float, 7 opening quote of any
    other string (from about 40 characters on the C scanner is faster than a pattern). No match means: look closer.
    """
    end = rf"{_SPACE}{separator}"
    return (
        rf'(?:"({_PLAIN}{{0,40}}+)"{end}|(\{{{_SPACE}\}}|\[{_SPACE}\]){end}|([\[{{])|({_INTEGER}){end}'
        rf'|(true|false|null){end}|({_FLOAT}){end}|("))'
    )


BLANK: Final = re.compile(_SPACE)
ELEMENT: Final = re.compile(_SPACE + _value_and(r"[,\]]"))
# The key is group 1 here, so that the groups of the value are one higher.
MEMBER: Final = re.compile(rf'{_SPACE}"({_PLAIN}*+)"{_SPACE}:{_SPACE}{_value_and("[,}]")}')
AFTER: Final = re.compile(rf"{_SPACE}([,\]}}])")

NUMBER: Final = re.compile(_FLOAT)
NUMBER_CUT: Final = re.compile(r"-?\Z|(?:\.|[eE][+-]?)\Z")
# A string from behind its opening quote, as far as it is well-formed; what is left of an escape at the end of a text.
STRING_BODY: Final = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
STRING_CUT: Final = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")

LITERALS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
