"""The ladder: msgspec where it keeps everything, the exact reader and writer where it refuses or would change it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from loomconv.jsontext.collector import collector_paused
from loomconv.jsontext.exact_writer import float_text, write_exact
from loomconv.jsontext.layout import COMPACT, Layout
from loomconv.jsontext.places import BOM, Bytes, Oddity
from loomconv.jsontext.strings import strings_in_text, strings_in_value
from loomconv.jsontext.values import ExactFloat, float_from_token

if TYPE_CHECKING:
    from loomconv.jsontext.exact_reader import NonFinite

__all__ = ["Loaded", "decode", "dump", "encode", "encode_plain", "keys_accounted", "load"]

_DECODER: Final = msgspec.json.Decoder(float_hook=float_from_token)
_REFUSALS: Final = (msgspec.DecodeError, RecursionError)
# msgspec reads the number -0 as the integer 0. Text in a string may look like it; that costs time only.
_MINUS_ZERO: Final = re.compile(rb"-0(?=[\s,\]}]|\Z)")
_BEYOND_ASCII: Final = re.compile("[^\x00-\x7e]")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A JSON value, the rung of the ladder that read it, and why it was not the fast one ("" if it was)."""

    value: Any
    rung: Literal["fast", "exact"]
    reason: str = ""
    oddities: list[Oddity] = field(default_factory=list)


def decode(data: Bytes) -> Any:
    """The value of one JSON text, such as the block of a node: plain values, every number with its spelling.

    Of a key that occurs twice the last value is given, without a word; `keys_accounted` tells. Raises as `parse_exact`
    does, with places relative to `data`. Cost: that of msgspec and one search, some 2 µs for a node of 600 bytes.
    """
    try:
        value = _DECODER.decode(data)
    except _REFUSALS:
        return _decode_exactly(data)
    if _MINUS_ZERO.search(data) is not None:
        return _decode_exactly(data)
    return value


def _decode_exactly(data: Bytes) -> Any:
    from loomconv.jsontext.exact_reader import parse_exact  # most conversions do without

    return parse_exact(data).value


def load(
    data: Bytes, *, non_finite: NonFinite = "error", salvage: bool = False, max_depth: int | None = None
) -> Loaded:
    """The value of a whole JSON text, with everything that was odd about it; arguments and errors as of `parse_exact`.

    The fast rung is taken only if it refuses nothing and changes nothing: no key twice, every number with its spelling.
    How deep it goes (about 1000 levels) depends on the Python version and the call stack, so the rung taken does, too.
    """
    with collector_paused(len(data)):
        value, reason = _load_fast(data, max_depth)
    if reason:
        from loomconv.jsontext.exact_reader import parse_exact

        parsed = parse_exact(data, non_finite=non_finite, salvage=salvage, max_depth=max_depth)
        return Loaded(parsed.value, "exact", reason, parsed.oddities)
    return Loaded(value, "fast")


def _load_fast(data: Bytes, max_depth: int | None) -> tuple[Any, str]:
    """The value and "", or anything and the reason why it has to be read exactly."""
    if data[: len(BOM)] == BOM:
        return None, "it starts with a byte order mark"
    try:
        value = _DECODER.decode(data)
    except RecursionError:
        return None, "it nests too deep for the fast reader"
    except msgspec.DecodeError:
        return None, "the fast reader refuses it"
    if _MINUS_ZERO.search(data) is not None:
        return None, "it may hold the number -0"
    if not keys_accounted(data, value):
        return None, "an object has the same key more than once"
    if max_depth is not None and _deeper_than(value, max_depth):
        return None, "it nests too deep"
    return value, ""


def keys_accounted(raw: Bytes, value: Any) -> bool:
    """Whether no object in a JSON text has the same key twice, given what a reader made of that very text.

    Exact in both directions for a valid text and the value read from it. In valid JSON a quote that is not escaped
    starts or ends a string, and strings are keys or values. So the text has (quotes - escaped quotes) / 2 strings, and
    each key that was overwritten takes at least itself from the strings in the value. White space around colons,
    escapes in keys and JSON within strings do not matter.

    Cost: one count of a byte and one walk over the value, about half of decoding; more if the text has escaped quotes.
    """
    strings = strings_in_value(value)
    if isinstance(raw, bytes):
        more = raw.count(b'"') - 2 * strings
        if more == 0:
            return True  # and no quote is escaped, since the value cannot have more strings than the text
        if b"\\\\" not in raw:
            return raw.count(b'\\"') == more
    return strings_in_text(raw) == strings


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value] if type(value) is dict or type(value) is list else []
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            return True
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
    return False


