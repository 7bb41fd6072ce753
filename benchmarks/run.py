"""Measures loomconv and prints a Markdown table of ratios: `python -m benchmarks.run`.

    --nodes N       size of the generated looms (default 100,000)
    --rounds R      how often each measurement runs (default 5); the shortest time counts
    --only P1,P3    some rows only
    --json FILE     everything that was measured
    --fail-above X  exit status 1 when a row misses its goal by more than that factor

Makes its files in a temporary folder (`TMPDIR` says where) and removes them. The exit status is 1, too, when a
measurement fails.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks.plan import ROWS, SOURCES, Row
from benchmarks.results import Result, table
from benchmarks.rounds import MeasurementFailed, Samples, child_environment, interleaved, measured, private_peak, warm
from benchmarks.startup import bare_start, command_found, small_conversion, version_shown
from loomconv.registry import default_registry

__all__ = ["main"]

_PACKAGES: Final = ("loomconv", "msgspec", "orjson", "click", "pluggy")

Measurement = Callable[[], dict[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Measure loomconv against a floor.")
    parser.add_argument("--nodes", type=int, default=100_000, help="size of the generated looms")
    parser.add_argument("--rounds", type=int, default=5, help="how often each measurement runs")
    parser.add_argument("--only", default="", help="ids of rows, separated by commas")
    parser.add_argument("--json", type=Path, help="file for everything that was measured")
    parser.add_argument("--fail-above", type=float, help="exit status 1 when a goal is missed by more than this factor")
    given = parser.parse_args(arguments)
    wanted = {name.strip() for name in given.only.split(",") if name.strip()}
    if unknown := sorted(wanted - {row.id for row in ROWS}):
        parser.error(f"no such rows: {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="loomconv-benchmarks-") as folder:
        run = _Run(Path(folder), given.nodes, given.rounds)
        results = run.results([row for row in ROWS if not wanted or row.id in wanted])
    print(table(results, given.nodes, given.rounds))
    if given.json:
        document = {"machine": _machine(), "nodes": given.nodes, "rounds": given.rounds}
        document["rows"] = [_as_json(result) for result in results]
        given.json.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    missed = given.fail_above and any(result.misses_by(given.nodes) > given.fail_above for result in results)
    return 1 if missed or any(result.samples and result.samples.failure for result in results) else 0


def _machine() -> dict[str, Any]:
    packages = {name: version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "system": platform.platform(), "packages": packages}


def _as_json(result: Result) -> dict[str, Any]:
    return {
        **asdict(result.row),
        "reached": result.reached,
        "timesFloor": result.times_floor,
        "note": result.note,
        "samples": result.samples.facts if result.samples else [],
        "floorSamples": result.floor.facts if result.floor else [],
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Run:
    """One run: makes the files that the rows need, measures, and holds what came out against the floors."""

    def __init__(self, folder: Path, nodes: int, rounds: int) -> None:
        self.folder = folder
        self.nodes = nodes
        self.rounds = rounds
        self.command = command_found()
        self.environment = child_environment(folder / "bytecode")

    def results(self, rows: Sequence[Row]) -> list[Result]:
        """All rows, in order; one whose format is not installed, or that failed, says so."""
        trouble = {row: self._obstacle(row) for row in rows}
        possible = [row for row in rows if not trouble[row]]
        self._make_sources(possible)
        measurements: dict[str, Measurement] = {}
        for row in possible:
            measurements.setdefault(_floor_key(row), self._floor(row))
            measurements.setdefault(_key(row), self._subject(row))
        samples = interleaved(measurements, self.rounds, _say)
        return [self._result(row, trouble[row], samples) for row in rows]

    def _obstacle(self, row: Row) -> str:
        """Why a row cannot be measured here; empty when it can."""
        missing = sorted(row.formats - default_registry().formats.keys())
        if missing:
            return f"not measured: {', '.join(missing)} is not installed"
        return "not measured: the command is not installed" if row.unit == "start" and self.command is None else ""

    # -- files -------------------------------------------------------------------------------------------------

    def _path(self, source: str) -> Path:
        return self.folder / f"{source}{SOURCES[source].suffix}"

    def _make_sources(self, rows: Sequence[Row]) -> None:
        needed = dict.fromkeys(
            name for row in rows if row.unit != "start" for name in (row.source, SOURCES[row.source].floor) if name
        )
        for name in needed:
            _say(f"making {name}")
            SOURCES[name].make(self._path(name), self.nodes)
        warm(self._path(name) for name in needed)

    # -- measurements ------------------------------------------------------------------------------------------

    def _floor(self, row: Row) -> Measurement:
        if row.unit == "start":
            return bare_start(self.environment)
        arguments = ["floor", str(self._path(SOURCES[row.source].floor or row.source)), str(self.folder / "floor.out")]
        return lambda: measured(arguments, self.environment)

    def _subject(self, row: Row) -> Measurement:
        if row.unit != "start":
            arguments = self._arguments(row)
            return lambda: measured(arguments, self.environment)
        assert self.command is not None  # `_obstacle` has seen to it
        if row.operation == "version":
            return version_shown(self.command, self.environment)
        return small_conversion(self.command, self.folder, row.target, self.environment)

    def _arguments(self, row: Row) -> list[str]:
        return [row.operation, str(self._path(row.source)), str(self.folder / "subject.out"), row.target]

    def _result(self, row: Row, trouble: str, samples: dict[str, Samples]) -> Result:
        if trouble:
            return Result(row, trouble=trouble)
        own, floor = samples[_key(row)], samples[_floor_key(row)]
        failure = own.failure or floor.failure
        result = Result(row, own, floor, trouble=f"failed: {failure}" if failure else "")
        if row.unit == "private" and not failure:
            try:
                result.private = private_peak(self._arguments(row), self.environment)
            except MeasurementFailed as error:
                result.trouble = f"failed: {error}"
        return result


def _key(row: Row) -> str:
    return f"{row.operation} {row.source} → {row.target}"


def _floor_key(row: Row) -> str:
    return "floor of starts" if row.unit == "start" else f"floor of {SOURCES[row.source].floor or row.source}"


if __name__ == "__main__":
    raise SystemExit(main())
