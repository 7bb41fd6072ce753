"""SQLite databases as input: read-only, with what its write-ahead log holds, and nothing in them executed."""

from __future__ import annotations

import glob
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from loomconv.errors import UnreadableFile
from loomconv.storage.source import SQLITE_MAGIC, Source

__all__ = ["SQLITE_MAGIC", "open_database", "table_names"]

# Bytes 18 and 19 of the header: 2 says that there may be a write-ahead log, which a database in memory cannot have.
_JOURNAL: Final = slice(18, 20)
_NO_LOG: Final = b"\x01\x01"
_NEXT_STEP: Final = "Copy it again from the app, with the app closed and its -wal file along."


@contextmanager
def open_database(source: Source) -> Iterator[sqlite3.Connection]:
    """A connection to the database in the source; it cannot be written to, and the file is left as it is.

    If a write-ahead log (`<file>-wal`) lies beside the file, its rows count: both are copied to a temporary folder and
    opened there. Otherwise a file is read where it is, and a stream from memory. Texts that are not UTF-8 come as
    strings with lone surrogates. Errors of SQLite while the connection is in use become UnreadableFile.
    """
    if bytes(source.data[: len(SQLITE_MAGIC)]) != SQLITE_MAGIC:
        raise UnreadableFile("this is no SQLite database", source=source.name, next_step=_NEXT_STEP)
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(closing(_connect(source, stack)))
            _defuse(connection, source)
            yield connection
        except (sqlite3.Error, UnicodeDecodeError):
            raise UnreadableFile(
                "the database is damaged, or not of this version of SQLite", source=source.name, next_step=_NEXT_STEP
            ) from None


def table_names(connection: sqlite3.Connection) -> frozenset[str]:
    """Names of the ordinary tables: no views, no virtual tables, none of SQLite's own."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return frozenset(name for (name,) in rows if isinstance(name, str))


def _connect(source: Source, stack: ExitStack) -> sqlite3.Connection:
    path = source.path if source.container == "plain" else None
    if path is None:
        return _in_memory(bytes(source.data))
    logs = [found for found in source.beside(f"{glob.escape(path.name)}-wal") if found.stat().st_size]
    if not logs:
        return _connect_to(path, "mode=ro&immutable=1")
    limits = source.limits
    if limits.document_bytes is not None and logs[0].stat().st_size > limits.document_bytes:
        raise limits.exceeded("document_bytes", "the size of the write-ahead log", source=str(logs[0]))
    copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loomconv-"))) / "database"
    shutil.copyfile(path, copy)
    shutil.copyfile(logs[0], copy.with_name("database-wal"))
    return _connect_to(copy, "mode=rw")


def _connect_to(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?{how}", uri=True)


def _in_memory(data: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data[: _JOURNAL.start] + _NO_LOG + data[_JOURNAL.stop :])
    return connection


def _defuse(connection: sqlite3.Connection, source: Source) -> None:
    """A schema can bring functions and triggers of its own; a reader needs neither."""
    connection.execute("PRAGMA query_only = 1")
    connection.execute("PRAGMA trusted_schema = 0")
    connection.execute("PRAGMA cell_size_check = 1")
    if source.limits.document_bytes is not None:
        longest = min(source.limits.document_bytes, connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    connection.text_factory = _text


def _text(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "surrogateescape")
