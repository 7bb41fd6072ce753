"""How far a batch is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Final, Protocol, TextIO

from loomconv.batch.items import Outcome
from loomconv.batch.run import Tally
from loomconv.cli.terminal import neutralised, print_message

__all__ = ["Progress", "progress_for"]

_EVERY: Final = 10.0
# Failures that are told one by one; the report has all of them.
_MOST_TOLD: Final = 20


class Progress(Protocol):
    """Is told how a run goes."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self, tally: Tally) -> None:
        """The sources are known."""

    def note(self, outcome: Outcome, tally: Tally) -> None:
        """A source has an outcome."""


def progress_for(stream: TextIO | None, *, quiet: bool) -> Progress:
    """Nothing when quiet, a bar for a terminal, else lines."""
    if quiet or stream is None:
        return _Silent()
    return _Bar() if stream.isatty() else _Lines()


class _Silent:
    def __enter__(self) -> _Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put away."""

    def begin(self, tally: Tally) -> None:
        """See `Progress.begin`."""

    def note(self, outcome: Outcome, tally: Tally) -> None:
        """See `Progress.note`."""


class _Lines(_Silent):
    """A line every ten seconds, and one for each of the first failures."""

    def __init__(self) -> None:
        self._told = 0
        self._last = time.monotonic()

    def begin(self, tally: Tally) -> None:
        print_message(f"{tally.waiting:,} files to convert, {tally.unchanged:,} done before")

    def note(self, outcome: Outcome, tally: Tally) -> None:
        self._tell(outcome)
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            rate = tally.finished / max(now - tally.began, 0.001)
            left = (tally.waiting - tally.finished) / max(rate, 0.001)
            print_message(
                f"{tally.finished:,} of {tally.waiting:,} files, {rate:,.0f} a second, {_duration(left)} left"
            )

    def _tell(self, outcome: Outcome) -> None:
        if outcome.status in ("failed", "stopped", "partly") and self._told <= _MOST_TOLD:
            self._told += 1
            if self._told > _MOST_TOLD:
                self._print("more failed; the report lists them all")
            else:
                words = outcome.message or "saved in part"
                self._print(neutralised(f"{outcome.name}: {words}"))

    def _print(self, text: str) -> None:
        print_message(text)


class _Bar(_Lines):
    """A bar with rate and time left."""

    def __enter__(self) -> _Bar:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("looking for files", total=None, rate="")
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, tally: Tally) -> None:
        self._progress.update(self._task, description="converting", total=tally.waiting)

    def note(self, outcome: Outcome, tally: Tally) -> None:
        self._tell(outcome)
        rate = tally.finished / max(time.monotonic() - tally.began, 0.001)
        self._progress.update(self._task, completed=tally.finished, rate=f"{rate:,.0f}/s")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
