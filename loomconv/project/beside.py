"""Residue in a file of its own, `<file>.loomconv-residue.json`, for what the file itself cannot keep.

The residue of a projection stands under `extensions`, like what other apps keep. Where the target has no place for
extensions, or none are wanted in it, they go to the file beside it, together with a digest of what each node was
written as: by these a file is recognised that somebody put in the place of the one that was written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from loomconv.errors import InvalidDocument
from loomconv.model.document import Document, Tree
from loomconv.model.record import extensions_of, own_record
from loomconv.model.types import Node
from loomconv.project.places import with_former_ids
from loomconv.project.residue import digest
from loomconv.report import Report

__all__ = ["LEVELS", "RESIDUE_FORMAT", "make_residue_file", "merge_residue_file", "without_extensions"]

RESIDUE_FORMAT = "loomconv-residue"
_VERSION = "1.0"
# Where extensions can be moved from. Those of edges stay with the edges: what a strict tree has of them is its tree's.
LEVELS = ("document", "tree", "node")


def without_extensions(document: Document, levels: Collection[str], namespace: str) -> Document:
    """The document without extensions at these levels, but for the target's own (its stash, which its writer needs)."""

    def bare(holder: Mapping[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in extensions_of(holder).items() if name == namespace}
        rest = {key: value for key, value in holder.items() if key != "extensions"}
        return {**rest, "extensions": own} if own else rest

    def bare_node(node_id: str, node: Node) -> Node:
        return cast(Node, bare(node)) if _moved(node, namespace) else node

    trees = []
    for tree in document.trees:
        nodes = tree.nodes.transformed(bare_node) if "node" in levels else tree.nodes
        fields = bare(tree.fields) if "tree" in levels else tree.fields
        trees.append(Tree(fields, nodes, tree.edges.over(nodes), tree.key_order))
    fields = bare(document.fields) if "document" in levels else document.fields
    return Document(fields, trees, document.key_order, document.origin, document.touched)


def _moved(holder: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    return {name: value for name, value in extensions_of(holder).items() if name != namespace}


def make_residue_file(
    document: Document, levels: Collection[str], namespace: str, *, format: str
) -> dict[str, Any] | None:
    """What `without_extensions` takes out, as the value of a file (`residue-file.schema.json`); None for nothing.

    Costs a look at every node, unless there are no levels.
    """
    if not levels:
        return None
    of_document = _moved(document.fields, namespace) if "document" in levels else {}
    anything = bool(of_document)
    trees = []
    for tree in document.trees:
        entry: dict[str, Any] = {"written": {}}
        of_tree = _moved(tree.fields, namespace) if "tree" in levels else {}
        if of_tree:
            entry["extensions"] = of_tree
        nodes: dict[str, Any] = {}
        for node_id, node in tree.nodes.items():
            entry["written"][node_id] = digest(node["content"])
            if "node" in levels and (of_node := _moved(node, namespace)):
                nodes[node_id] = of_node
        if nodes:
            entry["nodes"] = nodes
        anything = anything or bool(of_tree or nodes)
        trees.append(entry)
    if not anything:
        return None
    value: dict[str, Any] = {"format": RESIDUE_FORMAT, "version": _VERSION, "of": format}
    if of_document:
        value["extensions"] = of_document
    return {**value, "trees": trees}


def merge_residue_file(document: Document, value: Any, report: Report) -> bool:
    """Put the extensions of a residue file back where they were taken from, in place; whether that was done.

    Nothing is done for a file that was written beside another document: half of the nodes that it speaks of must be
    there and read as they were written. Raises InvalidDocument for a value that is no residue file.
    """
    entries = _entries(value)
    trees = [
        with_former_ids(tree, own_record(entry).get("places"))
        for tree, entry in zip(document.trees, entries, strict=False)
    ]
    if len(entries) != len(document.trees) or not all(map(_belongs, trees, entries)):
        report.add(
            "restore.foreign",
            "The residue file beside the file was written beside another one, or before it was replaced; left alone.",
        )
        return False
    document.fields = _merged(document.fields, value.get("extensions"))
    for position, (tree, entry) in enumerate(zip(trees, entries, strict=True)):
        of_nodes = entry.get("nodes")
        nodes = tree.nodes.transformed(_Merger(of_nodes)) if isinstance(of_nodes, dict) else tree.nodes
        fields = _merged(tree.fields, entry.get("extensions"))
        document.trees[position] = Tree(fields, nodes, tree.edges.over(nodes), tree.key_order)
    return True


def _entries(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict) or value.get("format") != RESIDUE_FORMAT:
        raise InvalidDocument("this is no residue file of loomconv")
    version, trees = value.get("version"), value.get("trees")
    if not isinstance(version, str) or version.split(".")[0] != "1":
        raise InvalidDocument("the residue file is of a later version", next_step="Use a newer loomconv.")
    if not isinstance(trees, list) or not all(isinstance(tree, dict) for tree in trees):
        raise InvalidDocument("the residue file has no list of trees", pointer="/trees")
    return trees


def _belongs(tree: Tree, entry: dict[str, Any]) -> bool:
    written = entry.get("written")
    if not isinstance(written, dict):
        return False
    same = sum(
        node_id in tree.nodes and digest(tree.nodes[node_id].get("content")) == mark
        for node_id, mark in written.items()
    )
    return bool(2 * same >= len(written))


def _merged(holder: Mapping[str, Any], extensions: Any) -> dict[str, Any]:
    if not isinstance(extensions, dict) or not extensions:
        return dict(holder)
    return {**holder, "extensions": {**extensions, **extensions_of(holder)}}


class _Merger:
    """Gives nodes their extensions back when they are looked at."""

    __slots__ = ("_of_nodes",)

    def __init__(self, of_nodes: dict[str, Any]) -> None:
        self._of_nodes = of_nodes

    def __call__(self, node_id: str, node: Node) -> Node:
        extensions = self._of_nodes.get(node_id)
        return node if extensions is None else cast(Node, _merged(node, extensions))
