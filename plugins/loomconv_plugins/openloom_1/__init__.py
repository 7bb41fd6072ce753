"""OpenLoom 1.0: parent/child files of the iOS app, `*.openloom.json`."""

from __future__ import annotations

from collections.abc import Callable

from loomconv.format import Format, hookimpl
from loomconv_plugins.openloom_1.plugin import OpenLoom1


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """Register the format `openloom-1`."""
    register(OpenLoom1())
