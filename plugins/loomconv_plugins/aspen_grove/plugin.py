"""What Aspen Grove is called, how its files are recognised, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from loomconv import jsontext
from loomconv.format import ANY, Capabilities, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document
from loomconv.model.document import Origin
from loomconv.report import Code
from loomconv.storage import Source
from loomconv.storage.source import SQLITE_MAGIC
from loomconv_plugins.aspen_grove.tables import EXPORT_MARK, NAMESPACE, SAFE_IDS

__all__ = ["AspenGrove"]

_DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")


class AspenGrove(Format):
    """The app Aspen Grove: its database, a dump of its entities, and `.openloom` files for its importer."""

    name = "aspen-grove"
    title = "Aspen Grove"
    suffixes = (".aspen-grove.json", ".aspen-grove.openloom", ".db", ".sqlite", ".sqlite3")
    namespace = NAMESPACE
    layout: ClassVar[Layout] = jsontext.TWO_SPACES
    compared_by: ClassVar[Literal["file", "document"]] = "document"
    options = (
        Option(
            name="as",
            help="What is written: a database, a dump of entities, or a file for the app's importer; auto: by suffix "
            "(.db, .sqlite, .sqlite3; .json; any other).",
            choices=("auto", "openloom", "dump", "database"),
            default="auto",
            applies_to="write",
        ),
    )
    finding_codes: ClassVar[dict[str, Code]] = {
        "aspen-grove.private-table": Code(
            "notice", "Preferences or models of the user are private: they are neither read nor written."
        ),
        "aspen-grove.deleted-rows": Code("notice", "Rows that are marked as deleted were passed over."),
        "aspen-grove.stray": Code("warning", "Entities of a tree that is not there; they were kept aside."),
    }
    # Dossier §1, §3.1, §7.
    capabilities = Capabilities(
        trees="many",
        roots="one",
        parents="many",
        notes="loose",
        source_roles=("primary", "context", "instruction"),
        edge_types=("continuation", "annotation"),
        edge_details=True,
        blocks=("text", "image", "audio"),
        block_list=True,
        media=("file",),
        roles=("human", "model"),
        author_names=("human", "model"),
        agents=True,
        meta=("bookmarked", "bookmarkLabel", "pruned", "excluded", "tags"),
        generation=ANY,
        edit_lineage=True,
        node_times="millisecond",
        tree_times="millisecond",
        tree_fields=(
            *("id", "title", "description", "mode", "systemContext", "currentNodeId", "createdAt", "updatedAt"),
            *("tags", "agents"),
        ),
        modes=("dialogue", "buffer"),
        document_fields=("agents",),
        ids=SAFE_IDS,
        unknown_keys=("document", "tree", "node", "edge"),
    )

    def capabilities_for(self, name: str, options: Mapping[str, str]) -> Capabilities:
        """The importer makes a root of every note that no continuation leads to (openloom-2 dossier §12.2)."""
        kind = self._kind(name, options)
        if kind == "database":
            return self.capabilities
        if kind == "dump":
            return replace(self.capabilities, ids=ANY)
        return replace(self.capabilities, notes="child", trees="many", document_fields=ANY, tree_fields=ANY, ids="any")

    def is_rewritten(self, origin: Origin, name: str, options: Mapping[str, str]) -> bool:
        """A file of one kind is no file of another."""
        is_database = bytes(origin.data[: len(SQLITE_MAGIC)]) == SQLITE_MAGIC
        kind = self._kind(name, options)
        is_dump = not is_database and EXPORT_MARK.search(bytes(origin.data[:4096])) is None
        return kind != ("database" if is_database else "dump" if is_dump else "openloom")

    @staticmethod
    def _kind(name: str, options: Mapping[str, str]) -> str:
        asked = options.get("as", "auto")
        if asked != "auto":
            return asked
        lowered = name.lower()
        if lowered.endswith(_DATABASE_SUFFIXES):
            return "database"
        return "dump" if lowered.endswith(".json") or not lowered else "openloom"

    def detect(self, probe: Probe) -> Confidence | None:
        """A database by its tables; a dump by its mark, or by what its nodes and edges have (dossier §5, §10)."""
        if {"loom_trees", "nodes"} <= probe.tables:
            return Confidence(95, "a database with loom_trees and nodes")
        value = probe.value
        if not isinstance(value, dict):
            return None
        if value.get("format") == "aspen-grove-dump":
            return Confidence(100, "format is aspen-grove-dump")
        nodes, edges = value.get("nodes"), value.get("edges")
        first = nodes[0] if isinstance(nodes, list) and nodes else None
        if isinstance(first, dict) and {"loomTreeId", "contentHash", "authorAgentId"} <= first.keys():
            return Confidence(85 if isinstance(edges, list) else 75, "nodes with loomTreeId and contentHash")
        if isinstance(value.get("loomTrees"), list):
            return Confidence(70, "a list of loomTrees")
        return None

    def read(self, source: Source, context: ReadContext) -> Document:
        """The document of a database, a dump, or (when the format is named) a file that the app exported."""
        from loomconv_plugins.aspen_grove.reader import read

        return read(source, context)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """See `writer.write`."""
        from loomconv_plugins.aspen_grove.writer import write

        write(document, sink, context, self._kind(context.name, context.options))

    def private_keys(self) -> dict[str, tuple[str, ...]]:
        """Headers of raw responses stand with the nodes; responses of no node with the document."""
        kept = ("response", "rawApiResponses", "strays")
        return {"raw-responses": kept, "raw-bodies": kept, "generation": kept}

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of a dump."""
        from loomconv_plugins.aspen_grove.checks import schema

        return schema()

    def validate(self, source: Source, context: ReadContext) -> None:
        """See `checks.check`."""
        from loomconv_plugins.aspen_grove.checks import check

        check(source, context)
