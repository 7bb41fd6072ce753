"""`--watch`: the target is kept up to date while somebody works on the sources."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomconv.batch.scan import Scan
from tests.batch.harness import fill, loom, posix, statuses, wait_for


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    source, out = tmp_path / "looms", tmp_path / "out"
    source.mkdir()
    (source / "a.openloom").write_bytes(loom("A"))
    os.utime(source / "a.openloom", (1, 1))
    command = [sys.executable, "-m", "loomconv", "batch", str(source), str(out), "--to", "openloom-1", "-j1", "--watch"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield source, out
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process there")
def test_watching_converts_what_changes_and_waits_for_half_files(watching: tuple[Path, Path]) -> None:
    source, out = watching
    wait_for((out / "a.openloom.json").exists)
    whole = loom("A, changed" * 100)

    def slowly() -> None:
        with (source / "b.openloom").open("wb") as stream:
            for start in range(0, len(whole), len(whole) // 4):
                stream.write(whole[start : start + len(whole) // 4])
                stream.flush()
                time.sleep(0.7)

    writer = threading.Thread(target=slowly)
    writer.start()
    wait_for((out / "b.openloom.json").exists)
    writer.join()
    wait_for(lambda: statuses(out).get("b.openloom") == "done")
    assert b"A, changed" in (out / "b.openloom.json").read_bytes()
    (source / "a.openloom").write_bytes(loom("A again"))
    wait_for(lambda: b"A again" in (out / "a.openloom.json").read_bytes())


def test_a_time_in_the_future_does_not_keep_a_file_waiting(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "a.openloom", "b.openloom")
    os.utime(source / "a.openloom", (time.time() + 90_000,) * 2)
    scan = Scan([str(source)], str(tmp_path / "out"), [], ".x", settle=60.0)
    assert [item.name for item in scan.items()] == ["a.openloom"]
    assert scan.unsettled == 1


@posix
@pytest.mark.slow
def test_watching_bears_a_source_that_goes_away_for_a_while(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    os.utime(source / "a.openloom", (1, 1))
    command = [sys.executable, "-m", "loomconv", "batch", source, out, "--to", "openloom-1", "-j1", "--watch"]
    with open(tmp_path / "said", "w+") as said:  # noqa: PTH123
        process = subprocess.Popen(command, stderr=said)
        try:
            wait_for((out / "a.openloom.json").exists)
            source.rename(tmp_path / "away")
            wait_for(lambda: "watching goes on" in (tmp_path / "said").read_text())
            (tmp_path / "away").rename(source)
            fill(source, "b.openloom")
            wait_for((out / "b.openloom.json").exists)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
