"""The exact reader: JSON texts of any depth, with all their oddities noticed.

Iterative; one pattern match per member or item in the ordinary case. What the patterns do not cover (escaped keys,
non-finite numbers, malformed text) is read token by token, with `closer_look`.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from loomconv.errors import LimitExceeded, Place, TruncatedInput, UnreadableFile
from loomconv.jsontext.closer_look import Fault, next_token, read_number, read_string, read_word
from loomconv.jsontext.collector import collector_paused
from loomconv.jsontext.grammar import AFTER, ELEMENT, LITERALS, MEMBER
from loomconv.jsontext.places import BOM, Bytes, Oddity, OddityKind, PlaceFinder, pointer_of
from loomconv.jsontext.values import NOTHING, float_from_token, int_from_token

__all__ = ["NonFinite", "Parsed", "Reader", "decoded", "parse_exact"]

NonFinite: TypeAlias = Literal["null", "error"]

_DEEP: Final = 1000
_MEMO_LIMIT: Final = 8192
_LISTED: Final = 10_000
_BAD_RUNS_LISTED: Final = 100
_BAD_RUN = re.compile("[\udc80-\udcff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Any escape; group 1 only if it is half a character.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_UTF16_STARTS: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON value and what was odd about its text, in the order of the text."""

    value: Any
    oddities: list[Oddity] = field(default_factory=list)


def parse_exact(
    data: Bytes, *, non_finite: NonFinite = "error", max_depth: int | None = None, salvage: bool = False
) -> Parsed:
    """Read one JSON text by RFC 8259, keeping what other readers refuse or change in silence.

    Objects become `dict` in the order of the text; numbers `int`, `float`, or `ExactFloat` where the spelling would not
    survive otherwise. Accepted and reported as oddities: a UTF-8 BOM; a key that occurs twice (the last value wins, in
    the first position); escapes of half a character, kept as lone surrogates; bytes in strings that are not UTF-8, kept
    as U+DC80 … U+DCFF; and, if `non_finite` is "null", `NaN`, `Infinity` and `-Infinity`, read as None.

    Raises `UnreadableFile` with the place for anything else that is not JSON (for a comma before a closing bracket that
    of the comma), `TruncatedInput` if the text ends early, `LimitExceeded` beyond `max_depth` levels. With `salvage`, a
    text that ends early gives what it holds: an incomplete last token and a key without a value are left out (as is a
    number at the very end, which may have lost digits), open containers are closed, and the oddity "truncated" says
    where. Without any container there is nothing to salvage, and it raises all the same.

    Cost: linear in the bytes at any depth, some five to ten times that of msgspec; the decoded text is held meanwhile.
    """
    reader = Reader(decoded(data), non_finite=non_finite, max_depth=max_depth)
    text = reader.text
    with collector_paused(len(text)):
        try:
            reader.run()
        except Fault as fault:
            if not (salvage and fault.at_end and reader.root is not NOTHING):
                raise _error(fault, reader.finder, data) from None
            reader.note("truncated", "the text ends in the middle of a value", len(text), reader.pointer())
    # Stable, since what is noted at one place has its order.
    return Parsed(reader.root, sorted(reader.oddities, key=lambda oddity: oddity.place.byte))


class Decoded(NamedTuple):
    """A text without its BOM, the length of the BOM in bytes, and whether the rest is UTF-8 throughout."""

    text: str
    first_byte: int
    is_utf8: bool


def decoded(data: Bytes, *, complete: bool = True) -> Decoded:
    """Decode the bytes of a text. Bytes that are not UTF-8 become U+DC80 … U+DCFF.

    A character that is cut at the end is left out if the data is not `complete`.
    """
    with memoryview(data) as whole:
        first_byte = len(BOM) if bytes(whole[: len(BOM)]) == BOM else 0
        with whole[first_byte:] as rest:
            try:
                return Decoded(codecs.utf_8_decode(rest, "strict", complete)[0], first_byte, True)
            except UnicodeDecodeError:
                return Decoded(codecs.utf_8_decode(rest, "surrogateescape", complete)[0], first_byte, False)


def _error(fault: Fault, finder: PlaceFinder, data: Bytes) -> UnreadableFile:
    place = finder.place(fault.position)
    if fault.over_limit:
        step = "Raise it with `--limit nesting=…` if you trust the file."
        return LimitExceeded(fault.message, place=place, next_step=step)
    if bytes(data[:2]) in _UTF16_STARTS:
        return UnreadableFile("the text is UTF-16 instead of UTF-8", place=place, next_step="Save it as UTF-8")
    if fault.at_end:
        step = "Get the complete file, or salvage what stands before the cut"
        return TruncatedInput(fault.message, place=place, next_step=step)
    return UnreadableFile(fault.message, place=place, next_step="Correct the file there, or export it again")


