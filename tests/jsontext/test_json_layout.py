from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from json_samples import any_values, layouts

from loomconv.errors import UnreadableFile, UsageFault
from loomconv.jsontext import COMPACT, PYTHON_INDENT_4, SWIFT, TWO_SPACES, Layout, dump, load, recognise_layout

TREE: dict[str, Any] = {
    "root": {
        "text": 'Ein Märchen — “quoted”, 😀, path/to/file, [1, 2], {"a": 1}',
        "children": [
            {"text": "tab\tnewline\n\\ end", "children": [], "meta": {}, "n": [1, 2.5, -3]},
            {"text": "", "children": [{"text": "x" * 100}], "flag": True, "none": None},
        ],
    },
    "id": 7,
}


def rewritten(text: bytes) -> bytes:
    return dump(load(text).value, recognise_layout(text[:65536], text[-16:]))


@pytest.mark.parametrize("indent", [None, 0, 1, 2, 3, 4, 8, "\t"])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_texts_of_python_are_rewritten_byte_for_byte(indent: Any, ascii_only: bool, ending: str) -> None:
    text = (json.dumps(TREE, indent=indent, ensure_ascii=ascii_only) + ending).encode()
    assert rewritten(text) == text


def test_other_texts_are_rewritten_byte_for_byte() -> None:
    compact = json.dumps(TREE, ensure_ascii=False, separators=(",", ":"))
    pretty = json.dumps(TREE, ensure_ascii=False, indent=2)
    texts = [
        compact,
        compact.replace("/", "\\/"),  # Swift
        json.dumps(TREE, separators=(",", ":")).replace("/", "\\/"),  # PHP
        pretty.replace("\n", "\r\n"),
        pretty.replace("\n", "\r\n") + "\r\n",
        compact + "\r\n",
        "\ufeff" + pretty,
        pretty.replace(",\n", ", \n"),  # Python 2
        pretty.replace('": ', '" : ').replace("[]", "[\n\n        ]").replace("{}", "{\n\n        }"),  # Foundation
    ]
    for text in texts:
        assert rewritten(text.encode()) == text.encode()


@given(any_values, layouts)
@settings(max_examples=150, deadline=None)
def test_what_was_written_in_a_layout_is_recognised(value: Any, layout: Layout) -> None:
    value = {"/": [value, "é", [], {"k": 1, "l": 2}]}
    text = dump(value, layout)
    assert rewritten(text) == text


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (b'{"a":1}', COMPACT),
        (b'{"a":"\\/","b":2}', SWIFT),
        (b'{\n    "a": 1\n}', PYTHON_INDENT_4),
        (b'{\n  "a": 1\n}', TWO_SPACES),
        (b'{"a": 1}', Layout(item_separator=", ", key_separator=": ", escape="ascii")),
        (b"", COMPACT),
        (b"7", COMPACT),
        (b"not json", COMPACT),
        (b'{"a":"\\\\u1234 \\\\/ /"}', COMPACT),
        (b'{"a":"\\u0001 \\ud83e"}', COMPACT),
        (b'{"a":"\\ud83d\\ude00"}', Layout(escape="ascii")),
        (b'{"a":"\\/ /"}', COMPACT),
    ],
)
def test_recognised_layouts(text: bytes, layout: Layout) -> None:
    assert recognise_layout(text, text) == layout


def test_a_head_that_ends_within_a_string_is_enough() -> None:
    text = json.dumps({"text": "a: b, [c] " * 20_000, "more": [1, 2]}, indent=4).encode()
    assert recognise_layout(text[:65536], text[-4:]) == PYTHON_INDENT_4


@given(layouts)
def test_layouts_are_kept_as_json(layout: Layout) -> None:
    assert Layout.from_json(json.loads(json.dumps(layout.to_json()))) == layout


def test_layouts_are_read_with_care() -> None:
    assert Layout.from_json({"indent": 2, "unknown": 1}) == Layout(indent=2)
    for bad in (
        [],
        {"indent": -1},
        {"indent": 10**9},
        {"indent": True},
        {"indent": "  "},
        {"item_separator": ";"},
        {"item_separator": ",\n"},
        {"key_separator": None},
        {"escape": "none"},
        {"newline": "\r"},
        {"bom": 1},
        {"empty": []},
    ):
        with pytest.raises(UnreadableFile):
            Layout.from_json(bad)
    with pytest.raises(UsageFault):
        Layout(indent=-1)
