"""What people and their disks do to a batch: odd names and places, edits, damage, and ends at any moment."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loomconv.api import load
from loomconv.batch.engines import Local
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.ledger import Ledger
from loomconv.batch.names import DirectoryNames, portable, safe_name
from loomconv.batch.places import Territory, endangered, local_path, obstacle, without_password
from loomconv.batch.scan import Scan
from loomconv.cli.program import program
from loomconv.storage import open_source
from tests.batch.test_batch import FIXTURES, loom, report, run, several, statuses

posix = pytest.mark.skipif(sys.platform == "win32", reason="names and permissions are others there")


def fill(root: Path, *names: str) -> Path:
    """A folder with a loom for each name, titled by it."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(loom(name))
    return root


def refused(*arguments: Any) -> str:
    """What is said of a run that cannot even begin."""
    done = CliRunner().invoke(program, ["batch", *map(str, arguments)])
    assert done.exit_code == 2, done.output
    assert "fault of loomconv" not in done.stderr
    return done.stderr


def titles(target: Path) -> dict[str, str]:
    """What is in each output, by the name of its source."""
    found = {}
    for each in report(target)["files"]:
        for output in each.get("outputs", [])[:1]:
            found[each["name"]] = load(target / output).trees[0].fields["title"]
    return found


def test_ten_thousand_single_files_cost_no_more_than_a_folder(tmp_path: Path) -> None:
    sources = [f"looms/{number}.json" for number in range(10_000)]
    began = time.perf_counter()
    kept = endangered([*sources, str(tmp_path)], str(tmp_path / "out"))
    settings = Settings(target_root=str(tmp_path / "out"), target_format="x", suffix=".x", sources=kept)
    item = Item("a", "looms/a.json", "a.x", 1, "1")
    assert [obstacle(item, settings) for _ in range(2000)] == [""] * 2000
    assert time.perf_counter() - began < 5


# -- names -------------------------------------------------------------------------------------------------------------


@posix
def test_a_name_may_be_any_bytes(tmp_path: Path) -> None:
    source, out = os.fsencode(tmp_path / "looms"), tmp_path / "out"
    os.makedirs(source + b"/folder\xff")  # noqa: PTH103
    for name in (b"bad\xff.openloom", b"folder\xff/a.openloom", b"new\nline.openloom"):
        with open(source + b"/" + name, "wb") as stream:  # noqa: PTH123
            stream.write(loom("x"))
    for expected in ("3 files to convert, 0 done", "0 files to convert, 3 done"):
        status, _, err = run(os.fsdecode(source), out, "--to", "openloom-2", "-j1")
        assert (status, err[: len(expected)]) == (0, expected)
    outputs = [each["outputs"][0] for each in report(out)["files"]]
    assert sorted(outputs) == ["bad%FF.openloom", "folder%FF/a.openloom", "new\nline.openloom"]
    assert "bad%FF" in (out / "loomconv-batch" / "report.csv").read_text("utf-8")


@posix
@pytest.mark.parametrize("stem", ["x" * 246, "é" * 123])
def test_the_longest_names_find_room(tmp_path: Path, stem: str) -> None:
    source, out = fill(tmp_path / "looms", f"{stem}.openloom", f"{stem[:-1]}y.openloom"), tmp_path / "out"
    assert run(source, out, "--to", "openloom-1", "--residue", "beside", "-j1")[0] == 0
    assert sorted(titles(out).values()) == sorted([f"{stem}.openloom", f"{stem[:-1]}y.openloom"])


@posix
def test_a_loom_whose_residue_would_have_no_possible_name_is_read(tmp_path: Path) -> None:
    (path,) = fill(tmp_path, f"{'x' * 246}.openloom").iterdir()
    with open_source(path) as source:
        assert source.beside(f"{'x' * 300}*") == []
        assert source.beside(f"{'x' * 300}.json") == []
    assert load(path).trees


