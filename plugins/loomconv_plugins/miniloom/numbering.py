"""Which number each node gets, and which parent it has in the file."""

from __future__ import annotations

from typing import Any

from loomconv.model import Tree
from loomconv.model.record import extensions_of
from loomconv_plugins.miniloom.facts import NAMESPACE, ROOT, Raw
from loomconv_plugins.miniloom.store import key_of, merged_children

__all__ = ["Numbering", "own_stash"]


def own_stash(holder: Any) -> Raw:
    """What this format keeps with a node or a tree; empty when there is nothing of the kind."""
    stash = extensions_of(holder).get(NAMESPACE)
    return stash if isinstance(stash, dict) else {}


def _is_message(node: Any) -> bool:
    """Whether the node says no more than a message of an entry can; else it needs an entry of its own."""
    content = node["content"]
    return (
        node.keys() <= {"id", "content", "author", "editedFrom", "extensions"}
        and (node.get("extensions") or {}).keys() <= {NAMESPACE}
        and own_stash(node).keys() <= {"message"}
        and node["author"].keys() == {"role"}
        and len(content) == 1
        and content[0].keys() == {"type", "text"}
    )


class Numbering:
    """Keys of the nodes of a tree, contiguous from "2" on (dossier §3), their parents in the file, and their order.

    Messages that one node of the file made are one again when they still stand in a row: then `group` of the last one
    has all their ordinals. `above` is the parent in the file: the former one of a grafted node as long as that is there
    and makes no ring, else the one that the node visibly has.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.graph = tree.graph
        self.stashes: list[Raw] = [own_stash(node) for node in tree.nodes.values()]
        self.group: dict[int, list[int]] = {}
        # The last ordinal of the group that each node belongs to.
        self.last: dict[int, int] = {}
        self._fold()
        self.members = [ordinal for ordinal in range(len(tree.nodes)) if ordinal in self.group]
        self.keys = self._number()
        self.visible = {ordinal: self._visible_parent(ordinal) for ordinal in self.members}
        self.above = self._parents()

    def _fold(self) -> None:
        ids = self.tree.nodes.ids
        for ordinal, stash in enumerate(self.stashes):
            count = stash.get("messages")
            row = [ordinal]
            if isinstance(count, int) and 1 < count <= len(ids):
                while len(row) < count:
                    parent = self.graph.parent[row[-1]]
                    if (
                        parent < 0
                        or self.graph.child_count(parent) != 1
                        or not _is_message(self.tree.nodes[ids[parent]])
                    ):
                        break
                    row.append(parent)
                row = row if len(row) == count else [ordinal]
            self.group[ordinal] = row[::-1]
        for row in list(self.group.values()):
            for inner in row[:-1]:
                self.group.pop(inner, None)
        self.last = {each: ordinal for ordinal, row in self.group.items() for each in row}

    def _number(self) -> dict[int, str]:
        """Native numbers stay where all of them fit; the others are given in depth-first order.

        (Not in the order of the nodes, which other formats change: a file has to come home with the numbers it had.)
        """
        ids = self.tree.nodes.ids
        free = set(range(2, len(self.members) + 2))
        keys: dict[int, str] = {}
        for ordinal in self.members:
            name = ids[self.group[ordinal][0]]
            if name.isascii() and name.isdecimal() and len(name) < 10 and name[0] != "0" and int(name) in free:
                free.discard(int(name))
                keys[ordinal] = name
        numbers = iter(sorted(free))
        for ordinal in self.graph.walk(self.tree.root_ordinals):
            if ordinal in self.group and ordinal not in keys:
                keys[ordinal] = str(next(numbers))
        return keys

    def _visible_parent(self, ordinal: int) -> int:
        parent = self.graph.parent[self.group[ordinal][0]]
        return -1 if parent < 0 else self.last.get(parent, -1)

    def _parents(self) -> dict[int, int]:
        """The former parent of a grafted node, unless a node would come to depend on itself by it."""
        by_id = {self.tree.nodes.ids[self.group[ordinal][0]]: ordinal for ordinal in self.members}
        above = dict(self.visible)
        for ordinal in self.members:
            named = key_of(self.stashes[ordinal].get("parent"))
            if named == ROOT:
                above[ordinal] = -1
            elif named in by_id and by_id[named] != ordinal:
                above[ordinal] = by_id[named]
        self.order = self._sorted(above)
        if len(self.order) < len(self.members):
            settled = set(self.order)
            above.update({ordinal: self.visible[ordinal] for ordinal in self.members if ordinal not in settled})
            self.order = self._sorted(above)
        return above

    def _sorted(self, above: dict[int, int]) -> list[int]:
        """Members behind both of their parents, the visible one and the one in the file; less those in rings."""
        waits: dict[int, int] = {}
        below: dict[int, list[int]] = {}
        for ordinal in self.members:
            parents = {above[ordinal], self.visible[ordinal]}
            waits[ordinal] = len(parents - {-1})
            for parent in parents:
                below.setdefault(parent, []).append(ordinal)
        ready = [ordinal for ordinal in reversed(self.members) if not waits[ordinal]]
        order = []
        while ready:
            ordinal = ready.pop()
            order.append(ordinal)
            for child in reversed(below.get(ordinal, ())):
                waits[child] -= 1
                if not waits[child]:
                    ready.append(child)
        return order

    def key(self, ordinal: int) -> str:
        """The key of a node, the root's for none."""
        return ROOT if ordinal < 0 else self.keys[ordinal]

    def children(self) -> dict[int, list[int]]:
        """Children in the file: visible ones in the order of siblings, former ones among them by number."""
        below: dict[int, list[int]] = {-1: []}
        for root in self.tree.root_ordinals:
            if self.above[self.last[root]] == -1:
                below[-1].append(self.last[root])
        for ordinal in self.members:
            listed = below.setdefault(ordinal, [])
            for child in self.graph.children(ordinal):
                member = self.last[child]
                if self.above[member] == ordinal == self.visible[member]:
                    listed.append(member)
        late: dict[int, list[int]] = {}
        for ordinal in self.members:
            if self.above[ordinal] != self.visible[ordinal]:
                late.setdefault(self.above[ordinal], []).append(ordinal)
        for parent, more in late.items():
            ordinals = {self.keys[each]: each for each in (*below[parent], *more)}
            keys = merged_children([self.keys[each] for each in below[parent]], [self.keys[each] for each in more])
            below[parent] = [ordinals[key] for key in keys]
        return below
