"""Reading and writing in memory, as the program does it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from loomconv import api, jsontext
from loomconv.model import Document
from loomconv.options import ConversionOptions
from loomconv.report import Report

FIXTURES = Path(__file__).parents[3] / "fixtures" / "openloom-2"

# Findings of these say that the file is not as it should be, or that it was not read as usual.
FAULTS = ("read.", "repair.")


def load(source: bytes | str | Path | dict[str, Any], **options: Any) -> tuple[Document, Report]:
    """A document and what was found; `source` is text, a fixture's name, a path, or a value."""
    report = Report(limit=None)
    if isinstance(source, dict):
        source = jsontext.encode(source)
    if isinstance(source, str):
        source = FIXTURES / source
    document = api.load(source, format="openloom-2", options=ConversionOptions(**options), report=report)
    return document, report


def dump(document: Document, target: str = "openloom-2", report: Report | None = None, **options: Any) -> bytes:
    """The document as a file's bytes."""
    out = io.BytesIO()
    chosen = ConversionOptions(**options)
    api.dump(document, "-", format=target, options=chosen, report=report or Report(limit=None), stdout=out)
    return out.getvalue()


def rewritten(document: Document, **options: Any) -> bytes:
    """The document written by the writer, though nothing in it has changed."""
    document.touched = True
    return dump(document, **options)


def faults(report: Report) -> dict[str, int]:
    """What was found about the file itself."""
    return {code: number for code, number in report.codes.items() if code.startswith(FAULTS)}


def value_of(data: bytes) -> Any:
    """The JSON value of a file."""
    return jsontext.load(data).value


def minimal(**changes: Any) -> dict[str, Any]:
    """The least document, with changes to its one tree."""
    tree: dict[str, Any] = {
        "id": "t",
        "title": "T",
        "rootNodeIds": ["a"],
        "nodes": {
            "a": {"id": "a", "content": [{"type": "text", "text": "One"}], "author": {"role": "human"}},
            "b": {"id": "b", "content": [{"type": "text", "text": " two"}], "author": {"role": "model"}},
        },
        "edges": [{"type": "continuation", "sources": [{"nodeId": "a"}], "targetNodeId": "b"}],
        **changes,
    }
    return {
        "format": "open-loom",
        "version": "2.0",
        "trees": [{key: value for key, value in tree.items() if value is not ...}],
    }
