"""How media were written before they were moved: a document's record of it (`extensions.loomconv.media`)."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from loomconv.errors import LoomconvError
from loomconv.media.data_uri import parse_data_uri
from loomconv.media.store import InlineMedium, Medium

__all__ = ["FormerMedia", "data_uri"]


def data_uri(header: str, medium: Medium) -> str:
    """All bytes of a medium behind a header such as `data:image/png;base64,`."""
    return header + base64.b64encode(medium.data()).decode()


class FormerMedia:
    """How media were written before, by the digest of their bytes: the document's record, and what is noted now.

    `headers` are those of `data:` URIs. `names` are references, one for each block in the order of the document, or a
    single one where all were the same. `others` are members of the bundle that no block refers to.
    """

    def __init__(self, record: Any) -> None:
        members = record if isinstance(record, dict) else {}
        headers, names, others = (members.get(key) for key in ("headers", "names", "others"))
        self.names: dict[str, list[str]] = {}
        self.headers = {key: each for key, each in _items(headers) if isinstance(each, str)}
        for key, each in _items(names):
            listed = each if isinstance(each, list) else [each]
            self.names[key] = [name for name in listed if isinstance(name, str)]
        self.others = dict(_members(others))
        self._turns: dict[str, int] = {}
        self._used_names: set[str] = set()
        self._used_headers: set[str] = set()
        self._added: dict[str, list[str]] = {}

    def __contains__(self, digest: str) -> bool:
        return digest in self.headers or digest in self.names

    def __bool__(self) -> bool:
        return bool(self.headers or self.names)

    def use_header(self, digest: str) -> str | None:
        """What stood before the bytes in a `data:` URI, which they come back to."""
        self._used_headers.add(digest)
        return self.headers.get(digest)

    def add(self, digest: str, name: str) -> None:
        """Note the reference of one more block."""
        self._added.setdefault(digest, []).append(name)

    def next_name(self, digest: str) -> str | None:
        """The former reference of the next block with these bytes."""
        names = self.names.get(digest)
        if not names:
            return None
        turn = self._turns.get(digest, 0)
        self._turns[digest] = turn + 1
        return names[min(turn, len(names) - 1)]

    def use_names(self, digest: str) -> None:
        """The references are those of the document again, and need not be noted any more."""
        self._used_names.add(digest)

    def to_json(self) -> dict[str, Any]:
        """The record to write: what was not used up, and what was added."""
        names = {key: each for key, each in self.names.items() if key not in self._used_names} | self._added
        listed = {key: each[0] if len(set(each)) == 1 else each for key, each in names.items() if each}
        headers = {key: each for key, each in self.headers.items() if key not in self._used_headers}
        # A list, since a name such as `notes/password` as a key would be taken for that of a secret.
        others = [{"member": key, "data": data_uri("data:;base64,", each)} for key, each in self.others.items()]
        parts = {"headers": headers, "names": listed, "others": others}
        return {key: each for key, each in parts.items() if each}


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _members(value: Any) -> Iterable[tuple[str, Medium]]:
    for each in value if isinstance(value, list) else ():
        name = each.get("member") if isinstance(each, dict) else None
        medium = _decoded(each.get("data")) if isinstance(name, str) else None
        if isinstance(name, str) and medium is not None:
            yield name, medium


def _decoded(value: Any) -> Medium | None:
    """A member that was set aside, None for what is none."""
    if not isinstance(value, str):
        return None
    try:
        return InlineMedium(parse_data_uri(value).data)
    except LoomconvError:
        return None
