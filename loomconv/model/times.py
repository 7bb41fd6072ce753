"""Times: ISO-8601 with a zone in, UTC with at most milliseconds out; a time without a zone is never guessed (A12)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = [
    "EPOCH_2001",
    "format_ms",
    "has_zone",
    "is_usual_time",
    "looks_like_time",
    "ms_of",
    "parse_iso",
    "to_ms",
    "utc",
]

# Seconds from 1970-01-01 to 2001-01-01, the reference date of Swift (openloom-1 dossier §2).
EPOCH_2001 = 978_307_200

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)

# The spelling that is written, and read without further ado.
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z", re.ASCII)


def parse_iso(text: str) -> tuple[datetime, bool] | None:
    """The moment (UTC, microseconds) and whether digits finer than milliseconds were there.

    None when the text is no date and time with a zone. Accepts any offset, lower-case `t` and `z`, a space for `T`.
    """
    if _USUAL.fullmatch(text) is not None:
        try:
            return datetime.fromisoformat(text), False
        except ValueError:
            return None
    match = _ISO.fullmatch(text)
    if match is None or match[8] is None:
        return None
    fraction = (match[7] or "").ljust(6, "0")
    try:
        year, month, day, hour, minute = (int(match[group]) for group in range(1, 6))
        moment = datetime(year, month, day, hour, minute, int(match[6] or 0), int(fraction[:6]))
    except ValueError:
        return None
    try:
        moment = (moment - _offset(match[8])).replace(tzinfo=UTC)
    except OverflowError:
        return None
    return moment, bool((match[7] or "")[3:].strip("0"))


def _offset(zone: str) -> timedelta:
    if zone in "Zz":
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return offset if zone[0] == "+" else -offset


def has_zone(text: str) -> bool:
    """Whether the text is a date and time, but for a missing zone complete, that *has* its zone."""
    match = _ISO.fullmatch(text)
    return match is not None and match[8] is not None


def to_ms(text: str) -> int | None:
    """Milliseconds since 1970 of an ISO time with a zone, cut (not rounded); None when it is none."""
    parsed = parse_iso(text)
    return None if parsed is None else ms_of(parsed[0])


def ms_of(moment: datetime) -> int:
    """Whole milliseconds from 1970 to a moment."""
    return (moment - _EPOCH) // _MILLISECOND


def is_usual_time(text: str) -> bool:
    """Whether the text has the shape of a time as it is written here, or that with `.000`; its date may be none."""
    return _USUAL.fullmatch(text) is not None


def format_ms(milliseconds: int) -> str | None:
    """`YYYY-MM-DDTHH:MM:SS[.mmm]Z`, without the fraction when it is zero; None outside the years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    rest = milliseconds % 1000
    return moment.isoformat(timespec="milliseconds" if rest else "seconds")[:-6] + "Z"


def utc(text: str, zone: str | None = None) -> str | None:
    """An ISO time as OpenLoom spells it: in UTC, with at most milliseconds (finer digits are cut).

    `zone` (`+HH:MM`) is that of a time which has none. None when the text is no time, or nobody knows its zone.
    """
    milliseconds = to_ms(text)
    if milliseconds is None and zone is not None and not has_zone(text):
        milliseconds = to_ms(text + zone)
    return None if milliseconds is None else format_ms(milliseconds)


def looks_like_time(text: str) -> bool:
    """Whether the text is a valid date and time, with or without a zone."""
    return parse_iso(text) is not None or parse_iso(text + "Z") is not None
