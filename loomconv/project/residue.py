"""Residue: what a projection took out, in the form in which it travels (`residue.schema.json`).

It lives under `extensions.loomconv` of the node, tree or document it came from:

    {"residue": {<key>: <original value>}, "written": {<key>: <digest of what was written, null when left out>}}

A key that has a digest and no original value was not there: it goes again.

A tree's record can also hold `edges` (see `pack_edges`), `nodes` that the target could not hold, `absent` (fields that
the target's reader makes up, with their digests), and the residue of the document. On the way back a key whose present
value still has the written digest gets its original value again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from loomconv import jsontext
from loomconv.model.record import own_record, with_record, without_members

__all__ = ["attach", "detach", "digest"]


def digest(value: Any) -> str | None:
    """16 hex digits of the SHA-256 over the value as compact JSON, its keys sorted; None for a value that is not there.

    Apps put keys in an order of their own. (Below eight levels the order counts.)
    """
    if value is None:
        return None
    text = _plain_text(value)
    return hashlib.sha256(jsontext.encode(_sorted(value, 8)) if text is None else text).hexdigest()[:16]


def _plain_text(value: Any) -> bytes | None:
    """The same text for a string and for an object of nothing but strings, which most values are; None for others."""
    if type(value) is str:
        return jsontext.encode_plain(value)
    if type(value) is not dict:
        return None
    for each in value.values():
        if type(each) is not str:
            return None
    return jsontext.encode_plain({key: value[key] for key in sorted(value)} if len(value) > 1 else value)


def _sorted(value: Any, levels: int) -> Any:
    if type(value) is dict and levels:
        return {key: _sorted(value[key], levels - 1) for key in sorted(value)}
    return [_sorted(each, levels - 1) for each in value] if type(value) is list and levels else value


def attach(holder: dict[str, Any], taken: dict[str, Any], added: Iterable[str] = (), **more: Any) -> dict[str, Any]:
    """A copy of the object with the taken values in its residue; `more` are further members of the record.

    `holder` is the object as it will be written: digests of what it has under the taken keys are recorded. Extensions
    that are null or empty give way to the record, and count as taken. `added` are keys that the original did not have.
    """
    if "extensions" in holder and not holder["extensions"]:
        taken = {**taken, "extensions": holder["extensions"]}
        holder = {key: value for key, value in holder.items() if key != "extensions"}
    keys = [*taken, *added]
    if keys:
        more = {"residue": taken, "written": {key: digest(holder.get(key)) for key in keys}, **more}
    return with_record(holder, **more)


def detach(holder: dict[str, Any], *names: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A copy of the object without these members of its record, and the members that were there.

    An emptied record goes, and so does an `extensions` object that held nothing else.
    """
    record = own_record(holder)
    found = {name: record[name] for name in names if name in record}
    if not found:
        return holder, {}
    return without_members(holder, *names), found
