"""The command line: one module per command, loaded when it is called."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with `arguments` (default: those of the process), and leave the process with its status."""
    from loomconv.cli.program import program

    program.main(arguments)
