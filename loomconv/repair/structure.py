"""Topology as the specification wants it (OL2-4.1, gaps A2, A5, A6, A19, A47, A49): references, cycles, roots.

Everything is iterative and linear in nodes and edges. Nothing is dropped: an edge that has to go is kept under the
tree's `extensions.loomconv.removedEdges`, and every repair is one finding.
"""

from __future__ import annotations

from operator import lt
from typing import Any, cast

from loomconv import jsontext
from loomconv.model.document import Document, Tree
from loomconv.model.edges import BROKEN, CONTINUATION
from loomconv.model.ids import mint_ulid
from loomconv.model.record import own_record, with_record
from loomconv.model.types import Edge
from loomconv.report import Report
from loomconv.report.shown import shown_value

__all__ = ["repair_document"]

_DOCUMENT_TYPES: dict[str, type] = {"exportedAt": str, "generator": dict, "agents": dict, "extensions": dict}
_TREE_TYPES: dict[str, type] = {
    "description": str,
    "mode": str,
    "systemContext": str,
    "createdAt": str,
    "updatedAt": str,
    "tags": list,
    "agents": dict,
    "extensions": dict,
}


def repair_document(document: Document, report: Report) -> None:
    """Mend every tree of the document in place; sets `document.touched` when something had to be changed."""
    before = sum(report.codes.values())
    document.fields = _with_right_types(document.fields, _DOCUMENT_TYPES, report)
    taken: set[str] = set()
    for position, tree in enumerate(document.trees):
        _repair_identity(tree, position, taken, report)
        document.trees[position] = _TreeRepair(tree, report).run()
    if sum(report.codes.values()) != before:
        document.touched = True


def _repair_identity(tree: Tree, position: int, taken: set[str], report: Report) -> None:
    """A tree has an id of its own and a title (OL2-4-id, OL2-4-title, A49)."""
    own = tree.fields.get("id")
    if not isinstance(own, str) or not own or own in taken:
        minted = mint_ulid("tree", str(position), str(own))
        report.add("repair.tree-id", tree=minted, pointer="/id", value=shown_value(own))
        if own is not None:
            _keep_aside(tree, "originalId", own)
        tree.fields["id"] = minted
    taken.add(tree.fields["id"])
    tree.fields = _with_right_types(tree.fields, _TREE_TYPES, report, tree=tree.id)
    if not isinstance(tree.fields.get("title"), str):
        report.add("repair.title", tree=tree.id, pointer="/title", value=shown_value(tree.fields.get("title")))
        if tree.fields.get("title") is not None:
            _keep_aside(tree, "originalTitle", tree.fields["title"])
        tree.fields["title"] = ""


def _with_right_types(fields: dict[str, Any], types: dict[str, type], report: Report, **where: str) -> dict[str, Any]:
    """The fields without values of the wrong type, which are kept in the hub's record; the same object if none is."""
    for key, kind in types.items():
        value = fields.get(key)
        if value is not None and not isinstance(value, kind):
            message = f"{key} has the wrong type; it was kept aside."
            report.add("read.bad-value", message, pointer=f"/{key}", **where)  # type: ignore[arg-type]
            others = {name: item for name, item in fields.items() if name != key}
            fields = with_record(others, **{f"original{key[0].upper()}{key[1:]}": value})
    return fields


def _keep_aside(tree: Tree, name: str, value: Any) -> None:
    """Note what stood there before the repair."""
    tree.fields = with_record(tree.fields, **{name: value})


