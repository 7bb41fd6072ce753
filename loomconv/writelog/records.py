"""How a record is spelled: one JSON object on one line."""

from __future__ import annotations

from typing import Any, Final

from loomconv import jsontext

__all__ = ["FORMAT", "VERSION", "commit_record", "encode_record"]

FORMAT: Final = "loom-write-log"
VERSION: Final = "1.0"


def encode_record(op: str, **members: Any) -> bytes:
    """The line of a record, line feed included; members that are None are left out."""
    record = {"op": op, **{name: value for name, value in members.items() if value is not None}}
    return jsontext.encode(record) + b"\n"


def commit_record(seq: int, records: int, digest: str) -> bytes:
    """The line of a commit: its number from 1, how many records it covers, and the digest of their lines."""
    return encode_record("commit", seq=seq, records=records, sha256=digest)
