"""The size of an image, from its header alone, and whether it is a sound one; no pixel is ever decoded."""

from __future__ import annotations

import importlib
import io
import struct
import warnings
import zlib
from functools import cache
from typing import Any

from loomconv.media.sniff import sniff
from loomconv.storage.limits import Limits

__all__ = ["image_fault", "image_size"]

# Pillow's readers that look at the header and decode no pixels, one for each type that is let in. Image.open is not
# used: it tries more formats than these, and its pixel limit is a setting of the whole process. GIF and WebP are read
# here, since Pillow goes on to the first frame or allocates the canvas. Left out: ICO, whose reader decodes; SVG, which
# is a program's input, not a picture.
_READERS = {
    "image/png": ("PIL.PngImagePlugin", "PngImageFile"),
    "image/jpeg": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "image/bmp": ("PIL.BmpImagePlugin", "BmpImageFile"),
    "image/tiff": ("PIL.TiffImagePlugin", "TiffImageFile"),
    "image/avif": ("PIL.AvifImagePlugin", "AvifImageFile"),
}
# What Pillow's readers raise for broken headers.
_BROKEN = (
    SyntaxError,
    ValueError,
    OSError,
    OverflowError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    EOFError,
    struct.error,
    zlib.error,
)


def image_size(data: bytes, limits: Limits | None = None) -> tuple[int, int] | None:
    """Width and height in pixels of PNG, JPEG, GIF, BMP, TIFF, AVIF (if Pillow has it) and WebP; None for all else.

    None also for a broken header. Nothing is decoded. Raises LimitExceeded (`image_pixels`).
    """
    limits = limits or Limits()
    mime = sniff(data)
    if mime == "image/webp":
        size = _webp_size(data)
    elif mime == "image/gif":
        size = _gif_size(data)
    elif mime in _READERS:
        size = _ask_pillow(data, *_READERS[mime])
    else:
        return None
    if size is not None and limits.image_pixels is not None and size[0] * size[1] > limits.image_pixels:
        raise limits.exceeded("image_pixels", "the number of pixels of an image", needed=size[0] * size[1])
    return size


def image_fault(data: bytes) -> str | None:
    """What is wrong with an image, as a clause, as far as that is seen without decoding it; None for a sound one.

    Looked at are the header, and the checksums of a PNG. None, too, for what is no image that is opened here.
    """
    mime = sniff(data)
    if mime == "image/webp":
        return None if _webp_size(data) else _NO_HEADER
    if mime == "image/gif":
        return None if _gif_size(data) else _NO_HEADER
    if mime not in _READERS:
        return None
    module, reader = _READERS[mime]
    if _ask_pillow(data, module, reader) is None:
        # Without a reader for it (AVIF is optional) nothing is known.
        return _NO_HEADER if _reader(module, reader) is not None else None
    if mime != "image/png":
        return None
    factory = _reader(module, reader)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with factory(io.BytesIO(data)) as image:
                image.verify()
        except _BROKEN:
            return "a checksum in the image is wrong, or it ends too early"
    return None


_NO_HEADER = "the image's header cannot be read"


def _reader(module: str, reader: str) -> Any:
    try:
        return getattr(importlib.import_module(module), reader)
    except ImportError:
        return None


def _ask_pillow(data: bytes, module: str, reader: str) -> tuple[int, int] | None:
    _keep_pillow_quiet()
    factory = _reader(module, reader)
    if factory is None:
        return None
    with warnings.catch_warnings():
        # Pillow warns of odd metadata, which says nothing about the size.
        warnings.simplefilter("ignore")
        try:
            with factory(io.BytesIO(data)) as image:
                width, height = image.size
        except _BROKEN:
            return None
    return int(width), int(height)


@cache
def _keep_pillow_quiet() -> None:
    """Keep Pillow's log off stderr where nobody has set up logging; those who have still get it."""
    import logging

    logging.getLogger("PIL").addHandler(logging.NullHandler())


def _gif_size(data: bytes) -> tuple[int, int] | None:
    """The logical screen, which is what a GIF calls its size."""
    if len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """By RFC 9649: a lossy, a lossless or an extended header follows at byte 12."""
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a" and len(body) == 10:
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    if kind == b"VP8L" and body[:1] == b"\x2f" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(body) == 10:
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    return None
