from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomconv.compare import MISSING, Difference, compare_files, compare_values
from loomconv.jsontext import ExactFloat

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(JSON)
def test_a_value_equals_itself_read_again(value: Any) -> None:
    found = compare_values(value, json.loads(json.dumps(value)))
    assert (found, found.total, found.key_order_differs) == ([], 0, False)


@settings(max_examples=50, deadline=None)
@given(JSON, JSON)
def test_differences_are_the_same_from_both_sides(left: Any, right: Any) -> None:
    there, back = compare_values(left, right), compare_values(right, left)
    assert there.total == back.total
    assert {each.pointer for each in there} == {each.pointer for each in back}
    if there.total:
        assert json.dumps(left, sort_keys=True) != json.dumps(right, sort_keys=True)
    else:
        assert left == right


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        (None, False),
        (None, MISSING),
        ("1", 1),
        ([], {}),
        ("", None),
        (2**64, 2**64 + 1),
        (9007199254740993, 9007199254740992.0),
        (ExactFloat("1e400"), ExactFloat("1e500")),
        ("e\u0301", "\u00e9"),
    ],
)
def test_what_is_not_the_same(left: object, right: object) -> None:
    assert [each.pointer for each in compare_values([left], [right])] == ["/0"]


def test_numbers_are_the_same_by_value() -> None:
    assert compare_values([1, 100, 2**70], [1.0, ExactFloat("1.0E2"), 2**70]) == []


def test_missing_is_not_null() -> None:
    found = compare_values({"a": None, "b": 1}, {"b": 1, "c": None})
    assert found == [Difference("/a", "null", MISSING), Difference("/c", MISSING, "null")]


def test_key_order_is_noted_apart() -> None:
    found = compare_values({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}})
    assert found == []
    assert found.key_order_differs
    # A key that only one side has does not put the others out of order.
    assert not compare_values({"a": 1, "b": 2}, {"a": 1, "new": 0, "b": 2}).key_order_differs


def test_pointers_are_escaped_and_in_document_order() -> None:
    left = {"a/b": [0, {"~": 1}], "z": 1}
    right = {"a/b": [5, {"~": 2}, 3], "z": 2}
    assert [each.pointer for each in compare_values(left, right)] == ["/a~1b/0", "/a~1b/1/~0", "/a~1b/2", "/z"]


def test_the_count_is_complete_beyond_the_cap() -> None:
    found = compare_values(list(range(50)), list(range(1, 51)), cap=3)
    assert len(found) == 3
    assert found.total == 50
    assert compare_values([1], [2], cap=0).total == 1


def test_depth_is_no_matter() -> None:
    left: list[Any] = [1]
    right: list[Any] = [2]
    for _ in range(100_000):
        left, right = [left], [right]
    found = compare_values(left, right)
    assert found.total == 1
    assert len(found[0].pointer) < 200
    assert "/…/" in found[0].pointer


def test_containers_are_shown_by_size() -> None:
    found = compare_values({"a": {"x": 1}, "b": [1, 2], "c": {}}, {"a": [], "b": 10**100, "c": "…"})
    assert [(each.left, each.right[:30]) for each in found] == [
        ("an object of 1 members", "[]"),
        ("a list of 2 items", "1" + "0" * 29),
        ("{}", '"…"'),
    ]
    assert "101 digits" in found[1].right


def test_a_long_text_is_shown_where_it_differs() -> None:
    (found,) = compare_values("same " * 1000 + "left", "same " * 1000 + "right")
    assert 'same left"' in found.left
    assert 'same right"' in found.right
    assert "5004 characters" in found.left
    assert len(found.left) < 120


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "anything"])
def test_secrets_are_never_shown(name: str) -> None:
    secret = "sk-" + "x" * 30
    found = compare_values({name: secret, "list": [secret]}, {name: "sk-" + "y" * 30, "list": []})
    assert found.total == 2
    assert "xxx" not in repr(found)
    assert "yyy" not in repr(found)


def test_files_of_the_same_bytes() -> None:
    assert compare_files(b"not JSON", b"not JSON").grade == "bytes"


def test_files_of_the_same_values() -> None:
    found = compare_files(b'{"a": 1, "b": "\\u00e9"}', '{"b":"é","a":1.0}\n'.encode())
    assert found.grade == "values"
    assert found.equal
    assert found.key_order_differs


def test_files_of_other_values() -> None:
    found = compare_files(b'{"a": [1, 2]}', b'{"a": [1, 3]}')
    assert found.grade == "none"
    assert not found.equal
    assert found.differences == [Difference("/a/1", "2", "3")]


def test_what_a_value_does_not_say_counts() -> None:
    assert compare_files(b"[NaN]", b"[null]").differences == [Difference("/0", "NaN", "not so")]
    assert compare_files(b"[NaN]", b"[ NaN]").grade == "values"
    twice = compare_files(b'{"a":1,"a":2}', b'{"a":2}')
    assert twice.differences == [Difference("/a", "the key is there again", "not so")]


def test_a_cut_file_is_not_a_complete_one() -> None:
    found = compare_files(b'{"a":"x"', b'{"a":"x"}')
    assert found.differences == [Difference("", "ends too early", "complete")]


def test_lone_surrogates_compare() -> None:
    assert compare_files(b'["\\ud83e"]', b'[ "\\uD83E"]').grade == "values"
    assert compare_files(b'["\\ud83e"]', '["\ufffd"]'.encode()).total == 1


def test_json_lines() -> None:
    left = b'{"a":1}\n{"b":2}\n'
    assert compare_files(left, b'{"a": 1}\n\n{"b": 2}').grade == "values"
    assert compare_files(left, b'{"a": 1}\n{"b": 3}').differences == [Difference("/1/b", "2", "3")]
    assert [each.pointer for each in compare_files(left, b'{"a": 1}\n').differences] == ["/1"]
    torn = compare_files(left, left + b'{"c":')
    assert torn.total == 1
    assert torn.differences[0].left == MISSING


def test_other_files_compare_by_bytes() -> None:
    found = compare_files(b"\x00\x01", b"\x00\x02\x03")
    assert (found.grade, found.total) == ("none", 1)
    assert compare_files(b"", b"{}").grade == "none"
