"""What MiniLoom is called, how its files are recognised, and what they hold."""

from __future__ import annotations

from typing import Any, ClassVar

from loomconv import jsontext
from loomconv.format import Capabilities, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document, Tree
from loomconv.report import Code
from loomconv.storage import Source
from loomconv_plugins.miniloom.facts import NAMESPACE

__all__ = ["MiniLoom"]


class MiniLoom(Format):
    """`*.json`: MiniLoom and the loom of MiniHF before it, files of 2023 to 2025 in all their shapes."""

    name = "miniloom"
    title = "MiniLoom"
    suffixes = (".miniloom.json",)
    namespace = NAMESPACE
    layout: ClassVar[Layout] = jsontext.COMPACT
    options = (
        Option(
            name="text",
            help="What a node's content is: the piece that it adds, or the whole text so far (OpenLoom draft §8.3).",
            choices=("segments", "full"),
            default="segments",
        ),
    )
    finding_codes: ClassVar[dict[str, Code]] = {
        "miniloom.recovered": Code("warning", "A patch does not fit exactly; it was applied by search, as in the app."),
        "miniloom.recovered-from-cache": Code(
            "warning", "A patch fits only the text that an early version stored with the parent; that was used."
        ),
        "miniloom.no-patch": Code("warning", "A node has no patch, as after a faulty import; it adds no text."),
        "miniloom.bare-map": Code(
            "notice", "The nodes stand without the file around them; they were read all the same."
        ),
        "miniloom.id-gap": Code(
            "notice", "Numbers of nodes are left out; the app may replace a node by the next new one."
        ),
    }
    # Dossier §3 (dangers), §4.6, §5.
    capabilities = Capabilities(
        trees="one",
        roots="many",
        parents="one",
        notes="child",
        roles=("human", "model", "mixed", "system"),
        meta=("rating", "note"),
        ratings="sign",
        generation=("model", "usage"),
        edit_lineage=True,
        node_times="millisecond",
        tree_fields=("currentNodeId", "systemContext"),
        modes=("buffer", "dialogue"),
        ids="[1-9][0-9]*",
        depth=400,
        unknown_keys=("document", "tree", "node"),
    )

    def detect(self, probe: Probe) -> Confidence | None:
        """By the keys that there are (dossier §1.3); there is no mark."""
        value = probe.value
        if not isinstance(value, dict):
            return None
        tree = value.get("loomTree")
        if isinstance(tree, dict) and (isinstance(tree.get("nodeStore"), dict | list) or probe.truncated):
            return Confidence(95, "loomTree with a nodeStore")
        if isinstance(value.get("responseDict"), dict):
            marks = {"focusId", "responseBatches", "selectedResponseIndices"} & value.keys()
            return Confidence(85, f"responseDict with {sorted(marks)[0]}") if marks else None
        inner = value.get("nodes")
        nodes: dict[str, Any] = inner if isinstance(inner, dict) else value
        first = next((each for each in nodes.values() if isinstance(each, dict)), {})
        if {"patch", "type", "parent"} <= first.keys() and "1" in nodes:
            return Confidence(40, "nodes with patch, type and parent")
        return None

    def read(self, source: Source, context: ReadContext) -> Document:
        """See `reader.read`."""
        from loomconv_plugins.miniloom.reader import read

        return read(source, context)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """See `writer.write`."""
        from loomconv_plugins.miniloom.writer import write

        write(document, sink, context)

    def derived_fields(self, tree: Tree) -> dict[str, Any]:
        """Id, title and mode."""
        from loomconv_plugins.miniloom.reader import derived_fields

        mode = tree.fields.get("mode")
        return derived_fields(tree.roots, mode if mode in ("buffer", "dialogue") else "buffer")

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of a tree file."""
        from loomconv_plugins.miniloom.checks import schema

        return schema()

    def validate(self, source: Source, context: ReadContext) -> None:
        """See `checks.check`."""
        from loomconv_plugins.miniloom.checks import check

        check(source, context)

    def private_keys(self) -> dict[str, tuple[str, ...]]:
        """System messages stand in a chat's texts, and so in its patches."""
        return {"system-context": ("patch", "patchJson", "system", "focus", "loomTree", "root.cache", "cache")}