@posix
def test_folders_and_files_that_some_file_system_takes_for_one_are_told_apart(tmp_path: Path) -> None:
    names = (
        "Case/a.openloom",
        "case/a.openloom",
        "caf\u00e9.openloom",
        "cafe\u0301.openloom",
        "b.openloom/x.openloom",
        "b.json",
    )
    source, out = fill(tmp_path / "looms", *names), tmp_path / "out"
    if len(list(source.iterdir())) < 6:
        pytest.skip("this file system takes them for one")
    assert run(source, out, "--to", "openloom-2", "-j1")[0] == 0
    assert titles(out) == {name: name for name in names}
    outputs = [each["outputs"][0].lower() for each in report(out)["files"]]
    assert sorted(outputs) == sorted(set(outputs))


def test_a_split_loom_does_not_mix_with_a_folder_of_its_name(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "export/Knots.openloom"), tmp_path / "out"
    (source / "export.openloom").write_bytes(several("Knots", "Ropes"))
    assert run(source, out, "--to", "openloom-2", "--split", "-j1")[0] == 0
    outputs = [output for each in report(out)["files"] for output in each["outputs"]]
    assert len(outputs) == len(set(outputs)) == 3
    assert titles(out)["export/Knots.openloom"] == "export/Knots.openloom"


def test_a_further_tree_replaces_no_other_output(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "export-2.openloom"), tmp_path / "out"
    (source / "export.openloom").write_bytes(several("Knots", "Ropes"))
    status, _, err = run(source, out, "--to", "openloom-1", "-j1")
    assert status == 4
    assert "in the way: export-2.openloom.json, which is what became of" in err
    assert titles(out) == {"export-2.openloom": "export-2.openloom"}
    for _ in range(2):
        status, _, err = run(source, out, "--to", "openloom-1", "-j1", "--overwrite")
        assert status == 4
        assert "export-2.openloom.json, which is what became of export-2.openloom. Rename one" in err
        assert titles(out) == {"export-2.openloom": "export-2.openloom"}
    other = tmp_path / "other"
    assert run(source, other, "--to", "openloom-1", "-j1", "--overwrite")[0] == 4, "not even at the first time"
    assert titles(other) == {"export-2.openloom": "export-2.openloom"}
    (source / "export-2.openloom").unlink()
    assert run(source, out, "--to", "openloom-1", "-j1")[0] == 0, "the other source is gone"
    assert run(source, out, "--to", "openloom-1", "-j1", "--split")[0] == 0


def test_sources_of_one_name_are_two_sources(tmp_path: Path) -> None:
    fill(tmp_path, "a/x.openloom", "b/x.openloom", "b/x.json")
    sources = [tmp_path / "a/x.openloom", tmp_path / "b/x.openloom", tmp_path / "b/x.json", tmp_path / "a/x.openloom"]
    assert run(*sources, tmp_path / "out", "--to", "openloom-2", "-j1")[0] == 0
    assert titles(tmp_path / "out") == {
        "x.openloom": "a/x.openloom", "2-b/x.openloom": "b/x.openloom", "x.json": "b/x.json",
    }  # fmt: skip


def test_names_of_strangers_become_possible_ones() -> None:
    assert [portable(name) for name in ("..", "", "a:b?", "con.json", "x. ", "\udcff", "fine.json")] == [
        "_", "_", "a_b_", "con.json_", "x", "_", "fine.json",
    ]  # fmt: skip


def test_many_of_one_name_take_no_time() -> None:
    names = DirectoryNames()
    began = time.perf_counter()
    assert len({names.take("x", ".json") for _ in range(20_000)}) == 20_000
    assert time.perf_counter() - began < 5


# -- places ------------------------------------------------------------------------------------------------------------


