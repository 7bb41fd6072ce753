"""Archives and stores: walked like folders, with the same patterns, and a dry run that looks into them."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomconv.api import load
from loomconv.batch import contents
from loomconv.batch.items import Item
from loomconv.batch.scan import Scan
from loomconv.registry import default_registry
from loomconv.storage.limits import Limits
from tests.batch.harness import FIXTURES, loom, report, run, statuses

MEMBERS = {
    "a/one.openloom": loom("One"),
    "b/two.json": (FIXTURES / "openloom-1" / "minimal.openloom.json").read_bytes(),
    "b/broken.json": b'{"root":,}',
    "notes.txt": b"no loom",
}


def packed(path: Path, members: dict[str, bytes]) -> Path:
    """An archive, of the kind that its name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return path
    mode = {".gz": "w:gz", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}.get(path.suffix, "w")
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz", "x.tgz", "x.tar.bz2", "x.tar.xz", "called-anything"])
def test_archives_of_every_kind_are_walked(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, {**MEMBERS, "../up.openloom": loom("Up")})
    out = tmp_path / "out"
    status, listed, err = run(path, out, "--to", "openloom-2", "-j1", "--list-skipped")
    assert status == 4
    assert f"{name}/b/broken.json: A JSON value should stand here at line 1 column 9" in err
    assert statuses(out) == {
        f"{name}/a/one.openloom": "done", f"{name}/b/two.json": "done", f"{name}/b/broken.json": "failed",
        f"{name}/notes.txt": "skipped",
    }  # fmt: skip
    assert load(out / name / "a" / "one.openloom").trees[0].fields["title"] == "One"
    assert f"{name}/../up.openloom: not safe to unpack" in listed
    assert not list(tmp_path.rglob("up.openloom"))
    assert run(path, out, "--to", "openloom-2", "-j1")[2].startswith("0 files to convert, 4 done")


def test_a_changed_member_is_done_again(tmp_path: Path) -> None:
    path, out = packed(tmp_path / "x.tar.gz", MEMBERS), tmp_path / "out"
    run(path, out, "--to", "openloom-2", "-j1")
    before = (out / "x.tar.gz/b/two.openloom").stat().st_mtime_ns
    packed(path, {**MEMBERS, "a/one.openloom": loom("Two")})
    assert run(path, out, "--to", "openloom-2", "-j1")[0] == 4
    assert load(out / "x.tar.gz/a/one.openloom").trees[0].fields["title"] == "Two"
    assert (out / "x.tar.gz/b/two.openloom").stat().st_mtime_ns == before


