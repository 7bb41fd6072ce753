"""Aspen Grove."""

from __future__ import annotations

from collections.abc import Callable

from loomconv.format import Format, hookimpl
from loomconv.provenance import HashScheme
from loomconv_plugins.aspen_grove.plugin import AspenGrove

__all__ = ["loomconv_register_formats", "loomconv_register_hash_schemes"]


@hookimpl
def loomconv_register_formats(register: Callable[[Format], None]) -> None:
    """The format of this folder."""
    register(AspenGrove())


@hookimpl
def loomconv_register_hash_schemes(register: Callable[[HashScheme], None]) -> None:
    """The app's way to compute hashes."""
    from loomconv_plugins.aspen_grove.hashes import AspenGroveHashes

    register(AspenGroveHashes())
