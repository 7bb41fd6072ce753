from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_samples import finite_floats, huge_integers, odd_numbers

from loomconv.errors import Place, UsageFault
from loomconv.jsontext import ExactFloat, locate, parse_exact, same_number


def test_an_exact_float_is_a_float_with_a_spelling() -> None:
    number = ExactFloat("1.0E2")
    assert number == 100.0
    assert hash(number) == hash(100.0)
    assert number.token == repr(number) == str(number) == f"{number}" == "1.0E2"
    assert type(number + 1) is float
    assert ExactFloat("1e400") == float("inf")


def test_copies_and_pickles_keep_the_spelling() -> None:
    number = ExactFloat("1e400")
    for other in (copy.copy(number), copy.deepcopy([number])[0], pickle.loads(pickle.dumps(number))):
        assert type(other) is ExactFloat
        assert other.token == "1e400"


@pytest.mark.parametrize("token", ["", "nan", "inf", "1_0", " 1", "01", "1.", ".5", "+1", "0x1", "1e", "١"])
def test_only_json_numbers_are_spellings(token: str) -> None:
    with pytest.raises(UsageFault):
        ExactFloat(token)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (2**53, float(2**53), True),
        (2**53 + 1, float(2**53), False),
        (ExactFloat("1.0E2"), 100.0, True),
        (ExactFloat("1.0E2"), 100, True),
        (ExactFloat("1e400"), ExactFloat("1e500"), False),
        (ExactFloat("1e400"), ExactFloat("10E399"), True),
        (ExactFloat("0.10"), 0.1, True),
        (ExactFloat("0.1000000000000000055511151231257827"), 0.1, False),
        (ExactFloat("-0"), 0, True),
        (ExactFloat("1e" + "9" * 30), ExactFloat("1e" + "9" * 30), True),
        (ExactFloat("1e" + "9" * 30), 1, False),
        (True, 1, False),
        (1, True, False),
        (True, True, False),
        ("1", 1, False),
        (None, None, False),
    ],
)
def test_same_number(a: object, b: object, same: bool) -> None:
    assert same_number(a, b) is same
    assert same_number(b, a) is same


def test_same_number_at_any_length() -> None:
    huge, token = 10**5000, ExactFloat("1" + "0" * 5000)
    assert same_number(huge, 10**5000)
    assert same_number(huge, token)
    assert not same_number(huge + 1, huge)
    assert not same_number(huge + 1, token)


@given(st.lists(st.integers() | finite_floats | odd_numbers.map(ExactFloat) | huge_integers, min_size=3, max_size=3))
@settings(max_examples=100, deadline=None)
def test_same_number_is_transitive(numbers: list[float]) -> None:
    a, b, c = numbers
    assert same_number(a, a)
    if same_number(a, b) and same_number(b, c):
        assert same_number(a, c)


def test_locate() -> None:
    data = "a\nbé😀c\r\n".encode()
    assert locate(data, 0) == Place(1, 1, 0)
    assert locate(data, data.index(b"c")) == Place(2, 4, data.index(b"c"))
    assert locate(data, data.index(b"c") - 1) == Place(2, 3, data.index(b"c") - 1)
    assert locate(memoryview(data), 10_000) == Place(3, 1, len(data))
    assert locate(b"\xef\xbb\xbfab", 4) == Place(1, 2, 4)
    assert locate(b"\xff\xffx", 2) == Place(1, 3, 2)


def test_places_of_oddities_agree_with_locate() -> None:
    lines = [f'"k{i}": "é{i}", "k{i}":\n {json.dumps("x" * i)}' for i in range(50)]
    text = ("{" + ", ".join(lines) + "}").encode()
    oddities = parse_exact(text).oddities
    assert len(oddities) == 50
    assert all(locate(text, oddity.place.byte) == oddity.place for oddity in oddities)
    assert all(text[oddity.place.byte : oddity.place.byte + 1] == b'"' for oddity in oddities)
