"""Reads `data:` URIs (RFC 2397), bounded and in linear time."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from loomconv.errors import InvalidDocument
from loomconv.storage.limits import Limits

__all__ = ["DataUri", "decoded_size", "is_data_uri", "parse_data_uri"]

_LONGEST_HEADER = 1024
_SPACE = b" \t\r\n\f"
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
# A percent escape costs some fifty bytes while it is decoded, so that this is done in pieces.
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class DataUri:
    """A decoded `data:` URI. `mime` is as written but in lower case, None if absent (the RFC's default is not assumed).

    `parameters` has lower-case names; a parameter without a value has the value "".
    """

    mime: str | None
    data: bytes
    parameters: Mapping[str, str] = field(default_factory=dict)


def is_data_uri(ref: str) -> bool:
    """Whether `ref` has the scheme `data:`, in any letter case."""
    return ref[:5].lower() == "data:"


def parse_data_uri(ref: str, limits: Limits | None = None) -> DataUri:
    """Decode `ref`. The size is checked before decoding.

    Base64 is read as RFC 2045 and 4648 have it: only the standard alphabet, nothing after the padding. Three things
    are let pass which change no byte: white space (writers fold lines), percent escapes, and padding that is missing
    altogether. In the other form, characters outside ASCII stand for their UTF-8, and a percent sign which starts no
    escape is an error. Raises InvalidDocument (not a `data:` URI, or broken), LimitExceeded (`medium_bytes`).
    """
    limits = limits or Limits()
    if not is_data_uri(ref):
        raise _broken("is not a data: URI")
    comma = ref.find(",", 5, 5 + _LONGEST_HEADER)
    if comma < 0:
        raise _broken("has no comma after its type")
    mime, parameters, is_base64 = _parse_header(ref[5:comma])
    payload = _payload(ref, comma + 1)
    if is_base64:
        return DataUri(mime, _decode_base64(payload, limits), parameters)
    _check_size(len(payload) - 2 * payload.count(b"%"), limits)
    return DataUri(mime, _unescape(payload), parameters)


def decoded_size(ref: str) -> int:
    """About how many bytes a `data:` URI holds, without decoding it."""
    comma = ref.find(",", 5, 5 + _LONGEST_HEADER)
    size = len(ref) - comma - 1
    return size * 3 // 4 if ref[:comma].lower().endswith(";base64") else size


def _parse_header(header: str) -> tuple[str | None, dict[str, str], bool]:
    first, *rest = header.split(";")
    is_base64 = bool(rest) and rest[-1].strip().lower() == "base64"
    if is_base64:
        rest.pop()
    parameters = {}
    for part in rest:
        name, _, value = part.partition("=")
        parameters[name.strip().lower()] = value.strip()
    return first.strip().lower() or None, parameters, is_base64


def _payload(ref: str, start: int) -> bytes:
    try:
        return ref[start:].encode()
    except UnicodeEncodeError:
        raise _broken("holds a lone surrogate") from None


def _decode_base64(payload: bytes, limits: Limits) -> bytes:
    if b"%" in payload:
        payload = _unescape(payload)
    payload = payload.translate(None, _SPACE)
    digits = payload.rstrip(b"=")
    _check_size(len(digits) * 3 // 4, limits)
    missing = -len(digits) % 4
    if missing == 3 or len(payload) - len(digits) not in (0, missing):
        raise _broken("holds base64 of an impossible length")
    try:
        return binascii.a2b_base64(digits + b"=" * missing, strict_mode=True)
    except binascii.Error:
        raise _broken("holds what is not base64") from None


def _unescape(payload: bytes) -> bytes:
    if _BAD_ESCAPE.search(payload):
        raise _broken("holds a percent sign that starts no escape")
    if b"%" not in payload:
        return payload
    pieces = bytearray()
    start = 0
    while start < len(payload):
        end = min(start + _PIECE, len(payload))
        # No escape may be cut in two.
        cut = payload.find(b"%", end - 2, end)
        if cut >= 0 and end < len(payload):
            end = cut
        pieces += unquote_to_bytes(payload[start:end])
        start = end
    return bytes(pieces)


def _check_size(size: int, limits: Limits) -> None:
    if limits.medium_bytes is not None and size > limits.medium_bytes:
        raise limits.exceeded("medium_bytes", "the size of an embedded medium", needed=size)


def _broken(what: str) -> InvalidDocument:
    return InvalidDocument(f"the reference {what}", next_step="Export the file again, or mend the reference.")
