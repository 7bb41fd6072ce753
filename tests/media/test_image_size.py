from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, features

from loomconv.errors import LimitExceeded
from loomconv.media.images import image_size
from loomconv.storage.limits import Limits

EXIF = Image.Exif()
EXIF[0x010E] = "a swatch"


def drawn(kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (37, 21), "red").save(stream, kind, **options)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF"])
def test_the_header_gives_the_size(kind: str) -> None:
    data = drawn(kind)
    assert image_size(data) == (37, 21)
    assert image_size(data[:9]) is None


@pytest.mark.parametrize("options", [{"lossless": False}, {"lossless": True}, {"exif": EXIF}])
def test_webp_of_every_kind(options: dict[str, object]) -> None:
    data = drawn("WEBP", **options)
    assert image_size(data) == (37, 21)
    assert image_size(data[:22]) is None


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow has no AVIF")
def test_avif() -> None:
    assert image_size(drawn("AVIF")) == (37, 21)


def test_pixels_are_not_decoded() -> None:
    header = b"IHDR" + struct.pack(">IIBBBBB", 90_000, 90_000, 8, 2, 0, 0, 0)
    body = b"\0\0\0\x0d" + header + struct.pack(">I", zlib.crc32(header)) + b"\0\0\xff\xffIDATnot pixels at all"
    assert image_size(b"\x89PNG\r\n\x1a\n" + body, Limits(image_pixels=None)) == (90_000, 90_000)
    webp = bytearray(drawn("WEBP", exif=EXIF))
    assert webp[12:16] == b"VP8X"
    webp[24:30] = b"\xff\xff\xff\xff\xff\xff"
    assert image_size(bytes(webp), Limits(image_pixels=None)) == (2**24, 2**24)


def test_too_many_pixels_are_an_error() -> None:
    data = drawn("PNG")
    assert image_size(data, Limits(image_pixels=37 * 21)) == (37, 21)
    with pytest.raises(LimitExceeded, match="--limit image-pixels="):
        image_size(data, Limits(image_pixels=37 * 21 - 1))


@pytest.mark.parametrize(
    "data", [b"", b"text", b"<svg width='9' height='9'/>", drawn("ICO"), b"%PDF-1.7", drawn("PPM"), b"RIFF\0\0\0\0WEBP"]
)
def test_what_is_not_on_the_list_is_not_opened(data: bytes) -> None:
    assert image_size(data) is None


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"]), st.data())
def test_damage_gives_no_size_or_some_size(kind: str, data: st.DataObject) -> None:
    image = bytearray(drawn(kind))
    for _ in range(3):
        image[data.draw(st.integers(0, min(len(image), 300) - 1))] = data.draw(st.integers(0, 255))
    try:
        size = image_size(bytes(image[: data.draw(st.integers(0, len(image)))]))
    except LimitExceeded:
        return
    assert size is None or min(size) >= 0


def test_odd_metadata_is_not_talked_about() -> None:
    # The log's last resort is a handler of the process, which the test runner replaces.
    code = (
        "import sys\n"
        "from loomconv.media.images import image_size\n"
        "print(image_size(sys.stdin.buffer.read()), 'PIL' in sys.modules)\n"
    )
    odd = bytearray(drawn("TIFF"))
    at = odd.index(b"\x15\x01\x03\x00")
    odd[at + 8 : at + 10] = b"\xff\xff"
    done = subprocess.run([sys.executable, "-c", code], input=bytes(odd), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"None True\n", b"")


def test_pillow_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, loomconv.media.images, loomconv.media.check; print('PIL' in sys.modules, 'magic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False False\n"
