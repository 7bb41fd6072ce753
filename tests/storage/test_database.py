"""Databases as input: nothing is written to them, what their write-ahead log holds counts, and nothing in them runs."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from pathlib import Path

import pytest

from loomconv.errors import UnreadableFile
from loomconv.format import Probe
from loomconv.storage import Limits, open_source
from loomconv.storage.database import open_database, table_names


def _made(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in ("CREATE TABLE words (id primary key, word)", *statements):
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def _words(where: Path | bytes) -> list[str]:
    with open_source(where if isinstance(where, bytes) else str(where)) as source, open_database(source) as connection:
        return [word for (word,) in connection.execute("SELECT word FROM words ORDER BY rowid")]


def _with_log(folder: Path) -> Path:
    """A database whose last row stands in its write-ahead log only, as an app leaves it that was killed."""
    live = folder / "live"
    live.mkdir()
    connection = sqlite3.connect(live / "grove.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE words (id primary key, word)")
    connection.execute("INSERT INTO words VALUES (1, 'kept')")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("INSERT INTO words VALUES (2, 'late')")
    connection.commit()
    for name in ("grove.db", "grove.db-wal"):
        shutil.copyfile(live / name, folder / name)
    connection.close()
    return folder / "grove.db"


def test_a_file_a_stream_and_a_gzip_file(tmp_path: Path) -> None:
    path = _made(tmp_path / "a b?.db", "INSERT INTO words VALUES (1, 'one'), (2, 'two')")
    packed = tmp_path / "packed.db.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert _words(path) == _words(path.read_bytes()) == _words(packed) == ["one", "two"]


def test_the_write_ahead_log_counts_and_nothing_is_changed(tmp_path: Path) -> None:
    path = _with_log(tmp_path)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}
    assert _words(path) == ["kept", "late"]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()} == before


def test_without_its_log_a_database_that_had_one_can_be_read(tmp_path: Path) -> None:
    path = _with_log(tmp_path)
    path.with_name("grove.db-wal").unlink()
    assert _words(path) == ["kept"]
    assert _words(path.read_bytes()) == ["kept"]


def test_a_log_above_the_limit_is_refused(tmp_path: Path) -> None:
    path = _with_log(tmp_path)
    size = path.stat().st_size
    log = path.with_name("grove.db-wal")
    log.write_bytes(log.read_bytes() + bytes(size))
    with (
        open_source(str(path), Limits(document_bytes=size)) as source,
        pytest.raises(UnreadableFile, match="write-ahead log"),
        open_database(source),
    ):
        pass


def test_it_cannot_be_written_to(tmp_path: Path) -> None:
    path = _with_log(tmp_path)
    with (
        open_source(str(path)) as source,
        pytest.raises(UnreadableFile),
        open_database(source) as connection,
    ):
        connection.execute("INSERT INTO words VALUES (3, 'new')")


def test_a_damaged_database_is_refused_in_words(tmp_path: Path) -> None:
    path = _made(tmp_path / "a.db", *[f"INSERT INTO words VALUES ({n}, '{'x' * 900}')" for n in range(40)])
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    with pytest.raises(UnreadableFile, match="damaged"):
        _words(bytes(data))
    with pytest.raises(UnreadableFile, match="damaged"):
        _words(bytes(data[:40]))
    with pytest.raises(UnreadableFile, match="no SQLite database"):
        _words(b"{}")


def test_texts_that_are_not_utf8_come_as_half_characters(tmp_path: Path) -> None:
    path = _made(tmp_path / "a.db", "INSERT INTO words VALUES (1, CAST(x'61ff' AS TEXT)), (2, CAST(x'eda0bd' AS TEXT))")
    assert _words(path) == ["a\udcff", "\ud83d"]


def test_only_ordinary_tables_are_named(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        "CREATE VIEW nodes AS SELECT * FROM words",
        "CREATE VIRTUAL TABLE edges USING fts5(x)",
    )
    with open_source(str(path)) as source:
        with open_database(source) as connection:
            names = table_names(connection)
        assert {"words"} <= names
        assert not {"nodes", "edges"} & names
        assert Probe(source.data, "a.db", source=source).tables == names


def test_a_probe_of_anything_else_has_no_tables() -> None:
    with open_source(b"SQLite format 3\0 and no more") as source:
        assert Probe(source.data, "x", source=source).tables == frozenset()
    with open_source(b'{"a": 1}') as source:
        assert Probe(source.data, "x", source=source).tables == frozenset()
