"""The one comparison: of JSON values and of files, exact, without allowances; for the command line and for tests.

Two values are equal when they have the same types, texts, numbers (`jsontext.same_number`: by value, at any size) and
members; a missing member is not a null. The order of an object's keys is no part of its value, but noted. Nothing
recurses, so that depth is no matter. What is shown of a value is short, and never a key or password.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from loomconv import jsontext
from loomconv.errors import LoomconvError
from loomconv.jsontext import NOTHING, Oddity
from loomconv.privacy.secrets import drop_secrets

__all__ = ["MISSING", "Comparison", "Difference", "Differences", "Grade", "compare_files", "compare_values"]

Grade = Literal["bytes", "values", "none"]

MISSING: Final = "missing"
_DEFAULT_CAP: Final = 1000
# How much of a text, and how many steps at each end of a pointer, are shown.
_SHOWN: Final = 60
_STEPS_SHOWN: Final = 32
# What a JSON value does not say of its text, though something would be lost with it.
_TELLING: Final = ("non-finite-number", "duplicate-key")
_BLANK: Final = re.compile(rb"\s*\Z")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ.

    `pointer` is a JSON pointer (beyond 64 steps the middle is left out, as `…`). `left` and `right` show the values,
    shortened, or say `missing`; a text is shown from a little before the first character that differs.
    """

    pointer: str
    left: str
    right: str

    def to_json(self) -> dict[str, str]:
        """The difference as a JSON object."""
        return {"pointer": self.pointer, "left": self.left, "right": self.right}


class Differences(list[Difference]):
    """The differences of two values in the order of the left one, at most so many as asked for.

    `total` counts all of them. `key_order_differs` tells that an object has its keys in another order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0
        self.key_order_differs = False


@dataclass(slots=True)
class Comparison:
    """How two files compare: the same bytes, else the same values, else none of it, with the differences.

    `total` counts the differences, of which only the first are kept. In files of JSON Lines the first step of a
    pointer is the number of the line's value, from 0.
    """

    grade: Grade
    differences: list[Difference] = field(default_factory=list)
    total: int = 0
    key_order_differs: bool = False

    @property
    def equal(self) -> bool:
        """Whether the values are equal, whatever the bytes."""
        return self.grade != "none"


def compare_values(left: Any, right: Any, *, cap: int | None = _DEFAULT_CAP) -> Differences:
    """Where two plain JSON values differ; empty when they are equal. At most `cap` differences are kept.

    Linear in the size of the values, at any depth.
    """
    return _Walk(cap).run(left, right)


class _Walk:
    """A walk over two values side by side: open containers as a stack of iterators, and the steps that lead there."""

    def __init__(self, cap: int | None) -> None:
        self.found = Differences()
        self._cap = cap
        self._frames: list[Iterator[tuple[str | int, Any, Any]]] = []
        self._steps: list[str | int] = []

    def run(self, left: Any, right: Any) -> Differences:
        self._look(None, left, right)
        while self._frames:
            for step, a, b in self._frames[-1]:
                if self._look(step, a, b):
                    break
            else:
                self._frames.pop()
                if self._steps:
                    self._steps.pop()
        return self.found

    def _look(self, step: str | int | None, left: Any, right: Any) -> bool:
        """Compare leaves at once; open two containers of the same kind and answer True."""
        pairs: Iterator[tuple[str | int, Any, Any]]
        if isinstance(left, dict) and isinstance(right, dict):
            pairs = self._members(left, right)
        elif isinstance(left, list) and isinstance(right, list):
            pairs = _items(left, right)
        else:
            if not _same_leaf(left, right):
                self._note(step, left, right)
            return False
        if step is not None:
            self._steps.append(step)
        self._frames.append(pairs)
        return True

    def _members(self, left: dict[str, Any], right: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        ours = list(left) if left.keys() == right.keys() else [key for key in left if key in right]
        if ours != [key for key in right if key in left]:
            self.found.key_order_differs = True
        for key, value in left.items():
            yield key, value, right.get(key, NOTHING)
        for key, value in right.items():
            if key not in left:
                yield key, NOTHING, value

    def _note(self, step: str | int | None, left: Any, right: Any) -> None:
        self.found.total += 1
        if self._cap is not None and len(self.found) >= self._cap:
            return
        steps = self._steps
        if len(steps) > 2 * _STEPS_SHOWN:
            steps = [*steps[:_STEPS_SHOWN], "…", *steps[-_STEPS_SHOWN:]]
        if step is not None:
            steps = [*steps, step]
        name = step if isinstance(step, str) else ""
        self.found.append(Difference(_pointer(steps), *_shown_pair(name, left, right)))


def _items(left: list[Any], right: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    for position in range(max(len(left), len(right))):
        a = left[position] if position < len(left) else NOTHING
        b = right[position] if position < len(right) else NOTHING
        yield position, a, b


def _same_leaf(left: Any, right: Any) -> bool:
    """Whether two values that are not both objects or both lists are the same."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if left is right:
        return True
    return jsontext.same_number(left, right)


