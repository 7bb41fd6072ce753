"""Depth and width cost nothing but their bytes: chains and stars far beyond what the app opens."""

from __future__ import annotations

import pytest

from loomconv import jsontext
from loomconv.format import ReadContext
from loomconv.report import Report
from loomconv.storage import open_source
from tests.plugins.socketteer.harness import FORMAT, read, write


def chain(count: int) -> bytes:
    """One line of descent, written by hand since writers recurse."""
    opened = "".join(f'{{"id": "n{number}", "text": "{number} ", "children": [' for number in range(count))
    root = '{"root": {"mutable": false, "visited": true, "text": "", "id": "root", "open": true, "children": ['
    return f"{root}{opened}{']}' * count}]}}}}".encode()


def star(count: int) -> bytes:
    nodes = [{"id": f"n{number}", "text": "x", "children": [], "mutable": True} for number in range(count)]
    root = {"mutable": False, "visited": True, "text": "", "id": "root", "children": nodes, "open": True}
    return jsontext.encode({"root": root})


@pytest.mark.parametrize("count", [3000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", [chain, star])
def test_there_and_back(shape: object, count: int) -> None:
    data = shape(count)  # type: ignore[operator]
    document, context = read(data)
    assert len(document.trees[0].nodes) == count
    assert not any(finding.severity == "warning" for finding in context.report.findings)
    text, _ = write(document, jsontext.recognise_layout(data, data[-8:]))
    assert text == data


def test_deep_files_are_checked_node_by_node() -> None:
    context = ReadContext(report=Report())
    FORMAT.validate(open_source(chain(2000)), context)
    assert not context.report.findings
