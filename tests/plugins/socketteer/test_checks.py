"""Checking against the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loomconv import jsontext
from loomconv.format import ReadContext
from loomconv.report import Report
from loomconv.storage import open_source
from tests.plugins.socketteer.harness import FORMAT, document, entry, file, node, write

FOLDER = Path(__file__).parents[3] / "fixtures" / "socketteer"
# Wrong on purpose.
FAULTY = {"bad-values.json", "broken-truncated.json", "missing-ids.json", "multiloom.json"}
OTHERS = {"app_data.json", "empty-array.json", "model_responses-2023-02-14-18.16.30.json"}


def faults(data: bytes) -> list[tuple[str | None, str]]:
    context = ReadContext(report=Report())
    FORMAT.validate(open_source(data), context)
    return [(finding.pointer, finding.code) for finding in context.report.findings]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json*")), ids=lambda path: path.name)
def test_fixtures(path: Path) -> None:
    if path.name not in OTHERS:
        assert bool(faults(path.read_bytes())) == (path.name in FAULTY)


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (file(entry("a", children=None)), "/root/children/0/children"),
        (file(entry("a", "x", entry("b", text=5))), "/root/children/0/children/0/text"),
        (file(entry("a"), tags={"t": {"name": "t"}}), "/tags/t"),
        ([entry("a", meta=None)], "/0/meta"),
        (entry("a", generation=1), "/generation"),
    ],
)
def test_faults_have_a_place(value: Any, pointer: str) -> None:
    found = faults(jsontext.encode(value))
    assert (pointer, "validate.schema") in found


def test_what_is_written_is_valid() -> None:
    made = document(
        node(
            "a",
            "A",
            "model",
            meta={"bookmarked": True, "tags": ["x"]},
            generation={"model": "m"},
            createdAt="2024-01-01T00:00:00Z",
        ),
        node("b", extensions={"x": 1}),
        currentNodeId="b",
    )
    assert faults(write(made)[0]) == []
