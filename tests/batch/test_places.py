"""Where sources and outputs may be: links, addresses, patterns, and folders within each other."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from loomconv.batch.items import Item, Settings
from loomconv.batch.places import Territory, endangered, local_path, obstacle, without_password
from tests.batch.harness import fill, loom, posix, refused, report, run, statuses, titles


def test_ten_thousand_single_files_cost_no_more_than_a_folder(tmp_path: Path) -> None:
    sources = [f"looms/{number}.json" for number in range(10_000)]
    began = time.perf_counter()
    kept = endangered([*sources, str(tmp_path)], str(tmp_path / "out"))
    settings = Settings(target_root=str(tmp_path / "out"), target_format="x", suffix=".x", sources=kept)
    item = Item("a", "looms/a.json", "a.x", 1, "1")
    assert [obstacle(item, settings) for _ in range(2000)] == [""] * 2000
    assert time.perf_counter() - began < 5


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
