"""What a stranger's loom may try with its media: nothing outside is read or written, nothing vanishes in silence."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from loomconv.api import convert, load
from loomconv.errors import LimitExceeded, UsageFault
from loomconv.gallery import extract_media
from loomconv.options import ConversionOptions
from loomconv.storage import Limits
from tests.made import node
from tests.media.test_bundles import FIXTURES, PNG, block, codes, members, written, zipped
from tests.report.test_every_code import loom

OTHER = PNG + b"other"


def record(**members: Any) -> dict[str, Any]:
    return {"loomconv": {"media": members}}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def image(ref: str, mime: str | None = "image/png") -> dict[str, Any]:
    return {"type": "image", "ref": ref, **({} if mime is None else {"mimeType": mime})}


@pytest.mark.parametrize("mime", [None, "image/png", "text/plain", "image/x-anything"])
def test_a_loom_takes_no_file_along_that_is_no_medium(tmp_path: Path, mime: str | None) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("a key\n", encoding="utf-8")
    source = written(tmp_path, loom(node("a", content=[image(".ssh/id", mime)])))
    codes(source, tmp_path / "b.openloom.zip")
    assert set(members(tmp_path / "b.openloom.zip")) == {"tree.openloom"}
    codes(source, tmp_path / "c.openloom", media="inline")
    assert base64.b64encode(b"a key").decode()[:6] not in (tmp_path / "c.openloom").read_text("utf-8")
    extract_media(load(source), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.json"]


def test_media_are_not_written_through_links_or_over_other_files(tmp_path: Path) -> None:
    source = written(tmp_path, loom(node("a", content=[block(PNG)])))
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    (tmp_path / "s.media").mkdir()
    target = tmp_path / "s.media" / f"{digest(PNG)[:16]}.png"
    options = ConversionOptions(media="beside")
    for make in (lambda: target.symlink_to(mine), lambda: target.write_bytes(b"mine, too")):
        make()
        with pytest.raises(UsageFault, match="where a medium has to go"):
            convert(source, tmp_path / "s.json", target_format="socketteer", options=options)
        target.unlink()
    assert mine.read_bytes() == b"mine"
    (tmp_path / "s.media").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "s.media").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageFault, match="is a link"):
        convert(source, tmp_path / "s.json", target_format="socketteer", options=options)
    assert not (tmp_path / "s.json").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_one_name_for_two_media_in_the_record(tmp_path: Path) -> None:
    names = {digest(PNG): "media/x.png", digest(OTHER): "media/x.png"}
    value = {
        **loom(node("a", content=[block(PNG)]), node("b", content=[block(OTHER)])),
        "extensions": record(names=names),
    }
    codes(written(tmp_path, value), tmp_path / "b.openloom.zip")
    held = members(tmp_path / "b.openloom.zip")
    assert {data for name, data in held.items() if name != "tree.openloom"} == {PNG, OTHER}


@pytest.mark.parametrize(
    "header", ["https://evil.example/?x=", "data:image/png,", "data:text/html;base64,", "x" * 5000]
)
def test_headers_of_the_record_are_checked(tmp_path: Path, header: str) -> None:
    value = {**loom(node("a", content=[image("p.png")])), "extensions": record(headers={digest(PNG): header})}
    codes(zipped(tmp_path / "a.zip", value, {"p.png": PNG}), tmp_path / "b.openloom")
    (found,) = load(tmp_path / "b.openloom").trees[0].nodes["a"]["content"]
    assert found["ref"] == block(PNG)["ref"]


def test_members_of_the_record_have_safe_names_or_are_told(tmp_path: Path) -> None:
    names = ["../x", "tree.openloom", "d/", "media", "y", "./y", "notes/password"]
    others = [{"member": name, "data": "data:;base64,eA=="} for name in names]
    value = {**loom(node("a", content=[block(PNG)])), "extensions": record(others=others)}
    found = codes(written(tmp_path, value), tmp_path / "b.openloom.zip")
    held = members(tmp_path / "b.openloom.zip")
    assert {name for name in held if not name.startswith("media/")} == {"tree.openloom", "y", "notes/password"}
    assert found["media.left-behind"] == 5
    for odd in (5, "x", [1], [{"member": 1}], [{"member": "a", "data": "b"}], None, {"a": "b"}):
        odd_value = {**loom(node("a", content=[block(PNG)])), "extensions": record(others=odd, names=odd, headers=odd)}
        assert codes(written(tmp_path, odd_value), tmp_path / "c.openloom.zip")["media.bundled"] == 1


def test_a_pointer_is_no_name_of_a_member(tmp_path: Path) -> None:
    value = loom(node("a", content=[image("sediment://file_wxyz?/../../../evil.png")]))
    codes(zipped(tmp_path / "a.zip", value, {"file_wxyz.png": PNG}), tmp_path / "b.openloom.zip")
    assert set(members(tmp_path / "b.openloom.zip")) == {"tree.openloom", "file_wxyz.png"}


@pytest.mark.parametrize("name", ["b.openloom", "b.openloom.zip", "b.miniloom.json"])
@pytest.mark.parametrize("refers", [True, False])
def test_a_damaged_member_does_not_stop_the_loom(tmp_path: Path, name: str, refers: bool) -> None:
    data = PNG + random.Random(1).randbytes(200_000)
    value = loom(node("a", "the text", content=[image("p.png")] if refers else [{"type": "text", "text": "the text"}]))
    whole = bytearray(zipped(tmp_path / "a.zip", value, {"p.png": data}).read_bytes())
    whole[whole.index(data[-100:]) + 50] ^= 1
    (tmp_path / "a.zip").write_bytes(whole)
    found = codes(tmp_path / "a.zip", tmp_path / name)
    assert sum(found.get(code, 0) for code in ("media.missing-media", "media.left-behind")) >= 1
    assert list(load(tmp_path / name).trees[0].nodes)


def test_copies_have_a_limit_together(tmp_path: Path) -> None:
    nodes = [node(f"n{number}", content=[image("p.png")]) for number in range(20)]
    source = zipped(tmp_path / "a.zip", loom(*nodes), {"p.png": PNG + bytes(100_000)})
    with pytest.raises(LimitExceeded, match="all copies"):
        extract_media(load(source), tmp_path / "out", Limits(bundle_bytes=500_000))


def test_a_dropped_picture_is_nowhere(tmp_path: Path) -> None:
    """In an edited node, among members that nothing refers to, in a log's history, or in what apps keep."""
    shown = base64.b64encode(PNG).decode()[20:60]
    source = written(tmp_path, loom(node("a", content=[{"type": "text", "text": "x"}, block(PNG)])))
    convert(source, tmp_path / "b.openloom.json")
    edited = json.loads((tmp_path / "b.openloom.json").read_text("utf-8"))
    edited["nodes"]["a"]["text"] = "edited"
    (tmp_path / "b.openloom.json").write_text(json.dumps(edited), encoding="utf-8")
    bundle = zipped(tmp_path / "c.zip", loom(node("a", "x")), {"extra.png": PNG})
    convert(bundle, tmp_path / "c.openloom")
    convert(source, tmp_path / "d.loom.jsonl")
    lines = (tmp_path / "d.loom.jsonl").read_text("utf-8").splitlines()
    written_node = next(line for line in lines if '"op":"node"' in line or '"op": "node"' in line)
    plain = json.loads(written_node)
    plain["node"]["content"] = [{"type": "text", "text": "We"}]
    (tmp_path / "d.loom.jsonl").write_text("\n".join([*lines, json.dumps(plain), ""]), encoding="utf-8")
    for name in ("b.openloom.json", "c.openloom", "d.loom.jsonl"):
        assert shown in (tmp_path / name).read_text("utf-8"), name
        convert(tmp_path / name, tmp_path / f"out-{name}", options=ConversionOptions(media="drop"))
        assert shown not in (tmp_path / f"out-{name}").read_text("utf-8"), name


