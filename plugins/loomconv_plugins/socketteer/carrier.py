"""The pivot's `extensions` in the app's files: one key `openloom`, at top level and on nodes (dossier §4.3).

It holds what other formats keep, and under our own namespace the *mark*: what an entry cannot say of the core. The app
keeps it as it is, but reads it with Python's JSON reader, which fails on huge numbers and deep nesting and respells
others; a carrier with such things goes in as a text.
"""

from __future__ import annotations

from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LoomconvError
from loomconv_plugins.socketteer.facts import CARRIER, NAMESPACE, Raw

__all__ = ["pack", "unpack"]

# The only key of a mark that holds a whole carrier as JSON text.
_AS_TEXT: Final = "json"
_MOST_LEVELS: Final = 50
# Python refuses to read integers of more than 4300 digits.
_MOST_BITS: Final = 14_000


def pack(others: dict[str, Any], mark: Raw) -> dict[str, Any] | None:
    """The carrier of these extensions and this mark; None when there is nothing to carry."""
    carried = {**others, NAMESPACE: mark} if mark else dict(others)
    if not carried:
        return None
    if _is_plain(carried):
        return carried
    return {NAMESPACE: {_AS_TEXT: jsontext.encode(carried).decode("utf-8", "surrogatepass")}}


def unpack(raw: Raw) -> tuple[dict[str, Any], Raw]:
    """The extensions that an object of the file carries, without ours, and our mark; both empty for any other value."""
    carrier = raw.get(CARRIER)
    if not isinstance(carrier, dict):
        return {}, {}
    mark = carrier.get(NAMESPACE, {})
    if isinstance(mark, dict) and len(carrier) == 1 and mark.keys() == {_AS_TEXT}:
        carrier = _decoded(mark[_AS_TEXT])
        mark = carrier.get(NAMESPACE, {})
    if not isinstance(mark, dict):
        return {}, {}
    return {key: value for key, value in carrier.items() if key != NAMESPACE}, mark


def _decoded(text: Any) -> dict[str, Any]:
    try:
        value = jsontext.decode(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except LoomconvError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_plain(carried: dict[str, Any]) -> bool:
    """Whether the app can read the value and writes it as it was."""
    level: list[Any] = [carried]
    for _ in range(_MOST_LEVELS):
        below: list[Any] = []
        for container in level:
            for value in container.values() if type(container) is dict else container:
                kind = type(value)
                if kind is dict or kind is list:
                    below.append(value)
                elif kind is jsontext.ExactFloat or (kind is int and value.bit_length() > _MOST_BITS):
                    return False
        if not below:
            return True
        level = below
    return False
