"""What goes to the terminal: messages to stderr, data to stdout, nothing in them that could steer a terminal."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import Any, TextIO

import click

__all__ = ["columns", "cut", "hush", "neutralised", "paint", "print_data", "print_json", "print_message", "tolerate"]

# Control characters, marks that turn the direction of writing, line separators, and halves of characters.
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
# The reader went away; the terminal did.
_NOBODY = (errno.EPIPE, errno.EIO)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def neutralised(text: str) -> str:
    """Text of a file, fit for a line of a terminal: what could steer the terminal stands there as an escape."""
    return _STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def cut(text: str, width: int) -> str:
    """The text, cut to `width` characters where it is longer."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def paint(text: str, stream: TextIO | None, **style: Any) -> str:
    """The text in colour when the stream is a terminal and NO_COLOR is not set; a closed stream is None."""
    if os.environ.get("NO_COLOR") or stream is None or not stream.isatty():
        return text
    return click.style(text, **style)


def print_message(text: str = "") -> None:
    """A line for people, to stderr; that nobody reads it any more is no reason to stop."""
    try:
        click.echo(text, err=True)
    except OSError as error:
        if error.errno not in _NOBODY:
            raise
        hush(sys.stderr)


def print_data(text: str = "") -> None:
    """A line of what was asked for, to stdout."""
    click.echo(text)


def print_json(value: Any) -> None:
    """A JSON value to stdout, indented; UTF-8 whatever the locale."""
    from loomconv import jsontext

    # Bytes go past the stream's encoding.
    click.echo(jsontext.dump(value, jsontext.TWO_SPACES))


def columns(rows: Iterable[Sequence[str]], gap: str = "  ") -> list[str]:
    """The rows as lines, each column as wide as its widest cell."""
    rows = list(rows)
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def tolerate() -> None:
    """Let characters that a stream's encoding does not have come out as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def hush(stream: TextIO | None = None) -> None:
    """Let what is still buffered for a reader who went away go nowhere, instead of failing again at exit.

    The reader is that of stdout unless another stream is given.
    """
    try:
        descriptor = (stream or sys.stdout).fileno()
    except (OSError, ValueError):
        return  # not a stream of the system: nothing is flushed at exit
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