def test_a_name_that_asks_for_a_bundle_gets_one_without_media(tmp_path: Path) -> None:
    codes(FIXTURES / "media-kinds.openloom", tmp_path / "a.openloom.zip", media="drop")
    assert set(members(tmp_path / "a.openloom.zip")) == {"tree.openloom"}


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
@pytest.mark.parametrize("name", ["story:one.json", "con.json", "a\\b.json", "data:1.json", "100%.json", "~x.json"])
def test_folders_of_media_have_names_that_can_be_referred_to(tmp_path: Path, name: str) -> None:
    options = ConversionOptions(media="beside")
    convert(FIXTURES / "media-kinds.openloom", tmp_path / name, target_format="miniloom", options=options)
    convert(tmp_path / name, tmp_path / "back.openloom")
    assert (tmp_path / "back.openloom").read_bytes() == (FIXTURES / "media-kinds.openloom").read_bytes()


@pytest.mark.parametrize("without", [frozenset({"private"}), frozenset()])
def test_a_key_that_is_there_twice_hides_nothing(tmp_path: Path, without: frozenset[str]) -> None:
    hidden = '"generation":{"rawResponse":{"body":"WITHHELD"}},' if without else ""
    secret = (
        "" if without else '"extensions":{"app":{"apiKey":"sk-ant-api03-WITHHELDWITHHELDWITHHELD12","apiKey":null}},'
    )
    text = json.dumps(loom(node("a", "x"))).replace(
        '"id": "a",', f'"id": "a",{hidden}{secret}"generation":{{"model":"m"}},'
    )
    (tmp_path / "a.openloom").write_text(text, encoding="utf-8")
    convert(tmp_path / "a.openloom", tmp_path / "b.openloom", options=ConversionOptions(without=without))
    assert "WITHHELD" not in (tmp_path / "b.openloom").read_text("utf-8")


def test_a_database_with_an_archive_in_it_is_a_database(tmp_path: Path) -> None:
    data = (FIXTURES.parent / "aspen-grove" / "grove.db").read_bytes()
    inner = zipped(tmp_path / "i.zip", loom(node("a", "x")), {})
    (tmp_path / "g.db").write_bytes(data + inner.read_bytes())
    with zipfile.ZipFile(tmp_path / "g.db") as archive:
        assert archive.namelist() == ["tree.openloom"]
    assert load(tmp_path / "g.db").origin.format == "aspen-grove"  # type: ignore[union-attr]
