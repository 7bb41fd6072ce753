"""What became of a loom: each kind of change is found, and nothing else is."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given

from loomconv.api import convert
from loomconv.cli.program import program
from loomconv.difference import compare_looms
from tests.made import document_from, document_of, documents, examples, link, node, note_edge, tree_of

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _value() -> dict[str, Any]:
    nodes = {key: node(key, f"text {key}") for key in ("r", "a", "b", "c", "d")}
    edges = [link("r", "a"), link("r", "b"), link("a", "c"), link("b", "d")]
    tree = {"id": "t", "title": "T", "rootNodeIds": ["r"], "currentNodeId": "c", "nodes": nodes, "edges": edges}
    return {"format": "open-loom", "version": "2.0", "trees": [tree]}


def _changes(change: Any) -> list[tuple[str, str | None, str]]:
    before, after = _value(), copy.deepcopy(_value())
    change(after["trees"][0], after)
    found = compare_looms(document_from(before), document_from(after))
    return [(each.kind, each.node, each.what) for each in found.changes]


@given(documents())
@examples(60)
def test_a_loom_does_not_differ_from_itself(value: dict[str, Any]) -> None:
    assert compare_looms(document_from(value), document_from(copy.deepcopy(value))).changes == []


def test_every_kind_of_change() -> None:
    def text(tree: Any, document: Any) -> None:
        tree["nodes"]["c"]["content"][0]["text"] = "edited"

    def add(tree: Any, document: Any) -> None:
        tree["nodes"]["new"] = node("new", "new")
        tree["edges"].append(link("c", "new"))

    def remove(tree: Any, document: Any) -> None:
        del tree["nodes"]["d"]
        tree["edges"].pop()

    def move(tree: Any, document: Any) -> None:
        tree["edges"][2] = link("b", "c")

    def order(tree: Any, document: Any) -> None:
        tree["edges"][:2] = reversed(tree["edges"][:2])

    def rate(tree: Any, document: Any) -> None:
        tree["nodes"]["a"]["meta"] = {"rating": 1}

    def title(tree: Any, document: Any) -> None:
        tree["title"], document["agents"] = "New", {"x": {"name": "X", "type": "human"}}

    def source(tree: Any, document: Any) -> None:
        tree["edges"][3]["sources"].append({"nodeId": "a", "role": "context"})
        tree["edges"].append(note_edge("a", "d"))

    def go(tree: Any, document: Any) -> None:
        tree["currentNodeId"] = "d"

    assert _changes(text) == [("edited", "c", "text")]
    assert _changes(add) == [("added", "new", "node")]
    assert _changes(remove) == [("removed", "d", "node")]
    assert _changes(move) == [("moved", "c", "parent")]
    assert _changes(order) == [("reordered", "r", "children")]
    assert _changes(rate) == [("changed", "a", "meta")]
    assert _changes(title) == [("changed", None, "agents"), ("changed", None, "title")]
    assert _changes(source) == [("linked", "d", "link"), ("linked", "d", "link")]
    assert _changes(go) == [("changed", None, "currentNodeId")]


def test_other_ids_are_no_difference() -> None:
    def rename(tree: Any, document: Any) -> None:
        text = json.dumps(tree)
        for key in "rabcd":
            text = text.replace(f'"{key}"', f'"other-{key}"')
        tree.update(json.loads(text))

    assert _changes(rename) == []


def test_an_edited_node_with_another_id_is_still_the_same() -> None:
    before = document_of(tree_of([node("a", "one"), node("b", "two")], [link("a", "b")], rootNodeIds=["a"]))
    after = document_of(tree_of([node("x", "one"), node("y", "TWO")], [link("x", "y")], rootNodeIds=["x"]))
    (change,) = compare_looms(before, after).changes
    assert (change.kind, change.node, change.other) == ("edited", "b", "y")
    assert change.text_lines == ["@@ -1 +1 @@", "-two", "+TWO"]


def test_no_node_is_matched_twice() -> None:
    before = document_of(tree_of([node("a", "1"), node("b", "2")], [link("a", "b")], rootNodeIds=["a"]))
    after = document_of(tree_of([node("x", "9")], rootNodeIds=["x"]))
    found = compare_looms(before, after)
    assert len(set(found.matched[0].values())) == len(found.matched[0])
    assert found.counts["removed"] == 1


def test_trees_come_and_go() -> None:
    one, two = tree_of([node("a")], id="one"), tree_of([node("a")], id="two")
    found = compare_looms(document_of(one, two), document_of(two))
    assert [(each.kind, each.tree) for each in found.changes] == [("removed", "one")]
    assert [each.kind for each in compare_looms(document_of(two), document_of(one, two)).changes] == ["added"]


@pytest.mark.parametrize("target", ["socketteer", "openloom-1", "miniloom", "aspen-grove", "loom-write-log"])
def test_a_conversion_makes_no_difference(target: str, tmp_path: Path) -> None:
    source = FIXTURES / "openloom-2" / "hyperedges.openloom"
    convert(source, tmp_path / "a.x", target_format=target)
    done = CliRunner().invoke(
        program, ["diff", str(source), str(tmp_path / "a.x"), "--from-b", target], standalone_mode=False
    )
    assert (done.return_value, done.output) == (0, "no difference\n")


def test_the_command_shows_texts_and_ends_with_one() -> None:
    files = [str(FIXTURES / "openloom-2" / name) for name in ("dialogue.openloom", "buffer.openloom")]
    done = CliRunner().invoke(program, ["diff", *files], standalone_mode=False)
    assert done.return_value == 1
    assert "  edited    node " in done.output
    assert "      -" in done.output
    value = json.loads(CliRunner().invoke(program, ["diff", *files, "--json"], standalone_mode=False).output)
    assert value["counts"] == {kind: sum(each["kind"] == kind for each in value["changes"]) for kind in value["counts"]}
    assert CliRunner().invoke(program, ["diff", "-", "-"]).exit_code != 0


def test_wide_and_deep_looms_are_compared_in_one_pass() -> None:
    count = 20_000
    nodes = [node(f"n{number}", str(number)) for number in range(count)]
    chain = [link(f"n{number}", f"n{number + 1}") for number in range(count - 1)]
    star = [link("n0", f"n{number}") for number in range(1, count)]
    for edges in (chain, star):
        document = document_of(tree_of(nodes, edges, rootNodeIds=["n0"]))
        renamed = [{**each, "id": f"x{each['id']}"} for each in nodes]
        others = [link(f"x{each['sources'][0]['nodeId']}", f"x{each['targetNodeId']}") for each in edges]
        other = document_of(tree_of(renamed, others, rootNodeIds=["xn0"]))
        assert compare_looms(document, other).changes == []


def test_a_second_link_to_the_same_parent_is_no_order() -> None:
    nodes = [node("r"), node("a"), node("b")]
    twice = document_of(tree_of(nodes, [link("r", "a"), link("r", "b"), link("r", "a")], rootNodeIds=["r"]))
    once = document_of(tree_of(nodes, [link("r", "a"), link("r", "b")], rootNodeIds=["r"]))
    assert "reordered" not in compare_looms(twice, once).counts


def test_a_second_link_to_the_same_parent_is_a_link() -> None:
    second = {**link("r", "a"), "sources": [{"nodeId": "r", "role": "context"}]}
    nodes = [node("r"), node("a"), node("b")]
    before = document_of(tree_of(nodes, [link("r", "b"), link("r", "a"), second], rootNodeIds=["r"]))
    after = document_of(tree_of(nodes, [link("r", "b"), link("b", "a"), second], rootNodeIds=["r"]))
    assert [(each.kind, each.node) for each in compare_looms(before, after).changes] == [("moved", "a")]
    without = document_of(tree_of(nodes, [link("r", "b"), link("r", "a")], rootNodeIds=["r"]))
    assert [(each.kind, each.node) for each in compare_looms(before, without).changes] == [("linked", "a")]
