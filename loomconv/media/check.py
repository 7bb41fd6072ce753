"""Checks the media of one content block: is there what it refers to, and is that what it says (A25, A27)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loomconv.errors import InvalidDocument, LimitExceeded, UnreadableFile
from loomconv.media.blocks import MEDIA_TYPES
from loomconv.media.data_uri import is_data_uri, parse_data_uri
from loomconv.media.sniff import is_of_kind, same_type, sniff, type_agrees
from loomconv.storage.incident import Incident
from loomconv.storage.limits import Limits
from loomconv.storage.member_names import is_elsewhere, unsafe_reason

__all__ = ["MediaChecker", "check_block", "shown_reference"]

# A single letter is a drive, not a scheme.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_USER = re.compile(r"(?<=//)[^/@]*@")
_MIME = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,60}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,60}")
_LONGEST_VALUE = 200


def check_block(
    block: Mapping[str, Any], *, head: Callable[[str], bytes | None], limits: Limits | None = None
) -> list[Incident]:
    """What is wrong with the media of one block: see `MediaChecker.check`, which is the one for many blocks."""
    return MediaChecker(head, limits).check(block)


class MediaChecker:
    """Checks the blocks of one document.

    `head` gives the first bytes of what a reference leads to, or None where it leads to nothing that may be read
    (`MediaStore.head`). It is asked once for each: a thousand blocks that share a picture cost one reading.
    """

    def __init__(self, head: Callable[[str], bytes | None], limits: Limits | None = None) -> None:
        self._head = head
        self._limits = limits or Limits()
        self._kind = "image"
        self._members: dict[str, _Looked | Incident] = {}

    def check(self, block: Mapping[str, Any]) -> list[Incident]:
        """What is wrong with the media of `block`, at most one incident; [] for other block types. Changes nothing.

        Kinds: `mime-mismatch` (the field `mimeType`, the type in a `data:` URI and the bytes do not agree: keep the
        block, do not unpack it under that type), `unsafe-path` (a reference that leaves the bundle), `missing-media`,
        `unresolved-media` (a URL or an app's own pointer, which is never fetched), `media-too-large`, `bad-data-uri`.
        The value is the reference, never the content of a `data:` URI.
        """
        if block.get("type") not in MEDIA_TYPES:
            return []
        ref = block.get("ref")
        if not isinstance(ref, str) or not ref:
            return [Incident("missing-media", "the block refers to no medium")]
        declared = block.get("mimeType")
        stated = declared if isinstance(declared, str) and declared else None
        self._kind = block["type"]
        if is_data_uri(ref):
            return self._check_data_uri(ref, stated)
        if ref not in self._members:
            self._members[ref] = self._look(ref)
        found = self._members[ref]
        return (
            [found]
            if isinstance(found, Incident)
            else _check_types(self._kind, stated, None, found, shown_reference(ref))
        )

    def _check_data_uri(self, ref: str, stated: str | None) -> list[Incident]:
        try:
            uri = parse_data_uri(ref, self._limits)
        except LimitExceeded as error:
            return [Incident("media-too-large", f"{error.message}; it was not looked at")]
        except InvalidDocument as error:
            return [Incident("bad-data-uri", error.message)]
        return _check_types(self._kind, stated, uri.mime, _Looked(not uri.data, sniff(uri.data)), None)

    def _look(self, ref: str) -> _Looked | Incident:
        try:
            data = self._head(ref)
        except LimitExceeded as error:
            return Incident("media-too-large", f"{error.message}; it was not looked at", shown_reference(ref))
        except UnreadableFile:
            return Incident("missing-media", "what the block refers to is damaged", shown_reference(ref))
        if data is None:
            missing = Incident("missing-media", "the file that the block refers to is not there", shown_reference(ref))
            return _check_reference(ref) or missing
        return _Looked(not data, sniff(data))


@dataclass(frozen=True, slots=True)
class _Looked:
    """What is remembered of a medium's bytes."""

    empty: bool
    sniffed: str | None


def _check_reference(ref: str) -> Incident | None:
    if _SCHEME.match(ref):
        message = "the block refers to something outside the file, which is not fetched"
        return Incident("unresolved-media", message, shown_reference(ref))
    if is_elsewhere(ref):
        message = "a file of that name is neither beside the loom nor in the folder for media"
        return Incident("unsafe-path", message, shown_reference(ref))
    reason = unsafe_reason(ref)
    if reason is not None:
        return Incident("unsafe-path", f"the block's reference is not followed: {reason}", shown_reference(ref))
    return None


def _check_types(
    kind: str, declared: str | None, in_uri: str | None, found: _Looked, value: str | None
) -> list[Incident]:
    claims = [claim for claim in (declared, in_uri) if claim is not None]
    labels_differ = declared is not None and in_uri is not None and not same_type(declared, in_uri)
    # Without a type of this kind on either side, the bytes must speak for themselves.
    is_fit = is_of_kind(kind, found.sniffed) or (
        found.sniffed is None and any(is_of_kind(kind, each) for each in claims)
    )
    if is_fit and not labels_differ and not found.empty and all(type_agrees(claim, found.sniffed) for claim in claims):
        return []
    if found.empty:
        really = "there are no bytes"
    elif found.sniffed is None:
        really = "the bytes are of no known type"
    else:
        really = f"the bytes are {_type_shown(found.sniffed)}"
    parts = []
    if declared is not None:
        parts.append(f"the block says {_type_shown(declared)}")
    if in_uri is not None:
        parts.append(f"its data: URI says {_type_shown(in_uri)}")
    return [Incident("mime-mismatch", ", ".join([*parts, really]), value)]


def _type_shown(mime: str) -> str:
    plain = mime.partition(";")[0].strip()
    return plain.lower() if _MIME.fullmatch(plain) else "something that is no type"


def shown_reference(ref: str) -> str | None:
    """The reference as a value for a report: no content, and none of the parts of a URL where secrets stand."""
    if is_data_uri(ref):
        return None
    if _SCHEME.match(ref):
        ref = _USER.sub("", re.split(r"[?#]", ref, maxsplit=1)[0], count=1)
    return ref if len(ref) <= _LONGEST_VALUE else f"{ref[: _LONGEST_VALUE - 1]}…"
