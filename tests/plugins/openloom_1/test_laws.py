"""Both laws of the lens, for files and documents odd in every possible way; and the quick ways against the careful ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv_plugins.openloom_1 import intake, writer
from tests.plugins.openloom_1 import harness
from tests.plugins.openloom_1.harness import TEXTS, as_json, document_of, node, read, spelled, write, written

FEW = settings(max_examples=150, deadline=None, phases=(Phase.explicit, Phase.generate, Phase.shrink))


@FEW
@given(harness.raw_files())
def test_what_was_read_is_written_back(value: dict[str, Any]) -> None:
    data = jsontext.encode(value)
    # A key of the file may have been there as half a character only; the text is what counts.
    assert spelled(written(read(data)[0])) == spelled(jsontext.decode(data))


@FEW
@given(harness.raw_files(), st.sampled_from(["+02:00", None]))
def test_writing_and_reading_again_changes_nothing(value: dict[str, Any], zone: str | None) -> None:
    document, _ = read(value, assume_timezone=zone)
    again, _ = read(write(document), assume_timezone=zone)
    assert spelled(as_json(again)) == spelled(as_json(document))


# -- documents that were never in the format ---------------------------------------------------------------------------

ISO = st.sampled_from(
    ["2024-12-12T21:44:00.360Z", "2024-12-12T21:44:00Z", "2001-01-01T00:00:00Z", "1969-07-20T20:17:40Z"]
    + ["0001-01-01T00:00:00Z", "2060-01-01T00:00:00.001Z", "9999-12-31T23:59:59.999Z"]
)
NAMES = st.sampled_from(["User", "", "<model identifier>", "Jane", "Ünal"])
VALUES = st.sampled_from([1, 2.5, "x", [], {"deep": [{}]}, True])


@st.composite
def documents(draw: st.DrawFn) -> Any:
    count = draw(st.integers(1, 5))
    ids = [f"n{number}" for number in range(count)]
    nodes = [draw(pivot_nodes(each)) for each in ids]
    edges = [(ids[draw(st.integers(0, number - 1))], ids[number]) for number in range(1, count)]
    fields: dict[str, Any] = {}
    for key, values in (
        ("description", TEXTS),
        ("systemContext", TEXTS),
        ("currentNodeId", st.sampled_from(ids)),
        ("updatedAt", ISO),
        ("x-unknown", VALUES),
        ("extensions", st.dictionaries(st.sampled_from(["other", "loomconv"]), VALUES, min_size=1)),
    ):
        if draw(st.booleans()):
            fields[key] = draw(values)
    return document_of(nodes, edges, **fields)


@st.composite
def pivot_nodes(draw: st.DrawFn, node_id: str) -> dict[str, Any]:
    made = node(node_id, draw(TEXTS), draw(st.sampled_from(["human", "model", "system"])))
    if draw(st.booleans()):
        made["author"]["name"] = draw(NAMES)
    for key, values in (
        ("createdAt", ISO),
        ("meta", st.sampled_from([{"bookmarked": True}, {"bookmarkLabel": "L"}, {"bookmarked": True, "bookmarkLabel": ""}])),
        ("generation", st.sampled_from([{"model": "m/1"}, {"model": ""}, {"model": "m", "provider": "p"}, {}])),
        ("extensions", st.dictionaries(st.sampled_from(["other", "loomconv"]), VALUES, min_size=1)),
        ("x-unknown", VALUES),
    ):
        if draw(st.integers(0, 3)) == 0:
            made[key] = draw(values)
    return made


@FEW
@given(documents())
def test_a_document_comes_back_as_it_was_and_without_a_stash(document: Any) -> None:
    again, context = read(write(document))
    assert spelled(as_json(again)) == spelled(as_json(document))
    assert not context.report.severities["warning"]


@FEW
@given(documents())
def test_a_document_comes_back_with_uuids_for_ids(document: Any) -> None:
    again, _ = read(write(document, ids="uuid"))
    expected = as_json(document)
    extensions = expected["trees"][0].setdefault("extensions", {})
    extensions["openloom-1"] = {"ids": "uuid"}
    assert spelled(as_json(again)) == spelled(expected)
    assert spelled(written(again)) == spelled(written(document, ids="uuid"))


# -- quick and careful -------------------------------------------------------------------------------------------------


@FEW
@given(harness.raw_files())
def test_the_quick_way_reads_the_same(value: dict[str, Any]) -> None:
    quick, seen = read(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "_take_quickly", lambda data: None)
        careful, known = read(value)
    assert spelled(as_json(quick)) == spelled(as_json(careful))
    assert [each.to_json() for each in seen.report.findings] == [each.to_json() for each in known.report.findings]


@FEW
@given(st.one_of(documents(), harness.raw_files().map(lambda value: read(value)[0])))
def test_the_quick_way_writes_the_same(document: Any) -> None:
    quick = write(document)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "quick_node", lambda *_: None)
        assert write(document) == quick


@FEW
@given(documents(), st.sampled_from([jsontext.COMPACT, jsontext.TWO_SPACES, jsontext.PYTHON_INDENT_4]))
def test_every_layout_says_the_same(document: Any, layout: jsontext.Layout) -> None:
    data = write(document, layout)
    assert data == jsontext.write_exact(jsontext.decode(data), layout)
    assert jsontext.decode(data) == jsontext.decode(write(document))
