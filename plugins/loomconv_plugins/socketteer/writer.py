"""Writing a tree as a file of socketteer's loom: the *put* of the lens, by the recipe of dossier §2.3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from loomconv.errors import UsageFault
from loomconv.format import Sink, WriteContext
from loomconv.model.document import Document, Tree
from loomconv.plugin.nesting import flat_when_deep
from loomconv_plugins.socketteer.compose import own_stash
from loomconv_plugins.socketteer.emission import Texts, Writer
from loomconv_plugins.socketteer.facts import NAMESPACE, Raw
from loomconv_plugins.socketteer.items import Items
from loomconv_plugins.socketteer.nesting import Nesting
from loomconv_plugins.socketteer.top_level import TopLevel

__all__ = ["write"]

_SHAPES: Final = ("tree", "node", "array", "lines")


def write(document: Document, sink: Sink, context: WriteContext) -> None:
    """Write the document's tree, in the shape of the file that it came from, else as a tree object.

    A shape without top-level keys is left for a tree object when there is something that needs a place there. Output
    is streamed in chunks, but for the shapes and key orders in which something stands before the nodes that is known
    only after them. Raises UsageFault for a document without a tree.
    """
    if not document.trees:
        raise UsageFault("there is no tree to write", next_step="Choose a document that holds one.")
    _TreeWriting(document, sink, context).run()


class _TreeWriting:
    """One tree on its way into a file."""

    def __init__(self, document: Document, sink: Sink, context: WriteContext) -> None:
        self.tree: Tree = document.trees[0]
        self.stash: Raw = own_stash(self.tree.fields)
        self.context = context
        origin = document.origin
        self.native = bool(self.stash) or (origin is not None and origin.format == "socketteer")
        self.layout = flat_when_deep(context.layout, self.tree)  # the app opens neither
        self.sink = sink
        shape = self.stash.get("shape", "tree")
        self.shape = shape if shape in _SHAPES else "tree"

    def run(self) -> None:
        """Write the file."""
        out = Writer(self.sink)
        out.write(self.layout.before)
        if self.shape == "tree" or not self._write_bare(out):
            self._write_tree(out)
        out.write(self.layout.after)
        out.flush()

    def _extra(self) -> dict[str, Any]:
        """The extensions of others, which travel at top level."""
        extensions = self.tree.fields.get("extensions")
        if not isinstance(extensions, dict):
            return {}
        return {key: value for key, value in extensions.items() if key != NAMESPACE}

    def _write_bare(self, out: Writer) -> bool:
        """Write a shape that is nothing but nodes; False, and nothing written, when a top level is needed."""
        if self._extra() or self.tree.fields.get("currentNodeId") is not None or not self.tree.nodes:
            return False
        layout = replace(self.layout, indent=None) if self.shape == "lines" else self.layout
        items = Items(self.tree, self.stash)
        nesting = Nesting(items, Texts(layout))
        if self.shape == "node" and items.single_root is None and "root" not in self.stash:
            return False
        kept = Writer()
        if self.shape == "node":
            nesting.write_root(kept, 0)
        elif self.stash.get("flat") is True:
            nesting.write_flat(kept)
        else:
            nesting.write_list(kept)
        items.plan()
        if TopLevel(self.tree, self.stash, items, {}).is_needed():
            return False
        kept.into(out)
        self._report(items)
        return True

    def _write_tree(self, out: Writer) -> None:
        """Write a tree object."""
        texts = Texts(self.layout)
        forced = self.shape != "tree"
        items = Items(self.tree, self.stash, forced=forced)
        order = self._order()
        streamed = order is None or (bool(order) and order[0] == "root")
        kept = out if streamed else Writer()
        if streamed:
            out.write(b"{" + texts.line(1) + texts.name("root"))
        Nesting(items, texts).write_root(kept, 1)
        items.plan()
        top = TopLevel(self.tree, self.stash, items, self._extra()).members(forced=forced)
        before, after = self._around_root(top, order)
        if not streamed:
            out.write(b"{" + texts.line(1))
            if before:
                out.write(texts.members(before, 0) + texts.comma(1))
            out.write(texts.name("root"))
            kept.into(out)
        if after:
            out.write(texts.comma(1) + texts.members(after, 0))
        out.write(texts.line(0) + b"}")
        self._report(items)

    def _order(self) -> list[Any] | None:
        orders, position = self.stash.get("orders"), self.stash.get("order")
        if self.shape != "tree" or not isinstance(orders, list) or not isinstance(position, int):
            return None
        order = orders[position] if 0 <= position < len(orders) else None
        return order if isinstance(order, list) else None

    def _around_root(self, top: Raw, order: list[Any] | None) -> tuple[Raw, Raw]:
        """The members that stand before and after the root."""
        if order is None or "root" not in order:
            return {}, top
        at = order.index("root")
        first = {key for key in order[:at] if isinstance(key, str)}
        return (
            {key: value for key, value in top.items() if key in first},
            {key: value for key, value in top.items() if key not in first},
        )

    def _report(self, items: Items) -> None:
        """Pictures that the app does not show, and texts that it rewrites (dossier §2.2), unless it wrote them."""
        for node_id, position in items.inside:
            self.context.report.add(
                "loss.block",
                "The picture is inside the document, and the app shows files only; it is kept aside.",
                tree=self.tree.id,
                node=node_id,
                pointer=f"/content/{position}",
                value="image",
            )
        if self.native:
            return
        for node_id in items.rewritten:
            self.context.report.add(
                "loss.rewritten-text",
                "The text holds <p> or </p>; the app takes it for HTML and rewrites it when it opens the file.",
                tree=self.tree.id,
                node=node_id,
                pointer="/content",
            )
