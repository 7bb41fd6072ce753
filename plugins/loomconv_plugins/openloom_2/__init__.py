"""OpenLoom 2.0: the pivot's own format."""

from __future__ import annotations

from collections.abc import Callable

from loomconv.format import Format, hookimpl
from loomconv_plugins.openloom_2.plugin import OpenLoom2


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """Register the format `openloom-2`."""
    register(OpenLoom2())
