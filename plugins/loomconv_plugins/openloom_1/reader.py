"""Reading a file: settled links first, then nodes, edges and fields for the builder (OL1-* of dossier §4)."""

from __future__ import annotations

from typing import Any, cast

from loomconv.format import ReadContext
from loomconv.model.document import Document
from loomconv.model.times import looks_like_time, to_ms
from loomconv.model.types import Node
from loomconv.storage.source import Source
from loomconv_plugins.openloom_1.bookmarks import Bookmarks, title_of
from loomconv_plugins.openloom_1.dates import sort_time
from loomconv_plugins.openloom_1.intake import Intake, take_apart
from loomconv_plugins.openloom_1.lens import Found, Setting
from loomconv_plugins.openloom_1.links import Links, derived_current, in_depth_order, next_on_path, raw_links, settle
from loomconv_plugins.openloom_1.node_values import node_of
from loomconv_plugins.openloom_1.shape import MISSING, id_of, own_part, same_json
from loomconv_plugins.openloom_1.strict import node_decoder
from loomconv_plugins.openloom_1.tree_values import NO_CURRENT, TREE
from loomconv_plugins.openloom_1.written_ids import STYLE, with_former_ids

__all__ = ["read_document"]


def read_document(source: Source, context: ReadContext) -> Document:
    """The file as a document of one tree; nothing that the file says is dropped.

    Raises UnreadableFile for what is no JSON, InvalidDocument for what is no OpenLoom 1.0 file. Cost: some 10 µs for a
    node as the app writes it, three to five times that for any other.
    """
    return _Reading(take_apart(source, context), context).document()


