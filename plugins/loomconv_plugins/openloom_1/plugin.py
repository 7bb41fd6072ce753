"""What OpenLoom 1.0 is called, how it is recognised, and what it holds."""

from __future__ import annotations

from typing import Any, ClassVar

from loomconv import jsontext
from loomconv.format import Capabilities, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document
from loomconv.storage import Source

__all__ = ["OpenLoom1"]

# Keys of other looms whose nodes look alike: Loomsidian, MiniLoom, and the list of trees of OpenLoom 2.0.
_STRANGERS = frozenset({"current", "hoisted", "loomTree", "trees", "root"})


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
        """OL1-detect: a map of nodes with links and authors, and the name of the root."""
        value = probe.value
        if not isinstance(value, dict) or value.get("format") == "open-loom" or probe.lines:
            return None
        if value.keys() & _STRANGERS:
            return None
        nodes = value.get("nodes")
        if not isinstance(nodes, dict):
            return None
        whole = not probe.truncated
        if not isinstance(value.get("rootNodeId"), str) and (whole or "rootNodeId" in value):
            return None
        likely = sum(_looks_like_node(node) for node in nodes.values())
        if likely < (len(nodes) if len(nodes) < 3 else len(nodes) // 2) or not likely:
            return None
        if "bookmarkedNodes" in value:
            return Confidence(95, "nodes with authors, parentId and childrenIds, rootNodeId and bookmarkedNodes")
        return Confidence(85, "nodes with authors, parentId and childrenIds, and rootNodeId")

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
