from __future__ import annotations

import enum
import json
from collections import OrderedDict
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from json_samples import any_values, layouts, plain_values

from loomconv.errors import UsageFault
from loomconv.jsontext import COMPACT, PYTHON_INDENT_4, ExactFloat, Layout, encode, iter_exact, write_exact


class Colour(enum.IntEnum):
    RED = 3


class Name(str):
    __slots__ = ()


@given(plain_values)
@settings(max_examples=150, deadline=None)
def test_layouts_of_python_and_javascript(value: Any) -> None:
    for indent in (None, 0, 1, 2, 4, "\t"):
        for ascii_only in (True, False):
            colon = ": "
            comma = ", " if indent is None else ","
            escape: Any = "ascii" if ascii_only else "raw"
            layout = Layout(indent=indent, item_separator=comma, key_separator=colon, escape=escape)  # type: ignore[arg-type]
            expected = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
            assert write_exact(value, layout) == expected.encode()
    assert write_exact(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@given(any_values, layouts)
@settings(max_examples=80, deadline=None)
def test_chunks_are_the_whole(value: Any, layout: Layout) -> None:
    assert layout.before + b"".join(iter_exact(value, layout)) + layout.after == write_exact(value, layout)


def test_strings_and_keys_are_escaped_alike() -> None:
    text = 'q" b\\ s/ \b\f\n\r\t \x01\x1f \x7f é \u2028 \U0001f600 \ud83e'
    raw = '"q\\" b\\\\ s/ \\b\\f\\n\\r\\t \\u0001\\u001f \x7f é \u2028 \U0001f600 \\ud83e"'.encode()
    assert write_exact(text) == raw
    assert write_exact({text: text}) == b"{" + raw + b":" + raw + b"}"
    ascii_text = b'"q\\" b\\\\ s\\/ \\b\\f\\n\\r\\t \\u0001\\u001f \\u007f \\u00e9 \\u2028 \\ud83d\\ude00 \\ud83e"'
    assert write_exact(text, Layout(escape="ascii", escape_slash=True)) == ascii_text


def test_numbers() -> None:
    value = [1, True, 1e22, 1e-5, 1.5, -0.0, ExactFloat("1.0E2"), ExactFloat("1e400"), 10**5000]
    expected = b"[1,true,1e+22,1e-05,1.5,-0.0,1.0E2,1e400,1" + b"0" * 5000 + b"]"
    assert write_exact(value) == expected
    assert encode(value) == expected


def test_relatives_of_the_json_types() -> None:
    value = OrderedDict(a=(1, Colour.RED), b=Name("n"), c=msgspec.Raw(b'{"x": 1.0E2}'))
    expected = b'{"a":[1,3],"b":"n","c":{"x": 1.0E2}}'
    assert write_exact(value) == expected
    assert encode(value) == expected


@pytest.mark.parametrize("writer", [write_exact, encode])
@pytest.mark.parametrize(
    "bad", [float("nan"), float("inf"), float("-inf"), b"bytes", {1}, object(), {"a": {None: 1, "b": "\ud800"}}]
)
def test_what_is_not_json_is_refused(writer: Any, bad: Any) -> None:
    with pytest.raises(UsageFault):
        writer({"deep": [1, bad]})


def test_only_strings_are_keys() -> None:
    with pytest.raises(UsageFault):
        write_exact({1: 2})


@pytest.mark.parametrize("writer", [write_exact, encode])
def test_a_value_that_contains_itself_is_refused(writer: Any) -> None:
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(UsageFault):
        writer(loop)


def test_empty_containers() -> None:
    value: Any = {"a": [], "b": {}, "c": [{}]}
    assert write_exact(value, Layout(indent=2, key_separator=" : ", empty="blank")) == (
        b'{\n  "a" : [\n\n  ],\n  "b" : {\n\n  },\n  "c" : [\n    {\n\n    }\n  ]\n}'
    )
    assert write_exact([], Layout(indent=1, empty="open")) == b"[\n]"
    assert write_exact(value, Layout(empty="blank")) == b'{"a":[],"b":{},"c":[{}]}'


def test_an_inner_level_continues_the_indentation() -> None:
    outer = write_exact({"k": {"a": [1]}}, PYTHON_INDENT_4)
    inner = b"".join(iter_exact({"a": [1]}, PYTHON_INDENT_4, level=1))
    assert outer == b'{\n    "k": ' + inner + b"\n}"


def test_long_arrays_come_in_chunks() -> None:
    value = list(range(30_000))
    chunks = list(iter_exact({"a": value, "b": dict.fromkeys(map(str, value))}, COMPACT))
    assert len(chunks) > 10
    assert json.loads(b"".join(chunks))["a"] == value


def test_deep_values_with_indent() -> None:
    value: Any = []
    for _ in range(3000):
        value = [value]
    text = write_exact(value, Layout(indent=1))
    assert text.count(b"\n") == 2 * 3000
    assert text.startswith(b"[\n [\n  [\n")
    assert text.endswith(b"\n ]\n]")
