"""The failure that ended a conversion, as the last finding of its report."""

from __future__ import annotations

from loomconv.errors import (
    AmbiguousFormat,
    ConversionRefused,
    InvalidDocument,
    LimitExceeded,
    LoomconvError,
    PluginFault,
    TruncatedInput,
    UnknownFormat,
    UnreadableFile,
    UnsafeArchive,
    UsageFault,
)
from loomconv.report.findings import Report

__all__ = ["add_failure"]

# Subclasses before their bases.
_CODES: tuple[tuple[type[Exception], str], ...] = (
    (UnknownFormat, "detect.unknown-format"),
    (AmbiguousFormat, "detect.ambiguous"),
    (TruncatedInput, "read.truncated"),
    (LimitExceeded, "read.limit"),
    (UnsafeArchive, "read.unsafe-archive"),
    (UnreadableFile, "read.unreadable"),
    (InvalidDocument, "read.invalid"),
    (ConversionRefused, "convert.refused"),
    (UsageFault, "convert.impossible"),
    (PluginFault, "convert.plugin-fault"),
)


def add_failure(report: Report, error: Exception) -> None:
    """Add a finding of severity error for what was raised, with its place, and note that nothing was written.

    Text that cannot be parsed (an `UnreadableFile` with a place) is `read.syntax`; what is no `LoomconvError` is
    `convert.fault`, without the exception's own words, which may quote the file.
    """
    report.target = None
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "convert.fault")
    if not isinstance(error, LoomconvError):
        report.add(code, f"A fault of loomconv or of a plugin ({type(error).__name__}); nothing was written.")
        return
    if code == "read.unreadable" and error.place is not None:
        code = "read.syntax"
    message = f"{error.message}. {error.next_step}" if error.next_step else error.message
    pointer = error.pointer if (error.pointer or "").startswith("/") else None
    report.add(code, message, severity="error", pointer=pointer, place=error.place)
