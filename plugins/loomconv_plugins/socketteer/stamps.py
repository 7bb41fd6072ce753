"""Times of the app: local wall-clock without a zone, and the zone that UUIDv1 ids give away (dossier §1.5).

Offsets are minutes east of UTC. Stamps are seconds since 1970 as if the clock had shown UTC.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final

from loomconv.model.times import is_usual_time, parse_iso, to_ms

__all__ = ["Zones", "created_at", "evidence", "parse_stamp", "parse_zone", "proves_nothing", "stamp_of", "zone_text"]

# The app's form, and that of a fork (`multiloom-impl`).
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d", re.ASCII)
_FORK_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)
_UUID1: Final = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-1([0-9a-f]{3})-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.I)
_ZONE: Final = re.compile(r"([+-])(\d\d):([0-5]\d)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1)
_DAYS_BEFORE_1970: Final = date(1970, 1, 1).toordinal()
# Ticks of 100 ns from 1582-10-15, where UUIDs begin, to 1970.
_UUID_EPOCH: Final = 0x01B21DD213814000
_SECOND: Final = 10_000_000
_QUARTER: Final = 900 * _SECOND
_MOST_QUARTERS: Final = 14 * 4
# An AI node's id is made when the request starts, its stamp when the answer arrives.
_EARLIEST: Final = -2 * _SECOND
_LATEST: Final = 300 * _SECOND


def parse_stamp(text: Any) -> int | None:
    """The stamp of `YYYY-MM-DD-HH.MM.SS`, None when the text is none (or no text)."""
    return _seconds(text) if type(text) is str else None


def _seconds(text: str) -> int | None:
    if _STAMP.fullmatch(text) is None and _FORK_STAMP.fullmatch(text) is None:
        return None
    if text[11:13] == "24":  # which some versions of Python take for the next day
        return None
    try:
        since = datetime.fromisoformat(f"{text[:10]}T{text[11:13]}:{text[14:16]}:{text[17:]}") - _EPOCH
    except ValueError:
        return None
    return since.days * 86400 + since.seconds


def proves_nothing(node_id: str) -> bool:
    """Whether it is plain that `evidence` gives nothing for this id, whatever the stamp."""
    return len(node_id) != 36


@lru_cache(maxsize=1024)
def evidence(stamp: int, node_id: str) -> int | None:
    """The offset that a UUIDv1 id proves for the stamp; None when it proves none (§1.5).

    The difference, rounded to a quarter of an hour, lies within ±14 h, and what remains within −2 … +300 s.
    """
    match = _UUID1.fullmatch(node_id) if len(node_id) == 36 else None
    if match is None:
        return None
    ticks = int(match[3] + match[2] + match[1], 16) - _UUID_EPOCH
    ahead = stamp * _SECOND - ticks
    quarters = (ahead + _QUARTER // 2) // _QUARTER
    if abs(quarters) > _MOST_QUARTERS or not _EARLIEST <= ahead - quarters * _QUARTER <= _LATEST:
        return None
    return quarters * 15


def created_at(stamp: int, offset: int) -> str | None:
    """The stamp in UTC as `createdAt`; None outside the years 1 to 9999."""
    found = _clock(stamp - offset * 60)
    return None if found is None else f"{found[0]}T{found[1]:02d}:{found[2]:02d}:{found[3]:02d}Z"


def stamp_of(created: str, offset: int) -> str | None:
    """A `createdAt` in the app's form, cut to seconds; None when it is no time or outside the years 1 to 9999."""
    if offset == 0 and len(created) == 20 and parse_iso(created) is not None and is_usual_time(created):
        return f"{created[:10]}-{created[11:13]}.{created[14:16]}.{created[17:19]}"
    if len(created) == 20 and created[10] == "T" and created[19] == "Z":
        seconds = parse_stamp(f"{created[:10]} {created[11:19]}")
    else:
        milliseconds = to_ms(created)
        seconds = None if milliseconds is None else milliseconds // 1000
    found = None if seconds is None else _clock(seconds + offset * 60)
    return None if found is None else f"{found[0]}-{found[1]:02d}.{found[2]:02d}.{found[3]:02d}"


def _clock(seconds: int) -> tuple[str, int, int, int] | None:
    """Date, hour, minute and second of a moment; None outside the years 1 to 9999."""
    days, rest = divmod(seconds, 86400)
    try:
        day = date.fromordinal(days + _DAYS_BEFORE_1970).isoformat()
    except (ValueError, OverflowError):
        return None
    minutes, second = divmod(rest, 60)
    return day, minutes // 60, minutes % 60, second


def zone_text(offset: int) -> str:
    """An offset as `+HH:MM` or `-HH:MM`."""
    hours, minutes = divmod(abs(offset), 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def parse_zone(text: Any) -> int | None:
    """The offset of `+HH:MM`, `-HH:MM` or `Z`; None for anything else."""
    if text == "Z":
        return 0
    match = _ZONE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    offset = int(match[2]) * 60 + int(match[3])
    return -offset if match[1] == "-" else offset


class Zones:
    """How the stamps of one file are read: by each id's own evidence, else in the file's usual zone, if it has one."""

    __slots__ = ("counts", "stamps", "usual")

    def __init__(self, usual: int | None = None) -> None:
        # None: stamps without evidence of their own have no zone.
        self.usual = usual
        self.counts: Counter[int] = Counter()
        self.stamps = 0

    def note(self, stamp: int, node_id: str) -> None:
        """Take a node's stamp into account for `commonest`."""
        self.stamps += 1
        offset = None if proves_nothing(node_id) else evidence(stamp, node_id)
        if offset is not None:
            self.counts[offset] += 1

    def commonest(self) -> int | None:
        """The offset that most ids prove; of equal ones the one nearest to UTC, then the western one."""
        if not self.counts:
            return None
        return min(self.counts, key=lambda offset: (-self.counts[offset], abs(offset), offset))

    def created(self, stamp: int, node_id: str) -> str | None:
        """`createdAt` of a node with this stamp, None when nothing says in which zone it is."""
        offset = None if proves_nothing(node_id) else evidence(stamp, node_id)
        if offset is None:
            offset = self.usual
        return None if offset is None else created_at(stamp, offset)
