"""What OpenLoom 2.0 is called, how it is recognised, and what it holds (everything)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, ClassVar

from loomconv.format import EVERYTHING, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document
from loomconv.storage import Source
from loomconv_plugins.openloom_2.layouts import LAYOUTS, LINES

__all__ = ["OpenLoom2"]


class OpenLoom2(Format):
    """`*.openloom`: one JSON object with flat nodes and hyperedges, or a ZIP with it and its media (draft 2.0)."""

    name = "openloom-2"
    title = "OpenLoom 2.0"
    suffixes = (".openloom",)
    media_type = "application/vnd.openloom+json"
    namespace = "openloom-2"
    # One node a line is the usual layout of our own files; to a reader of layouts it looks like this.
    layout: ClassVar[Layout] = LINES
    options = (
        Option(
            name="layout",
            help="How a new file is laid out: one node a line, everything in one line, or indented by two spaces.",
            choices=tuple(LAYOUTS),
            default="lines",
            applies_to="write",
        ),
    )
    capabilities = EVERYTHING

    def detect(self, probe: Probe) -> Confidence | None:
        """By the mark (OL2-3-format), or by shape when the mark may stand beyond the head."""
        value = probe.value
        if not isinstance(value, dict):
            return None
        mark = value.get("format")
        if mark == "open-loom":
            return Confidence(100, "format is open-loom")
        trees = value.get("trees")
        if mark is None and probe.truncated and isinstance(trees, list) and trees and isinstance(trees[0], dict):
            nodes = trees[0].get("nodes")
            first = next(iter(nodes.values()), None) if isinstance(nodes, dict) else None
            if isinstance(first, dict) and "content" in first and "author" in first:
                return Confidence(70, "trees with nodes that have content and author")
        return None

    def read(self, source: Source, context: ReadContext) -> Document:
        """See `reader.read`."""
        from loomconv_plugins.openloom_2.reader import read

        return read(source, context)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """See `writer.write`."""
        from loomconv_plugins.openloom_2.writer import write

        write(document, sink, context)

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of a document."""
        text = files("loomconv_schemas").joinpath("openloom-2.schema.json").read_text("utf-8")
        schema: dict[str, Any] = json.loads(text)
        return schema