@posix
def test_links_and_things_that_are_no_files(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a/x.openloom"), tmp_path / "out"
    (source / "loop").symlink_to(".")
    (source / "a" / "up").symlink_to("..")
    (source / "nowhere.json").symlink_to("missing")
    (source / "self.json").symlink_to("self.json")
    (source / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(source / "pipe.json")
    status, listed, _ = run(source, out, "--to", "openloom-2", "-j1", "--list-skipped")
    assert status == 0
    assert statuses(out) == {"a/x.openloom": "done"}
    assert {"loop/: a link to a folder", "pipe.json: no regular file", "zero.json: no regular file"} <= set(
        listed.splitlines()
    )
    assert sum(report(out)["passed_over"].values()) == 6


def test_a_folder_that_cannot_be_read_is_told_and_the_rest_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom", "closed/b.openloom"), tmp_path / "out"
    real = os.scandir

    def barred(path: Any) -> Any:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", barred)
    for _ in range(2):
        status, _, err = run(source, out, "--to", "openloom-2", "-j1")
        assert status == 4
        assert "closed/: The folder cannot be read (Permission denied)" in err
        assert statuses(out) == {"a.openloom": "done", "closed/": "failed"}
    assert run(source, out, "--to", "openloom-2", "-j1", "--exclude", "closed")[0] == 0
    assert "closed/b.openloom" not in run(source, out, "--to", "openloom-2", "--dry-run")[1]
    monkeypatch.undo()
    assert run(source, out, "--to", "openloom-2", "-j1")[0] == 0
    assert statuses(out) == {"a.openloom": "done", "closed/b.openloom": "done"}


def test_sources_inside_the_target_are_never_written_to(tmp_path: Path) -> None:
    out = tmp_path / "all"
    source = fill(out / "looms", "x.openloom", "looms/x.openloom")
    before = {path: path.read_bytes() for path in source.rglob("*.openloom")}
    status, _, err = run(source, out, "--to", "openloom-2", "--overwrite", "-j1")
    assert status == 4
    assert "looms/x.openloom: The output x.openloom would come among the sources" in err
    assert {path: path.read_bytes() for path in source.rglob("*.openloom")} == before


@posix
def test_a_link_in_the_target_leads_no_output_to_a_source(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "x.openloom"), tmp_path / "out"
    out.mkdir()
    (out / "x.openloom").symlink_to(source / "x.openloom")
    before = (source / "x.openloom").read_bytes()
    assert run(source, out, "--to", "openloom-2", "--overwrite", "--exported-at", "2026-01-01T00:00:00Z", "-j1")[0] == 1
    assert (source / "x.openloom").read_bytes() == before


def test_an_address_of_this_machine_is_its_path(tmp_path: Path) -> None:
    source = fill(tmp_path / "my looms", "x.openloom")
    assert "are the same" in refused(source, source.as_uri(), "--to", "openloom-2")
    assert local_path(source.as_uri()) == str(source)
    assert local_path("s3://bucket/x") == "s3://bucket/x"


def test_whose_a_place_is() -> None:
    territory = Territory(["s3://a/looms", "s3://a/x/y"], "s3://a/looms/new")
    assert territory.is_source("s3://a/looms/b.json")
    assert territory.is_source("s3://a/x/y")
    assert not territory.is_source("s3://a/looms/new/b.json")
    assert not territory.is_source("s3://a/looms2/b.json")
    assert territory.is_target("s3://a/looms/new/b.json")
    assert not Territory(["s3://a/x/y"], "s3://a/x").is_target("s3://a/x/y/b.json")
    assert Territory(["s3://a/x/*/b?.json"], "s3://a").is_source("s3://a/x/y")
    assert not Territory(["s3://a/x/*"], "s3://a/x").is_source("s3://a/x/y"), "beside what fits the pattern"
    assert Territory(["/"], "/x").is_source("/y/z")
    assert not Territory(["/"], "/x").is_source("/x/z")


def test_passwords_in_addresses_are_not_told(tmp_path: Path) -> None:
    assert without_password("ftp://me:secret@host/a@b") == "ftp://host/a@b"
    assert without_password("s3://bucket/me:x@y") == "s3://bucket/me:x@y"
    assert "secret" not in refused("nosuchscheme://me:secret@host/looms", tmp_path / "out", "--to", "openloom-2")
    assert not (tmp_path / "out").exists()


def test_a_missing_source_leaves_nothing_behind(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "missing", tmp_path / "out", "--to", "openloom-2")
    assert not (tmp_path / "out").exists()


def test_a_pattern_is_a_source(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a/x.openloom", "a/deep/y.openloom", "b/z.json"), tmp_path / "out"
    assert run(source / "*" / "*.openloom", out, "--to", "openloom-2", "-j1")[0] == 0
    assert set(statuses(out)) == {"a/x.openloom"}
    assert run(source / "*", tmp_path / "out2", "--to", "openloom-2", "-j1")[0] == 0
    assert set(statuses(tmp_path / "out2")) == {"a/x.openloom", "a/deep/y.openloom", "b/z.json"}
    (source / "b" / "z.openloom").write_bytes(loom("another"))
    (source / "b" / "z").mkdir()
    fill(source / "b" / "z", "y.openloom")
    assert run(source / "b" / "*", tmp_path / "out3", "--to", "openloom-2", "-j1")[0] == 0
    assert len(titles(tmp_path / "out3")) == 3
    beside = run(source / "a" / "*.openloom", source / "a", "--to", "openloom-1", "-j1")
    assert beside[0] == 0
    assert (source / "a" / "x.openloom.json").is_file()
    assert "choose with --include" in refused(source / "**" / "*.json", out, "--to", "openloom-2")
    assert "nothing fits" in refused(source / "*.nothing", out, "--to", "openloom-2")


def test_a_folder_that_is_called_like_media_is_a_folder(tmp_path: Path) -> None:
    source, out = (
        fill(tmp_path / "looms", "social.media/x.openloom", "a.openloom", "a.media/y.openloom"),
        tmp_path / "out",
    )
    run(source, out, "--to", "openloom-2", "-j1")
    assert set(statuses(out)) == {"social.media/x.openloom", "a.openloom"}
    assert report(out)["passed_over"] == {"media beside a loom": 1}


# -- what was done by hand --------------------------------------------------------------------------------------------


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


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ledger.sqlite", "running.lock"])
def test_a_damaged_ledger_is_told(tmp_path: Path, name: str) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-2", "-j1")
    (out / "loomconv-batch" / name).write_bytes(b"no database " * 1000)
    said = refused(source, out, "--to", "openloom-2")
    assert f"{name}: the ledger of the batch is damaged" in said
    assert "Move it away" in said
    (out / "loomconv-batch" / name).unlink()
    assert run(source, out, "--to", "openloom-2", "-j1", "--overwrite")[0] == 0


def test_a_ledger_that_is_damaged_inside_is_told(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-2", "-j1")
    path = out / "loomconv-batch" / "ledger.sqlite"
    path.write_bytes(path.read_bytes()[:4096] + b"\xaa" * (path.stat().st_size - 4096))
    assert "is damaged" in refused(source, out, "--to", "openloom-2")
    assert "is damaged" in refused(source, out, "--to", "openloom-2", "--dry-run")


def test_a_ledger_of_version_1_is_gone_on_with(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-2", "-j1")
    with sqlite3.connect(out / "loomconv-batch" / "ledger.sqlite") as rows:
        rows.executescript("DROP TABLE outputs; PRAGMA user_version=1")
    rows.close()
    (source / "a.openloom").write_bytes(loom("changed"))
    assert run(source, out, "--to", "openloom-2", "-j1")[0] == 0
    assert titles(out) == {"a.openloom": "changed"}


def test_encrypted_members_are_told(tmp_path: Path) -> None:
    path = tmp_path / "looms.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.openloom", "b.openloom", "A.openloom"):
            archive.writestr(name, loom(name))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the directory says that the first one is encrypted
    path.write_bytes(bytes(data))
    status, _, err = run(path, tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 4
    assert "looms.zip/a.openloom: It is encrypted. Extract it with its password." in err
    assert statuses(tmp_path / "out") == {
        "looms.zip/a.openloom": "failed", "looms.zip/b.openloom": "done", "looms.zip/A.openloom": "done",
    }  # fmt: skip


def test_twins_in_an_archive_are_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "looms.zip", "w") as archive:
        for name in ("a.openloom", "A.openloom", "b.openloom"):
            archive.writestr(name, loom(name))
    status, _, err = run(tmp_path / "looms.zip", tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 4
    assert "looms.zip/A.openloom: Its name is that of another file in the archive." in err


# -- workers and ends -------------------------------------------------------------------------------------------------


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


# -- watching ----------------------------------------------------------------------------------------------------------


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
            _wait_for((out / "a.openloom.json").exists)
            source.rename(tmp_path / "away")
            _wait_for(lambda: "watching goes on" in (tmp_path / "said").read_text())
            (tmp_path / "away").rename(source)
            fill(source, "b.openloom")
            _wait_for((out / "b.openloom.json").exists)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


def _wait_for(condition: Any) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.1)


# -- what is said ------------------------------------------------------------------------------------------------------


def test_strict_is_status_3_when_nothing_could_be_written(tmp_path: Path) -> None:
    source = tmp_path / "looms"
    source.mkdir()
    (source / "a.openloom").write_bytes((FIXTURES / "openloom-2" / "dialogue.openloom").read_bytes())
    assert run(source, tmp_path / "out", "--to", "socketteer", "--strict", "-j1")[0] == 3
    assert not list((tmp_path / "out").glob("*.json"))
    (source / "broken.json").write_bytes(b'{"root":,}')
    assert run(source, tmp_path / "out", "--to", "socketteer", "--strict", "-j1")[0] == 1


def test_the_report_goes_to_another_file_as_well(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "a.openloom")
    run(source, tmp_path / "out", "--to", "openloom-1", "-j1", "--report", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text("utf-8")) == report(tmp_path / "out")

    assert "Make the folder first" in refused(
        source, tmp_path / "out", "--to", "openloom-1", "--report", tmp_path / "missing" / "r.json"
    )


def test_a_disk_that_fails_is_no_reason_to_pass_a_file_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom", "b.openloom"), tmp_path / "out"
    real = Path.open

    def failing(path: Path, *more: Any, **options: Any) -> Any:
        if path.name == "a.openloom" and path.parent.name == "looms":
            raise OSError(5, "Input/output error", str(path))
        return real(path, *more, **options)

    monkeypatch.setattr(Path, "open", failing)
    status, _, err = run(source, out, "--to", "openloom-1", "-j1")
    assert status == 4
    assert "a.openloom: The file cannot be opened (Input/output error)" in err


def test_no_room_for_an_archive_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def __init__(self, max_size: int) -> None:
            super().__init__()

        def write(self, data: Any, /) -> int:
            raise OSError(28, "No space left on device")

    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(fill(tmp_path / "looms", "a.openloom"), "looms")
    monkeypatch.setattr("tempfile.SpooledTemporaryFile", Full)
    status, _, err = run(path, tmp_path / "out", "--to", "openloom-1", "-j1")
    assert status == 1
    assert "cannot be unpacked to a temporary file (No space left on device)" in err


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "=a.openloom", "+b.openloom", "@c.openloom", "-d.openloom", "＝e.openloom")
    run(source, tmp_path / "out", "--to", "openloom-1", "-j1")
    with open(tmp_path / "out" / "loomconv-batch" / "report.csv", encoding="utf-8", newline="") as stream:  # noqa: PTH123
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell[:1] in set("=+-@＝")]


def test_the_page_says_how_many_it_does_not_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomconv.batch.report._MOST_ROWS", 2)
    source, out = fill(tmp_path / "looms", "a.openloom", "b.openloom", "c.openloom"), tmp_path / "out"
    (source / "z.json").write_bytes(b'{"root":,}')
    run(source, out, "--to", "openloom-1", "-j1")
    page = (out / "loomconv-batch" / "report.html").read_text("utf-8")
    data = json.loads(page.partition("const DATA = ")[2].partition(";\n")[0])
    assert [each["name"] for each in data["files"]] == ["z.json", "a.openloom"]
    assert data["left_out"] == 2
    assert "are only in report.csv" in page


def test_titles_cannot_pose_as_others(tmp_path: Path) -> None:
    assert safe_name("a\u202egnp\u2066.exe") == "agnp.exe"


def test_a_ledger_among_the_sources_is_not_read(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "a.openloom")
    for _ in range(2):
        run(source, tmp_path / "out", "--to", "openloom-1", "-j1", "--ledger", source / "ledger")
    found = json.loads((source / "ledger" / "report.json").read_text("utf-8"))
    assert [each["name"] for each in found["files"]] == ["a.openloom"]
