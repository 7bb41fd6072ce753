"""The Python API from outside: what goes in, what comes out, and what happens when it cannot."""

from __future__ import annotations

import gc
import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loomconv
from loomconv import ConversionOptions, LoomconvError, Report, api, convert, detect, dump, jsontext, load
from loomconv.compare import compare_values
from loomconv.errors import (
    ConversionRefused,
    InvalidDocument,
    PluginFault,
    TruncatedInput,
    UnknownFormat,
    UnreadableFile,
    UsageFault,
)
from loomconv.format import Confidence, Format, Probe, ReadContext, Sink, WriteContext, hookimpl
from loomconv.jsontext import Layout
from loomconv.model import Document, plain_text
from loomconv.model.record import own_record
from loomconv.registry import Registry, default_registry
from loomconv.report import Finding
from loomconv.storage import Source, open_source
from tests.made import as_json, document_from, link, node, spelled

MINIMAL = "openloom-2/minimal.openloom"


def three_trees() -> dict[str, Any]:
    """A document that no strict format holds in one file."""
    return {
        "version": "2.0",
        "format": "open-loom",
        "agents": {"m": {"name": "M", "type": "model"}},
        "trees": [
            {
                "id": name,
                "title": name.upper(),
                "rootNodeIds": ["a"],
                "nodes": {"a": node("a", name), "b": node("b", " more", "model")},
                "edges": [{**link("a", "b"), "id": f"edge-{name}"}],
            }
            for name in ("one", "two", "three")
        ],
    }


def written(path: Path) -> Any:
    return jsontext.load(path.read_bytes()).value


# -- in ----------------------------------------------------------------------------------------------------------------


