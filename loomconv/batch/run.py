"""A batch from the first look at its sources to its report."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from loomconv.batch.contents import Members, close_archives, opened
from loomconv.batch.engines import Engine, partitions
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.ledger import Former, Ledger
from loomconv.batch.leftovers import remove_leftovers
from loomconv.batch.local import is_there
from loomconv.batch.places import is_another, is_url, obstacle, without_password
from loomconv.batch.scan import BATCH_FOLDER, Scan
from loomconv.errors import DiskFull, LoomconvError, UsageFault
from loomconv.format import Probe
from loomconv.registry import default_registry

__all__ = ["Batch", "Planned", "Tally", "ledger_folder", "plan"]

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

    `again` tries once more what failed before, and files that were written to in the last `settle` seconds are not
    taken yet. `job_size` is how many bytes of sources go to a worker at once.
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
    job_size: int | None = None
    settle: float = 0.0
    # See `Scan.looked_into`.
    looked_into: dict[str, tuple[str, Members | None]] | None = None
    # What looked for the sources of the last run.
    last_scan: Scan | None = None

    def scan(self, former: Former | None) -> Scan:
        """What looks for the sources."""
        return Scan(
            self.sources,
            self.settings.target_root,
            list(default_registry().formats.values()),
            self.settings.suffix,
            former,
            self.include,
            self.exclude,
            self.backups,
            self.keep_list,
            self.settings.options.limits,
            settle=self.settle,
            splitting=self.settings.split,
            looked_into=self.looked_into,
        )

    def run(self, ledger: Ledger, observe: Observer, *, started: Callable[[Tally], None] | None = None) -> Tally:
        """Convert what is not converted yet; every outcome is in the ledger when it is observed.

        Raises DiskFull when the target takes nothing any more; what was done is in the ledger.
        """
        tally = Tally()
        remove_leftovers(ledger.started(), self.settings)
        ledger.begin(self.options_digest(), datetime.now(UTC).isoformat(timespec="seconds"))
        self.last_scan = scan = self.scan(ledger)
        troubles: list[Outcome] = []
        found = self._enter(scan, ledger, troubles)
        ledger.finish(troubles)
        tally.passed_over = scan.passed_over
        tally.waiting, tally.waiting_bytes = ledger.waiting()
        tally.unchanged = found - tally.waiting - len(troubles)
        ledger.pass_over(dict(scan.passed_over))
        if started is not None:
            started(tally)
        self._note(ledger, troubles, tally, observe)
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
        parts = [chosen.target_format, chosen.suffix, chosen.source_format, chosen.split, repr(chosen.options)]
        # A folder may be moved with what is in it. Whether it is another one shows, but not in a store.
        if is_url(chosen.target_root):
            parts.append(chosen.target_root.rstrip("/"))
        return hashlib.sha256(repr(tuple(parts)).encode()).hexdigest()

    def _enter(self, scan: Scan, ledger: Ledger, troubles: list[Outcome]) -> int:
        found = 0
        pending: list[Item] = []
        for item in scan.items():
            if item.trouble:
                troubles.append(Outcome(item.name, "failed", message=item.trouble))
            pending.append(item)
            found += 1
            if len(pending) == _ENTERED_AT_ONCE:
                self._enter_all(pending, ledger)
                pending.clear()
        self._enter_all(pending, ledger)
        return found

    def _enter_all(self, items: list[Item], ledger: Ledger) -> None:
        for each in items:
            self._check_source(each, ledger)
        ledger.forget([each.name for each in items if self._is_missing(each, ledger)])
        ledger.enter(items, again=self.again)

    def _check_source(self, item: Item, former: Former) -> None:
        """Raise UsageFault if the name is that of another source, which is there still: it would lose its output."""
        known = None if self.settings.overwrite else former.known_source(item.name)
        if known is not None and is_another(known, item.source):
            raise UsageFault(
                f"{item.name} was converted into this folder from {without_password(known)}, which is another file",
                source=self.settings.target_root,
                next_step="Choose another target folder, or name all sources in one run; --overwrite replaces it.",
            )

    def _is_missing(self, item: Item, former: Former) -> bool:
        """Whether an output of a source that was converted is not there any more."""
        root = self.settings.target_root
        # Asking a store for each of ten million objects would take longer than the conversion.
        if is_url(root):
            return False
        return any(not is_there(f"{root}/{each}") for each in former.converted(item.name) or ())

    def _work(self, ledger: Ledger, blocked: list[Outcome]) -> Iterator[list[Item]]:
        more = {} if self.job_size is None else {"size": self.job_size, "count": 10_000}
        for part in partitions(ledger.items(), **more):
            free = []
            for item in part:
                message = self._obstacle(item)
                if message:
                    blocked.append(Outcome(item.name, "stopped", message=message))
                else:
                    free.append(item)
            ledger.start(free)
            if free:
                yield free

    def _obstacle(self, item: Item) -> str:
        """What stands where the output belongs, as a message; what is in a store is not asked."""
        return "" if is_url(self.settings.target_root) else obstacle(item, self.settings)

    def _note(self, ledger: Ledger, outcomes: Iterable[Outcome], tally: Tally, observe: Observer) -> None:
        outcomes = list(outcomes)
        if not outcomes:
            return
        ledger.finish(outcomes)
        for outcome in outcomes:
            tally.statuses[outcome.status] += 1
            tally.need_a_look += outcome.needs_a_look
            observe(outcome, tally)


@dataclass(frozen=True, slots=True)
class Planned:
    """What would become of a source."""

    name: str
    format: str
    target: str
    reason: str = ""


def plan(batch: Batch, passed_over: Counter[str]) -> Iterator[Planned]:
    """What a run would do, without writing anything: a look at the beginning of each source.

    What the ledger knows as done, and has not changed since, is left out. Objects of a store are fetched for that.
    """
    with Former(batch.folder) as former:
        scan = batch.scan(former)
        options = batch.options_digest()
        for item in scan.items():
            batch._check_source(item, former)
            if former.is_finished(item, options, again=batch.again) and not batch._is_missing(item, former):
                passed_over["done before"] += 1
            else:
                yield _planned(batch, item, former)
        close_archives()
        passed_over.update(scan.passed_over)


def _planned(batch: Batch, item: Item, former: Former) -> Planned:
    chosen = batch.settings
    if item.trouble:
        return Planned(item.name, "", "", item.trouble)
    try:
        with opened(item, chosen.options.limits) as source:
            found = default_registry().detect(Probe(source.data, source.name, source=source))[0].name
    except LoomconvError as error:
        return Planned(item.name, "", "", error.message)
    except OSError as error:
        return Planned(item.name, "", "", error.strerror or "it cannot be read")
    item = replace(item, own=former.outputs_of(item.name), bold=former.was_started(item.name))
    reason = batch._obstacle(item)
    return Planned(item.name, chosen.source_format or found, "" if reason else item.target, reason)


def ledger_folder(target_root: str, given: Path | None) -> Path:
    """Where the ledger and the report go: into the target folder, or for a store into the current one."""
    if given is not None:
        return given
    if not is_url(target_root):
        return Path(target_root) / BATCH_FOLDER
    return Path(f"{BATCH_FOLDER}-{hashlib.sha256(target_root.encode()).hexdigest()[:12]}")
