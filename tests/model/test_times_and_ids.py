"""Times are never guessed, ids never random."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.model import mint_ulid
from loomconv.model.times import EPOCH_2001, format_ms, has_zone, looks_like_time, parse_iso, to_ms


@pytest.mark.parametrize(
    "text, written",
    [
        ("2026-07-08T21:14:00Z", "2026-07-08T21:14:00Z"),
        ("2026-07-08T21:14:00.123Z", "2026-07-08T21:14:00.123Z"),
        ("2026-07-08t21:14:00z", "2026-07-08T21:14:00Z"),
        ("2026-07-08 21:14:00 +0000", "2026-07-08T21:14:00Z"),
        ("2026-07-08T23:14:00+02:00", "2026-07-08T21:14:00Z"),
        ("2026-07-08T21:14:00-00:30", "2026-07-08T21:44:00Z"),
        ("2026-07-08T21:14Z", "2026-07-08T21:14:00Z"),
        ("2026-07-08T21:14:00,5+02", "2026-07-08T19:14:00.500Z"),
        ("2026-07-08T21:14:00.123999Z", "2026-07-08T21:14:00.123Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_written_in_utc_and_cut_a12(text: str, written: str) -> None:
    """OL2-3.2-time, A12: any offset in, Z out; finer than milliseconds is cut, not rounded."""
    milliseconds = to_ms(text)
    assert milliseconds is not None
    assert format_ms(milliseconds) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-07-08",
        "2026-07-08T21:14:00",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "20260708T211400Z",
        "2026-07-08T21:14:00Z ",
        "٢٠٢٦-07-08T21:14:00Z",
        "0001-01-01T00:00:00+01:00",
        "2026-07-08T21:14:00 CET",
    ],
)
def test_what_is_no_moment_is_none(text: str) -> None:
    """OL2-8.4-badtime, A12: date only, no zone, a day that does not exist."""
    assert parse_iso(text) is None
    assert to_ms(text) is None


def test_finer_digits_are_noticed() -> None:
    assert parse_iso("2026-07-08T21:14:00.1230Z") == (datetime(2026, 7, 8, 21, 14, 0, 123000, UTC), False)
    assert parse_iso("2026-07-08T21:14:00.1234Z") == (datetime(2026, 7, 8, 21, 14, 0, 123400, UTC), True)
    assert parse_iso("2026-07-08T21:14:00.123000000001Z") == (datetime(2026, 7, 8, 21, 14, 0, 123000, UTC), True)


def test_a_missing_zone_is_told_from_no_time_at_all() -> None:
    assert looks_like_time("2026-07-08T21:14:00") and not has_zone("2026-07-08T21:14:00")
    assert looks_like_time("2026-07-08T21:14:00Z") and has_zone("2026-07-08T21:14:00Z")
    assert not looks_like_time("2026-02-30T21:14:00")
    assert not looks_like_time("soon")


@given(st.datetimes(timezones=st.just(UTC)))
def test_format_undoes_parse_to_the_millisecond(moment: datetime) -> None:
    milliseconds = to_ms(moment.isoformat())
    assert milliseconds is not None
    text = format_ms(milliseconds)
    assert text is not None and text.endswith("Z")
    assert to_ms(text) == milliseconds
    parsed = parse_iso(text)
    assert parsed is not None
    assert parsed[0] == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_times_beyond_the_calendar_have_no_text() -> None:
    assert format_ms(10**18) is None
    assert format_ms(-(10**18)) is None


def test_the_reference_date_of_swift() -> None:
    assert format_ms(EPOCH_2001 * 1000) == "2001-01-01T00:00:00Z"


def test_minted_ids_are_ulids_and_the_same_everywhere_a38() -> None:
    """OL2-3.2-ulid, A38."""
    assert mint_ulid("file.json", "7") == "0000000000BYNYRJK8Z5VT9J89"
    assert set(mint_ulid("x")) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert mint_ulid("a", "b") == mint_ulid("a", "b")
    assert len({mint_ulid("a", "b"), mint_ulid("ab"), mint_ulid("a", "b", ""), mint_ulid("b", "a")}) == 4
    assert mint_ulid("x", milliseconds=1) > mint_ulid("y", milliseconds=0)
    assert mint_ulid("\ud800"), "an id may hold half a character"


def test_the_time_of_a_minted_id_stands_in_front() -> None:
    assert mint_ulid("x", milliseconds=1469918176385)[:10] == "01ARYZ6S41"
    assert mint_ulid("x", milliseconds=-5)[:10] == "0000000000"
