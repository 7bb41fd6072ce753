from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomconv.jsontext import find_pointers, parse_exact

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def pointers_of(value: Any) -> dict[str, Any]:
    """Every value in the value, by its pointer."""
    found = {"": value}
    todo = [("", value)]
    for pointer, item in todo:
        steps = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for step, inner in steps:
            name = f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"
            found[name] = inner
            todo.append((name, inner))
    return found


@settings(max_examples=60, deadline=None)
@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_every_value_is_found(value: Any, ascii_only: bool, indent: int | None) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    wanted = pointers_of(value)
    places = find_pointers(data, wanted)
    assert places.keys() == wanted.keys()
    decoder = json.JSONDecoder()
    for pointer, place in places.items():
        text = data[place.byte :].decode()
        assert decoder.raw_decode(text)[0] == wanted[pointer]


def test_lines_and_columns() -> None:
    data = b'\xef\xbb\xbf{\n "a": [1,\n  {"b/c": "x, {", "d": 2}],\n "\\u0065": null}'
    assert parse_exact(data).value
    places = find_pointers(data, ["", "/a", "/a/0", "/a/1/d", "/a/1/b~1c", "/e"])
    assert {pointer: (place.line, place.column) for pointer, place in places.items()} == {
        "": (1, 1),
        "/a": (2, 7),
        "/a/0": (2, 8),
        "/a/1/b~1c": (3, 11),
        "/a/1/d": (3, 24),
        "/e": (4, 12),
    }
    assert data[places["/a"].byte : places["/a"].byte + 1] == b"["


def test_what_is_not_there_is_left_out() -> None:
    assert find_pointers(b'{"a": []}', ["/b", "/a/x", "/a/b/c"]) == {}


def test_of_a_key_that_is_twice_there_the_last_counts() -> None:
    assert find_pointers(b'{"a": 1, "a": 2}', ["/a"])["/a"].column == 15


@pytest.mark.parametrize("data", [b"", b"]", b'{"a": ["', b'{"a": [1 }, ]]', b'"\\', b"\xff", b'{"\\x": 1}'])
def test_broken_texts_raise_nothing(data: bytes) -> None:
    find_pointers(data, ["/a/0", "/x"])


def test_depth_is_no_matter() -> None:
    depth = 50_000
    data = b'{"a":' * depth + b"1" + b"}" * depth
    pointer = "/a" * depth
    assert find_pointers(data, [pointer])[pointer].byte == 5 * depth
