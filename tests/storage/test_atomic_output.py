from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from loomconv.errors import DiskFull, InTheWay, PluginFault, UsageFault
from loomconv.storage.output import AtomicFile, AtomicGroup, Sink


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with AtomicFile(path) as file:
        sink: Sink = file
        sink.write(b"one ")
        file.write("zwei ü ")
        file.write(bytearray(b"x" * 3_000_000))
        file.write(memoryview(b"end"))
        assert not path.exists()
    assert path.read_bytes() == "one zwei ü ".encode() + b"x" * 3_000_000 + b"end"
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_midway_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "old.json").write_bytes(b"old")
    for name in ("new.json", "old.json"):
        with pytest.raises(error), AtomicFile(tmp_path / name) as file:
            file.write(b"half" * 500_000)
            raise error
    assert names(tmp_path) == ["old.json"]
    assert (tmp_path / "old.json").read_bytes() == b"old"


def test_a_lone_surrogate_is_a_fault_of_the_writer(tmp_path: Path) -> None:
    with pytest.raises(PluginFault, match="lone surrogate") as caught, AtomicFile(tmp_path / "a.json") as file:
        file.write("secret \ud83e")
    assert "secret" not in str(caught.value)
    assert names(tmp_path) == []


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_bits_of_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with AtomicFile(tmp_path / "a.json") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_replaced_file_keeps_its_bits_from_the_start(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    with AtomicFile(path) as file:
        file.write(b"new")
        (temporary,) = (p for p in tmp_path.iterdir() if p != path)
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.json"
    link = tmp_path / "link.json"
    link.symlink_to(target)
    for content in (b"made", b"replaced"):
        with AtomicFile(link) as file:
            file.write(content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert names(tmp_path / "real") == ["a.json"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    with AtomicFile(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_a_left_over_temporary_file_is_not_touched(tmp_path: Path) -> None:
    left = tmp_path / f".loomconv-{os.getpid()}-0.tmp"
    left.write_bytes(b"left")
    with AtomicFile(tmp_path / "a.json") as file:
        file.write(b"x")
    assert left.read_bytes() == b"left"
    assert names(tmp_path) == [left.name, "a.json"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is a folder"),
        ("folder", "is a folder"),
        ("new/", "is a folder"),
        ("no/such/a.json", "folder of the output does not exist"),
        ("file/a.json", "folder of the output does not exist"),
        ("ring", "cannot be written"),
        ("a" * 300, "cannot be written"),
        ("a\0b", "not a possible path"),
    ],
)
def test_impossible_targets_are_refused_with_a_next_step(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    with pytest.raises(UsageFault, match=message) as caught, AtomicFile(f"{tmp_path}/{name}") as file:
        file.write(b"x")
    assert caught.value.next_step
    assert names(tmp_path) == ["file", "folder", "ring"]


def test_a_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    # Who runs the tests as root may write everything.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageFault, match="write-protected"):
        AtomicFile(path)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageFault, match=r"No space left on device.*Free some space"):  # noqa: SIM117
        with AtomicFile(tmp_path / "a.json", fsync=True) as file:
            file.write(b"x")
    assert names(tmp_path) == []


def test_fsync_reaches_the_file_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = []
    monkeypatch.setattr(os, "fsync", lambda fd: kinds.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    with AtomicFile(tmp_path / "a.json", fsync=True) as file:
        file.write(b"x")
    assert kinds == [False, True]


def test_standard_output_gets_all_or_nothing() -> None:
    stream = io.BytesIO()
    with AtomicFile("-", stdout=stream) as file:
        file.write(b"one")
        file.write("two")
        assert stream.getvalue() == b""
    assert stream.getvalue() == b"onetwo"
    with pytest.raises(RuntimeError), AtomicFile("-", stdout=stream) as file:
        file.write(b"three")
        raise RuntimeError
    assert stream.getvalue() == b"onetwo"


def test_large_output_to_a_stream_waits_in_a_file() -> None:
    stream = io.BytesIO()
    with AtomicFile("-", stdout=stream) as file:
        for _ in range(10):
            file.write(b"x" * 1_000_000)
    assert len(stream.getvalue()) == 10_000_000


def test_standard_output_without_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with pytest.raises(UsageFault, match="Name an output file"):
        AtomicFile("-")


def test_a_reader_who_goes_away_is_no_error() -> None:
    code = (
        "from loomconv.storage.output import AtomicFile\n"
        "import sys\n"
        "with AtomicFile('-') as file:\n"
        "    file.write(b'x' * 3_000_000)\n"
        "print(file.broken_pipe, file=sys.stderr)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b"True\n"
        assert child.wait() == 0


def test_a_device_is_written_to_and_stays() -> None:
    before = Path(os.devnull).stat()
    with AtomicFile(os.devnull) as file:
        file.write(b"x")
    assert Path(os.devnull).stat().st_ino == before.st_ino


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with AtomicFile(pipe) as file:
        file.write(b"x")
    reader.join()
    assert got == [b"x"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_group_appears_together(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with AtomicGroup(stdout=stream) as group:
        for name in ("a.json", "b.json"):
            with group.open(tmp_path / name) as file:
                file.write(name)
        with group.open("-") as file:
            file.write(b"data")
        assert not any(p.suffix == ".json" for p in tmp_path.iterdir())
        assert stream.getvalue() == b""
    assert names(tmp_path) == ["a.json", "b.json"]
    assert (tmp_path / "b.json").read_bytes() == b"b.json"
    assert stream.getvalue() == b"data"


def test_a_group_of_many_files_needs_few_descriptors(tmp_path: Path) -> None:
    with AtomicGroup() as group:
        first = len(list(Path("/dev/fd").iterdir())) if Path("/dev/fd").exists() else 0
        for n in range(60):
            with group.open(tmp_path / f"{n}.json") as file:
                file.write(b"x")
        if first:
            assert len(list(Path("/dev/fd").iterdir())) <= first + 1
    assert len(names(tmp_path)) == 60


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_group_that_fails_changes_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "a.json").write_bytes(b"old")
    with pytest.raises(error), AtomicGroup() as group:
        with group.open(tmp_path / "a.json") as file:
            file.write(b"new")
        with group.open(tmp_path / "b.json") as file:
            file.write(b"new")
            raise error
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"old"


def test_a_failure_that_was_caught_still_stops_the_group(tmp_path: Path) -> None:
    def fail() -> None:
        with group.open(tmp_path / "b.json") as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(UsageFault, match="none of its group was written"), AtomicGroup() as group:
        with group.open(tmp_path / "a.json") as file:
            file.write(b"new")
        with pytest.raises(RuntimeError):
            fail()
    assert names(tmp_path) == []


def test_moves_are_undone_when_one_fails(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_bytes(b"old")
    (tmp_path / "old.json").chmod(0o600)
    with pytest.raises(UsageFault, match="cannot be written"), AtomicGroup() as group:
        for name in ("old.json", "new.json", "blocked.json"):
            with group.open(tmp_path / name) as file:
                file.write(b"new")
        # What nobody could foresee: a folder takes the name of the last file.
        (tmp_path / "blocked.json").mkdir()
    assert names(tmp_path) == ["blocked.json", "old.json"]
    assert (tmp_path / "old.json").read_bytes() == b"old"
    assert stat.S_IMODE((tmp_path / "old.json").stat().st_mode) == 0o600


def test_without_hard_links_the_error_says_what_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    old = tmp_path / "old.json"
    old.write_bytes(b"old")
    with pytest.raises(UsageFault, match=r"not brought back: .*old\.json\)"), AtomicGroup() as group:
        for name in ("old.json", "blocked.json"):
            with group.open(tmp_path / name) as file:
                file.write(b"new")
        (tmp_path / "blocked.json").mkdir()
    assert old.read_bytes() == b"new"


def test_two_outputs_of_a_group_may_not_meet(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "a.json")
    with pytest.raises(UsageFault, match="same place"), AtomicGroup() as group:
        group.open(tmp_path / "a.json")
        group.open(tmp_path / "link.json")
    with pytest.raises(UsageFault, match="same place"), AtomicGroup(stdout=io.BytesIO()) as group:
        group.open("-")
        group.open("-")
    with AtomicGroup() as group:
        for _ in range(2):
            with group.open(os.devnull) as file:
                file.write(b"x")


def test_a_guard_sees_every_place_before_anything_appears(tmp_path: Path) -> None:
    def guard(place: Path) -> None:
        seen.append(place.name)
        if place.name == "second":
            raise InTheWay("not here", source=place.name)

    seen: list[str] = []
    with pytest.raises(InTheWay, match="not here"), AtomicGroup(guard=guard) as group:
        for name in ("first", "second"):
            with group.open(tmp_path / name) as file:
                file.write(b"x")
    assert seen == ["first", "second"]
    assert not list(tmp_path.iterdir())


def test_what_comes_in_between_is_not_replaced(tmp_path: Path) -> None:
    def guard(place: Path) -> None:
        if place.name == "late":
            place.write_bytes(b"somebody else's")

    with pytest.raises(InTheWay, match="a file is in the way"), AtomicGroup(guard=guard) as group:
        for name in ("early", "late"):
            with group.open(tmp_path / name) as file:
                file.write(b"x")
    assert (tmp_path / "late").read_bytes() == b"somebody else's"
    assert [path.name for path in tmp_path.iterdir()] == ["late"], "the other one was taken back"


def test_a_guard_that_lets_pass_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").write_bytes(b"old")
    for links in (True, False):
        if not links:  # as on a file system without hard links
            monkeypatch.setattr(Path, "hardlink_to", lambda *more: (_ for _ in ()).throw(PermissionError(1, "no")))
        with AtomicGroup(guard=lambda place: None) as group:
            for name in ("old", f"new-{links}"):
                with group.open(tmp_path / name) as file:
                    file.write(b"x")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()}[f"new-{links}"] == b"x"
        assert (tmp_path / "old").read_bytes() == b"x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new-False", "new-True", "old"]


@pytest.mark.skipif(sys.platform == "win32", reason="it is told otherwise there")
def test_a_file_that_is_there_on_a_read_only_disk_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ReadOnly:
        f_flag = os.ST_RDONLY

    (tmp_path / "old").write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *more: False)
    with pytest.raises(UsageFault, match="write-protected"):
        AtomicFile(tmp_path / "old")
    monkeypatch.setattr(os, "statvfs", lambda name: ReadOnly)
    with pytest.raises(DiskFull, match="Read-only file system"):
        AtomicFile(tmp_path / "old")
