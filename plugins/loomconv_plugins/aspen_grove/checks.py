"""Validation of a dump by its schema."""

from __future__ import annotations

from typing import Any

from loomconv.format import ReadContext
from loomconv.schema import load_schema, validate
from loomconv.storage import Source
from loomconv.storage.source import SQLITE_MAGIC
from loomconv_plugins.aspen_grove.tables import COLLECTIONS

__all__ = ["check", "schema"]


def schema() -> dict[str, Any] | None:
    """The JSON Schema of a dump."""
    return load_schema("loomconv_schemas", "aspen-grove.schema.json")


def check(source: Source, context: ReadContext) -> None:
    """A finding for each fault of a dump, entity by entity. A database has its tables instead of a schema."""
    definition = schema()
    if definition is None or bytes(source.data[: len(SQLITE_MAGIC)]) == SQLITE_MAGIC:
        return
    value = context.load_json(source)
    if not isinstance(value, dict) or value.get("format") == "open-loom":
        return
    definitions = definition["$defs"]
    shell = {key: each for key, each in value.items() if key not in COLLECTIONS}
    faults = [(fault.pointer, fault.message) for fault in validate(shell, definition)]
    for name in COLLECTIONS:
        part = {"$ref": f"#/$defs/{name}", "$defs": definitions}
        for position, entity in enumerate(value.get(name) or ()):
            faults += [(f"/{name}/{position}{fault.pointer}", fault.message) for fault in validate(entity, part)]
    for pointer, message in faults:
        context.report.add("validate.schema", message, pointer=pointer)
