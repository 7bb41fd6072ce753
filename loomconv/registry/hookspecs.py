"""The hooks of the project `loomconv` (pluggy). Hooks are called per file, never per node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from loomconv.format import Format
    from loomconv.model.document import Document
    from loomconv.provenance import HashScheme
    from loomconv.report import Finding, Report

hookspec = pluggy.HookspecMarker("loomconv")


@hookspec
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """Call `register` with each format that the plugin brings."""


@hookspec
def loomconv_register_hash_schemes(register: Callable[[HashScheme], None]) -> None:
    """Call `register` with each way to compute content hashes that the plugin knows."""


@hookspec
def loomconv_transform(document: Document, report: Report) -> bool | None:
    """Change the document after reading and repair; return True when something was changed."""


@hookspec
def loomconv_finding(finding: Finding) -> None:
    """Called for every finding that is kept."""


@hookspec
def loomconv_register_commands(cli: click.Group) -> None:
    """Add commands to the command line."""
