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
    node_id: str, node: dict[str, Any], parent: str | None, children: list[str], ahead: str | None
) -> WrittenNode | None:
    """The object of a node that needs no marks and has nothing in its stash but a number for its time, else None.

    `ahead` is the child that leads to the current node, None when there is none.
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
        kept = _quick_extensions(node["extensions"], milliseconds)
        if kept is None:
            return None
        extensions, stashed = kept
        number = number if stashed is None else stashed
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
    remembered = ahead or children[0] if children else UNSET
    return WrittenNode(
        node_id,
        text,
        said[0],
        said[1],
        number,
        UNSET if parent is None else parent,
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


def _quick_extensions(extensions: Any, milliseconds: int) -> tuple[Raw | UnsetType, float | None] | None:
    """The other apps' part as JSON, and the number that the stash has for the time; None for any other stash."""
    if type(extensions) is not dict or not extensions:
        return None
    own = extensions.get(NAMESPACE)
    if own is None:
        return None if NAMESPACE in extensions else (Raw(jsontext.encode(extensions)), None)
    number = own.get("createdTime") if type(own) is dict and len(own) == 1 else None
    if type(number) is not float or number < 1 or plain_ms(number) != milliseconds:
        return None
    if len(extensions) == 1:
        return UNSET, number
    return Raw(jsontext.encode({key: value for key, value in extensions.items() if key != NAMESPACE})), number