def test_a_broken_archive_is_told(tmp_path: Path) -> None:
    for name in ("x.tar", "y.tar.gz"):
        path = packed(tmp_path / name, {**MEMBERS, "z": bytes(range(256)) * 40})
        path.write_bytes(path.read_bytes()[: -(path.stat().st_size // 3)])
    status, _, err = run(tmp_path / "x.tar", tmp_path / "y.tar.gz", tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 1
    assert "x.tar: The TAR archive is broken: " in err
    assert "y.tar.gz: The TAR archive is broken: " in err


def test_one_loom_with_its_pictures_is_a_bundle_whatever_its_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(FIXTURES / "openloom-2" / "picture-book.openloom.zip") as book:
        members = {name.replace("tree.openloom", "story.openloom"): book.read(name) for name in book.namelist()}
    path = packed(tmp_path / "book.zip", members)
    assert run(path, tmp_path / "out", "--to", "openloom-2", "--media", "beside", "-j1")[0] == 0
    assert statuses(tmp_path / "out") == {"book.zip": "done"}
    assert len(list((tmp_path / "out" / "book.media").iterdir())) == 6
    packed(path, {**members, "second.openloom": loom()})
    run(path, tmp_path / "out2", "--to", "openloom-2", "-j1")
    assert {"book.zip/story.openloom", "book.zip/second.openloom"} <= statuses(tmp_path / "out2").keys()


def test_an_archive_where_none_is_looked_into_is_told(store: Any, tmp_path: Path) -> None:
    inner = packed(tmp_path / "inner.tar.gz", MEMBERS).read_bytes()
    outer = packed(tmp_path / "outer.zip", {"inner.tar.gz": inner, "one.openloom": loom("One")})
    assert run(outer, tmp_path / "out", "--to", "openloom-2", "-j1")[0] == 4
    assert statuses(tmp_path / "out") == {"outer.zip/inner.tar.gz": "failed", "outer.zip/one.openloom": "done"}
    store.store.clear()
    store.pipe_file("/looms/inner.tar.gz", inner)
    status, _, err = run("memory://looms", tmp_path / "out2", "--to", "openloom-2", "-j1")
    assert status == 1
    assert "Extract it first" in err


def test_an_archive_is_unpacked_once_for_all_its_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "x.tar.gz", {f"{number}.openloom": loom(str(number)) for number in range(40)})
    opened: list[str] = []
    real = contents.TarArchive

    def counted(stream: Any, source: str, *more: Any) -> Any:
        opened.append(source)
        return real(stream, source, *more)

    monkeypatch.setattr(contents, "TarArchive", counted)
    assert run(path, tmp_path / "out", "--to", "openloom-2", "-j1")[0] == 0
    assert len(opened) == 2, "once to look, once to convert"


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
def test_patterns_choose_members(tmp_path: Path, name: str) -> None:
    source = tmp_path / "looms"
    source.mkdir()
    packed(source / name, MEMBERS)
    (source / "c.openloom").write_bytes(loom("C"))
    (source / "d.json").write_bytes(MEMBERS["b/two.json"])

    def chosen(*patterns: str) -> set[str]:
        shown = run(source, tmp_path / "out", "--to", "openloom-2", "--dry-run", *patterns)[1]
        return {line.partition(" ")[0] for line in shown.splitlines()}

    assert chosen("--include", "*.openloom") == {"c.openloom", f"{name}/a/one.openloom"}
    assert chosen("--include", "b/*") == {f"{name}/b/two.json"}
    assert chosen("--include", "a") == chosen("--include", "a/") == {f"{name}/a/one.openloom"}
    assert chosen("--exclude", "b", "--exclude", "d.*") == {"c.openloom", f"{name}/a/one.openloom"}
    assert chosen("--include", name) == {f"{name}/a/one.openloom", f"{name}/b/two.json"}
    assert chosen("--include", name, "--exclude", "b/*") == {f"{name}/a/one.openloom"}
    assert chosen("--exclude", name) == {"c.openloom", "d.json"}
    assert chosen("--exclude", "*.json") == {"c.openloom", f"{name}/a/one.openloom"}


@pytest.mark.parametrize("name", ["x.zip", "x.tar.xz"])
def test_a_dry_run_tells_the_format_of_members(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, MEMBERS)
    status, out, err = run(path, tmp_path / "out", "--to", "openloom-2", "--dry-run", "--list-skipped")
    assert status == 0
    assert f"{name}/a/one.openloom (openloom-2) -> {name}/a/one.openloom" in out.splitlines()
    assert f"{name}/b/two.json (openloom-1) -> {name}/b/two.openloom" in out.splitlines()
    assert f"{name}/notes.txt: " in out
    assert "2 files would be converted, 2 would not be" in err


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def store() -> Iterator[Any]:
    """A store in the memory of this process."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    for name, data in MEMBERS.items():
        system.pipe_file(f"/looms/{name}", data)
    yield system
    system.store.clear()


def test_patterns_choose_objects_and_a_dry_run_tells_their_format(store: Any, tmp_path: Path) -> None:
    arguments = ("memory://looms", tmp_path / "out", "--to", "openloom-2", "--dry-run")
    assert run(*arguments)[1].splitlines() == [
        "a/one.openloom (openloom-2) -> a/one.openloom", "b/two.json (openloom-1) -> b/two.openloom",
    ]  # fmt: skip
    assert run(*arguments, "--include", "b/*")[1].splitlines() == ["b/two.json (openloom-1) -> b/two.openloom"]
    assert "b/two" not in run(*arguments, "--exclude", "*.json")[1]
    assert run(*arguments, "--include", "b")[1] == run(*arguments, "--exclude", "a")[1]
    assert run("memory://looms/a/*", *arguments[1:])[1].splitlines() == ["one.openloom (openloom-2) -> one.openloom"]


def test_names_of_objects_lead_nowhere(store: Any, tmp_path: Path) -> None:
    store.store.clear()
    for name in ("/looms/../../up.openloom", "/looms//twice.openloom", "/looms/a:b?.openloom", "/looms/a?b_.openloom"):
        store.store[name] = store.open("/x", "wb")
        store.store[name].write(loom(name))
    store.store.pop("/x", None)
    out = tmp_path / "deep" / "er" / "out"
    assert run("memory://looms", out, "--to", "openloom-2", "-j1")[0] == 0
    outputs = {each["outputs"][0] for each in report(out)["files"]}
    assert outputs == {"_/_/up.openloom", "_/twice.openloom", "a_b_.openloom", "a_b_-2.openloom"} or len(outputs) == 4
    assert len(list(tmp_path.rglob("*.openloom"))) == 4
    assert all(path.is_relative_to(out) for path in tmp_path.rglob("*.openloom"))


def test_a_target_inside_the_source_is_not_read_in_a_store(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run("memory://looms", "memory://looms/new", "--to", "openloom-2", "-j1", "--exclude", "broken*")[0] == 0
    assert sorted(path for path in store.find("/looms/new") if path.endswith("openloom")) == [
        "/looms/new/a/one.openloom", "/looms/new/b/two.openloom",
    ]  # fmt: skip


def test_a_source_inside_the_target_is_not_written_to_in_a_store(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store.pipe_file("/looms/looms/x.openloom", loom("x"))
    before = store.cat_file("/looms/looms/x.openloom")
    store.pipe_file("/looms/looms/looms/x.openloom", loom("y"))
    status, _, err = run("memory://looms/looms", "memory://looms", "--to", "openloom-2", "-j1")
    assert status == 4
    assert "would come among the sources" in err
    assert store.cat_file("/looms/looms/x.openloom") == before


def test_a_store_that_fails_is_told(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*more: Any, **options: Any) -> Any:
        raise KeyError("a driver's own error, which may hold a key")

    monkeypatch.setattr(type(store), "cat_file", failing)
    status, _, err = run("memory://looms", tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 1
    assert "a/one.openloom: It cannot be fetched (KeyError)" in err
    assert "a driver's own" not in err


def test_looking_keeps_no_more_than_a_folder_in_mind(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.openloom").write_bytes(loom())
    scan = Scan([str(tmp_path)], str(tmp_path / "out"), list(default_registry().formats.values()), ".openloom")
    items = list(scan.items())
    assert [(each.name, each.target) for each in items] == [("a/x.openloom", "a/x.openloom")]
    with contents.opened(Item("x", items[0].source, "x", 1, "1"), Limits()) as source:
        assert source.size
