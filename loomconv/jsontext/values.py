"""Numbers that remember how they were spelled, and exact comparison of numbers.

A JSON number is text. Python's `float` keeps the value of most of them, but neither the value of `1e400` nor the
spelling of `1.0E2`; and an integer of more than 4300 digits cannot become an `int` without a quadratic conversion, nor
be printed again. Such numbers are `ExactFloat`; all others are plain `int` and `float`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from loomconv.errors import UsageFault

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["NOTHING", "ExactFloat", "Nothing", "float_from_token", "int_from_token", "same_number"]

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?").fullmatch


class ExactFloat(float):
    """A float that remembers its spelling, and is written back as that spelling.

    `token` is the number as the text had it. As a float it is the nearest double (infinite for `1e400`), with the
    equality and hash of that double; use `same_number` for an exact comparison. `str` and `repr` give the token.
    Arithmetic gives plain floats. Immutable by convention; copies and pickles keep the token.
    Raises `UsageFault` for a token that is not a JSON number.
    """

    __slots__ = ("token",)
    token: str

    def __new__(cls, token: str) -> ExactFloat:
        """A number from its JSON spelling."""
        if _NUMBER(token) is None:
            raise UsageFault("the spelling of a number is not a JSON number")
        return cls._trusted(token)

    @classmethod
    def _trusted(cls, token: str) -> ExactFloat:
        self = float.__new__(cls, token)
        self.token = token
        return self

    def __repr__(self) -> str:
        return self.token

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[ExactFloat], tuple[str]]:
        return ExactFloat, (self.token,)

    def __copy__(self) -> ExactFloat:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ExactFloat:
        return self


class Nothing:
    """The class of `NOTHING`, which is what `parse_prefix` answers when there is no JSON at all (`None` is JSON)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOTHING"

    def __bool__(self) -> bool:
        return False


NOTHING: Final = Nothing()


def float_from_token(token: str) -> float:
    """The float of a JSON number that has a fraction or an exponent.

    Plain only if every writer of this package prints the token back: `repr` gives it, and it has no exponent, for which
    msgspec and Python have different spellings (`1e22` and `1e+22`).
    """
    value = float(token)
    if repr(value) == token and "e" not in token:
        return value
    return ExactFloat._trusted(token)


def int_from_token(token: str) -> int | float:
    """The integer of a JSON number without fraction and exponent.

    `-0` has no `int` of its own, and a number longer than Python's limit for conversions (4300 digits by default) has
    none that could be had in linear time or printed by `str`; both become `ExactFloat`.
    """
    if token == "-0":
        return ExactFloat._trusted(token)
    try:
        return int(token)
    except ValueError:
        return ExactFloat._trusted(token)


def same_number(a: object, b: object) -> bool:
    """Whether two JSON values are numbers of exactly the same value; False if one of them is not a number.

    Integers compare exactly at any size, floats by the decimal number that is written for them, so that 1e400 differs
    from 1e500, and 1.0E2, 100.0 and 100 are the same. Booleans are not numbers. Cost: linear in the digits.
    Numbers with an exponent of more than 18 digits are the same only if they are spelled alike.
    """
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if type(a) is float and type(b) is float:
        return a == b
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return False
    x, y = _decimal(a), _decimal(b)
    return type(x) is type(y) and x == y


def _decimal(number: int | float) -> Decimal | str:
    """The exact decimal value, or the spelling where Decimal has no room for the exponent."""
    from decimal import Decimal, InvalidOperation

    if isinstance(number, int):
        return Decimal(number)
    token = number.token if isinstance(number, ExactFloat) else float.__repr__(number)
    try:
        return Decimal(token)
    except InvalidOperation:
        return token
