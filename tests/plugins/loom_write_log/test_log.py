"""Logs as documents: what each record and each fault comes to, forwards and back."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from loomconv.api import convert, load
from loomconv.errors import InvalidDocument, LoomconvError, UnreadableFile
from loomconv.format import Probe, ReadContext, WriteContext
from loomconv.model import Document
from loomconv.options import ConversionOptions
from loomconv.report import Report
from loomconv.storage import open_source
from loomconv.validation import validate_file
from loomconv_plugins.loom_write_log.plugin import LoomWriteLog
from tests.made import as_json, document_from, documents, examples, link, node, spelled

FORMAT = LoomWriteLog()
FIXTURES = Path(__file__).parents[3] / "fixtures" / "loom-write-log"
OPEN = '{"op":"open","format":"loom-write-log","version":"1.0"}'


def log(*records: Any) -> bytes:
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in (OPEN, *records)).encode()


def read(data: bytes | Path, **options: str) -> tuple[Document, ReadContext]:
    report = Report()
    report.declare(FORMAT.finding_codes)
    context = ReadContext(report=report, options=options)
    with open_source(data if isinstance(data, bytes) else str(data)) as source:
        return FORMAT.read(source, context), context


def written(document: Document) -> bytes:
    sink = io.BytesIO()
    FORMAT.write(document, sink, WriteContext(report=Report(), layout=FORMAT.layout))
    return sink.getvalue()


def put(node_id: str, text: str = "") -> dict[str, Any]:
    return {"op": "node", "tree": "t", "node": node(node_id, text)}


def join(parent: str, child: str, **more: Any) -> dict[str, Any]:
    return {"op": "edge", "tree": "t", "edge": link(parent, child, **more)}


@given(documents())
@examples(80)
def test_any_document_comes_back(value: dict[str, Any]) -> None:
    data = written(document_from(value))
    document, context = read(data)
    assert spelled(as_json(document)) == spelled(value)
    assert not context.report.findings
    assert written(document) == data


def test_the_last_put_counts_and_the_first_place() -> None:
    records = [
        put("a", "old"),
        put("b"),
        join("a", "b"),
        put("c"),
        join("a", "c"),
        put("a", "new"),
        join("a", "b", x=1),
    ]
    document, context = read(log({"op": "tree", "tree": {"id": "t", "title": "T"}}, *records))
    tree = document.trees[0]
    assert list(tree.nodes) == ["a", "b", "c"]
    assert tree.nodes["a"]["content"][0]["text"] == "new"
    assert [edge["targetNodeId"] for edge in tree.edges] == ["b", "c"]
    assert tree.edges[0]["x"] == 1  # type: ignore[typeddict-item]
    assert context.report.codes["write-log.superseded"] == 1
    assert tree.fields["rootNodeIds"] == ["a"]


def test_deletes() -> None:
    two = {"type": "continuation", "sources": [{"nodeId": "a"}, {"nodeId": "b"}], "targetNodeId": "c"}
    records = [put("a"), put("b"), put("c"), {"op": "edge", "tree": "t", "edge": two}, join("a", "b", id="e1")]
    gone = [{"op": "delete", "tree": "t", "edge": "e1"}, {"op": "delete", "tree": "t", "node": "a"}]
    document, context = read(log(*records, *gone, {"op": "delete", "tree": "t", "node": "ghost"}))
    tree = document.trees[0]
    assert list(tree.nodes) == ["b", "c"]
    assert [edge["sources"] for edge in tree.edges] == [[{"nodeId": "b"}]]
    assert context.report.codes["write-log.missing"] == 1
    assert context.report.codes["write-log.missing-tree"] == 1
    again, _ = read(log(*records, *gone, put("a", "back")))
    assert len(again.trees[0].edges[0]["sources"]) == 2
    assert not read(log(*records, {"op": "delete", "tree": "t"}))[0].trees


def test_agents_and_fields() -> None:
    records = [
        {"op": "tree", "tree": {"id": "t", "title": "T"}},
        {"op": "agent", "id": "x", "agent": {"name": "X", "type": "model"}},
        {"op": "agent", "id": "y", "agent": {"name": "Y", "type": "human"}, "tree": "t"},
        {"op": "agent", "id": "z", "agent": {"name": "Z", "type": "human"}},
        {"op": "delete", "agent": "z"},
        {"op": "document", "document": {"format": "open-loom", "version": "2.0", "agents": {}, "extra": 1}},
    ]
    document, _ = read(log(*records[:5]))
    assert document.fields["agents"] == {"x": {"name": "X", "type": "model"}}
    assert list(document.trees[0].fields["agents"]) == ["y"]
    assert read(log(*records))[0].fields["extra"] == 1


def test_unknown_records_are_kept_and_written_back() -> None:
    document, _ = read(FIXTURES / "history.loom.jsonl")
    assert document.fields["extensions"]["loom-write-log"]["records"] == [{"op": "cursor", "at": "b", "by": "me"}]
    assert b'{"op":"cursor","at":"b","by":"me"}\n' in written(document)
    assert spelled(as_json(read(written(document))[0])) == spelled(as_json(document))


@pytest.mark.parametrize(
    ("name", "code", "nodes"),
    [
        ("torn", "write-log.torn", 3), ("digest", "write-log.digest", 3), ("glued", "write-log.glued", 3),
        ("padded", "write-log.padding", 3), ("crlf", "write-log.digest", 3), ("walk", None, 3),
        ("history", "write-log.uncommitted", 4),
    ],
)  # fmt: skip
def test_faults_have_a_defined_outcome(name: str, code: str | None, nodes: int) -> None:
    document, context = read(FIXTURES / f"{name}.loom.jsonl")
    assert len(document.trees[0].nodes) == nodes
    codes = set(context.report.codes)
    assert code in codes if code else not codes
    assert context.truncated == (name == "torn")


def test_a_digest_names_the_lines_that_it_covers() -> None:
    _, context = read(FIXTURES / "digest.loom.jsonl")
    assert [each.value for each in context.report.findings if each.code == "write-log.digest"] == [[5, 9]]


def test_a_damaged_line_is_named_and_skipped_only_on_request() -> None:
    with pytest.raises(UnreadableFile, match="line 3 column 1") as caught:
        read(FIXTURES / "damaged.loom.jsonl")
    assert "skip" in caught.value.next_step
    document, context = read(FIXTURES / "damaged.loom.jsonl", damaged="skip")
    assert list(document.trees[0].nodes) == ["b", "c"]
    assert [each.place and each.place.line for each in context.report.findings if each.code.endswith("line")] == [3]


@pytest.mark.parametrize(
    "line",
    [
        "5", "[]", "{}", '{"op":5}', '{"op":"node"}', '{"op":"node","tree":"t","node":{}}', '{"op":"edge","tree":5}',
        '{"op":"tree","tree":{"title":"x"}}', '{"op":"agent","id":"x"}', '{"op":"commit"}', '{"op":"delete"}',
        '{"op":"document","document":7}', '{"op":"node"', 'not json', '{"op":"node","tr{"op":"edge"}', '\ufeff{}',
    ],
)  # fmt: skip
def test_what_is_no_record_is_damage(line: str) -> None:
    with pytest.raises(UnreadableFile, match="line 2"):
        read(log(line))
    assert read(log(line, put("a")), damaged="skip")[1].report.codes["write-log.damaged-line"] == 1


KEY = {"x": {"apiKey": "sk-proj-" + "a1B2" * 9}}
KEYED = {**put("b"), "node": node("b", extensions=KEY)}


@pytest.mark.parametrize(
    "records",
    [
        [KEYED, put("b")],
        [KEYED, {"op": "delete", "tree": "t", "node": "b"}],
        [KEYED, {"op": "delete", "tree": "t"}, put("a")],
        [put("a"), put("b"), join("a", "b", id="e", extensions=KEY), join("a", "b", id="e")],
        [put("a"), put("b"), join("a", "b", id="e", extensions=KEY), {"op": "delete", "tree": "t", "edge": "e"}],
        [put("a"), put("b"), join("a", "b", extensions=KEY), {"op": "delete", "tree": "t", "node": "b"}],
        [{"op": "tree", "tree": {"id": "t", "title": "", "extensions": KEY}}, {"op": "tree", "tree": {"id": "t"}}],
        [{"op": "document", "document": {"extensions": KEY}}, {"op": "document", "document": {}}],
        [{"op": "agent", "id": "x", "agent": KEY}, {"op": "agent", "id": "x", "agent": {"name": "X"}}, put("a")],
        [{"op": "agent", "id": "x", "agent": KEY}, {"op": "delete", "agent": "x"}, put("a")],
    ],
)
def test_a_key_in_a_value_that_is_gone_is_not_copied_along(records: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl"
    path.write_bytes(log({"op": "tree", "tree": {"id": "t", "title": "T"}}, *records))
    report = convert(path, tmp_path / "b.loom.jsonl").report
    assert report.codes["privacy.secret-dropped"] == 1
    assert b"sk-proj" not in (tmp_path / "b.loom.jsonl").read_bytes()


def test_committed_state_only() -> None:
    document, context = read(FIXTURES / "history.loom.jsonl", state="committed")
    assert list(document.trees[0].nodes) == ["a", "b", "c"]
    assert context.report.codes["write-log.uncommitted-left-out"] == 1
    with pytest.raises(InvalidDocument, match="committed"):
        read(log(put("a")), state="committed")


def test_only_a_line_feed_splits_records() -> None:
    text = "one\u2028two\u2029three\u0085four\x0bfive"
    data = (OPEN + "\n" + json.dumps(put("a", text), ensure_ascii=False) + "\n").encode()
    assert read(data)[0].trees[0].nodes["a"]["content"][0]["text"] == text


def test_a_log_inside_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl.gz"
    path.write_bytes(gzip.compress((FIXTURES / "walk.loom.jsonl").read_bytes()))
    assert len(load(path).trees[0].nodes) == 3


@pytest.mark.parametrize("first", ["", '{"op":"tree","tree":{"id":"t"}}', '{"op":"open","format":"x","version":"1.0"}'])
def test_a_log_is_opened_first(first: str) -> None:
    with pytest.raises(LoomconvError):
        read(f"{first}\n".encode())


def test_versions_and_second_opens() -> None:
    assert read(b'{"op":"open","format":"loom-write-log","version":"1.7"}\n')[1].report.codes["read.version"] == 1
    with pytest.raises(InvalidDocument, match="later version"):
        read(b'{"op":"open","format":"loom-write-log","version":"2.0"}\n')
    assert read(log(OPEN))[1].report.codes["write-log.second-open"] == 1
    assert read(log({**put("a"), "extra": 1}))[1].report.codes["write-log.unknown-key"] == 1


def test_plain_export_lines_of_socketteers_loom() -> None:
    document = load(FIXTURES / "plain-export.jsonl", format="loom-write-log")
    assert document.trees[0].graph.children_of("a") == ["b", "c"]


def test_a_torn_log_is_partly_done(tmp_path: Path) -> None:
    assert convert(FIXTURES / "torn.loom.jsonl", tmp_path / "a.openloom").truncated


def test_validation_names_the_first_bad_line(tmp_path: Path) -> None:
    found = validate_file(FIXTURES / "damaged.loom.jsonl")
    first = next(each for each in found.report.findings if each.severity in ("error", "warning"))
    assert first.place is not None
    assert first.place.line == 3
    assert not [
        each for each in validate_file(FIXTURES / "history.loom.jsonl").report.findings if each.severity == "error"
    ]


def test_detection() -> None:
    def score(data: bytes) -> int | None:
        found = FORMAT.detect(Probe(data, "x"))
        return found and found.score

    assert score((FIXTURES / "walk.loom.jsonl").read_bytes()) == 100
    assert score((OPEN + "\n").encode()) == 100
    assert score((FIXTURES / "not-opened.loom.jsonl").read_bytes()) == 50
    assert score((FIXTURES / "plain-export.jsonl").read_bytes()) == 40
    assert score(b'{"format":"open-loom"}') is None


def test_numbers_keep_their_spelling(tmp_path: Path) -> None:
    source = FIXTURES.parent / "openloom-2" / "numbers.openloom"
    convert(source, tmp_path / "a.loom.jsonl")
    convert(tmp_path / "a.loom.jsonl", tmp_path / "b.openloom", options=ConversionOptions())
    assert spelled(as_json(load(tmp_path / "b.openloom"))) == spelled(as_json(load(source)))
