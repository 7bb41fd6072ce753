"""Residue in a file beside: written, found again, recognised when it belongs to another file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from loomconv import jsontext
from loomconv.api import Conversion, convert, load
from loomconv.errors import UsageFault
from loomconv.format import Capabilities, Confidence, Format, Probe, ReadContext, Sink, WriteContext, hookimpl
from loomconv.model import Document, plain_text
from loomconv.options import ConversionOptions
from loomconv.registry import Registry
from loomconv.report import Report
from loomconv.roundtrip import round_trip
from loomconv.schema import load_schema, validate
from loomconv.storage import Source, residue_path
from loomconv_plugins import openloom_1, openloom_2, socketteer
from tests.made import documents, examples

FIXTURES = Path(__file__).parents[1] / "fixtures"
BESIDE = ConversionOptions(residue="beside")


class Bare(Format):
    """`[[id, parent or null, text], …]` and nothing else: there is no place for residue in it."""

    name = "bare"
    title = "Bare texts"
    suffixes = (".bare",)
    namespace = "bare"
    capabilities = Capabilities(roots="many", roles=("human",), modes=("dialogue",), tree_fields=())

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(90, "a list of lists") if isinstance(probe.value, list) else None

    def read(self, source: Source, context: ReadContext) -> Document:
        builder = context.builder({"id": "bare", "title": "", "mode": "dialogue"})
        roots = []
        for node_id, parent, text in context.load_json(source):
            node: Any = {"id": node_id, "content": [{"type": "text", "text": text}], "author": {"role": "human"}}
            builder.add_node(node_id, node)
            if parent is None:
                roots.append(node_id)
            else:
                builder.add_edge(parent, node_id)
        builder.fields["rootNodeIds"] = roots
        return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        tree = document.trees[0]
        assert "extensions" not in document.fields
        assert "extensions" not in tree.fields
        assert not any("extensions" in node for node in tree.nodes.values())
        order = [tree.nodes.ids[ordinal] for ordinal in tree.graph.walk(tree.root_ordinals)]
        rows = [[key, tree.graph.parent_of(key), plain_text(tree.nodes[key])] for key in order]
        sink.write(jsontext.dump(rows, context.layout))

    def derived_fields(self, tree: Any) -> dict[str, Any]:
        return {"id": "bare", "title": "", "mode": "dialogue"}


class Plugin:
    @hookimpl
    def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
        register(Bare())


REGISTRY = Registry(
    [
        ("bare", Plugin()),
        ("openloom-1", openloom_1),
        ("openloom-2", openloom_2),
        ("socketteer", socketteer),
    ]
)
FULL = FIXTURES / "openloom-2" / "full.openloom"
DIALOGUE = FIXTURES / "openloom-2" / "dialogue.openloom"


def _convert(source: Path, target: Path, **more: Any) -> Conversion:
    return convert(str(source), target, registry=REGISTRY, **more)


@pytest.mark.parametrize("name", ["dialogue", "full", "hyperedges", "minimal", "media"])
@pytest.mark.parametrize("via", ["bare", "openloom-1", "socketteer"])
def test_there_and_back_with_residue_beside(name: str, via: str) -> None:
    source = FIXTURES / "openloom-2" / f"{name}.openloom"
    trip = round_trip(source, [via], registry=REGISTRY, options=BESIDE)
    assert trip.differences == []


@given(documents())
@examples(40)
def test_any_document_comes_back(tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("any") / "a.openloom"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    for options in (BESIDE, ConversionOptions()):
        assert round_trip(path, ["bare"], registry=REGISTRY, options=options).differences == []


def test_nothing_of_it_is_in_the_file(tmp_path: Path) -> None:
    target = tmp_path / "talk.json"
    done = _convert(DIALOGUE, target, target_format="socketteer", options=BESIDE)
    assert b"loomconv" not in target.read_bytes()
    value = json.loads(residue_path(target).read_bytes())
    assert value["trees"][0]["extensions"]["loomconv"]["residue"]
    assert done.report.target is not None
    assert done.report.target["residue"] == ["talk.json.loomconv-residue.json"]
    schema = load_schema("loomconv_schemas", "residue-file.schema.json")
    assert schema is not None
    assert list(validate(value, schema)) == []


def test_a_file_that_can_keep_everything_gets_no_file_beside(tmp_path: Path) -> None:
    for name in ("a.openloom", "b.openloom.json"):
        _convert(DIALOGUE, tmp_path / name)
    _convert(DIALOGUE, tmp_path / "c.openloom", options=BESIDE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.openloom", "b.openloom.json", "c.openloom"]


def test_where_the_app_keeps_nothing_it_goes_beside_by_itself(tmp_path: Path) -> None:
    target = tmp_path / "talk.bare"
    report = _convert(DIALOGUE, target).report
    assert residue_path(target).is_file()
    assert {finding.severity for finding in report.findings if finding.code.startswith("loss.")} == {"notice"}
    lost = _convert(DIALOGUE, target, options=ConversionOptions(residue="none")).report
    assert "warning" in {finding.severity for finding in lost.findings if finding.code.startswith("loss.")}
    assert not residue_path(target).exists()


def test_every_file_of_several_has_its_own(tmp_path: Path) -> None:
    _convert(FIXTURES / "openloom-2" / "several-trees.openloom", tmp_path / "a.bare")
    assert len(list(tmp_path.glob("a*.bare.loomconv-residue.json"))) == len(list(tmp_path.glob("a*.bare"))) > 1


def test_a_stream_has_no_file_beside_it() -> None:
    with pytest.raises(UsageFault, match="no file beside"):
        convert(str(DIALOGUE), "-", target_format="bare", registry=REGISTRY, options=BESIDE)


def test_a_copy_takes_the_residue_along(tmp_path: Path) -> None:
    first, second = tmp_path / "a.bare", tmp_path / "b.bare"
    _convert(DIALOGUE, first)
    _convert(first, second)
    assert first.read_bytes() == second.read_bytes()
    assert residue_path(first).read_bytes() == residue_path(second).read_bytes()


def test_an_edit_stands_and_the_rest_returns(tmp_path: Path) -> None:
    target = tmp_path / "talk.bare"
    _convert(DIALOGUE, target)
    rows = json.loads(target.read_bytes())
    rows[-1][2] = "Edited."
    rows.append(["new", rows[0][0], "New."])
    target.write_text(json.dumps(rows))
    before = load(str(DIALOGUE), registry=REGISTRY).trees[0]
    after = load(str(target), registry=REGISTRY).trees[0]
    edited = rows[-2][0]
    assert plain_text(after.nodes[edited]) == "Edited."
    assert after.nodes[edited]["author"] == before.nodes[edited]["author"]
    assert set(after.nodes) == {*before.nodes, "new"}
    assert after.fields["title"] == before.fields["title"]


def test_the_residue_of_another_file_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "talk.bare"
    _convert(DIALOGUE, target)
    rows = json.loads(target.read_bytes())
    target.write_text(json.dumps([[node_id, parent, f"Another text {node_id}"] for node_id, parent, _ in rows]))
    report = Report()
    tree = load(str(target), registry=REGISTRY, report=report).trees[0]
    assert report.codes["restore.foreign"] == 1
    assert tree.fields["title"] == ""
    assert all(node["author"] == {"role": "human"} for node in tree.nodes.values())


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"{",
        b"[]",
        b'{"format":"loomconv-residue"}',
        b'{"format":"loomconv-residue","version":"2.0","trees":[]}',
        b'{"format":"loomconv-residue","version":"1.0","trees":[]}',
        b'{"format":"loomconv-residue","version":"1.0","trees":[5]}',
        b'{"format":"loomconv-residue","version":"1.0","trees":[{"written":5}]}',
        b'{"format":"loomconv-residue","version":"1.0","extensions":7,"trees":[{"written":{},"extensions":[],"nodes":3}]}',
        b'{"format":"loomconv-residue","version":"1.0","trees":[{"written":{},"nodes":{"n1":5,"nobody":{"x":1}}}]}',
    ],
)
def test_a_residue_file_that_is_none_never_hurts(tmp_path: Path, junk: bytes) -> None:
    target = tmp_path / "talk.bare"
    _convert(DIALOGUE, target, options=ConversionOptions(residue="none"))
    plain = load(str(target), registry=REGISTRY).trees[0]
    residue_path(target).write_bytes(junk)
    report = Report()
    tree = load(str(target), registry=REGISTRY, report=report).trees[0]
    assert dict(tree.nodes) == dict(plain.nodes)
    assert report.codes["restore.foreign"] + report.codes["read.sidecar"] == 1


def test_a_key_in_a_residue_file_is_dropped_like_any_other(tmp_path: Path) -> None:
    target = tmp_path / "talk.bare"
    _convert(DIALOGUE, target)
    beside = residue_path(target)
    value = json.loads(beside.read_bytes())
    value["trees"][0]["extensions"]["my-app"] = {"apiKey": "sk-proj-" + "a1B2" * 12}
    beside.write_text(json.dumps(value))
    report = Report()
    document = load(str(target), registry=REGISTRY, report=report)
    assert report.codes["privacy.secret-dropped"] == 1
    assert "apiKey" not in json.dumps(document.trees[0].fields)
