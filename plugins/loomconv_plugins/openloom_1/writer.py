"""Writing a file: one pass over the nodes, each looked at once (OL1-w-* of dossier §6)."""

from __future__ import annotations

import itertools
from typing import Any, cast

from msgspec import UNSET

from loomconv import jsontext
from loomconv.errors import UsageFault
from loomconv.format import Sink, WriteContext
from loomconv.model.document import Document, Tree
from loomconv_plugins.openloom_1.bookmarks import WrittenBookmarks, patched
from loomconv_plugins.openloom_1.dates import sort_time
from loomconv_plugins.openloom_1.kept_links import usable_links
from loomconv_plugins.openloom_1.lens import Setting
from loomconv_plugins.openloom_1.links import derived_current
from loomconv_plugins.openloom_1.node_values import node_object, raw_instead
from loomconv_plugins.openloom_1.output import Output
from loomconv_plugins.openloom_1.quick_write import encode_node, quick_node
from loomconv_plugins.openloom_1.shape import MISSING, TREE_KEYS, VALUE_KEYS, id_of, own_part
from loomconv_plugins.openloom_1.tree_values import NO_CURRENT, TREE
from loomconv_plugins.openloom_1.written_ids import ORIGINAL, STYLE, renamed_links, uuid_ids, with_marks

__all__ = ["write_document"]


def write_document(document: Document, sink: Sink, context: WriteContext) -> None:
    """Write the one tree of a document.

    Raises UsageFault when there is not exactly one. Cost: some 10 µs for a node that the format holds completely, five
    times that for any other; memory for one node, its children's ids, and the bookmarked nodes.
    """
    if len(document.trees) != 1:
        raise UsageFault(
            f"a file of OpenLoom 1.0 holds one tree, the document has {len(document.trees)}",
            next_step="Write each tree into a file of its own.",
        )
    _Writing(document.trees[0], sink, context).run()


