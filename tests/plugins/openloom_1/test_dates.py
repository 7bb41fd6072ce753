"""Dates: exact by their spelling, in every unit that has been found (OL1-date-*)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.jsontext import ExactFloat
from loomconv.model.times import format_ms
from loomconv_plugins.openloom_1.dates import (
    app_number,
    from_iso,
    from_own_iso,
    plain_ms,
    read_time,
    reference_ms,
    to_iso,
)

OFFSET = 978_307_200_000


@pytest.mark.parametrize(
    ("raw", "iso"),
    [
        (755732640.36, "2024-12-12T21:44:00.360Z"),
        (755732640.360085, "2024-12-12T21:44:00.360Z"),
        (755889601.417789, "2024-12-14T17:20:01.417Z"),
        (769812908.0, "2025-05-24T20:55:08Z"),
        (769812908, "2025-05-24T20:55:08Z"),
        (0, "2001-01-01T00:00:00Z"),
        (0.0009, "2001-01-01T00:00:00Z"),
        (-0.0005, "2000-12-31T23:59:59.999Z"),
        (-978307200.5, "1969-12-31T23:59:59.500Z"),
        (ExactFloat("755732640.3599999999999999999"), "2024-12-12T21:44:00.359Z"),
        (ExactFloat("7.5573264036E8"), "2024-12-12T21:44:00.360Z"),
        (ExactFloat("1e-400000000"), "2001-01-01T00:00:00Z"),
        (ExactFloat("-1e-400000000"), "2000-12-31T23:59:59.999Z"),
    ],
)
def test_a_number_is_seconds_since_2001_cut_to_milliseconds(raw: float, iso: str) -> None:
    """OL1-date-number."""
    assert read_time(raw) == (iso, None, "")


@pytest.mark.parametrize(
    ("raw", "iso"),
    [
        (1735307200, "2024-12-27T13:46:40Z"),
        (1735307200.123456, "2024-12-27T13:46:40.123Z"),
        (1735307200123, "2024-12-27T13:46:40.123Z"),
        (1735307200123.9, "2024-12-27T13:46:40.123Z"),
    ],
)
def test_a_number_in_another_unit_is_used_with_a_warning(raw: float, iso: str) -> None:
    """OL1-date-plausible."""
    assert read_time(raw)[:2] == (iso, "read.time-unit")


@pytest.mark.parametrize("raw", [True, [], {}, 5e9, 1e16, -1e12, 10**400, ExactFloat("1e400"), "soon", "2024-12-13"])
def test_what_is_no_time_is_left_out_with_a_warning(raw: Any) -> None:
    assert read_time(raw)[:2] == (None, "read.bad-time")


def test_a_text_needs_a_zone() -> None:
    """OL1-date-string."""
    assert read_time("2024-12-13T08:00:00Z") == ("2024-12-13T08:00:00Z", None, "")
    assert read_time("2024-12-13T08:00:00.1239+02:00").iso == "2024-12-13T06:00:00.123Z"
    assert read_time("2024-12-13T08:00:00")[:2] == (None, "read.time-without-zone")
    assert read_time("2024-12-13T08:00:00", "+02:00").iso == "2024-12-13T06:00:00Z"
    assert read_time(None) == (None, None, "")


@given(st.integers(-62_135_596_800_000 - OFFSET, 253_402_300_799_999 - OFFSET))
def test_iso_texts_are_those_of_the_hub(milliseconds: int) -> None:
    iso = to_iso(milliseconds)
    assert iso is not None
    assert iso == format_ms(milliseconds + OFFSET)
    assert from_own_iso(iso) == from_iso(iso) == milliseconds
    assert reference_ms(app_number(milliseconds)) == milliseconds


@given(st.integers(0, 1_499_999_999_999_999))
def test_six_decimals_are_exact(micro: int) -> None:
    assert plain_ms(micro / 1e6) == micro // 1000 == reference_ms(micro / 1e6)


@pytest.mark.parametrize(
    "text",
    [
        *("2024-12-12T21:44:00.000Z", "2024-12-12t21:44:00Z", "2024-12-12T21:44:00+00:00", "2024-12-12T24:00:00Z"),
        *("2024-12-12T21:44Z", "2024-W50-4T21:44:00Z", "2024-02-30T00:00:00Z", "２024-12-12T21:44:00Z", ""),
    ],
)
def test_other_spellings_are_not_taken_for_our_own(text: str) -> None:
    assert from_own_iso(text) is None


def test_what_cannot_be_a_year_has_no_text() -> None:
    assert to_iso(10**18) is None
    assert from_iso("soon") is None
