"""Dates: seconds since 2001-01-01T00:00:00Z as the app writes them, and what else has been found in their place.

Openloom-1 dossier §2 and OL1-date-*. All arithmetic is on whole numbers taken from the decimal spelling, so that
`755732640.36` is …00.360Z and never …00.359Z.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NamedTuple

from loomconv.jsontext import ExactFloat
from loomconv.model.times import EPOCH_2001, format_ms, looks_like_time, to_ms

__all__ = [
    "LATEST_REFERENCE_SECOND",
    "ReadTime",
    "app_number",
    "from_iso",
    "from_own_iso",
    "plain_ms",
    "read_time",
    "reference_ms",
    "sort_time",
    "to_iso",
]

_OFFSET_MS = EPOCH_2001 * 1000
_START_2001 = date(2001, 1, 1)
_DAY = 86_400_000
_TWO_DIGITS = tuple(f"{number:02}" for number in range(60))
_NUMBERS = {digits: number for number, digits in enumerate(_TWO_DIGITS)}
# How a time ends, by its milliseconds.
_ENDINGS = ("Z", *(f".{number:03}Z" for number in range(1, 1000)))
_MILLISECONDS = {ending: number for number, ending in enumerate(_ENDINGS)}

# The app is of 2024: a number that means 2050 or later as seconds since 2001 is Unix time of 2019 or later. The bound
# is fixed, since no output may depend on the clock of the machine (OL1-date-plausible).
LATEST_REFERENCE_SECOND = 1_546_300_800
_UNIX_2100 = 4_102_444_800
_UNIX_MS_FROM = 100_000_000_000
# Nothing beyond this is a time in any unit.
_ABSURD = 1e16


class ReadTime(NamedTuple):
    """A time of the file: as ISO text (None when it is none), and the finding that it gives, if any."""

    iso: str | None
    code: str | None = None
    message: str = ""


def reference_ms(number: float) -> int | None:
    """A number of seconds in whole milliseconds, cut towards the past; None when it is beyond all measure.

    Exact by the decimal spelling, for floats, integers of any size and `ExactFloat` alike. Linear in the digits.
    """
    if not -_ABSURD < number < _ABSURD:
        return None
    if isinstance(number, int):
        return number * 1000
    token = number.token if isinstance(number, ExactFloat) else repr(number)
    try:
        sign, digits, exponent = Decimal(token).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int):
        return None
    shift = exponent + 3
    if shift >= 0:
        whole, rest = (int("".join(map(str, digits))) * 10**shift if any(digits) else 0), False
    else:
        whole = int("".join(map(str, digits[:shift])) or "0")
        rest = any(digits[shift:])
    return -whole - rest if sign else whole


def plain_ms(number: float) -> int | None:
    """The same for a number that is plainly seconds since 2001; None sends the caller to the general way.

    Covers what the app writes: from 2001 to the latest plausible second, at most six decimals.
    """
    if not 0 <= number <= LATEST_REFERENCE_SECOND:
        return None
    if type(number) is not float:
        return number * 1000 if type(number) is int else None
    micro = int(number * 1e6 + 0.5)
    # Doubles below 2**33 lie closer together than a microsecond: equality means that these are all the decimals.
    return micro // 1000 if micro / 1e6 == number else None


def app_number(milliseconds: int) -> int | float:
    """Milliseconds since 2001 as the number of seconds that the app would write: no decimals that say nothing."""
    return milliseconds / 1000 if milliseconds % 1000 else milliseconds // 1000


def to_iso(milliseconds: int) -> str | None:
    """Milliseconds since 2001 as `model.times.format_ms` spells them; None outside the years 1 to 9999."""
    day, rest = divmod(milliseconds, _DAY)
    start = _date_of(day)
    if start is None:
        return None
    seconds, fraction = divmod(rest, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{start}T{_TWO_DIGITS[hours]}:{_TWO_DIGITS[minutes]}:{_TWO_DIGITS[seconds]}{_ENDINGS[fraction]}"


@lru_cache(maxsize=1024)
def _date_of(day: int) -> str | None:
    try:
        return (_START_2001 + timedelta(days=day)).isoformat()
    except OverflowError:
        return None


def from_own_iso(text: str) -> int | None:
    """Milliseconds since 2001 of a text that `to_iso` gives; None for any other spelling."""
    ending = text[19:]
    try:
        fraction = _MILLISECONDS[ending]
        hours, minutes, seconds = _NUMBERS[text[11:13]], _NUMBERS[text[14:16]], _NUMBERS[text[17:19]]
    except KeyError:
        return None
    start = _start_of(text[:10])
    if start is None or text[10] != "T" or text[13] != ":" or text[16] != ":" or hours > 23:
        return None
    return start + hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + fraction


@lru_cache(maxsize=1024)
def _start_of(text: str) -> int | None:
    """Milliseconds from 2001 to the start of a day."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return (day - _START_2001).days * _DAY if day.isoformat() == text else None


def from_iso(text: str) -> int | None:
    """Milliseconds since 2001 of an ISO text with a zone, cut; None when it is no time."""
    milliseconds = to_ms(text)
    return None if milliseconds is None else milliseconds - _OFFSET_MS


def read_time(raw: Any, zone: str | None = None) -> ReadTime:
    """What a date of the file means (OL1-date-number, OL1-date-plausible, OL1-date-string).

    `zone` is the zone that the user states for texts without one. None (and a missing key) is no date, without a word.
    """
    if raw is None:
        return ReadTime(None)
    if isinstance(raw, str):
        return _read_text(raw, zone)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return ReadTime(None, "read.bad-time", "A date is neither a number nor a text; it was left out.")
    return _read_number(raw)


def _read_number(raw: float) -> ReadTime:
    plain = plain_ms(raw)
    if plain is not None:
        return ReadTime(to_iso(plain))
    milliseconds = reference_ms(raw)
    if milliseconds is not None:
        if milliseconds <= LATEST_REFERENCE_SECOND * 1000:
            iso = to_iso(milliseconds)
            if iso is not None:
                return ReadTime(iso)
        elif milliseconds < _UNIX_2100 * 1000:
            message = "A date is plausible only as seconds since 1970; it was read as such."
            return ReadTime(format_ms(milliseconds), "read.time-unit", message)
        elif _UNIX_MS_FROM <= raw < _UNIX_2100 * 1000:
            message = "A date is plausible only as milliseconds since 1970; it was read as such."
            return ReadTime(format_ms(milliseconds // 1000), "read.time-unit", message)
    return ReadTime(None, "read.bad-time", "A date lies outside of all plausible times; it was left out.")


def _read_text(raw: str, zone: str | None) -> ReadTime:
    milliseconds = to_ms(raw)
    if milliseconds is not None:
        return ReadTime(format_ms(milliseconds))
    if not looks_like_time(raw):
        return ReadTime(None, "read.bad-time", "A date cannot be understood; it was left out.")
    if zone is None:
        return ReadTime(None, "read.time-without-zone", "A date has no zone; it was left out.")
    milliseconds = to_ms(raw + zone)
    return ReadTime(None if milliseconds is None else format_ms(milliseconds))


def sort_time(raw: Any, zone: str | None) -> float | None:
    """A date of the file in seconds since 2001, for sorting; None when it is none."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return float(raw) if -_ABSURD < raw < _ABSURD else None
    iso = read_time(raw, zone).iso
    milliseconds = None if iso is None else from_iso(iso)
    return None if milliseconds is None else milliseconds / 1000