class _Writing:
    """One tree on its way into a file."""

    def __init__(self, tree: Tree, sink: Sink, context: WriteContext) -> None:
        self.tree = tree
        self.graph = tree.graph
        self.out = Output(sink, context.layout)
        self.stash = own_part(tree.fields.get("extensions"))
        self.bookmarks = WrittenBookmarks(self.stash)
        zone = self.stash.get("timezone")
        self.setting = Setting(None, self.bookmarks, zone if isinstance(zone, str) else None)
        roots = tree.roots
        # What the file will say of the root (MISSING for nothing), and what that means.
        self.named_root = self._named_root(roots)
        named = id_of(self.named_root)
        self.root = next((each for each in (named, *roots[:1]) if each in tree.nodes), None)
        current = tree.fields.get("currentNodeId")
        self.current = current if isinstance(current, str) and current in tree.nodes else None
        self.ahead = self._ahead()
        root = named if named in tree.nodes else None
        self.kept_links = usable_links(self.stash.get("links"), tree, root, self._time_of)
        self.uuids: dict[str, str] = {}
        if context.options.get("ids") == "uuid" or self.stash.get(STYLE) == "uuid":
            self.uuids = uuid_ids([*tree.nodes.ids, tree.id])
        # What nodes remember where that is not the default, by id; and the copies of the bookmarked ones.
        self.remembered: dict[str, Any] = {}
        self.copies: list[tuple[str, bytes]] = []

    def run(self) -> None:
        out = self.out
        fields = TREE.put(self.tree.fields, self.setting._replace(own_id=self.root))
        out.open()
        for key, value in fields.items():
            if key in TREE_KEYS and key != "extensions":
                out.member(key, out.block_of(self._renamed(value) if key == "id" else value))
        if self.named_root is not MISSING:
            out.member("rootNodeId", out.block_of(self._renamed(self.named_root)))
        self._write_nodes()
        self._write_bookmarks()
        current = self._named_current()
        if current is not MISSING:
            out.member("currentNodeId", out.block_of(self._renamed(current)))
        for key, value in fields.items():
            if key not in TREE_KEYS:
                out.member(key, out.block_of(value))
        extensions = self._marked(fields.get("extensions", MISSING), current)
        if extensions is not MISSING:
            out.member("extensions", out.block_of(extensions))
        out.close()
        out.finish()

    # -- nodes -------------------------------------------------------------------------------------------------

    def _write_nodes(self) -> None:
        out, ids, nodes = self.out, self.tree.nodes.ids, self.tree.nodes
        if not ids:
            out.member("nodes", out.block_of({}))
            return
        parents, children_of, next_of = self.graph.parent, self.graph.children, self.ahead.get
        careful = set(ids) if self.uuids else self.kept_links.keys() | self.bookmarks.differences
        out.open("nodes")
        for ordinal, (node_id, each) in enumerate(zip(ids, nodes.in_order(), strict=True)):
            node = cast("dict[str, Any]", each)
            children = [ids[child] for child in children_of(ordinal)]
            above = parents[ordinal]
            parent = ids[above] if above >= 0 else UNSET
            ahead = (next_of(node_id) or children[0]) if children else UNSET
            written = block = None
            if node_id not in careful:
                written = quick_node(node_id, node, parent, children, ahead)
            if written is not None:
                try:
                    text = encode_node(written)
                    block = out.escaped(text) if out.compact else out.block_of(jsontext.decode(text))
                except UnicodeEncodeError:  # half a character
                    block = None
            if written is None or block is None:
                self._write_carefully(node_id, node, None if parent is UNSET else parent, children)
                continue
            out.member(node_id, block)
            if written.rememberedChildId != ahead:
                self.remembered[node_id] = written.rememberedChildId
            if written.isBookmarked:
                self.copies.append((node_id, block))
        out.close()

    def _write_carefully(self, node_id: str, node: dict[str, Any], parent: str | None, children: list[str]) -> None:
        """A node with marks, or with a raw form to be kept."""
        entry = self.kept_links.get(node_id, {})
        raw: Any = MISSING
        # What is no object says nothing of its links; the tree must be known without.
        if "childrenIds" in _absent(entry) and (parent is None or "parentId" in _absent(entry)):
            raw = raw_instead(node, self.setting)
        if raw is MISSING:
            raw = self._object(node, parent, children, entry)
        else:
            self.remembered[node_id] = MISSING
        name = self.uuids.get(node_id, node_id)
        if isinstance(raw, dict) and self.uuids:
            raw = self._with_uuids(raw, node_id)
        block = self.out.block_of(raw)
        self.out.member(name, block)
        meta = node.get("meta")
        if isinstance(meta, dict) and meta.get("bookmarked") is True:
            self._keep_copy(node_id, raw, block)

    def _object(
        self, node: dict[str, Any], parent: str | None, children: list[str], entry: dict[str, Any]
    ) -> dict[str, Any]:
        """The object with its links, in the order of keys of the quick way."""
        values = node_object(node, self.setting)
        links: dict[str, Any] = {} if parent is None else {"parentId": parent}
        links["childrenIds"] = children
        for key in ("parentId", "childrenIds"):
            if key in entry:
                links[key] = entry[key]
            elif key in _absent(entry):
                links.pop(key, None)
        remembered = self._remembered(node, children)
        if remembered is not MISSING:
            links["rememberedChildId"] = remembered
        head: dict[str, Any] = {key: values[key] for key in VALUE_KEYS[:5] if key in values}
        return {**head, **links, **{key: value for key, value in values.items() if key not in head}}

    def _remembered(self, node: dict[str, Any], children: list[str]) -> Any:
        """OL1-w-remember: what the stash says if it is a child, else the child towards the current node, or the first.

        What the file had instead of a child (nothing, null, or something that is still no child) is kept, too.
        """
        node_id = node["id"]
        default: Any = (self.ahead.get(node_id) or children[0]) if children else MISSING
        stash = own_part(node.get("extensions"))
        value = default
        if "rememberedChildId" in stash:
            kept = stash["rememberedChildId"]
            value = kept if kept is None or id_of(kept) in children else default
        elif "strayRememberedChildId" in stash:
            kept = stash["strayRememberedChildId"]
            value = default if id_of(kept) in children else kept
        elif "rememberedChildId" in _absent(stash):
            value = MISSING
        if value is not default:
            self.remembered[node_id] = value
        return value

    def _time_of(self, ordinal: int) -> float | None:
        """When a node will be said to have been made, for children that no list will name."""
        node_id = self.tree.nodes.ids[ordinal]
        raw = node_object(cast("dict[str, Any]", self.tree.nodes[node_id]), self.setting)
        return sort_time(raw.get("createdTime"), self.setting.zone)

    # -- bookmarks ---------------------------------------------------------------------------------------------

    def _keep_copy(self, node_id: str, raw: Any, block: bytes) -> None:
        """Full copies of the bookmarked nodes (OL1-w-bookmarks), different from the node where the file's were."""
        kept = self.bookmarks.differences.get(node_id, {})
        if kept.get("missing") is True and isinstance(raw, dict) and raw.get("isBookmarked") is True:
            return
        if "is" in kept:
            block = self.out.block_of(kept["is"])
        elif isinstance(raw, dict) and ("set" in kept or "absent" in kept):
            block = self.out.block_of(patched(raw, kept))
        self.copies.append((node_id, block))

    def _write_bookmarks(self) -> None:
        out = self.out
        if self.bookmarks.raw is not None:
            for value in self.bookmarks.raw:
                out.member("bookmarkedNodes", out.block_of(value))
            return
        strangers = {
            node_id: kept["stray"]
            for node_id, kept in self.bookmarks.differences.items()
            if "stray" in kept and node_id not in self.tree.nodes
        }
        if not self.copies and not strangers:
            out.member("bookmarkedNodes", out.block_of({}))
            return
        out.open("bookmarkedNodes")
        for node_id, block in self.copies:
            out.member(self.uuids.get(node_id, node_id), block)
        for node_id, value in strangers.items():
            out.member(node_id, out.block_of(value))
        out.close()

    # -- root and current node ---------------------------------------------------------------------------------

    def _named_root(self, roots: list[str]) -> Any:
        """`rootNodeId`: the first root, or what the file had if that leads to the same roots (OL1-root)."""
        base = roots[0] if roots else ""
        raw = self._raw_form("rootNodeId")
        if raw is None:
            return base
        nodes, graph = self.tree.nodes, self.graph
        named = id_of(raw[0])
        parentless = [nodes.ids[ordinal] for ordinal in graph.roots()]
        if named is not None and named in nodes:
            same = graph.parent[nodes.ordinals[named]] >= 0 and roots in ([named], parentless)
        else:
            same = roots == parentless
        return raw[0] if same else base

    def _raw_form(self, key: str) -> list[Any] | None:
        """What the stash has for a key of the tree, in a list; MISSING for an absent one, None for nothing."""
        if key in self.stash:
            return [self.stash[key]]
        return [MISSING] if key in _absent(self.stash) else None

    def _ahead(self) -> dict[str, str]:
        """For each node above the current one, the child that leads to it."""
        if self.current is None:
            return {}
        path = self.tree.graph.path_to(self.current)
        return dict(itertools.pairwise(path))

    def _named_current(self) -> Any:
        """`currentNodeId` (OL1-w-current), or what the file had if that leads to the same node (OL1-current)."""
        chain = self._chain_end()
        raw = self._raw_form("currentNodeId")
        if raw is not None:
            named = id_of(raw[0])
            if (named if named in self.tree.nodes else chain) == self.current:
                return raw[0]
        return self.current or chain or self.root or ""

    def _chain_end(self) -> str | None:
        nodes, graph = self.tree.nodes, self.graph

        def remembered(node_id: str) -> str | None:
            if node_id in self.remembered:
                return id_of(self.remembered[node_id])
            if node_id in self.ahead:
                return self.ahead[node_id]
            children = graph.children(nodes.ordinals[node_id])
            return nodes.ids[children[0]] if children else None

        def is_child(node_id: str, child: str) -> bool:
            return child in nodes and graph.parent_of(child) == node_id

        return derived_current(self.root, remembered, is_child)

    def _marked(self, extensions: Any, current: Any) -> Any:
        """The tree's `extensions` with the marks that have to do with nodes: for no current node, and for other ids."""
        marks: dict[str, Any] = {}
        named = id_of(current)
        if self.current is None and named and named in self.tree.nodes:
            marks[NO_CURRENT] = True
        elif named and own_part(extensions).get(NO_CURRENT) is True and named == (self._chain_end() or self.root):
            # A mark that was of no use would now say what is not so.
            extensions = with_marks(extensions, {}, without=NO_CURRENT)
        if self.uuids:
            marks[STYLE] = "uuid"
            if self.uuids[self.tree.id] != self.tree.id:
                marks[ORIGINAL] = self.tree.id
        return with_marks(extensions, marks) if marks else extensions

    # -- other ids ---------------------------------------------------------------------------------------------

    def _renamed(self, value: Any) -> Any:
        return self.uuids.get(value, value) if isinstance(value, str) else value

    def _with_uuids(self, raw: dict[str, Any], node_id: str) -> dict[str, Any]:
        raw = renamed_links(raw, node_id, lambda each: self.uuids.get(each, each))
        if self.uuids[node_id] != node_id:
            raw["extensions"] = with_marks(raw.get("extensions", MISSING), {ORIGINAL: node_id})
        return raw


def _absent(entry: dict[str, Any]) -> list[Any]:
    absent = entry.get("absent")
    return absent if isinstance(absent, list) else []
