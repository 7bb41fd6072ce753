"""Taking nested nodes apart, and pointers that cost nothing until somebody reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

__all__ = ["Steps", "join_pointer", "walk_nested"]

# A pointer with more steps than this is shortened in the middle, so that deep faults stay small.
_MOST_STEPS = 2000


class Steps:
    """A JSON pointer that is put together only when somebody reads it: `str(steps)`.

    Adding a step (`steps / token`) costs the same at any depth. A pointer of more than 2,000 steps is shortened in the
    middle (`…`).
    """

    __slots__ = ("above", "token")

    def __init__(self, token: str | int | None = None, above: Steps | str = "") -> None:
        self.token = token
        self.above = above

    def __truediv__(self, token: str | int) -> Steps:
        return Steps(token, self)

    def __str__(self) -> str:
        tokens: list[str] = []
        at: Steps | str = self
        while isinstance(at, Steps):
            if at.token is not None:
                tokens.append(_escape(at.token))
            at = at.above
        tokens.reverse()
        if len(tokens) > _MOST_STEPS:
            half = _MOST_STEPS // 2
            tokens = [*tokens[:half], "…", *tokens[-half:]]
        return "/".join([at, *tokens])


def _escape(token: str | int) -> str:
    return str(token).replace("~", "~0").replace("/", "~1")


def join_pointer(base: str, path: Iterable[str | int]) -> str:
    """The JSON pointer `base`, prolonged by some steps."""
    return "/".join([base, *map(_escape, path)])


def walk_nested(
    node: Any, pointer: str = "", *, lists: Sequence[str] = ("children",), singles: Sequence[str] = ()
) -> Iterator[tuple[Steps, Any]]:
    """Take nested nodes apart: every node with its pointer, parents first, in document order; never recurses.

    A node is given as a shallow copy in which the lists under the keys `lists` are empty and the keys `singles` are
    left out, since what stood there comes as pieces of its own. What stands there and is no object is given as it is.
    """
    stack: list[tuple[Steps, Any]] = [(Steps(None, pointer), node)]
    while stack:
        at, piece = stack.pop()
        if not isinstance(piece, dict):
            yield at, piece
            continue
        below: list[tuple[Steps, Any]] = []
        flat = dict(piece)
        for key in piece:
            held = piece[key]
            if key in lists and isinstance(held, list):
                here = at / key
                below.extend((here / number, each) for number, each in enumerate(held))
                flat[key] = []
            elif key in singles:
                below.append((at / key, held))
                del flat[key]
        yield at, flat
        stack.extend(reversed(below))
