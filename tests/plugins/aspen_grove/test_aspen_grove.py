"""Databases, dumps and files for the importer: read, written, and the same after any journey."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from loomconv import jsontext
from loomconv.api import convert, load
from loomconv.errors import InvalidDocument
from loomconv.format import Probe, ReadContext, WriteContext
from loomconv.inspection import inspect_file
from loomconv.model import Document
from loomconv.options import ConversionOptions
from loomconv.report import Report
from loomconv.roundtrip import round_trip
from loomconv.storage import open_source
from loomconv.validation import validate_file
from loomconv_plugins.aspen_grove.hashes import canonical_content, content_hash, response_hash
from loomconv_plugins.aspen_grove.plugin import AspenGrove
from tests.made import as_json, document_of, documents, examples, link, node, note_edge, spelled, tree_of

FORMAT = AspenGrove()
FIXTURES = Path(__file__).parents[3] / "fixtures"
OWN = FIXTURES / "aspen-grove"
N1, N2, N3, N5, N6, N7 = (f"01KT{number:0>22}" for number in ("N1", "N2", "N3", "N5", "N6", "N7"))


def read(data: bytes | Path) -> tuple[Document, ReadContext]:
    report = Report()
    report.declare(FORMAT.finding_codes)
    context = ReadContext(report=report)
    with open_source(data if isinstance(data, bytes) else str(data)) as source:
        return FORMAT.read(source, context), context


def write(document: Document, kind: str) -> bytes:
    sink = io.BytesIO()
    context = WriteContext(report=Report(), layout=FORMAT.layout, options={"as": kind}, name=f"x.{kind}")
    FORMAT.write(document, sink, context)
    return sink.getvalue()


def rows(data: bytes | Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data.read_bytes() if isinstance(data, Path) else data)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


# -- hashes: the vectors of dossier §6.1 -----------------------------------------------------------------------------

AGENT, MODEL = "01KTESTHUMAN00000000000000", "01KTESTAGENT00000000000000"
TIME = "2026-02-23T10:00:00.000Z"
HEADERS = "x-request-id: req_123\ncontent-type: application/json"
BODY = '{"id":"resp_123","choices":[{"message":{"content":"Hello"}}]}'
RAW = "f8762f6a40a97b6a454ae0878482f095b495a9b4bdeb89f76e039b7a5a7448ef"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_vector_of_an_empty_human_root() -> None:
    assert canonical_content(_text("")) == '{"text":"","type":"text"}'
    expected = "5ce17608a2b4d6a3e67fd5e742d7fa4da9554ecb7d20b83c5a827671f60e3e88"
    assert content_hash(_text(""), [], TIME, AGENT) == expected


def test_vector_of_a_raw_response() -> None:
    assert response_hash(HEADERS, BODY) == RAW


def test_vector_of_a_model_node() -> None:
    expected = "81f6369ad37196086da13d6a6d89b7ab801f6796af9fc467265e2cd5db87ac69"
    assert content_hash(_text("Hello"), ["a" * 64], TIME, MODEL, RAW) == expected


def test_vector_of_odd_characters_and_two_parents() -> None:
    text = "naïve “q” \n\t\u2028 🌲 \u0007 / \\"
    expected = "d40c092e7b0fbaf06c920f6164751cf542bdb92766a23c9c1871300535c6cf65"
    parents = ["b" * 64, "a" * 64]
    assert content_hash(_text(text), parents, "2026-02-23T10:00:00.123Z", AGENT) == expected


def test_vector_of_mixed_content() -> None:
    image = {
        "type": "image", "ref": "loomtrees/01KTREE0000000000000000000/images/ab.png", "mimeType": "image/png",
        "width": 12.0, "height": 34, "altText": "x",
    }  # fmt: skip
    content = {"type": "mixed", "blocks": [_text("t"), image]}
    expected = "a7c2e897b5cdc5372f02373e587bff1ccb9b9b2b649186d5314b370140bf1b94"
    assert content_hash(content, ["a" * 64], TIME, AGENT) == expected


@pytest.mark.parametrize("name", ["grove.db", "full.aspen-grove.json"])
def test_hashes_of_a_file_are_verified(name: str) -> None:
    found = inspect_file(OWN / name, verify_hashes=True)
    assert found.hashes is not None
    assert found.hashes[0].scheme == "aspen-grove"
    statuses = {each.node: each.status for each in found.hashes[0].verdicts}
    assert statuses[N1] == statuses[N2] == statuses[N5] == statuses[N6] == "verified"
    assert "mismatch" not in statuses.values()


def test_hashes_of_an_export_are_verified() -> None:
    found = inspect_file(FIXTURES / "openloom-2" / "aspen-grove-export.openloom", verify_hashes=True)
    assert found.hashes is not None
    assert found.hashes[0].counts["verified"] >= 1
    assert "mismatch" not in found.hashes[0].counts


def test_a_mismatch_is_information() -> None:
    value = json.loads((OWN / "full.aspen-grove.json").read_text("utf-8"))
    value["nodes"][0]["content"]["text"] = "Edited"
    found = inspect_file(json.dumps(value).encode(), verify_hashes=True)
    assert found.hashes is not None
    assert {each.node: each.status for each in found.hashes[0].verdicts}[N1] == "mismatch"
    del value["rawApiResponses"]
    found = inspect_file(json.dumps(value).encode(), verify_hashes=True)
    assert found.hashes is not None
    assert {each.node: each.status for each in found.hashes[0].verdicts}[N2] == "incomplete"


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["grove.db", "full.aspen-grove.json"])
def test_what_a_file_says(name: str) -> None:
    document, _ = read(OWN / name)
    tree, old = document.trees
    assert (tree.fields["title"], old.fields["mode"]) == ("Sails", "buffer")
    assert (tree.roots, tree.fields["currentNodeId"]) == ([N1], N3)
    assert tree.fields["tags"] == [{"name": "rope", "color": "#aa8844"}]
    model = tree.fields["agents"]["01KT00000000000000000MODEL"]
    assert model["configuration"]["systemPrompt"] == "Be calm."
    assert list(document.fields["agents"]) == ["01KT00000000000000000SPARE"]
    assert tree.nodes[N1]["meta"] == {"bookmarked": True, "bookmarkLabel": "Start"}
    answer: Any = tree.nodes[N2]
    assert answer["author"] == {"role": "model", "agentId": "01KT00000000000000000MODEL", "name": "Tide"}
    assert answer["meta"] == {"tags": ["rope"]}
    generation = answer["generation"]
    assert (generation["provider"], generation["model"], generation["latencyMs"]) == ("openrouter", "tide/tide-1", 1830)
    assert generation["rawResponse"]["encoding"] == "identity"
    assert generation["rawResponse"]["headers"] == {"content-type": "application/json", "x-request-id": "req_1"}
    assert [block["type"] for block in tree.nodes[N3]["content"]] == ["text", "image"]
    sources = [edge["sources"] for edge in tree.edges if edge["targetNodeId"] == N5]
    assert sources == [[{"nodeId": N2, "role": "primary"}, {"nodeId": "01KT00000000000000000000N4", "role": "context"}]]
    own = tree.fields["extensions"]["aspen-grove"]
    assert (own["summary"], own["treeTags"]) == ("Ropes hold sails", ["rope"])
    assert len(own["pathNodes"]) == 3


def test_old_schemas_lack_tables_and_columns() -> None:
    document, context = read(OWN / "schema-1.db")
    tree = document.trees[0]
    assert tree.nodes[N1]["meta"] == {"bookmarked": True, "bookmarkLabel": "Start"}  # from the JSON
    assert tree.nodes[N1]["createdAt"] == "2026-02-23T10:03:00Z"  # from an integer
    assert not context.report.severities.get("warning")


def test_newer_schemas_and_deleted_rows() -> None:
    document, context = read(OWN / "schema-9-deleted.db")
    assert N6 not in document.trees[0].nodes
    assert context.report.codes["read.version"] == 1
    assert context.report.codes["aspen-grove.deleted-rows"] == 1
    row: Any = document.trees[0].nodes[N1]
    assert row["extensions"]["aspen-grove"]["databaseRow"]["colour"] == "red"


def test_the_early_build_is_refused_in_words() -> None:
    with pytest.raises(InvalidDocument, match="early build"):
        load(OWN / "early-build.db")


def test_preferences_and_models_never_leave(tmp_path: Path) -> None:
    for name in ("with-private.json", "grove.db"):
        report = convert(OWN / name, tmp_path / "a.openloom").report
        assert report.codes["aspen-grove.private-table"] >= 1
        text = (tmp_path / "a.openloom").read_text("utf-8")
        assert "sk-test" not in text
        assert "displayName" not in text


@pytest.mark.parametrize(
    "statement",
    [
        'update agents set _status = \'deleted\', configuration = \'{"customParameters":{"apiKey":"KEY"}}\'',
        "create table local_models as select 'KEY' as auth_config",
    ],
)
def test_keys_that_are_not_in_the_document_are_not_copied_along(statement: str, tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2" * 9
    connection = sqlite3.connect(":memory:")
    connection.deserialize((OWN / "grove.db").read_bytes())
    connection.execute(statement.replace("KEY", key))
    connection.commit()
    source = tmp_path / "a.db"
    source.write_bytes(connection.serialize())
    connection.close()
    assert key.encode() in source.read_bytes()
    convert(source, tmp_path / "b.db")
    assert key.encode() not in (tmp_path / "b.db").read_bytes()


def test_odd_values_are_reported_and_kept() -> None:
    document, context = read(OWN / "odd.json")
    codes = context.report.codes
    assert codes["aspen-grove.stray"] == codes["read.duplicate-id"] == codes["read.bad-time"] == 1
    assert codes["read.bad-text"] == 1
    assert document.fields["extensions"]["aspen-grove"]["strays"]["nodes"][0]["loomTreeId"] == "nowhere"


def test_a_file_of_the_app_can_be_read_by_its_name() -> None:
    export = FIXTURES / "openloom-2" / "aspen-grove-export.openloom"
    trees = [as_json(load(export, format=name))["trees"] for name in ("aspen-grove", "openloom-2")]
    assert spelled(trees[0]) == spelled(trees[1])


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ({"format": "aspen-grove-dump"}, 100),
        ({"nodes": [{"loomTreeId": "", "contentHash": "", "authorAgentId": ""}], "edges": []}, 85),
        ({"loomTrees": []}, 70),
        ({"nodes": {}, "edges": []}, None),
        ([], None),
    ],
)
def test_detection(value: Any, score: int | None) -> None:
    found = FORMAT.detect(Probe(json.dumps(value).encode(), "x.json"))
    assert (found and found.score) == score


# -- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["full.aspen-grove.json", "one-tree.json", "no-mark.json"])
def test_a_dump_comes_back_with_equal_values(name: str) -> None:
    data = (OWN / name).read_bytes()
    assert spelled(jsontext.decode(write(read(data)[0], "dump"))) == spelled(jsontext.decode(data))


@pytest.mark.parametrize("name", ["grove.db", "schema-1.db"])
def test_every_row_of_a_database_comes_back(name: str) -> None:
    before = OWN / name
    after = write(read(before)[0], "database")
    tables = rows(before, "select name from sqlite_master where type = 'table'")
    for (table,) in tables:
        if table == "user_preferences":
            continue
        columns = [each[1] for each in rows(before, f'pragma table_info("{table}")')]
        query = f'select {", ".join(columns)} from "{table}" order by rowid'
        assert sorted(rows(after, query), key=repr) == sorted(rows(before, query), key=repr), table


def test_a_new_database_has_all_that_the_app_needs() -> None:
    tree = tree_of(
        [node("r", "Hi"), node("a/b", "Ho", "model")], [link("r", "a/b")], mode="dialogue", rootNodeIds=["r"]
    )
    tree.fields["currentNodeId"] = "a/b"
    data = write(document_of(tree), "database")
    assert rows(data, "pragma user_version") == [(8,)]
    assert rows(data, "pragma integrity_check") == [("ok",)]
    assert rows(data, "select count(*) from groves") == rows(data, "select count(*) from paths") == [(1,)]
    assert rows(data, "select name, agent_type, model_ref from agents") == [
        ("Human", "human", None),
        ("Imported · model", "model", "custom:imported"),
    ]
    assert rows(data, "select count(*) from nodes where length(content_hash) = 64 and length(local_id) >= 6") == [(2,)]
    ids = [each for (each,) in rows(data, "select id from nodes union all select id from edges")]
    assert all(each.replace("_", "").replace(".", "").isalnum() for each in ids)
    assert rows(data, "select position, node_id = (select active_node_id from path_states) from path_nodes") == [
        (0.0, 0),
        (1.0, 1),
    ]
    assert write(document_of(tree), "database") == data


def test_the_importer_gets_one_root_and_no_loose_note(tmp_path: Path) -> None:
    nodes = [node("r", "Hi"), node("b", "Ho"), node("n", "A note"), {**node("w"), "content": [{"type": "poll"}]}]
    edges = [link("r", "b"), note_edge("b", "n"), link("r", "w")]
    source = tmp_path / "a.openloom"
    source.write_text(json.dumps(as_json(document_of(tree_of(nodes, edges, rootNodeIds=["r"])))))
    target = tmp_path / "b.openloom"
    convert(source, target, target_format="aspen-grove")
    (tree,) = json.loads(target.read_bytes())["trees"]
    targets = {edge["targetNodeId"] for edge in tree["edges"] if edge["type"] == "continuation"}
    assert tree["nodes"].keys() - targets == {"r"} == set(tree["rootNodeIds"])
    assert all(each["id"] == key and each["author"]["role"] for key, each in tree["nodes"].items())
    assert tree["nodes"]["w"]["content"] == [{"type": "text", "text": "[unsupported block: poll]"}]
    assert round_trip(source, ["aspen-grove"], options=_as("openloom")).differences == []


def _as(kind: str) -> ConversionOptions:
    return ConversionOptions(format_options={"aspen-grove": {"as": kind}})


def test_the_form_is_chosen_by_the_suffix(tmp_path: Path) -> None:
    heads = {
        ".db": b"SQLite",
        ".json": b'{\n  "format": "aspen-grove-dump"',
        ".openloom": b'{\n  "format": "open-loom"',
    }
    for suffix, head in heads.items():
        convert(OWN / "grove.db", tmp_path / f"a{suffix}", target_format="aspen-grove")
        assert (tmp_path / f"a{suffix}").read_bytes().startswith(head)
    shutil.copy(OWN / "grove.db", tmp_path / "plain.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "plain.db", isolation_level=None)) as rows:
        rows.execute("DELETE FROM user_preferences")
        rows.execute("VACUUM")
    convert(tmp_path / "plain.db", tmp_path / "b.db")
    assert (tmp_path / "b.db").read_bytes() == (tmp_path / "plain.db").read_bytes()


@pytest.mark.parametrize("what", ["preferences", "deleted row", "free page"])
def test_what_is_not_in_the_document_is_not_copied_with_a_database(what: str, tmp_path: Path) -> None:
    shutil.copy(OWN / "grove.db", tmp_path / "a.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as rows:
        if what == "preferences":
            rows.execute("UPDATE user_preferences SET display_name = 'WITHHELD'")
        else:
            rows.execute("PRAGMA secure_delete = OFF")
            rows.execute("DELETE FROM user_preferences")
            rows.execute(
                "UPDATE nodes SET content = 'WITHHELD', _status = 'deleted' WHERE id = (SELECT max(id) FROM nodes)"
            )
            if what == "free page":
                rows.execute("CREATE TABLE gone AS SELECT hex(randomblob(9000)) || 'WITHHELD' AS text")
                rows.execute("DROP TABLE gone")
                rows.execute("DELETE FROM nodes WHERE _status = 'deleted'")
    assert b"WITHHELD" in (tmp_path / "a.db").read_bytes()
    convert(tmp_path / "a.db", tmp_path / "b.db")
    assert b"WITHHELD" not in (tmp_path / "b.db").read_bytes()


@pytest.mark.parametrize("kind", ["dump", "database", "openloom"])
def test_from_one_kind_to_the_other_and_back(kind: str, tmp_path: Path) -> None:
    middle = tmp_path / {"dump": "a.json", "database": "a.db", "openloom": "a.openloom"}[kind]
    convert(OWN / "grove.db", middle, target_format="aspen-grove")
    before, after = load(OWN / "grove.db"), load(middle, format="aspen-grove")
    nodes = [{key: each for tree in document.trees for key, each in tree.nodes.items()} for document in (before, after)]
    assert nodes[0].keys() == nodes[1].keys()
    assert all(nodes[0][key]["content"] == nodes[1][key]["content"] for key in nodes[0])


@given(documents())
@examples(25)
def test_any_document_comes_back_from_a_dump(tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("any") / "a.openloom"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    assert round_trip(path, ["aspen-grove"], options=_as("dump")).differences == []


@given(documents())
@examples(12)
def test_any_document_comes_back_from_a_database(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.openloom"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    assert round_trip(path, ["aspen-grove"], options=_as("database")).differences == []


def test_prompts_and_responses_stay_out_when_asked(tmp_path: Path) -> None:
    options = ConversionOptions(without=frozenset({"agent-prompts", "raw-responses"}))
    for name in ("a.json", "a.db"):
        convert(OWN / "grove.db", tmp_path / name, target_format="aspen-grove", options=options)
        data = (tmp_path / name).read_bytes()
        assert b"Be calm." not in data
        assert not read(data)[0].trees[0].nodes[N2].get("generation", {}).get("rawResponse")


def test_a_dump_is_validated() -> None:
    assert validate_file(OWN / "full.aspen-grove.json").report.codes["validate.schema"] == 0
    assert validate_file(OWN / "odd.json").report.codes["validate.schema"] >= 2


@pytest.mark.slow
def test_a_large_database_is_read_in_one_pass() -> None:
    count = 50_000
    tree = tree_of(
        [node(f"n{number}", "x") for number in range(count)],
        [link(f"n{number - 1}", f"n{number}") for number in range(1, count)],
        rootNodeIds=["n0"], mode="buffer",
    )  # fmt: skip
    started = time.process_time()
    document, _ = read(write(document_of(tree), "database"))
    assert len(document.trees[0].nodes) == count
    assert time.process_time() - started < count / 200
