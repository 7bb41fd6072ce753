from __future__ import annotations

import gzip
import hashlib
import io
import mmap
import os
import threading
import zipfile
from pathlib import Path

import pytest

from loomconv.errors import LimitExceeded, UnreadableFile
from loomconv.storage import source as source_module
from loomconv.storage.limits import MIB, Limits
from loomconv.storage.output import AtomicFile
from loomconv.storage.source import open_source

TEXT = b'{"format": "open-loom"}'


@pytest.fixture
def small_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MMAP_FROM", 10)


def test_a_small_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_bytes(TEXT)
    with open_source("a.json") as source:
        assert source.data == TEXT
        assert (source.name, source.path, source.container) == ("a.json", Path("a.json"), "plain")
        assert (source.size, source.truncated, source.incidents) == (len(TEXT), False, ())
        assert source.digest() == hashlib.sha256(TEXT).hexdigest()
        assert source.members == {}
        assert source.read_member("a.png") is None


def test_a_large_file_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(TEXT.ljust(source_module.MMAP_FROM))
    with open_source(path) as source:
        assert isinstance(source.data, mmap.mmap)
        assert source.data[: len(TEXT)] == TEXT
        assert source.digest() == hashlib.sha256(path.read_bytes()).hexdigest()
        with pytest.raises(TypeError):
            source.data[0] = 1
    with pytest.raises(ValueError, match="closed"):
        source.data[0]


@pytest.mark.usefixtures("small_maps")
def test_closing_a_map_that_is_looked_at_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(TEXT)
    source = open_source(path)
    view = memoryview(source.data)
    source.close()
    assert bytes(view) == TEXT
    view.release()
    source.close()


@pytest.mark.usefixtures("small_maps")
def test_the_file_being_read_may_be_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(TEXT * 1000)
    with open_source(path) as source, AtomicFile(path) as out:
        out.write(b"short")
        assert source.data[-len(TEXT) :] == TEXT
    with open_source(path) as source:
        assert bytes(source.data) == b"short"


def test_where_nothing_can_be_mapped_the_file_is_read(
    tmp_path: Path, small_maps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(19, "No such device")

    path = tmp_path / "a.json"
    path.write_bytes(TEXT)
    monkeypatch.setattr(mmap, "mmap", refuse)
    assert open_source(path).data == TEXT


def test_a_stream_is_read() -> None:
    with open_source("-", stdin=io.BytesIO(TEXT)) as source:
        assert (source.data, source.name, source.path) == (TEXT, "<stdin>", None)
        assert source.beside("*") == []
        with pytest.raises(UnreadableFile, match="stream"):
            source.read_beside(Path("a.png"))


def test_bytes_and_their_name() -> None:
    assert open_source(TEXT).name == "<bytes>"
    assert open_source(TEXT, name="x/y.json").name == "x/y.json"


def test_gzip_from_file_stream_and_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    path = tmp_path / "a.json.gz"
    path.write_bytes(packed)
    for source in (open_source(path), open_source(packed), open_source("-", stdin=io.BytesIO(packed))):
        assert (source.data, source.container) == (TEXT, "gzip")
    (tmp_path / "a.png").write_bytes(b"x")
    assert [p.name for p in open_source(path).beside("*.png")] == ["a.png"]


def test_a_cut_gzip_file_is_flagged() -> None:
    source = open_source(gzip.compress(TEXT * 50)[:-4])
    assert (source.data, source.truncated) == (TEXT * 50, True)
    assert [incident.kind for incident in source.incidents] == ["gzip-truncated"]


def test_a_zip_is_read_lazily_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tree.openloom", TEXT)
        archive.writestr("a.png", b"picture")
    with open_source(path) as source:
        assert (source.data, source.container, source.path) == (TEXT, "zip", path)
        assert source.read_member("a.png") == b"picture"
        assert source.members["a.png"].file_size == 7


def test_containers_are_not_followed_twice() -> None:
    for inner in (gzip.compress(TEXT), b"PK\x03\x04"):
        with pytest.raises(UnreadableFile, match=r"another container .*Unpack the outer one"):
            open_source(gzip.compress(inner))


@pytest.mark.parametrize("data", [b"", gzip.compress(b"", mtime=0), gzip.compress(b"", mtime=0)[:12]])
def test_nothing_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    for where in (path, data):
        with pytest.raises(UnreadableFile, match="nothing in it"):
            open_source(where)


def test_a_missing_file_and_a_folder_have_next_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableFile) as caught:
        open_source("no/such.json")
    assert str(caught.value) == "no/such.json: there is no such file. Check the spelling of the path."
    with pytest.raises(UnreadableFile, match=r"folder.*one of the files in it"):
        open_source(".")
    with pytest.raises(UnreadableFile, match="Check the path"):
        open_source("a" * 5000)
    with pytest.raises(UnreadableFile, match="Check the path"):
        open_source("a\0b")


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "a.json"
    path.write_bytes(TEXT)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableFile, match="no permission"):
        open_source(path)


def test_a_document_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(TEXT)
    limits = Limits(document_bytes=len(TEXT) - 1)
    for where, stdin in ((path, None), (TEXT, None), ("-", io.BytesIO(TEXT))):
        with pytest.raises(LimitExceeded, match="--limit document-bytes="):
            open_source(where, limits, stdin=stdin)
    assert open_source(path, Limits(document_bytes=len(TEXT))).data == TEXT


def test_an_endless_stream_stops_at_the_limit() -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return bytes(size)

    stream = Endless()
    with pytest.raises(LimitExceeded):
        open_source("-", Limits(document_bytes=MIB, bundle_bytes=3 * MIB), stdin=stream)  # type: ignore[arg-type]
    assert stream.given <= 5 * MIB


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TEXT))
    writer.start()
    with open_source(pipe) as source:
        assert (source.data, source.path) == (TEXT, None)
    writer.join()