def _pointer(steps: list[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


# -- showing values ------------------------------------------------------------------------------------------------


def _shown_pair(name: str, left: Any, right: Any) -> tuple[str, str]:
    start = 0
    if isinstance(left, str) and isinstance(right, str):
        start = _common_start(left, right)
    return _shown(name, left, start), _shown(name, right, start)


def _shown(name: str, value: Any, start: int) -> str:
    """A value for people: short, on one line, without secrets. `start` is where a text differs from the other one."""
    if value is NOTHING:
        return MISSING
    if isinstance(value, dict):
        return f"an object of {len(value)} members" if value else "{}"
    if isinstance(value, list):
        return f"a list of {len(value)} items" if value else "[]"
    if not isinstance(value, str):
        return _shortened(jsontext.encode(value).decode())
    if drop_secrets({name: value}, keep=True)[1]:
        return "a key or password (not shown)"
    begin = max(0, start - _SHOWN // 3)
    excerpt = value[begin : begin + _SHOWN]
    text = jsontext.encode(excerpt).decode("utf-8", "surrogateescape")
    if begin or len(excerpt) < len(value):
        before, behind = "…" if begin else "", "…" if begin + _SHOWN < len(value) else ""
        where = f", from character {begin + 1}" if begin else ""
        return f"{before}{text}{behind} ({len(value)} characters{where})"
    return text


def _shortened(token: str) -> str:
    return token if len(token) <= _SHOWN else f"{token[:_SHOWN]}… ({len(token)} digits)"


def _common_start(left: str, right: str) -> int:
    """How many characters two texts have in common at their start; by halves, so that long texts cost little."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# -- files ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Content:
    """What a file's text says: its value or, for JSON Lines, a list with the value of each line; and its oddities."""

    value: Any
    oddities: list[Oddity]
    truncated: bool = False


def compare_files(left: bytes, right: bytes, *, cap: int | None = _DEFAULT_CAP) -> Comparison:
    """Compare the contents of two files of JSON or JSON Lines; other files are equal only by their bytes.

    Beyond values, a number that is not finite, a key that is there twice, and a text that ends too early count as
    differences unless both sides have the same. Never raises.
    """
    if left == right:
        return Comparison("bytes")
    ours, theirs = _as_json(left), _as_json(right)
    if ours is None or theirs is None:
        ours, theirs = _as_lines(left), _as_lines(right)
    if ours is None or theirs is None:
        difference = Difference("", f"{len(left)} bytes", f"{len(right)} bytes, which are others")
        return Comparison("none", [difference], 1)
    found = compare_values(ours.value, theirs.value, cap=cap)
    _compare_oddities(ours, theirs, found, cap)
    return Comparison("none" if found.total else "values", found, found.total, found.key_order_differs)


def _as_json(data: bytes) -> _Content | None:
    try:
        loaded = jsontext.load(data, non_finite="null", salvage=True)
    except LoomconvError:
        return None
    return _Content(loaded.value, loaded.oddities, any(each.kind == "truncated" for each in loaded.oddities))


def _as_lines(data: bytes) -> _Content | None:
    """The values of a JSON Lines text; a line that is no JSON stands as its bytes. None when no line is JSON."""
    values: list[Any] = []
    oddities: list[Oddity] = []
    readable = False
    for line in data.split(b"\n"):
        if _BLANK.match(line):
            continue
        content = _as_json(line)
        if content is None or content.truncated:
            values.append({"unreadable line": line.decode("utf-8", "surrogateescape")})
            continue
        readable = True
        prefix = f"/{len(values)}"
        oddities += [
            Oddity(each.kind, each.message, each.place, prefix + each.pointer, each.value) for each in content.oddities
        ]
        values.append(content.value)
    return _Content(values, oddities) if readable else None


def _compare_oddities(left: _Content, right: _Content, found: Differences, cap: int | None) -> None:
    ours, theirs = _telling(left), _telling(right)
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        if ours[key] != theirs[key]:
            pointer, kind, value = key
            what = str(value) if kind == "non-finite-number" else "the key is there again"
            shown = [what if number else "not so" for number in (ours[key], theirs[key])]
            _add(found, Difference(pointer, shown[0], shown[1]), cap)
    if left.truncated != right.truncated:
        ends = ["ends too early" if each.truncated else "complete" for each in (left, right)]
        _add(found, Difference("", ends[0], ends[1]), cap)


def _telling(content: _Content) -> Counter[tuple[str, str, str | None]]:
    return Counter((each.pointer, each.kind, each.value) for each in content.oddities if each.kind in _TELLING)


def _add(found: Differences, difference: Difference, cap: int | None) -> None:
    found.total += 1
    if cap is None or len(found) < cap:
        found.append(difference)