class _Reading:
    """One file on its way into a document."""

    def __init__(self, intake: Intake, context: ReadContext) -> None:
        self.used_marks: tuple[str, ...]
        intake, self.used_marks = with_former_ids(intake)
        self.intake = intake
        self.context = context
        self.claims = intake.claims
        self.zone = context.assume_timezone
        root = id_of(intake.fields.get("rootNodeId"))
        # The root that the file names, if it is there.
        self.root = root if root in self.claims.ordinals else None
        self.tree_id = id_of(intake.fields.get("id")) or self.root
        # By id: nodes whose remembered child is not what the writer would put there, with their part of the stash.
        self.remembered: dict[str, dict[str, Any]] = {}
        self.links: Links
        self.stash: dict[str, Any] = {STYLE: "uuid"} if self.used_marks else {}
        self.absent: list[str] = []

    def document(self) -> Document:
        self.links = self._settle()
        roots = self._roots()
        current = self._current(roots)
        self._remember(current)
        bookmarks, disagreeing = self._bookmarks()
        decode = node_decoder(self.remembered, self.intake.with_more)
        builder = self.context.builder(decoder=decode)
        setting = Setting(None, bookmarks, self.zone)
        blocks, extended, add_block = self.intake.blocks, self.intake.extended, builder.add_block
        for node_id in self.claims.ids:
            if node_id in blocks and node_id not in disagreeing:
                if node_id in extended:
                    builder.add_node(node_id, decode(node_id, blocks[node_id]), sound=True)
                else:
                    add_block(node_id, blocks[node_id])
                continue
            node = node_of(
                self.intake.object(node_id),
                setting._replace(own_id=node_id),
                self._found_at(node_id),
                self.remembered.get(node_id, {}),
            )
            builder.add_node(node_id, cast(Node, node))
        add_edge, ordinals = builder.edges.add, self.claims.ordinals
        for position, children in in_depth_order(self.claims, self.links, roots):
            for child in children:
                add_edge(position, ordinals[child])
        for position in self.links.lost:
            builder.add_edge(cast(str, self.claims.parents[position]), self.claims.ids[position])
        builder.fields.update(self._fields(roots, current))
        document = Document({"format": "open-loom", "version": "2.0"})
        document.trees.append(builder.build())
        return document

    # -- findings ----------------------------------------------------------------------------------------------

    def _found_at(self, node_id: str) -> Found:
        def found(code: str, message: str, pointer: str, value: Any) -> None:
            self.context.report.add(
                code, message, tree=self.tree_id, node=node_id, pointer=pointer or None, value=value
            )

        return found

    def _found(self, code: str, message: str, pointer: str, value: Any) -> None:
        self.context.report.add(code, message, tree=self.tree_id, pointer=pointer or None, value=value)

    # -- links -------------------------------------------------------------------------------------------------

    def _settle(self) -> Links:
        claims, ids = self.claims, self.claims.ids

        def found(position: int, code: str, message: str, pointer: str, value: Any) -> None:
            self._found_at(ids[position])(code, message, pointer, value)

        for node_id, raw in self.intake.values.items():
            self._check_link_values(node_id, raw)
        links = settle(claims, self.root, self._time_of, found)
        if links.torn:
            self.context.touched = True
        kept = {}
        for position, node_id in enumerate(ids):
            if links.agreed and node_id not in self.intake.values and node_id not in self.intake.null_parents:
                continue
            raw = self._raw_links(position)
            entry = raw_links(raw, links.parents[position], links.children[position], claims.ordinals)
            if entry:
                kept[node_id] = entry
        if kept:
            self.stash["links"] = kept
        return self._sorted(links)

    def _raw_links(self, position: int) -> dict[str, Any]:
        """What the node's object says of its links, without decoding it again."""
        node_id = self.claims.ids[position]
        if node_id in self.intake.values:
            raw = self.intake.values[node_id]
            return raw if isinstance(raw, dict) else {}
        parent = self.claims.parents[position]
        raw = {"childrenIds": self.claims.children[position]}
        if parent is not None or node_id in self.intake.null_parents:
            raw["parentId"] = parent
        return raw

    def _check_link_values(self, node_id: str, raw: Any) -> None:
        if not isinstance(raw, dict):
            return
        found = self._found_at(node_id)
        for key in ("parentId", "rememberedChildId"):
            if not isinstance(raw.get(key), str | None):
                found("read.bad-value", f"{key} is no text; it was kept aside.", f"/{key}", raw[key])
        children = raw.get("childrenIds")
        if children is not None and not (
            isinstance(children, list) and all(isinstance(child, str) for child in children)
        ):
            found("read.bad-value", "childrenIds is no list of texts; it was kept aside.", "/childrenIds", children)

    def _time_of(self, position: int) -> float | None:
        """When a node was made, in seconds since 2001, for children that no list names (OL1-order)."""
        raw = self.intake.object(self.claims.ids[position])
        return sort_time(raw.get("createdTime"), self.zone) if isinstance(raw, dict) else None

    def _sorted(self, links: Links) -> Links:
        """The links with siblings by time, if that was asked for."""
        if self.context.options.get("sibling-order") != "created":
            return links
        ordinals = self.claims.ordinals
        children = []
        for listed in links.children:
            if len(listed) > 1:
                timed = [(self._time_of(ordinals[child]), child) for child in listed]
                timed.sort(key=lambda each: (each[0] is None, each[0] or 0))
                ordered = [child for _, child in timed]
                self.context.touched |= ordered != listed
                listed = ordered
            children.append(listed)
        return links._replace(children=children)

    # -- the root and the current node -------------------------------------------------------------------------

    def _roots(self) -> list[str]:
        """OL1-root: the one that the file names, else those without a parent; further roots are the hub's to list."""
        raw = self.intake.fields.get("rootNodeId", MISSING)
        parents = self.links.parents
        if self.root is not None:
            if parents[self.claims.ordinals[self.root]] is not None:
                self.stash["rootNodeId"] = raw
            roots = [self.root]
        else:
            roots = [node_id for node_id, parent in zip(self.claims.ids, parents, strict=True) if parent is None]
            if self.claims.ids and not (raw is MISSING and self.context.truncated):
                message = "The file names no root that is in it; the nodes without a parent are the roots."
                self._found("repair.bad-root", message, "/rootNodeId", None if raw is MISSING else raw)
        base = roots[0] if roots else ""
        if raw is MISSING:
            self.absent.append("rootNodeId")
        elif not same_json(raw, base):
            self.stash["rootNodeId"] = raw
        return roots

    def _current(self, roots: list[str]) -> str | None:
        """OL1-current: the node that the file names, else the end of the remembered chain, else none."""
        raw = self.intake.fields.get("currentNodeId", MISSING)
        named = id_of(raw)
        root = roots[0] if roots else None
        marked = own_part(self.intake.fields.get("extensions")).get(NO_CURRENT) is True
        if marked and named is not None and named == (self._chain_end(root) or root):
            self.used_marks += (NO_CURRENT,)
            return None
        if named is not None and named in self.claims.ordinals:
            current: str | None = named
        else:
            current = self._chain_end(root)
            if raw is not MISSING and raw is not None and raw != (current or root or ""):
                message = "The current node is not in the file; the remembered path was followed instead."
                self._found("repair.bad-current", message, "/currentNodeId", raw)
        if raw is MISSING:
            self.absent.append("currentNodeId")
        elif not same_json(raw, current or root or ""):
            self.stash["currentNodeId"] = raw
        return current

    def _chain_end(self, root: str | None) -> str | None:
        ordinals, parents = self.claims.ordinals, self.links.parents

        def remembered(node_id: str) -> str | None:
            return id_of(self.claims.remembered[ordinals[node_id]])

        def is_child(node_id: str, child: str) -> bool:
            return child in ordinals and parents[ordinals[child]] == node_id

        return derived_current(root, remembered, is_child)

    def _remember(self, current: str | None) -> None:
        """Keep what is remembered where the writer would put something else (OL1-w-remember)."""
        claims, links = self.claims, self.links
        ahead = next_on_path(claims, links, current)
        for position, (node_id, raw) in enumerate(zip(claims.ids, claims.remembered, strict=True)):
            children = links.children[position]
            if not children:
                if raw is MISSING or (raw is None and node_id in self.intake.blocks):
                    continue
            elif raw == (ahead.get(node_id) or children[0]):
                continue
            self._keep_remembered(position, raw)

    def _keep_remembered(self, position: int, raw: Any) -> None:
        node_id = self.claims.ids[position]
        if raw is MISSING:
            # What is no object has no keys to miss.
            if isinstance(self.intake.values.get(node_id, {}), dict):
                self.remembered[node_id] = {"absent": ["rememberedChildId"]}
            return
        child = id_of(raw)
        ordinal = None if child is None else self.claims.ordinals.get(child)
        if raw is None or (ordinal is not None and self.links.parents[ordinal] == node_id):
            self.remembered[node_id] = {"rememberedChildId": raw}
            return
        # A child that the list names, too, has been reported there.
        if isinstance(raw, str) and raw not in self.claims.children[position]:
            message = "rememberedChildId names no child of the node; it was kept aside."
            self._found_at(node_id)("read.remembered-child", message, "/rememberedChildId", raw)
        self.remembered[node_id] = {"strayRememberedChildId": raw}

    # -- bookmarks ---------------------------------------------------------------------------------------------

    def _bookmarks(self) -> tuple[Bookmarks, set[str]]:
        """OL1-bookmarks: what the map adds to the flags, and the nodes of which the two say different things."""
        copies, flagged = self.intake.copies, self.intake.flagged
        if copies is MISSING:
            self.absent.append("bookmarkedNodes")
            return Bookmarks(), set()
        if not isinstance(copies, dict):
            self.stash["bookmarkedNodes"] = copies
            if copies is not None:
                message = "bookmarkedNodes is no object; it was kept aside."
                self._found("read.bad-value", message, "/bookmarkedNodes", copies)
            return Bookmarks(), set()
        titles: dict[str, str | None] = {}
        kept: dict[str, dict[str, Any]] = {}
        for node_id in copies:
            if node_id not in self.claims.ordinals:
                kept[node_id] = {"stray": self.intake.copy(node_id)}
                message = "A bookmark is of a node that is not in the file; it was kept aside."
                self._found("read.bookmark-disagree", message, f"/bookmarkedNodes/{node_id}", None)
                continue
            difference = self.intake.copy_difference(node_id)
            if difference is not None:
                kept[node_id] = difference
            if difference is not None or node_id not in flagged:
                titles[node_id] = title_of(self.intake.copy(node_id))
                message = "The node and the copy of it among the bookmarks say different things."
                self._found_at(node_id)("read.bookmark-disagree", message, "", None)
        for node_id in (node_id for node_id in self.claims.ids if node_id in flagged and node_id not in copies):
            kept[node_id] = {"missing": True}
            message = "The node is bookmarked, but has no copy among the bookmarks."
            self._found_at(node_id)("read.bookmark-disagree", message, "", None)
        if kept:
            self.stash["bookmarkedNodes"] = kept
        return Bookmarks(titles), titles.keys() & self.claims.ordinals.keys()

    # -- fields ------------------------------------------------------------------------------------------------

    def _fields(self, roots: list[str], current: str | None) -> dict[str, Any]:
        fields = self.intake.fields
        if self.zone is not None and self._needs_zone():
            self.stash["timezone"] = self.zone
        got = TREE.get(
            fields,
            Setting(roots[0] if roots else None, Bookmarks(), self.zone),
            self._found,
            more=self.stash,
            absent=self.absent,
            used=self.used_marks,
        )
        extensions = got.pop("extensions", None)
        got["rootNodeIds"] = roots
        if current is not None:
            got["currentNodeId"] = current
        if extensions is not None:
            got["extensions"] = extensions
        return got

    def _needs_zone(self) -> bool:
        """Whether a time of the file could be read only since the user stated the zone."""
        times = [raw.get("createdTime") for raw in self.intake.values.values() if isinstance(raw, dict)]
        times.append(self.intake.fields.get("lastModified"))
        return any(isinstance(time, str) and to_ms(time) is None and looks_like_time(time) for time in times)
