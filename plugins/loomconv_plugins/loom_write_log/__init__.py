"""The write-boundary log."""

from __future__ import annotations

from collections.abc import Callable

from loomconv.format import Format, hookimpl
from loomconv_plugins.loom_write_log.plugin import LoomWriteLog

__all__ = ["loomconv_register_formats"]


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """The format of this folder."""
    register(LoomWriteLog())
