"""Deterministic ULIDs (OL2-3.2-ulid, A38): the same input gives the same id on every machine."""

from __future__ import annotations

import hashlib

__all__ = ["mint_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def mint_ulid(*seed: str, milliseconds: int = 0) -> str:
    """A ULID: 48 bits of time (0 when unknown), 80 bits of SHA-256 over the seed. 26 characters, Crockford base32."""
    hashed = hashlib.sha256("\x00".join(seed).encode("utf-8", "surrogatepass")).digest()
    number = (max(0, milliseconds) & (1 << 48) - 1) << 80 | int.from_bytes(hashed[:10], "big")
    digits = []
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
