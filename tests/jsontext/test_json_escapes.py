"""Escaping everything beyond ASCII, quickly and one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.jsontext import fast

LAYOUT = jsontext.PYTHON_INDENT_4
TEXTS = st.text(st.sampled_from('a"\\x\\U/\x7f\x80éĀ\u2028\uffff🧵\n'), max_size=12)


@given(TEXTS)
def test_characters_are_escaped_alike_all_at_once_and_one_by_one(text: str) -> None:
    plain = jsontext.encode(text)
    one_by_one = fast._BEYOND_ASCII.sub(fast._character_escape, plain.decode()).encode()
    assert fast._escaped(plain) == one_by_one == jsontext.write_exact(text, LAYOUT)


@given(st.binary(max_size=20))
def test_line_breaks_are_counted(data: bytes) -> None:
    assert jsontext.line_breaks(data) == jsontext.line_breaks(memoryview(data)) == data.count(b"\n")
