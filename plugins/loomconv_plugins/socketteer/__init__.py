"""socketteer's loom: the Python/Tk Loom by socketteer."""

from __future__ import annotations

from collections.abc import Callable

from loomconv.format import Format, hookimpl
from loomconv_plugins.socketteer.plugin import Socketteer


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """Register the format `socketteer`."""
    register(Socketteer())
