from __future__ import annotations

import builtins
import io
import sys
import threading
import time
import wave
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import loomconv.media.sniff as sniff_module
from loomconv.media.sniff import canonical_type, same_type, sniff, type_agrees


def drawn(kind: str, size: tuple[int, int] = (3, 2)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size).save(stream, kind)
    return stream.getvalue()


def recorded() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8)
    return stream.getvalue()


def boxed(brand: bytes, *compatible: bytes) -> bytes:
    body = b"ftyp" + brand + b"\0\0\0\0" + b"".join(compatible)
    return (len(body) + 4).to_bytes(4) + body + b"\0\0\0\x08mdat"


SAMPLES = [
    (drawn("PNG"), "image/png"),
    (drawn("JPEG"), "image/jpeg"),
    (drawn("GIF"), "image/gif"),
    (drawn("WEBP"), "image/webp"),
    (drawn("BMP"), "image/bmp"),
    (drawn("TIFF"), "image/tiff"),
    (drawn("ICO", (16, 16)), "image/x-icon"),
    (recorded(), "audio/wav"),
    (b"MM\0*" + bytes(8), "image/tiff"),
    (boxed(b"avif", b"mif1"), "image/avif"),
    (boxed(b"mif1", b"mif1", b"avif"), "image/avif"),
    (boxed(b"mif1", b"heic"), "image/heic"),
    (boxed(b"mif1"), "image/heic"),
    (boxed(b"heic"), "image/heic"),
    (boxed(b"M4A "), "audio/mp4"),
    (boxed(b"isom", b"mp41"), "video/mp4"),
    (boxed(b"qt  "), "video/quicktime"),
    (b"ID3\x04" + bytes(20), "audio/mpeg"),
    (b"\xff\xfb\x90\x64" + bytes(40), "audio/mpeg"),
    (b"\xff\xf3\x40\xc4" + bytes(40), "audio/mpeg"),
    (b"\xff\xf1\x50\x80" + bytes(40), "audio/aac"),
    (b"OggS\0\x02" + bytes(20), "audio/ogg"),
    (b"fLaC\0\0\0\x22", "audio/flac"),
    (b"\x1a\x45\xdf\xa3\x93\x42\x82\x84webm", "video/webm"),
    (b"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", "video/x-matroska"),
    (b"%PDF-1.7\n", "application/pdf"),
    (b"PK\x03\x04\x14\0", "application/zip"),
    (b"\x1f\x8b\x08\0", "application/gzip"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
    (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a > b --><!---->\n<svg>", "image/svg+xml"),
    (b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" [<!ENTITY a "b">]>\n<svg>', "image/svg+xml"),
]


@pytest.fixture
def no_magic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniff_module, "_magic", threading.local())
    monkeypatch.setattr(sniff_module, "_open_magic", lambda: None)


@pytest.mark.usefixtures("no_magic")
@pytest.mark.parametrize(("data", "mime"), SAMPLES)
def test_the_table_knows_the_usual_types(data: bytes, mime: str) -> None:
    assert sniff(data) == mime
    assert type_agrees(mime, mime)


@pytest.mark.usefixtures("no_magic")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"BM is how this text begins",
        b"RIFFsomething else",
        '{"a": 1}'.encode("utf-16"),
        '{"a": 1}'.encode("utf-16-be"),
        b"\xff\xff\xff\xff",
        b"\0\0\1\0",
        b"<html><svg></svg></html>",
        b"ftyp",
    ],
)
def test_what_is_no_medium_is_not_taken_for_one(data: bytes) -> None:
    assert sniff(data) is None


@pytest.mark.usefixtures("no_magic")
@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes_can_be_asked(data: bytes) -> None:
    for prefix in (b"", b"RIFF", b"\xff", b"\0\0\0\x20ftypmif1", b"<!DOCTYPE ", b"\0\0\1\0", b"BM"):
        found = sniff(prefix + data)
        assert found is None or found == canonical_type(found)


