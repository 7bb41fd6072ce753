"""What an entity cannot say of the pivot, carried along under its `extensions`.

There the extensions of others stand as they are, and under our own name the *marks*: by key of the pivot's object what
reading gives (as a digest) and what it has to be. A mark counts as long as reading gives the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from loomconv import jsontext
from loomconv.model.record import extensions_of
from loomconv_plugins.aspen_grove.tables import NAMESPACE, same

__all__ = ["apply_marks", "carrier_of", "own_marks"]


def _digest(value: Any) -> str | None:
    """16 hex digits of a value, whatever the order of its keys (a database has its own)."""
    return None if value is None else hashlib.sha256(jsontext.encode(_sorted(value, 6))).hexdigest()[:16]


def _sorted(value: Any, levels: int) -> Any:
    if levels and isinstance(value, dict):
        return {key: _sorted(value[key], levels - 1) for key in sorted(value)}
    return [_sorted(each, levels - 1) for each in value] if levels and isinstance(value, list) else value


def own_marks(carrier: Any) -> dict[str, Any]:
    """Our part of what is carried."""
    own = carrier.get(NAMESPACE) if isinstance(carrier, dict) else None
    return own if isinstance(own, dict) else {}


def carrier_of(wanted: Mapping[str, Any], read: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What to carry so that an object that reads as `read` becomes the wanted one; empty for nothing."""
    carried = {name: value for name, value in extensions_of(wanted).items() if name != NAMESPACE}
    if "extensions" in wanted and not isinstance(wanted["extensions"], dict):
        more["extensions"] = wanted["extensions"]
    marks: dict[str, Any] = {}
    for key in (*wanted, *(key for key in read if key not in wanted)):
        differs = (key in wanted) != (key in read) or not same(wanted.get(key), read.get(key))
        if differs and key != "extensions":
            marks[key] = {"for": _digest(read.get(key)), **({"is": wanted[key]} if key in wanted else {})}
    ours, theirs = extensions_of(wanted).get(NAMESPACE), extensions_of(read).get(NAMESPACE)
    if _digest(ours) != _digest(theirs) or (NAMESPACE in extensions_of(wanted)) != (NAMESPACE in extensions_of(read)):
        more["stash"] = {"for": _digest(theirs), **({"is": ours} if NAMESPACE in extensions_of(wanted) else {})}
    if extensions_of(wanted) == {} and wanted.get("extensions") == {}:
        more["extensions"] = {}
    own = {**({"marks": marks} if marks else {}), **{key: value for key, value in more.items() if value is not None}}
    return {**carried, **({NAMESPACE: own} if own else {})}


def apply_marks(read: dict[str, Any], carrier: Any, *, ids: bool = False) -> dict[str, Any]:
    """The object as it was, from what reading gives and what was carried; with `ids` its id, too."""
    if not isinstance(carrier, dict):
        return read
    own = own_marks(carrier)
    marked = {key: value for key, value in read.items() if key != "extensions"}
    marks = own.get("marks")
    for key, mark in marks.items() if isinstance(marks, dict) else ():
        if (
            isinstance(mark, dict)
            and (ids or key != "id")
            and key != "extensions"
            and mark.get("for") == _digest(marked.get(key))
        ):
            if "is" in mark:
                marked[key] = mark["is"]
            else:
                marked.pop(key, None)
    ours = {name: value for name, value in extensions_of(read).items() if name == NAMESPACE}
    extensions = {name: value for name, value in carrier.items() if name != NAMESPACE}
    stash = own.get("stash")
    if isinstance(stash, dict) and stash.get("for") == _digest(ours.get(NAMESPACE)):
        ours = {NAMESPACE: stash["is"]} if "is" in stash else {}
    extensions |= ours
    if extensions:
        marked["extensions"] = extensions
    elif "extensions" in own:
        marked["extensions"] = own["extensions"]
    return marked
