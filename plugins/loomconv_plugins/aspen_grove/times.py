"""Times as the app prints them."""

from __future__ import annotations

from typing import Any

from loomconv.model.times import format_ms, to_ms

__all__ = ["iso", "milliseconds_of", "pivot_time"]


def milliseconds_of(value: Any) -> int | None:
    """A time as milliseconds since 1970, from an ISO text or a number; None for anything else."""
    if isinstance(value, str):
        return to_ms(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 8.64e15 or value != value // 1:
        return None
    return int(value)


def iso(value: Any) -> Any:
    """A time with exactly three decimals, as JavaScript prints it; anything that is no time stays as it is."""
    milliseconds = milliseconds_of(value)
    text = None if milliseconds is None else format_ms(milliseconds)
    if text is None:
        return value
    return text if len(text) == 24 else f"{text[:-1]}.000Z"


def pivot_time(value: Any) -> str | None:
    """A time as the pivot has it; None for what is no time."""
    milliseconds = milliseconds_of(value)
    return None if milliseconds is None else format_ms(milliseconds)
