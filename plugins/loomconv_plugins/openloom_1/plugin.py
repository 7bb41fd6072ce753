"""What OpenLoom 1.0 is called, how it is recognised, and what it holds."""

from __future__ import annotations

from typing import Any, ClassVar

from loomconv import jsontext
from loomconv.format import Capabilities, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document
from loomconv.storage import Source
from loomconv_plugins.openloom_1.shape import NODE_KEYS

__all__ = ["OpenLoom1"]

# Keys of MiniLoom, socketteer and Athanor, and of OpenLoom 2.0, which has no use for the other keys asked for here.
_STRANGERS = frozenset({"loomTree", "root", "trees"})
# Keys of a node that hardly any other loom has.
_TELLING = frozenset({"modelId", "childrenIds", "isBookmarked", "rememberedChildId"})


class OpenLoom1(Format):
    """`*.openloom.json`: one JSON object with a flat map of nodes that name their parent and their children."""

    name = "openloom-1"
    title = "OpenLoom 1.0"
    suffixes = (".openloom.json",)
    namespace = "openloom-1"
    layout: ClassVar[Layout] = jsontext.SWIFT
    options = (
        Option(
            name="sibling-order",
            help="Order of siblings: as the file lists them, or by the time at which they were made.",
            choices=("listed", "created"),
            default="listed",
        ),
        Option(
            name="ids",
            help="Ids of nodes and tree: as they are, or as upper-case UUIDs derived from them.",
            choices=("keep", "uuid"),
            default="keep",
            applies_to="write",
        ),
    )
    capabilities = Capabilities(
        trees="one",
        roots="one",
        parents="one",
        blocks=("text",),
        roles=("human", "model", "system"),
        # A model's name stands for the model where that is not known (OL1-w-modelId), and comes back by a mark.
        author_names=("human", "model"),
        meta=("bookmarked", "bookmarkLabel"),
        generation=("model",),
        node_times="millisecond",
        tree_fields=("id", "title", "description", "systemContext", "currentNodeId", "updatedAt", "mode", "extensions"),
        tree_times="millisecond",
        modes=("dialogue",),
        unknown_keys=("tree", "node"),
    )

    def detect(self, probe: Probe) -> Confidence | None:
        """OL1-detect: a map of nodes with links and authors, and the name of the root as far as the head shows it."""
        value = probe.value
        if not isinstance(value, dict) or probe.lines or value.get("format") == "open-loom":
            return None
        nodes, root = value.get("nodes"), value.get("rootNodeId")
        if value.keys() & _STRANGERS or not isinstance(nodes, dict):
            return None
        if not nodes:
            # A tree without nodes says what it is by its other keys alone.
            is_empty = value.keys() >= {"rootNodeId", "systemMessage", "lastModified", "bookmarkedNodes"}
            return Confidence(70, "no nodes, but the keys of a tree") if is_empty else None
        if not isinstance(root, str) and ("rootNodeId" in value or not probe.truncated):
            return None
        entries = list(nodes.values())
        if probe.truncated and len(entries) == 1 and _may_be_cut_node(entries[0]):
            return Confidence(60, "the start of a node with links to children and a model")
        # The head may end in the last node.
        whole = entries[:-1] if probe.truncated else entries
        if 2 * sum(map(_looks_like_node, whole)) <= len(whole):
            return None
        if "bookmarkedNodes" in value:
            return Confidence(95, "nodes with authors, parentId and childrenIds, and bookmarkedNodes")
        if isinstance(root, str):
            return Confidence(85, "nodes with authors, parentId and childrenIds, and rootNodeId")
        return Confidence(80, "nodes with authors, parentId and childrenIds")

    def read(self, source: Source, context: ReadContext) -> Document:
        """See `reader.read_document`."""
        from loomconv_plugins.openloom_1.reader import read_document

        return read_document(source, context)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """See `writer.write_document`."""
        from loomconv_plugins.openloom_1.writer import write_document

        write_document(document, sink, context)

    def private_keys(self) -> dict[str, tuple[str, ...]]:
        """A system message that is no text is kept aside as it is."""
        return {"system-context": ("systemMessage",)}

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the file."""
        from loomconv_plugins.openloom_1.checks import schema

        return schema()

    def validate(self, source: Source, context: ReadContext) -> None:
        """See `checks.check`."""
        from loomconv_plugins.openloom_1.checks import check

        check(source, context)


def _looks_like_node(node: Any) -> bool:
    return isinstance(node, dict) and "author" in node and ("childrenIds" in node or "parentId" in node)


def _may_be_cut_node(node: Any) -> bool:
    return isinstance(node, dict) and node.keys() <= NODE_KEYS and bool(node.keys() & _TELLING)
