"""Edits in a foreign file, as its app's user would make them, and whether exactly those come home.

A file is read as its own format says, without what was set aside, edited, and written by the same format: what lies
between is all that the app would keep. The edits follow from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from loomconv import jsontext
from loomconv.difference import Change, compare_looms
from loomconv.format import Format, ReadContext, WriteContext
from loomconv.model.document import Document, Tree
from loomconv.model.edges import ANNOTATION, EdgeTable
from loomconv.model.nodes import plain_text
from loomconv.model.record import own_record
from loomconv.options import ConversionOptions
from loomconv.reading import others_of
from loomconv.registry import Registry
from loomconv.report import Report
from loomconv.storage import AtomicFile, open_source

__all__ = ["Edit", "edit_file", "unexpected_changes"]

_EDITS: Final = 4


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: the node, and the text that it has then, or the parent that it hangs on."""

    kind: Literal["edited", "added", "removed", "moved"]
    node: str
    text: str | None = None
    parent: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The edit as a JSON object."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in found.items() if value is not None}


def edit_file(path: Path, chosen: Format, seed: int, options: ConversionOptions, registry: Registry) -> list[Edit]:
    """Edit the first tree of a file in place; gives what was done. Raises what the format's reader and writer raise."""
    report = Report(limit=0)
    report.declare(chosen.finding_codes)
    others = others_of(registry, options)
    with open_source(path, options.limits) as source:
        context = ReadContext(report=report, options=options.of_format(chosen, "read"), others=others)
        document = chosen.read(source, context)
        head, tail = bytes(source.data[: 1 << 16]), bytes(source.data[-4096:])
        is_text = jsontext.parse_prefix(head) is not jsontext.NOTHING
        layout = jsontext.recognise_layout(head, tail) if is_text else chosen.layout
    edits = _Editing(document, seed).run()
    document.touched = True
    writing = WriteContext(
        report=report,
        layout=layout,
        layout_is_original=True,
        options=options.of_format(chosen, "write"),
        name=path.name,
        others=others,
    )
    with AtomicFile(path) as sink:
        chosen.write(document, sink, writing)
    return edits


class _Editing:
    def __init__(self, document: Document, seed: int) -> None:
        self.document = document
        self.chance = random.Random(seed)
        self.edits: list[Edit] = []
        self.touched: set[str] = set()

    @property
    def tree(self) -> Tree:
        return self.document.trees[0]

    def run(self) -> list[Edit]:
        kinds: list[Callable[[int], None]] = [self.change_text, self.add, self.remove, self.move]
        for number in range(_EDITS):
            kinds[(number + self.chance.randrange(4)) % 4](number)
        return self.edits

    def _choices(self, *, leaf: bool = False, plain: bool = False) -> list[str]:
        """Nodes that an edit may take, each only once: no made-up root, no note, and with `plain` one of plain text."""
        tree = self.tree
        held = own_record(tree.fields).get("heldNotes")
        notes = {*(held if isinstance(held, dict) else ()), *(tree.nodes.ids[each] for each in tree.attached_notes())}
        found = []
        for ordinal, node_id in enumerate(tree.nodes.ids):
            node: Any = tree.nodes[node_id]
            record = own_record(node)
            if node_id in self.touched or node_id in notes or "syntheticRoot" in record:
                continue
            if leaf and (tree.graph.child_count(ordinal) or tree.graph.parent[ordinal] < 0):
                continue
            if plain and ("content" in (record.get("residue") or {}) or not _is_one_text(node)):
                continue
            found.append(node_id)
        return found

    def change_text(self, number: int) -> None:
        choices = self._choices(plain=True)
        if choices:
            node_id = self.chance.choice(choices)
            node: Any = self.tree.nodes[node_id]
            text = f"{plain_text(node)} (edit {number})"
            edited: Any = {**node, "content": [{"type": "text", "text": text}]}
            self.tree.nodes[node_id] = edited
            self._note(Edit("edited", node_id, text=text))

    def add(self, number: int) -> None:
        choices = self._choices()
        if choices:
            parent = self.chance.choice(choices)
            node_id, text = f"edit{number}", f"A new node ({number})"
            while node_id in self.tree.nodes:
                node_id += "x"
            node: Any = {"id": node_id, "content": [{"type": "text", "text": text}], "author": {"role": "human"}}
            self.tree.nodes[node_id] = node
            self._relink({node_id: parent})
            self.touched.add(parent)
            self._note(Edit("added", node_id, text=text, parent=parent))

    def remove(self, number: int) -> None:
        choices = [each for each in self._choices(leaf=True) if each != self.tree.fields.get("currentNodeId")]
        if choices:
            node_id = self.chance.choice(choices)
            self.document.trees[0] = self.tree.without_nodes({node_id})
            self._note(Edit("removed", node_id))

    def move(self, number: int) -> None:
        # A node of several parents would have to leave one of them only; apps have no such command.
        ordinals, incoming = self.tree.nodes.ordinals, self.tree.graph.incoming
        edges = self.tree.edges
        several = {edges.targets[position] for position in edges.rich if len(edges.sources(position)) > 1}
        leaves = [each for each in self._choices(leaf=True) if incoming[ordinals[each]] == 1]
        leaves = [each for each in leaves if ordinals[each] not in several]
        if leaves:
            node_id = self.chance.choice(leaves)
            parents = [each for each in self._choices() if each not in (node_id, self.tree.graph.parent_of(node_id))]
            parents = [each for each in parents if not self._is_below(each, node_id)]
            if parents:
                parent = self.chance.choice(parents)
                self._relink({node_id: parent})
                self.touched.add(parent)
                self._note(Edit("moved", node_id, parent=parent))

    def _is_below(self, node_id: str, above: str) -> bool:
        return above in self.tree.graph.path_to(node_id)

    def _relink(self, parents: dict[str, str]) -> None:
        """The nodes below these parents, behind the children that they have."""
        tree = self.tree
        kept = [edge for edge in tree.edges if edge["targetNodeId"] not in parents or edge["type"] != "continuation"]
        new: list[Any] = [
            {"type": "continuation", "sources": [{"nodeId": parent, "role": "primary"}], "targetNodeId": node_id}
            for node_id, parent in parents.items()
        ]
        self.document.trees[0] = tree.with_edges(EdgeTable.from_edges(tree.nodes, cast(Any, [*kept, *new])))

    def _note(self, edit: Edit) -> None:
        self.touched.add(edit.node)
        self.edits.append(edit)


