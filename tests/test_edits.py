"""Edited in any format on the way, every fixture comes home with exactly the edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.api import convert, load
from loomconv.cli.program import program
from loomconv.edits import Edit, unexpected_changes
from loomconv.roundtrip import round_trip
from tests.made import document_of, documents, examples, link, node, note_edge, tree_of
from tests.test_matrix import FORMATS, PAIRS, _is_clean

FIXTURES = Path(__file__).parents[1] / "fixtures"
# The models stand in a file beside it, which stays at home.
EXCEPTIONS = {"socketteer/with-sidecar/tree.json"}


# One pair of three in the ordinary suite, all of them among the slow tests.
SOME = [pytest.param(*pair, marks=() if number % 3 == 0 else pytest.mark.slow) for number, pair in enumerate(PAIRS)]


@pytest.mark.parametrize(("name", "path", "via"), SOME, ids=[f"{path}-{via}" for _, path, via in PAIRS])
def test_exactly_the_edits_come_home(name: str, path: str, via: str) -> None:
    if path in EXCEPTIONS or not _is_clean(FIXTURES / path):
        return
    trip = round_trip(FIXTURES / path, [via], edit=1)
    assert trip.unexpected == []
    assert trip.as_expected


@given(documents(), st.sampled_from(FORMATS), st.integers(0, 99))
@examples(40)
def test_exactly_the_edits_come_home_of_any_document(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], via: str, seed: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.openloom"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    assert round_trip(path, [via], edit=seed).unexpected == []


def test_a_source_that_was_moved_below_its_target_is_no_source_any_more(tmp_path: Path) -> None:
    nodes = [node(each) for each in ("r", "b", "a", "10", "2")]
    sources = [{"nodeId": "10", "role": "context"}, {"nodeId": "r"}, {"nodeId": "r"}]
    edges = [{**link("r", "2"), "sources": sources}, link("r", "10")]
    tree = {"id": "t0", "title": "", "rootNodeIds": ["r", "b", "a"], "nodes": {each["id"]: each for each in nodes}}
    path = tmp_path / "a.openloom"
    value = {"format": "open-loom", "version": "2.0", "trees": [{**tree, "edges": edges}]}
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    trip = round_trip(path, ["miniloom"], edit=0)
    assert ("moved", "10", "2") in {(each.kind, each.node, each.parent) for each in trip.edits or ()}
    assert trip.unexpected == []
    told = [each for each in trip.steps[-1].findings if each.code == "restore.edited" and each.node == "2"]
    assert [each.value for each in told] == [["10", "r", "r"]]
    assert "repair.cycle" not in trip.steps[-1].codes


def test_a_moved_node_hangs_on_its_new_parent_whatever_further_parents_it_has(tmp_path: Path) -> None:
    nodes = [node(each) for each in ("r", "b", "a", "10")]
    edges = [link("r", "a"), {**link("r", "b"), "sources": [{"nodeId": "r"}, {"nodeId": "r"}]}, link("r", "b")]
    tree = {"id": "t0", "title": "", "rootNodeIds": ["r"], "nodes": {each["id"]: each for each in nodes}}
    value = {"format": "open-loom", "version": "2.0", "trees": [{**tree, "edges": [*edges, link("a", "10")]}]}
    path, there = tmp_path / "a.openloom", tmp_path / "b.json"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    convert(path, there, target_format="openloom-1")
    moved = jsontext.load(there.read_bytes()).value
    moved["nodes"]["r"]["childrenIds"].remove("b")
    moved["nodes"]["a"]["childrenIds"].append("b")
    moved["nodes"]["b"]["parentId"] = "a"
    there.write_bytes(jsontext.encode(moved))
    (home,) = load(there).trees
    assert home.graph.parent_of("b") == "a"
    assert [edge["sources"][0]["nodeId"] for edge in home.edges if edge["targetNodeId"] == "b"] == ["a", "r"]


def test_a_moved_node_may_stand_elsewhere_among_the_children_of_a_further_parent() -> None:
    nodes = [node("r"), node("a"), node("b")]
    before = document_of(tree_of(nodes, [link("b", "a"), link("r", "a"), link("r", "b")], rootNodeIds=["r"]))
    after = document_of(tree_of(nodes, [link("r", "b"), link("b", "a"), link("r", "a")], rootNodeIds=["r"]))
    assert unexpected_changes(before, after, [Edit("moved", "a", parent="b")])[0].what == "edit that was lost"
    assert [each.kind for each in unexpected_changes(before, after, [])] == ["reordered"]


def test_a_note_goes_with_what_it_is_about() -> None:
    nodes = [node("a"), node("b"), node("n", "a note")]
    before = document_of(tree_of(nodes, [link("a", "b"), note_edge("b", "n")], rootNodeIds=["a"]))
    after = document_of(tree_of(nodes[:1], [], rootNodeIds=["a"]))
    assert unexpected_changes(before, after, [Edit("removed", "b")]) == []
    assert {each.node for each in unexpected_changes(before, after, [])} == {"b", "n"}


def test_edits_are_made() -> None:
    kinds = {
        edit.kind
        for seed in range(6)
        for edit in round_trip(FIXTURES / "openloom-2" / "dialogue.openloom", ["miniloom"], edit=seed).edits or ()
    }
    assert kinds == {"edited", "added", "removed", "moved"}


def test_what_is_not_as_it_should_be_is_told() -> None:
    nodes = [node("a", "one"), node("b", "two"), node("c", "three")]
    before = document_of(tree_of(nodes, [link("a", "b"), link("a", "c")], rootNodeIds=["a"]))
    after = document_of(tree_of([nodes[0], node("b", "TWO")], [link("a", "b")], rootNodeIds=["a"]))
    edits = [Edit("edited", "b", text="TWO"), Edit("moved", "c", parent="b"), Edit("added", "d", text="x", parent="a")]
    found = {(each.kind, each.node) for each in unexpected_changes(before, after, edits)}
    assert found == {("removed", "c"), ("moved", "c"), ("added", "d")}
    assert unexpected_changes(before, after, [Edit("edited", "b", text="else"), Edit("removed", "c")])
    assert not unexpected_changes(before, after, [Edit("edited", "b", text="TWO"), Edit("removed", "c")])


def test_the_command_says_what_was_edited() -> None:
    arguments = ["roundtrip", str(FIXTURES / "openloom-2" / "dialogue.openloom"), "--via", "socketteer", "--edit", "3"]
    done = CliRunner().invoke(program, arguments, standalone_mode=False)
    assert done.return_value == 0
    assert "4 edits came home, and nothing else" in done.output
    json_too = CliRunner().invoke(program, [*arguments, "--json"], standalone_mode=False)
    value = jsontext.decode(json_too.output.encode())
    assert (len(value["edits"]), value["unexpected"]) == (4, [])
