"""The quick way to write nodes that the file's own keys hold completely; the others go through the lens.

Both ways give the same object.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from loomconv import jsontext
from loomconv_plugins.openloom_1.dates import app_number, plain_ms
from loomconv_plugins.openloom_1.node_values import NO_NAMES
from loomconv_plugins.openloom_1.shape import NAMESPACE

__all__ = ["WrittenNode", "encode_node", "quick_node"]

_START_2001 = datetime(2001, 1, 1, tzinfo=UTC)


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
    """The object of a node that needs no marks and has nothing in its stash but a number for its time, and the child
    that it remembers; else None.

    `remembered` is the child that it is said to remember if the stash has none.
    """
    content, author = node["content"], node["author"]
    if len(content) != 1 or len(content[0]) != 2:
        return None
    text, created = content[0].get("text"), node.get("createdAt")
    if type(text) is not str or content[0].get("type") != "text" or created is None:
        return None
    keys = 4
    role, name = author["role"], author.get("name")
    if len(author) != 1 and (name is None or len(author) != 2):
        return None
    generation = node.get("generation")
    if generation is not None:
        keys += 1
    said = _said_by(role, name, generation)
    milliseconds = _quick_ms(created)
    if said is None or milliseconds is None:
        return None
    number: int | float = app_number(milliseconds)
    extensions: Raw | UnsetType = UNSET
    if "extensions" in node:
        keys += 1
        others = node["extensions"]
        if type(others) is not dict or not others:
            return None
        if NAMESPACE in others:
            stash = others[NAMESPACE]
            left = len(stash) if type(stash) is dict else 0
            if not left:
                return None
            if "createdTime" in stash:
                left -= 1
                number = stash["createdTime"]
                if type(number) is not float or number < 1 or plain_ms(number) != milliseconds:
                    return None
            if "rememberedChildId" in stash:
                left -= 1
                remembered = stash["rememberedChildId"]
                if remembered not in children:
                    return None
            if left:
                return None
            others = {key: value for key, value in others.items() if key != NAMESPACE} if len(others) > 1 else None
        if others is not None:
            extensions = Raw(jsontext.encode(others))
    marked, label = False, None
    if "meta" in node:
        keys += 1
        meta = node["meta"]
        label = meta.get("bookmarkLabel")
        marked = True
        if len(meta) != 2 or meta.get("bookmarked") is not True or type(label) is not str:
            return None
    if len(node) != keys:
        return None
    return WrittenNode(
        node_id,
        text,
        said[0],
        said[1],
        number,
        parent,
        children,
        remembered,
        marked,
        UNSET if label is None else label,
        extensions,
    )


def _said_by(role: str, name: Any, generation: Any) -> tuple[str, str] | None:
    """`author` and `modelId` where they say all, else None."""
    if role == "model":
        if name is not None:
            return None
        if generation is None:
            return "assistant", ""
        model = generation.get("model")
        return ("assistant", model) if len(generation) == 1 and type(model) is str and model else None
    if generation is not None:
        return None
    if role == "human":
        if name is None:
            return "user", "User"
        return ("user", name) if type(name) is str and name not in NO_NAMES else None
    return ("system", "") if role == "system" and name is None else None


def _quick_ms(created: Any) -> int | None:
    """Milliseconds since 2001 of a time in the pivot's own spelling that reads back from a plain number, else None."""
    size = len(created) if type(created) is str else 0
    if size == 24:
        if created[19] != "." or created[20:23] == "000":
            return None
    elif size != 20:
        return None
    if created[-1] != "Z" or created[10] != "T" or created[4] != "-" or created[13] != ":":
        return None
    try:
        since = datetime.fromisoformat(created) - _START_2001
    except ValueError:
        return None
    milliseconds = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
    return milliseconds if 0 <= milliseconds <= 1_500_000_000_000 else None