def _spelling(value: Any) -> Any:
    if type(value) is ExactFloat:
        return msgspec.Raw(value.token.encode())
    raise NotImplementedError


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_spelling)
# UnicodeEncodeError (lone surrogate) and the limit of digits are ValueErrors.
_ENCODING_REFUSALS: Final = (ValueError, RecursionError, NotImplementedError, TypeError)
_LEAVES: Final = frozenset({str, int, bool, type(None), ExactFloat, msgspec.Raw})


def encode(value: Any) -> bytes:
    """A JSON value as compact text, such as the block of a node; the same bytes as `write_exact(value)`.

    Raises `UsageFault` for NaN and infinite floats, for what is not JSON, and for a value that contains itself. That
    keys are strings is not checked here: msgspec turns numbers into strings.
    Cost: msgspec and one walk over the value (msgspec writes NaN as null and spells 1e+22 as 1e22), some 2 µs for a
    node of 600 bytes.
    """
    text = _encode_fast(value)
    return write_exact(value) if text is None else text


def encode_plain(value: Any) -> bytes:
    """Like `encode`, for a value that consists of what JSON readers give: plain types, and no NaN unless by accident.

    What msgspec turns into `null` is still noticed. The walk over the value is spared, some 1.5 µs for a node.
    """
    try:
        text: bytes = _ENCODER.encode(value)
    except _ENCODING_REFUSALS:
        return write_exact(value)
    return encode(value) if b"null" in text else text


def _encode_fast(value: Any) -> bytes | None:
    """The compact text, or None if the exact writer has to decide."""
    try:
        text: bytes = _ENCODER.encode(value)
    except _ENCODING_REFUSALS:
        return None
    # Only now, since msgspec has found that the value does not contain itself.
    return text if _spelled_alike(value) else None


def _spelled_alike(value: Any) -> bool:
    """Whether msgspec spells each number as the exact writer does, and the value is made of plain JSON types."""
    todo = [value]
    for item in todo:
        kind = type(item)
        if kind is str:
            continue
        if kind is dict:
            todo.extend(item.values())
        elif kind is list:
            todo.extend(item)
        elif kind is float:
            # Within these bounds neither uses an exponent.
            if not 1e-4 <= abs(item) < 1e16 and item != 0.0:
                float_text(item)
                return False
        elif kind not in _LEAVES:
            return False
    return True


def dump(value: Any, layout: Layout = COMPACT) -> bytes:
    """A JSON value as a whole text in the given layout; the same bytes as `write_exact`, and raises as it does.

    Cost: some 200 MB/s for layouts that msgspec can format, a quarter of that if many characters have to be escaped;
    for others that of `write_exact`.
    """
    indent = _formatter_indent(layout)
    text = None if indent is None else _encode_fast(value)
    if text is None or indent is None:
        return write_exact(value, layout)
    if indent >= 0:
        try:
            text = msgspec.json.format(text, indent=indent)
        except RecursionError:
            return write_exact(value, layout)
    # What is replaced here can stand in strings only, except for line breaks, which cannot stand there.
    if layout.escape == "ascii":
        text = _escaped(text)
    if layout.escape_slash:
        text = text.replace(b"/", b"\\/")
    if layout.newline != "\n":
        text = text.replace(b"\n", layout.newline.encode())
    return b"".join((layout.before, text, layout.after))


def _formatter_indent(layout: Layout) -> int | None:
    """The `indent` with which `msgspec.json.format` gives this layout (-1 none needed), or None."""
    separators = (layout.item_separator, layout.key_separator)
    if layout.indent is None:
        return {(",", ":"): -1, (", ", ": "): 0}.get(separators)
    if separators != (",", ": ") or layout.empty != "closed" or not isinstance(layout.indent, int):
        return None
    return layout.indent or None


def _escaped(text: bytes) -> bytes:
    if b"\x7f" not in text:
        if text.isascii():
            return text
        # Python has the same escapes but for characters before U+0100 and beyond U+FFFF.
        escaped = text.decode().encode("ascii", "backslashreplace")
        if b"\\x" not in escaped and b"\\U" not in escaped:
            return escaped
    return _BEYOND_ASCII.sub(_character_escape, text.decode()).encode()


def _character_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"
