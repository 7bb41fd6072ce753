"""Whole folders, from the command line: every file has the right outcome, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loomconv.api import load
from loomconv.batch.engines import Here, Local, partitions
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.ledger import Ledger
from loomconv.batch.names import DirectoryNames, safe_name
from loomconv.batch.run import Batch
from loomconv.batch.work import convert_item
from loomconv.cli.program import program
from loomconv.errors import DiskFull
from tests.batch.harness import FIXTURES, loom, report, run, several, statuses

# -- what is done ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_of_several_formats_keeps_its_shape(looms: Path, tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "out"
    before = {path: path.read_bytes() for path in looms.rglob("*") if path.is_file()}
    status, _, err = run(looms, out, "--to", "openloom-2", "--jobs", jobs)
    assert status == 4
    assert statuses(out) == {
        "one.openloom": "done", "deep/two.json": "done", "deep/er/three.json": "done", "broken.json": "failed",
        "cut.openloom": "partly", "package.json": "skipped", "picture.png": "skipped",
    }  # fmt: skip
    for name in ("one", "deep/two", "deep/er/three"):
        assert load(out / f"{name}.openloom", format="openloom-2").trees
    assert "broken.json: " in err
    assert "at line 1 column 23" in err
    assert not (out / "broken.openloom").exists()
    assert {path: path.read_bytes() for path in looms.rglob("*") if path.is_file()} == before


def test_all_good_is_status_0_and_all_bad_is_1(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "a.openloom").write_bytes(loom())
    assert run(tmp_path / "good", tmp_path / "out", "--to", "miniloom", "-j1")[0] == 0
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.openloom").write_bytes(b"")
    assert run(tmp_path / "bad", tmp_path / "out2", "--to", "miniloom", "-j1")[0] == 1


def test_what_belongs_to_a_loom_is_passed_over(tmp_path: Path) -> None:
    source = tmp_path / "looms"
    (source / "backups").mkdir(parents=True)
    minimal = (FIXTURES / "socketteer" / "minimal.json").read_bytes()
    for name in ("tree.json", "backups/tree-2021-03-04-05.06.07.json", "app_data.json", ".hidden.json", "x.db-wal"):
        (source / name).write_bytes(minimal)
    (source / "tree.loomconv-residue.json").write_bytes(b"{}")
    (source / "backups" / "model_responses-2023-02-14-18.16.30.json").write_bytes(b"[]")
    status, out, _ = run(source, tmp_path / "out", "--to", "openloom-2", "-j1", "--list-skipped")
    assert status == 0
    assert statuses(tmp_path / "out") == {"tree.json": "done"}
    assert "backups/tree-2021-03-04-05.06.07.json: backup" in out
    assert "app_data.json: settings of an app" in out
    assert sum(report(tmp_path / "out")["passed_over"].values()) == 6
    assert run(source, tmp_path / "all", "--to", "openloom-2", "-j1", "--backups")[0] == 0
    assert "backups/tree-2021-03-04-05.06.07.json" in statuses(tmp_path / "all")


def test_patterns_choose(looms: Path, tmp_path: Path) -> None:
    run(looms, tmp_path / "a", "--to", "openloom-2", "-j1", "--include", "*.openloom", "--exclude", "cut.*")
    assert set(statuses(tmp_path / "a")) == {"one.openloom"}
    run(looms, tmp_path / "b", "--to", "openloom-2", "-j1", "--include", "deep/*")
    assert set(statuses(tmp_path / "b")) == {"deep/two.json", "deep/er/three.json"}


def test_archives_are_walked_like_folders(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "looms.zip", "w") as archive:
        archive.writestr("a/one.openloom", loom("One"))
        archive.writestr("b/two.json", (FIXTURES / "openloom-1" / "minimal.openloom.json").read_bytes())
        archive.writestr("../out.openloom", loom("Out"))
        archive.writestr("notes.txt", "no loom")
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "book.openloom.zip").write_bytes(
        (FIXTURES / "openloom-2" / "picture-book.openloom.zip").read_bytes()
    )
    status, _, _ = run(tmp_path / "looms.zip", tmp_path / "bundles", tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 0
    found = statuses(tmp_path / "out")
    assert found["looms.zip/a/one.openloom"] == found["looms.zip/b/two.json"] == "done"
    assert found["looms.zip/notes.txt"] == "skipped"
    assert found["2-bundles/book.openloom.zip"] == "done"
    assert (tmp_path / "out" / "looms.zip" / "a" / "one.openloom").is_file()
    assert not (tmp_path / "out.openloom").exists()


def test_several_trees_are_kept_together_or_split(tmp_path: Path) -> None:
    source = tmp_path / "looms"
    source.mkdir()
    (source / "export.openloom").write_bytes(several("Knots", "knots", "a/b: c?", "", "CON", "x" * 300))
    (source / "single.openloom").write_bytes(loom("Single"))
    run(source, tmp_path / "split", "--to", "openloom-2", "-j1", "--split")
    names = sorted(path.name for path in (tmp_path / "split" / "export").iterdir())
    assert names[:2] == ["CON_.openloom", "Knots.openloom"]
    assert {"a b c.openloom", "knots-2.openloom", "untitled.openloom"} <= set(names)
    assert max(len(name.encode()) for name in names) < 200
    assert len(load(tmp_path / "split" / "export" / "Knots.openloom").trees) == 1
    assert (tmp_path / "split" / "single.openloom").is_file()
    run(source, tmp_path / "together", "--to", "openloom-1", "-j1")
    listed = sorted(path.name for path in (tmp_path / "together").glob("*.json"))
    assert "export-2.openloom.json" in listed
    assert len(load(tmp_path / "together" / "export.openloom.json").trees) == 6
    run(tmp_path / "together", tmp_path / "home", "--to", "openloom-2", "-j1")
    assert sorted(path.name for path in (tmp_path / "home").glob("*.openloom")) == [
        "export.openloom",
        "single.openloom",
    ]
    assert statuses(tmp_path / "home")["export-2.openloom.json"] == "skipped"


def test_names_do_not_collide_on_any_file_system(tmp_path: Path) -> None:
    source = tmp_path / "looms"
    source.mkdir()
    for name in ("a.openloom", "a.json", "A.txt", "a"):
        (source / name).write_bytes(loom(name))
    run(source, tmp_path / "out", "--to", "openloom-2", "-j1")
    outputs = [each["outputs"][0] for each in report(tmp_path / "out")["files"]]
    assert len({output.lower() for output in outputs}) == 4
    titles = {load(tmp_path / "out" / output).trees[0].fields["title"] for output in outputs}
    assert titles == {"a.openloom", "a.json", "A.txt", "a"}


@pytest.mark.parametrize(
    ("title", "name"),
    [("a/b\\c", "a b c"), ("  . ", "untitled"), ("aux", "aux_"), ("tab\there", "tab here"), ("é" * 200, "é" * 59)],
)
def test_titles_become_names(title: str, name: str) -> None:
    assert safe_name(title) == name


def test_names_are_told_apart() -> None:
    names = DirectoryNames()
    assert [names.take("a", ".x", "a.json"), names.take("A", ".x", "A.txt"), names.take("a", ".x", "a.json")] == [
        "a.x", "A.txt.x", "a.json.x",
    ]  # fmt: skip
    assert names.take("a", ".x", "a.json") == "a-2.x"


def test_a_dry_run_writes_nothing(looms: Path, tmp_path: Path) -> None:
    status, out, err = run(looms, tmp_path / "out", "--to", "openloom-2", "--dry-run")
    assert status == 0
    assert "deep/er/three.json (miniloom) -> deep/er/three.openloom" in out.splitlines()
    assert "5 files would be converted" in err
    assert not (tmp_path / "out").exists()


def test_a_dry_run_knows_what_is_done(looms: Path, tmp_path: Path) -> None:
    run(looms, tmp_path / "out", "--to", "openloom-2", "-j1")
    (looms / "one.openloom").write_bytes(loom("One, changed"))
    (looms / "new.openloom").write_bytes(loom("New"))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    _, out, err = run(looms, tmp_path / "out", "--to", "openloom-2", "--dry-run")
    assert sorted(line.partition(" ")[0] for line in out.splitlines()) == ["new.openloom", "one.openloom"]
    assert "2 files would be converted" in err
    assert "6 are done" in err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


# -- again -------------------------------------------------------------------------------------------------------------


def _times(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in out.rglob("*.openloom")}


def test_only_what_changed_is_done_again(looms: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(looms, out, "--to", "openloom-2", "-j1")
    before = _times(out)
    (looms / "new.openloom").write_bytes(loom("New"))
    (looms / "one.openloom").write_bytes(loom("One, changed"))
    os.utime(looms / "deep" / "two.json", (1, 1))
    (out / "deep" / "er" / "three.openloom").unlink()
    status, _, err = run(looms, out, "--to", "openloom-2", "-j1")
    assert status == 4, "what failed before is still a failure"
    after = _times(out)
    assert {name for name in after if before.get(name) != after[name]} == {
        "new.openloom", "one.openloom", "three.openloom",
    }  # fmt: skip
    assert load(out / "one.openloom").trees[0].fields["title"] == "One, changed"
    assert "4 files to convert" in err, "the touched one is looked at"
    assert statuses(out)["deep/two.json"] == "done"
    assert run(looms, out, "--to", "openloom-2", "-j1")[2].startswith("0 files to convert")
    assert "1 files to convert" in run(looms, out, "--to", "openloom-2", "-j1", "--retry")[2]


def test_other_options_do_all_again(looms: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(looms, out, "--to", "openloom-2", "-j1")
    assert run(looms, out, "--to", "openloom-2", "-j1", "--residue", "none")[2].startswith("7 files to convert")


def test_strangers_files_are_not_replaced(looms: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "one.openloom").write_text("mine", encoding="utf-8")
    run(looms, out, "--to", "openloom-2", "-j1")
    assert (out / "one.openloom").read_text("utf-8") == "mine"
    assert statuses(out)["one.openloom"] == "stopped"
    (out / "one.openloom").rename(out / "mine")
    run(looms, out, "--to", "openloom-2", "-j1")
    assert statuses(out)["one.openloom"] == "done", "nothing is in the way any more"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.openloom").write_text("mine", encoding="utf-8")
    run(looms, tmp_path / "other", "--to", "openloom-2", "-j1", "--overwrite")
    assert statuses(tmp_path / "other")["one.openloom"] == "done"


def test_source_and_target_may_not_be_the_same(looms: Path) -> None:
    assert CliRunner().invoke(program, ["batch", str(looms), str(looms), "--to", "openloom-2"]).exit_code == 2


def test_a_target_inside_the_source_is_not_read(looms: Path) -> None:
    for _ in range(2):
        run(looms, looms / "out", "--to", "openloom-2", "-j1")
        assert len(statuses(looms / "out")) == 7


def test_two_runs_exclude_each_other(looms: Path, tmp_path: Path) -> None:
    with Ledger(tmp_path / "out" / "loomconv-batch"):
        done = CliRunner().invoke(program, ["batch", str(looms), str(tmp_path / "out"), "--to", "openloom-2"])
    assert done.exit_code == 2
    assert "another run" in done.stderr


def test_a_ledger_of_another_version_is_left_alone(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l"):
        pass
    rows = sqlite3.connect(tmp_path / "l" / "ledger.sqlite")
    rows.execute("PRAGMA user_version=99")
    rows.close()
    with pytest.raises(Exception, match="another version"), Ledger(tmp_path / "l"):
        pass


# -- harm --------------------------------------------------------------------------------------------------------------


def _settings(out: Path, **more: Any) -> Settings:
    return Settings(target_root=str(out), target_format="openloom-2", suffix=".openloom", **more)


def _item(path: Path) -> Item:
    return Item(path.name, str(path), f"{path.stem}.openloom", path.stat().st_size, "1")


def test_a_worker_that_dies_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        (tmp_path / f"{number}.openloom").write_bytes(loom())
    items = [_item(tmp_path / f"{number}.openloom") for number in range(6)]
    monkeypatch.setattr("loomconv.batch.engines._convert_all", _deadly_convert_all)
    (tmp_path / "out").mkdir()
    engine = Local(2, timeout=2.0)
    found = {each.name: each for part in engine.run(partitions(items), _settings(tmp_path / "out")) for each in part}
    assert [found[f"{number}.openloom"].status for number in range(6)] == [
        "done", "done", "stopped", "done", "stopped", "done",
    ]  # fmt: skip
    assert "died" in found["2.openloom"].message
    assert "longer than 2 seconds" in found["4.openloom"].message


def _deadly_convert_all(items: list[Item], settings: Settings) -> list[Outcome]:
    for item in items:
        if item.name.startswith("2"):
            os._exit(9)
        if item.name.startswith("4"):
            time.sleep(60)
    return [convert_item(item, settings) for item in items]


@pytest.mark.skipif(sys.platform == "win32", reason="memory cannot be limited there")
def test_memory_is_limited(tmp_path: Path) -> None:
    (tmp_path / "big.openloom").write_bytes(loom("x" * 60_000_000))
    (tmp_path / "small.openloom").write_bytes(loom())
    (tmp_path / "out").mkdir()
    settings = _settings(tmp_path / "out", max_memory=400 << 20)
    items = [_item(tmp_path / name) for name in ("big.openloom", "small.openloom")]
    found = {each.name: each for part in Local(1).run(partitions(items), settings) for each in part}
    assert found["small.openloom"].status == "done"
    assert found["big.openloom"].status in ("stopped", "done")
    limited = _settings(tmp_path / "out", max_memory=200 << 20)
    (outcome,) = (each for part in Local(1).run(partitions(items[:1]), limited) for each in part)
    assert outcome.status == "stopped"


def test_a_full_disk_ends_the_run_with_a_right_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "looms"
    source.mkdir()
    for number in range(5):
        (source / f"{number}.openloom").write_bytes(loom())
    real, calls = convert_item, []

    def filling(item: Item, settings: Settings) -> Outcome:
        calls.append(item.name)
        if len(calls) > 2:
            return Outcome(item.name, "stopped", message="The disk is full.", fatal=True)
        return real(item, settings)

    monkeypatch.setattr("loomconv.batch.engines.convert_item", filling)
    out = tmp_path / "out"
    out.mkdir()
    batch = Batch([str(source)], _settings(out), Here(), out / "loomconv-batch")
    with Ledger(batch.folder) as ledger:
        with pytest.raises(DiskFull, match="run it again"):
            batch.run(ledger, lambda outcome, tally: None)
        assert ledger.statuses() == {"done": 2, "stopped": 1, "started": 2}
    monkeypatch.undo()
    assert run(source, out, "--to", "openloom-2", "-j1")[0] == 0
    assert set(statuses(out).values()) == {"done"}
    assert len(calls) == 3


@pytest.mark.skipif(not Path("/dev/full").exists() or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_target_that_cannot_be_written_is_refused(looms: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o500)
    assert (
        CliRunner().invoke(program, ["batch", str(looms), str(tmp_path / "out"), "--to", "openloom-2"]).exit_code == 2
    )


def test_a_target_that_is_a_file_is_refused(looms: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x", encoding="utf-8")
    done = CliRunner().invoke(program, ["batch", str(looms), str(tmp_path / "out" / "below"), "--to", "openloom-2"])
    assert done.exit_code == 2
    assert "cannot be made" in done.stderr


def test_what_was_begun_when_a_run_was_killed_is_done_again(looms: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(looms, out, "--to", "openloom-2", "-j1")
    with sqlite3.connect(out / "loomconv-batch" / "ledger.sqlite") as rows:
        rows.execute("UPDATE files SET status = 'started', digest = '', outcome = NULL WHERE name LIKE 'one%'")
    rows.close()
    (out / ".loomconv-999999999-0.tmp").write_bytes(b"half")
    run(looms, out, "--to", "openloom-2", "-j1")
    assert statuses(out)["one.openloom"] == "done"
    assert not list(out.glob(".loomconv-*"))


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    source, out = tmp_path / "looms", tmp_path / "out"
    source.mkdir()
    for number in range(300):
        (source / f"{number}.openloom").write_bytes(loom(f"Loom {number}"))
    command = [sys.executable, "-m", "loomconv", "batch", str(source), str(out), "--to", "socketteer", "-q", "-j2"]
    for seconds in (0.4, 0.7, 0.9, 1.1):
        process = subprocess.Popen(command, start_new_session=True)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert subprocess.run(command, check=False).returncode == 0
    assert set(statuses(out).values()) == {"done"}
    assert len(list(out.glob("*.json"))) == 300
    assert not list(out.rglob("*.tmp"))


def test_a_cluster_needs_a_scheduler(looms: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        program, ["batch", str(looms), str(tmp_path / "o"), "--to", "openloom-2", "--engine", "dask"]
    )
    assert done.exit_code == 2
    assert "--scheduler" in done.stderr
