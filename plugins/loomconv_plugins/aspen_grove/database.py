"""The app's database: rows to entities and back (dossier §3).

What a row has otherwise than the entity gives stands with the entity under `databaseRow`. What the tables cannot say
goes to a table of ours, `loomconv_extensions`: the app's storage asks for its own tables by name and leaves others be.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import sqlite3
import zlib
from collections.abc import Iterable
from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import InvalidDocument, LoomconvError
from loomconv.format import ReadContext, Sink
from loomconv.model import mint_ulid
from loomconv.privacy import drop_secrets
from loomconv.storage import Source
from loomconv.storage.database import open_database, table_names
from loomconv_plugins.aspen_grove.tables import (
    NEVER_READ,
    SCHEMA_VERSION,
    TABLES,
    Column,
    Entities,
    Entity,
    Table,
    ref,
    same,
)
from loomconv_plugins.aspen_grove.times import iso, milliseconds_of

__all__ = ["OUR_TABLE", "as_read", "is_early_build", "read_entities", "write_database"]

OUR_TABLE: Final = "loomconv_extensions"
_HIDDEN: Final = ("id", "_changed", "_status")
_FLAGS: Final = {"bookmarked": "bookmarked", "pruned": "pruned", "excluded": "excluded"}
_CHUNK: Final = 1 << 20
_LONGEST_BODY: Final = 1 << 28


def is_early_build(tables: frozenset[str]) -> bool:
    """Whether the database is one of the abandoned first build (dossier §8)."""
    return {"loom_trees", "nodes", "edges"} <= tables and "edge_sources" not in tables


# -- reading ---------------------------------------------------------------------------------------------------------


def read_entities(source: Source, context: ReadContext) -> tuple[Entities, dict[str, Any]]:
    """All entities, in the order of their rows, and what the database says beside them.

    Raises UnreadableFile for a damaged database, InvalidDocument for one that is not the app's.
    """
    with open_database(source) as connection:
        tables = table_names(connection)
        if is_early_build(tables):
            raise InvalidDocument(
                "the database is of an early build of Aspen Grove that was never published",
                next_step="There is no conversion for it.",
            )
        if not {"loom_trees", "nodes"} <= tables:
            raise InvalidDocument("the database is none of Aspen Grove", next_step="Choose aspen-grove-local.db.")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if not 1 <= version <= SCHEMA_VERSION:
            context.report.add("read.version", f"The schema version {version} is not known.", value=version)
        for name, collection in NEVER_READ.items():
            if name in tables and connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]:
                context.report.add("aspen-grove.private-table", value=collection)
                context.touched = True  # they are the user's own, can hold keys, and must not be copied along
        entities: Entities = {}
        deleted = 0
        for table in TABLES:
            rows, gone = _rows(connection, table.name) if table.name in tables else ([], [])
            deleted += len(gone)
            if drop_secrets([_entity(table, row) for row in gone])[1]:
                context.report.add("privacy.secret-dropped", "A row that is marked as deleted holds a key or password.")
            entities[table.collection] = [_entity(table, row) for row in rows]
        sources, gone = _rows(connection, "edge_sources") if "edge_sources" in tables else ([], [])
        _add_sources(entities["edges"], sources)
        ours = _read_ours(connection) if OUR_TABLE in tables else []
        deleted += len(gone)
        if connection.execute("PRAGMA freelist_count").fetchone()[0]:
            context.touched = True  # pages that are not in use any more still hold what was deleted
    if deleted:
        context.touched = True
        context.report.add("aspen-grove.deleted-rows", value=deleted)
    _attach_ours(entities, ours, more := {"schemaVersion": version})
    return entities, more


def _rows(connection: sqlite3.Connection, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of a table by column, in the order in which they were made, and those that are marked as deleted."""
    cursor = connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid')
    names = [each[0] for each in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    kept = [row for row in rows if row.get("_status") != "deleted"]
    return kept, [row for row in rows if row.get("_status") == "deleted"]


def _entity(table: Table, row: dict[str, Any]) -> Entity:
    entity: Entity = {"id": _plain(row.get("id"))}
    packed = row.get("compression_type") not in (None, "none")
    for column in table.columns:
        value = row.get(column.name)
        if value is not None:
            entity[column.key] = _value(column, value, packed)
    if table.name == "nodes":
        entity["metadata"] = _metadata(row)
    if table.name == "agents" and row.get("loom_aware") is not None:
        known = entity.get("permissions")
        entity["permissions"] = {**(known if isinstance(known, dict) else {}), "loomAware": bool(row["loom_aware"])}
    usual = _row(table, entity)
    odd = {name: _plain(value) for name, value in row.items() if not (name in usual and _as_stored(usual[name], value))}
    lacking = [name for name in usual if name not in row and usual[name] is not None]
    if odd or lacking:
        entity["databaseRow"] = {**odd, **({"absent": lacking} if lacking else {})}
    return entity


def _as_stored(usual: Any, value: Any) -> bool:
    return type(usual) is type(value) and bool(usual == value)


def _plain(value: Any) -> Any:
    """A value of SQLite as JSON: bytes as base64 in an object."""
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(str(value["base64"]))
        except binascii.Error:
            return None
    return value if value is None or isinstance(value, str | int | float) else jsontext.encode(value).decode()


def _value(column: Column, value: Any, packed: bool) -> Any:
    if column.kind == "time":
        return iso(value)
    if column.kind == "json" and isinstance(value, str):
        try:
            return jsontext.decode(value.encode("utf-8", "surrogatepass"))
        except LoomconvError:
            return value
    if column.kind == "packed" and packed and isinstance(value, str):
        return _unpacked(value)
    if column.kind == "number" and isinstance(value, float) and value == value // 1 and abs(value) < 2**53:
        return int(value)
    return _plain(value)


def _unpacked(text: str) -> str:
    """The text in base64 of gzip; the text itself where it is no such thing."""
    try:
        inflate = zlib.decompressobj(wbits=31)
        data = inflate.decompress(base64.b64decode(text, validate=True), _LONGEST_BODY)
        return data.decode() if inflate.eof else text
    except (binascii.Error, zlib.error, UnicodeDecodeError, ValueError):
        return text


def _metadata(row: dict[str, Any]) -> Any:
    """Columns count before the JSON; the label counts when there is a bookmark (dossier §3.2)."""
    try:
        stored = jsontext.decode(str(row.get("metadata") or "{}").encode("utf-8", "surrogatepass"))
    except LoomconvError:
        stored = {}
    stored = stored if isinstance(stored, dict) else {}
    metadata: Entity = {}
    for name in _FLAGS:
        value = row.get(name)
        metadata[name] = bool(stored.get(name)) if value is None else bool(value)
        if name == "bookmarked" and metadata[name]:
            label = row["bookmark_label"] if row.get("bookmark_label") is not None else stored.get("bookmarkLabel")
            if label is not None:
                metadata["bookmarkLabel"] = label
    return {**metadata, **{key: value for key, value in stored.items() if key not in (*_FLAGS, "bookmarkLabel")}}


def _add_sources(edges: list[Entity], rows: list[dict[str, Any]]) -> None:
    by_edge: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_edge.setdefault(str(row.get("edge_id")), []).append(row)
    for edge in edges:
        own = by_edge.get(str(edge["id"]), [])
        edge["sources"] = [{"nodeId": row.get("source_node_id"), "role": row.get("role")} for row in own]
        usual = _source_rows(edge)
        odd = [
            {name: _plain(value) for name, value in row.items() if not (name in made and _as_stored(made[name], value))}
            for row, made in zip(own, usual, strict=True)
        ]
        if any(odd):
            edge["databaseSources"] = odd


def _read_ours(connection: sqlite3.Connection) -> list[tuple[Any, Any, Any]]:
    return connection.execute(f"SELECT kind, id, value FROM {OUR_TABLE} ORDER BY rowid").fetchall()


def _attach_ours(entities: Entities, rows: Iterable[tuple[Any, Any, Any]], more: dict[str, Any]) -> None:
    by_id = {
        (kind, own): each
        for kind in ("loomTrees", "nodes", "edges")
        for each in entities[kind]
        if (own := ref(each, "id")) is not None
    }
    for kind, own, value in rows:
        try:
            extensions = jsontext.decode(str(value).encode("utf-8", "surrogatepass"))
        except LoomconvError:
            continue
        if kind == "document":
            more["extensions"] = extensions
        elif (kind, own) in by_id:
            by_id[kind, own]["extensions"] = extensions


# -- writing ---------------------------------------------------------------------------------------------------------


def write_database(entities: Entities, extensions: Any, sink: Sink) -> None:
    """Write a new database at the newest schema (dossier §3.3); the bytes depend on nothing but the entities."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("PRAGMA page_size = 4096")
        for table in TABLES:
            _create(connection, table)
        _create_others(connection)
        for table in TABLES:
            _insert(connection, table.name, (_full_row(table, entity) for entity in entities.get(table.collection, ())))
        sources = (row for edge in entities.get("edges", ()) for row in _full_sources(edge))
        _insert(connection, "edge_sources", sources)
        _insert(connection, OUR_TABLE, _our_rows(entities, extensions))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.commit()
        data = connection.serialize()
    finally:
        connection.close()
    for start in range(0, len(data), _CHUNK):
        sink.write(data[start : start + _CHUNK])


def _create(connection: sqlite3.Connection, table: Table) -> None:
    names = [column.name for column in table.columns]
    if table.name == "nodes":
        names += ["metadata", "bookmarked", "bookmark_label", "pruned", "excluded"]
    if table.name == "agents":
        names.insert(names.index("permissions") + 1, "loom_aware")
    indexed = [column.name for column in table.columns if column.indexed]
    _create_table(connection, table.name, names, indexed)


def _create_table(connection: sqlite3.Connection, table: str, names: list[str], indexed: list[str]) -> None:
    columns = ", ".join(f'"{name}"' for name in names)
    connection.execute(f'CREATE TABLE "{table}" ("id" primary key, "_changed", "_status", {columns})')
    for name in indexed:
        connection.execute(f'CREATE INDEX "{table}_{name}" ON "{table}" ("{name}")')
    connection.execute(f'CREATE INDEX "{table}__status" ON "{table}" ("_status")')


# Of the table that the app fills itself when it starts.
_PREFERENCES: Final = [
    *("display_name", "email", "avatar_ref", "theme", "font_size", "font_face", "default_voice_mode_enabled"),
    *("default_temperature", "verbose_error_alerts", "auto_title_enabled", "node_view_style"),
    *("node_view_corner_radius", "lmstudio_settings", "default_model_agent_id", "created_at", "updated_at"),
]


def _create_others(connection: sqlite3.Connection) -> None:
    _create_table(connection, "user_preferences", _PREFERENCES, [])
    _create_table(connection, "edge_sources", ["edge_id", "source_node_id", "role"], [])
    connection.execute('CREATE TABLE "local_storage" ("key" varchar(16) primary key not null, "value" text not null)')
    connection.execute('CREATE INDEX "local_storage_key_index" ON "local_storage" ("key")')
    connection.execute(f'CREATE TABLE "{OUR_TABLE}" ("kind", "id", "value")')


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    known = [each[1] for each in connection.execute(f'PRAGMA table_info("{table}")')]
    taken: set[Any] = set()
    for row in rows:
        if table != OUR_TABLE:
            row = _with_own_id(row, taken, table)
        for name in row:
            if name not in known:
                connection.execute(f'ALTER TABLE "{table}" ADD COLUMN "{name.replace(chr(34), chr(34) * 2)}"')
                known.append(name)
        marks = ", ".join(_MARK if isinstance(value, _Odd) else "?" for value in map(_bindable, row.values()))
        columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in row)
        values = [each.data if isinstance(each, _Odd) else each for each in map(_bindable, row.values())]
        connection.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', values)


def _with_own_id(row: dict[str, Any], taken: set[Any], table: str) -> dict[str, Any]:
    """The row with an id that no other row of its table has; a database can hold no other."""
    own = _unplain(row.get("id"))
    number = 0
    while own is None or own in taken:
        own = mint_ulid("row", table, str(row.get("id")), str(number))
        number += 1
    taken.add(own)
    return {**row, "id": own}


_MARK: Final = "CAST(? AS TEXT)"


class _Odd:
    """A text with half a character, which SQLite takes as bytes only."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


def _bindable(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return _Odd(value.encode("utf-8", "surrogatepass"))
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value if value is None or isinstance(value, int | float | bytes) else jsontext.encode(value).decode()


def _row(table: Table, entity: Entity) -> dict[str, Any]:
    """The row that an entity gives: all columns of the newest schema."""
    row: dict[str, Any] = {"id": entity.get("id"), "_changed": "", "_status": "created"}
    packed = entity.get("compressionType") not in (None, "none")
    for column in table.columns:
        row[column.name] = _stored(column, entity.get(column.key), packed)
    if table.name == "nodes":
        given = entity.get("metadata")
        metadata = given if isinstance(given, dict) else {}
        row["metadata"] = jsontext.encode(metadata).decode()
        for name in _FLAGS:
            row[name] = int(bool(metadata.get(name)))
        row["bookmark_label"] = metadata.get("bookmarkLabel")
    if table.name == "agents":
        permissions = entity.get("permissions")
        row["loom_aware"] = int(bool(permissions.get("loomAware"))) if isinstance(permissions, dict) else None
    return row


def _stored(column: Column, value: Any, packed: bool) -> Any:
    if value is None:
        return None
    if column.kind == "time":
        milliseconds = milliseconds_of(value)
        return value if milliseconds is None else float(milliseconds)
    if column.kind == "number":
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if column.kind == "json":
        return jsontext.encode(value).decode()
    if column.kind == "packed" and packed:
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else jsontext.encode(value)
        return base64.b64encode(gzip.compress(data, mtime=0)).decode()
    return value


def as_read(entities: Entities) -> Entities:
    """The entities as they will be read from the database that they are written to."""
    again = {
        table.collection: [_entity(table, _full_row(table, entity)) for entity in entities.get(table.collection, ())]
        for table in TABLES
    }
    _add_sources(again["edges"], [row for edge in entities.get("edges", ()) for row in _full_sources(edge)])
    return again


def _full_row(table: Table, entity: Entity) -> dict[str, Any]:
    """The row with what it had otherwise, as long as that still says the same."""
    row = _row(table, entity)
    odd = entity.get("databaseRow")
    if not isinstance(odd, dict):
        return row
    for name, value in odd.items():
        if name == "absent":
            continue
        tried = {**row, name: _unplain(value)}
        if name in _HIDDEN or name not in row or same(_core_of(table, tried), _core_of(table, row)):
            row = tried
    return row


def _core_of(table: Table, row: dict[str, Any]) -> Entity:
    entity = _entity(table, row)
    entity.pop("databaseRow", None)
    return entity


def _source_rows(edge: Entity) -> list[dict[str, Any]]:
    sources = edge.get("sources")
    return [
        {
            "id": mint_ulid("edge-source", str(edge.get("id")), str(number)),
            "_changed": "",
            "_status": "created",
            "edge_id": edge.get("id"),
            "source_node_id": source.get("nodeId"),
            "role": source.get("role"),
        }
        for number, source in enumerate(sources if isinstance(sources, list) else ())
        if isinstance(source, dict)
    ]


def _full_sources(edge: Entity) -> Iterable[dict[str, Any]]:
    odd = edge.get("databaseSources")
    rows = _source_rows(edge)
    kept = odd if isinstance(odd, list) and len(odd) == len(rows) else [{}] * len(rows)
    for row, more in zip(rows, kept, strict=True):
        own = {name: _unplain(value) for name, value in more.items()} if isinstance(more, dict) else {}
        yield {**row, **{name: value for name, value in own.items() if name in _HIDDEN or name not in row}}


def _our_rows(entities: Entities, extensions: Any) -> Iterable[dict[str, Any]]:
    if extensions:
        yield {"kind": "document", "id": "", "value": jsontext.encode(extensions).decode()}
    for kind in ("loomTrees", "nodes", "edges"):
        for entity in entities.get(kind, ()):
            if entity.get("extensions"):
                value = jsontext.encode(entity["extensions"]).decode("utf-8", "surrogatepass")
                yield {"kind": kind, "id": entity.get("id"), "value": value}
