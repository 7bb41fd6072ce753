"""Media into bundles and out of them again: nothing is lost, nothing is there twice, the same input gives the same."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.api import convert, load
from loomconv.errors import LimitExceeded, UsageFault
from loomconv.options import ConversionOptions
from loomconv.report import Report
from loomconv.roundtrip import round_trip
from loomconv.storage import Limits
from tests.made import examples, node
from tests.report.test_every_code import PNG, loom

FIXTURES = Path(__file__).parents[2] / "fixtures" / "openloom-2"
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0D\xac\0\0\x88X\1\0\2\0\x10\0data\0\0\0\0"
TYPES = {"image/png": PNG, "image/gif": GIF, "audio/wav": WAV}


def block(data: bytes, mime: str = "image/png", **more: Any) -> dict[str, Any]:
    kind = mime.partition("/")[0]
    return {"type": kind, "ref": f"data:{mime};base64,{base64.b64encode(data).decode()}", "mimeType": mime, **more}


def written(folder: Path, value: Any, name: str = "a.openloom") -> Path:
    path = folder / name
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


def zipped(path: Path, value: Any, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tree.openloom", json.dumps(value, indent=2))
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def codes(source: Path, target: Path, **options: Any) -> dict[str, int]:
    report = Report(limit=None)
    convert(source, target, options=ConversionOptions(**options), report=report)
    return {code: number for code, number in report.codes.items() if code.startswith("media.")}


# -- documents and bundles -----------------------------------------------------------------------------------------


def test_media_go_into_a_bundle_once_and_come_back(tmp_path: Path) -> None:
    """OL2-4.3-bundle."""
    nodes = [node("a", content=[block(PNG), block(GIF, "image/gif")]), node("b", content=[block(PNG, altText="again")])]
    source = written(tmp_path, loom(*nodes, node("c", content=[block(WAV, "audio/wav")])))
    assert codes(source, tmp_path / "b.openloom.zip") == {"media.bundled": 4}
    held = members(tmp_path / "b.openloom.zip")
    names = [name for name in held if name != "tree.openloom"]
    assert [name.rpartition(".")[2] for name in names] == ["png", "gif", "wav"]
    assert sorted(held[name] for name in names) == sorted([PNG, GIF, WAV])
    assert all(name.startswith("media/") for name in names)
    with zipfile.ZipFile(tmp_path / "b.openloom.zip") as archive:
        methods = {info.filename: info.compress_type for info in archive.infolist()}
    assert methods.pop("tree.openloom") == zipfile.ZIP_DEFLATED
    assert set(methods.values()) == {zipfile.ZIP_STORED}, "media are packed already"
    assert codes(tmp_path / "b.openloom.zip", tmp_path / "c.openloom") == {"media.inlined": 4}
    assert (tmp_path / "c.openloom").read_bytes() == source.read_bytes()


def test_the_same_input_gives_the_same_bundle(tmp_path: Path) -> None:
    for name in ("b.openloom.zip", "c.openloom.zip"):
        convert(FIXTURES / "media.openloom", tmp_path / name)
    assert (tmp_path / "b.openloom.zip").read_bytes() == (tmp_path / "c.openloom.zip").read_bytes()
    convert(tmp_path / "b.openloom.zip", tmp_path / "d.openloom.zip")
    assert (tmp_path / "d.openloom.zip").read_bytes() == (tmp_path / "b.openloom.zip").read_bytes()


@pytest.mark.parametrize("form", ["data:image/png;charset=x;base64,", "DATA:image/PNG;base64,", "data:;base64,"])
def test_what_stands_before_the_bytes_comes_back(tmp_path: Path, form: str) -> None:
    value = loom(node("a", content=[{**block(PNG), "ref": form + base64.b64encode(PNG).decode()}]))
    source = written(tmp_path, value)
    codes(source, tmp_path / "b.openloom.zip")
    assert len(members(tmp_path / "b.openloom.zip")) == 2
    codes(tmp_path / "b.openloom.zip", tmp_path / "c.openloom")
    assert (tmp_path / "c.openloom").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("spelling", ["folded", "percent", "unpadded"])
def test_bytes_that_are_spelled_oddly_stay(tmp_path: Path, spelling: str) -> None:
    text = base64.b64encode(PNG + b"x").decode()
    odd = {"folded": text[:20] + "\n" + text[20:], "percent": text.replace("=", "%3D"), "unpadded": text.rstrip("=")}
    value = loom(node("a", content=[{**block(PNG), "ref": f"data:image/png;base64,{odd[spelling]}"}]))
    source = written(tmp_path, value)
    assert codes(source, tmp_path / "b.openloom.zip") == {"media.kept-inline": 1}
    codes(tmp_path / "b.openloom.zip", tmp_path / "c.openloom")
    assert (tmp_path / "c.openloom").read_bytes() == source.read_bytes()


@given(st.lists(st.lists(st.tuples(st.sampled_from(sorted(TYPES)), st.integers(0, 2)), max_size=3), min_size=1))
@examples(25)
def test_document_bundle_document_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory, plan: list[list[tuple[str, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    nodes = [
        node(f"n{number}", content=[block(TYPES[mime] + bytes(more), mime) for mime, more in blocks])
        for number, blocks in enumerate(plan)
    ]
    source = written(folder, loom(*nodes))
    convert(source, folder / "b.openloom.zip")
    convert(folder / "b.openloom.zip", folder / "c.openloom")
    assert (folder / "c.openloom").read_bytes() == source.read_bytes()
    distinct = {TYPES[mime] + bytes(more) for blocks in plan for mime, more in blocks}
    assert len(members(folder / "b.openloom.zip")) == 1 + len(distinct)


def test_names_of_a_bundle_come_back_and_so_does_what_nothing_refers_to(tmp_path: Path) -> None:
    refs = ["pics/one.png", "pics/two.png", "ünï.png"]
    nodes = [
        node(f"n{number}", content=[{"type": "image", "ref": ref, "mimeType": "image/png"}])
        for number, ref in enumerate(refs)
    ]
    held = {"pics/one.png": PNG, "pics/two.png": PNG, "ünï.png": PNG + b"x", "README.txt": b"read me"}
    source = zipped(tmp_path / "a.openloom.zip", loom(*nodes), held)
    assert codes(source, tmp_path / "b.openloom") == {"media.inlined": 3, "media.kept-aside": 1}
    codes(tmp_path / "b.openloom", tmp_path / "c.openloom.zip")
    assert members(tmp_path / "c.openloom.zip") == members(source)
    for via in ("socketteer", "miniloom", "openloom-1", "aspen-grove", "loom-write-log", "openloom-2"):
        assert round_trip(source, [via]).differences == []


def test_what_is_not_what_it_says_is_not_moved(tmp_path: Path) -> None:
    """OL2-9-mimecheck, A27: no file under the wrong name; block and bytes stay."""
    source = written(tmp_path, loom(node("a", content=[block(GIF, "image/png")])))
    assert codes(source, tmp_path / "b.openloom.zip") == {"media.mime-mismatch": 1}
    assert set(members(tmp_path / "b.openloom.zip")) == {"tree.openloom"}
    assert codes(source, tmp_path / "c.openloom", media="beside") == {"media.mime-mismatch": 1}
    assert not (tmp_path / "c.media").exists()


@pytest.mark.parametrize("markup", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<!doctype html><script>1</script>"])
def test_markup_is_no_picture_to_open(tmp_path: Path, markup: bytes) -> None:
    source = written(tmp_path, loom(node("a", content=[block(markup, "image/png")])))
    assert codes(source, tmp_path / "b.openloom.zip", fill_image_sizes=True) == {"media.mime-mismatch": 1}


def test_a_lot_of_media_from_elsewhere_becomes_a_bundle(tmp_path: Path) -> None:
    """OL2-4.3-bundle-size: above about 1 MB, unless the document comes home or a document was asked for."""
    source = written(tmp_path, loom(node("a", content=[block(PNG + bytes(1_100_000))])))
    dump = {"aspen-grove": {"as": "dump"}}
    foreign = tmp_path / "f.json"
    convert(
        source, foreign, target_format="aspen-grove", options=ConversionOptions(residue="none", format_options=dump)
    )
    assert codes(foreign, tmp_path / "b.openloom") == {"media.bundled": 1, "media.bundle-by-size": 1}
    assert len(members(tmp_path / "b.openloom")) == 2
    assert codes(foreign, tmp_path / "c.openloom", media="inline") == {}
    assert codes(source, tmp_path / "d.openloom") == {}
    assert (tmp_path / "d.openloom").read_bytes() == source.read_bytes()


# -- files beside, and from elsewhere --------------------------------------------------------------------------------


def test_media_go_to_files_beside_and_come_back(tmp_path: Path) -> None:
    source = FIXTURES / "media.openloom"
    assert codes(source, tmp_path / "s.json", media="beside")["media.beside"] == 3
    assert {path.suffix for path in (tmp_path / "s.media").iterdir()} == {".png", ".gif", ".wav"}
    codes(tmp_path / "s.json", tmp_path / "t.openloom")
    assert (tmp_path / "t.openloom").read_bytes() == source.read_bytes()
    codes(tmp_path / "s.json", tmp_path / "u.openloom.zip")
    codes(tmp_path / "u.openloom.zip", tmp_path / "v.openloom")
    assert (tmp_path / "v.openloom").read_bytes() == source.read_bytes()


def test_a_bundle_goes_to_files_beside_and_comes_back(tmp_path: Path) -> None:
    source = FIXTURES / "picture-book.openloom.zip"
    for via, name in (("socketteer", "s.json"), ("miniloom", "m.json"), ("openloom-2", "o.openloom")):
        convert(source, tmp_path / name, target_format=via, options=ConversionOptions(media="beside"))
        convert(tmp_path / name, tmp_path / "back.openloom.zip")
        assert members(tmp_path / "back.openloom.zip") == members(source)


def test_a_picture_that_was_replaced_comes_home_as_the_new_one(tmp_path: Path) -> None:
    source = written(tmp_path, loom(node("a", content=[block(PNG)])))
    convert(source, tmp_path / "s.json", target_format="socketteer", options=ConversionOptions(media="beside"))
    (picture,) = (tmp_path / "s.media").iterdir()
    picture.write_bytes(PNG + b"painted over")
    convert(tmp_path / "s.json", tmp_path / "t.openloom")
    (found,) = load(tmp_path / "t.openloom").trees[0].nodes["a"]["content"]
    assert found["ref"] == block(PNG + b"painted over")["ref"]


def test_files_beside_that_did_not_come_along_are_told(tmp_path: Path) -> None:
    source = FIXTURES / "picture-book.openloom.zip"
    (tmp_path / "elsewhere").mkdir()
    for via, name in (("socketteer", "s.json"), ("miniloom", "m.miniloom.json")):
        convert(source, tmp_path / name, target_format=via, options=ConversionOptions(media="beside"))
        moved = (tmp_path / name).rename(tmp_path / "elsewhere" / name)
        found = codes(moved, tmp_path / "elsewhere" / f"{via}.openloom")
        assert sum(found.values()) == found.get("media.missing-media", 0) + found.get("media.unresolved-media", 0) == 6


def test_an_app_that_shows_files_only_is_named(tmp_path: Path) -> None:
    found = Report(limit=None)
    convert(FIXTURES / "picture-book.openloom.zip", tmp_path / "s.json", target_format="socketteer", report=found)
    assert found.codes["media.hidden"] == 1


def test_what_is_kept_as_it_is_stays_behind(tmp_path: Path) -> None:
    found = codes(FIXTURES / "picture-book.openloom.zip", tmp_path / "a.openloom", media="keep")
    assert found == {"media.left-behind": 6}
    assert "base64" not in (tmp_path / "a.openloom").read_text("utf-8")


def test_a_text_only_app_gets_words_and_the_files_lie_beside(tmp_path: Path) -> None:
    nodes = [node("a", content=[block(PNG, altText="a dot"), block(WAV, "audio/wav", transcript="hum")])]
    source = written(tmp_path, loom(*nodes))
    convert(source, tmp_path / "t.json", target_format="miniloom", options=ConversionOptions(media="beside"))
    assert base64.b64encode(PNG).decode()[:40] not in (tmp_path / "t.json").read_text("utf-8")
    assert "a dothum" in (tmp_path / "t.json").read_text("utf-8").replace("\\n", "")
    assert sorted(path.read_bytes() for path in (tmp_path / "t.media").iterdir()) == sorted([PNG, WAV])
    convert(tmp_path / "t.json", tmp_path / "u.openloom")
    assert (tmp_path / "u.openloom").read_bytes() == source.read_bytes()


def test_dropped_media_leave_their_words_and_nothing_else(tmp_path: Path) -> None:
    source = written(tmp_path, loom(node("a", content=[block(PNG, altText="a dot"), block(GIF, "image/gif")])))
    assert codes(source, tmp_path / "b.openloom", media="drop") == {"media.dropped": 2}
    text = (tmp_path / "b.openloom").read_text("utf-8")
    assert "base64" not in text
    assert "a dot" in text
    assert "[unsupported block: image]" in text
    convert(source, tmp_path / "s.json", target_format="socketteer", options=ConversionOptions(media="drop"))
    assert "base64" not in (tmp_path / "s.json").read_text("utf-8"), "not in what is set aside either"


def _socketteer(folder: Path, *files: str) -> Path:
    children = [
        {"id": f"n{number}", "text": "x", "children": [], "multimedia": [{"file": file, "caption": ""}]}
        for number, file in enumerate(files)
    ]
    root = {"mutable": False, "text": "", "id": "0", "children": children}
    path = folder / "tree.json"
    path.write_text(json.dumps({"root": root}), encoding="utf-8")
    return path


def test_files_that_a_tree_names_are_found_in_its_folder_and_in_a_given_one(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    (home / "media").mkdir(parents=True)
    other.mkdir()
    (home / "media" / "cat.png").write_bytes(PNG)
    (other / "dog.gif").write_bytes(GIF)
    source = _socketteer(home, "C:\\Users\\me\\cat.png", "/home/me/pictures/dog.gif", "media/cat.png", "gone.png")
    found = codes(source, tmp_path / "b.openloom.zip", media_root=other)
    assert found == {"media.bundled": 3, "media.unresolved-media": 1}
    held = members(tmp_path / "b.openloom.zip")
    assert sorted(data for name, data in held.items() if name != "tree.openloom") == sorted([PNG, GIF])
    plain = codes(source, tmp_path / "c.openloom")
    # Left as they are unless they are asked for.
    assert plain == {"media.unresolved-media": 2, "media.out-of-reach": 1}
    assert codes(source, tmp_path / "d.openloom", media="beside") == {"media.unresolved-media": 2, "media.beside": 2}
    assert {path.read_bytes() for path in (tmp_path / "d.media").iterdir()} == {PNG}
    assert codes(source, home / "e.openloom") == {"media.unresolved-media": 2}, "they are there, too"
    convert(tmp_path / "b.openloom.zip", home / "again.json", target_format="socketteer")
    again = json.loads((home / "again.json").read_text("utf-8"))["root"]["children"]
    shown = [child["multimedia"][0]["file"] for child in again if child.get("multimedia")]
    assert shown == ["C:\\Users\\me\\cat.png", "media/cat.png", "gone.png"], "the dog's picture is not in this folder"


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.png").write_bytes(PNG)
    (home / "link.png").symlink_to(tmp_path / "secret.png")
    (home / "folder.png").mkdir()
    source = _socketteer(
        home, "../secret.png", "link.png", "folder.png", str(tmp_path / "secret.png"), "http://x/y.png"
    )
    assert codes(source, tmp_path / "b.openloom.zip") == {"media.unresolved-media": 5}
    assert set(members(tmp_path / "b.openloom.zip")) == {"tree.openloom"}


def test_pointers_of_chat_exports_are_found_in_the_archive(tmp_path: Path) -> None:
    refs = [
        "file-service://file-AbC123",
        "sediment://file_0000beef",
        "file-service://file-inner",
        "sediment://file_gone",
    ]
    nodes = [
        node(f"n{number}", content=[{"type": "image", "ref": ref, "mimeType": "image/png"}])
        for number, ref in enumerate(refs)
    ]
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep/file-inner-swatch.png", PNG + b"3")
    held = {"file-AbC123-swatch.png": PNG, "file_0000beef.dat": PNG + b"2", "more.zip": inner.getvalue()}
    source = zipped(tmp_path / "a.zip", loom(*nodes), held)
    assert codes(source, tmp_path / "b.openloom")["media.inlined"] == 3
    found = [each["content"][0]["ref"][:20] for each in load(tmp_path / "b.openloom").trees[0].nodes.values()]
    assert found == ["data:image/png;base6"] * 3 + ["sediment://file_gone"]


# -- sizes, refusals, limits -----------------------------------------------------------------------------------------


def test_sizes_are_filled_in_only_on_request(tmp_path: Path) -> None:
    source = written(tmp_path, loom(node("a", content=[block(PNG), block(GIF, "image/gif", width=9), block(PNG[:20])])))
    convert(source, tmp_path / "b.openloom", options=ConversionOptions(media="inline"))
    assert (tmp_path / "b.openloom").read_bytes() == source.read_bytes()
    convert(source, tmp_path / "c.openloom", options=ConversionOptions(fill_image_sizes=True))
    content = json.loads((tmp_path / "c.openloom").read_text("utf-8"))["trees"][0]["nodes"]["a"]["content"]
    assert [(each.get("width"), each.get("height")) for each in content] == [(1, 1), (9, None), (None, None)]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("b.json", {"media": "bundle"}),
        ("b.openloom.zip", {"media": "inline"}),
        ("-", {"media": "beside"}),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, target: str, options: dict[str, Any]) -> None:
    where = target if target == "-" else str(tmp_path / target)
    chosen = "socketteer" if target == "b.json" else "openloom-2"
    with pytest.raises(UsageFault):
        convert(FIXTURES / "media.openloom", where, target_format=chosen, options=ConversionOptions(**options))
    assert list(tmp_path.iterdir()) == []


def test_media_that_would_burst_the_document_are_refused(tmp_path: Path) -> None:
    value = loom(node("a", content=[{"type": "image", "ref": "a.png", "mimeType": "image/png"}]))
    source = zipped(tmp_path / "a.zip", value, {"a.png": PNG + bytes(5000)})
    with pytest.raises(LimitExceeded, match="--media beside"):
        convert(source, tmp_path / "b.openloom", options=ConversionOptions(limits=Limits(document_bytes=4000)))
    assert not (tmp_path / "b.openloom").exists()


def test_a_refused_conversion_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="cannot hold everything"):
        convert(
            FIXTURES / "media.openloom",
            tmp_path / "s.json",
            target_format="socketteer",
            options=ConversionOptions(media="beside", strict=True),
        )
    assert list(tmp_path.iterdir()) == []
