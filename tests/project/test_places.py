"""Files without ids: nodes are found again by place and content, and everything that was set aside comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from loomconv import api, jsontext
from loomconv.difference import compare_looms
from loomconv.model import Tree
from loomconv.project.places import places_of, with_former_ids
from loomconv.registry import Registry
from loomconv.report import Report
from loomconv.roundtrip import round_trip
from loomconv_plugins import openloom_2
from tests import outline
from tests.made import documents, examples, link, node, tree_of

REGISTRY = Registry([("openloom-2", openloom_2), ("outline", outline)])
FIXTURES = Path(__file__).parents[2] / "fixtures" / "openloom-2"


def renamed(tree: Tree, names: dict[str, str]) -> Tree:
    """The tree as a reader would give it that makes ids up."""
    nodes = [{**each, "id": names[key]} for key, each in tree.nodes.items()]
    edges = [
        {
            **edge,
            "sources": [{"nodeId": names[edge["sources"][0]["nodeId"]]}],
            "targetNodeId": names[edge["targetNodeId"]],
        }
        for edge in tree.edges
    ]
    fields = {**tree.fields, "rootNodeIds": [names[root] for root in tree.roots]}
    return tree_of(nodes, edges, **fields)


def small() -> Tree:
    """A root with three children of the same text, one of which goes on."""
    nodes = [node("a", "root"), *(node(each, "same") for each in "bcd"), node("e", "end")]
    return tree_of(nodes, [*(link("a", each) for each in "bcd"), link("c", "e")], rootNodeIds=["a"], currentNodeId="a")


NAMES = {"a": "m0", "b": "m1", "c": "m2", "d": "m3", "e": "m4"}


def back(tree: Tree, record: Any) -> tuple[list[str], list[tuple[str, str]]]:
    found = with_former_ids(tree, record)
    edges = [(edge["sources"][0]["nodeId"], edge["targetNodeId"]) for edge in found.edges]
    assert all(found.nodes[key]["id"] == key for key in found.nodes.ids)
    return found.nodes.ids, edges


def test_equal_texts_are_told_apart_by_their_order() -> None:
    record = places_of(small())
    ids, edges = back(renamed(small(), NAMES), record)
    assert ids == ["a", "b", "c", "d", "e"]
    assert edges == [("a", "b"), ("a", "c"), ("a", "d"), ("c", "e")]


def test_a_tree_that_has_its_ids_is_left_as_it_is() -> None:
    tree = small()
    assert with_former_ids(tree, places_of(tree)) is tree


def test_an_edited_text_keeps_its_id_and_a_new_node_gets_one_of_its_own() -> None:
    record = places_of(small())
    tree = renamed(small(), NAMES)
    tree.nodes["m4"] = {**tree.nodes["m4"], "content": [{"type": "text", "text": "another end"}]}
    assert back(tree, record)[0][-1] == "e"
    nodes = [*tree.nodes.values(), node("b", "new, with an id that another one had")]
    grown = tree_of(nodes, [*tree.edges, link("m1", "b")], **tree.fields)
    ids, edges = back(grown, record)
    assert ids[:5] == ["a", "b", "c", "d", "e"] and ids[5] not in NAMES
    assert edges[-1] == ("b", ids[5])


def test_a_node_that_was_moved_is_found_by_what_it_says() -> None:
    record = places_of(small())
    tree = renamed(small(), NAMES)
    moved = tree_of(list(tree.nodes.values()), [*list(tree.edges)[:3], link("m3", "m4")], **tree.fields)
    assert back(moved, record)[1][-1] == ("d", "e")


@pytest.mark.parametrize(
    "record",
    [
        *(None, 5, {}, [5], [["a"]], [["a", 0, None]], [["a", -2, None]], [[5, -1, None]], [["a", -1, 5]]),
        [["a", -1, None], ["a", 0, None]],
        [["", -1, None]],
        [["a", True, None]],
    ],
)
def test_a_record_of_an_unknown_shape_is_passed_over(record: Any) -> None:
    tree = small()
    assert with_former_ids(tree, record) is tree


@pytest.mark.parametrize("name", ["full", "hyperedges", "annotations", "several-trees", "media", "numbers"])
def test_everything_comes_home_from_files_without_ids(name: str) -> None:
    trip = round_trip(FIXTURES / f"{name}.openloom", ["outline"], registry=REGISTRY)
    assert trip.differences == []


@given(documents(max_trees=1))
@examples(40)
def test_any_document_comes_home(tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("places") / "a.openloom"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    assert round_trip(path, ["outline"], registry=REGISTRY).differences == []


def test_an_edit_in_the_file_wins_and_all_else_returns(tmp_path: Path) -> None:
    source = FIXTURES / "dialogue.openloom"
    api.convert(source, tmp_path / "a.outline", registry=REGISTRY)
    text = (tmp_path / "a.outline").read_text()
    assert '"Oak."' in text
    (tmp_path / "a.outline").write_text(text.replace('"Oak."', '"An oak."'))
    report = Report()
    api.convert(tmp_path / "a.outline", tmp_path / "b.openloom", report=report, registry=REGISTRY)
    before, after = (api.load(path, registry=REGISTRY) for path in (source, tmp_path / "b.openloom"))
    (change,) = compare_looms(before, after, ids_only=True).changes
    assert (change.kind, change.before, change.after) == ("edited", "Oak.", "An oak.")


def test_a_large_tree_costs_no_more_than_its_nodes() -> None:
    count = 30_000
    nodes = [node(f"n{number}", "same") for number in range(count)]
    edges = [link("n0", f"n{number}") for number in range(1, count)]
    tree = tree_of(nodes, edges, rootNodeIds=["n0"])
    made = renamed(tree, {each["id"]: f"m{position}" for position, each in enumerate(nodes)})
    assert with_former_ids(made, places_of(tree)).nodes.ids == tree.nodes.ids
