from __future__ import annotations

import gzip
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomconv.errors import LimitExceeded, UnreadableFile
from loomconv.storage.inflate import Inflated, inflate
from loomconv.storage.limits import MIB, Limits


def unpack(packed: bytes, limits: Limits | None = None) -> Inflated:
    return inflate(io.BytesIO(packed), len(packed), limits or Limits(), "a.gz")


def noise(size: int) -> bytes:
    return random.Random(5).randbytes(size)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers(0, 40))
def test_concatenated_members_make_one_text_and_zero_padding_is_ignored(texts: list[bytes], padding: int) -> None:
    packed = b"".join(gzip.compress(text, mtime=0) + bytes(padding) for text in texts)
    assert unpack(packed) == Inflated(b"".join(texts))


def test_a_large_text_comes_out_whole() -> None:
    text = noise(3 * MIB) + bytes(300_000)
    assert unpack(gzip.compress(text, mtime=0)).data == text


def test_trailing_bytes_are_counted_and_reported() -> None:
    found = unpack(gzip.compress(b"loom", mtime=0) + b"\0\0" + b"junk" * 50_000)
    assert found.data == b"loom"
    assert not found.truncated
    assert [(i.kind, i.value) for i in found.incidents] == [("gzip-trailing", "200000 bytes")]


@pytest.mark.parametrize("tail", [b"x", b"\x1f"])
def test_a_single_trailing_byte_is_reported(tail: bytes) -> None:
    assert unpack(gzip.compress(b"loom") + tail).incidents[0].value == "1 bytes"


def test_a_cut_file_gives_what_stands_before_the_cut() -> None:
    text = noise(400_000)
    packed = gzip.compress(text, mtime=0)
    found = unpack(packed[: len(packed) // 2])
    assert found.truncated
    assert [i.kind for i in found.incidents] == ["gzip-truncated"]
    assert text.startswith(found.data)
    assert len(found.data) > 190_000


@pytest.mark.parametrize("missing", [1, 8, 9])
def test_a_missing_trailer_is_a_cut(missing: int) -> None:
    packed = gzip.compress(b"loom" * 9, mtime=0)
    found = unpack(packed[:-missing])
    assert found.truncated
    assert (b"loom" * 9).startswith(found.data)


def test_a_cut_in_the_second_member_keeps_the_first() -> None:
    found = unpack(gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0)[:5])
    assert (found.data, found.truncated) == (b"one", True)


@pytest.mark.parametrize("at", [-8, 15])
def test_damaged_data_is_refused(at: int) -> None:
    packed = bytearray(gzip.compress(noise(1000), mtime=0))
    packed[at] ^= 0xFF
    with pytest.raises(UnreadableFile, match=r"a\.gz: the gzip data is damaged .* again"):
        unpack(bytes(packed))


def test_a_bomb_stops_at_the_ratio() -> None:
    packed = gzip.compress(bytes(20 * MIB), mtime=0)
    with pytest.raises(LimitExceeded, match=r"compression ratio .*200:1.*--limit ratio=400:1"):
        unpack(packed)
    assert len(unpack(packed, Limits(ratio=None)).data) == 20 * MIB


def test_a_short_run_may_pack_well() -> None:
    assert len(unpack(gzip.compress(bytes(500_000), mtime=0)).data) == 500_000


def test_the_unpacked_size_counts_and_not_the_one_stated() -> None:
    packed = bytearray(gzip.compress(noise(30_000), mtime=0))
    with pytest.raises(LimitExceeded, match="--limit document-bytes="):
        unpack(bytes(packed), Limits(document_bytes=29_999))
    assert len(unpack(bytes(packed), Limits(document_bytes=30_000)).data) == 30_000


def test_empty_members_are_counted() -> None:
    packed = gzip.compress(b"", mtime=0) * 101
    with pytest.raises(LimitExceeded, match="--limit members="):
        unpack(packed, Limits(members=100))
    assert unpack(packed, Limits(members=101)).data == b""
