"""The strict look at one node: passes what is ordinary in one step, leaves everything else to the close look.

A node that passes has an id, text blocks, an author, proper times and flags, and nothing that the specification does
not know; it can stay the bytes that it is. How many strings it has is counted on the way, since the count is what proves
that no key is there twice.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

__all__ = ["ProbedNode", "probe_node", "string_count"]


class _Text(msgspec.Struct, forbid_unknown_fields=True, tag_field="type", tag="text"):
    text: str


class _Author(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    agentId: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815 - the specification's spelling
    name: str | msgspec.UnsetType = msgspec.UNSET


class _Meta(msgspec.Struct, forbid_unknown_fields=True):
    bookmarked: bool | msgspec.UnsetType = msgspec.UNSET
    bookmarkLabel: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815 - the specification's spelling
    pruned: bool | msgspec.UnsetType = msgspec.UNSET
    excluded: bool | msgspec.UnsetType = msgspec.UNSET
    tags: list[str] | msgspec.UnsetType = msgspec.UNSET
    rating: int | msgspec.UnsetType = msgspec.UNSET
    note: str | msgspec.UnsetType = msgspec.UNSET


class ProbedNode(msgspec.Struct, forbid_unknown_fields=True):
    """A node that is nothing out of the ordinary."""

    id: str
    content: list[_Text]
    author: _Author
    createdAt: Annotated[datetime, msgspec.Meta(tz=True)] | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    editedFrom: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815 - the specification's spelling
    meta: _Meta | msgspec.UnsetType = msgspec.UNSET


probe_node = msgspec.json.Decoder(ProbedNode).decode


def string_count(node: ProbedNode) -> int:
    """How many strings the node's JSON has, keys included."""
    unset = msgspec.UNSET
    author, meta = node.author, node.meta
    count = 6 + 4 * len(node.content)
    if author.agentId is not unset:
        count += 2
    if author.name is not unset:
        count += 2
    if node.createdAt is not unset:
        count += 2
    if node.editedFrom is not unset:
        count += 2
    if meta is not unset:
        for value in msgspec.structs.astuple(meta):
            if value is not unset:
                count += 2 if type(value) is str else 1 + len(value) if type(value) is list else 1
        count += 1
    return count
