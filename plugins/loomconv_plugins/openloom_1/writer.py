"""Writing a file: one pass over the nodes, each looked at once (OL1-w-* of dossier §6)."""

from __future__ import annotations

from typing import Any, cast

from loomconv.errors import UsageFault
from loomconv.format import Sink, WriteContext
from loomconv.model.document import Document, Tree
from loomconv_plugins.openloom_1.bookmarks import Bookmarks, WrittenBookmarks, patched
from loomconv_plugins.openloom_1.dates import sort_time
from loomconv_plugins.openloom_1.kept_links import usable_links
from loomconv_plugins.openloom_1.lens import Setting
from loomconv_plugins.openloom_1.links import derived_current
from loomconv_plugins.openloom_1.node_values import node_object, raw_instead
from loomconv_plugins.openloom_1.output import Output
from loomconv_plugins.openloom_1.quick_write import encode_node, quick_node
from loomconv_plugins.openloom_1.shape import MISSING, NAMESPACE, TREE_KEYS, VALUE_KEYS, id_of, own_part, same_json
from loomconv_plugins.openloom_1.tree_values import NO_CURRENT, TREE
from loomconv_plugins.openloom_1.written_ids import ORIGINAL, STYLE, mark_original, renamed_links, uuid_ids

__all__ = ["write_document"]


def write_document(document: Document, sink: Sink, context: WriteContext) -> None:
    """Write the one tree of a document.

    Raises UsageFault when there is not exactly one. Cost: some 8 µs for a node that the format holds completely, four
    times that for any other; memory for one node, its siblings' ids, and the bookmarked nodes.
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
        absent = self.stash.get("absent")
        self.absent: list[Any] = absent if isinstance(absent, list) else []
        self.bookmarks = WrittenBookmarks(self.stash)
        zone = self.stash.get("timezone")
        self.setting = Setting(None, self.bookmarks, zone if isinstance(zone, str) else None)
        roots = tree.roots
        self.root = roots[0] if roots and roots[0] in tree.nodes else None
        self.named_root = self._named_root(roots)
        current = tree.fields.get("currentNodeId")
        self.current = current if isinstance(current, str) and current in tree.nodes else None
        self.ahead = self._ahead()
        read_root = id_of(self.named_root)
        self.kept_links = usable_links(
            self.stash.get("links"), tree, read_root if read_root in tree.nodes else None, self._time_of
        )
        self.uuids: dict[str, str] | None = None
        if context.options.get("ids") == "uuid" or self.stash.get(STYLE) == "uuid":
            self.uuids = uuid_ids(tree.nodes.ids)
        # What is remembered where that is not the default.
        self.remembered: dict[str, Any] = {}
        self.copies: list[tuple[str, bytes]] = []

    def run(self) -> None:
        out = self.out
        fields = self._fields()
        extensions = fields.pop("extensions", MISSING)
        out.open()
        for key, value in fields.items():
            if key in TREE_KEYS:
                out.member(key, out.block_of(value))
        if self.named_root is not MISSING:
            out.member("rootNodeId", out.block_of(self._renamed(self.named_root)))
        self._write_map("nodes")
        self._write_bookmarks()
        current = self._current_member()
        if current is not MISSING:
            out.member("currentNodeId", out.block_of(self._renamed(current)))
        for key, value in fields.items():
            if key not in TREE_KEYS:
                out.member(key, out.block_of(value))
        extensions = self._tree_extensions(extensions, current)
        if extensions is not MISSING:
            out.member("extensions", out.block_of(extensions))
        out.close()
        out.finish()

    # -- nodes -------------------------------------------------------------------------------------------------

    def _write_nodes(self) -> None:
        out, ids, graph = self.out, self.tree.nodes.ids, self.graph
        if not ids:
            out.member("nodes", out.block_of({}))
            return
        parents, children_of, ahead = graph.parent, graph.children, self.ahead
        careful = self.kept_links.keys() | self.bookmarks.differences.keys()
        quick = out.compact and self.uuids is None
        out.open("nodes")
        for ordinal, (node_id, node) in enumerate(self.tree.nodes.items()):
            children = [ids[child] for child in children_of(ordinal)]
            parent = ids[parents[ordinal]] if parents[ordinal] >= 0 else None
            block = None
            if quick and node_id not in careful:
                written = quick_node(node_id, cast("dict[str, Any]", node), parent, children, ahead.get(node_id))
                if written is not None:
                    try:
                        block = out.escaped(encode_node(written))
                    except UnicodeEncodeError:  # half a character
                        block = None
                    else:
                        out.member(node_id, block)
                        if written.isBookmarked:
                            self.copies.append((node_id, block))
            if block is None:
                self._write_carefully(node_id, cast("dict[str, Any]", node), parent, children)
        out.close()
