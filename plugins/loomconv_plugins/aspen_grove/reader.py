"""Any of the app's files as a document."""

from __future__ import annotations

from loomconv.format import ReadContext
from loomconv.model import Document
from loomconv.storage import Source
from loomconv.storage.source import SQLITE_MAGIC
from loomconv_plugins.aspen_grove.marks import own_marks
from loomconv_plugins.aspen_grove.safe_ids import renamed
from loomconv_plugins.aspen_grove.tables import EXPORT_MARK
from loomconv_plugins.aspen_grove.to_pivot import carried_ids, to_pivot

__all__ = ["read"]


def read(source: Source, context: ReadContext) -> Document:
    """Raises UnreadableFile and InvalidDocument."""
    if bytes(source.data[: len(SQLITE_MAGIC)]) == SQLITE_MAGIC:
        from loomconv_plugins.aspen_grove.database import read_entities

        entities, more = read_entities(source, context)
    elif EXPORT_MARK.search(bytes(source.data[:4096])) is not None:
        return context.read_as("openloom-2", source)
    else:
        from loomconv_plugins.aspen_grove.dump import read_dump

        entities, more = read_dump(source, context)
    more.update(own_marks(more.get("extensions")).get("more") or {})
    return to_pivot(renamed(entities, carried_ids(more)), more, context)
