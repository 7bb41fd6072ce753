"""Validation: the first line that is wrong, then the records by their schema."""

from __future__ import annotations

from typing import Any

from loomconv.errors import Place
from loomconv.format import ReadContext
from loomconv.schema import load_schema, validate
from loomconv.storage import Source
from loomconv.writelog import Chain, split_lines
from loomconv_plugins.loom_write_log.reader import records_of

__all__ = ["check", "schema"]


def schema() -> dict[str, Any] | None:
    """The JSON Schema of one record."""
    return load_schema("loomconv_schemas", "loom-write-log.schema.json")


def check(source: Source, context: ReadContext) -> None:
    """Look at every line; a finding for each that is no record, with its place (the first one is the first finding)."""
    definition = schema()
    chain = Chain()
    for line in split_lines(source.data):
        place = Place(line.number, 1, line.byte)
        if not line.complete:
            context.report.add("write-log.torn", value=len(line.raw), place=place)
            continue
        records = records_of(line.record) if line.record else []
        if records is None:
            context.report.add(
                "validate.schema", "The line is no record.", severity="error", place=place, pointer=f"/{line.number}"
            )
        for record in records or ():
            for fault in validate(record, definition) if definition else ():
                context.report.add("validate.schema", fault.message, place=place, pointer=fault.pointer)
        if records and records[-1]["op"] == "commit":
            record = records[-1]
            digest = record.get("sha256")
            if digest != chain.digest() or record.get("records") != chain.records:
                context.report.add("write-log.digest", place=place)
            chain.commit(digest if isinstance(digest, str) and digest.isascii() else "", 0)
        elif records:
            chain.add(line.raw)
        else:
            chain.skip(line.raw)