@pytest.mark.usefixtures("no_magic")
@pytest.mark.parametrize("piece", [b"<!---->", b"<!DOCTYPE a", b"<!DOCTYPE a[", b"<?xml ", b" ", b"<!--"])
def test_a_prologue_without_end_costs_little(piece: bytes) -> None:
    start = time.perf_counter()
    assert sniff(piece * 2000) is None
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("image/png", "IMAGE/PNG; charset=x", True),
        ("image/jpg", "image/jpeg", True),
        ("audio/mp3", "audio/mpeg", True),
        ("audio/x-wav", "audio/wav", True),
        ("audio/m4a", "audio/mp4", True),
        ("image/png", "image/jpeg", False),
        ("audio/mp4", "video/mp4", False),
        ("image/jxl", "image/jxl", True),
        ("", "image/png", False),
    ],
)
def test_names_are_compared_with_aliases(a: str, b: str, same: bool) -> None:
    assert same_type(a, b) is same
    assert same_type(b, a) is same


@pytest.mark.parametrize(
    ("declared", "sniffed", "agrees"),
    [
        ("image/png", "image/png", True),
        ("image/png", "image/gif", False),
        ("image/png", None, False),
        ("image/png", "text/plain", False),
        ("audio/mpeg", None, True),
        ("audio/mp4", "video/mp4", True),
        ("audio/webm; codecs=opus", "video/webm", True),
        ("audio/opus", "audio/ogg", True),
        ("audio/webm", "audio/ogg", False),
        ("image/svg+xml", "text/xml", True),
        ("image/jxl", None, True),
        ("audio/amr", "audio/x-amr", True),
        ("audio/amr", "video/x-flv", False),
        ("image/x-unheard-of", "image/png", False),
    ],
)
def test_bytes_may_be_called_by_several_names(declared: str, sniffed: str | None, agrees: bool) -> None:
    assert type_agrees(declared, sniffed) is agrees


def with_magic(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    monkeypatch.setitem(sys.modules, "magic", module)
    monkeypatch.setattr(sniff_module, "_magic", threading.local())


def fake_magic(answer: str) -> tuple[ModuleType, list[int]]:
    module: Any = ModuleType("magic")
    opened: list[int] = []

    class MagicException(Exception):
        pass

    class Magic:
        def __init__(self, mime: bool) -> None:
            assert mime
            opened.append(threading.get_ident())

        def from_buffer(self, data: bytes) -> str:
            if answer == "fails":
                raise MagicException
            return answer

    module.Magic = Magic
    module.MagicException = MagicException
    return module, opened


@pytest.mark.parametrize(
    ("answer", "found"),
    [("audio/x-Mod", "audio/x-mod"), ("application/octet-stream", None), ("fails", None)],
)
def test_libmagic_is_asked_last(monkeypatch: pytest.MonkeyPatch, answer: str, found: str | None) -> None:
    module, opened = fake_magic(answer)
    with_magic(monkeypatch, module)
    assert sniff(b"GIF89a") == "image/gif"
    assert opened == []
    assert sniff(b"something else") == found
    assert sniff(b"and again") == found
    assert len(opened) == 1
    other = threading.Thread(target=sniff, args=(b"something else",))
    other.start()
    other.join()
    assert len(set(opened)) == 2


def test_without_libmagic_the_table_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name in ("magic", "pylibmagic"):
            asked.append(name)
            raise ImportError("failed to find libmagic")
        return real(name, *rest, **named)

    monkeypatch.setitem(sys.modules, "pylibmagic", None)
    monkeypatch.delitem(sys.modules, "magic", raising=False)
    monkeypatch.setattr(sniff_module, "_magic", threading.local())
    monkeypatch.setattr(builtins, "__import__", missing)
    assert sniff(b"something else") is None
    assert sniff(b"GIF89a") == "image/gif"
    assert sniff(b"something else") is None
    assert asked == ["magic"]
