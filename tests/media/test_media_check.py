from __future__ import annotations

import base64
from typing import Any

import pytest

from loomconv.errors import UnreadableFile
from loomconv.media.check import MediaChecker, check_block
from loomconv.storage.incident import Incident
from loomconv.storage.limits import Limits

GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
MEMBERS = {"media/ok.png": PNG, "media/wrong.png": GIF, "media/empty.png": b"", "up.gif": GIF}


def uri(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def image(ref: Any, mime: Any = "image/png", **more: Any) -> dict[str, Any]:
    return {"type": "image", "ref": ref, "mimeType": mime, **more}


def check(block: dict[str, Any], limits: Limits | None = None) -> list[Incident]:
    before = dict(block)
    found = check_block(block, head=MEMBERS.get, limits=limits)
    assert block == before
    assert len(found) <= 1
    for incident in found:
        assert incident.value is None or "base64" not in incident.value
        assert "base64," not in incident.message
    return found


def kinds(block: dict[str, Any], limits: Limits | None = None) -> list[str]:
    return [incident.kind for incident in check(block, limits)]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "a"},
        {"type": "video", "ref": "../x", "mimeType": "video/mp4"},
        {"type": 5, "ref": "../x"},
        {"ref": "../x"},
        image("media/ok.png"),
        image(uri("image/png", PNG)),
        image(uri("IMAGE/PNG;x=y", PNG), "image/png; charset=binary"),
        image(uri("image/jpg", b"\xff\xd8\xff\xe0"), "image/jpeg"),
        image(uri("", PNG)),
        image(uri("image/gif", GIF), None),
        image("up.gif", "image/gif", altText="a"),
        {"type": "audio", "ref": uri("audio/mp4", b"\0\0\0\x18ftypisom\0\0\0\0"), "mimeType": "audio/m4a"},
    ],
)
def test_what_is_right_is_not_reported(block: dict[str, Any]) -> None:
    assert check(block) == []


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            image(uri("image/png", GIF)),
            "the block says image/png, its data: URI says image/png, the bytes are image/gif",
        ),
        (
            image(uri("image/jpeg", PNG)),
            "the block says image/png, its data: URI says image/jpeg, the bytes are image/png",
        ),
        (image("media/wrong.png"), "the block says image/png, the bytes are image/gif"),
        (image("media/empty.png"), "the block says image/png, there are no bytes"),
        (image(uri("image/png", GIF), None), "its data: URI says image/png, the bytes are image/gif"),
        (image("media/ok.png", "PNG\x1b[1m"), "the block says something that is no type, the bytes are image/png"),
    ],
)
def test_a_mismatch_names_the_types(block: dict[str, Any], message: str) -> None:
    value = None if block["ref"].startswith("data:") else block["ref"]
    assert check(block) == [Incident("mime-mismatch", message, value)]


def test_bytes_of_no_known_type_are_no_png() -> None:
    assert kinds(image(uri("image/png", b"\x01\x02\x03\x04"))) == ["mime-mismatch"]


@pytest.mark.parametrize(
    "ref",
    ["../up.gif", "/etc/hostname", "C:\\a.png", "C:/a.png", "c:a.png", "media\\ok.png", "a/../../b", "NUL", "a\0b"],
)
def test_references_that_leave_the_bundle(ref: str) -> None:
    assert [(i.kind, i.value) for i in check(image(ref))] == [("unsafe-path", ref)]


@pytest.mark.parametrize("ref", ["media/no.png", "MEDIA/ok.png", "./media/ok.png", "", None, 5])
def test_references_to_nothing(ref: Any) -> None:
    assert kinds(image(ref)) == ["missing-media"]


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ("https://example.org/a.png", "https://example.org/a.png"),
        ("https://me:secret@example.org/a.png?key=secret#secret", "https://example.org/a.png"),
        ("HTTP://example.org", "HTTP://example.org"),
        ("file:///etc/hostname", "file:///etc/hostname"),
        ("sediment://file_00", "sediment://file_00"),
        ("urn:uuid:1", "urn:uuid:1"),
    ],
)
def test_nothing_is_fetched(ref: str, value: str) -> None:
    assert [(i.kind, i.value) for i in check(image(ref))] == [("unresolved-media", value)]


def test_a_long_reference_is_cut_in_the_report() -> None:
    (incident,) = check(image("https://example.org/" + "a" * 5000))
    assert incident.value is not None
    assert len(incident.value) == 200


@pytest.mark.parametrize("ref", ["data:image/png;base64,!!", "data:image/png", "data:,%"])
def test_broken_data_uris(ref: str) -> None:
    assert kinds(image(ref)) == ["bad-data-uri"]


def test_too_large_a_medium_is_not_looked_at() -> None:
    (incident,) = check(image(uri("image/gif", bytes(100))), Limits(medium_bytes=99))
    assert incident.kind == "media-too-large"
    assert "99 B" in incident.message

    def too_large(_: str) -> bytes:
        raise Limits().exceeded("medium_bytes", "the size of the member")

    (incident,) = check_block(image("a.png"), head=too_large)
    assert (incident.kind, incident.value) == ("media-too-large", "a.png")


def test_a_damaged_member_is_missing() -> None:
    def damaged(_: str) -> bytes:
        raise UnreadableFile("it is damaged")

    (incident,) = check_block(image("a.png"), head=damaged)
    assert (incident.kind, incident.value) == ("missing-media", "a.png")
    assert "damaged" in incident.message


def test_a_member_that_many_blocks_share_is_read_once() -> None:
    asked = []

    def member(name: str) -> bytes | None:
        asked.append(name)
        return MEMBERS.get(name)

    checker = MediaChecker(member)
    for _ in range(3):
        assert checker.check(image("media/ok.png")) == []
        assert [i.kind for i in checker.check(image("media/ok.png", "image/gif"))] == ["mime-mismatch"]
        assert [i.kind for i in checker.check(image("no.png"))] == ["missing-media"]
    assert asked == ["media/ok.png", "no.png"]


def test_what_leads_nowhere_is_told_by_its_name() -> None:
    refs = {"../a": "unsafe-path", "/a": "unsafe-path", "http://a/b": "unresolved-media", "a\\b": "unsafe-path"}
    for ref, kind in {**refs, "a": "missing-media"}.items():
        assert [each.kind for each in check_block(image(ref), head=lambda name: None)] == [kind]