def test_a_path_bytes_a_stream_and_an_open_source_are_the_same(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fixtures / MINIMAL
    data = path.read_bytes()
    expected = spelled(as_json(load(path)))
    assert spelled(as_json(load(str(path)))) == expected
    assert spelled(as_json(load(data))) == expected
    assert spelled(as_json(load(gzip.compress(data)))) == expected
    with open_source(path) as source:
        assert detect(source).format == "openloom-2"
        assert spelled(as_json(load(source))) == expected

    class Stdin:
        buffer = io.BytesIO(data)

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert spelled(as_json(load("-"))) == expected


def test_a_document_can_be_walked_and_edited(fixtures: Path, tmp_path: Path) -> None:
    document = load(fixtures / MINIMAL)
    (tree,) = document.trees
    for node_id, each in tree.nodes.items():
        each["content"].append({"type": "text", "text": "!"})
        tree.nodes[node_id] = each
    assert dump(document, tmp_path / "out.openloom") == [str(tmp_path / "out.openloom")]
    back = load(tmp_path / "out.openloom")
    assert all(plain_text(back.trees[0].nodes[each]).endswith("!") for each in back.trees[0].nodes)


@pytest.mark.parametrize(
    "data, error",
    [
        (b"", UnreadableFile),
        (b"not json", UnknownFormat),
        (b'{"x": 1}', UnknownFormat),
        (b"\xff\xfe{\x00", LoomconvError),
        (b'{"format":"open-loom","version":"2.0","trees":[{"id":"t",,}]}', UnreadableFile),
        (b'{"format":"open-loom"', LoomconvError),
    ],
)
def test_bad_input_is_an_error_of_ours(data: bytes, error: type[LoomconvError]) -> None:
    with pytest.raises(error):
        load(data)


def test_the_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "story.openloom"
    path.write_bytes(b'{"format":"open-loom","version":"9.0","trees":[{}]}')
    with pytest.raises(InvalidDocument, match=r"story\.openloom"):
        load(path)
    with pytest.raises(UnreadableFile, match="nowhere"):
        load(tmp_path / "nowhere")


def test_a_format_can_be_forced(fixtures: Path) -> None:
    with pytest.raises(LoomconvError):
        load(fixtures / MINIMAL, format="openloom-1")
    with pytest.raises(UsageFault, match="there is no format"):
        load(fixtures / MINIMAL, format="nonsense")


def test_the_report_says_what_was_read(fixtures: Path) -> None:
    report = Report()
    load(fixtures / "openloom-2" / "several-trees.openloom", report=report)
    assert report.source == {"name": "several-trees.openloom", "format": "openloom-2", "container": "plain"}
    assert report.counts["trees"] == 3
    assert report.counts["nodes"] > 3 and report.counts["roots"] == 3


def test_the_collector_is_as_it_was_before(fixtures: Path) -> None:
    assert gc.isenabled()
    load(fixtures / MINIMAL)
    assert gc.isenabled()
    with pytest.raises(LoomconvError):
        load(b"x")
    assert gc.isenabled()
    gc.disable()
    try:
        with api.collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


# -- out ---------------------------------------------------------------------------------------------------------------


def test_the_suffix_chooses_the_format(fixtures: Path, tmp_path: Path) -> None:
    document = load(fixtures / MINIMAL)
    dump(document, tmp_path / "a.openloom.json")
    assert detect(tmp_path / "a.openloom.json").format == "openloom-1"
    with pytest.raises(UsageFault, match="names no format"):
        dump(document, tmp_path / "a.xyz")
    dump(document, tmp_path / "a.xyz", format="socketteer")
    assert detect(tmp_path / "a.xyz").format == "socketteer"


def test_the_same_format_is_the_same_bytes(fixtures: Path, tmp_path: Path) -> None:
    source = fixtures / "openloom-2" / "layout-tabs-crlf.openloom"
    done = convert(source, tmp_path / "out.openloom")
    assert (tmp_path / "out.openloom").read_bytes() == source.read_bytes()
    assert done.files == [str(tmp_path / "out.openloom")] and not done.truncated
    assert done.report.target == {"name": "out.openloom", "format": "openloom-2", "files": ["out.openloom"]}


def test_a_file_can_be_converted_onto_itself(fixtures: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.openloom"
    path.write_bytes((fixtures / MINIMAL).read_bytes())
    convert(path, path)
    assert path.read_bytes() == (fixtures / MINIMAL).read_bytes()
    convert(path, path, target_format="socketteer")
    assert detect(path).format == "socketteer"


def test_a_stream_as_target(fixtures: Path) -> None:
    out = io.BytesIO()
    convert(fixtures / MINIMAL, "-", target_format="openloom-2", stdout=out)
    assert out.getvalue() == (fixtures / MINIMAL).read_bytes()


def test_the_layout_of_the_source_comes_back_with_it(fixtures: Path, tmp_path: Path) -> None:
    source = fixtures / "openloom-2" / "layout-key-order.openloom"
    for way in ("openloom-1", "socketteer"):
        convert(source, tmp_path / "there", target_format=way)
        convert(tmp_path / "there", tmp_path / "back.openloom")
        data = (tmp_path / "back.openloom").read_bytes()
        usual = source.read_bytes()
        assert jsontext.recognise_layout(data, data[-64:]) == jsontext.recognise_layout(usual, usual[-64:])
        assert list(written(tmp_path / "back.openloom")) == list(written(source))


@pytest.mark.parametrize("bare", [{}, None])
@pytest.mark.parametrize("way", ["openloom-1", "socketteer"])
def test_extensions_without_anything_in_them_come_back(bare: Any, way: str, tmp_path: Path) -> None:
    value = {**three_trees(), "extensions": bare, "trees": three_trees()["trees"][:1]}
    (tmp_path / "in.openloom").write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    convert(tmp_path / "in.openloom", tmp_path / "there", target_format=way)
    convert(tmp_path / "there", tmp_path / "back.openloom")
    assert spelled(written(tmp_path / "back.openloom")) == spelled(value)


def test_a_layout_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    value = three_trees()
    value["extensions"] = {"loomconv": {"layouts": {"socketteer": {"indent": "many"}}}}
    value["trees"] = value["trees"][:1]
    report = Report()
    dump(load(jsontext.encode(value)), tmp_path / "out", format="socketteer", report=report)
    assert report.codes["restore.foreign"] == 1
    assert detect(tmp_path / "out").format == "socketteer"


def test_output_is_reproducible(fixtures: Path, tmp_path: Path) -> None:
    for target in default_registry().formats:
        outputs = set()
        for number in range(2):
            out = tmp_path / f"{number}"
            convert(fixtures / "openloom-2" / "full.openloom", out, target_format=target)
            outputs.add(out.read_bytes())
        assert len(outputs) == 1


def test_without_residue_nothing_is_set_aside(fixtures: Path, tmp_path: Path) -> None:
    report = Report()
    source = fixtures / "openloom-2" / "edit-lineage.openloom"
    options = ConversionOptions(residue="none")
    convert(source, tmp_path / "out", target_format="socketteer", options=options, report=report)
    assert b"residue" not in (tmp_path / "out").read_bytes()
    losses = [finding for finding in report.findings if finding.code.startswith("loss.")]
    assert losses and all(finding.severity == "warning" for finding in losses)


def test_strict_refuses_a_loss_and_writes_nothing(fixtures: Path, tmp_path: Path) -> None:
    strict = ConversionOptions(strict=True)
    with pytest.raises(ConversionRefused, match="cannot hold everything"):
        convert(fixtures / "openloom-2" / "full.openloom", tmp_path / "a", target_format="socketteer", options=strict)
    assert not list(tmp_path.iterdir())
    convert(fixtures / "openloom-2" / "full.openloom", tmp_path / "a", target_format="openloom-2", options=strict)
    assert (tmp_path / "a").exists()


def test_a_cut_input_is_said(fixtures: Path, tmp_path: Path) -> None:
    source = fixtures / "openloom-2" / "broken-truncated.openloom"
    assert convert(source, tmp_path / "out.openloom").truncated
    with pytest.raises(ConversionRefused, match="ends too early"):
        convert(source, tmp_path / "b.openloom", options=ConversionOptions(strict=True))
    with pytest.raises(TruncatedInput):
        load(b'"format', format="openloom-2")


# -- several trees -----------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Three trees as three files of a strict format."""
    source = tmp_path / "in.openloom"
    source.write_bytes(jsontext.encode(three_trees()))
    done = convert(source, tmp_path / "out.openloom.json")
    assert [Path(each).name for each in done.files] == [
        "out.openloom.json",
        "out-2.openloom.json",
        "out-3.openloom.json",
    ]
    assert done.report.target is not None and done.report.target["files"] == [Path(each).name for each in done.files]
    return [Path(each) for each in done.files]


def test_trees_come_back_together(parts: list[Path], tmp_path: Path) -> None:
    convert(parts[0], tmp_path / "back.openloom")
    back = written(tmp_path / "back.openloom")
    assert spelled(back) == spelled(three_trees())
    assert list(back) == list(three_trees())


def test_trees_together_are_written_as_files_again(parts: list[Path], tmp_path: Path) -> None:
    """Each file is the right one: no single file's bytes stand for all of them."""
    before = [part.read_bytes() for part in parts]
    done = convert(parts[0], tmp_path / "again.openloom.json")
    assert [Path(each).read_bytes() for each in done.files] == before
    edited = load(parts[0])
    edited.trees[1].nodes["a"] = node("a", "edited")  # type: ignore[assignment]
    files = dump(edited, tmp_path / "edited.openloom.json")
    texts = [plain_text(load(Path(each), format="openloom-1").trees[-1].nodes["a"]) for each in files[1:]]
    assert texts == ["edited", "three"]
    assert plain_text(load(Path(files[0])).trees[0].nodes["a"]) == "one"


@pytest.mark.parametrize("missing", [1, 2])
def test_a_missing_part_is_said_and_the_others_are_read(parts: list[Path], missing: int) -> None:
    parts[missing].unlink()
    report = Report()
    document = load(parts[0], report=report)
    assert report.codes["restore.missing"] == 1
    assert [tree.id for tree in document.trees] == ["one"]


def test_a_later_part_alone(parts: list[Path]) -> None:
    report = Report()
    document = load(parts[2], report=report)
    assert [tree.id for tree in document.trees] == ["three"]
    assert report.codes["restore.missing"] == 1
    assert document.fields["agents"] == three_trees()["agents"]


def test_a_strange_file_of_the_right_name_is_left_alone(parts: list[Path], fixtures: Path) -> None:
    parts[1].write_bytes((fixtures / "openloom-1" / "minimal.openloom.json").read_bytes())
    report = Report()
    assert [tree.id for tree in load(parts[0], report=report).trees] == ["one"]
    assert report.codes["restore.missing"] == 1


def test_one_tree_of_several_can_be_chosen(tmp_path: Path) -> None:
    source = jsontext.encode(three_trees())
    for wanted in ("two", "2"):
        document = load(source, options=ConversionOptions(tree=wanted))
        assert [tree.id for tree in document.trees] == ["two"]
        assert not document.pristine
        dump(document, tmp_path / "out.openloom")
        assert [tree["id"] for tree in written(tmp_path / "out.openloom")["trees"]] == ["two"]
    for wanted in ("0", "4", "nonsense", "²"):
        with pytest.raises(UsageFault, match="there is no tree"):
            load(source, options=ConversionOptions(tree=wanted))


def test_several_trees_and_one_stream_do_not_go_together() -> None:
    with pytest.raises(UsageFault, match="holds one tree a file, and the document has 3"):
        convert(jsontext.encode(three_trees()), "-", target_format="socketteer", stdout=io.BytesIO())


# -- documents that were made, and plugins -----------------------------------------------------------------------------


def test_a_document_that_was_made_can_be_written_anywhere(tmp_path: Path) -> None:
    for target in default_registry().formats:
        document = document_from({**three_trees(), "trees": three_trees()["trees"][:1]})
        dump(document, tmp_path / target, format=target)
        back = load(tmp_path / target)
        assert plain_text(back.trees[0].nodes["b"]) == " more"


class Text(Format):
    """A made format: a line of text a node, each below the one before."""

    name, title, namespace, suffixes = "made-text", "Made text", "made-text", (".lines",)

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(100, "made") if probe.head.startswith(b"LINES\n") else None

    def read(self, source: Source, context: ReadContext) -> Document:
        builder = context.builder({"id": "t", "title": ""})
        lines = bytes(source.data).decode().splitlines()[1:]
        for number, line in enumerate(lines):
            builder.add_node(str(number), node(str(number), line))  # type: ignore[arg-type]
            if number:
                builder.add_edge(str(number - 1), str(number))
        return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        sink.write(b"LINES\n")
        for each in document.trees[0].nodes.values():
            sink.write(plain_text(each).encode() + b"\n")


def registry_of(made: Format, **hooks: Callable[..., Any]) -> Registry:
    class Plugin:
        @hookimpl
        def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
            register(made)

    for name, hook in hooks.items():
        setattr(Plugin, name, hookimpl(hook))
    registry = Registry([("made", Plugin())])
    for name, each in default_registry().formats.items():
        registry.formats[name] = each
    return registry


def test_a_strangers_format_is_like_any_other(fixtures: Path, tmp_path: Path) -> None:
    registry = registry_of(Text())
    convert(fixtures / "openloom-2" / "buffer.openloom", tmp_path / "x.openloom", registry=registry)
    source = tmp_path / "in.lines"
    source.write_bytes(b"LINES\none\ntwo\n")
    convert(source, tmp_path / "out.openloom", registry=registry)
    assert [plain_text(each) for each in load(tmp_path / "out.openloom").trees[0].nodes.values()] == ["one", "two"]
    convert(tmp_path / "out.openloom", tmp_path / "back.lines", registry=registry)
    assert (tmp_path / "back.lines").read_bytes() == source.read_bytes()
    convert(source, tmp_path / "same.lines", registry=registry)
    assert (tmp_path / "same.lines").read_bytes() == source.read_bytes()


def test_hooks_see_documents_and_findings(tmp_path: Path) -> None:
    seen: list[Finding] = []

    def transform(self: Any, document: Document, report: Report) -> bool:
        document.trees[0].fields["title"] = "changed"
        return True

    registry = registry_of(
        Text(), loomconv_transform=transform, loomconv_finding=lambda self, finding: seen.append(finding)
    )
    value = {**three_trees(), "trees": three_trees()["trees"][:1]}
    convert(jsontext.encode(value), tmp_path / "out.openloom", registry=registry)
    assert written(tmp_path / "out.openloom")["trees"][0]["title"] == "changed"
    convert(jsontext.encode(value), tmp_path / "out", target_format="socketteer", registry=registry)
    assert {finding.code for finding in seen} >= {"loss.document-field", "loss.edge-detail"}


def test_a_format_that_gives_no_document_is_at_fault() -> None:
    class Wrong(Text):
        def read(self, source: Source, context: ReadContext) -> Document:
            return "document"  # type: ignore[return-value]

    with pytest.raises(PluginFault, match="made-text gave no document"):
        load(b"LINES\n", registry=registry_of(Wrong()))


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    class Reader(Text):
        writes = False

    class Writer(Text):
        reads = False

    with pytest.raises(UsageFault, match="can be read, but not written"):
        dump(document_from(three_trees()), tmp_path / "x", format="made-text", registry=registry_of(Reader()))
    with pytest.raises(UsageFault, match="cannot be read"):
        load(b"LINES\n", format="made-text", registry=registry_of(Writer()))


def test_a_writer_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    class Failing(Text):
        def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
            sink.write(b"half")
            if plain_text(document.trees[0].nodes["a"]) == "two":
                raise RuntimeError("in the second file")

    (tmp_path / "out.lines").write_bytes(b"before")
    with pytest.raises(
        PluginFault, match=r"made-text of the plugin 'made' failed while writing \(RuntimeError at test_api"
    ):
        dump(document_from(three_trees()), tmp_path / "out.lines", registry=registry_of(Failing()))
    assert [each.name for each in tmp_path.iterdir()] == ["out.lines"]
    assert (tmp_path / "out.lines").read_bytes() == b"before"


def test_a_layout_of_a_strangers_registry_is_remembered(tmp_path: Path) -> None:
    class Spaced(Text):
        layout = Layout(indent=2)

    registry = registry_of(Spaced())
    document = load(b"LINES\na\n", registry=registry)
    dump(document, tmp_path / "out.openloom", registry=registry)
    record = own_record(written(tmp_path / "out.openloom"))
    assert set(record.get("layouts", {})) <= {"made-text"}


@pytest.mark.parametrize(
    "options, said",
    [
        ({"nonsense": "x"}, "openloom-2 has no option 'nonsense'"),
        ({"layout": "sideways"}, "openloom-2-layout cannot be 'sideways'"),
    ],
)
def test_options_of_formats_are_checked(options: dict[str, str], said: str, tmp_path: Path) -> None:
    chosen = ConversionOptions(format_options={"openloom-2": options})
    with pytest.raises(UsageFault, match=said):
        dump(document_from(three_trees()), tmp_path / "x.openloom", options=chosen)
    assert not list(tmp_path.iterdir())


def test_the_public_names_are_there() -> None:
    for name in loomconv.__all__:
        assert getattr(loomconv, name) is not None
    assert set(loomconv.__all__) <= set(dir(loomconv))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        loomconv.nonsense  # noqa: B018


@pytest.mark.parametrize("asked", ["compact", "indented"])
def test_a_format_option_holds_for_a_file_of_the_same_format_too(tmp_path: Path, asked: str) -> None:
    source = Path(__file__).parents[1] / "fixtures" / "openloom-2" / "full.openloom"
    options = ConversionOptions(format_options={"openloom-2": {"layout": asked}})
    convert(source, tmp_path / "out.openloom", options=options)
    written = (tmp_path / "out.openloom").read_bytes()
    assert written != source.read_bytes() or asked == "indented"
    assert (written.count(b"\n") <= 1) == (asked == "compact")
    assert compare_values(jsontext.decode(written), jsontext.decode(source.read_bytes())).total == 0