def _is_one_text(node: Any) -> bool:
    content = node.get("content")
    return isinstance(content, list) and len(content) == 1 and content[0].keys() == {"type", "text"}


def unexpected_changes(before: Document, after: Document, edits: list[Edit]) -> list[Change]:
    """The differences of two looms that the edits do not explain, and edits that made none (as their opposite)."""
    waiting = {(edit.kind, edit.node): edit for edit in edits}
    gone = {edit.node for edit in edits if edit.kind in ("removed", "moved")}
    removed = {edit.node for edit in edits if edit.kind == "removed"}
    # A note goes with the last node that it is about.
    notes = {note for tree in before.trees for note, about in _notes(tree) if about <= removed}
    unexplained = []
    changes = compare_looms(before, after, ids_only=True).changes
    # An edge that loses a source is another edge afterwards.
    shortened = {each.node for each in changes if each.kind == "linked" and _names_any(str(each.before), gone)}
    for change in changes:
        edit = waiting.get((cast(Any, change.kind), str(change.node)))
        if edit is not None and _explains(edit, change):
            del waiting[edit.kind, edit.node]
        elif change.kind == "removed" and change.node in notes:
            continue
        elif change.kind == "reordered" and _without(change.before, gone) == _without(change.after, gone):
            continue  # a node that was moved may stand elsewhere among the children of its further parents
        elif change.kind != "linked" or change.node not in shortened:
            unexplained.append(change)
    for edit in waiting.values():
        unexplained.append(Change(edit.kind, "", edit.node, "edit that was lost", after=edit.text or edit.parent))
    return unexplained


def _without(children: list[str], gone: set[str]) -> list[str]:
    return [each for each in children if each not in gone]


def _notes(tree: Tree) -> Iterator[tuple[str, set[str]]]:
    """The tree's attached notes, each with the nodes that its annotations connect it to."""
    ids, edges = tree.nodes.ids, tree.edges
    about: dict[int, set[str]] = {ordinal: set() for ordinal in tree.attached_notes()}
    for position, kind in enumerate(edges.kinds):
        if kind == ANNOTATION and about:
            ends = (edges.targets[position], *edges.sources(position))
            for ordinal in ends:
                if ordinal in about:
                    about[ordinal] |= {ids[other] for other in ends if other >= 0 and other != ordinal}
    return ((ids[ordinal], others) for ordinal, others in about.items())


def _names_any(shown: str, names: set[str]) -> bool:
    return any(name in shown for name in names)


def _explains(edit: Edit, change: Change) -> bool:
    if edit.kind in ("edited", "added") and change.after != edit.text:
        return False
    parent = change.after if edit.kind == "moved" else change.other if edit.kind == "added" else edit.parent
    return edit.kind not in ("moved", "added") or parent == edit.parent
