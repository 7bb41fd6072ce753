"""The difference of two looms by meaning, whatever their formats: `loomconv diff`.

Nodes are matched by id; what is left over by content and place, so that a copy with other ids is still the same loom.
Everything is linear in the size of the looms but the showing of two edited texts.
"""

from __future__ import annotations

import difflib
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from loomconv.compare import compare_values
from loomconv.model.document import Document, Tree
from loomconv.model.edges import CONTINUATION
from loomconv.model.nodes import plain_text

__all__ = ["Change", "LoomDifference", "compare_looms"]

# What can have become of something: of nodes, of a tree's or a document's field, of links beyond the parent.
Kind = Literal["added", "removed", "edited", "changed", "moved", "reordered", "linked"]

# Not part of the meaning: what apps and converters keep for themselves.
_NOT_MEANT: Final = frozenset({"id", "content", "extensions"})
_NOT_MEANT_OF_TREE: Final = frozenset({"id", "extensions", "rootNodeIds", "currentNodeId"})
_NOT_MEANT_OF_DOCUMENT: Final = frozenset({"format", "version", "generator", "exportedAt", "extensions"})
_LONGEST_SHOWN: Final = 20_000


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    `node` is the id in the first loom (in the second one for what was added), `other` that in the second one where it
    differs, or the parent of what was added; `before` and `after` are values, texts or ids, None for what is not there.
    """

    kind: Kind
    tree: str
    node: str | None
    what: str
    before: Any = None
    after: Any = None
    other: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The change as a JSON object."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def text_lines(self) -> list[str]:
        """An edited text as lines with `-` and `+` before what differs, and three lines around it."""
        if self.kind != "edited":
            return []
        old, new = (str(each)[:_LONGEST_SHOWN].split("\n") for each in (self.before, self.after))
        return list(difflib.unified_diff(old, new, lineterm="", n=3))[2:]


@dataclass(slots=True)
class LoomDifference:
    """All changes from one loom to another, and which node of the second each node of the first is."""

    changes: list[Change] = field(default_factory=list)
    matched: list[dict[str, str]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many changes of each kind there are."""
        found: dict[str, int] = {}
        for change in self.changes:
            found[change.kind] = found.get(change.kind, 0) + 1
        return found

    def to_json(self) -> dict[str, Any]:
        """The difference as a JSON object."""
        return {"counts": self.counts, "changes": [change.to_json() for change in self.changes]}


def compare_looms(before: Document, after: Document, *, ids_only: bool = False) -> LoomDifference:
    """What has to be done to the first loom to make the second of it. Neither is changed.

    With `ids_only` nodes are the same only when their ids are.
    """
    found = LoomDifference()
    found.changes += _fields(before.fields, after.fields, _NOT_MEANT_OF_DOCUMENT, "", None)
    left, right = _matched_trees(before, after)
    for tree in before.trees:
        if id(tree) not in left:
            found.changes.append(Change("removed", tree.id, None, "tree", before=len(tree.nodes)))
    for tree in after.trees:
        if id(tree) not in right:
            found.changes.append(Change("added", tree.id, None, "tree", after=len(tree.nodes)))
    for tree in before.trees:
        if id(tree) in left:
            compared = _Trees(tree, left[id(tree)], ids_only)
            found.changes += compared.changes()
            found.matched.append(compared.to_right)
    return found


def _matched_trees(before: Document, after: Document) -> tuple[dict[int, Tree], dict[int, Tree]]:
    """Trees of the one and the other that belong together: by id, what is left over by its place."""
    left: dict[int, Tree] = {}
    by_id = {tree.id: tree for tree in reversed(after.trees)}
    for tree in before.trees:
        other = by_id.pop(tree.id, None)
        if other is not None:
            left[id(tree)] = other
    taken = {id(tree) for tree in left.values()}
    rest = deque(tree for tree in after.trees if id(tree) not in taken)
    for tree in before.trees:
        if id(tree) not in left and rest:
            left[id(tree)] = rest.popleft()
    return left, {id(other): other for other in left.values()}


def _fields(
    before: dict[str, Any], after: dict[str, Any], without: frozenset[str], tree: str, node: str | None
) -> Iterator[Change]:
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if key not in without and not _says_nothing(old, new) and compare_values(old, new, cap=0).total:
            yield Change("changed", tree, node, key, before=old, after=new)


def _says_nothing(old: Any, new: Any) -> bool:
    return old in (None, "", [], {}) and new in (None, "", [], {})


