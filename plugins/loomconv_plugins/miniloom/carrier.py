"""What the app has no place for, on the root: `finishReason` = `{"openloom": {…}}` (dossier §5).

It holds the extensions of document and tree (without our own), and by key of node: its `id`, its extensions, and marks.
The app keeps the object as it is, but reads and writes it as JavaScript does; what would not survive that goes in as a
text.
"""

from __future__ import annotations

from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LoomconvError
from loomconv_plugins.miniloom.facts import CARRIER, Raw

__all__ = ["pack", "unpack"]

# The only key of a carrier that holds a whole one as JSON text.
_AS_TEXT: Final = "json"


def pack(carried: Raw, reason: Any) -> Any:
    """The root's `finishReason` for what is to be carried, beside the reason that it has itself."""
    if not carried:
        return reason
    if reason is not None:
        carried = {**carried, "finishReason": reason}
    if not _survives(carried):
        carried = {_AS_TEXT: jsontext.encode(carried).decode("utf-8", "surrogatepass")}
    return {CARRIER: carried}


def unpack(reason: Any) -> tuple[Raw, Any]:
    """What a root's `finishReason` carries, and the reason beside it."""
    carried = reason.get(CARRIER) if isinstance(reason, dict) and reason.keys() == {CARRIER} else None
    if isinstance(carried, dict) and carried.keys() == {_AS_TEXT} and isinstance(carried[_AS_TEXT], str):
        try:
            carried = jsontext.decode(carried[_AS_TEXT].encode("utf-8", "surrogatepass"))
        except LoomconvError:
            carried = None
    if not isinstance(carried, dict):
        return {}, reason
    return {key: value for key, value in carried.items() if key != "finishReason"}, carried.get("finishReason")


def _survives(carried: Raw) -> bool:
    """Whether JavaScript reads the value and writes it the same: numbers, order of keys and depth included."""
    waiting: list[tuple[Any, int]] = [(carried, 0)]
    while waiting:
        value, level = waiting.pop()
        if isinstance(value, dict):
            if level > 100 or (level > 1 and any(key.isdecimal() or key == "__proto__" for key in value)):
                return False
            waiting.extend((each, level + 1) for each in value.values())
        elif isinstance(value, list):
            waiting.extend((each, level + 1) for each in value)
        elif (
            isinstance(value, jsontext.ExactFloat)
            or (type(value) is int and abs(value) >= 2**53)
            or (type(value) is float and not (value % 1 and 1e-4 <= abs(value) < 1e16))
        ):
            return False
    return True
