"""What bytes are, by their first few; and whether two names of types mean the same (A27).

A table of our own comes first: it is a thousand times faster than libmagic and gives the same answer on every machine.
What it does not know is asked of libmagic, where there is one.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Callable

__all__ = ["canonical_type", "file_suffix", "is_of_kind", "same_type", "sniff", "type_agrees"]

_HEAD = 4096
_MAGIC_HEAD = 64 * 1024

_PREFIXES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"heim": "image/heic",
    b"heis": "image/heic",
    b"hevc": "image/heic",
    b"hevx": "image/heic",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"M4P ": "audio/mp4",
    b"qt  ": "video/quicktime",
}
# Generic brands of still images; the kind stands among the compatible brands.
_GENERIC_BRANDS = (b"mif1", b"msf1", b"miaf")
# Possessive throughout: with backtracking a row of comments would cost exponential time.
_SVG = re.compile(
    rb"(?:<\?xml[^>]*+>|<!--.*?-->|<!DOCTYPE\s[^\[>]*+(?:\[[^\]]*+\])?+[^>]*+>|\s)*+<svg[\s>/]", re.DOTALL
)

_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/jfif": "image/jpeg",
    "image/x-png": "image/png",
    "image/apng": "image/png",
    "image/tif": "image/tiff",
    "image/x-bmp": "image/bmp",
    "image/x-ms-bmp": "image/bmp",
    "image/vnd.microsoft.icon": "image/x-icon",
    "image/ico": "image/x-icon",
    "image/icon": "image/x-icon",
    "image/avif-sequence": "image/avif",
    "image/heif": "image/heic",
    "image/heic-sequence": "image/heic",
    "image/heif-sequence": "image/heic",
    "image/svg": "image/svg+xml",
    "audio/mp3": "audio/mpeg",
    "audio/mpeg3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-pn-wav": "audio/wav",
    "audio/m4a": "audio/mp4",
    "audio/x-m4a": "audio/mp4",
    "audio/x-flac": "audio/flac",
    "audio/aacp": "audio/aac",
    "audio/x-aac": "audio/aac",
    "audio/x-hx-aac-adts": "audio/aac",
    "application/ogg": "audio/ogg",
    "application/x-gzip": "application/gzip",
    "application/x-zip-compressed": "application/zip",
    "application/x-pdf": "application/pdf",
}
# Containers whose first bytes do not say whether a picture is in them, or which of several vocabularies.
_FAMILIES = {
    "audio/mp4": "mp4",
    "video/mp4": "mp4",
    "video/quicktime": "mp4",
    "video/x-m4v": "mp4",
    "video/3gpp": "mp4",
    "audio/3gpp": "mp4",
    "audio/ogg": "ogg",
    "video/ogg": "ogg",
    "audio/opus": "ogg",
    "audio/vorbis": "ogg",
    "audio/webm": "webm",
    "video/webm": "webm",
    "audio/x-matroska": "webm",
    "video/x-matroska": "webm",
    "image/svg+xml": "xml",
    "text/xml": "xml",
    "application/xml": "xml",
}
# Types that always start with a signature of the table: bytes without one are something else.
_SIGNED = frozenset(
    {
        "application/pdf",
        "audio/flac",
        "audio/ogg",
        "audio/wav",
        "audio/webm",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/tiff",
        "image/webp",
    }
)
_OWN = frozenset({*(mime for _, mime in _PREFIXES), *_RIFF.values(), *_BRANDS.values(), *_SIGNED}) | {
    "audio/aac",
    "image/svg+xml",
    "image/x-icon",
    "video/mp4",
    "video/webm",
    "video/x-matroska",
}
# Suffixes of files (aspen-grove dossier §4, and what else the table knows).
_SUFFIXES = {
    "application/pdf": "pdf",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/webm": "weba",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tiff",
    "image/webp": "webp",
    "image/x-icon": "ico",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "webm",
}
# What libmagic answers when it does not know.
_NO_ANSWER = frozenset({"application/octet-stream", "application/x-empty", "inode/x-empty"})

_magic = threading.local()


def sniff(data: bytes) -> str | None:
    """The MIME type of `data`, lower case and without parameters; None if nothing knows it.

    By the table, then by libmagic if python-magic and the library are there. Reads the first 64 KiB at most, decodes
    nothing and never opens SVG.
    """
    head = data[:_HEAD]
    for prefix, mime in _PREFIXES:
        if head.startswith(prefix):
            return mime
    found = _riff(head) or _iso_media(head) or _matroska(head) or _other(head)
    return found or _ask_magic(data[:_MAGIC_HEAD])


def canonical_type(mime: str) -> str:
    """`mime` in lower case, without parameters, and by its usual name (`image/jpg` gives `image/jpeg`)."""
    plain = mime.partition(";")[0].strip().lower()
    return _ALIASES.get(plain, plain)


def is_of_kind(kind: str, mime: str | None) -> bool:
    """Whether bytes of a type can be the medium of an `image` or `audio` block; sound may come in film's containers."""
    if mime is None:
        return False
    found = canonical_type(mime)
    return found.startswith(f"{kind}/") or (kind == "audio" and _FAMILIES.get(found) in ("mp4", "ogg", "webm"))


