"""Errors of the hub: one base class, one subclass for each thing that the user can do next.

The library never prints and never exits. Every error carries what a message needs: the file, the place in it, and a
next step. No error ever quotes the content of a file, since that content can hold secrets.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AmbiguousFormat",
    "ConversionRefused",
    "DiskFull",
    "InTheWay",
    "InvalidDocument",
    "LimitExceeded",
    "LoomconvError",
    "Place",
    "PluginFault",
    "TruncatedInput",
    "UnknownFormat",
    "UnreadableFile",
    "UnsafeArchive",
    "UsageFault",
]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text file: 1-based line and column (in characters), 0-based byte offset."""

    line: int
    column: int
    byte: int

    def __str__(self) -> str:
        return f"line {self.line} column {self.column} (byte {self.byte})"


class LoomconvError(Exception):
    """What went wrong, where, and what to do next.

    `message` is a sentence without the file name; `next_step` is an imperative sentence, or empty.
    `source` is the file as the user named it, `pointer` a JSON pointer into it.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        place: Place | None = None,
        pointer: str | None = None,
        next_step: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.place = place
        self.pointer = pointer
        self.next_step = next_step

    def __str__(self) -> str:
        parts = [f"{self.source}: {self.message}" if self.source else self.message]
        if self.place is not None:
            parts.append(f"at {self.place}")
        if self.pointer:
            parts.append(f"at {self.pointer}")
        text = " ".join(parts)
        return f"{text}. {self.next_step}" if self.next_step else text


class UnreadableFile(LoomconvError):
    """The bytes cannot be read as what they claim to be (no such file, broken JSON, broken archive)."""


class TruncatedInput(UnreadableFile):
    """The text ends in the middle of a value; what stands before the cut can be salvaged."""


class LimitExceeded(UnreadableFile):
    """A size, depth, count or ratio is above the limit in force; the message names the option that raises it."""


class UnsafeArchive(UnreadableFile):
    """An archive as a whole cannot be trusted (several trees to choose from, encryption, a lying directory)."""


class UnknownFormat(LoomconvError):
    """No installed format recognises the content."""


class AmbiguousFormat(LoomconvError):
    """Two formats recognise the content equally well."""


class InvalidDocument(LoomconvError):
    """The text is well-formed, but not a document of the format (wrong major version, no trees, …)."""


class ConversionRefused(LoomconvError):
    """`strict` was asked for and something would be lost; nothing was written."""


class PluginFault(LoomconvError):
    """A plugin broke its contract; the message names the plugin."""


class UsageFault(LoomconvError):
    """The call itself cannot be carried out: a wrong combination of options, or a target that is not possible."""


class InTheWay(UsageFault):
    """Where the output belongs stands a file that must not be replaced; nothing was written."""


class DiskFull(UsageFault):
    """The target takes nothing any more: it is full or read-only. Whatever else is to be written would fail, too."""
