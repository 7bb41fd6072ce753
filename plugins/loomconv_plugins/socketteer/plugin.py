"""What socketteer's loom is called, how its files are recognised, and what they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from loomconv import jsontext
from loomconv.format import Capabilities, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document, Tree
from loomconv.storage import Source
from loomconv_plugins.socketteer.facts import NAMESPACE

__all__ = ["Socketteer"]


class Socketteer(Format):
    """`*.json`: the Python/Tk Loom by socketteer ("pyloom"), files of 2021 to 2024 in all their shapes."""

    name = "socketteer"
    title = "socketteer's loom"
    suffixes = (".json",)
    namespace = NAMESPACE
    # Dossier §1.2 (W7, W8, W10).
    by_products: ClassVar[dict[str, str]] = {
        "backups/model_responses-*.json": "recorded answers of models",
        "model_responses-????-??-??-??.??.??.json": "recorded answers of models",
        "backups/*-????-??-??-??.??.??.json": "backup",
        "app_data.json": "settings of an app",
    }
    layout: ClassVar[Layout] = jsontext.PYTHON_INDENT_4
    # A deep tree is written on one line (see `writer`).
    further_layouts: ClassVar[tuple[Layout, ...]] = (replace(jsontext.PYTHON_INDENT_4, indent=None),)
    options = (
        Option(
            name="sidecars",
            help="Whether to read the files beside a tree to which the app has moved the models' responses.",
            choices=("yes", "no"),
            default="yes",
        ),
    )
    # Dossier §2.1, §2.2, §4.2, §5.1.
    capabilities = Capabilities(
        trees="one",
        roots="many",
        parents="one",
        notes="child",
        note_tag="note",
        blocks=("text", "image"),
        block_list=True,
        media=("file",),
        roles=("human", "model", "mixed"),
        meta=("bookmarked", "pruned", "tags"),
        generation=("model", "requestId", "completionIndex"),
        node_times="second",
        tree_fields=("currentNodeId",),
        modes=("buffer",),
        lone_surrogates=False,
        nul=False,
        depth=450,
        unknown_keys=("tree", "node"),
    )

    def detect(self, probe: Probe) -> Confidence | None:
        """See `recognise.recognise`."""
        from loomconv_plugins.socketteer.recognise import recognise

        return recognise(probe)

    def read(self, source: Source, context: ReadContext) -> Document:
        """See `reader.read`."""
        from loomconv_plugins.socketteer.reader import read

        return read(source, context)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """See `writer.write`."""
        from loomconv_plugins.socketteer.writer import write

        write(document, sink, context)

    def derived_fields(self, tree: Tree) -> dict[str, Any]:
        """Id, title and mode, none of which the app knows."""
        from loomconv_plugins.socketteer.reader import derived_fields

        return derived_fields(next(iter(tree.roots), ""))

    def private_keys(self) -> dict[str, tuple[str, ...]]:
        """Recorded responses hold whole prompts; early files have them on the nodes (dossier §1.5, §1.8)."""
        recorded = ("model_responses", "sidecarResponses", "meta.generation")
        return {"raw-responses": recorded, "generation": (*recorded, "generation")}

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of a tree file."""
        from loomconv_plugins.socketteer.checks import schema

        return schema()

    def validate(self, source: Source, context: ReadContext) -> None:
        """See `checks.check`."""
        from loomconv_plugins.socketteer.checks import check

        check(source, context)
