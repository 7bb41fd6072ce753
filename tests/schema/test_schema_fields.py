"""The schemas are sound, say where their facts come from, and name the same fields as the typed dictionaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest
from jsonschema import Draft202012Validator

from loomconv.model import types
from loomconv.report import Report
from loomconv.schema import load_schema, validate

FILES = sorted(path.name for path in (Path(__file__).parents[2] / "schemas" / "loomconv_schemas").glob("*.schema.json"))
OPENLOOM_2 = load_schema("loomconv_schemas", "openloom-2.schema.json")["$defs"]


def objects(value):
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
        waiting.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())


@pytest.mark.parametrize("name", FILES)
def test_schema_is_sound_and_explains_itself(name):
    schema = load_schema("loomconv_schemas", name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:loomconv:schema:{name.removesuffix('.schema.json')}"
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] and schema["description"] and schema["$comment"]
    for key, definition in schema["$defs"].items():
        assert definition["title"] and definition["description"], key
    for part in objects(schema):
        for key, held in part.get("properties", {}).items():
            if isinstance(held, dict) and "type" in held:
                assert held.get("description"), (name, key)
        reference = part.get("$ref")
        assert (
            reference is None or not isinstance(reference, str) or reference.removeprefix("#/$defs/") in schema["$defs"]
        )


def test_there_are_schemas_of_all_that_is_written():
    names = {name.removesuffix(".schema.json") for name in FILES}
    assert names >= {"openloom-1", "openloom-2", "report", "residue", "residue-file", "socketteer"}


@pytest.mark.parametrize(
    ("typed", "definition", "aside"),
    [
        (types.DocumentFields, "documentShell", {"trees"}),
        (types.TreeFields, "treeShell", {"nodes", "edges"}),
        (types.Node, "node", set()),
        (types.Author, "author", set()),
        (types.Meta, "meta", set()),
        (types.Generation, "generation", set()),
        (types.RawResponse, "rawResponse", set()),
        (types.Edge, "edge", set()),
        (types.Source, "source", set()),
        (types.TagDef, "tagDef", set()),
        (types.Agent, "agent", set()),
        (types.Generator, "generator", set()),
        (types.TextBlock, "textBlock", {"-type"}),
        (types.ImageBlock, "imageBlock", {"-type"}),
        (types.AudioBlock, "audioBlock", {"-type"}),
    ],
)
def test_typed_dictionaries_and_schema_name_the_same_fields(typed, definition, aside):
    described = set(OPENLOOM_2[definition]["properties"]) - aside
    if "-type" in aside:
        described.add("type")
    assert set(get_type_hints(typed)) == described


def test_a_report_meets_its_schema():
    report = Report(source={"name": "a.json", "format": "x"})
    report.add("repair.cycle", tree="t", node="n", pointer="/edges/0", value=["a"])
    report.count("nodes", 3)
    schema = load_schema("loomconv_schemas", "report.schema.json")
    value = json.loads(json.dumps(report.to_json()))
    assert validate(value, schema) == []
    value["counts"]["nodes"] = -1
    value["findings"][0]["code"] = "Cycle"
    value["findings"][0]["severity"] = "fatal"
    del value["target"]
    assert [fault.pointer for fault in validate(value, schema)] == [
        *("", "/counts/nodes", "/findings/0/code", "/findings/0/severity")
    ]


@pytest.mark.parametrize(
    ("definition", "record", "faults"),
    [
        ("nodeResidue", {"residue": {"meta": {"rating": 1}}, "written": {"meta": None, "author": "0" * 16}}, 0),
        ("nodeResidue", {"residue": [], "written": {"meta": "short", "author": 1}}, 3),
        ("treeResidue", {"edges": {"form": 0, "list": ["a", {"type": "x"}]}, "part": {"index": 1, "of": 2}}, 0),
        ("treeResidue", {"edges": {"list": [1]}, "nodes": [{"node": {}}], "part": {"index": 0}}, 5),
        ("documentResidue", {"version": "1", "added": "later"}, 0),
    ],
)
def test_residue(definition, record, faults):
    schema = load_schema("loomconv_schemas", "residue.schema.json")
    part = {"$id": f"urn:test:{definition}", "$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    assert len(validate(record, part)) == faults