def file_suffix(mime: str | None) -> str:
    """The suffix, without its dot, of files of a type; `bin` for one that has none here."""
    return "bin" if mime is None else _SUFFIXES.get(canonical_type(mime), "bin")


def same_type(a: str, b: str) -> bool:
    """Whether two MIME types mean the same: letter case and parameters do not count, aliases are equal (A27)."""
    return canonical_type(a) == canonical_type(b)


def type_agrees(declared: str, sniffed: str | None) -> bool:
    """Whether bytes that `sniff` takes for `sniffed` may be called `declared`.

    Wider than `same_type`: sound and film share containers, and libmagic has names of its own for what the table does
    not know, where only the part before the slash is compared. None agrees with types that have no fixed signature.
    """
    declared = canonical_type(declared)
    if sniffed is None:
        return declared not in _SIGNED
    found = canonical_type(sniffed)
    if found == declared or (declared in _FAMILIES and _FAMILIES[declared] == _FAMILIES.get(found)):
        return True
    unnamed = declared not in _OWN and found not in _OWN
    return unnamed and found.partition("/")[0] == declared.partition("/")[0]


def _riff(head: bytes) -> str | None:
    return _RIFF.get(head[8:12]) if head.startswith((b"RIFF", b"RF64")) else None


def _iso_media(head: bytes) -> str | None:
    if head[4:8] != b"ftyp":
        return None
    brand = head[8:12]
    if brand in _GENERIC_BRANDS:
        end = min(int.from_bytes(head[:4]), 256)
        compatible = [head[at : at + 4] for at in range(16, end, 4)]
        kinds = [_BRANDS[b] for b in compatible if b in _BRANDS]
        return kinds[0] if kinds else "image/heic"
    return _BRANDS.get(brand, "video/mp4")


def _matroska(head: bytes) -> str | None:
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return None
    return "video/webm" if b"webm" in head[:64] else "video/x-matroska"


def _other(head: bytes) -> str | None:
    # "BM" alone begins many a text; the reserved fields and the size of the header that follows are fixed.
    if (
        head.startswith(b"BM")
        and head[6:10] == b"\0\0\0\0"
        and head[15:18] == b"\0\0\0"
        and head[14:15] in _BMP_HEADERS
    ):
        return "image/bmp"
    if head.startswith(b"\0\0\1\0") and head[5:6] == b"\0" and head[4:5] != b"\0" and head[9:10] == b"\0":
        return "image/x-icon"
    if len(head) >= 4 and head[0] == 0xFF:
        return _mpeg_frame(head)
    text = head[3:] if head.startswith(b"\xef\xbb\xbf") else head
    return "image/svg+xml" if _SVG.match(text) else None


_BMP_HEADERS = tuple(bytes([size]) for size in (12, 40, 52, 56, 64, 108, 124))


def _mpeg_frame(head: bytes) -> str | None:
    """MP3 and AAC without a tag start with a frame: eleven set bits, then fields of which some values are reserved.

    Only layer III counts as MP3: with layer I the byte order mark of UTF-16 would be one.
    """
    second, third = head[1], head[2]
    if second & 0xF6 == 0xF0:
        return "audio/aac" if (third >> 2) & 0xF < 13 else None
    sync = second & 0xE0 == 0xE0 and second & 0x18 != 0x08 and second & 0x06 == 0x02
    return "audio/mpeg" if sync and third >> 4 != 0xF and third & 0x0C != 0x0C else None


def _ask_magic(data: bytes) -> str | None:
    if not data:
        return None
    if not hasattr(_magic, "ask"):
        _magic.ask = _open_magic()
    if _magic.ask is None:
        return None
    answer: str | None = _magic.ask(data)
    return None if answer in _NO_ANSWER else answer


def _open_magic() -> Callable[[bytes], str | None] | None:
    """libmagic for this thread (its handles must not be shared), or None where it is not installed."""
    try:
        import magic
    except ImportError:
        # It brings the library along, but changes the process for it; hence only where there is no other.
        try:
            importlib.import_module("pylibmagic")
            magic = importlib.import_module("magic")
        except ImportError:
            return None
    try:
        handle = magic.Magic(mime=True)
    except magic.MagicException:
        # The library without its database.
        return None

    def ask(data: bytes) -> str | None:
        try:
            return str(handle.from_buffer(data)).lower()
        except magic.MagicException:
            return None

    return ask
