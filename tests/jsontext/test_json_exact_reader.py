from __future__ import annotations

import contextlib
import gc
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from json_samples import any_values, equal_json, is_start_of, layouts, plain_values

from loomconv.errors import LimitExceeded, TruncatedInput, UnreadableFile
from loomconv.jsontext import ExactFloat, Oddity, keys_accounted, load, parse_exact, parse_prefix, write_exact


def only_oddity(text: bytes, **options: Any) -> Oddity:
    (oddity,) = parse_exact(text, **options).oddities
    return oddity


def refusal(text: bytes, **options: Any) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as caught:
        parse_exact(text, **options)
    assert caught.value.place is not None
    assert caught.value.next_step
    return caught.value


# -- what is read -----------------------------------------------------------------------------------------------------


@given(any_values)
@settings(max_examples=150, deadline=None)
def test_what_was_written_is_read_again(value: Any) -> None:
    text = write_exact(value)
    parsed = parse_exact(text)
    assert equal_json(parsed.value, value)
    assert write_exact(parsed.value) == text
    assert {oddity.kind for oddity in parsed.oddities} <= {"lone-surrogate"}


@given(plain_values, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_ordinary_texts_are_read_as_by_the_standard_library(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    parsed = parse_exact(text.encode())
    assert parsed.oddities == []
    assert parsed.value == json.loads(text)
    assert json.dumps(parsed.value, indent=indent) == json.dumps(json.loads(text), indent=indent)


def test_every_token_in_every_position() -> None:
    leaves = [
        "1",
        "-1",
        "0",
        "0.5",
        "1e5",
        "true",
        "false",
        "null",
        '""',
        '"a"',
        '"\\n"',
        '"' + "x" * 99 + '"',
        "[]",
        "{}",
    ]
    for leaf in leaves:
        value = json.loads(leaf)
        for text, expected in (
            (leaf, value),
            (f" {leaf}\n", value),
            (f"[{leaf}]", [value]),
            (f"[ {leaf} , {leaf} ]", [value, value]),
            (f'{{"k":{leaf}}}', {"k": value}),
            (f'{{ "k" : {leaf} , "\\u006c":{leaf}}}', {"k": value, "l": value}),
        ):
            parsed = parse_exact(text.encode())
            assert parsed.value == expected
            assert parsed.oddities == []


def test_buffers_of_all_kinds_are_read() -> None:
    text = b'{"a": [1, "\xc3\xa9"]}'
    for data in (text, bytearray(text), memoryview(text)):
        assert parse_exact(data).value == {"a": [1, "é"]}


@pytest.mark.parametrize(
    "token", ["1.0E2", "1e400", "-0", "0.10", "1e22", "1E5", "0.1000000000000000055511151231257827"]
)
def test_numbers_keep_a_spelling_that_python_would_change(token: str) -> None:
    for value in (parse_exact(token.encode()).value, parse_exact(f"[{token}]".encode()).value[0]):
        assert type(value) is ExactFloat
        assert value.token == token


def test_plain_numbers_are_plain() -> None:
    value = parse_exact(b"[1, -7, 18446744073709551616, 0.5, -0.0, 100.0]").value
    assert [type(number) for number in value] == [int, int, int, float, float, float]
    assert value[2] == 2**64


def test_an_integer_of_any_length_survives() -> None:
    for digits in (4300, 4301, 100_000):
        token = b"-" + b"7" * digits
        value = parse_exact(b"[" + token + b"]").value
        assert write_exact(value) == b"[" + token + b"]"
    assert type(parse_exact(b"7" * 4300).value) is int


# -- oddities ---------------------------------------------------------------------------------------------------------


def test_bom() -> None:
    parsed = parse_exact(b'\xef\xbb\xbf{"a":1,"a":2}')
    assert parsed.value == {"a": 2}
    bom, duplicate = parsed.oddities
    assert (bom.kind, bom.pointer, str(bom.place)) == ("bom", "", "line 1 column 1 (byte 0)")
    assert str(duplicate.place) == "line 1 column 8 (byte 10)"


def test_duplicate_keys_are_each_reported_and_the_last_value_wins_in_first_position() -> None:
    parsed = parse_exact('{"é": {"k": 1, "x": 2,\n "k": [0], "\\u006b": 3}}'.encode())
    assert list(parsed.value["é"].items()) == [("k", 3), ("x", 2)]
    assert [(o.kind, o.pointer, o.value, o.place.line, o.place.column) for o in parsed.oddities] == [
        ("duplicate-key", "/é/k", "k", 2, 2),
        ("duplicate-key", "/é/k", "k", 2, 12),
    ]


def test_pointers_escape_keys_and_count_items() -> None:
    oddity = only_oddity(b'{"a/b~": [0, [], {"": {"x": 1, "x": 2}}]}')
    assert oddity.pointer == "/a~1b~0/2//x"


def test_a_lone_surrogate_is_kept_and_its_first_escape_named() -> None:
    parsed = parse_exact(rb'{"t": ["\ud83d\ude00 \ud83d x \ude00", "\uD83D\uDE00"], "\udc00": 1}')
    assert parsed.value == {"t": ["\U0001f600 \ud83d x \ude00", "\U0001f600"], "\udc00": 1}
    assert [(o.kind, o.pointer, o.place.byte) for o in parsed.oddities] == [
        ("lone-surrogate", "/t/0", 21),
        ("lone-surrogate", r"/\udc00", 57),
    ]


def test_an_escaped_backslash_starts_no_surrogate() -> None:
    assert parse_exact(rb'["\\ud83d"]').oddities == []


def test_non_finite_numbers() -> None:
    text = b'{"a": NaN, "b": [1, -Infinity], "c": Infinity}'
    parsed = parse_exact(text, non_finite="null")
    assert parsed.value == {"a": None, "b": [1, None], "c": None}
    assert [(o.kind, o.value, o.pointer) for o in parsed.oddities] == [
        ("non-finite-number", "NaN", "/a"),
        ("non-finite-number", "-Infinity", "/b/1"),
        ("non-finite-number", "Infinity", "/c"),
    ]
    assert refusal(text).place.byte == 6  # type: ignore[union-attr]
    assert only_oddity(b"NaN", non_finite="null").pointer == ""


def test_bad_bytes_in_strings_are_kept_and_each_run_reported() -> None:
    parsed = parse_exact(b'{"a": "x\xff\xfey\xc3z", "b": "\xc3\xa9\\ud800\xff"}')
    assert parsed.value == {"a": "x\udcff\udcfey\udcc3z", "b": "é\ud800\udcff"}
    assert [(o.kind, o.pointer, o.place.byte) for o in parsed.oddities] == [
        ("bad-encoding", "/a", 8),
        ("bad-encoding", "/a", 11),
        ("lone-surrogate", "/b", 24),
        ("bad-encoding", "/b", 30),
    ]


def test_bad_bytes_are_listed_up_to_a_hundred_runs() -> None:
    text = b"[" + b",".join([b'"\xff"'] * 150) + b"]"
    parsed = parse_exact(text)
    assert len(parsed.value) == 150
    assert [o.pointer for o in parsed.oddities] == [f"/{i}" for i in range(100)]
    assert ["further" in o.message for o in parsed.oddities] == [False] * 99 + [True]


def test_a_flood_of_oddities_is_cut_off() -> None:
    text = b'{"a":0' + b',"a":0' * 12_000 + b"}"
    assert len(parse_exact(text).oddities) == 10_000


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "byte"),
    [
        (b'{\n  "a": 1,\n}', 2, 9, 10),
        (b"[1,]", 1, 3, 2),
        ('{"é": [1,\n]}'.encode(), 1, 9, 9),
        (b"[1 2]", 1, 4, 3),
        (b"[01]", 1, 2, 1),
        (b"[-]", 1, 2, 1),
        (b"[.5]", 1, 2, 1),
        (b"[1.]", 1, 2, 1),
        (b"[1e]", 1, 2, 1),
        (b"[+1]", 1, 2, 1),
        (b'["a\tb"]', 1, 4, 3),
        (rb'["\x41"]', 1, 3, 2),
        (rb'["\u12g4"]', 1, 3, 2),
        (b'{"a" 1}', 1, 6, 5),
        (b"{a: 1}", 1, 2, 1),
        (b"{1: 1}", 1, 2, 1),
        (b"[1}", 1, 3, 2),
        (b'{"a": 1]', 1, 8, 7),
        (b"[}", 1, 2, 1),
        (b'{"a": ]', 1, 7, 6),
        (b"[{},{}}", 1, 7, 6),
        (b"[1] x", 1, 5, 4),
        (b"1 2", 1, 3, 2),
        (b"[truth]", 1, 2, 1),
        (b"['a']", 1, 2, 1),
        (b"[1, // no\n 2]", 1, 5, 4),
        (b"[1,\x0b2]", 1, 4, 3),
        ("[\u0661]".encode(), 1, 2, 1),
        (b"\xff\xfe[\x001\x00]\x00", 1, 1, 0),
        (b"", 1, 1, 0),
        (b" \n ", 2, 2, 3),
    ],
)
def test_malformed_texts_are_refused_at_the_right_place(text: bytes, line: int, column: int, byte: int) -> None:
    error = refusal(text)
    assert not isinstance(error, TruncatedInput)
    assert (error.place.line, error.place.column, error.place.byte) == (line, column, byte)  # type: ignore[union-attr]
    assert not isinstance(refusal(text, salvage=True), TruncatedInput)