class Reader:
    """One pass over one text. Containers are put into place when they open, so `root` always holds what was read.

    `containers` are those open, outermost first; `keys[i]` is the key of `containers[i]` in the one before, None in an
    array. `pending_key` is the key whose value is being looked at closely.
    """

    def __init__(self, source: Decoded, *, non_finite: NonFinite, max_depth: int | None) -> None:
        self.text = text = source.text
        self.finder = PlaceFinder(text, source.first_byte)
        self.oddities: list[Oddity] = []
        self.root: Any = NOTHING
        self.containers: list[Any] = []
        self.keys: list[str | None] = []
        self.pending_key: str | None = None
        self._non_finite = non_finite
        self._max_depth = sys.maxsize if max_depth is None else max_depth
        self._depth_watched = min(self._max_depth, _DEEP)
        self._memo: dict[str, str] = {}
        self._noted: Counter[OddityKind] = Counter()
        # Without any of these no string can hold a surrogate, and none is searched for one.
        self._surrogates = not source.is_utf8 or "\\ud" in text or "\\uD" in text
        if source.first_byte:
            self.oddities.append(Oddity("bom", "the file starts with a byte order mark", Place(1, 1, 0), ""))

    def run(self) -> None:
        """Read the whole text. Raises `Fault` where it cannot go on; a Reader runs once."""
        containers = self.containers
        self.root, position = self._value(next_token(self.text, 0), None)
        if type(self.root) is dict or type(self.root) is list:
            self._enter(self.root, None, position)
        while containers:
            node = containers[-1]
            read = self._read_members if type(node) is dict else self._read_items
            position = read(node, position)
        try:
            position = next_token(self.text, position)
        except Fault:
            return
        raise Fault("more text follows the end of the JSON value", position)

    def pointer(self, last: str | int | None = None) -> str:
        """The JSON pointer of the innermost open container, or of its member or item `last`."""
        return pointer_of(self.containers, self.keys, last)

    def with_partial(self, value: str) -> Any:
        """The root with `value` put where the reader stopped, for a value string that the end of the text cuts."""
        if not self.containers:
            return value
        if isinstance(self.containers[-1], dict):
            self.containers[-1][self.pending_key] = value
        else:
            self.containers[-1].append(value)
        return self.root

    def note(self, kind: OddityKind, message: str, position: int, pointer: str, value: str | None = None) -> None:
        """Add an oddity, unless there are too many of its kind."""
        limit = _BAD_RUNS_LISTED if kind == "bad-encoding" else _LISTED
        self._noted[kind] = count = self._noted[kind] + 1
        if count <= limit:
            message = f"{message}; further such places are not listed" if count == limit else message
            self.oddities.append(Oddity(kind, message, self.finder.place(position), pointer, value))

    def _read_members(self, node: dict[str, Any], position: int) -> int:
        """Read members of the innermost container until one has been closed or opened; the position to go on from."""
        text, match, share = self.text, MEMBER.match, self._memo.setdefault
        value: Any
        while (found := match(text, position)) is not None:
            key = found[1]
            key = share(key, key)
            kind = found.lastindex
            end = found.end()
            if kind == 2:
                value = found[2]
            elif kind == 8:
                try:
                    value, after = scanstring(text, end)
                except JSONDecodeError:
                    break
                if self._surrogates:
                    self._check_string(value, end, after, key)
            elif kind == 4:
                value = {} if found[4] == "{" else []
            elif kind == 5:
                value = int_from_token(found[5])
            elif kind == 6:
                value = LITERALS[found[6]]
            elif kind == 7:
                value = float_from_token(found[7])
            else:
                value = {} if found[3][0] == "{" else []
            if key in node:
                self._note_duplicate(key, found.start(1) - 1)
            node[key] = value
            if kind == 8:
                end = self._separator(after, "}")
            elif kind == 4:
                return self._enter(value, key, end)
            if text[end - 1] == "}":
                return self._leave(end)
            position = end
        return self._odd_member(node, position)

    def _read_items(self, node: list[Any], position: int) -> int:
        """As `_read_members`, for an array."""
        text, match, append = self.text, ELEMENT.match, node.append
        while (found := match(text, position)) is not None:
            kind = found.lastindex
            end = found.end()
            if kind == 1:
                append(found[1])
            elif kind == 7:
                try:
                    value, after = scanstring(text, end)
                except JSONDecodeError:
                    break
                if self._surrogates:
                    self._check_string(value, end, after, len(node))
                append(value)
                end = self._separator(after, "]")
            elif kind == 3:
                child: Any = {} if found[3] == "{" else []
                append(child)
                return self._enter(child, None, end)
            elif kind == 4:
                append(int_from_token(found[4]))
            elif kind == 5:
                append(LITERALS[found[5]])
            elif kind == 6:
                append(float_from_token(found[6]))
            else:
                append({} if found[2][0] == "{" else [])
            if text[end - 1] == "]":
                return self._leave(end)
            position = end
        return self._odd_item(node, position)

    def _odd_member(self, node: dict[str, Any], position: int) -> int:
        """Read one member that the pattern does not match, or the end of the object, or say what is wrong."""
        text = self.text
        start = self._start(position)
        if text[start] == "}":
            return self._leave(start + 1)
        if text[start] != '"':
            raise Fault("a key in double quotes should stand here", start)
        try:
            key, end = read_string(text, start + 1)
        except Fault as fault:
            fault.partial = None  # only values are kept in part
            raise
        if self._surrogates:
            self._check_string(key, start + 1, end, key)
        colon = next_token(text, end)
        if text[colon] != ":":
            raise Fault("a colon should stand here", colon)
        self.pending_key = key
        value, end = self._value(next_token(text, colon + 1), key)
        if key in node:
            self._note_duplicate(key, start)
        node[key] = value
        return self._go_on(value, key, end, "}")

    def _odd_item(self, node: list[Any], position: int) -> int:
        """As `_odd_member`, for an array."""
        start = self._start(position)
        if self.text[start] == "]":
            return self._leave(start + 1)
        value, end = self._value(start, len(node))
        node.append(value)
        return self._go_on(value, None, end, "]")

    def _start(self, position: int) -> int:
        """The start of the next token, which is no closing bracket if a comma stands before it."""
        start = next_token(self.text, position)
        if self.text[start] in "]}" and self.text[position - 1] == ",":
            raise Fault("a comma stands before a closing bracket", position - 1)
        return start

    def _value(self, position: int, last: str | int | None) -> tuple[Any, int]:
        """The value at `position` and the position behind it, or behind its opening bracket."""
        text = self.text
        first = text[position]
        if first == '"':
            string, end = read_string(text, position + 1)
            if self._surrogates:
                self._check_string(string, position + 1, end, last)
            return string, end
        if first == "{":
            return {}, position + 1
        if first == "[":
            return [], position + 1
        if first in "]}":
            raise Fault("a closing bracket does not match the opening one", position)
        if first in "-0123456789" and not text.startswith("-I", position):
            return read_number(text, position, nested=bool(self.containers))
        word, end = read_word(text, position)
        if word in LITERALS:
            return LITERALS[word], end
        if self._non_finite == "error":
            raise Fault("NaN and Infinity are not JSON", position)
        self.note(
            "non-finite-number", "a number is not finite and was read as null", position, self.pointer(last), word
        )
        return None, end

    def _go_on(self, value: Any, key: str | None, end: int, closing: str) -> int:
        if type(value) is dict or type(value) is list:
            return self._enter(value, key, end)
        end = self._separator(end, closing)
        return self._leave(end) if self.text[end - 1] == closing else end

    def _separator(self, position: int, closing: str) -> int:
        """The position behind the next comma or `closing` bracket, the only ones that may come next."""
        found = AFTER.match(self.text, position)
        if found is not None and (found[1] == "," or found[1] == closing):
            return found.end()
        start = next_token(self.text, position)
        if self.text[start] in "]}":
            raise Fault("a closing bracket does not match the opening one", start)
        raise Fault("a comma or a closing bracket should stand here", start)

    def _enter(self, child: Any, key: str | None, position: int) -> int:
        """Make `child`, which has been put into its container, the innermost one; the position to go on from."""
        self.containers.append(child)
        self.keys.append(key)
        if len(self.containers) > self._depth_watched:
            self._note_depth(position - 1)
        if len(self._memo) > _MEMO_LIMIT:
            self._memo.clear()
        return position

    def _leave(self, position: int) -> int:
        """Close the innermost container, and those whose brackets follow at once; the position to go on from."""
        text, containers, keys = self.text, self.containers, self.keys
        while True:
            containers.pop()
            keys.pop()
            if not containers:
                return position
            closing = "}" if type(containers[-1]) is dict else "]"
            found = AFTER.match(text, position)
            if found is None or found[1] != closing:
                return self._separator(position, closing)
            position = found.end()

    def _note_depth(self, position: int) -> None:
        if len(self.containers) > self._max_depth:
            raise Fault(f"the text nests deeper than {self._max_depth} levels", position, over_limit=True)
        message = f"the text nests deeper than {_DEEP} levels, which many JSON readers refuse"
        self.note("deep", message, position, self.pointer())
        self._depth_watched = self._max_depth

    def _note_duplicate(self, key: str, position: int) -> None:
        message = "an object has the same key more than once; the last value was read"
        self.note("duplicate-key", message, position, self.pointer(key), key)

    def _check_string(self, value: str, start: int, end: int, last: str | int | None) -> None:
        """Note the surrogates in a string that stands at `start` to `end` in the text (behind its opening quote)."""
        try:
            value.encode()  # much faster than a search
        except UnicodeEncodeError:
            self._note_surrogates(value, start, end, self.pointer(last))

    def _note_surrogates(self, value: str, start: int, end: int, pointer: str) -> None:
        raw = 0
        for run in _BAD_RUN.finditer(self.text, start, end):
            raw += len(run[0])
            self.note("bad-encoding", "bytes in a string are not UTF-8", run.start(), pointer)
        if len(_SURROGATE.findall(value)) > raw:
            first = next(escape.start() for escape in _ESCAPE.finditer(self.text, start, end) if escape[1])
            self.note("lone-surrogate", "a string holds an escape that is only half a character", first, pointer)
