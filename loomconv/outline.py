"""A small picture of a tree: its first nodes level by level, the way to the current node always among them."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass
from typing import Any, Final

from loomconv.model.document import Tree
from loomconv.model.nodes import plain_text
from loomconv.model.types import Node
from loomconv.privacy.secrets import drop_secrets

__all__ = ["OutlineLine", "Spread", "outline", "spread"]

_TEXT_SHOWN: Final = 80
_TEXT_READ: Final = 400


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """One line: a node with the start of its text, or (`node` None) how many further branches are not shown here.

    `indent` grows by one where a tree branches (also into several roots); `branch` marks a node that has siblings, any
    other one continues the line above. `below` counts nodes under this one when none of them is shown, and for a line
    without a node the branches that are left out.
    """

    node: str | None
    indent: int
    text: str = ""
    role: str = ""
    children: int = 0
    below: int = 0
    branch: bool = False
    on_path: bool = False
    current: bool = False

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a tree extends by first parents: ordinals level by level, each node's level (a root has 1), and its size.

    `size` counts a node with all that is below it. Nodes that no root leads to have level and size 0.
    """

    order: list[int]
    level: array[int]
    size: array[int]


def spread(tree: Tree) -> Spread:
    """Levels and sizes of all nodes; linear, at any depth."""
    graph, count = tree.graph, len(tree.nodes)
    level, size = array("q", bytes(8 * count)), array("q", bytes(8 * count))
    order = list(dict.fromkeys(tree.root_ordinals))
    for ordinal in order:
        level[ordinal] = 1
    for ordinal in order:
        for child in graph.children(ordinal):
            # With several parents the first one counts; two edges between the same nodes count once.
            if graph.parent[child] == ordinal and not level[child]:
                level[child] = level[ordinal] + 1
                order.append(child)
    for ordinal in reversed(order):
        size[ordinal] += 1
        if graph.parent[ordinal] >= 0 and level[ordinal] > 1:
            size[graph.parent[ordinal]] += size[ordinal]
    return Spread(order, level, size)


def outline(
    tree: Tree, extent: Spread | None = None, *, lines: int = 24, width: int = 4, levels: int = 10
) -> list[OutlineLine]:
    """The tree's first nodes in reading order: at most `lines` of them, `width` children a node and `levels` levels.

    The nodes on the way to the current one come first (as far as `levels` goes), the others level by level. Costs a
    decode of the nodes shown, and `spread` unless it is given.
    """
    return _Outliner(tree, extent or spread(tree), lines, width, levels).run()


class _Outliner:
    def __init__(self, tree: Tree, extent: Spread, lines: int, width: int, levels: int) -> None:
        self.tree = tree
        self.graph = tree.graph
        self.extent = extent
        self.width = width
        self.levels = levels
        current = tree.nodes.ordinals.get(tree.fields.get("currentNodeId", ""), -1)
        self.current = current
        self.path = set(self.graph.path(current)) if current >= 0 and extent.level[current] else set()
        self.shown = self._choose(lines)

    def _choose(self, lines: int) -> set[int]:
        level = self.extent.level
        shown = {ordinal for ordinal in self.path if level[ordinal] <= min(self.levels, lines)}
        roots = self.tree.root_ordinals
        queue = self._first(roots)
        for ordinal in queue:
            if len(shown) >= lines and ordinal not in shown:
                break
            shown.add(ordinal)
            if level[ordinal] < self.levels:
                queue.extend(self._first(self._children(ordinal)))
        return shown

    def _children(self, ordinal: int) -> list[int]:
        parent = self.graph.parent
        return [child for child in dict.fromkeys(self.graph.children(ordinal)) if parent[child] == ordinal]

    def _first(self, siblings: list[int]) -> list[int]:
        """The first few of several siblings, and the one that leads to the current node."""
        return [ordinal for position, ordinal in enumerate(siblings) if position < self.width or ordinal in self.path]

    def run(self) -> list[OutlineLine]:
        found: list[OutlineLine] = []
        # (ordinal, or minus the number of branches that are not shown; indent)
        roots = self.tree.root_ordinals
        stack = self._entries(roots, int(len(roots) > 1))
        while stack:
            ordinal, indent = stack.pop()
            if ordinal < 0:
                found.append(OutlineLine(None, indent, below=-ordinal, branch=True))
                continue
            children = self._children(ordinal)
            entries = self._entries(children, indent + (len(children) > 1))
            is_end = not any(entry[0] >= 0 for entry in entries)
            found.append(self._line(ordinal, indent, is_end=is_end))
            if not is_end:
                stack.extend(entries)
        return found

    def _entries(self, siblings: list[int], indent: int) -> list[tuple[int, int]]:
        """What is to be printed of some siblings, last first."""
        shown = [ordinal for ordinal in siblings if ordinal in self.shown]
        hidden = len(siblings) - len(shown)
        return [*([(-hidden, indent)] if hidden else []), *((ordinal, indent) for ordinal in reversed(shown))]

    def _line(self, ordinal: int, indent: int, *, is_end: bool) -> OutlineLine:
        node_id = self.tree.nodes.ids[ordinal]
        node = self.tree.nodes[node_id]
        parent = self.graph.parent[ordinal]
        siblings = len(self.tree.root_ordinals) if parent < 0 else len(self._children(parent))
        return OutlineLine(
            node=node_id,
            indent=indent,
            text=_start_of(node),
            role=node["author"]["role"],
            children=self.graph.child_count(ordinal),
            below=self.extent.size[ordinal] - 1 if is_end else 0,
            branch=siblings > 1,
            on_path=ordinal in self.path,
            current=ordinal == self.current,
        )


def _start_of(node: Node) -> str:
    """The start of a node's text on one line, or the types of its blocks when it has no text."""
    text = " ".join(plain_text(node)[:_TEXT_READ].split())
    if not text:
        return " ".join(f"[{block['type']}]" for block in node["content"][:4] if block["type"] != "text")
    if drop_secrets({"text": text}, keep=True)[1]:
        return "[a key or password]"
    return text if len(text) <= _TEXT_SHOWN else text[: _TEXT_SHOWN - 1] + "…"
