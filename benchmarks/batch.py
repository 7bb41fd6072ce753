"""Whole folders: `python -m benchmarks.batch [--files 10000] [--kills 3]`.

Makes a folder of small looms of all formats, with broken files and files that are no looms among them, converts it with
one worker and with two, and kills and resumes a third run several times. Printed are files and megabytes a second, and
whether every outcome is the right one; the exit status is 0 only if all are.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.generate import generate
from loomconv import api
from loomconv.registry import default_registry

__all__ = ["main", "make_folder"]

# Of so many files one is broken, and one is no loom.
_BROKEN_EVERY: Final = 50
_OTHER_EVERY: Final = 100
_NODES: Final = (3, 20, 60)
_KINDS: Final = ("cut", "comma", "empty", "binary")
_STATUS_OF: Final = {"cut": "partly", "comma": "failed", "empty": "failed", "binary": "failed"}


def make_folder(root: Path, count: int, seed: int = 1) -> dict[str, str]:
    """Write `count` files below `root`; gives the right status of each by its name."""
    chance = random.Random(seed)
    formats = sorted(default_registry().formats)
    originals: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in formats:
            suffix = default_registry().formats[name].suffixes[0]
            originals[name] = []
            for nodes in _NODES:
                source = Path(folder) / "source.openloom"
                generate(source, "openloom-2", nodes)
                target = Path(folder) / f"made{suffix}"
                api.convert(source, target, target_format=name)
                originals[name].append(target.read_bytes())
    expected = {}
    for number in range(count):
        name = formats[number % len(formats)]
        data = chance.choice(originals[name])
        folder_name = f"{number // 1000:02}/{number // 100 % 10}"
        path = root / folder_name / f"loom {number}{default_registry().formats[name].suffixes[0]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        status = "done"
        if number % _BROKEN_EVERY == 7:
            kind = _KINDS[number // _BROKEN_EVERY % len(_KINDS)]
            status = _STATUS_OF[kind]
            path = path.with_suffix(".json")
            data = _broken(kind, originals["openloom-2"][1])
        elif number % _OTHER_EVERY == 13:
            path, data, status = path.with_suffix(".json"), b'{"name": "a package", "version": 1}', "skipped"
        path.write_bytes(data)
        expected[path.relative_to(root).as_posix()] = status
    return expected


def _broken(kind: str, data: bytes) -> bytes:
    if kind == "cut":
        return data[: len(data) * 2 // 3]
    if kind == "comma":
        return data.replace(b"{", b"{,", 1)
    return b"" if kind == "empty" else os.urandom(500)


def _command(source: Path, target: Path, jobs: int) -> list[str]:
    program = [sys.executable, "-m", "loomconv", "batch", str(source), str(target), "--to", "openloom-2", "--quiet"]
    return [*program, "--jobs", str(jobs)]


def _timed(source: Path, target: Path, jobs: int) -> tuple[float, int]:
    began = time.perf_counter()
    status = subprocess.run(_command(source, target, jobs), check=False).returncode
    return time.perf_counter() - began, status


def _killed(source: Path, target: Path, kills: int, seconds: float) -> int:
    """Run with two workers, killed so often on its way; gives the exit status of the last run."""
    for _ in range(kills):
        process = subprocess.Popen(_command(source, target, 2), start_new_session=True)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return subprocess.run(_command(source, target, 2), check=False).returncode


def _wrong(target: Path, expected: dict[str, str]) -> list[str]:
    """The names whose outcome is not the right one, or whose output is not there."""
    report: dict[str, Any] = json.loads((target / "loomconv-batch" / "report.json").read_text("utf-8"))
    found = {each["name"]: each for each in report["files"]}
    wrong = [name for name, status in expected.items() if found.get(name, {}).get("status") != status]
    for name, each in found.items():
        wrong += [name for output in each.get("outputs", ()) if not (target / output).is_file()]
    return wrong


def main(arguments: list[str]) -> int:
    """Make, convert, check, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=3)
    chosen = parser.parse_args(arguments)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="loomconv-") as folder:
        source = Path(folder) / "looms"
        expected = make_folder(source, chosen.files)
        megabytes = sum(path.stat().st_size for path in source.rglob("*") if path.is_file()) / 1e6
        broken = sum(status in ("failed", "partly") for status in expected.values())
        print(f"{chosen.files:,} files, {megabytes:.0f} MB, {broken} broken")
        slowest = 0.0
        for jobs in (1, 2):
            target = Path(folder) / f"by-{jobs}"
            seconds, status = _timed(source, target, jobs)
            wrong = _wrong(target, expected)
            bad += len(wrong) + (status != 4)
            slowest = seconds
            print(
                f"{jobs} worker{'s' * (jobs > 1)}: {seconds:.1f} s, {chosen.files / seconds:,.0f} files/s, "
                f"{megabytes / seconds:.1f} MB/s, {len(wrong)} wrong outcomes, status {status}"
            )
        target = Path(folder) / "killed"
        status = _killed(source, target, chosen.kills, slowest / (chosen.kills + 2))
        wrong = _wrong(target, expected)
        bad += len(wrong) + (status != 4)
        print(f"killed and resumed {chosen.kills} times: {len(wrong)} wrong outcomes, status {status}")
        seconds, _ = _timed(source, target, 2)
        print(f"once more, with nothing to do: {seconds:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
