"""Hostile archives, made here."""

from __future__ import annotations

import io
import stat
import struct
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomconv.errors import LimitExceeded, UnreadableFile, UnsafeArchive
from loomconv.storage.archive import Archive
from loomconv.storage.limits import MIB, Limits
from loomconv.storage.member_names import collision_key, shown_name, unsafe_reason
from loomconv.storage.source import Source, open_source

Member = tuple[str | zipfile.ZipInfo, bytes]
TREE: Member = ("tree.openloom", b'{"format": "open-loom"}')


def packed(members: Iterable[Member], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings():
        # zipfile warns of duplicate names, which some tests are about.
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name, data in members:
                archive.writestr(name, data)
    return stream.getvalue()


def opened(data: bytes, limits: Limits | None = None) -> Source:
    return open_source(data, limits, name="a.zip")


def skipped(source: Source) -> list[str | None]:
    assert {incident.kind for incident in source.incidents} <= {"unsafe-path"}
    return [incident.value for incident in source.incidents]


def patched_directory(data: bytes, name: bytes, offset: int, value: bytes) -> bytes:
    """`data` with bytes of the directory record of `name` replaced."""
    start = data.index(b"PK\x01\x02", data.rindex(name) - 46 - 1)
    assert data[start + 46 : start + 46 + len(name)] == name
    return data[: start + offset] + value + data[start + offset + len(value) :]


def test_a_bundle_gives_its_tree_and_its_media() -> None:
    source = opened(packed([("media/", b""), ("media/a.png", b"one"), TREE, ("other.json", b"{}")]))
    assert (source.container, source.data, source.size) == ("zip", TREE[1], len(TREE[1]))
    assert list(source.members) == ["media/a.png", "other.json"]
    assert source.read_member("media/a.png") == b"one"
    assert source.read_member("media/A.png") is None
    assert source.read_member("tree.openloom") is None
    assert source.incidents == ()


@pytest.mark.parametrize("name", ["story.json", "sub/story.openloom", "a/b/story.loom.jsonl", "STORY.JSON"])
def test_the_only_candidate_is_the_tree(name: str) -> None:
    source = opened(packed([("a.png", b"x"), (name, b"{}"), ("__MACOSX/._story.json", b"x"), ("a/._b.json", b"x")]))
    assert source.data == b"{}"
    assert "a.png" in source.members


def test_several_candidates_are_named() -> None:
    with pytest.raises(UnsafeArchive, match=r"a\.zip: .*several.*: one\.json, sub/two\.jsonl\. Extract the one"):
        opened(packed([("one.json", b"{}"), ("sub/two.jsonl", b"{}"), ("sub/tree.openloom.bak", b"")]))


def test_a_long_list_of_candidates_is_cut() -> None:
    with pytest.raises(UnsafeArchive, match="and 15 more"):
        opened(packed((f"{n}.json", b"{}") for n in range(25)))


def test_no_tree_is_an_error() -> None:
    with pytest.raises(UnreadableFile, match="holds no tree"):
        opened(packed([("a.png", b"x")]))


def test_an_empty_archive_is_an_error() -> None:
    with pytest.raises(UnreadableFile, match="empty"):
        opened(packed([]))


@pytest.mark.parametrize(
    "name",
    [
        "../up.png",
        "a/../../up.png",
        "a/..",
        "a/.. /b",
        "a/.../b",
        "/abs.png",
        "//host/share.png",
        "C:/drive.png",
        "c:drive.png",
        "a\\b.png",
        "\\\\host\\share",
        "a\nb.png",
        "a\x7fb.png",
        "CON",
        "a/nul.png",
        "a/Com1 .txt",
        "lpt¹.png",
        "x" * 300,
        "ab/" * 400,
    ],
)
def test_unsafe_names_are_skipped_and_reported(name: str) -> None:
    assert unsafe_reason(name)
    source = opened(packed([("ok.png", b"x"), (name, b"evil"), TREE]))
    assert skipped(source) == [name]
    assert list(source.members) == ["ok.png"]
    assert source.read_member(name) is None


@pytest.mark.parametrize(
    "name", ["a.png", "a/b c/ü.png", ".hidden", "..a", "a..b/c..", "console.png", "com10.txt", "a b:c.png", "x" * 255]
)
def test_safe_names_pass(name: str) -> None:
    assert unsafe_reason(name) is None
    assert list(opened(packed([(name, b"x"), TREE])).members) == [name]


def test_a_member_without_a_name_is_skipped() -> None:
    assert skipped(opened(packed([(zipfile.ZipInfo(""), b"x"), TREE]))) == [""]


def test_a_name_cut_by_a_nul_is_skipped() -> None:
    data = packed([("ok.pngXevil", b"x"), TREE]).replace(b"ok.pngXevil", b"ok.png\0evil")
    source = opened(data)
    assert skipped(source) == ["ok.png\0evil"]
    assert list(source.members) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.png", "a.png"),
        ("a.png", "A.PNG"),
        ("caf\u00e9.png", "cafe\u0301.png"),
        ("straße.png", "STRASSE.png"),
        ("a/b.png", "a//b.png"),
        ("b.png", "./b.png"),
        ("c.png", "c.png. "),
    ],
)
def test_of_two_colliding_names_the_first_stays(first: str, second: str) -> None:
    source = opened(packed([TREE, (first, b"one"), (second, b"two")]))
    assert skipped(source) == [second]
    assert list(source.members) == [first]
    assert source.read_member(first) == b"one"


