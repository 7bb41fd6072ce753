"""Objects nested in one another, as many apps keep their texts, taken apart and put together without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from loomconv.jsontext import Layout
from loomconv.model.document import Tree
from loomconv.model.types import Node

__all__ = ["Nested", "flat_when_deep", "nest", "unnest"]

_DEEPEST_INDENTED: Final = 500


class Nested:
    """One item of nested lists, on the way down.

    `item` is the value as it is in the file, of whatever type. `above` is what it stands in, None at the top. `depth`
    is 1 at the top. `node_id` is for whoever reads: set it to the id that the item's node got, and the items below can
    ask `above.node_id`. Set `skip` to leave out what is below.
    """

    __slots__ = ("above", "depth", "item", "node_id", "skip")

    def __init__(self, item: Any, above: Nested | None) -> None:
        self.item = item
        self.above = above
        self.depth: int = 1 if above is None else above.depth + 1
        self.node_id: str = ""
        self.skip = False


def unnest(items: list[Any], key: str) -> Iterator[Nested]:
    """The items and those below them, under `key`, at any depth: what is above before what is below, in file order.

    That is the order in which a `TreeBuilder` wants nodes and edges. What is no list under `key` is passed over.
    """
    waiting = [Nested(item, None) for item in reversed(items)]
    while waiting:
        current = waiting.pop()
        yield current
        below = current.item.get(key) if isinstance(current.item, dict) else None
        if isinstance(below, list) and not current.skip:
            waiting += [Nested(item, current) for item in reversed(below)]


def flat_when_deep(layout: Layout, tree: Tree) -> Layout:
    """The layout, but without indentation when the tree has more than 500 levels: a nested file would grow with the
    square of the depth. Name the layout without indentation in `Format.further_layouts` then."""
    if layout.indent is None or len(tree.nodes) <= _DEEPEST_INDENTED:
        return layout
    deepest = max(tree.graph.depths(tree.root_ordinals), default=0)
    return replace(layout, indent=None) if deepest > _DEEPEST_INDENTED else layout


def nest(tree: Tree, key: str, item_of: Callable[[Node], dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of a strict tree's roots, each with those of its children in a list under `key`, at any depth.

    `item_of` makes the object of one node. Where it has a list under `key` already, that is what is filled; a node that
    has children gets a list there whatever else it had.
    """
    roots: list[dict[str, Any]] = []
    items: dict[int, dict[str, Any]] = {}
    for ordinal in tree.graph.walk(tree.root_ordinals):
        items[ordinal] = item = item_of(tree.nodes[tree.nodes.ids[ordinal]])
        parent = tree.graph.parent[ordinal]
        if parent not in items:
            roots.append(item)
            continue
        above = items[parent]
        if not isinstance(above.get(key), list):
            above[key] = []
        above[key].append(item)
    return roots
