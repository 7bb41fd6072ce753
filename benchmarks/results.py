"""What came out: a row's figure against its floor, and the table of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.plan import SOURCES, Row, Unit
from benchmarks.rounds import Samples

__all__ = ["Result", "table"]

# Median by minimum from which on a figure is marked as one of a noisy machine.
_NOISY: Final = 1.15

_GOALS: Final[dict[Unit, str]] = {
    "floor": "≤ {:g} F",
    "rate": "≥ {:g} MB/s",
    "memory": "≤ {:g} × file",
    "private": "≤ {:g} × file",
    "start": "≤ {:g} × bare start",
}
_FIGURES: Final[dict[Unit, str]] = {
    "floor": "{:.2f} F",
    "rate": "{:.1f} MB/s",
    "memory": "{:.2f} × file",
    "private": "{:.2f} × file",
    "start": "{:.1f} × bare start",
}


@dataclass(slots=True)
class Result:
    """A row and its samples. `floor` are the samples of what it is held against; `private` is in bytes.

    `trouble` says why there is no figure.
    """

    row: Row
    samples: Samples | None = None
    floor: Samples | None = None
    private: int | None = None
    trouble: str = ""

    @property
    def floor_of(self) -> str:
        """The file that the floor was measured on."""
        return SOURCES[self.row.source].floor or self.row.source

    @property
    def reached(self) -> float | None:
        """The figure in the row's unit; None when there is none."""
        if self.trouble or self.samples is None:
            return None
        size = float(self.samples.facts[0].get("size", 0))
        if self.row.unit == "memory":
            return self.samples.median("peak") / size or None
        if self.row.unit == "private":
            return self.private / size if self.private else None
        return self.samples.rate if self.row.unit == "rate" else self.times_floor

    @property
    def times_floor(self) -> float | None:
        """The time as a multiple of the floor's, byte for byte where that was measured on another file."""
        return self._times_floor(processor=False)

    def _times_floor(self, *, processor: bool) -> float | None:
        if self.trouble or self.samples is None or self.floor is None:
            return None
        own, floor = self.samples.best, self.floor.best
        if processor:
            if self.samples.best_processor is None or self.floor.best_processor is None:
                return None
            own, floor = self.samples.best_processor, self.floor.best_processor
        sizes: float = self.floor.facts[0].get("size", 1) / self.samples.facts[0].get("size", 1)
        return own / floor * sizes

    def misses_by(self, nodes: int) -> float:
        """By which factor the goal is missed; at most 1 when it is reached, 0 without a figure."""
        if self.reached is None:
            return 0.0
        goal = self.row.goal_at(nodes)
        return goal / self.reached if self.row.unit == "rate" else self.reached / goal

    @property
    def note(self) -> str:
        """What has to be known about the figure."""
        if self.trouble or self.samples is None:
            return self.trouble
        if self.row.unit == "private":
            return "" if self.private else "not known on this system"
        notes = []
        facts: dict[str, Any] = self.samples.facts[0]
        if self.row.unit == "memory":
            own = self.samples.median("peak") - self.samples.median("peakBefore")
            return f"{own / facts['size']:.2f} × above what the imports take"
        if self.row.unit == "rate" and self.times_floor is not None:
            notes.append(f"{self.times_floor:.2f} F byte for byte")
        if self.row.unit == "floor" and facts.get("losses"):
            notes.append(f"{facts['losses']:,} losses reported")
        if self.row.unit == "start":
            notes.append(f"{self.samples.best * 1000:.0f} ms")
        notes.extend(self._noise())
        return "; ".join(notes)

    @property
    def rate_shown(self) -> str:
        """Millions of source bytes a second, where the row is about time."""
        if self.trouble or self.samples is None or self.row.unit in ("memory", "private"):
            return ""
        return "" if self.samples.rate is None else f"{self.samples.rate:.0f}"

    def _noise(self) -> list[str]:
        """A word of warning when the times vary, with the ratio of processor times, which vary less."""
        spreads = [samples.spread for samples in (self.samples, self.floor) if samples is not None]
        if max(spreads) < _NOISY:
            return []
        processor = self._times_floor(processor=True)
        by_processor = "" if processor is None else f", {processor:.2f} F of processor time"
        return [f"noisy: median/min {max(spreads):.2f}{by_processor}"]


def table(results: Sequence[Result], nodes: int, rounds: int) -> str:
    """The results as a Markdown table, with a line before it that says what was measured."""
    floors = {
        result.floor_of: f"{result.floor_of} {result.floor.best:.3f} s ({result.floor.rate:.0f} MB/s)"
        for result in results
        if not result.trouble and result.floor is not None and result.floor.rate is not None
    }
    lines = [
        f"{nodes:,} nodes, best of {rounds} interleaved rounds. "
        + (f"F: {', '.join(floors.values())}." if floors else "No floor was measured."),
        "",
        "| id | what | target | reached | MB/s | note |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        row, reached = result.row, result.reached
        goal = _GOALS[row.unit].format(row.goal_at(nodes))
        figure = "–" if reached is None else _FIGURES[row.unit].format(reached)
        if result.misses_by(nodes) > 1:
            figure += " ✗"
        lines.append(f"| {row.id} | {row.what} | {goal} | {figure} | {result.rate_shown} | {result.note} |")
    return "\n".join(lines)
