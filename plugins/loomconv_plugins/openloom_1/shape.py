"""The shape of the file: names of keys, the stash's own names, and what values count as ids or as equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from loomconv.jsontext import ExactFloat

__all__ = [
    "MISSING",
    "NAMESPACE",
    "NODE_KEYS",
    "TREE_KEYS",
    "TREE_VALUE_KEYS",
    "VALUE_KEYS",
    "difference",
    "id_of",
    "own_part",
    "same_json",
]

NAMESPACE: Final = "openloom-1"

# Keys of a node but for its links and `extensions`, in the order in which they are written.
VALUE_KEYS: Final = ("id", "text", "author", "modelId", "createdTime", "isBookmarked", "bookmarkTitle")
NODE_KEYS: Final = frozenset({*VALUE_KEYS, "parentId", "childrenIds", "rememberedChildId", "extensions"})
# Keys of the tree but for its nodes and `extensions`.
TREE_VALUE_KEYS: Final = (
    "id",
    "title",
    "description",
    "systemMessage",
    "lastModified",
    "rootNodeId",
    "currentNodeId",
)
TREE_KEYS: Final = frozenset({*TREE_VALUE_KEYS, "nodes", "bookmarkedNodes", "extensions"})


class _Missing:
    """The class of `MISSING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


# Stands for the value of a key that is not there, where null is a value.
MISSING: Final = _Missing()


def id_of(value: Any) -> str | None:
    """The id that a value of the file names: a text, or a whole number with every digit; else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def own_part(extensions: Any) -> dict[str, Any]:
    """What stands under this format's key in an `extensions` object; empty when there is none that makes sense."""
    own = extensions.get(NAMESPACE) if isinstance(extensions, dict) else None
    return own if isinstance(own, dict) else {}


def difference(raw: dict[str, Any], base: dict[str, Any], keys: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """What `raw` has otherwise than `base` under the given keys, and which of them it lacks: the stash, minimal."""
    keys = tuple(keys)
    other = {key: raw[key] for key in keys if key in raw and not (key in base and same_json(raw[key], base[key]))}
    return other, [key for key in keys if key in base and key not in raw]


def same_json(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON, spelling of numbers included and order of keys aside. Iterative."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is str or kind is int or kind is bool or a is None:
        return bool(a == b)
    pairs = [(a, b)]
    for x, y in pairs:
        if type(x) is not type(y):
            return False
        if isinstance(x, dict):
            if x.keys() != y.keys():
                return False
            pairs.extend((value, y[key]) for key, value in x.items())
        elif isinstance(x, list):
            if len(x) != len(y):
                return False
            pairs.extend(zip(x, y, strict=True))
        elif isinstance(x, ExactFloat):
            if x.token != y.token:
                return False
        elif x != y or (isinstance(x, float) and repr(x) != repr(y)):
            return False
    return True
