"""Validation of a tree file by its schema."""

from __future__ import annotations

from typing import Any

from loomconv.format import ReadContext
from loomconv.schema import load_schema, validate
from loomconv.storage import Source

__all__ = ["check", "schema"]


def schema() -> dict[str, Any] | None:
    """The JSON Schema of a tree file."""
    return load_schema("loomconv_schemas", "miniloom.schema.json")


def check(source: Source, context: ReadContext) -> None:
    """A finding for each fault; the file is flat, so that it is checked as a whole."""
    definition = schema()
    value = context.load_json(source, max_depth=context.limits.nesting)
    for fault in validate(value, definition) if definition else ():
        context.report.add("validate.schema", fault.message, pointer=fault.pointer)
