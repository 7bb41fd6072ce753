"""Reading and writing without the hub, and files to do it with."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from loomconv import jsontext
from loomconv.format import ReadContext, WriteContext
from loomconv.model import Document, Tree
from loomconv.report import Report
from loomconv.storage import open_source
from loomconv_plugins.miniloom.patches import make_patch
from loomconv_plugins.miniloom.plugin import MiniLoom
from loomconv_plugins.miniloom.utf16 import to_units

FORMAT = MiniLoom()
FIXTURES = Path(__file__).parents[3] / "fixtures" / "miniloom"


def read(value: Any, **options: str) -> tuple[Document, ReadContext]:
    report = Report()
    report.declare(FORMAT.finding_codes)
    context = ReadContext(report=report, options=options)
    where = str(value) if isinstance(value, Path) else jsontext.encode(value)
    with open_source(where) as source:
        return FORMAT.read(source, context), context


def tree_of(value: Any, **options: str) -> Tree:
    return read(value, **options)[0].trees[0]


def write(document: Document) -> Any:
    sink = io.BytesIO()
    FORMAT.write(document, sink, WriteContext(report=Report(), layout=FORMAT.layout))
    return jsontext.decode(sink.getvalue())


def nodes_written(document: Document) -> dict[str, Any]:
    return dict(write(document)["loomTree"]["nodeStore"])


def codes(value: Any) -> dict[str, int]:
    return dict(read(value)[1].report.codes)


class Loom:
    """A file under construction: texts in, entries with patches out."""

    def __init__(self) -> None:
        root = {"id": "1", "timestamp": 1, "type": "root", "patch": "", "summary": "Root Node", "rating": None}
        self.store: dict[str, Any] = {"1": {**root, "read": False, "parent": None, "children": []}}
        self.texts = {"1": ""}

    def add(self, parent: str, text: str, kind: str = "gen", **more: Any) -> str:
        key = str(len(self.store) + 1)
        patch = make_patch(to_units(self.texts[parent]), to_units(text))
        entry = {"id": key, "timestamp": 1000 * int(key), "type": kind, "patch": patch, "summary": "", "rating": None}
        self.store[key] = {**entry, "read": True, "parent": parent, "children": [], **more}
        self.store[parent]["children"].append(key)
        self.texts[key] = text
        return key

    @property
    def file(self) -> dict[str, Any]:
        return {"loomTree": {"nodeStore": self.store}, "focus": {"id": "1"}}


def rendered(tree: Tree, node_id: str) -> str:
    """The text from the root to the node."""
    return "".join(tree.nodes[each]["content"][0]["text"] for each in tree.graph.path_to(node_id))
