"""Putting back what an earlier projection took out.

A value returns when what was written in its place came back unchanged; where it was edited, the edit stands. Nodes are
restored when they are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from loomconv.model.document import Document, Tree
from loomconv.model.edges import EdgeTable, is_edge
from loomconv.model.record import extensions_of, own_record, with_record
from loomconv.model.types import Node
from loomconv.project.edges import unpack_edges
from loomconv.project.notes import notes_in, stray_notes, with_notes, without_held_notes
from loomconv.project.places import with_former_ids
from loomconv.project.residue import detach, digest
from loomconv.report import Report

__all__ = ["join_parts", "part_of", "restore_document"]

Mend = Callable[[str, Node, Report], Node]

_TREE_RECORD = ("residue", "written", "absent", "edges", "nodes", "heldNotes", "listedNotes", "places")


def restore_document(document: Document, report: Report, mend: Mend = lambda node_id, node, report: node) -> None:
    """Put residue back into the document, in place. Reading it does not count as a change of the document.

    Residue is a part of the file, and no more to be trusted than the rest of it: `mend` puts each restored node in
    proper shape (`loomconv.repair.mend_node`).
    """
    if len(document.trees) == 1:
        _restore_document_fields(document, report)
    document.fields, found = detach(document.fields, "keys")
    if isinstance(found.get("keys"), list) and not document.key_order:
        document.key_order = tuple(key for key in found["keys"] if isinstance(key, str))
    document.fields = _restored(document.fields, report, {})
    for position, tree in enumerate(document.trees):
        document.trees[position] = _restore_tree(tree, report, mend)


def part_of(document: Document) -> tuple[int, int, str] | None:
    """Which part of a document of several trees this one is: (number from 1, of how many, digest of the whole)."""
    if len(document.trees) != 1:
        return None
    part = own_record(document.trees[0].fields).get("part")
    if not isinstance(part, dict) or not isinstance(part.get("document"), str):
        return None
    index, of = part.get("index"), part.get("of")
    return (index, of, part["document"]) if isinstance(index, int) and isinstance(of, int) else None


def join_parts(parts: list[Document]) -> Document:
    """The document of several trees that the parts, in order, were written from."""
    whole = parts[0]
    return Document(
        whole.fields, [tree for part in parts for tree in part.trees], whole.key_order, whole.origin, whole.touched
    )


def _restore_document_fields(document: Document, report: Report) -> None:
    tree = document.trees[0]
    fields, found = detach(tree.fields, "document", "part")
    whole = found.get("document")
    if not isinstance(whole, dict):
        return
    tree.fields = fields
    taken = whole.get("fields")
    if isinstance(taken, dict):
        taken = {key: value for key, value in taken.items() if key not in ("format", "trees")}
        document.fields = {**document.fields, **taken}
    else:
        taken = {}
    keys = whole.get("keys")
    if isinstance(keys, list):
        document.key_order = tuple(key for key in keys if isinstance(key, str))
    report.add("restore.restored", "Fields of the document were put back.", value=sorted(taken))


def _restored(holder: dict[str, Any], report: Report, where: dict[str, str]) -> dict[str, Any]:
    """The object with its residue put back, key by key, as far as what was written came back unchanged."""
    detached, found = detach(holder, "residue", "written")
    taken, written = found.get("residue"), found.get("written")
    if not isinstance(taken, dict) or not isinstance(written, dict):
        if found:
            report.add("restore.foreign", **where)  # type: ignore[arg-type]
        return holder
    holder = detached
    restored = dict(holder)
    for key, value in taken.items():
        if key == "extensions" and isinstance(value, dict) and value:
            restored["extensions"] = {**value, **extensions_of(restored)}
        elif digest(holder.get(key)) != written.get(key):
            report.add("restore.edited", f"{key} was edited; the edit stands.", pointer=f"/{key}", **where)  # type: ignore[arg-type]
        else:
            restored[key] = value
    return restored


def _restore_tree(tree: Tree, report: Report, mend: Mend) -> Tree:
    tree = with_former_ids(tree, own_record(tree.fields).get("places"))
    written_fields = tree.fields
    fields, found = detach(tree.fields, *_TREE_RECORD)
    tree = _without_synthetic_root(Tree(fields, tree.nodes, tree.edges, tree.key_order))
    if "residue" in found:
        tree.fields = _put_back_fields(tree, written_fields, found["residue"], found.get("written"), report)
    absent = found.get("absent")
    for key, mark in absent.items() if isinstance(absent, dict) else ():
        if digest(written_fields.get(key)) == mark:
            tree.fields.pop(key, None)
    tree, held = without_held_notes(tree, found.get("heldNotes"))
    tree, notes = _put_back_structure(tree, found, report, mend)
    listed = found.get("listedNotes")
    if isinstance(listed, list) and "residue" not in found:
        loose = {tree.nodes.ids[ordinal] for ordinal in tree.attached_notes()}
        gone = {each for each in listed if isinstance(each, str) and each in loose}
        tree.fields["rootNodeIds"] = [each for each in tree.listed_roots if each not in gone]
    if "residue" in found:
        notes |= held | {tree.nodes.ids[ordinal] for ordinal in tree.attached_notes()}
    if notes and "residue" in found:
        tree.fields["rootNodeIds"] = _with_listed_notes(tree.listed_roots, found["residue"], notes)
    return tree.over(tree.nodes.transformed(_NodeRestorer(tree.id, report, mend)))


def _put_back_structure(tree: Tree, found: dict[str, Any], report: Report, mend: Mend) -> tuple[Tree, set[str]]:
    """The tree with its notes and edges, and the ids of the notes that could be put back."""
    notes, packed = notes_in(found.get("nodes"), tree.nodes), found.get("edges")
    if notes:
        nodes = with_notes(tree.nodes, notes, lambda node_id, node: mend(node_id, node, report))
        tree = Tree(tree.fields, nodes, tree.edges.rebuilt(nodes, lambda position: True), tree.key_order)
    gone: list[Any] = []
    if isinstance(packed, dict):
        table, gone = _unpacked(tree, packed, report)
        tree = tree.with_edges(table)
    stray = stray_notes(tree, set(notes), gone) if notes else []
    for note in stray:
        report.add("restore.missing", "The note was not put back: what it is about is gone.", tree=tree.id, node=note)
    return (tree.without_nodes(set(stray)) if stray else tree), notes.keys() - set(stray)


def _with_listed_notes(roots: list[str], taken: Any, notes: set[str]) -> list[str]:
    """The list of roots with the notes that it had; in the former order unless the roots were changed."""
    former = taken.get("rootNodeIds") if isinstance(taken, dict) else None
    if not isinstance(former, list):
        return roots
    known = {*roots, *notes}
    kept = [each for each in former if isinstance(each, str) and each in known]
    if [each for each in kept if each not in notes] == roots:
        return kept
    return [*roots, *(each for each in kept if each in notes)]


def _put_back_fields(tree: Tree, came_back: dict[str, Any], taken: Any, written: Any, report: Report) -> dict[str, Any]:
    """The tree's fields with the taken values, as far as what was written came back unchanged."""
    if not isinstance(taken, dict) or not isinstance(written, dict):
        report.add("restore.foreign", tree=tree.id)
        return with_record(tree.fields, residue=taken, written=written)
    restored = dict(tree.fields)
    for key, value in taken.items():
        present = tree.fields if key == "extensions" else came_back
        if key in ("rootNodeIds", "nodes", "edges"):
            continue  # see `_put_back_structure`
        if digest(present.get(key)) != written.get(key):
            report.add("restore.edited", f"{key} was edited; the edit stands.", tree=tree.id, pointer=f"/{key}")
        else:
            restored[key] = value
    return restored


