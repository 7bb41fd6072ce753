"""Text files as bytes."""

from __future__ import annotations

__all__ = ["encode_text"]


def encode_text(text: str) -> bytes:
    """UTF-8. Bytes that `ReadContext.load_text` kept as lone surrogates are themselves again; other lone surrogates,
    which a format that cannot hold them should declare, are written as three bytes each."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return b"".join(_encoded(character) for character in text)


def _encoded(character: str) -> bytes:
    how = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return character.encode("utf-8", how)