def test_utf_16_is_named() -> None:
    assert "UTF-16" in refusal('{"a": 1}'.encode("utf-16")).message


def test_errors_do_not_quote_the_text() -> None:
    for text in (b'{"secret": sesame}', b'{"secret" "sesame"}', b'{"secret": "ses\\ame"}', b'["secret", "sesame'):
        assert "ses" not in str(refusal(text))
        assert "secret" not in str(refusal(text))


MUTABLE = [
    b'{"a": [1, -2.5e3, true, null], "b\\n": {"c": "\xc3\xa9\\u0041", "d": []}, "e": {}}',
    b'[[{"k" : "v"}, "a long string of more than forty characters, with \\"quotes\\""], false, 0]\n',
]


@given(st.sampled_from(MUTABLE), st.integers(0, 200), st.binary(max_size=3), st.integers(0, 3))
@settings(max_examples=600, deadline=None)
@example(MUTABLE[0], 0, b"\xef\xbb\xbf", 0)
def test_mutated_texts_are_read_or_refused_as_by_the_standard_library(
    text: bytes, at: int, inserted: bytes, removed: int
) -> None:
    at %= len(text) + 1
    mutated = text[:at] + inserted + text[at + removed :]

    def refuse(token: str) -> None:
        raise ValueError(token)

    parse_prefix(mutated)
    try:
        expected = json.loads(mutated.removeprefix(b"\xef\xbb\xbf").decode(), parse_constant=refuse)
    except UnicodeDecodeError:  # our reader keeps such bytes in strings
        with contextlib.suppress(UnreadableFile):
            parse_exact(mutated)
        return
    except ValueError:
        refusal(mutated)
        with pytest.raises(UnreadableFile):
            load(mutated)
        return
    parsed = parse_exact(mutated)
    assert equal_json(parsed.value, expected)
    loaded = load(mutated)
    assert equal_json(loaded.value, expected)
    assert loaded.oddities == parsed.oddities
    duplicates = [oddity for oddity in parsed.oddities if oddity.kind == "duplicate-key"]
    assert keys_accounted(mutated, parsed.value) is (duplicates == [])


