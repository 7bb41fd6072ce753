"""The laws of the lens, for files and documents odd in every possible way; and the quick ways against the careful."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv_plugins.openloom_1 import intake, writer
from tests.plugins.openloom_1 import harness
from tests.plugins.openloom_1.harness import TEXTS, as_json, document_of, read, spelled, write, written

FEW = settings(max_examples=60, deadline=None)


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
    [
        *("2024-12-12T21:44:00.360Z", "2024-12-12T21:44:00Z", "2001-01-01T00:00:00Z", "1969-07-20T20:17:40Z"),
        *("0001-01-01T00:00:00Z", "2060-01-01T00:00:00.001Z", "9999-12-31T23:59:59.999Z"),
    ]
)
NAMES = st.sampled_from(["User", "", "<model identifier>", "Jane", "Ünal"])
METAS: list[dict[str, Any]] = [{"bookmarked": True}, {"bookmarkLabel": "L"}, {"bookmarked": True, "bookmarkLabel": ""}]
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
    made = harness.node(node_id, draw(TEXTS), draw(st.sampled_from(["human", "model", "system"])))
    if draw(st.booleans()):
        made["author"]["name"] = draw(NAMES)
    for key, values in (
        ("createdAt", ISO),
        (
            "meta",
            st.sampled_from([{"bookmarked": True}, {"bookmarkLabel": "L"}, {"bookmarked": True, "bookmarkLabel": ""}]),
        ),
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


# -- edits -------------------------------------------------------------------------------------------------------------


@st.composite
def edited_documents(draw: st.DrawFn) -> Any:
    """A document read from an odd file, with a node changed, removed, added or moved, and the roots set right."""
    tree = read(draw(harness.raw_files()))[0].trees[0]
    nodes: dict[str, Any] = dict(tree.nodes.items())
    parents = {node_id: tree.graph.parent_of(node_id) for node_id in nodes}
    fields = dict(tree.fields)
    for step in range(draw(st.integers(1, 3))):
        ids = sorted(nodes)
        kind = draw(st.sampled_from(["change", "remove", "add", "move", "select"] if ids else ["add"]))
        node_id = draw(st.sampled_from(ids)) if ids else ""
        if kind == "change":
            fresh = draw(pivot_nodes(node_id))
            key = draw(st.sampled_from(["content", "author", "createdAt", "meta", "generation"]))
            nodes[node_id] = {other: value for other, value in nodes[node_id].items() if other != key}
            if key in fresh:
                nodes[node_id][key] = fresh[key]
        elif kind == "remove":
            del nodes[node_id]
            parents = {child: None if parent == node_id else parent for child, parent in parents.items()}
            del parents[node_id]
        elif kind == "add":
            nodes[f"new{step}"] = draw(pivot_nodes(f"new{step}"))
            parents[f"new{step}"] = draw(st.sampled_from([None, *ids]))
        elif kind == "move":
            parents[node_id] = draw(st.sampled_from([None, *ids]))
        else:
            fields["currentNodeId"] = node_id
    if fields.get("currentNodeId") not in nodes:
        fields.pop("currentNodeId", None)
    _cut_rings(parents)
    fields["rootNodeIds"] = _roots(fields["rootNodeIds"], parents)
    edges = [(parent, child) for child, parent in parents.items() if parent is not None]
    return document_of(list(nodes.values()), edges, **fields)


def _cut_rings(parents: dict[str, str | None]) -> None:
    for node_id in parents:
        above, seen = parents[node_id], {node_id}
        while above is not None and above not in seen:
            seen.add(above)
            above = parents[above]
        if above == node_id:
            parents[node_id] = None


def _roots(listed: list[str], parents: dict[str, str | None]) -> list[str]:
    parentless = [node_id for node_id, parent in parents.items() if parent is None]
    return [*(root for root in listed if root in parentless), *(root for root in parentless if root not in listed)]


def _core(document: Any) -> dict[str, Any]:
    """A document without this format's stash, the roots that a file cannot list, and parents that are not there."""
    value = as_json(document)
    tree = value["trees"][0]
    tree["edges"] = {parent: edges for parent, edges in tree["edges"].items() if parent in tree["nodes"]}
    parents = {child["targetNodeId"]: parent for parent, below in tree["edges"].items() for child in below}
    tree["rootNodeIds"] = _roots(tree["rootNodeIds"], {each: parents.get(each) for each in tree["nodes"]})[:1]
    for holder in (tree, *tree["nodes"].values()):
        others = {key: item for key, item in holder.pop("extensions", {}).items() if key != "openloom-1"}
        if others:
            holder["extensions"] = others
    return value


@FEW
@given(edited_documents())
def test_edits_win_where_they_were_made(document: Any) -> None:
    note(f"{spelled(as_json(document))!r} was written as {write(document)!r}")
    again, _ = read(write(document))
    assert spelled(_core(again)) == spelled(_core(document))


# -- quick and careful -------------------------------------------------------------------------------------------------


@FEW
@given(st.one_of(harness.raw_files().map(jsontext.encode), documents().map(write)))
def test_the_quick_way_reads_the_same(value: bytes) -> None:
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
