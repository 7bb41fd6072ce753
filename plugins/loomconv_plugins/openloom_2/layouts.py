"""How files are laid out: one node a line by itself, or as any JSON layout says."""

from __future__ import annotations

from dataclasses import replace

from loomconv.jsontext import COMPACT, TWO_SPACES, Layout

__all__ = ["LAYOUTS", "LINES"]

# One node or edge a line, no indentation: small, quick, and fit for line-based tools. The writer knows it by this
# value, which is also what such a file is recognised as.
LINES = Layout(indent=0, key_separator=":", final_newline=True)

LAYOUTS = {"lines": LINES, "compact": COMPACT, "indented": replace(TWO_SPACES, final_newline=True)}