def test_the_tree_wins_a_collision_wherever_it_stands() -> None:
    source = opened(packed([("Tree.OpenLoom", b"x"), TREE]))
    assert source.data == TREE[1]
    assert skipped(source) == ["Tree.OpenLoom"]


def test_two_trees_of_one_name_are_refused() -> None:
    with pytest.raises(UnsafeArchive, match="2 members of the name"):
        opened(packed([TREE, ("tree.openloom", b"{}")]))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30))
def test_names_are_judged_without_failing(name: str) -> None:
    assert shown_name(name).isprintable()
    if unsafe_reason(name) is None:
        forms = {collision_key(unicodedata.normalize(form, name)) for form in ("NFC", "NFD")}
        assert forms == {collision_key(name)}


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_are_skipped(kind: int) -> None:
    link = zipfile.ZipInfo("link.png")
    link.create_system = 3
    link.external_attr = (kind | 0o777) << 16
    source = opened(packed([(link, b"/etc/passwd"), TREE]))
    assert skipped(source) == ["link.png"]
    assert "link" in source.incidents[0].message


def test_encrypted_media_are_skipped() -> None:
    data = patched_directory(packed([("a.png", b"x"), TREE]), b"a.png", 8, b"\x01\x00")
    assert skipped(opened(data)) == ["a.png"]


def test_an_encrypted_tree_is_refused() -> None:
    data = patched_directory(packed([("a.png", b"x"), TREE]), b"tree.openloom", 8, b"\x01\x00")
    with pytest.raises(UnsafeArchive, match=r"encrypted.*password"):
        opened(data)


def test_another_method_of_packing_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"number 14.*deflate"):
        opened(packed([TREE], zipfile.ZIP_LZMA))


def test_bytes_before_the_archive_are_reported() -> None:
    source = opened(b"#!/bin/sh\nexit\n" + packed([TREE, ("a.png", b"x")]))
    assert source.data == TREE[1]
    assert [(i.kind, i.value) for i in source.incidents] == [("zip-prefix", "15 bytes")]
    assert source.read_member("a.png") == b"x"


@pytest.mark.parametrize("tail", [b"PK\x05\x06", b"PK\x05\x06" + bytes(18), b"PK\x01\x02PK\x05\x06" + b"\xff" * 18])
def test_text_that_only_ends_like_an_archive_is_text(tail: bytes) -> None:
    source = opened(b'{"a": 1}' + tail)
    assert (source.container, source.data) == ("plain", b'{"a": 1}' + tail)


def test_a_comment_after_the_archive_does_no_harm() -> None:
    stream = io.BytesIO(packed([TREE]))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.comment = b"c" * 60_000
    assert opened(stream.getvalue()).data == TREE[1]


def test_zip64_is_read() -> None:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("tree.openloom", "w", force_zip64=True) as member,
    ):
        member.write(TREE[1])
    assert opened(stream.getvalue()).data == TREE[1]


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_archive_is_refused(part: float) -> None:
    data = packed([TREE, ("a.png", b"x" * 300)])
    with pytest.raises(UnreadableFile, match=r"a\.zip: .*again"):
        opened(data[: int(len(data) * part)])


def test_a_wrong_checksum_is_refused() -> None:
    data = packed([TREE], zipfile.ZIP_STORED)
    at = data.index(TREE[1])
    with pytest.raises(UnreadableFile, match="the tree in the archive is damaged"):
        opened(data[: at + 5] + b"!" + data[at + 6 :])


@pytest.mark.parametrize("size", [3, len(TREE[1]) + 40, 2**31])
def test_a_lying_size_is_refused(size: int) -> None:
    data = patched_directory(packed([TREE]), b"tree.openloom", 24, struct.pack("<I", size))
    with pytest.raises(UnreadableFile, match=r"directory"):
        opened(data)


