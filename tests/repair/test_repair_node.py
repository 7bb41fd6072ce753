"""A single node: what is mended, what is kept aside, what is never touched."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from loomconv.model.record import own_record
from loomconv.repair import mend_node
from loomconv.report import Report
from tests.made import JUNK, documents, examples, node


def mended(value: dict[str, Any], node_id: str = "a") -> tuple[dict[str, Any], Report]:
    report = Report()
    return mend_node(node_id, value, report), report  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    "change, code, result, original",
    [
        ({"id": "b"}, "read.id-mismatch", {"id": "a"}, {"id": "b"}),
        ({"id": 7}, "read.id-mismatch", {"id": "a"}, {"id": 7}),
        ({"id": None}, "read.missing-id", {"id": "a"}, {"id": None}),
        (
            {"content": "words"},
            "repair.content",
            {"content": [{"type": "text", "text": "words"}]},
            {"content": "words"},
        ),
        ({"content": None}, "repair.content", {"content": []}, {"content": None}),
        ({"content": 5}, "repair.content", {"content": [{"type": "unknown", "value": 5}]}, {"content": 5}),
        (
            {
                "content": [
                    "words",
                    {"type": "text"},
                    {"text": "t"},
                    {"type": "text", "text": 4},
                    {"type": "text", "text": []},
                ]
            },
            "repair.content",
            {
                "content": [
                    {"type": "text", "text": "words"},
                    {"type": "text", "text": ""},
                    {"type": "text", "text": "t"},
                    {"type": "text", "text": "4"},
                    {"type": "text", "text": ""},
                ]
            },
            {
                "content": [
                    "words",
                    {"type": "text"},
                    {"text": "t"},
                    {"type": "text", "text": 4},
                    {"type": "text", "text": []},
                ]
            },
        ),
        ({"author": None}, "repair.author", {"author": {"role": "human"}}, {"author": None}),
        ({"author": "Ada"}, "repair.author", {"author": {"role": "human"}}, {"author": "Ada"}),
        (
            {"author": {"name": "Ada"}},
            "repair.author",
            {"author": {"name": "Ada", "role": "human"}},
            {"author": {"name": "Ada"}},
        ),
        (
            {"author": {}, "generation": {"model": "m"}},
            "repair.author",
            {"author": {"role": "model"}, "generation": {"model": "m"}},
            {"author": {}},
        ),
        ({"createdAt": "2026-01-01T00:00:00"}, "read.time-without-zone", {}, {"createdAt": "2026-01-01T00:00:00"}),
        ({"createdAt": "2026-01-01"}, "read.bad-time", {}, {"createdAt": "2026-01-01"}),
        ({"createdAt": "soon"}, "read.bad-time", {}, {"createdAt": "soon"}),
        ({"createdAt": 1700000000}, "read.bad-time", {}, {"createdAt": 1700000000}),
        ({"meta": []}, "repair.meta", {}, {"meta": []}),
        (
            {"meta": {"rating": 1.5, "note": "n"}},
            "repair.meta",
            {"meta": {"note": "n"}},
            {"meta": {"rating": 1.5, "note": "n"}},
        ),
        ({"meta": {"rating": True}}, "repair.meta", {"meta": {}}, {"meta": {"rating": True}}),
        ({"meta": {"pruned": "yes"}}, "repair.meta", {"meta": {}}, {"meta": {"pruned": "yes"}}),
        ({"meta": {"tags": ["a", 1]}}, "repair.meta", {"meta": {}}, {"meta": {"tags": ["a", 1]}}),
        ({"meta": {"bookmarkLabel": 1}}, "repair.meta", {"meta": {}}, {"meta": {"bookmarkLabel": 1}}),
        ({"generation": "gpt"}, "read.bad-value", {}, {"generation": "gpt"}),
        ({"editedFrom": 5}, "read.bad-value", {}, {"editedFrom": 5}),
    ],
)
def test_what_is_mended_is_reported_and_kept_aside(
    change: dict[str, Any], code: str, result: dict[str, Any], original: dict[str, Any]
) -> None:
    """A1, A12, A16, A23, A28, OL2-4.3-id, OL2-4.3-content, OL2-4.3-author, OL2-4.3-createdAt, OL2-4.3-rating."""
    value = {**node("a", "x"), **change}
    before = copy.deepcopy(value)
    kept, report = mended(value)
    assert list(report.codes.elements()) == [code]
    assert report.findings[0].node == "a"
    assert report.findings[0].pointer
    assert value == before, "the given node stays as it was"
    expected = {key: item for key, item in node("a", "x").items() if key not in change}
    assert {key: item for key, item in kept.items() if key != "extensions"} == {**expected, **result}
    assert own_record(kept) == {"original": original}


def test_extensions_that_are_no_object_are_kept_aside() -> None:
    kept, report = mended({**node("a"), "extensions": "mine"})
    assert report.codes["read.bad-value"] == 1
    assert kept["extensions"] == {"loomconv": {"original": {"extensions": "mine"}}}


def test_a_missing_id_is_the_key() -> None:
    """OL2-4.3-id, A1."""
    value = {key: item for key, item in node("a").items() if key != "id"}
    kept, report = mended(value)
    assert kept["id"] == "a"
    assert report.codes["read.missing-id"] == 1
    assert "extensions" not in kept, "there is nothing to keep aside"


@pytest.mark.parametrize(
    "value",
    [
        {**node("a"), "createdAt": None, "editedFrom": None, "meta": None, "generation": None, "extensions": None},
        {**node("a"), "meta": {"bookmarked": None, "rating": None, "tags": None, "note": None}},
        {**node("a"), "meta": {"bookmarkLabel": "kept without the flag", "rating": 0, "mood": 1}},
        {**node("a"), "content": []},
        {**node("a"), "content": [{"type": "poll", "text": 5}, {"type": "text", "text": "", "lang": "en"}]},
        {**node("a"), "author": {"role": "oracle", "agentId": None, "name": "x", "more": 1}},
        {**node("a", role="human"), "generation": {"model": None, "odd": [1]}},
        {**node("a"), "createdAt": "2026-07-08 23:14:00.123456+02:00", "mystery": {"deep": []}},
    ],
)
def test_what_the_specification_allows_is_left_alone(value: dict[str, Any]) -> None:
    """A9, A15, A23 ([] is an empty text), A28 (unknown roles), OL2-2-unknown, OL2-5-verbatim, OL2-A-preserve."""
    kept, report = mended(value)
    assert kept is value
    assert not report.findings


@examples(15)
@given(documents())
def test_valid_nodes_are_the_very_same_object(value: dict[str, Any]) -> None:
    for tree in value["trees"]:
        for node_id, each in tree["nodes"].items():
            kept, report = mended(each, node_id)
            assert kept is each
            assert not report.codes


@examples(37)
@given(JUNK, JUNK, JUNK, JUNK)
def test_mending_twice_changes_nothing_more(first: Any, second: Any, third: Any, fourth: Any) -> None:
    value = {
        **node("a"),
        "content": [first, {"type": "text", "text": second}],
        "meta": {"tags": third, "note": first},
        "createdAt": fourth,
        "generation": second,
        "extensions": third,
        "editedFrom": fourth,
    }
    once, _ = mended(value)
    twice, report = mended(once)
    assert twice is once
    assert not report.codes


def test_a_second_repair_keeps_the_first_original() -> None:
    once, _ = mended({**node("a"), "createdAt": "soon"})
    twice, _ = mended({**once, "createdAt": "later", "meta": 5})
    assert own_record(twice) == {"original": {"createdAt": "soon", "meta": 5}}


def test_findings_show_no_secret_and_no_containers() -> None:
    """A value that is kept aside goes into the report only when it is short and plain."""
    secret = "sk-" + "a1" * 20
    value = {
        **node("a"),
        "createdAt": secret,
        "meta": {"note": {"apiKey": secret}, "rating": secret},
        "id": {"x": secret},
    }
    _, report = mended(value)
    assert secret not in repr(report.to_json())
    assert report.codes["repair.meta"] == 2
