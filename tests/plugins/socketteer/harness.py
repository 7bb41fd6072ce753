"""Reading and writing without the hub, and files and documents to do it with."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from loomconv import jsontext
from loomconv.format import Confidence, Probe, ReadContext, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document, Tree, TreeBuilder
from loomconv.report import Report
from loomconv.storage import open_source
from loomconv_plugins.socketteer.plugin import Socketteer

FORMAT = Socketteer()
OWN = "socketteer-loom"


def read(data: bytes | Path | Any, **context: Any) -> tuple[Document, ReadContext]:
    """The document of a file, or of its value, and the context with the report."""
    settings = ReadContext(report=Report(), **context)
    where = data if isinstance(data, bytes) else str(data) if isinstance(data, Path) else jsontext.encode(data)
    with open_source(where) as source:
        return FORMAT.read(source, settings), settings


def tree_of(data: bytes | Path | Any, **context: Any) -> Tree:
    return read(data, **context)[0].trees[0]


def nodes_of(data: bytes | Path | Any, **context: Any) -> dict[str, Any]:
    tree = tree_of(data, **context)
    return {node_id: tree.nodes[node_id] for node_id in tree.nodes.ids}


def codes(data: bytes | Path | Any, **context: Any) -> dict[str, int]:
    """How often each finding was made, but for notices."""
    found: dict[str, int] = {}
    for finding in read(data, **context)[1].report.findings:
        if finding.severity != "notice":
            found[finding.code] = found.get(finding.code, 0) + 1
    return found


def notices(data: bytes | Path | Any, code: str, **context: Any) -> list[str | None]:
    """The nodes of a code's findings."""
    return [finding.node for finding in read(data, **context)[1].report.findings if finding.code == code]


def write(document: Document, layout: Layout | None = None) -> tuple[bytes, Report]:
    sink = io.BytesIO()
    report = Report()
    FORMAT.write(document, sink, WriteContext(report=report, layout=layout or FORMAT.layout))
    return sink.getvalue(), report


def written(document: Document) -> Any:
    """The value of the written file."""
    return jsontext.decode(write(document)[0])


def back(data: bytes | Path | Any, **context: Any) -> Any:
    """The value of the file after reading and writing."""
    return written(read(data, **context)[0])


def detect(data: bytes | Any) -> Confidence | None:
    return FORMAT.detect(Probe(data if isinstance(data, bytes) else jsontext.encode(data), "file.json"))


def outline(tree: Tree) -> dict[str, Any]:
    """Everything of a tree but what the format makes up, in a form to compare."""
    fields = {key: value for key, value in tree.fields.items() if key not in ("id", "title", "mode")}
    graph = tree.graph
    return {
        "fields": fields,
        "nodes": {node_id: tree.nodes[node_id] for node_id in tree.nodes.ids},
        "children": {node_id: graph.children_of(node_id) for node_id in tree.nodes.ids},
    }


# -- files -------------------------------------------------------------------------------------------------------------


def entry(node_id: str, text: str = "x", *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A node of a file as the app writes it, with the right links below it."""
    for child in children:
        child.setdefault("parent_id", node_id)
    raw: dict[str, Any] = {"id": node_id, "text": text, "children": list(children), "mutable": True, "open": False}
    return {**raw, **more}


def file(*roots: dict[str, Any], **top: Any) -> dict[str, Any]:
    """A tree file with the app's empty root."""
    for root in roots:
        root.setdefault("parent_id", "root")
    root = {"mutable": False, "visited": True, "text": "", "id": "root", "children": list(roots), "open": True}
    return {"root": root, **top}


def uuid1(number: int, seconds: int) -> str:
    """A UUID of version 1 for a moment (seconds since 1970, UTC)."""
    ticks = seconds * 10_000_000 + 0x01B21DD213814000
    low, middle, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48
    return f"{low:08x}-{middle:04x}-1{high:03x}-9000-{number:012x}"


# -- documents ---------------------------------------------------------------------------------------------------------


def node(node_id: str, text: str = "x", role: str = "human", **more: Any) -> dict[str, Any]:
    return {"id": node_id, "content": [{"type": "text", "text": text}], "author": {"role": role}, **more}


def document(*nodes: dict[str, Any], links: tuple[tuple[str, str], ...] = (), **fields: Any) -> Document:
    """A document of another format: nodes, and links from parents to children."""
    builder = TreeBuilder({"id": "T", "title": "t", "mode": "buffer"})
    for each in nodes:
        builder.add_node(each["id"], each)  # type: ignore[arg-type]
    for parent, child in links:
        builder.add_edge(parent, child)
    below = {child for _, child in links}
    builder.fields["rootNodeIds"] = [each["id"] for each in nodes if each["id"] not in below]
    builder.fields.update(fields)
    return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])
