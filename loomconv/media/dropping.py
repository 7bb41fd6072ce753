"""A document without its media: their words stand for them, also in what apps and earlier conversions keep with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, cast

from loomconv.media.blocks import MEDIA_TYPES, stand_in
from loomconv.media.data_uri import is_data_uri
from loomconv.model.document import Document, Tree
from loomconv.model.record import without_members
from loomconv.model.types import Node

__all__ = ["without_media"]

# Parts of a node that hold no media, or are evidence that is never touched.
_OTHERS: Final = frozenset({"id", "author", "createdAt", "editedFrom", "meta", "generation", "content"})
_EMBEDDED: Final = re.compile(r"data:(?:image|audio|video)/[^,\"\\\s]{0,200},[A-Za-z0-9+/=%_-]*", re.IGNORECASE)

# Is told the tree, the node, and the position of each block that went.
Teller = Callable[[Tree, str, int], None]


def without_media(document: Document, tell: Teller) -> Document:
    """A copy of the document without pictures and sounds; it is never the same bytes as before."""
    trees = []
    for tree in document.trees:
        for node_id, node in tree.nodes.items():
            for position, block in enumerate(node["content"]):
                if _is_medium(block):
                    tell(tree, node_id, position)
        nodes = tree.nodes.transformed(_bare)
        fields = {key: _scrubbed(value) for key, value in tree.fields.items()}
        trees.append(Tree(fields, nodes, tree.edges.over(nodes), tree.key_order))
    fields = {key: _scrubbed(value) for key, value in without_members(document.fields, "media").items()}
    return Document(fields, trees, document.key_order, document.origin, touched=True)


def _bare(node_id: str, node: Node) -> Node:
    content = [{"type": "text", "text": stand_in(block)} if _is_medium(block) else block for block in node["content"]]
    rest = {key: _scrubbed(value) for key, value in node.items() if key not in _OTHERS}
    return cast(Node, {**node, **rest, "content": content})


def _is_medium(block: dict[str, Any]) -> bool:
    reference = block.get("ref")
    return block["type"] in MEDIA_TYPES or (isinstance(reference, str) and is_data_uri(reference))


def _scrubbed(value: Any) -> Any:
    """A value in which no block of media and no embedded bytes are left; the very same one where there were none."""
    holder = [value]
    waiting: list[Any] = [holder]
    changed = False
    copy: Any = None
    while waiting:
        container = waiting.pop()
        for key, each in list(container.items() if isinstance(container, dict) else enumerate(container)):
            new = each
            if isinstance(each, str):
                new = _EMBEDDED.sub("", each) if "data:" in each.lower() else each
            elif isinstance(each, dict):
                is_block = isinstance(each.get("type"), str) and "ref" in each and _is_medium(each)
                new = {"type": "text", "text": stand_in(each)} if is_block else dict(each)
            elif isinstance(each, list):
                new = list(each)
            changed |= new is not each and new != each
            container[key] = new
            if isinstance(new, dict | list):
                waiting.append(new)
        copy = holder[0]
    return copy if changed else value
