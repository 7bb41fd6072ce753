"""The digest that commits carry: a chain over the raw bytes of the lines."""

from __future__ import annotations

import hashlib

__all__ = ["Chain"]


class Chain:
    """SHA-256 over the lines since the previous commit, each link beginning with the digest of the one before.

    `digest()` = SHA-256(previous digest in hex, none for the first || every line with its line feed). The line of a
    commit belongs to no link; its digest does, as the beginning of the next.
    """

    __slots__ = ("_hash", "records", "seq")

    def __init__(self, previous: str = "", seq: int = 0) -> None:
        self.seq = seq
        self._restart(previous)

    def _restart(self, previous: str) -> None:
        self._hash = hashlib.sha256(previous.encode("utf-8", "surrogatepass"))
        self.records = 0

    def add(self, line: bytes) -> None:
        """Take in the raw bytes of one record's line, line feed included."""
        self._hash.update(line)
        self.records += 1

    def skip(self, line: bytes) -> None:
        """Take in the raw bytes of a line that is no record: padding, or an empty one."""
        self._hash.update(line)

    def digest(self) -> str:
        """The digest of the lines since the last commit, in hexadecimal."""
        return self._hash.hexdigest()

    def commit(self, digest: str, seq: int) -> None:
        """Begin the next link behind a commit."""
        self.seq = seq
        self._restart(digest)
