"""The quick way to write nodes that the file's own keys hold completely; the others go through the lens.

Both ways give the same object.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from loomconv import jsontext
from loomconv_plugins.openloom_1.dates import LATEST_REFERENCE_SECOND, from_own_iso
from loomconv_plugins.openloom_1.node_values import NO_NAMES
from loomconv_plugins.openloom_1.shape import NAMESPACE

__all__ = ["WrittenNode", "encode_node", "quick_node"]

_LATEST_MS = LATEST_REFERENCE_SECOND * 1000
_NO_DATE = Raw(b'{"openloom-1":{"createdTimeUnknown":true}}')


class WrittenNode(msgspec.Struct, gc=False):
    """The object of a node in the order in which it is written; what is unset is left out."""

    id: str
    text: str
    author: str
    modelId: str  # noqa: N815
    createdTime: int | float  # noqa: N815
    parentId: str | UnsetType  # noqa: N815
    childrenIds: list[str]  # noqa: N815
    rememberedChildId: str | UnsetType  # noqa: N815
    isBookmarked: bool  # noqa: N815
    bookmarkTitle: str | UnsetType  # noqa: N815
    extensions: Raw | UnsetType


# Compact JSON of a written node; raises UnicodeEncodeError for half a character.
encode_node = msgspec.json.Encoder().encode


def quick_node(
    node_id: str, node: dict[str, Any], parent: str | UnsetType, children: list[str], remembered: str | UnsetType
) -> WrittenNode | None:
    """The object of a node that needs no mark but that of a missing time, and has nothing in its stash but a number for
    its time, and the child that it remembers; else None.

    `remembered` is the child that it is said to remember if the stash has none.
    """
    try:
        (block,) = node["content"]
        text = block["text"]
        said = _said_by(node)
    except (KeyError, ValueError):
        return None
    if said is None or len(block) != 2 or type(text) is not str:
        return None
    keys = said[2]
    milliseconds = None
    number: float = 0
    extensions: Raw | UnsetType = _NO_DATE
    if "createdAt" in node:
        keys += 1
        created = node["createdAt"]
        milliseconds = from_own_iso(created) if type(created) is str else None
        if milliseconds is None or not 0 <= milliseconds <= _LATEST_MS:
            return None
        number = milliseconds / 1000 if milliseconds % 1000 else milliseconds // 1000
        extensions = UNSET
    if "extensions" in node:
        keys += 1
        kept = _quick_extensions(node["extensions"], milliseconds, number, remembered)
        if kept is None:
            return None
        number, remembered, extensions = kept
        if remembered is not UNSET and remembered not in children:
            return None
    marked, label = False, UNSET
    if "meta" in node:
        keys += 1
        meta = node["meta"]
        marked, label = True, meta.get("bookmarkLabel")
        if len(meta) != 2 or meta.get("bookmarked") is not True or type(label) is not str:
            return None
    if len(node) != keys:
        return None
    return WrittenNode(node_id, text, said[0], said[1], number, parent, children, remembered, marked, label, extensions)


def _said_by(node: dict[str, Any]) -> tuple[str, str, int] | None:
    """`author`, `modelId` and the number of keys so far, where that says all; else None. KeyError without an author."""
    author = node["author"]
    role = author["role"]
    if role == "model" and len(author) == 1:
        if "generation" not in node:
            return "assistant", "", 3
        generation = node["generation"]
        model = generation["model"]
        return ("assistant", model, 4) if len(generation) == 1 and type(model) is str and model else None
    if role == "human":
        if len(author) == 1:
            return "user", "User", 3
        name = author["name"]
        return ("user", name, 3) if len(author) == 2 and type(name) is str and name not in NO_NAMES else None
    return ("system", "", 3) if role == "system" and len(author) == 1 else None


def _quick_extensions(
    extensions: Any, milliseconds: int | None, number: float, remembered: str | UnsetType
) -> tuple[float, str | UnsetType, Raw | UnsetType] | None:
    """The number for the time, the remembered child, and other apps' part as JSON; None when the stash has more."""
    if type(extensions) is not dict or not extensions:
        return None
    if NAMESPACE not in extensions:
        return number, remembered, _encoded(extensions, milliseconds)
    stash = extensions[NAMESPACE]
    left = len(stash) if type(stash) is dict else 0
    if not left:
        return None
    if "createdTime" in stash:
        left -= 1
        number = stash["createdTime"]
        if type(number) is not float or number < 1:
            return None
        micro = int(number * 1e6 + 0.5)
        if micro // 1000 != milliseconds or micro / 1e6 != number:
            return None
    if "rememberedChildId" in stash:
        left -= 1
        remembered = stash["rememberedChildId"]
        if type(remembered) is not str:
            return None
    if left:
        return None
    others = {key: value for key, value in extensions.items() if key != NAMESPACE}
    return number, remembered, _encoded(others, milliseconds)


def _encoded(others: dict[str, Any], milliseconds: int | None) -> Raw | UnsetType:
    """Other apps' part, and the mark of a time that is not there."""
    if milliseconds is not None:
        return Raw(jsontext.encode(others)) if others else UNSET
    return Raw(jsontext.encode({**others, NAMESPACE: {"createdTimeUnknown": True}})) if others else _NO_DATE
