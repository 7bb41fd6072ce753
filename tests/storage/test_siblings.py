from __future__ import annotations

import os
from pathlib import Path

import pytest

from loomconv.errors import LimitExceeded, UnreadableFile
from loomconv.storage.limits import Limits
from loomconv.storage.source import Source, open_source


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    folder = tmp_path / "export"
    (folder / "sub").mkdir(parents=True)
    (folder / "chat.json").write_bytes(b"[]")
    for name in ("b.png", "a.png", "sub/c.png"):
        (folder / name).write_bytes(name.encode())
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "out.png").symlink_to(tmp_path / "secret.png")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.png").symlink_to(folder / "a.png")
    (folder / "lost.png").symlink_to(folder / "nowhere.png")
    (folder / "ring.png").symlink_to(folder / "ring.png")
    (folder / "self.json").symlink_to(folder / "chat.json")
    (folder / "folder.png").mkdir()
    monkeypatch.chdir(tmp_path)
    return open_source("export/chat.json", Limits(medium_bytes=5))


def test_files_beside_are_found_in_order_and_named_as_the_source_is(source: Source) -> None:
    assert source.beside("*.png") == [Path("export/a.png"), Path("export/b.png"), Path("export/in.png")]
    assert source.beside("*/*.png") == [Path("export/sub/c.png")]
    assert source.beside("sub/c.png") == [Path("export/sub/c.png")]
    assert source.beside("*.json") == []


@pytest.mark.parametrize(
    "pattern",
    ["", "/", "/etc/hostname", "../secret.png", "sub/../../*.png", "up/secret.png", "**/*.png", "a**", "..\\x", "a\0b"],
)
def test_patterns_that_leave_the_folder_match_nothing(source: Source, pattern: str) -> None:
    assert source.beside(pattern) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_only_regular_files_are_found(source: Source) -> None:
    os.mkfifo("export/pipe.png")
    assert Path("export/pipe.png") not in source.beside("*.png")


def test_files_beside_are_read_with_a_limit(source: Source) -> None:
    assert source.read_beside(Path("export/a.png")) == b"a.png"
    with pytest.raises(LimitExceeded, match=r"export/sub/c\.png: .*--limit medium-bytes="):
        source.read_beside(Path("export/sub/c.png"))
    assert source.read_beside(Path("export/sub/c.png"), 9) == b"sub/c.png"


@pytest.mark.parametrize("path", ["secret.png", "export/out.png", "export/up/secret.png", "/etc/passwd", "export"])
def test_nothing_else_is_read(source: Source, path: str) -> None:
    with pytest.raises(UnreadableFile, match="not a regular file inside"):
        source.read_beside(Path(path))
