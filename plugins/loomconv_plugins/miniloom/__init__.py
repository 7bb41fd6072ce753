"""MiniLoom and the loom of MiniHF."""

from __future__ import annotations

from collections.abc import Callable

from loomconv.format import Format, hookimpl
from loomconv_plugins.miniloom.plugin import MiniLoom

__all__ = ["loomconv_register_formats"]


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """The format of this folder."""
    register(MiniLoom())
