"""A document as a database, as a dump, or as a file for the app's importer."""

from __future__ import annotations

from typing import Any

from loomconv import jsontext
from loomconv.format import Sink, WriteContext
from loomconv.model import Document
from loomconv_plugins.aspen_grove.dump import dump_value, fresh_dump
from loomconv_plugins.aspen_grove.from_pivot import from_pivot
from loomconv_plugins.aspen_grove.marks import own_marks
from loomconv_plugins.aspen_grove.safe_ids import renamed, with_safe_ids
from loomconv_plugins.aspen_grove.tables import NAMESPACE, SCHEMA_VERSION, Entities

__all__ = ["write"]


def write(document: Document, sink: Sink, context: WriteContext, kind: str) -> None:
    """Write one of the three kinds: `database`, `dump`, `openloom`."""
    if kind == "openloom":
        context.write_as("openloom-2", document, sink, layout=jsontext.TWO_SPACES)
    elif kind == "dump":
        _write_dump(document, sink, context)
    else:
        _write_database(document, sink, context)


def _write_dump(document: Document, sink: Sink, context: WriteContext) -> None:
    entities, more = from_pivot(document, context, fresh_dump())
    entities, extensions = _with_ids(entities, more, {}, all_characters=True)
    rest = {key: value for key, value in more.items() if key != "extensions"}
    value = dump_value(entities, {**rest, **({"extensions": extensions} if extensions else {})}, context.exported_at)
    for piece in jsontext.iter_exact(value, context.layout):
        sink.write(piece)
    if context.layout.final_newline:
        sink.write(context.layout.newline.encode())


def _write_database(document: Document, sink: Sink, context: WriteContext) -> None:
    from loomconv_plugins.aspen_grove.database import as_read, write_database

    def read_again(entities: Entities) -> Entities:
        safe, former = with_safe_ids(entities, all_characters=False)
        return renamed(as_read(safe), former)

    entities, more = from_pivot(document, context, {"schemaVersion": SCHEMA_VERSION}, read_again)
    rest = {key: value for key, value in more.items() if key != "extensions"}
    own = {"more": rest} if rest != {"schemaVersion": SCHEMA_VERSION} else {}
    entities, extensions = _with_ids(entities, more, own, all_characters=False)
    write_database(entities, extensions, sink)


def _with_ids(
    entities: Entities, more: dict[str, Any], own: dict[str, Any], *, all_characters: bool
) -> tuple[Entities, dict[str, Any]]:
    """The entities with ids that the app can hold, and what is carried for the document, former ids among it."""
    entities, former = with_safe_ids(entities, all_characters=all_characters)
    marks = {**own_marks(more.get("extensions")), **own, **({"ids": former} if former else {})}
    return entities, {**(more.get("extensions") or {}), **({NAMESPACE: marks} if marks else {})}
