"""A batch from the first look at its sources to its report."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from loomconv.batch.engines import Engine, partitions
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.ledger import Ledger, finished_items
from loomconv.batch.scan import BATCH_FOLDER, Scan, is_url
from loomconv.errors import DiskFull, LoomconvError, UsageFault
from loomconv.format import Probe
from loomconv.registry import default_registry
from loomconv.storage import open_source

__all__ = ["Batch", "Planned", "Tally", "check_target", "ledger_folder", "plan"]

_ENTERED_AT_ONCE: Final = 1000

# Called with each outcome, and the tally so far.
Observer = Callable[[Outcome, "Tally"], None]


@dataclass(slots=True)
class Tally:
    """How far a run is: `waiting` is what there was to do when it began, `unchanged` what was done before."""

    waiting: int = 0
    waiting_bytes: int = 0
    unchanged: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    need_a_look: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> int:
        """How many sources of this run have an outcome."""
        return sum(self.statuses.values())


@dataclass(slots=True)
class Batch:
    """Sources, a target folder, and who does the work.

    `again` tries once more what failed before, `overwrite` lets outputs replace files that the batch did not write, and
    files that were written to in the last `settle` seconds are not taken yet. `job_size` is how many bytes of sources
    go to a worker at once.
    """

    sources: Sequence[str]
    settings: Settings
    engine: Engine
    folder: Path
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    backups: bool = False
    keep_list: bool = False
    again: bool = False
    overwrite: bool = False
    job_size: int | None = None
    settle: float = 0.0
    # What looked for the sources of the last run.
    last_scan: Scan | None = None

    def scan(self, ledger: Ledger | None) -> Scan:
        """What looks for the sources."""
        return Scan(
            self.sources,
            self.settings.target_root,
            list(default_registry().formats.values()),
            self.settings.suffix,
            ledger,
            self.include,
            self.exclude,
            self.backups,
            self.keep_list,
            self.settings.options.limits,
            self.settle,
        )

    def run(self, ledger: Ledger, observe: Observer, *, started: Callable[[Tally], None] | None = None) -> Tally:
        """Convert what is not converted yet; every outcome is in the ledger when it is observed.

        Raises DiskFull when the target takes nothing any more; what was done is in the ledger.
        """
        tally = Tally()
        if not is_url(self.settings.target_root):
            _remove_leftovers({(Path(self.settings.target_root) / target).parent for target in ledger.started()})
        ledger.begin(self.options_digest(), datetime.now(UTC).isoformat(timespec="seconds"))
        self.last_scan = scan = self.scan(ledger)
        found = self._enter(scan, ledger)
        tally.passed_over = scan.passed_over
        tally.waiting, tally.waiting_bytes = ledger.waiting()
        tally.unchanged = found - tally.waiting
        ledger.pass_over(dict(scan.passed_over))
        if started is not None:
            started(tally)
        blocked: list[Outcome] = []
        work = self._work(ledger, blocked)
        for outcomes in self.engine.run(work, self.settings):
            self._note(ledger, [*outcomes, *blocked], tally, observe)
            blocked.clear()
            fatal = next((each for each in outcomes if each.fatal), None)
            if fatal is not None:
                raise DiskFull(
                    f"the batch ends here. {fatal.name}: {fatal.message.rstrip('.')}",
                    source=self.settings.target_root,
                    next_step="Make room and run it again: it goes on where it was.",
                )
        self._note(ledger, blocked, tally, observe)
        return tally

    def options_digest(self) -> str:
        """A digest of all that changes an output."""
        chosen = self.settings
        parts = (chosen.target_format, chosen.suffix, chosen.source_format, chosen.split, repr(chosen.options))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _enter(self, scan: Scan, ledger: Ledger) -> int:
        found = 0
        pending: list[Item] = []
        for item in scan.items():
            if ledger.written(item.name) and not self._is_there(item):
                ledger.forget(item.name)
            pending.append(item)
            found += 1
            if len(pending) == _ENTERED_AT_ONCE:
                ledger.enter(pending, again=self.again)
                pending.clear()
        ledger.enter(pending, again=self.again)
        return found

    def _is_there(self, item: Item) -> bool:
        root = self.settings.target_root
        # Asking a store for each of ten million objects would take longer than the conversion.
        if is_url(root) or self.settings.split:
            return True
        return (Path(root) / item.target).exists()

    def _work(self, ledger: Ledger, blocked: list[Outcome]) -> Iterator[list[Item]]:
        more = {} if self.job_size is None else {"size": self.job_size, "count": 10_000}
        for part in partitions(ledger.items(), **more):
            free = []
            for item in part:
                if self._is_in_the_way(item, ledger):
                    blocked.append(Outcome(item.name, "stopped", message=f"A file is in the way: {item.target}."))
                else:
                    free.append(item)
            ledger.start(free)
            if free:
                yield free

    def _is_in_the_way(self, item: Item, ledger: Ledger) -> bool:
        """Whether a file stands where the output belongs that no run of this batch has written."""
        if self.overwrite or is_url(self.settings.target_root) or ledger.owns(item.target):
            return False
        return (Path(self.settings.target_root) / item.target).exists()

    def _note(self, ledger: Ledger, outcomes: Iterable[Outcome], tally: Tally, observe: Observer) -> None:
        outcomes = list(outcomes)
        if not outcomes:
            return
        ledger.finish(outcomes)
        for outcome in outcomes:
            tally.statuses[outcome.status] += 1
            tally.need_a_look += outcome.needs_a_look
            observe(outcome, tally)


def _remove_leftovers(folders: set[Path]) -> None:
    """Remove half-written files of processes that were killed."""
    for folder in folders:
        for path in folder.glob(".loomconv-*.tmp"):
            process = path.name.split("-")[1]
            if process.isdecimal() and not _is_alive(int(process)):
                with suppress(OSError):
                    path.unlink()


def _is_alive(process: int) -> bool:
    """Whether the process still runs; on Windows, where its open files cannot be removed anyway, always no."""
    if os.name == "nt":
        return False
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        # Killed, but not yet fetched by its parent.
        return not (status.exists() and status.read_text("utf-8").rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True


@dataclass(frozen=True, slots=True)
class Planned:
    """What would become of a source."""

    name: str
    format: str
    target: str
    reason: str = ""


def plan(batch: Batch, passed_over: Counter[str]) -> Iterator[Planned]:
    """What a run would do, without writing anything: a look at the beginning of each source.

    What the ledger knows as done, and has not changed since, is left out.
    """
    registry = default_registry()
    scan = batch.scan(None)
    is_done = finished_items(batch.folder, batch.options_digest())
    for item in scan.items():
        if is_done(item):
            passed_over["done before"] += 1
            continue
        if item.member is not None or is_url(item.source):
            yield Planned(item.name, batch.settings.source_format or "?", item.target)
            continue
        try:
            with open_source(item.source, batch.settings.options.limits) as source:
                chosen, _ = registry.detect(Probe(source.data, source.name, source=source))
        except LoomconvError as error:
            yield Planned(item.name, "", "", error.message)
            continue
        target = Path(batch.settings.target_root) / item.target
        reason = "a file is there" if not is_url(batch.settings.target_root) and target.exists() else ""
        yield Planned(item.name, batch.settings.source_format or chosen.name, item.target, reason)
    passed_over.update(scan.passed_over)


def ledger_folder(target_root: str, given: Path | None) -> Path:
    """Where the ledger and the report go: into the target folder, or for a store into the current one."""
    if given is not None:
        return given
    if not is_url(target_root):
        return Path(target_root) / BATCH_FOLDER
    return Path(f"{BATCH_FOLDER}-{hashlib.sha256(target_root.encode()).hexdigest()[:12]}")


def check_target(sources: Sequence[str], target_root: str) -> None:
    """Originals are never touched: the target is no source. Raises UsageFault."""
    for where in sources:
        if not is_url(where) and not is_url(target_root) and Path(where).resolve() == Path(target_root).resolve():
            raise UsageFault(
                "source and target are the same folder", source=target_root, next_step="Choose another target folder."
            )
        if where.rstrip("/") == target_root.rstrip("/"):
            raise UsageFault("source and target are the same", source=target_root, next_step="Choose another target.")
