"""Schemas come with the packages that need them; the hub asks for them by package and file name."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from loomconv.errors import PluginFault

__all__ = ["load_schema", "schema_text"]


def schema_text(package: str, filename: str) -> str:
    """The text of a schema that a package brings with it. Raises PluginFault when it is not there."""
    try:
        return files(package).joinpath(filename).read_text("utf-8")
    except (ImportError, OSError) as error:
        raise PluginFault(f"the package {package} has no schema {filename}") from error


@cache
def load_schema(package: str, filename: str) -> dict[str, Any]:
    """A schema that a package brings with it, decoded once in a process; do not change it."""
    try:
        schema = msgspec.json.decode(schema_text(package, filename))
    except msgspec.DecodeError as error:
        raise PluginFault(f"the schema {filename} of the package {package} is no JSON: {error}") from error
    if not isinstance(schema, dict):
        raise PluginFault(f"the schema {filename} of the package {package} is no object")
    return schema