def _without_synthetic_root(tree: Tree) -> Tree:
    """The tree without the empty root that a projection put above several ones; its children are the roots again."""
    for root in tree.roots[:1]:
        if root not in tree.nodes:
            break
        node = tree.nodes[root]
        if not own_record(node).get("syntheticRoot"):
            break
        content: Any = node.get("content")
        if isinstance(content, list) and any(isinstance(block, dict) and block.get("text") for block in content):
            break  # somebody wrote into it: it is a node now
        below = tree.graph.children_of(root)
        current = tree.fields.get("currentNodeId")
        bare = tree.without_nodes({root})
        bare.fields["rootNodeIds"] = [*below, *tree.roots[1:]]
        if current == root:
            del bare.fields["currentNodeId"]
        return bare
    return tree


def _unpacked(tree: Tree, packed: dict[str, Any], report: Report) -> tuple[EdgeTable, list[Any]]:
    """The edges as they fit the tree now, and those of which a node is gone."""
    table, gone, moved, closing = unpack_edges(tree, packed)
    for edge in gone:
        ends = [*(source["nodeId"] for source in edge["sources"]), edge["targetNodeId"]] if is_edge(edge) else None
        report.add("restore.missing", "An edge was not put back: one of its nodes is gone.", tree=tree.id, value=ends)
    for moved_edge in moved:
        report.add(
            "restore.edited",
            "The node hangs elsewhere by now; its former edge was not put back.",
            tree=tree.id,
            node=moved_edge["targetNodeId"],
            value=[source["nodeId"] for source in moved_edge["sources"]],
        )
    for closing_edge in closing:
        report.add(
            "restore.edited",
            "What was a source of the node comes after it by now; it was not put back as one.",
            tree=tree.id,
            node=closing_edge["targetNodeId"],
            value=[source["nodeId"] for source in closing_edge["sources"]],
        )
    return table, gone


class _NodeRestorer:
    """Restores nodes when they are looked at; reports each once."""

    __slots__ = ("_mend", "_report", "_reported", "_tree")

    def __init__(self, tree: str, report: Report, mend: Mend) -> None:
        self._tree = tree
        self._report = report
        self._mend = mend
        self._reported: set[str] = set()

    def __call__(self, node_id: str, node: Node) -> Node:
        if "extensions" not in node or "residue" not in own_record(node):
            return node
        report = self._report if node_id not in self._reported else Report(limit=0)
        self._reported.add(node_id)
        holder, found = detach(cast("dict[str, Any]", node), "residue", "written")
        taken, written = found["residue"], found.get("written")
        if not isinstance(taken, dict) or not isinstance(written, dict):
            report.add("restore.foreign", tree=self._tree, node=node_id)
            return node
        restored = dict(holder)
        for key, value in taken.items():
            if digest(holder.get(key)) != written.get(key):
                report.add(
                    "restore.edited",
                    f"{key} was edited; the edit stands.",
                    tree=self._tree,
                    node=node_id,
                    pointer=f"/{key}",
                )
            else:
                restored[key] = value
        for key in written:
            if key not in taken and digest(holder.get(key)) == written[key]:
                restored.pop(key, None)
        restored["id"] = node_id
        return self._mend(node_id, cast(Node, restored), report)