# -- salvage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "pointer"),
    [
        (b"[", [], ""),
        (b"[1, 12", [1], ""),
        (b"[1, true", [1, True], ""),
        (b"[1, tr", [1], ""),
        (b'[1, "ab', [1], ""),
        (b'[1, "ab"', [1, "ab"], ""),
        (b'[1, "ab\\u12', [1], ""),
        (b'{"a": [1, {"b": 2, "c": "cut', {"a": [1, {"b": 2}]}, "/a/1"),
        (b'{"a": 1, "b"', {"a": 1}, ""),
        (b'{"a": 1, "b":', {"a": 1}, ""),
        (b'{"a": 1, "b": {', {"a": 1, "b": {}}, "/b"),
        (b'{"a": 1, "b": {}', {"a": 1, "b": {}}, ""),
        (b'{"a": [{}, []], "b": -', {"a": [{}, []]}, ""),
        (b'{"a": "x", "\\u0062": 1.', {"a": "x"}, ""),
        (b'{"a": "\xc3', {}, ""),
        (b'{"a": 1,\n', {"a": 1}, ""),
    ],
)
def test_salvage_keeps_what_is_complete(text: bytes, value: Any, pointer: str) -> None:
    error = refusal(text)
    assert isinstance(error, TruncatedInput)
    assert error.place.byte == len(text)  # type: ignore[union-attr]
    parsed = parse_exact(text, salvage=True)
    assert parsed.value == value
    (oddity,) = parsed.oddities
    assert (oddity.kind, oddity.pointer, oddity.place) == ("truncated", pointer, error.place)


