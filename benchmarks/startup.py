"""How long the command takes to start, against the bare interpreter; measured from outside, from start to end."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.generate import generate
from benchmarks.rounds import Environment, MeasurementFailed
from benchmarks.synthetic import Mix

__all__ = ["BARE", "bare_start", "command_found", "small_conversion", "version_shown"]

# Starts are short and noisy: each counts as the shortest of so many.
_STARTS: Final = 5
_SMALL_NODES: Final = 2
BARE: Final = (sys.executable, "-I", "-c", "pass")

Measurement = Callable[[], dict[str, Any]]


def command_found() -> Path | None:
    """The installed command of this interpreter, None when there is none."""
    path = Path(sysconfig.get_path("scripts")) / ("loomconv.exe" if os.name == "nt" else "loomconv")
    return path if path.is_file() else None


def bare_start(environment: Environment) -> Measurement:
    """The interpreter that does nothing."""
    return lambda: _shortest(BARE, environment)


def version_shown(command: Path, environment: Environment) -> Measurement:
    """`loomconv --version`."""
    return lambda: _shortest([command, "--version"], environment)


def small_conversion(command: Path, folder: Path, target: str, environment: Environment) -> Measurement:
    """`loomconv convert` of an OpenLoom 2 file of some 1000 bytes; makes the file in the folder."""
    source = folder / "small.openloom"
    generate(source, "openloom-2", _SMALL_NODES, mix=Mix(two_sources_every=0))
    return lambda: _shortest([command, "convert", source, folder / "small.out", "--to", target], environment)


def _shortest(command: Sequence[str | os.PathLike[str]], environment: Environment) -> dict[str, Any]:
    """The shortest of some starts. Raises MeasurementFailed when the command fails."""
    return {"seconds": min(_seconds(command, environment) for _ in range(_STARTS))}


def _seconds(command: Sequence[str | os.PathLike[str]], environment: Environment) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
        raise MeasurementFailed(f"{Path(command[0]).name} ended with status {done.returncode}: {last[0]}")
    return seconds
