"""Exit statuses (design §11; scripts rely on them)."""

from __future__ import annotations

from typing import Final

from loomconv.errors import ConversionRefused, LoomconvError, UsageFault

__all__ = ["DONE", "FAILED", "INTERRUPTED", "PARTLY", "READING_TABLE", "REFUSED", "TABLE", "USAGE", "status_of"]

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
PARTLY: Final = 4
# What shells say of a program that was stopped with Ctrl-C.
INTERRUPTED: Final = 130

# For the help texts of commands that write nothing; `\b` keeps click from re-wrapping it.
READING_TABLE: Final = """\b
Exit status:
  0  done
  1  the input cannot be read, or validation or comparison failed
  2  wrong usage
"""
# For all others.
TABLE: Final = f"""{READING_TABLE}\
  3  --strict, and something would be lost (nothing is written)
  4  partly done (the input ends too early; what stands before was saved)
"""


def status_of(error: LoomconvError) -> int:
    """The exit status for an error of the hub."""
    if isinstance(error, UsageFault):
        return USAGE
    return REFUSED if isinstance(error, ConversionRefused) else FAILED
