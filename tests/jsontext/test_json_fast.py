from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_samples import any_values, equal_json, layouts

from loomconv.errors import LimitExceeded, TruncatedInput, UnreadableFile
from loomconv.jsontext import (
    ExactFloat,
    decode,
    dump,
    encode,
    keys_accounted,
    load,
    parse_exact,
    strings_in_text,
    strings_in_value,
    write_exact,
)

NODE = {
    "id": "01J0000000000000000000000A",
    "content": {"type": "text", "text": 'She said "no" — C:\\dir\\ {"k": 1}'},
    "created_at": "2024-05-01T12:33:21Z",
    "tags": ["a", "b"],
    "score": 0.25,
    "n": 0,
    "none": None,
}


def test_ordinary_texts_take_the_fast_rung() -> None:
    loaded = load(json.dumps(NODE, indent=2).encode())
    assert (loaded.value, loaded.rung, loaded.reason, loaded.oddities) == (NODE, "fast", "", [])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (b'\xef\xbb\xbf{"a": 1}', ["bom"]),
        (b'{"a": 1, "a" : 2}', ["duplicate-key"]),
        (rb'{"a": 1, "\u0061": 2}', ["duplicate-key"]),
        (rb'["\ud800"]', ["lone-surrogate"]),
        (b'["\xff"]', ["bad-encoding"]),
        (b"[NaN]", ["non-finite-number"]),
        (b"[-0]", []),
        (b"[" + b"1" * 5000 + b"]", []),
        (b"[" * 20_000 + b"]" * 20_000, ["deep"]),
    ],
)
def test_what_the_fast_rung_would_change_takes_the_exact_one(text: bytes, kinds: list[str]) -> None:
    loaded = load(text, non_finite="null")
    assert loaded.rung == "exact"
    assert loaded.reason
    assert [oddity.kind for oddity in loaded.oddities] == kinds
    assert equal_json(loaded.value, parse_exact(text, non_finite="null").value)


def test_load_refuses_as_the_exact_reader_does() -> None:
    with pytest.raises(UnreadableFile) as caught:
        load(b'{"a": 1,\n "b": [1,]}')
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 9)
    with pytest.raises(TruncatedInput):
        load(b'{"a": 1')
    assert load(b'{"a": "x", "b": 1', salvage=True).value == {"a": "x"}
    with pytest.raises(LimitExceeded):
        load(b'[{"a": [1]}]', max_depth=2)
    assert load(b'[{"a": [1]}]', max_depth=3).rung == "fast"


def test_a_map_is_loaded_and_can_be_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in (b'{"a": "x\\"\\\\"}', b'{"a": 1, "a": 2}'):
        path.write_bytes(text)
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            expected = json.loads(text)
            assert load(data).value == parse_exact(data).value == decode(data) == expected


@pytest.mark.parametrize("token", ["1.0E2", "1e400", "-0", "-0.0", "0.10", "1e22", "1e+22", "1e-05", "0.00001", "1E5"])
def test_numbers_keep_their_spelling_through_decode_and_encode(token: str) -> None:
    for text in (token, f'{{"a":[{token}]}}'):
        assert encode(decode(text.encode())) == text.encode()
        assert encode(parse_exact(text.encode()).value) == text.encode()
    assert load(token.encode()).value == float(token)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_floats_are_spelled_as_python_spells_them(number: float) -> None:
    text = repr(number).encode()
    assert encode(number) == text
    assert encode(decode(text)) == text


def test_decode_refuses_with_a_place() -> None:
    with pytest.raises(UnreadableFile) as caught:
        decode(b'{"a": NaN}')
    assert caught.value.place is not None
    assert decode(rb'"\ud800"') == "\ud800"
    assert type(decode(b"[-0]")[0]) is ExactFloat
    assert decode(b'{"at": "2024-01-01", "n": 0}') == {"at": "2024-01-01", "n": 0}


@given(any_values)
@settings(max_examples=200, deadline=None)
def test_encode_writes_what_the_exact_writer_writes(value: Any) -> None:
    assert encode(value) == write_exact(value)


@given(any_values, layouts)
@settings(max_examples=300, deadline=None)
def test_dump_writes_what_the_exact_writer_writes(value: Any, layout: Any) -> None:
    assert dump(value, layout) == write_exact(value, layout)


def test_deep_values_are_encoded() -> None:
    text = b'{"children":[' * 5000 + b"]}" * 5000
    assert encode(load(text).value) == text


# -- keys twice -------------------------------------------------------------------------------------------------------

keys = st.sampled_from(["a", "b", 'a"', "a\\", '":', "a:", "\\\\", "é", ""])
texts = st.recursive(
    keys.map(json.dumps) | st.sampled_from(["1", "null", '"x\\u0022y"', '"\\u0061\\":"']),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]")
        | st.lists(st.tuples(keys, st.sampled_from([":", " :", "\n\t: ", ": "]), inner, st.booleans()), max_size=4).map(
            lambda members: (
                "{"
                + ",".join(json.dumps(key, ensure_ascii=flag) + colon + value for key, colon, value, flag in members)
                + "}"
            )
        )
    ),
    max_leaves=12,
)


@given(texts)
@settings(max_examples=400, deadline=None)
def test_keys_are_accounted_for_exactly_if_none_is_there_twice(text: str) -> None:
    raw = text.encode()
    parsed = parse_exact(raw)
    once = parsed.oddities == []
    for value in (parsed.value, json.loads(raw)):
        assert keys_accounted(raw, value) is once
        assert keys_accounted(memoryview(raw), value) is once
    assert load(raw).rung == ("fast" if once else "exact")


def test_strings_are_counted_over_the_pieces_of_a_large_text() -> None:
    for shift in range(5):
        item = '"' + "\\\\" * 5 + '\\"' * 7 + '"'
        text = "[" + " " * shift + ",".join([item] * 100_000) + "]"
        assert strings_in_text(text.encode()) == 100_000
    assert strings_in_value({"a": ["b", {"c": "d"}, 1, None]}) == 4
