"""What is measured: the rows of the table, each a measurement and the floor that it is held against."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from benchmarks.generate import generate
from benchmarks.synthetic import Mix, Shape

__all__ = ["ROWS", "SOURCES", "Row", "SourceKind", "Unit"]

# Times of the floor; MB/s from below; peak and private memory in sizes of the file; times of the bare interpreter.
Unit = Literal["floor", "rate", "memory", "private", "start"]

# Above this number of nodes the goal for large files holds.
_LARGE: Final = 300_000
_EXACT_NODES: Final = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceKind:
    """One generated file. `floor` names the file whose floor, byte for byte, counts where orjson refuses this one."""

    format: str
    suffix: str
    shape: Shape = "bushy"
    mix: Mix = field(default_factory=Mix)
    floor: str = ""
    most_nodes: int | None = None

    def make(self, path: Path, nodes: int) -> None:
        """Write it for a run of that size."""
        bounded = nodes if self.most_nodes is None else min(nodes, self.most_nodes)
        generate(path, self.format, bounded, shape=self.shape, mix=self.mix)


_HALVES: Final = Mix(surrogates=2)

SOURCES: Final[dict[str, SourceKind]] = {
    "openloom-2": SourceKind(format="openloom-2", suffix=".openloom"),
    "openloom-1": SourceKind(format="openloom-1", suffix=".openloom.json"),
    "socketteer": SourceKind(format="socketteer", suffix=".json"),
    "chain": SourceKind(
        format="socketteer", suffix=".json", shape="chain", floor="openloom-2", most_nodes=_EXACT_NODES
    ),
    "halves-1": SourceKind(format="openloom-1", suffix=".openloom.json", mix=_HALVES, floor="openloom-1"),
    "halves-2": SourceKind(format="openloom-2", suffix=".openloom", mix=_HALVES, floor="openloom-2"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One row: `operation` on a source, converting to `target`; `goal` bounds the `unit`, `large_goal` large files'."""

    id: str
    what: str
    operation: str
    source: str = "openloom-2"
    target: str = "openloom-2"
    unit: Unit = "floor"
    goal: float
    large_goal: float | None = None

    def goal_at(self, nodes: int) -> float:
        """The goal for a run of that size."""
        return self.large_goal if self.large_goal is not None and nodes > _LARGE else self.goal

    @property
    def formats(self) -> set[str]:
        """The formats that have to be installed."""
        return {SOURCES[self.source].format, self.target} if self.operation.startswith("convert") else set()


def _foreign(source: str, target: str) -> Row:
    what = f"{source} → {target}, unknown kept, losses counted"
    return Row(id="P3", what=what, operation="convert", source=source, target=target, goal=1.0, large_goal=1.3)


def _memory(unit: Unit, what: str, source: str, target: str, goal: float) -> Row:
    what = f"{what} of {source} → {target}"
    return Row(id="P5", what=what, operation="convert", source=source, target=target, unit=unit, goal=goal)


def _exact(what: str, source: str, target: str, operation: str = "convert") -> Row:
    return Row(id="P7", what=what, operation=operation, source=source, target=target, unit="rate", goal=10)


ROWS: Final[tuple[Row, ...]] = (
    Row(id="P1", what="same format, untouched", operation="convert", goal=0.5),
    Row(id="P2", what="P1 with a byte proof", operation="convert-proved", goal=0.7),
    _foreign("openloom-1", "openloom-2"),
    _foreign("openloom-2", "openloom-1"),
    _foreign("socketteer", "openloom-2"),
    _foreign("openloom-2", "socketteer"),
    _memory("memory", "peak memory", "openloom-1", "openloom-2", 2),
    _memory("private", "its private part", "openloom-1", "openloom-2", 1),
    _memory("memory", "peak memory", "openloom-2", "openloom-1", 2),
    _memory("private", "its private part", "openloom-2", "openloom-1", 1),
    _exact("deep chain, the exact reader alone", "chain", "", "load-exactly"),
    _exact("deep chain, socketteer → openloom-2", "chain", "openloom-2"),
    _exact("half characters in 2 % of texts, openloom-1 → openloom-2", "halves-1", "openloom-2"),
    _exact("half characters in 2 % of texts, openloom-2 → openloom-1", "halves-2", "openloom-1"),
    Row(id="P10", what="`loomconv --version`", operation="version", unit="start", goal=6),
    Row(
        id="P10",
        what="`loomconv convert` of 1 kB",
        operation="convert-small",
        target="openloom-1",
        unit="start",
        goal=12,
    ),
)
