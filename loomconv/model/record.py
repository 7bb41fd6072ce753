"""The hub's own corner of an object's extensions: `extensions.loomconv`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["NAMESPACE", "extensions_of", "own_record", "with_record", "without_members"]

NAMESPACE = "loomconv"


def extensions_of(holder: Mapping[str, Any]) -> dict[str, Any]:
    """The object's extensions; empty when there are none, or when they are no object. Do not change it."""
    extensions = holder.get("extensions")
    return extensions if isinstance(extensions, dict) else {}


def own_record(holder: Mapping[str, Any]) -> dict[str, Any]:
    """What the hub keeps with the object; empty when there is nothing of the kind. Do not change it."""
    record = extensions_of(holder).get(NAMESPACE)
    return record if isinstance(record, dict) else {}


def without_members(holder: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A copy of the object without these members of the hub's record; an emptied record goes, extensions likewise."""
    rest = {key: value for key, value in own_record(holder).items() if key not in names}
    others = {key: value for key, value in extensions_of(holder).items() if key != NAMESPACE}
    if rest:
        others[NAMESPACE] = rest
    copy = {key: value for key, value in holder.items() if key != "extensions"}
    if others:
        copy["extensions"] = others
    return copy


def with_record(holder: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """A copy of the object with these members in the hub's record, beside those that are there.

    Extensions, or a record, that are no object have to give way; they are kept in the record.
    """
    record = {**own_record(holder), **members}
    extensions = extensions_of(holder)
    given = holder.get("extensions")
    if given is not None and not isinstance(given, dict):
        record.setdefault("originalExtensions", given)
    if NAMESPACE in extensions and not isinstance(extensions[NAMESPACE], dict):
        record.setdefault("originalRecord", extensions[NAMESPACE])
    return {**holder, "extensions": {**extensions, NAMESPACE: record}}