@pytest.mark.parametrize("text", [b'"abc', b"tru", b"-", b"1e", b'"\\'])
def test_salvage_without_a_container_is_refused(text: bytes) -> None:
    assert isinstance(refusal(text, salvage=True), TruncatedInput)


@given(plain_values, layouts)
@settings(max_examples=40, deadline=None)
def test_every_prefix_of_a_text_can_be_salvaged(value: Any, layout: Any) -> None:
    text = write_exact({"": [value], "z": value}, layout)
    whole = parse_exact(text).value
    for end in range(len(text)):
        try:
            parsed = parse_exact(text[:end], salvage=True)
        except UnreadableFile:
            assert b"{" not in text[:end]
            continue
        assert is_start_of(parsed.value, whole)
        kinds = [oddity.kind for oddity in parsed.oddities]
        assert "truncated" in kinds or not text[end:].strip()
        assert isinstance(parse_prefix(text[:end]), dict)


# -- depth ------------------------------------------------------------------------------------------------------------


def test_depth_limit() -> None:
    assert parse_exact(b"[[[1]]]", max_depth=3).value == [[[1]]]
    with pytest.raises(LimitExceeded) as caught:
        parse_exact(b'[{"a": [1]}]', max_depth=2)
    assert caught.value.place is not None
    assert caught.value.place.byte == 7
    assert parse_exact(b"1", max_depth=0).value == 1


def test_deep_texts_are_read_and_reported_once() -> None:
    levels = 50_000
    text = b'{"a":[' * levels + b'{"k":1,"k":2}' + b"]}" * levels
    parsed = parse_exact(text)
    assert write_exact(parsed.value) == text.replace(b'"k":1,', b"")
    deep, duplicate = parsed.oddities
    assert (deep.kind, duplicate.kind) == ("deep", "duplicate-key")
    assert duplicate.pointer == "/a/0" * 16 + "/…" + "/a/0" * 16 + "/k"
    assert duplicate.place.byte == 6 * levels + 7


def test_many_oddities_at_great_depth_cost_no_more_than_their_number() -> None:
    levels, count = 50_000, 2_000
    text = b"[" * levels + b",".join([rb'"\ud800"'] * count) + b"]" * levels
    oddities = parse_exact(text).oddities
    assert len(oddities) == count + 1
    assert all(len(oddity.pointer) < 300 for oddity in oddities)


def test_long_keys_are_cut_in_pointers() -> None:
    key = b"k" * 100_000
    assert len(only_oddity(b'{"' + key + rb'": "\ud800"}').pointer) < 300


@pytest.mark.slow
def test_a_million_levels() -> None:
    levels = 1_000_000
    text = b"[" * levels + b"]" * levels
    assert write_exact(parse_exact(text).value) == text
    parsed = parse_exact(text[:levels], salvage=True)
    assert write_exact(parsed.value) == text


def test_unterminated_strings_with_many_escapes() -> None:
    text = b'["' + b"\\n" * 300_000
    assert parse_exact(text, salvage=True).value == []
    assert parse_prefix(text) == ["\n" * 300_000]


def test_the_collector_is_restored() -> None:
    assert gc.isenabled()
    parse_exact(b"[" + b"1," * 100_000 + b"1]")
    assert gc.isenabled()
    with pytest.raises(UnreadableFile):
        parse_exact(b"[" + b"1," * 100_000 + b"x]")
    assert gc.isenabled()
    gc.disable()
    try:
        parse_exact(b"[" + b"1," * 100_000 + b"1]")
        assert not gc.isenabled()
    finally:
        gc.enable()
