"""TAR archives: what is in them is read by position, bounded, and nothing is believed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.errors import LimitExceeded, LoomconvError, UnreadableFile
from loomconv.storage.limits import Limits
from loomconv.storage.tar import TarArchive, is_tar

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def tar(*members: tuple[str | tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def opened(data: bytes, limits: Limits | None = None) -> TarArchive:
    return TarArchive(io.BytesIO(data), "a.tar", limits or Limits(), len(data))


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_kind_is_recognised_and_read(packed: str, form: int) -> None:
    names = ["a.json", "folder/b.json", f"{'deep/' * 20}long-{'x' * 60}.json", "empty.json"]
    if form != tarfile.USTAR_FORMAT:
        names += [f"{'y' * 200}/é.json"]
    data = PACKED[packed](tar(*((name, name.encode() * 300) for name in names[:-1]), (names[-1], b""), form=form))
    assert is_tar(io.BytesIO(data), "x")
    archive = opened(data)
    assert list(archive.members) == names
    assert [archive.read(name, None) for name in reversed(names[:-1])] == [
        n.encode() * 300 for n in reversed(names[:-1])
    ]
    assert archive.read(names[-1], None) == b""
    assert archive.read("missing", None) is None
    archive.close()


def test_what_is_no_tar_is_not_taken_for_one() -> None:
    noise = bytes(range(256)) * 8
    for data in (b"", b"{}", noise, gzip.compress(noise), b"BZh9" + noise, b"\xfd7zXZ\0" + noise, b"\0" * 4096):
        assert not is_tar(io.BytesIO(data), "x.tar")
    old = bytearray(tar(("a", b"x"), form=tarfile.USTAR_FORMAT))
    old[257:265] = b"\0" * 8
    old[148:156] = b"%06o\0 " % (sum(old[:148]) + 256 + sum(old[156:512]))
    assert is_tar(io.BytesIO(bytes(old)), "old.tar")
    assert not is_tar(io.BytesIO(bytes(old)), "old.json")


def test_streams_that_follow_each_other_are_one() -> None:
    data = tar(("a", b"x" * 5000), ("b", b"y"))
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        archive = opened(pack(data[:2000]) + pack(data[2000:]) + b"\0" * 700)
        assert archive.read("b", None) == b"y"
        archive.close()


def test_names_and_kinds_that_are_not_safe_are_left_out() -> None:
    link, device, folder = tarfile.TarInfo("link"), tarfile.TarInfo("device"), tarfile.TarInfo("folder")
    link.type, link.linkname, device.type, folder.type = (
        tarfile.SYMTYPE,
        "/etc/passwd",
        tarfile.CHRTYPE,
        tarfile.DIRTYPE,
    )
    archive = opened(
        tar(
            *[("../up", b"1"), ("/absolute", b"2"), ("./fine", b"3"), (link, b""), (device, b""), (folder, b"")],
            *[("FINE", b"4"), ("fine", b"5"), ("con.json", b"6"), ("a\\b", b"7"), ("good", b"8")],
        )
    )
    assert list(archive.members) == ["fine", "good"]
    assert archive.twins == ["FINE", "fine"]
    assert [each.value for each in archive.incidents] == [
        "../up", "/absolute", "link", "device", "FINE", "fine", "con.json", "a\\b",
    ]  # fmt: skip
    archive.close()


def test_limits_hold() -> None:
    bomb = gzip.compress(tar(("a", b"x" * 30_000_000)))
    with pytest.raises(LimitExceeded, match="compression ratio"):
        opened(bomb)
    with pytest.raises(LimitExceeded, match="unpacked size"):
        opened(bomb, Limits(ratio=None, bundle_bytes=1 << 20))
    with pytest.raises(LimitExceeded, match="number of members"):
        opened(tar(*((str(number), b"") for number in range(11))), Limits(members=10))
    archive = opened(tar(("a", b"xxx")))
    with pytest.raises(LimitExceeded, match="the size of the member"):
        archive.read("a", 2)
    archive.close()


def test_a_packed_stream_that_claims_much_memory_is_refused() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    out = io.BytesIO()
    tracemalloc.start()
    try:
        header = bytearray(lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]))
        assert filters[0]["dict_size"] > 128 << 20
        header[12 + 4] = 38  # the size of the dictionary, as a code: 2 GiB
        out.write(header)
        assert not is_tar(io.BytesIO(out.getvalue()), "x.tar.xz")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packed", PACKED)
def test_what_is_cut_short_is_told(packed: str) -> None:
    data = tar(("a", b"x" * 5000), ("b", bytes(range(256)) * 20))
    whole = PACKED[packed](data[:-1024].rstrip(b"\0")[:-700])
    with pytest.raises(UnreadableFile, match="broken"):
        opened(whole)
    if packed:
        with pytest.raises(UnreadableFile, match="packed data is damaged"):
            opened(PACKED[packed](data)[:-20])


@given(st.binary(max_size=300), st.integers(0, 2000))
def test_damage_anywhere_is_an_error_of_ours_or_none(noise: bytes, at: int) -> None:
    data = bytearray(tar(("a/" + "n" * 120, b"x" * 500), ("b", b"y")))
    data[at : at + len(noise)] = noise
    try:
        archive = opened(bytes(data))
    except LoomconvError:
        return
    for name in archive.members:
        archive.read(name, None)
    archive.close()


def test_sizes_that_lie_are_told() -> None:
    for size in (b"77777777777\0", b"\x80" + b"\0" * 3 + b"\xff" * 8, b"\xff" * 12, b"0000000000x\0"):
        data = bytearray(tar(("a", b"x" * 10), form=tarfile.USTAR_FORMAT))
        data[124:136] = size
        data[148:156] = b"%06o\0 " % (sum(data[:148]) + 256 + sum(data[156:512]))
        with pytest.raises(UnreadableFile, match="middle of a member"):
            opened(bytes(data))


def test_an_archive_without_an_end_mark_is_whole(tmp_path: Path) -> None:
    data = tar(("a", b"x" * 512), form=tarfile.USTAR_FORMAT)
    archive = opened(data[:1024])
    assert archive.read("a", None) == b"x" * 512
    archive.close()
