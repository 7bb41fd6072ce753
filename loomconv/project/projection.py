"""Projection of documents and trees: structure first, then fields, then (when looked at) each node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from loomconv.capabilities import NO_IDS, Capabilities
from loomconv.model.document import Document, Tree
from loomconv.model.edges import CONTINUATION, ODD, OWN_ID, EdgeTable, derived_edge_id, plain_edge
from loomconv.model.ids import mint_ulid
from loomconv.model.record import NAMESPACE
from loomconv.model.types import Node
from loomconv.project.edges import pack_edges, simple_edges
from loomconv.project.nodes import NodeProjector, fitted_text, fitted_time
from loomconv.project.notes import hold_notes, in_annotation_order
from loomconv.project.places import places_of
from loomconv.project.residue import attach, digest
from loomconv.report import Report

__all__ = ["project_document"]

# Members of a tree and a document that every format holds in its own way.
_TREE_STRUCTURE = frozenset({"rootNodeIds", "extensions"})
_EDGE_STRUCTURE = frozenset({"type", "sources", "targetNodeId"})
_DOCUMENT_STRUCTURE = frozenset({"format", "extensions"})


def project_document(
    document: Document,
    capabilities: Capabilities,
    report: Report,
    *,
    keep: bool = True,
    derived: Callable[[Tree], dict[str, Any]] = lambda tree: {},
) -> list[Document]:
    """Documents that fit the capabilities: one, or one a tree when the target holds one tree a file.

    The source document stays as it is. Losses of nodes are reported when a node is first looked at; everything else at
    once. `derived` gives the fields of a tree that the target's reader makes up when the file has none: they need no
    residue. With `keep` what is taken out becomes residue where the target keeps unknown keys; without, it is lost
    (findings of severity warning).
    """
    if capabilities.holds_everything:
        return [document]
    projection = _Projection(capabilities, report, keep, derived)
    trees = [projection.tree(tree) for tree in document.trees]
    fields, taken = projection.document_fields(document)
    if keep and taken and "document" in capabilities.unknown_keys:
        fields = attach(fields, taken)
        taken = {}
    # The order of keys tells, too, that the document was OpenLoom 2 before, and what it did not have; a file that this
    # program made of another format's has nothing to tell.
    generator = document.fields.get("generator")
    ours = "generator" in document.key_order and (generator is None or _made_up("generator", generator))
    native = bool(document.key_order) and not ours
    if capabilities.trees == "many":
        if keep and native and "document" in capabilities.unknown_keys:
            fields = attach(fields, {}, keys=list(document.key_order))
        return [Document(fields, trees, document.key_order, document.origin, document.touched)]
    if len(trees) > 1:
        for tree in trees[1:]:
            report.add("loss.extra-tree", "The tree is written to a file of its own.", tree=tree.id)
    whole = {"fields": taken, "keys": list(document.key_order)}
    if projection.keep_tree and (taken or len(trees) > 1 or native):
        mark = digest([tree.id for tree in document.trees])
        for position, tree in enumerate(trees):
            part = {"index": position + 1, "of": len(trees), "document": mark}
            tree.fields = attach(tree.fields, {}, document=whole, part=part)
    return [Document(dict(fields), [tree], (), document.origin, document.touched) for tree in trees]


class _Projection:
    def __init__(
        self, capabilities: Capabilities, report: Report, keep: bool, derived: Callable[[Tree], dict[str, Any]]
    ) -> None:
        self.capabilities = capabilities
        self.derived = derived
        self.report = report
        self.keep = keep
        self.keep_tree = keep and "tree" in capabilities.unknown_keys
        # A file of one tree can keep what belongs to the document with its tree.
        self.keep_document = (keep and "document" in capabilities.unknown_keys) or (
            self.keep_tree and capabilities.trees == "one"
        )

    def lose(self, code: str, message: str, kept: bool, **where: Any) -> None:
        self.report.add(code, message, severity=None if kept else "warning", **where)

    # -- document ----------------------------------------------------------------------------------------------

    def document_fields(self, document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields that the target holds, and those that it does not."""
        held: dict[str, Any] = {}
        taken: dict[str, Any] = {}
        for key, value in document.fields.items():
            known = key in _DOCUMENT_STRUCTURE or self.capabilities.holds(self.capabilities.document_fields, key)
            if known or _made_up(key, value):
                if key != "generator" or known:
                    held[key] = value
                continue
            taken[key] = value
            if key == "version":
                held[key] = "2.0"  # which every reader gives
            if not _says_nothing(key, value):
                self.lose("loss.document-field", f"{key} is not written.", self.keep_document, pointer=f"/{key}")
        extensions = held.get("extensions")
        if "extensions" in held and "document" not in self.capabilities.unknown_keys:
            taken["extensions"] = held.pop("extensions")
            names = sorted(name for name in extensions or () if name != NAMESPACE)
            if names:
                self.lose(
                    "loss.extension",
                    "What apps keep for the document is not written.",
                    self.keep_document,
                    pointer="/extensions",
                    value=names,
                )
        return held, taken

    # -- tree --------------------------------------------------------------------------------------------------

    def tree(self, tree: Tree) -> Tree:
        """A tree that fits; shares its nodes' blocks with the source tree."""
        fields, taken, absent = self.tree_fields(tree)
        packed = None
        removed: list[dict[str, Any]] = []
        projected = Tree(fields, tree.nodes, tree.edges, tree.key_order)
        held = self.held_notes(tree) if self.capabilities.notes == "child" else {}
        if self.capabilities.parents == "one":
            roots = tree.roots
            self.report_edges(tree)
            packed = pack_edges(tree)
            if not held:
                projected, removed = self.without_notes(projected, tree)
            projected = projected.with_edges(simple_edges(projected))
            if roots != tree.fields.get("rootNodeIds"):
                taken["rootNodeIds"] = tree.fields.get("rootNodeIds")
            projected.fields["rootNodeIds"] = roots
            current = fields.get("currentNodeId")
            if removed and current is not None and current not in projected.nodes:
                taken["currentNodeId"] = projected.fields.pop("currentNodeId")
                self.lose(
                    "loss.tree-field",
                    "The current node is a note, which is not written.",
                    self.keep_tree,
                    tree=tree.id,
                    pointer="/currentNodeId",
                    value=current,
                )
        if held:
            taken.setdefault("rootNodeIds", tree.listed_roots)
            edges = projected.edges.rebuilt(projected.nodes, lambda position: True)
            for note, anchor in held.items():
                self.link(edges, anchor, note)
            projected = Tree({**projected.fields, "rootNodeIds": tree.roots}, projected.nodes, edges, tree.key_order)
        separator = "" if _is_buffer(tree.fields.get("mode")) else "\n\n"
        projector = NodeProjector(
            self.capabilities, self.report, tree=tree.id, keep=self.keep, separator=separator, notes=held.keys()
        )
        projected = projected.over(projected.nodes.transformed(projector))
        if self.capabilities.roots == "one" and len(projected.roots) > 1:
            if projected.listed_roots != projected.roots:
                taken.setdefault("rootNodeIds", projected.listed_roots)
            projected = self.with_one_root(projected)
        self.check_depth(projected)
        places = self.places(projected)
        if self.keep_tree and (taken or packed or removed or absent or held or places):
            more: dict[str, Any] = {"heldNotes": held} if held else {}
            if places:
                more["places"] = places
            if absent:
                more["absent"] = {key: digest(projected.fields.get(key)) for key in absent}
            if packed:
                more["edges"] = packed
            if removed:
                more["nodes"] = removed
            projected.fields = attach(projected.fields, taken, **more)
        return projected

    def tree_fields(self, tree: Tree) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        """Fields that the target holds, those that it does not, and those that will come back without having been."""
        held: dict[str, Any] = {}
        taken: dict[str, Any] = {}
        derived = self.derived(tree)
        for key, value in tree.fields.items():
            if key == "extensions" and value and "tree" not in self.capabilities.unknown_keys:
                self.lose(
                    "loss.extension",
                    "What apps keep for the tree is not written.",
                    False,
                    tree=tree.id,
                    pointer="/extensions",
                    value=sorted(value),
                )
            elif key in _TREE_STRUCTURE or (key in derived and derived[key] == value):
                held[key] = value
            elif value is None or not self.capabilities.holds(self.capabilities.tree_fields, key):
                taken[key] = value
                if not _says_nothing(key, value) or (value is not None and key in derived):
                    self.lose(
                        "loss.tree-field", f"{key} is not written.", self.keep_tree, tree=tree.id, pointer=f"/{key}"
                    )
            elif key == "mode" and not self.capabilities.holds(self.capabilities.modes, value):
                taken[key] = value
                held[key] = self.capabilities.modes[0]
                self.lose(
                    "loss.tree-field",
                    f"The mode {value!r} is not written.",
                    self.keep_tree,
                    tree=tree.id,
                    pointer="/mode",
                    value=value,
                )
            elif key in ("createdAt", "updatedAt"):
                self.fit_time(tree, key, held, taken)
            elif isinstance(value, str) and (fitted := self.fit_text(tree, key, value)) is not value:
                taken[key] = value
                held[key] = fitted
            else:
                held[key] = value
        for key, value in derived.items():
            held.setdefault(key, value)
        return held, taken, [key for key in derived if key not in tree.fields]

    def fit_time(self, tree: Tree, key: str, held: dict[str, Any], taken: dict[str, Any]) -> None:
        """A tree's time in the unit that the target has."""
        value, unit = tree.fields[key], self.capabilities.tree_times
        if unit == "exact":
            held[key] = value
            return
        where = {"tree": tree.id, "pointer": f"/{key}", "value": value}
        fitted, exact = (None, False) if unit == "none" else fitted_time(value, unit)
        if fitted is None:
            self.lose("loss.tree-field", f"{key} is not written.", self.keep_tree, **where)
        else:
            held[key] = fitted
            if not exact:
                self.lose("loss.time-precision", f"{key} is written less finely.", self.keep_tree, **where)
        if fitted != value:
            taken[key] = value

    def fit_text(self, tree: Tree, key: str, text: str) -> str:
        """A tree's text as the target's app can read it; the same object when it can."""
        fitted, losses = fitted_text(text, self.capabilities)
        for code, message in losses:
            self.lose(code, message, self.keep_tree, tree=tree.id, pointer=f"/{key}")
        return fitted

    def places(self, projected: Tree) -> list[list[Any]] | None:
        """Where the nodes stand, for a target whose files have no ids."""
        if self.capabilities.ids != NO_IDS:
            return None
        if projected.nodes:
            self.lose("loss.node-id", "The ids of nodes are not written.", self.keep_tree, tree=projected.id)
        return places_of(projected) if self.keep_tree else None

    # -- structure ---------------------------------------------------------------------------------------------

    def report_edges(self, tree: Tree) -> None:
        """One finding for each thing about an edge that a strict tree cannot hold."""
        edges, incoming, ids = tree.edges, tree.graph.incoming, tree.nodes.ids
        seen = bytearray(len(ids))
        own_ids = 0
        for position, (kind, form, target) in enumerate(zip(edges.kinds, edges.forms, edges.targets, strict=True)):
            first = kind == CONTINUATION and not seen[target]
            if kind == CONTINUATION:
                seen[target] = 1
            if not form & ODD and first:
                continue
            if form & OWN_ID and first and self.report.is_full("loss.edge-detail"):
                own_ids += 1
                continue
            where = {"tree": tree.id, "node": ids[target], "pointer": f"/edges/{position}"}
            if form & OWN_ID and first:
                self.lose("loss.edge-detail", "Not written of the edge: id.", self.keep_tree, value=["id"], **where)
                continue
            edge = edges[position]
            sources = [source["nodeId"] for source in edge["sources"]]
            if kind != CONTINUATION:
                code = "loss.annotation-edge" if edge["type"] == "annotation" else "loss.edge-type"
                self.lose(
                    code, f"The edge of type {edge['type']!r} is not written.", self.keep_tree, value=sources, **where
                )
                continue
            if not first:
                self.lose(
                    "loss.extra-parent",
                    f"The node has {incoming[target]} parents; the first one is written.",
                    self.keep_tree,
                    value=sources,
                    **where,
                )
            elif len(sources) > 1:
                self.lose(
                    "loss.extra-source", "Only the primary source is written.", self.keep_tree, value=sources, **where
                )
            elif (edge["sources"][0].get("role") or "primary") != "primary":
                self.lose(
                    "loss.extra-source",
                    "The source's role is not written.",
                    self.keep_tree,
                    value=edge["sources"][0].get("role"),
                    **where,
                )
            details = sorted(key for key, value in edge.items() if key not in _EDGE_STRUCTURE and value is not None)
            if edge.get("id") == derived_edge_id(ids[target]):
                details.remove("id")
            if details:
                self.lose(
                    "loss.edge-detail",
                    f"Not written of the edge: {', '.join(details)}.",
                    self.keep_tree,
                    value=details,
                    **where,
                )

        self.report.add_counted("loss.edge-detail", own_ids, None if self.keep_tree else "warning")

    def without_notes(self, projected: Tree, tree: Tree) -> tuple[Tree, list[dict[str, Any]]]:
        """A tree without the notes that only an annotation reaches, and those notes."""
        notes = tree.attached_notes()
        if not notes:
            return projected, []
        removed = []
        for ordinal in in_annotation_order(tree, notes):
            node_id = tree.nodes.ids[ordinal]
            removed.append({"position": ordinal, "node": tree.nodes[node_id]})
            self.lose("loss.note-node", "The note is not written.", self.keep_tree, tree=tree.id, node=node_id)
        return projected.without_nodes({tree.nodes.ids[ordinal] for ordinal in notes}), removed

    def held_notes(self, tree: Tree) -> dict[str, str]:
        """The notes that become children, each with its parent (both as ids)."""
        held = hold_notes(tree)
        for note, anchor in held.items():
            self.lose(
                "loss.loose-note",
                "The note is written as a child of what it is about.",
                self.keep_tree,
                tree=tree.id,
                node=note,
                value=anchor,
            )
        return held

    def link(self, edges: EdgeTable, parent: str, child: str) -> None:
        """An edge that is not in the source; where edges have ids it gets one that none of the source's can be."""
        if self.capabilities.parents == "many":
            edges.append({**plain_edge(parent, child), "id": mint_ulid("projected-edge", parent, child)})
        else:
            ordinals = edges.nodes.ordinals
            edges.add(ordinals[parent], ordinals[child])

    def with_one_root(self, tree: Tree) -> Tree:
        """An empty root above several ones, marked so that it goes again on the way back."""
        roots = tree.roots
        above = mint_ulid("synthetic-root", tree.id, *roots)
        while above in tree.nodes:
            above = mint_ulid("synthetic-root", above)
        self.lose(
            "loss.extra-root",
            f"{len(roots)} roots are written below an empty one.",
            self.keep_tree,
            tree=tree.id,
            value=roots,
        )
        nodes = tree.nodes.without(set())
        node: dict[str, Any] = {
            "id": above,
            "content": [{"type": "text", "text": ""}],
            "author": {"role": "human"},
            "extensions": {NAMESPACE: {"syntheticRoot": True}},
        }
        nodes[above] = cast(Node, node)
        edges = EdgeTable(nodes)
        for root in roots:
            self.link(edges, above, root)
        if self.capabilities.parents == "one":
            for source, target in zip(tree.edges.parents, tree.edges.targets, strict=True):
                edges.add(source, target)
        else:
            edges.extend(tree.edges.blocks())
        return Tree({**tree.fields, "rootNodeIds": [above]}, nodes, edges, tree.key_order)

    def check_depth(self, tree: Tree) -> None:
        """Say when the app would not survive the tree's depth; nothing is changed."""
        limit = self.capabilities.depth
        if limit is None or len(tree.nodes) <= limit:
            return
        deepest = max(tree.graph.depths(tree.root_ordinals), default=0)
        if deepest > limit:
            self.report.add(
                "loss.depth",
                f"The tree is {deepest} nodes deep; the app survives about {limit}.",
                tree=tree.id,
                value=deepest,
            )


def _made_up(key: str, value: Any) -> bool:
    """Fields that every OpenLoom file gets when it is written: the version, and this program's own name."""
    if key == "generator":
        return isinstance(value, dict) and value.get("name") == "loomconv" and value.keys() == {"name", "version"}
    return key == "version" and bool(value == "2.0")


def _says_nothing(key: str, value: Any) -> bool:
    """Values whose absence loses nothing."""
    return value in (None, "", [], {}) or (key == "mode" and value == "dialogue")


def _is_buffer(mode: Any) -> bool:
    """Whether texts of the tree run on without a break; unknown modes by their name (A18)."""
    return isinstance(mode, str) and mode.lower() in ("buffer", "document", "prose", "completion")
