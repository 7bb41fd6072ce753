from __future__ import annotations

from typing import Any

import pytest

from loomconv.jsontext import NOTHING, parse_prefix


@pytest.mark.parametrize(
    ("head", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": "par', {"a": "par"}),
        (b'{"a": {"b": "p\\u00e9\\u00', {"a": {"b": "pé"}}),
        (b'{"a": "\xf0\x9f\x98', {"a": ""}),
        (rb'{"a": "x\ud83d', {"a": "x"}),
        (b'{"a": 1, "par', {"a": 1}),
        (b'{"a": 1, "b": 12', {"a": 1}),
        (b'["x", "par', ["x", "par"]),
        (b'"par', "par"),
        (b'{"a": NaN, "b": 1}', {"a": None, "b": 1}),
        (b'{"a": 1,}', {"a": 1}),
        (b'{"a": [1, 2, oops], "b": 2}', {"a": [1, 2]}),
        (b'{"a": 1}\n{"b": 2}\n', {"a": 1}),
        (b"[[[[", [[[[]]]]),
        (b"12", 12),
        (b"null", None),
    ],
)
def test_what_can_be_read_is_read(head: bytes, value: Any) -> None:
    assert parse_prefix(head) == value
    assert parse_prefix(memoryview(head)) == value


@pytest.mark.parametrize("head", [b"", b"  ", b"PK\x03\x04", b"<html>", b"\xff\xfe[\x00", b"\x00" * 10, b"tru", b"-"])
def test_no_json_is_told_from_null(head: bytes) -> None:
    assert parse_prefix(head) is NOTHING
    assert not NOTHING


def test_depth_does_not_matter() -> None:
    value = parse_prefix(b'{"c":[' * 10_000)
    depth = 0
    while value:
        value = value["c"] if isinstance(value, dict) else value[0]
        depth += 1
    assert depth == 20_000 - 1