@pytest.mark.parametrize("value", [0, 7, 10_000, 2**32 - 2])
def test_a_lying_offset_is_refused(value: int) -> None:
    data = patched_directory(packed([("a.png", b"x"), TREE]), b"tree.openloom", 42, struct.pack("<I", value))
    with pytest.raises(UnreadableFile):
        opened(data)


def test_a_damaged_medium_does_not_stop_the_tree() -> None:
    data = packed([TREE, ("a.png", b"picture")], zipfile.ZIP_STORED).replace(b"picture", b"pictuRe", 1)
    source = opened(data)
    assert source.data == TREE[1]
    with pytest.raises(UnreadableFile, match=r"the member a\.png is damaged"):
        source.read_member("a.png")


def test_a_bomb_stops_at_the_ratio() -> None:
    data = packed([TREE, ("bomb.png", bytes(16 * MIB))])
    source = opened(data)
    with pytest.raises(LimitExceeded, match=r"compression ratio of the member bomb\.png.*--limit ratio="):
        source.read_member("bomb.png")
    assert len(opened(data, Limits(ratio=None)).read_member("bomb.png") or b"") == 16 * MIB


def test_one_medium_has_a_limit_which_the_call_can_replace() -> None:
    source = opened(packed([TREE, ("a.png", bytes(500))]), Limits(medium_bytes=400))
    with pytest.raises(LimitExceeded, match="--limit medium-bytes="):
        source.read_member("a.png")
    assert source.read_member("a.png", 500) == bytes(500)


def test_the_tree_has_the_limit_of_documents() -> None:
    with pytest.raises(LimitExceeded, match="--limit document-bytes="):
        opened(packed([TREE]), Limits(document_bytes=5))


def test_all_members_together_have_a_limit() -> None:
    members = [(f"{n}.png", bytes(100)) for n in range(5)]
    source = opened(packed([TREE, *members]), Limits(bundle_bytes=len(TREE[1]) + 250))
    for _ in range(5):
        assert source.read_member("0.png") == bytes(100)
    assert source.read_member("1.png") == bytes(100)
    with pytest.raises(LimitExceeded, match="--limit bundle-bytes="):
        source.read_member("2.png")


def test_what_turned_out_to_be_broken_counts_too() -> None:
    members = [TREE, ("a.png", b"picture" * 100_000), ("b.png", bytes(200_000))]
    data = packed(members, zipfile.ZIP_STORED).replace(b"picture", b"pictuRe", 1)
    source = opened(data, Limits(bundle_bytes=len(TREE[1]) + 700_000))
    for _ in range(2):
        with pytest.raises(UnreadableFile, match="damaged"):
            source.read_member("a.png")
    with pytest.raises(LimitExceeded, match="--limit bundle-bytes="):
        source.read_member("b.png")


def test_the_name_that_is_stored_counts() -> None:
    """A second name in an extra field (0x7075) is read by newer Pythons only."""
    entry = zipfile.ZipInfo("a.png")
    name = b"../evil.png"
    entry.extra = struct.pack("<HHBL", 0x7075, 5 + len(name), 1, zlib.crc32(b"a.png")) + name
    source = opened(packed([TREE, (entry, b"x")]))
    assert list(source.members) == ["a.png"]
    assert source.read_member("a.png") == b"x"


def test_too_many_members_are_refused_before_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed([TREE, *((f"{n}.png", b"") for n in range(50))])
    assert len(opened(data, Limits(members=51)).members) == 50
    made = []
    monkeypatch.setattr(zipfile, "ZipInfo", lambda *args: made.append(args))
    with pytest.raises(LimitExceeded, match="--limit members=100"):
        opened(data, Limits(members=50))
    assert made == []


def test_a_huge_directory_is_not_loaded() -> None:
    data = packed([(f"{n}" + "n" * 60_000, b"") for n in range(8)])
    with pytest.raises(LimitExceeded, match="number of members"):
        opened(data, Limits(members=100))


def test_a_container_inside_a_container_is_refused() -> None:
    inner = packed([TREE])
    with pytest.raises(UnreadableFile, match="another container"):
        opened(packed([("tree.openloom", inner)]))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_gives_an_error_of_ours_or_the_tree(data: st.DataObject) -> None:
    archive = bytearray(packed([TREE, ("media/a.png", b"picture" * 9)]))
    for _ in range(data.draw(st.integers(1, 3))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    try:
        with opened(bytes(archive)) as source:
            for name in source.members:
                source.read_member(name)
    except UnreadableFile as error:
        assert error.next_step


def test_the_archive_leaves_the_stream_to_the_caller() -> None:
    stream = io.BytesIO(packed([TREE]))
    archive = Archive(stream, "a.zip", Limits())
    archive.close()
    assert not stream.closed