class _Trees:
    """Two trees side by side."""

    def __init__(self, before: Tree, after: Tree, ids_only: bool) -> None:
        self.before = before
        self.after = after
        self.to_right = {key: key for key in before.nodes.ids if key in after.nodes}
        if not ids_only:
            self._match_the_rest()
        self.to_left = {right: left for left, right in self.to_right.items()}

    def _match_the_rest(self) -> None:
        """Nodes without a namesake by place and content: below parents that are the same, first the same texts."""
        rest = [key for key in self.before.nodes.ids if key not in self.to_right]
        taken = set(self.to_right.values())
        free = [key for key in self.after.nodes.ids if key not in taken]
        if not rest or not free:
            return
        waiting: dict[tuple[str | None, str], deque[str]] = defaultdict(deque)
        for key in self._top_down(self.after, set(free)):
            waiting[self.after.graph.parent_of(key), _said(self.after, key)].append(key)
        for key in self._top_down(self.before, set(rest)):
            parent = self.before.graph.parent_of(key)
            above = None if parent is None else self.to_right.get(parent)
            if parent is None or above is not None:
                places = waiting.get((above, _said(self.before, key)))
                if places:
                    self.to_right[key] = places.popleft()
        self._match_edited(set(rest) - self.to_right.keys())

    def _match_edited(self, rest: set[str]) -> None:
        """The only two children of parents that are the same, left over on both sides, are one node that was edited."""
        taken = set(self.to_right.values())
        left: dict[str | None, list[str]] = defaultdict(list)
        right: dict[str | None, list[str]] = defaultdict(list)
        for key in self.after.nodes.ids:
            if key not in taken:
                right[self.after.graph.parent_of(key)].append(key)
        for key in self._top_down(self.before, rest):
            left[self.before.graph.parent_of(key)].append(key)
        for parent, keys in left.items():
            if parent is not None and parent not in self.to_right:
                continue
            others = right.get(None if parent is None else self.to_right[parent], [])
            if len(keys) == len(others) == 1:
                self.to_right[keys[0]] = others[0]

    @staticmethod
    def _top_down(tree: Tree, wanted: set[str]) -> list[str]:
        ids = tree.nodes.ids
        walked = [ids[ordinal] for ordinal in tree.graph.walk(tree.root_ordinals)]
        seen = set(walked)
        return [key for key in (*walked, *(key for key in ids if key not in seen)) if key in wanted]

    def changes(self) -> Iterator[Change]:
        """Of the tree's fields, then node by node in the order of the first tree, then what was added."""
        before, after, name = self.before, self.after, self.before.id
        yield from _fields(before.fields, after.fields, _NOT_MEANT_OF_TREE, name, None)
        current, now = before.fields.get("currentNodeId"), after.fields.get("currentNodeId")
        if current != self.to_left.get(str(now), now):
            yield Change("changed", name, None, "currentNodeId", before=current, after=now)
        for key in before.nodes.ids:
            other = self.to_right.get(key)
            if other is None:
                yield Change("removed", name, key, "node", before=plain_text(before.nodes[key]))
            else:
                yield from self._node_changes(key, other)
        for key in after.nodes.ids:
            if key not in self.to_left:
                parent = after.graph.parent_of(key)
                yield Change("added", name, key, "node", before=None, after=plain_text(after.nodes[key]), other=parent)
        yield from self._order_changes()
        yield from self._link_changes()

    def _node_changes(self, key: str, other: str) -> Iterator[Change]:
        name, renamed = self.before.id, None if key == other else other
        old: Any = self.before.nodes[key]
        new: Any = self.after.nodes[other]
        if plain_text(old) != plain_text(new):
            texts = (plain_text(old), plain_text(new))
            yield Change("edited", name, key, "text", *texts, other=renamed)
        elif compare_values(old["content"], new["content"], cap=0).total:
            yield Change("changed", name, key, "content", old["content"], new["content"], other=renamed)
        old = {**old, "editedFrom": self.to_right.get(str(old.get("editedFrom")), old.get("editedFrom"))}
        yield from _fields(old, new, _NOT_MEANT, name, key)
        parent, now = self.before.graph.parent_of(key), self.after.graph.parent_of(other)
        if (None if parent is None else self.to_right.get(parent, parent)) != now:
            yield Change("moved", name, key, "parent", parent, now, other=renamed)

    def _order_changes(self) -> Iterator[Change]:
        """Siblings that are there on both sides, below the same parent, in another order."""
        parents: list[tuple[str | None, list[str], list[str]]] = [(None, self.before.roots, self.after.roots)]
        for key, other in self.to_right.items():
            if self.before.graph.child_count(self.before.nodes.ordinals[key]) > 1:
                parents.append((key, self.before.graph.children_of(key), self.after.graph.children_of(other)))
        for parent, ours, theirs in parents:
            there = set(theirs)
            # A child that hangs on its parent twice stands where it does first.
            old = dict.fromkeys(self.to_right[each] for each in ours if self.to_right.get(each) in there)
            new = dict.fromkeys(each for each in theirs if each in old)
            if list(old) != list(new):
                yield Change("reordered", self.before.id, parent, "children", before=ours, after=theirs)

    def _link_changes(self) -> Iterator[Change]:
        """Links beyond the one to the parent: further parents and sources, annotations, roles."""
        old, new = self._links(self.before, self.to_right), self._links(self.after, {})
        for link, number in old.items():
            if number > new.get(link, 0):
                yield Change("linked", self.before.id, self.to_left.get(link[1], link[1]), "link", before=_shown(link))
        for link, number in new.items():
            if number > old.get(link, 0):
                yield Change("linked", self.before.id, self.to_left.get(link[1], link[1]), "link", after=_shown(link))

    @staticmethod
    def _links(tree: Tree, names: dict[str, str]) -> dict[tuple[Any, ...], int]:
        found: dict[tuple[Any, ...], int] = {}
        ids = tree.nodes.ids
        has_parent = bytearray(len(ids))
        for position, target in enumerate(tree.edges.targets):
            # The first continuation into a node makes its parent, which is compared by itself.
            plain = tree.edges.kinds[position] == CONTINUATION and not has_parent[target]
            has_parent[target] |= plain
            if plain and position not in tree.edges.rich:
                continue
            edge = tree.edges[position]
            sources = [
                (names.get(each["nodeId"], each["nodeId"]), each.get("role") or "primary") for each in edge["sources"]
            ]
            if plain and len(sources) == 1 and sources[0][1] == "primary":
                continue
            link = (edge["type"], names.get(ids[target], ids[target]), *sources)
            found[link] = found.get(link, 0) + 1
        return found


def _said(tree: Tree, key: str) -> str:
    return plain_text(tree.nodes[key])


def _shown(link: tuple[Any, ...]) -> str:
    kind, target, *sources = link
    return f"{kind} from {', '.join(f'{node} ({role})' for node, role in sources)} to {target}"
