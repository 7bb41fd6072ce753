"""The memory of a batch: a SQLite database in which every source has a row, from the first look to its outcome.

Each step is committed before the next begins, so that a run which is killed goes on where it was: a row that was
`started` is done again, and what it had written may be replaced.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from loomconv.batch.items import FINISHED, Item, Outcome
from loomconv.errors import UnreadableFile, UsageFault

__all__ = ["LEDGER", "Former", "Ledger"]

LEDGER: Final = "ledger.sqlite"
_LOCK: Final = "running.lock"
_VERSION: Final = 2
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, source TEXT NOT NULL, member TEXT, target TEXT NOT NULL, size INTEGER NOT NULL,
    stamp TEXT NOT NULL, options TEXT NOT NULL, run INTEGER NOT NULL, status TEXT NOT NULL, digest TEXT NOT NULL,
    needs_a_look INTEGER NOT NULL DEFAULT 0, outcome TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_by_status ON files (run, status, name);
CREATE TABLE IF NOT EXISTS outputs (path TEXT PRIMARY KEY, name TEXT NOT NULL, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS outputs_by_name ON outputs (name);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY, options TEXT NOT NULL, passed_over TEXT NOT NULL DEFAULT '{}', began TEXT NOT NULL
);
"""
# Ledgers of version 1 did not know what their outputs looked like; an empty stamp fits whatever stands there.
_FROM_1: Final = """
INSERT OR IGNORE INTO outputs
    SELECT value, files.name, '' FROM files, json_each(files.outcome, '$.outputs') WHERE outcome IS NOT NULL
"""


class Former:
    """What earlier runs have left in a folder's ledger, to be read only; nothing where there was none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows: _Rows | None = None

    def __enter__(self) -> Former:
        path = self.folder / LEDGER
        if path.is_file():
            beside = path.with_name(f"{LEDGER}-wal")
            # What a killed run has left in the log beside the database is read, too; nothing is written in any case.
            way = "readonly_shm=1" if beside.is_file() and beside.stat().st_size else "immutable=1"
            self._rows = _Rows(path, f"{path.resolve().as_uri()}?mode=ro&{way}")
            if self._rows.one("PRAGMA user_version")[0] != _VERSION:
                self._rows.close()
                self._rows = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rows is not None:
            self._rows.close()

    def _ask(self, query: str, *values: Any) -> list[Any]:
        return [] if self._rows is None else self._rows.all(query, values)

    def known_target(self, name: str) -> str | None:
        """The output's path that a source was given in an earlier run."""
        rows = self._ask("SELECT target FROM files WHERE name = ?", _kept(name))
        return None if not rows else _told(rows[0][0])

    def known_source(self, name: str) -> str | None:
        """Where the source of this name was when an output was written of it."""
        query = "SELECT source FROM files WHERE name = ?1 AND EXISTS (SELECT 1 FROM outputs WHERE name = ?1)"
        rows = self._ask(query, _kept(name))
        return None if not rows else _told(rows[0][0])

    def is_finished(self, item: Item, options: str, *, again: bool = False) -> bool:
        """Whether there is nothing to do for an item with these options; with `again` a failure is no end."""
        rows = self._ask("SELECT status, stamp FROM files WHERE name = ? AND options = ?", _kept(item.name), options)
        return bool(rows) and rows[0][1] == item.stamp and rows[0][0] in _finished(again)

    def was_started(self, name: str) -> bool:
        """Whether an earlier run was killed while it converted the source, so that its outputs may be anywhere."""
        return bool(self._ask("SELECT 1 FROM files WHERE name = ? AND status = 'started'", _kept(name)))

    def owner(self, output: str) -> tuple[str, str, bool] | None:
        """The source of which an output was written to this path, the output's stamp then, and whether the source is
        there still, by the last run.
        """
        rows = self._ask(
            """SELECT outputs.name, outputs.stamp, files.run = (SELECT max(number) FROM runs)
               FROM outputs LEFT JOIN files ON files.name = outputs.name WHERE path = ?""",
            _kept(output),
        )
        return None if not rows else (_told(rows[0][0]), rows[0][1], bool(rows[0][2]))

    def outputs_of(self, name: str) -> tuple[tuple[str, str], ...]:
        """All outputs that were ever written of a source, with their stamps."""
        rows = self._ask("SELECT path, stamp FROM outputs WHERE name = ?", _kept(name))
        return tuple((_told(path), stamp) for path, stamp in rows)

    def converted(self, name: str) -> list[str] | None:
        """The outputs that a source has now by the ledger; None if it was not converted."""
        rows = self._ask("SELECT outcome FROM files WHERE name = ? AND status IN ('done', 'partly')", _kept(name))
        if not rows or not rows[0][0]:
            return None
        outputs: list[str] = json.loads(rows[0][0])["outputs"]
        return outputs


