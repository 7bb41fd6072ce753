"""What outputs are called: possible and different names on every file system, whatever sources are called."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from loomconv.api import load
from loomconv.batch.names import DirectoryNames, portable
from loomconv.storage import open_source
from tests.batch.harness import fill, loom, posix, report, run, several, titles


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
