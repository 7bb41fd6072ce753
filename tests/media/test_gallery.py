"""`loomconv media`: what is listed, what is copied, and what is wrong."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loomconv.api import load
from loomconv.cli.program import program
from loomconv.gallery import INDEX, extract_media, list_media
from loomconv.storage import Limits
from tests.made import node
from tests.media.test_bundles import FIXTURES, GIF, PNG, WAV, block, written, zipped
from tests.report.test_every_code import loom


def run(*arguments: Any) -> tuple[int, str, str]:
    done = CliRunner().invoke(program, ["media", *map(str, arguments)], standalone_mode=False)
    return done.return_value, done.stdout, done.stderr


def header_only_png(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = b"\0\0\0\0IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body)) + end


def test_a_table_of_all_media() -> None:
    status, out, _ = run("list", FIXTURES / "bundle.openloom.zip")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["node", "kind", "declared", "real", "bytes", "pixels", "where", "problem"]
    assert lines[1] == ["a", "image", "image/png", "image/png", "69", "1", "x", "1", "media/dot.png"]
    assert lines[3] == ["c", "image", "image/png", "media/missing.png", "missing-media"]
    assert run("list", FIXTURES / "minimal.openloom")[1].endswith("no media\n")


def test_files_are_named_by_node_and_digest(tmp_path: Path) -> None:
    nodes = [node("a/b", content=[block(PNG), block(PNG)]), node("..", content=[block(WAV, "audio/wav")])]
    source = written(tmp_path, loom(*nodes, node("c", content=[block(GIF, "image/png")])))
    status, _, err = run("extract", source, tmp_path / "out")
    assert status == 1, "one is not what it says"
    assert "[media.mime-mismatch]" in err
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    digests = [hashlib.sha256(data).hexdigest()[:16] for data in (WAV, PNG)]
    assert names == [f"_-{digests[0]}.wav", f"a_b-{digests[1]}.png", INDEX]
    index = json.loads((tmp_path / "out" / INDEX).read_text("utf-8"))["media"]
    assert [each.get("file", "")[-4:] for each in index] == [".png", ".png", ".wav", ""]
    assert index[3]["problems"][0]["code"] == "media.mime-mismatch"
    for each in index[:3]:
        assert (tmp_path / "out" / each["file"]).read_bytes() in (PNG, WAV)
    assert run("extract", source, tmp_path / "out")[0] == 1, "again into its own folder"


def test_a_folder_with_other_things_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(program, ["media", "extract", str(FIXTURES / "media.openloom"), str(tmp_path)])
    assert done.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    broken = PNG[:40] + bytes([PNG[40] ^ 1]) + PNG[41:]
    bomb = header_only_png(50_000, 50_000)
    contents = {"sound": PNG, "broken": broken, "bomb": bomb, "short": PNG[:30]}
    source = written(tmp_path, loom(*(node(name, content=[block(data)]) for name, data in contents.items())))
    found = {each.node: [code for code, _ in each.problems] for each in list_media(load(source))}
    assert found == {
        "sound": [], "broken": ["broken-medium"], "bomb": ["media-too-large"], "short": ["broken-medium"],
    }  # fmt: skip
    status, out, _ = run("check", source)
    assert status == 1
    assert "4 media, 3 missing or not what the file says" in out
    assert run("check", FIXTURES / "media.openloom")[0] == 0
    assert json.loads(run("check", source, "--json")[1])["sound"] is False


def test_a_large_picture_is_let_in_on_request(tmp_path: Path) -> None:
    source = written(tmp_path, loom(node("a", content=[block(header_only_png(50_000, 50_000))])))
    (listed,) = list_media(load(source), Limits(image_pixels=None))
    assert (listed.width, listed.height) == (50_000, 50_000)


@pytest.mark.parametrize("name", ["media/dot.png", "../dot.png", "/etc/dot.png", "con.png", "C:\\dot.png"])
def test_names_of_files_never_come_from_the_loom(tmp_path: Path, name: str) -> None:
    nodes = [node("../../x", content=[{"type": "image", "ref": name, "mimeType": "image/png"}])]
    source = zipped(tmp_path / "a.zip", loom(*nodes), {"media/dot.png": PNG})
    extract_media(load(source), tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "out"}
    assert len(list((tmp_path / "out").iterdir())) == (2 if name == "media/dot.png" else 1)
