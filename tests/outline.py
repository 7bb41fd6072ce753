"""A made-up format of plain text without ids: lines of JSON texts, indented by tabs; `-` is a model's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loomconv.plugin import (
    NO_IDS,
    Capabilities,
    Confidence,
    Document,
    Format,
    InvalidDocument,
    LoomconvError,
    Probe,
    ReadContext,
    Sink,
    Source,
    Tree,
    WriteContext,
    encode_text,
    hookimpl,
    jsontext,
    plain_text,
)

_HEAD = "!outline"


class Outline(Format):
    name = "outline"
    title = "Outline"
    namespace = "outline"
    suffixes = (".outline",)
    compared_by = "document"
    capabilities = Capabilities(roots="many", ids=NO_IDS)

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(95, "begins with !outline") if probe.head.startswith(b"!outline\n") else None

    def read(self, source: Source, context: ReadContext) -> Document:
        head, *lines = context.load_text(source).split("\n")
        if head != _HEAD:
            raise InvalidDocument("the first line is no !outline", next_step="Save it again.")
        builder, roots, above = context.builder(), [], []
        for number, line in enumerate(lines):
            written = line.lstrip("\t")
            if not written:
                continue
            node: Any = {"id": builder.mint("outline", str(number)), **_said(written, number, context)}
            builder.add_node(node["id"], node)
            del above[len(line) - len(written) :]
            if above:
                builder.add_edge(above[-1], node["id"])
            else:
                roots.append(node["id"])
            above.append(node["id"])
        builder.fields.update({"id": "outline", "title": "", "mode": "dialogue", "rootNodeIds": roots})
        return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        (tree,) = document.trees
        depths = tree.graph.depths(tree.root_ordinals)
        sink.write(f"{_HEAD}\n".encode())
        for ordinal in tree.graph.walk(tree.root_ordinals):
            node = tree.nodes[tree.nodes.ids[ordinal]]
            sign = b"-" if node["author"]["role"] == "model" else b"+"
            sink.write(b"\t" * (depths[ordinal] - 1) + sign + b" " + jsontext.encode(plain_text(node)) + b"\n")

    def derived_fields(self, tree: Tree) -> dict[str, Any]:
        return {"id": "outline", "title": "", "mode": "dialogue"}


def _said(line: str, number: int, context: ReadContext) -> dict[str, Any]:
    sign, _, text = line.partition(" ")
    try:
        value = jsontext.decode(encode_text(text))
    except LoomconvError:
        value = None
    if not isinstance(value, str):
        context.report.add("read.bad-text", value=number + 2)
        value = text
    return {
        "content": [{"type": "text", "text": value}],
        "author": {"role": "model" if sign == "-" else "human"},
    }


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    register(Outline())