class _TreeRepair:
    """One tree under repair; each step leaves `self.tree` valid for the next."""

    def __init__(self, tree: Tree, report: Report) -> None:
        self.tree = tree
        self.report = report
        # Nodes that lost their parent in a repair: they become roots without a further word.
        self.orphaned: set[int] = set()

    def run(self) -> Tree:
        if not self.tree.nodes:
            self.report.add("repair.empty-tree", tree=self.tree.id, pointer="/nodes")
        if BROKEN in self.tree.edges.kinds:
            self._remove_broken_edges()
        self._remove_duplicate_edges()
        self._rename_edge_ids()
        if self._cut_cycles():
            self._remove_duplicate_edges()  # a link that was cut may say now what a note says already
        self._list_roots()
        self._check_current()
        return self.tree

    def found(self, code: str, message: str, **where: Any) -> None:
        self.report.add(code, message, tree=self.tree.id, **where)

    def _replace_edges(self, changes: dict[int, Edge | bool]) -> None:
        edges = self.tree.edges.rebuilt(self.tree.nodes, lambda position: changes.get(position, True))
        self.tree = self.tree.with_edges(edges)

    def _keep_removed(self, position: int, value: Any) -> None:
        removed = own_record(self.tree.fields).get("removedEdges")
        kept = removed if isinstance(removed, list) else []
        kept.append({"position": position, "edge": value})
        _keep_aside(self.tree, "removedEdges", kept)

    # -- references --------------------------------------------------------------------------------------------

    def _remove_broken_edges(self) -> None:
        """Drop sources and edges that lead to nowhere (OL2-4.1-edgeref); what was there is kept aside."""
        edges, ordinals = self.tree.edges, self.tree.nodes.ordinals
        changes: dict[int, Edge | bool] = {}
        for position, kind in enumerate(edges.kinds):
            if kind != BROKEN:
                continue
            if position in edges.unusable:
                changes[position] = self._mend_unusable(position, edges.unusable[position])
                continue
            edge = edges[position]
            target = edge["targetNodeId"]
            self._keep_removed(position, edge)
            if target not in ordinals:
                self.found("repair.missing-target", "The edge's target is not in the file.", node=target)
                changes[position] = False
                continue
            sources = [source for source in edge["sources"] if source["nodeId"] in ordinals]
            for source in edge["sources"]:
                if source["nodeId"] in ordinals:
                    continue
                code, what = (
                    ("repair.missing-parent", "The node's parent is not in the file; it became a root.")
                    if position in edges.claims
                    else ("repair.missing-source", "A source of the edge into this node is not in the file.")
                )
                self.found(code, what, node=target, value=source["nodeId"])
            if not edge["sources"]:
                self.found("repair.bad-edge", "The edge has no sources.", node=target)
            changes[position] = {**edge, "sources": sources} if sources else False
            if not sources:
                self.orphaned.add(ordinals[target])
        self._replace_edges(changes)
        if BROKEN in self.tree.edges.kinds:  # a mended edge can still lead to nowhere
            self._remove_broken_edges()

    def _mend_unusable(self, position: int, value: Any) -> Edge | bool:
        """An edge without a type is a continuation (OL2-4.4-type); anything else that is no edge goes."""
        if isinstance(value, dict) and not isinstance(value.get("type"), str):
            mended: Any = {**value, "type": "continuation"}
            sources = mended.get("sources")
            if (
                isinstance(mended.get("targetNodeId"), str)
                and isinstance(sources, list)
                and all(isinstance(source, dict) and isinstance(source.get("nodeId"), str) for source in sources)
            ):
                self.found(
                    "repair.edge-type",
                    "The edge has no type; it counts as a continuation.",
                    pointer=f"/edges/{position}",
                    value=value.get("type"),
                )
                edge: Edge = mended
                return edge
        self._keep_removed(position, value)
        self.found("repair.bad-edge", "The value is no edge; it was kept aside.", pointer=f"/edges/{position}")
        return False

    # -- duplicates --------------------------------------------------------------------------------------------

    def _remove_duplicate_edges(self) -> None:
        """Keep the first of edges that say exactly the same (A47)."""
        edges, incoming = self.tree.edges, self.tree.graph.incoming
        if edges.kinds.count(CONTINUATION) == len(edges) and max(incoming, default=0) < 2:
            return
        seen: set[bytes] = set()
        changes: dict[int, Edge | bool] = {}
        for position, (kind, target) in enumerate(zip(edges.kinds, edges.targets, strict=True)):
            if kind == CONTINUATION and incoming[target] < 2:
                continue
            edge = edges[position]
            sources = [[source["nodeId"], source.get("role") or "primary"] for source in edge["sources"]]
            key = jsontext.encode([edge["type"], sources, edge["targetNodeId"]])
            if key in seen:
                self.found("repair.duplicate-edge", "The edge is there twice.", node=edge["targetNodeId"])
                self._keep_removed(position, edge)
                changes[position] = False
            seen.add(key)
        if changes:
            self._replace_edges(changes)

    def _rename_edge_ids(self) -> None:
        """Nodes and edges share one scope of ids; an edge gives way (OL2-3.2-idscope, A2)."""
        edges = self.tree.edges
        if not edges.ids_may_clash():
            return
        taken = set(self.tree.nodes.ordinals)
        changes: dict[int, Edge | bool] = {}
        for position in range(len(edges)):
            edge = edges[position]
            own: Any = edge.get("id")
            if own is None:
                continue
            if not isinstance(own, str) or not own or own in taken:
                minted = mint_ulid("edge", self.tree.id, str(position), str(own))
                self.found(
                    "repair.edge-id", "The edge's id is taken or no id.", pointer=f"/edges/{position}", value=own
                )
                changes[position] = cast(Edge, with_record({**edge, "id": minted}, originalId=own))
                own = minted
            taken.add(own)
        if changes:
            self._replace_edges(changes)

    # -- cycles ------------------------------------------------------------------------------------------------

    def _cut_cycles(self) -> bool:
        """Continuations form no ring (OL2-4.1-acyclic, A5): the link that closes one becomes an annotation."""
        ringed = set() if _leads_forward(self.tree) else self.tree.graph.on_or_behind_rings()
        if not ringed:
            return False
        edges = self.tree.edges
        links: dict[int, list[tuple[int, int]]] = {}
        # Where the story comes in from outside: such a node keeps its place, and its ring is cut where it comes back.
        entries: list[int] = []
        for position, kind in enumerate(edges.kinds):
            if kind == CONTINUATION and edges.targets[position] in ringed:
                for source in dict.fromkeys(edges.sources(position)):
                    if source in ringed:
                        links.setdefault(source, []).append((edges.targets[position], position))
                    else:
                        entries.append(edges.targets[position])
        listed = [self.tree.nodes.ordinals[root] for root in self.tree.listed_roots if root in self.tree.nodes]
        starts = dict.fromkeys([*entries, *(root for root in listed if root in ringed), *sorted(ringed)])
        changes: dict[int, Edge | bool] = {}
        for position in _closing_links(starts, links):
            edge = edges[position]
            target = edge["targetNodeId"]
            self.found(
                "repair.cycle",
                f"A ring of nodes closes at {target!r}; the link into it was cut.",
                node=target,
                value=[source["nodeId"] for source in edge["sources"]],
            )
            cut = with_record({**edge, "type": "annotation"}, demotedFrom=edge["type"])
            changes[position] = cast(Edge, cut)
            self.orphaned.add(self.tree.nodes.ordinals[target])
        self._replace_edges(changes)
        return True

    # -- roots and pointers ------------------------------------------------------------------------------------

    def _list_roots(self) -> None:
        """The roots are the nodes that no continuation points at; listed order first (OL2-4.1-roots, A5, A6)."""
        tree, graph = self.tree, self.tree.graph
        ordinals = tree.nodes.ordinals
        listed = tree.fields.get("rootNodeIds")
        kept: dict[str, None] = {}
        if listed is not None and not isinstance(listed, list):
            self.found("repair.bad-root", "rootNodeIds is not a list.", pointer="/rootNodeIds")
            _keep_aside(tree, "originalRootNodeIds", listed)
        for root in listed if isinstance(listed, list) else ():
            ordinal = ordinals.get(root, -1) if isinstance(root, str) else -1
            if ordinal < 0:
                self.found("repair.bad-root", "A listed root is not in the file.", pointer="/rootNodeIds", value=root)
            elif graph.incoming[ordinal]:
                self.found("repair.bad-root", "A listed root continues another node.", node=root, value=root)
            elif root in kept:
                self.found("repair.bad-root", "A root is listed twice.", node=root, value=root)
            else:
                kept[root] = None
        notes = tree.attached_notes()
        for ordinal in graph.roots():
            root = tree.nodes.ids[ordinal]
            if root in kept or ordinal in notes:
                continue
            if listed and ordinal not in self.orphaned:
                self.found("repair.unlisted-root", "A root was not listed.", node=root)
            kept[root] = None
        if list(kept) != listed:
            tree.fields["rootNodeIds"] = list(kept)

    def _check_current(self) -> None:
        """A current node that is not there is none (A19)."""
        current = self.tree.fields.get("currentNodeId")
        if current is None or (isinstance(current, str) and current in self.tree.nodes):
            return
        self.found(
            "repair.bad-current", "The current node is not in the file.", pointer="/currentNodeId", value=current
        )
        _keep_aside(self.tree, "originalCurrentNodeId", current)
        del self.tree.fields["currentNodeId"]


def _leads_forward(tree: Tree) -> bool:
    """Whether every link leads forward in the file, so that there can be no ring."""
    edges = tree.edges
    return all(map(lt, edges.parents, edges.targets)) and all(
        max(sources) < edges.targets[position] for position, sources in edges.more_sources.items()
    )


def _closing_links(starts: dict[int, None], links: dict[int, list[tuple[int, int]]]) -> list[int]:
    """Edge positions that close a ring, found by depth-first search from the starts in order."""
    new, open_, done = 0, 1, 2
    state = dict.fromkeys(starts, new)
    closing: dict[int, None] = {}
    for start in starts:
        if state[start] != new:
            continue
        state[start] = open_
        stack = [(start, iter(links.get(start, ())))]
        while stack:
            ordinal, rest = stack[-1]
            for target, position in rest:
                if state[target] == open_:
                    closing[position] = None
                elif state[target] == new:
                    state[target] = open_
                    stack.append((target, iter(links.get(target, ()))))
                    break
            else:
                state[ordinal] = done
                stack.pop()
    return sorted(closing)
