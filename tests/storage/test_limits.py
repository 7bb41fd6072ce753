from __future__ import annotations

from dataclasses import fields

import pytest

from loomconv.errors import LimitExceeded, UsageFault
from loomconv.storage.limits import GIB, MIB, RATIO_FLOOR, Limits


def test_defaults_are_those_of_the_dossier() -> None:
    limits = Limits()
    assert limits.document_bytes == 256 * MIB
    assert limits.nesting == 200
    assert limits.medium_bytes == 64 * MIB
    assert limits.bundle_bytes == GIB
    assert limits.members == 10_000
    assert limits.ratio == 200


def test_unlimited_has_no_limit() -> None:
    assert {getattr(Limits.unlimited(), field.name) for field in fields(Limits)} == {None}


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("document-bytes=2GiB", "document_bytes", 2 * GIB),
        ("document-bytes=500MB", "document_bytes", 500_000_000),
        ("medium-bytes=1k", "medium_bytes", 1024),
        ("bundle-bytes= 12 ", "bundle_bytes", 12),
        ("document_bytes=3 MiB", "document_bytes", 3 * MIB),
        ("members=20000", "members", 20_000),
        ("ratio=500:1", "ratio", 500),
        ("ratio=500", "ratio", 500),
        ("nesting=none", "nesting", None),
        ("image-pixels=None", "image_pixels", None),
    ],
)
def test_options_are_parsed(option: str, name: str, value: int | None) -> None:
    limits = Limits.parse([option])
    assert getattr(limits, name) == value
    assert limits == Limits().with_(**{name: value})


def test_the_last_option_wins_and_the_base_stays() -> None:
    base = Limits(members=7)
    assert Limits.parse(["nesting=5", "nesting=9"], base) == Limits(members=7, nesting=9)
    assert Limits.parse([], base) == base


@pytest.mark.parametrize(
    "option",
    [
        "document-bytes",
        "bytes=3",
        "=3",
        "document-bytes=",
        "document-bytes=-1",
        "document-bytes=0",
        "document-bytes=2XiB",
        "document-bytes=1.5GiB",
        "members=2k",
        "ratio=1:2",
        "nesting=" + "9" * 5000,
        "members=٣",
    ],
)
def test_what_cannot_be_read_is_refused_with_a_next_step(option: str) -> None:
    with pytest.raises(UsageFault) as caught:
        Limits.parse([option])
    assert caught.value.next_step


def test_with_refuses_unknown_names() -> None:
    with pytest.raises(UsageFault, match="document-bytes"):
        Limits().with_(documents=3)


@pytest.mark.parametrize(
    ("limits", "name", "needed", "message"),
    [
        (
            Limits(),
            "document_bytes",
            None,
            "a.json: the text is above the limit of 256 MiB. "
            "If you trust the file, raise it with `--limit document-bytes=512MiB`.",
        ),
        (
            Limits(),
            "document_bytes",
            GIB - 5,
            "a.json: the text is above the limit of 256 MiB. "
            "If you trust the file, raise it with `--limit document-bytes=1GiB`.",
        ),
        (
            Limits(),
            "ratio",
            None,
            "a.json: the text is above the limit of 200:1. If you trust the file, raise it with `--limit ratio=400:1`.",
        ),
        (
            Limits(members=3),
            "members",
            20,
            "a.json: the text is above the limit of 3. If you trust the file, raise it with `--limit members=24`.",
        ),
    ],
)
def test_the_error_says_which_option_raises_the_limit(
    limits: Limits, name: str, needed: int | None, message: str
) -> None:
    error = limits.exceeded(name, "the text", source="a.json", needed=needed)
    assert isinstance(error, LimitExceeded)
    assert str(error) == message


def test_every_suggestion_can_be_parsed() -> None:
    for field in fields(Limits):
        limits = Limits()
        suggestion = limits.exceeded(field.name, "it").next_step.split("`")[1].removeprefix("--limit ")
        assert getattr(Limits.parse([suggestion]), field.name) == 2 * getattr(limits, field.name)


def test_the_allowance_is_the_lower_of_size_and_ratio() -> None:
    limits = Limits(document_bytes=10 * MIB, ratio=100)
    assert limits.allowance(10, "document_bytes") == (RATIO_FLOOR, "ratio")
    assert limits.allowance(50_000, "document_bytes") == (5_000_000, "ratio")
    assert limits.allowance(MIB, "document_bytes") == (10 * MIB, "document_bytes")
    assert Limits.unlimited().allowance(10, "document_bytes") == (None, "document_bytes")
    assert Limits(document_bytes=None, ratio=2).allowance(MIB, "document_bytes") == (2 * MIB, "ratio")
