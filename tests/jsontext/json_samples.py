"""JSON values of every kind for the tests of the JSON text layer, and their comparison without recursion."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from loomconv.jsontext import ExactFloat, Layout, same_number

_PAIR = re.compile("([\ud800-\udbff])[\udc00-\udfff]")


def equal_json(left: Any, right: Any) -> bool:
    """Same kinds, same key order, strings equal by code point, numbers exactly equal."""
    todo = [(left, right)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, bool) or a is None or isinstance(a, str):
            if type(a) is not type(b) or a != b:
                return False
        elif isinstance(a, dict):
            if not isinstance(b, dict) or list(a) != list(b):
                return False
            todo.extend(zip(a.values(), b.values(), strict=True))
        elif isinstance(a, list):
            if not isinstance(b, list) or len(a) != len(b):
                return False
            todo.extend(zip(a, b, strict=True))
        elif not same_number(a, b):
            return False
    return True


def is_start_of(part: Any, whole: Any) -> bool:
    """Whether `part` is what remains of `whole` if its text is cut somewhere."""
    while True:
        if isinstance(part, dict) and isinstance(whole, dict):
            keys = list(part)
            if keys != list(whole)[: len(keys)]:
                return False
            pairs = [(part[key], whole[key]) for key in keys]
        elif isinstance(part, list) and isinstance(whole, list) and len(part) <= len(whole):
            pairs = list(zip(part, whole, strict=False))
        else:
            return equal_json(part, whole)
        if not all(equal_json(a, b) for a, b in pairs[:-1]):
            return False
        if not pairs:
            return True
        part, whole = pairs[-1]


# In a `str` a whole pair of halves is two code points that JSON cannot tell from one character.
any_text = st.text(st.characters(exclude_categories=()), max_size=12).map(lambda text: _PAIR.sub(r"\1", text))
plain_text = st.text(max_size=12)
odd_numbers = st.sampled_from(["1.0E2", "1e400", "-1e-400", "-0", "1e22", "0.10", "1E+2", "1e5", "0.00001", "9" * 4400])
huge_integers = st.integers(4300, 4400).map(lambda digits: 10**digits + 7)
finite_floats = st.floats(allow_nan=False, allow_infinity=False)


def values(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )


any_values = values(
    st.none()
    | st.booleans()
    | st.integers()
    | huge_integers
    | finite_floats
    | odd_numbers.map(ExactFloat)
    | any_text
    | st.text(max_size=80),
    any_text,
)
plain_values = values(st.none() | st.booleans() | st.integers() | finite_floats | plain_text, plain_text)

layouts = st.builds(
    Layout,
    indent=st.sampled_from([None, None, 0, 1, 2, 4, "\t"]),
    item_separator=st.sampled_from([",", ", "]),
    key_separator=st.sampled_from([":", ": ", " : "]),
    escape=st.sampled_from(["ascii", "raw"]),
    escape_slash=st.booleans(),
    empty=st.sampled_from(["closed", "open", "blank"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    final_newline=st.booleans(),
    bom=st.booleans(),
)