class Ledger(Former):
    """The ledger in a folder; one run at a time has it, as long as the `with` block lasts."""

    _rows: _Rows

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.run = 0
        self.options = ""

    def __enter__(self) -> Ledger:
        self._lock = _locked(self.folder)
        try:
            self._rows = _Rows(self.folder / LEDGER)
            try:
                self._prepare()
            except BaseException:
                self._rows.close()
                raise
        except BaseException:
            self._lock.close()
            raise
        return self

    def _prepare(self) -> None:
        self._rows.do("PRAGMA journal_mode=WAL")
        self._rows.do("PRAGMA synchronous=NORMAL")
        version = self._rows.one("PRAGMA user_version")[0]
        if version not in (0, 1, _VERSION):
            raise UnreadableFile(
                "the ledger was written by another version of loomconv",
                source=str(self.folder / LEDGER),
                next_step="Choose another target folder.",
            )
        self._rows.script(_SCHEMA)
        if version == 1:
            self._rows.do(_FROM_1)
        self._rows.do(f"PRAGMA user_version={_VERSION}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.close()
        self._lock.close()

    # -- a run -----------------------------------------------------------------------------------------------------

    def begin(self, options: str, began: str) -> None:
        """Begin a run with these options (a digest of all that changes an output)."""
        self.run = (self._rows.one("SELECT max(number) FROM runs")[0] or 0) + 1
        self.options = options
        self._rows.do("INSERT INTO runs (number, options, began) VALUES (?, ?, ?)", (self.run, options, began))

    def started(self) -> Iterator[str]:
        """The targets of sources that an earlier run had begun with when it was killed."""
        return (_told(row[0]) for row in self._rows.all("SELECT target FROM files WHERE status = 'started'"))

    def forget(self, names: Sequence[str]) -> None:
        """Forget what came of sources: they are to be converted in any case. What they wrote stays their own."""
        with self._rows:
            self._rows.many(
                "UPDATE files SET status = 'waiting', digest = '' WHERE name = ?", ((_kept(name),) for name in names)
            )

    def enter(self, items: Iterable[Item], *, again: bool = False) -> None:
        """Note that these sources are there; what changed since its outcome, or has none, is to be converted.

        With `again` that holds for what failed, too.
        """
        finished = _finished(again)
        marks = ", ".join("?" * len(finished))
        unchanged = f"options = excluded.options AND stamp = excluded.stamp AND status IN ({marks})"
        with self._rows:
            self._rows.many(
                f"""INSERT INTO files (name, source, member, target, size, stamp, options, run, status, digest)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'waiting', '')
                    ON CONFLICT (name) DO UPDATE SET
                        status = CASE WHEN {unchanged} OR status = 'started' THEN status ELSE 'waiting' END,
                        digest = CASE WHEN options = excluded.options THEN digest ELSE '' END,
                        source = excluded.source, member = excluded.member, target = excluded.target,
                        size = excluded.size, stamp = excluded.stamp, options = excluded.options, run = excluded.run""",
                (
                    (
                        *(_kept(each.name), _kept(each.source), _kept(each.member), _kept(each.target), each.size),
                        *(each.stamp, self.options, self.run),
                        *finished,
                    )
                    for each in items
                ),
            )

    def pass_over(self, reasons: dict[str, int]) -> None:
        """Note how many files were not even looked at, by reason."""
        self._rows.do("UPDATE runs SET passed_over = ? WHERE number = ?", (json.dumps(reasons), self.run))

    def waiting(self) -> tuple[int, int]:
        """How many sources of this run are to be converted, and their bytes."""
        row = self._rows.one(
            f"SELECT count(*), coalesce(sum(size), 0) FROM files WHERE run = ? AND status NOT IN {FINISHED}",
            (self.run,),
        )
        return int(row[0]), int(row[1])

    def items(self) -> Iterator[Item]:
        """The sources of this run that are to be converted, by name; rows that change meanwhile do no harm.

        Each knows what was written of it before, and whether a run was killed while it was being converted.
        """
        last: Any = ""
        while True:
            rows = self._rows.all(
                f"""SELECT name, source, target, size, stamp, member, digest, status FROM files
                    WHERE run = ? AND status NOT IN {FINISHED} AND name > ? ORDER BY name LIMIT 1000""",
                (self.run, last),
            )
            if not rows:
                return
            for row in rows:
                item = _item(row[:7])
                yield dataclasses.replace(item, own=self.outputs_of(item.name), bold=row[7] == "started")
            last = rows[-1][0]

    def start(self, items: Iterable[Item]) -> None:
        """Note that these are being converted: their outputs may come to be at any moment."""
        with self._rows:
            self._rows.many("UPDATE files SET status = 'started' WHERE name = ?", ((_kept(e.name),) for e in items))

    def finish(self, outcomes: Iterable[Outcome]) -> None:
        """Note what came of sources."""
        with self._rows:
            for each in outcomes:
                name = _kept(each.name)
                if each.status == "same":
                    self._rows.do("UPDATE files SET status = json_extract(outcome, '$.status') WHERE name = ?", (name,))
                    continue
                self._rows.do(
                    "UPDATE files SET status = ?, digest = ?, needs_a_look = ?, outcome = ? WHERE name = ?",
                    (each.status, each.digest, each.needs_a_look, json.dumps(dataclasses.asdict(each)), name),
                )
                stamps = each.stamps or [""] * len(each.outputs)
                self._rows.many(
                    "INSERT OR REPLACE INTO outputs (path, name, stamp) VALUES (?, ?, ?)",
                    ((_kept(path), name, stamp) for path, stamp in zip(each.outputs, stamps, strict=True)),
                )

    # -- afterwards ------------------------------------------------------------------------------------------------

    def outcomes(self) -> Iterator[tuple[Item, Outcome]]:
        """What came of each source of this run, by name."""
        last: Any = ""
        while True:
            rows = self._rows.all(
                """SELECT name, source, target, size, stamp, member, digest, status, outcome FROM files
                   WHERE run = ? AND name > ? ORDER BY name LIMIT 1000""",
                (self.run, last),
            )
            if not rows:
                return
            for row in rows:
                item = _item(row[:7])
                if row[7] in ("waiting", "started") or not row[8]:
                    yield item, Outcome(item.name, "stopped", message="The run ended before it was converted.")
                else:
                    yield item, Outcome(**json.loads(row[8]))
            last = rows[-1][0]

    def statuses(self) -> Counter[str]:
        """How many sources of this run have which outcome."""
        return Counter(
            dict(self._rows.all("SELECT status, count(*) FROM files WHERE run = ? GROUP BY status", (self.run,)))
        )

    def need_a_look(self) -> int:
        """How many sources of this run a person should look at."""
        row = self._rows.one(
            "SELECT count(*) FROM files WHERE run = ? AND needs_a_look AND status <> 'waiting'", (self.run,)
        )
        return int(row[0])

    def refused(self) -> int:
        """How many sources of this run `--strict` forbade to convert."""
        query = "SELECT count(*) FROM files WHERE run = ? AND status = 'failed' AND json_extract(outcome, '$.refused')"
        return int(self._rows.one(query, (self.run,))[0])

    def passed_over(self) -> dict[str, int]:
        """What `pass_over` noted."""
        found: dict[str, int] = json.loads(
            self._rows.one("SELECT passed_over FROM runs WHERE number = ?", (self.run,))[0]
        )
        return found


class _Rows:
    """The database. Whatever SQLite says against a step becomes a message; a `with` block is one transaction."""

    def __init__(self, path: Path, address: str | None = None) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(
                address or path, isolation_level=None, check_same_thread=False, uri=address is not None
            )
        except sqlite3.Error as error:
            raise self._fault(error) from None

    def do(self, query: str, values: Sequence[Any] = ()) -> Any:
        try:
            return self._database.execute(query, values)
        except sqlite3.Error as error:
            raise self._fault(error) from None

    def all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = self.do(query, values)
        try:
            found: list[Any] = cursor.fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from None
        return found

    def one(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self.all(query, values)[0]

    def many(self, query: str, values: Iterable[Sequence[Any]]) -> None:
        try:
            self._database.executemany(query, values)
        except sqlite3.Error as error:
            raise self._fault(error) from None

    def script(self, text: str) -> None:
        try:
            self._database.executescript(text)
        except sqlite3.Error as error:
            raise self._fault(error) from None

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    def __enter__(self) -> None:
        self.do("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.do("COMMIT")
            return
        with suppress(sqlite3.Error):  # what went wrong is told already
            self._database.execute("ROLLBACK")

    def _fault(self, error: sqlite3.Error) -> UsageFault:
        return _fault(self._path, error)


def _fault(path: Path, error: sqlite3.Error) -> UsageFault:
    if isinstance(error, sqlite3.OperationalError):
        return _unwritable(path, str(error))
    return UsageFault(
        f"the ledger of the batch is damaged ({error})",
        source=str(path),
        next_step="Move it away and run it again, with --overwrite for what is converted already; or choose another "
        "folder.",
    )


def _locked(folder: Path) -> sqlite3.Connection:
    """The lock of a folder; the system lets go of it, even when this process is killed."""
    lock = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(folder / _LOCK, isolation_level=None, timeout=0)
        lock.execute("BEGIN EXCLUSIVE")
    except OSError as error:
        raise _unwritable(folder, error.strerror or "") from None
    except sqlite3.Error as error:
        if lock is not None:
            lock.close()
        if "locked" in str(error):
            raise UsageFault(
                "another run is writing to this folder",
                source=str(folder.parent),
                next_step="Wait until it is done, or choose another folder.",
            ) from None
        raise _fault(folder / _LOCK, error) from None
    return lock


def _unwritable(path: Path, reason: str) -> UsageFault:
    return UsageFault(
        f"the ledger of the batch cannot be written ({reason})",
        source=str(path),
        next_step="Free some space, see the permissions, or choose another folder; the next run goes on where it was.",
    )


def _finished(again: bool) -> list[str]:
    return [status for status in FINISHED if not (again and status == "failed")]


def _kept(text: str | None) -> str | bytes | None:
    """A name as SQLite can hold it: one that is no Unicode (a file's name may be any bytes) as a blob."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _told(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _item(row: Sequence[Any]) -> Item:
    name, source, target, size, stamp, member, digest = row
    return Item(
        _told(name), _told(source), _told(target), size, stamp, None if member is None else _told(member), digest
    )
