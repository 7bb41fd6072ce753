"""Kinds of faults that hostile input and careless use brought to light, each as a test."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loomconv import ConversionOptions, LoomconvError, Report, convert, load
from loomconv.api import detect
from loomconv.errors import PluginFault, UsageFault
from loomconv.registry import default_registry
from loomconv.roundtrip import round_trip
from tests.made import node

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openloom-2"
FORMATS = ("openloom-1", "openloom-2", "socketteer")
FAKE = "sk-FAKE-not-a-real-key-0000"


def document(**tree: Any) -> dict[str, Any]:
    node = {"id": "a", "content": [{"type": "text", "text": "A"}], "author": {"role": "human"}}
    return {
        "format": "open-loom",
        "version": "2.0",
        "trees": [{"id": "t", "title": "", "rootNodeIds": ["a"], "nodes": {"a": node}, "edges": [], **tree}],
    }


def written(value: Any, tmp_path: Path, target: str, **options: Any) -> tuple[str, Report]:
    report = Report()
    source, out = tmp_path / "in.openloom", tmp_path / "out.any"
    source.write_text(json.dumps(value), "utf-8")
    convert(source, out, target_format=target, report=report, options=ConversionOptions(**options))
    return out.read_text("utf-8"), report


@pytest.mark.parametrize("gone", ["sys", "u2", "m2"])
@pytest.mark.parametrize("target", ["openloom-2", "socketteer"])
def test_what_hangs_below_a_deleted_node_stays(tmp_path: Path, gone: str, target: str) -> None:
    """A node was deleted in the other app: its children become roots, with a word, and no text is lost."""
    convert(FIXTURES / "dialogue.openloom", tmp_path / "i.openloom.json")
    value = json.loads((tmp_path / "i.openloom.json").read_text("utf-8"))
    del value["nodes"][gone]
    texts = {key: node["text"] for key, node in value["nodes"].items()}
    (tmp_path / "i.openloom.json").write_text(json.dumps(value), "utf-8")
    report = Report()
    convert(tmp_path / "i.openloom.json", tmp_path / "out.json", target_format=target, report=report)
    tree = load(tmp_path / "out.json").trees[0]
    assert set(tree.nodes) == set(texts)
    assert tree.roots
    reached = {tree.nodes.ids[ordinal] for ordinal in tree.graph.walk(tree.root_ordinals)}
    assert reached == set(texts)
    if any(node.get("parentId") == gone for node in value["nodes"].values()):
        assert report.codes["repair.missing-parent"] >= 1


def test_a_forged_record_of_edges_loses_nothing(tmp_path: Path) -> None:
    for record in ({"edges": {"form": 0}}, {"edges": {"list": [1, {}, "a"]}}, {"edges": 5}, {"absent": []}):
        value = document(extensions={"loomconv": record})
        text, _ = written(value, tmp_path, "socketteer")
        assert '"A"' in text


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize(
    "tree",
    [
        {"rootNodeIds": ["gone"]},
        {"rootNodeIds": ["gone"], "nodes": {}},
        {"nodes": {"a": {"id": "a", "content": [{"type": [1], "text": "x"}], "author": {"role": "human"}}}},
        {"nodes": {"a": {"id": "a", "content": [{"text": "x"}], "author": {"role": "human"}}}},
        {"nodes": {"a": {"id": "a", "content": 5, "author": {"role": {}}, "extensions": 4}}},
        {"extensions": {"loomconv": {"document": {"fields": 5}}}},
        {"extensions": {"loomconv": {"document": {"fields": {"trees": 1}, "keys": 3}, "part": {"index": "x"}}}},
        {"extensions": {"loomconv": {"residue": 5, "written": []}}},
        {"extensions": {"loomconv": {"residue": {"nodes": 1, "edges": 2}, "written": {}, "nodes": [{"position": 0}]}}},
        {"extensions": {"loomconv": 7, "socketteer-loom": {"root": 5, "nodesLack": 3}, "openloom-1": [1]}},
    ],
)
def test_damaged_and_forged_trees_are_mended(tree: dict[str, Any], target: str, tmp_path: Path) -> None:
    text, _ = written(document(**tree), tmp_path, target)
    json.loads(text)


def test_a_forged_record_of_layouts_is_left_alone(tmp_path: Path) -> None:
    value = {**document(), "extensions": {"loomconv": {"layouts": {"socketteer": "x", "openloom-1": {"indent": []}}}}}
    for target in FORMATS:
        json.loads(written(value, tmp_path, target)[0])


def test_further_trees_never_replace_a_stranger(tmp_path: Path) -> None:
    (tmp_path / "y-2.json").write_text("precious")
    with pytest.raises(UsageFault, match="where a file is already"):
        convert(FIXTURES / "several-trees.openloom", tmp_path / "y.json", target_format="socketteer")
    assert (tmp_path / "y-2.json").read_text() == "precious"
    assert not (tmp_path / "y.json").exists()


def test_a_broken_companion_is_as_good_as_none(tmp_path: Path) -> None:
    convert(FIXTURES / "several-trees.openloom", tmp_path / "x.json", target_format="socketteer")
    (tmp_path / "x-2.json").write_text("{")
    report = Report()
    assert len(load(tmp_path / "x.json", report=report).trees) == 1
    assert [each.severity for each in report.findings if each.code == "restore.missing"] == ["warning"]


@pytest.mark.parametrize(
    "extensions",
    [
        {"a": {"generation": {"apiKey": FAKE}}},
        {"a": {"rawResponse": [{"x": FAKE}]}},
        {"a": {"x": f" {FAKE} "}},
        {"a": {FAKE: True}},
        {"a": [[{"Password": "open sesame FAKE"}]]},
    ],
)
def test_secrets_hide_nowhere_in_extensions(extensions: dict[str, Any], tmp_path: Path) -> None:
    for where in ("document", "tree", "node"):
        value = document()
        holder = {"document": value, "tree": value["trees"][0], "node": value["trees"][0]["nodes"]["a"]}[where]
        holder["extensions"] = extensions
        for target in FORMATS:
            text, report = written(value, tmp_path, target)
            assert "FAKE" not in text
            assert "FAKE" not in json.dumps(report.to_json())
            assert report.codes["privacy.secret-dropped"] == 1


def test_set_aside_data_that_cannot_return_is_withheld_too(tmp_path: Path) -> None:
    value = document()
    value["trees"][0]["nodes"]["a"]["generation"] = {"rawResponse": {"bodyHash": "sha256:1", "body": "PRIVATE-RAW"}}
    text, _ = written(value, tmp_path, "openloom-1")
    assert "PRIVATE-RAW" in text
    damaged = tmp_path / "damaged.openloom.json"
    damaged.write_text(text.replace('"written"', '"writen"'), "utf-8")
    for target in FORMATS:
        options = ConversionOptions(without=frozenset({"private"}))
        convert(damaged, tmp_path / "o", target_format=target, options=options)
        assert "PRIVATE-RAW" not in (tmp_path / "o").read_text("utf-8")


def test_a_deep_tree_comes_home_without_a_trace(tmp_path: Path) -> None:
    ids = [f"n{number}" for number in range(1200)]
    content = [{"type": "text", "text": "x"}]
    nodes = {each: {"id": each, "content": content, "author": {"role": "human"}} for each in ids}
    edges = [
        {"type": "continuation", "sources": [{"nodeId": above}], "targetNodeId": below}
        for above, below in pairwise(ids)
    ]
    source = tmp_path / "deep.openloom"
    source.write_text(json.dumps(document(rootNodeIds=["n0"], nodes=nodes, edges=edges)), "utf-8")
    for via in ("socketteer", "openloom-1"):
        assert list(round_trip(str(source), [via]).differences) == []


def test_every_prefix_of_a_file_is_read_or_refused_in_words() -> None:
    for name in ("dialogue.openloom", "full.openloom"):
        data = (FIXTURES / name).read_bytes()
        for end in range(1, len(data), 211):
            try:
                load(data[:end])
            except PluginFault:
                raise
            except LoomconvError as error:
                assert str(error)


@pytest.mark.parametrize("target", sorted(default_registry().formats))
@pytest.mark.parametrize("what", ["no nodes", "title of the mark"])
def test_what_was_written_is_recognised_again(target: str, what: str, tmp_path: Path) -> None:
    nodes = {} if what == "no nodes" else {"a": node("a", "x")}
    tree = {"id": "t", "title": "open-loom", "rootNodeIds": list(nodes), "nodes": nodes, "edges": []}
    source = tmp_path / "a.openloom"
    source.write_text(json.dumps({"format": "open-loom", "version": "2.0", "trees": [tree]}), encoding="utf-8")
    suffix = {"aspen-grove": ".json", "loom-write-log": ".loom.jsonl"}.get(target, ".x")
    convert(source, tmp_path / f"b{suffix}", target_format=target)
    assert detect(tmp_path / f"b{suffix}").format == target
    convert(tmp_path / f"b{suffix}", tmp_path / "c.openloom")
    assert [each.fields["title"] for each in load(tmp_path / "c.openloom").trees] == ["open-loom"]
