"""Deterministic ULIDs (OL2-3.2-ulid, A38): the same input gives the same id on every machine."""

from __future__ import annotations

import hashlib

__all__ = ["mint_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_TIME_SHIFTS = range(40, -1, -10)
_HASH_SHIFTS = range(70, -1, -10)


def mint_ulid(*seed: str, milliseconds: int = 0) -> str:
    """A ULID: 48 bits of time (0 when unknown), 80 bits of SHA-256 over the seed. 26 characters, Crockford base32."""
    hashed = hashlib.sha256("\x00".join(seed).encode("utf-8", "surrogatepass")).digest()
    random = int.from_bytes(hashed[:10], "big")
    time = (max(0, milliseconds) & (1 << 48) - 1) if milliseconds else 0
    # 26 digits of 5 bits, two at a time: 10 of the time, 16 of the hash.
    return "".join([_PAIRS[time >> shift & 1023] for shift in _TIME_SHIFTS] if time else ["0" * 10]) + "".join(
        [_PAIRS[random >> shift & 1023] for shift in _HASH_SHIFTS]
    )
