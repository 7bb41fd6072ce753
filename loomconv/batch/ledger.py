"""The memory of a batch: a SQLite database in which every source has a row, from the first look to its outcome.

Each step is committed before the next begins, so that a run which is killed goes on where it was: a row that was
`started` is done again, and what it had written may be replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from loomconv.batch.items import FINISHED, Item, Outcome
from loomconv.errors import UnreadableFile, UsageFault

__all__ = ["LEDGER", "Ledger", "finished_items"]

LEDGER: Final = "ledger.sqlite"
_LOCK: Final = "running.lock"
_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, source TEXT NOT NULL, member TEXT, target TEXT NOT NULL, size INTEGER NOT NULL,
    stamp TEXT NOT NULL, options TEXT NOT NULL, run INTEGER NOT NULL, status TEXT NOT NULL, digest TEXT NOT NULL,
    needs_a_look INTEGER NOT NULL DEFAULT 0, outcome TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_by_status ON files (run, status, name);
CREATE INDEX IF NOT EXISTS files_by_target ON files (target);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY, options TEXT NOT NULL, passed_over TEXT NOT NULL DEFAULT '{}', began TEXT NOT NULL
);
"""


class Ledger:
    """The ledger in a folder; one run at a time has it, as long as the `with` block lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = 0

    def __enter__(self) -> Ledger:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = sqlite3.connect(self.folder / _LOCK, isolation_level=None, timeout=0)
            self._lock.execute("BEGIN EXCLUSIVE")  # the system lets go of it, even when this process is killed
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise UsageFault(
                    "another run is writing to this folder",
                    source=str(self.folder.parent),
                    next_step="Wait until it is done, or choose another folder.",
                ) from None
            raise _unwritable(self.folder, str(error)) from None
        except OSError as error:
            raise _unwritable(self.folder, error.strerror or "") from None
        try:
            self._rows = sqlite3.connect(self.folder / LEDGER, isolation_level=None, check_same_thread=False)
            self._rows.execute("PRAGMA journal_mode=WAL")
            self._rows.execute("PRAGMA synchronous=NORMAL")
            version = self._rows.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise UnreadableFile(
                    "the ledger was written by another version of loomconv",
                    source=str(self.folder / LEDGER),
                    next_step="Choose another target folder.",
                )
            self._rows.executescript(_SCHEMA)
            self._rows.execute(f"PRAGMA user_version={_VERSION}")
        except sqlite3.Error as error:
            self._lock.close()
            raise _unwritable(self.folder / LEDGER, str(error)) from None
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.close()
        self._lock.close()

    # -- a run -----------------------------------------------------------------------------------------------------

    def begin(self, options: str, began: str) -> None:
        """Begin a run with these options (a digest of all that changes an output)."""
        row = self._rows.execute("SELECT max(number) FROM runs").fetchone()
        self.run = (row[0] or 0) + 1
        self.options = options
        self._rows.execute("INSERT INTO runs (number, options, began) VALUES (?, ?, ?)", (self.run, options, began))

    def known_target(self, name: str) -> str | None:
        """The output's path that a source was given in an earlier run."""
        row = self._rows.execute("SELECT target FROM files WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def started(self) -> Iterator[str]:
        """The targets of sources that an earlier run had begun with when it was killed."""
        rows = self._rows.execute("SELECT target FROM files WHERE status = 'started'")
        return (str(row[0]) for row in rows.fetchall())

    def forget(self, name: str) -> None:
        """Forget what came of a source: it is to be converted in any case. What it may have written stays its own."""
        self._rows.execute("UPDATE files SET status = 'started', digest = '' WHERE name = ?", (name,))

    def written(self, name: str) -> bool:
        """Whether the source was converted before."""
        row = self._rows.execute("SELECT status FROM files WHERE name = ?", (name,)).fetchone()
        return row is not None and row[0] in ("done", "partly")

    def enter(self, items: Iterable[Item], *, again: bool = False) -> None:
        """Note that these sources are there; what changed since its outcome, or has none, is to be converted.

        With `again` that holds for what failed, too.
        """
        finished = [status for status in FINISHED if not (again and status == "failed")]
        marks = ", ".join("?" * len(finished))
        unchanged = f"options = excluded.options AND stamp = excluded.stamp AND status IN ({marks})"
        with self._transaction():
            self._rows.executemany(
                f"""INSERT INTO files (name, source, member, target, size, stamp, options, run, status, digest)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'waiting', '')
                    ON CONFLICT (name) DO UPDATE SET
                        status = CASE WHEN {unchanged} OR status = 'started' THEN status ELSE 'waiting' END,
                        digest = CASE WHEN options = excluded.options THEN digest ELSE '' END,
                        source = excluded.source, member = excluded.member, target = excluded.target,
                        size = excluded.size, stamp = excluded.stamp, options = excluded.options, run = excluded.run""",
                (
                    (
                        *(each.name, each.source, each.member, each.target, each.size, each.stamp, self.options),
                        self.run,
                        *finished,
                    )
                    for each in items
                ),
            )

    def pass_over(self, reasons: dict[str, int]) -> None:
        """Note how many files were not even looked at, by reason."""
        self._rows.execute("UPDATE runs SET passed_over = ? WHERE number = ?", (json.dumps(reasons), self.run))

    def waiting(self) -> tuple[int, int]:
        """How many sources of this run are to be converted, and their bytes."""
        row = self._rows.execute(
            f"SELECT count(*), coalesce(sum(size), 0) FROM files WHERE run = ? AND status NOT IN {FINISHED}",
            (self.run,),
        ).fetchone()
        return int(row[0]), int(row[1])

    def items(self) -> Iterator[Item]:
        """The sources of this run that are to be converted, by name; rows that change meanwhile do no harm."""
        last = ""
        while True:
            rows = self._rows.execute(
                f"""SELECT name, source, target, size, stamp, member, digest FROM files
                    WHERE run = ? AND status NOT IN {FINISHED} AND name > ? ORDER BY name LIMIT 1000""",
                (self.run, last),
            ).fetchall()
            if not rows:
                return
            for row in rows:
                yield Item(*row)
            last = rows[-1][0]

    def start(self, items: Iterable[Item]) -> None:
        """Note that these are being converted: their outputs may come to be at any moment."""
        with self._transaction():
            self._rows.executemany("UPDATE files SET status = 'started' WHERE name = ?", ((e.name,) for e in items))

    def finish(self, outcomes: Iterable[Outcome]) -> None:
        """Note what came of sources."""
        with self._transaction():
            for each in outcomes:
                if each.status == "same":
                    self._rows.execute(
                        "UPDATE files SET status = json_extract(outcome, '$.status') WHERE name = ?", (each.name,)
                    )
                    continue
                self._rows.execute(
                    "UPDATE files SET status = ?, digest = ?, needs_a_look = ?, outcome = ? WHERE name = ?",
                    (each.status, each.digest, each.needs_a_look, json.dumps(dataclasses.asdict(each)), each.name),
                )

    def owns(self, target: str) -> bool:
        """Whether an output of this path is the batch's own: it was written, or may have been."""
        row = self._rows.execute(
            "SELECT 1 FROM files WHERE target = ? AND (status <> 'waiting' OR outcome IS NOT NULL) LIMIT 1",
            (target,),
        ).fetchone()
        return row is not None

    # -- afterwards ------------------------------------------------------------------------------------------------

    def outcomes(self) -> Iterator[tuple[Item, Outcome]]:
        """What came of each source of this run, by name."""
        last = ""
        while True:
            rows = self._rows.execute(
                """SELECT name, source, target, size, stamp, member, digest, status, outcome FROM files
                   WHERE run = ? AND name > ? ORDER BY name LIMIT 1000""",
                (self.run, last),
            ).fetchall()
            if not rows:
                return
            for row in rows:
                values = json.loads(row[8]) if row[8] else {"name": row[0], "status": "stopped"}
                outcome = Outcome(**values)
                if row[7] in ("waiting", "started"):
                    outcome = Outcome(row[0], "stopped", message="The run ended before it was converted.")
                yield Item(*row[:7]), outcome
            last = rows[-1][0]

    def statuses(self) -> Counter[str]:
        """How many sources of this run have which outcome."""
        rows = self._rows.execute("SELECT status, count(*) FROM files WHERE run = ? GROUP BY status", (self.run,))
        return Counter(dict(rows.fetchall()))

    def need_a_look(self) -> int:
        """How many sources of this run a person should look at."""
        row = self._rows.execute(
            "SELECT count(*) FROM files WHERE run = ? AND needs_a_look AND status <> 'waiting'", (self.run,)
        ).fetchone()
        return int(row[0])

    def passed_over(self) -> dict[str, int]:
        """What `pass_over` noted."""
        row = self._rows.execute("SELECT passed_over FROM runs WHERE number = ?", (self.run,)).fetchone()
        found: dict[str, int] = json.loads(row[0])
        return found

    def _transaction(self) -> _Transaction:
        return _Transaction(self._rows, self.folder / LEDGER)


def finished_items(folder: Path, options: str) -> Callable[[Item], bool]:
    """Tells of an item whether the ledger in a folder knows it as finished with these options; changes nothing."""
    path = folder / LEDGER
    if not path.is_file():
        return lambda item: False
    marks = ", ".join("?" * len(FINISHED))
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as rows:
            query = f"SELECT name, stamp FROM files WHERE options = ? AND status IN ({marks})"
            stamps: dict[str, str] = dict(rows.execute(query, (options, *FINISHED)).fetchall())
    except sqlite3.Error as error:
        raise _unwritable(path, str(error)) from None
    return lambda item: stamps.get(item.name) == item.stamp


class _Transaction:
    def __init__(self, rows: sqlite3.Connection, path: Path) -> None:
        self._rows = rows
        self._path = path

    def __enter__(self) -> None:
        self._rows.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self._rows.execute("COMMIT" if kind is None else "ROLLBACK")
        except sqlite3.OperationalError as failure:
            raise _unwritable(self._path, str(failure)) from None
        if isinstance(error, sqlite3.OperationalError):
            raise _unwritable(self._path, str(error)) from None


def _unwritable(path: Path, reason: str) -> UsageFault:
    return UsageFault(
        f"the ledger of the batch cannot be written ({reason})",
        source=str(path),
        next_step="Free some space or choose another folder, and run it again: it goes on where it was.",
    )
