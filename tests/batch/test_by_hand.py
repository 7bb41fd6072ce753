"""What people do to outputs between two runs is not undone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loomconv.api import load
from tests.batch.harness import fill, loom, refused, report, run, several, statuses, titles


def test_an_output_that_was_edited_is_not_replaced(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom", "b.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-1", "-j1")
    (out / "a.openloom.json").write_text("my work", "utf-8")
    assert run(source, out, "--to", "openloom-1", "-j1")[0] == 0, "nothing is to be done"
    status, _, err = run(source, out, "--to", "openloom-1", "--residue", "none", "-j1")
    assert status == 4
    assert "a.openloom.json, and it was changed since it was written. Move it away" in err
    assert (out / "a.openloom.json").read_text("utf-8") == "my work"
    assert statuses(out) == {"a.openloom": "stopped", "b.openloom": "done"}
    assert "1 has a file in the way" in run(source, out, "--to", "openloom-1", "--residue", "none", "--dry-run")[2]
    assert run(source, out, "--to", "openloom-1", "--residue", "none", "--overwrite", "-j1")[0] == 0
    assert (out / "a.openloom.json").read_text("utf-8") != "my work"


def test_a_source_of_another_name_takes_over(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-1", "-j1")
    (source / "a.openloom").unlink()
    fill(source, "a.json")
    assert run(source, out, "--to", "openloom-1", "-j1")[0] == 0
    assert titles(out) == {"a.json": "a.json"}


def test_two_folders_do_not_mix_in_one_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "first", "x.openloom")
    fill(tmp_path / "second", "a.openloom", "x.openloom")
    (tmp_path / "second" / "x.openloom").write_bytes(loom("another"))
    out = tmp_path / "out"
    run("first", out, "--to", "openloom-1", "-j1")
    said = refused("second", out, "--to", "openloom-1", "-j1")
    assert "x.openloom was converted into this folder from" in said
    assert "name all sources in one run" in said
    refused("second", out, "--to", "openloom-1", "--dry-run")
    assert load(out / "x.openloom.json").trees[0].fields["title"] == "x.openloom"
    assert run(tmp_path / "first", out, "--to", "openloom-1", "-j1")[2].startswith("0 files to convert"), (
        "the same file"
    )
    (tmp_path / "first").rename(tmp_path / "moved")
    assert run("moved", out, "--to", "openloom-1", "-j1")[2].startswith("0 files to convert"), "it was moved"
    assert run("second", out, "--to", "openloom-1", "-j1", "--overwrite")[0] == 0
    assert titles(out)["x.openloom"] == "another"


def test_another_format_does_not_replace_a_strangers_file(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-1", "-j1")
    (out / "a.miniloom.json").write_text("mine", "utf-8")
    assert run(source, out, "--to", "miniloom", "-j1")[0] == 1
    assert (out / "a.miniloom.json").read_text("utf-8") == "mine"


@pytest.mark.parametrize("name", ["export/Ropes.openloom", "export.openloom"])
def test_splitting_does_not_replace_a_strangers_file(tmp_path: Path, name: str) -> None:
    source, out = tmp_path / "looms", tmp_path / "out"
    source.mkdir()
    (source / "export.openloom").write_bytes(several("Knots", "Ropes"))
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("mine", "utf-8")
    status, _, _ = run(source, out, "--to", "openloom-2", "--split", "-j1")
    assert (out / name).read_text("utf-8") == "mine"
    assert status == (0 if name == "export.openloom" else 1)
    (out / name).unlink()
    assert run(source, out, "--to", "openloom-2", "--split", "-j1")[0] == 0
    assert len(list((out / "export").iterdir())) == 2, "what was written before the stop is the batch's own"


@pytest.mark.parametrize("split", [(), ("--split",)])
def test_whatever_output_is_missing_is_written_again(tmp_path: Path, split: tuple[str, ...]) -> None:
    source, out = tmp_path / "looms", tmp_path / "out"
    source.mkdir()
    (source / "export.openloom").write_bytes(several("Knots", "Ropes"))
    run(source, out, "--to", "openloom-1", "-j1", *split)
    (outputs,) = (each["outputs"] for each in report(out)["files"])
    for name in outputs:
        (out / name).unlink()
        assert run(source, out, "--to", "openloom-1", "-j1", *split, "--dry-run")[2].startswith("1 file would")
        assert run(source, out, "--to", "openloom-1", "-j1", *split)[0] == 0
        assert (out / name).is_file()


def test_a_dry_run_reads_what_a_killed_run_has_left_in_the_log(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom", "b.openloom"), tmp_path / "out"
    script = f"""
import os, signal, sys
from loomconv.cli import batch
batch._print_summary = lambda *more: os.kill(os.getpid(), signal.SIGKILL)
from loomconv.batch.scan import Scan
from loomconv.cli.program import program
program(["batch", {str(source)!r}, {str(out)!r}, "--to", "openloom-2", "-j1"])
"""
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    before = {path.name: path.stat().st_mtime_ns for path in (out / "loomconv-batch").iterdir()}
    assert before.keys() >= {"ledger.sqlite-wal"}
    assert "2 are done" in run(source, out, "--to", "openloom-2", "--dry-run")[2]
    assert {path.name: path.stat().st_mtime_ns for path in (out / "loomconv-batch").iterdir()} == before


def test_a_file_system_with_coarse_times_makes_no_edits(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-1", "-j1")
    seconds = int((out / "a.openloom.json").stat().st_mtime)
    os.utime(out / "a.openloom.json", (seconds, seconds))
    (source / "a.openloom").write_bytes(loom("changed"))
    assert run(source, out, "--to", "openloom-1", "-j1")[0] == 0
