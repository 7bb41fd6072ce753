"""Runs measurements as child processes, interleaved, so that a busy minute of the machine hits all of them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.memory import memory_of

__all__ = [
    "Environment",
    "MeasurementFailed",
    "Samples",
    "child_environment",
    "interleaved",
    "measured",
    "private_peak",
    "warm",
]

_ROOT: Final = Path(__file__).resolve().parent.parent
_LOOK_EVERY: Final = 0.002


Environment = Mapping[str, str]


class MeasurementFailed(Exception):
    """A child process ended badly; the message has the last line that it said."""


@dataclass(slots=True)
class Samples:
    """All samples of one measurement, in order; `failure` says why there are no more."""

    facts: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""

    @property
    def best(self) -> float:
        """The shortest time in seconds."""
        return float(min(self._of("seconds")))

    @property
    def best_processor(self) -> float | None:
        """The least processor time in seconds; None where only the time from outside is known."""
        return float(min(self._of("processor"))) if "processor" in self.facts[0] else None

    @property
    def spread(self) -> float:
        """Median by minimum of the times: 1.0 on a quiet machine."""
        return statistics.median(self._of("seconds")) / self.best

    @property
    def rate(self) -> float | None:
        """Millions of source bytes a second, at best; None where no file is read."""
        return self.facts[0]["size"] / self.best / 1e6 if "size" in self.facts[0] else None

    def median(self, name: str) -> float:
        """The median of one fact."""
        return statistics.median(self._of(name))

    def _of(self, name: str) -> list[float]:
        return [fact[name] for fact in self.facts]


def interleaved(
    measurements: Mapping[str, Callable[[], dict[str, Any]]], rounds: int, say: Callable[[str], None]
) -> dict[str, Samples]:
    """Run each measurement once a round, in the given order; `say` is told when a round begins.

    One that fails is not run again, and does not stop the others.
    """
    samples = {name: Samples() for name in measurements}
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}")
        for name, measurement in measurements.items():
            if samples[name].failure:
                continue
            try:
                samples[name].facts.append(measurement())
            except MeasurementFailed as error:
                samples[name].failure = str(error)
                say(f"{name} failed: {error}")
    return samples


def child_environment(bytecode: Path) -> dict[str, str]:
    """The environment for children: they keep compiled modules in the folder, whatever is set for this process.

    Compiling the package takes longer than many a measurement; only the first child pays for it.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


def measured(arguments: Sequence[str], environment: Environment) -> dict[str, Any]:
    """One `benchmarks.measure` in a child process. Raises MeasurementFailed."""
    return _facts(_start(arguments, environment))


def private_peak(arguments: Sequence[str], environment: Environment) -> int | None:
    """The most private memory that such a child had, looked at from outside every two milliseconds; None if unknown.

    Raises MeasurementFailed.
    """
    process = _start(arguments, environment)
    peak = 0
    while process.poll() is None:
        memory = memory_of(process.pid)
        if memory is not None:
            peak = max(peak, memory.private)
        time.sleep(_LOOK_EVERY)
    _facts(process)
    return peak or None


def _start(arguments: Sequence[str], environment: Environment) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.measure", *arguments]
    return subprocess.Popen(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _facts(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, err = process.communicate()
    if process.returncode:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
        raise MeasurementFailed(f"status {process.returncode}: {last[0]}")
    facts: dict[str, Any] = json.loads(out)
    return facts


def warm(paths: Iterable[Path]) -> None:
    """Read the files, so that the first round finds them in the page cache."""
    for path in paths:
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass
