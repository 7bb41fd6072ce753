"""The format's facts: how it is recognised (OL1-detect), and what the schema says of a file."""

from __future__ import annotations

from typing import Any

import pytest

from loomconv import jsontext
from loomconv.format import Probe, ReadContext
from loomconv.report import Report
from loomconv.storage import open_source
from tests.plugins.openloom_1.harness import FORMAT, LEFT_OUT, chain, entry, file_of


def score(value: Any) -> int | None:
    data = value if isinstance(value, bytes) else jsontext.encode(value)
    confidence = FORMAT.detect(Probe(data, "x.json"))
    return None if confidence is None else confidence.score


def test_a_file_is_recognised_by_its_content() -> None:
    """OL1-detect, OL2-8.0-detect."""
    value = file_of(*chain("r", "a"))
    assert score(value) == 95
    assert score(file_of(*chain("r", "a"), copies=LEFT_OUT)) == 85
    assert score(b"\xef\xbb\xbf" + jsontext.write_exact(value, jsontext.TWO_SPACES)) == 95
    # Only parents, or only children.
    for key in ("parentId", "childrenIds"):
        nodes = [{name: item for name, item in each.items() if name != key} for each in chain("r", "a")]
        assert score(file_of(*nodes)) == (95 if key == "parentId" else None)


def test_a_head_that_ends_in_its_first_node_is_recognised() -> None:
    long = entry("r", text="x" * 70_000)
    assert score(file_of({"childrenIds": [], **long})) == 60
    assert score(file_of(long)) is None


def test_a_long_file_is_recognised_by_its_head() -> None:
    value = file_of(*chain(*(f"n{number}" for number in range(1000))))
    data = jsontext.encode(value)
    assert len(data) > 1 << 16
    assert score(data) == 85
    # The keys of the app are in any order.
    assert score(jsontext.encode({"nodes": value["nodes"], **value})) == 80
    assert score(jsontext.encode({"bookmarkedNodes": {}, **value})) == 95


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"format": "open-loom", **file_of(entry("r"))},
        {"rootNodeId": "r", "nodes": {}},
        {"rootNodeId": 1, "nodes": {"r": entry("r")}},
        {"nodes": {"r": entry("r")}},
        {"rootNodeId": "r", "nodes": {"r": {"text": "no author", "childrenIds": []}}},
        {"loomTree": {}, **file_of(entry("r"))},
        {"root": {"children": []}, **file_of(entry("r"))},
        b'{"rootNodeId": "r"}\n{"rootNodeId": "r"}\n',
        b"no JSON at all",
    ],
)
def test_others_are_not(value: Any) -> None:
    """OL1-detect."""
    assert score(value) is None


def faults(value: Any) -> list[tuple[str | None, str, int | None]]:
    report = Report()
    data = value if isinstance(value, bytes) else jsontext.encode(value)
    FORMAT.validate(open_source(data), ReadContext(report=report))
    return [(each.pointer, each.code, each.place and each.place.byte) for each in report.findings]


def test_a_file_as_the_app_writes_it_is_valid() -> None:
    marked = entry("a", "r", isBookmarked=True, bookmarkTitle="x")
    assert faults(file_of(entry("r", children=("a",)), marked, copies={"a": marked})) == []


def test_faults_have_their_places() -> None:
    value = file_of(entry("r", text=5), entry("a", author="tool"), title=7, copies={"z": {}})
    found = faults(value)
    assert [pointer for pointer, _, _ in found][:3] == ["/title", "/nodes/r/text", "/nodes/a/author"]
    assert {pointer for pointer, _, _ in found[3:]} == {"/bookmarkedNodes/z"}
    data = jsontext.encode(value)
    assert found[1] == ("/nodes/r/text", "validate.schema", data.index(b'"text":5') + 7)
    assert {code for _, code, _ in found} == {"validate.schema"}


def test_the_schema_and_the_facts_are_there() -> None:
    schema = FORMAT.schema()
    assert schema is not None
    assert schema["$id"] == "urn:loomconv:schema:openloom-1"
    assert {option.name for option in FORMAT.options} == {"ids", "sibling-order"}
    assert FORMAT.private_keys() == {"system-context": ("systemMessage",)}
