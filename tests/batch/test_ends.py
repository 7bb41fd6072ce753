"""Workers, and the ways in which a run ends before its time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from loomconv.batch.engines import Local
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.ledger import Ledger
from tests.batch.harness import fill, posix, refused, run, statuses


@pytest.mark.parametrize(
    "wrong", [("--jobs", "0"), ("--timeout", "0"), ("--timeout", "-1"), ("--max-memory", "1MB"), ("--max-memory", "x")]
)
def test_numbers_that_make_no_sense_are_refused(tmp_path: Path, wrong: tuple[str, str]) -> None:
    source = fill(tmp_path / "looms", "a.openloom")
    assert wrong[0].lstrip("-") in refused(source, tmp_path / "out", "--to", "openloom-2", *wrong)


def test_there_are_no_more_workers_than_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pebble

    asked: list[int] = []
    real = pebble.ProcessPool

    def watched(**options: Any) -> Any:
        asked.append(options["max_workers"])
        return real(**options)

    monkeypatch.setattr(pebble, "ProcessPool", watched)
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    out.mkdir()
    settings = Settings(target_root=str(out), target_format="openloom-1", suffix=".openloom.json")
    item = Item("a.openloom", str(source / "a.openloom"), "a.openloom.json", 1, "1")
    found = [each for part in Local(1000).run([[item]], settings) for each in part]
    assert ([each.status for each in found], asked) == (["done"], [1])
    assert list(Local(1000).run([], settings)) == []


@posix
@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_told_to_end_says_so_and_goes_on_later(tmp_path: Path, sent: int) -> None:
    source = fill(tmp_path / "looms", *(f"{number}.openloom" for number in range(400)))
    command = [sys.executable, "-m", "loomconv", "batch", source, tmp_path / "out", "--to", "openloom-1", "-j2"]
    for seconds in (0.6, 0.9) if sent == signal.SIGINT else ():
        # As a terminal does it: to the workers as well, which are just beginning.
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        time.sleep(seconds)
        os.killpg(process.pid, sent)
        assert "Traceback" not in process.communicate(timeout=30)[1]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "out").glob("*.json")):
        time.sleep(0.01)
    process.send_signal(sent)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "it goes on where it was" in said
    assert "Traceback" not in said
    assert (
        json.loads((tmp_path / "out" / "loomconv-batch" / "report.json").read_text("utf-8"))["totals"]["files"] == 400
    )
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert set(statuses(tmp_path / "out").values()) == {"done"}


@posix
@pytest.mark.slow
def test_nobody_reading_the_messages_does_not_end_the_run(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "z.openloom"), tmp_path / "out"
    for number in range(9):
        (source / f"bad{number}.json").write_bytes(b'{"a":,}')
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "loomconv", "batch", source, out, "--to", "openloom-1", "-j1"]
    assert subprocess.run(command, check=False, stderr=writing).returncode == 4
    os.close(writing)
    assert statuses(out)["z.openloom"] == "done"


def test_a_permission_that_is_missing_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loomconv.batch import work
    from loomconv.errors import UnreadableFile

    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"

    def barred(item: Item, limits: Any) -> Any:
        raise UnreadableFile("there is no permission to read the file", source=item.name)

    with monkeypatch.context() as patch:
        patch.setattr(work, "opened", barred)
        patch.setattr(os, "access", lambda *more: False)
        assert run(source, out, "--to", "openloom-2", "-j1")[0] == 1
    assert statuses(out) == {"a.openloom": "stopped"}
    assert run(source, out, "--to", "openloom-2", "-j1")[0] == 0


def test_rows_that_began_are_told_as_such(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l") as ledger:
        ledger.begin("o", "now")
        item = Item("a", "a", "a.x", 1, "1")
        ledger.enter([item])
        ledger.finish([Outcome("a", "done", outputs=["a.x"], stamps=["1:1"])])
        assert ledger.owner("a.x") == ("a", "1:1", True)
        assert ledger.converted("a") == ["a.x"]
        ledger.forget(["a"])
        assert ledger.converted("a") is None
        assert [each.own for each in ledger.items()] == [(("a.x", "1:1"),)]
