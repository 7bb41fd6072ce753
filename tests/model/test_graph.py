"""Topology against a naive model that knows nothing of arrays."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given

from loomconv.model import EdgeTable, Graph, NodeIndex, Tree, primary_source
from tests.made import examples, link, node, note_edge, tree_of, trees

SETTINGS = examples(30)


class Naive:
    """Topology read off decoded edges, in the obvious way."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.ids = list(value["nodes"])
        self.edges = [edge for edge in value["edges"] if edge["type"] == "continuation"]

    def parent(self, node_id: str) -> str | None:
        into = [edge for edge in self.edges if edge["targetNodeId"] == node_id]
        return primary_source(into[0]) if into else None

    def children(self, node_id: str) -> list[str]:
        return [
            edge["targetNodeId"] for edge in self.edges if node_id in [source["nodeId"] for source in edge["sources"]]
        ]

    def roots(self) -> list[str]:
        targets = {edge["targetNodeId"] for edge in self.edges}
        return [each for each in self.ids if each not in targets]

    def path(self, node_id: str) -> list[str]:
        path = [node_id]
        while (above := self.parent(path[0])) is not None:
            path.insert(0, above)
        return path


def built(value: dict[str, Any]) -> Tree:
    return tree_of(value["nodes"], value["edges"], rootNodeIds=value["rootNodeIds"])


@SETTINGS
@given(trees())
def test_agrees_with_the_naive_model(value: dict[str, Any]) -> None:
    """OL2-4.4-strictparent, OL2-4.1-roots, OL2-4.2-keep, A31."""
    naive, tree = Naive(value), built(value)
    graph, ids = tree.graph, tree.nodes.ids
    assert [ids[root] for root in graph.roots()] == naive.roots()
    for ordinal, node_id in enumerate(ids):
        assert graph.parent_of(node_id) == naive.parent(node_id)
        assert graph.children_of(node_id) == naive.children(node_id)
        assert graph.child_count(ordinal) == len(naive.children(node_id))
        assert graph.path_to(node_id) == naive.path(node_id)
        assert graph.incoming[ordinal] == sum(edge["targetNodeId"] == node_id for edge in naive.edges)


@SETTINGS
@given(trees())
def test_walk_visits_each_node_once_and_parents_first(value: dict[str, Any]) -> None:
    tree = built(value)
    graph = tree.graph
    order = list(graph.walk(graph.roots()))
    assert sorted(order) == list(range(len(tree.nodes)))
    reached: set[int] = set()
    for ordinal in order:
        above = {position for position in range(len(tree.nodes)) if ordinal in graph.children(position)}
        assert not above or above & reached, "a node came before all of its parents"
        reached.add(ordinal)


@SETTINGS
@given(trees())
def test_depth_is_the_length_of_the_path(value: dict[str, Any]) -> None:
    tree = built(value)
    depths = tree.graph.depths(tree.graph.roots())
    assert list(depths) == [len(tree.graph.path(ordinal)) for ordinal in range(len(tree.nodes))]


@SETTINGS
@given(trees())
def test_links_are_all_children(value: dict[str, Any]) -> None:
    tree = built(value)
    every = [child for ordinal in range(len(tree.nodes)) for child in tree.graph.children(ordinal)]
    assert sorted(tree.graph.links()) == sorted(every)


def test_a_child_of_several_sources_counts_under_each_a31() -> None:
    """A31: at the edge's own position among the other children."""
    both = {**link("a", "c"), "sources": [{"nodeId": "a"}, {"nodeId": "b", "role": "context"}]}
    tree = tree_of(map(node, "abcdef"), [link("b", "d"), both, link("b", "e"), link("a", "f")])
    assert tree.graph.children_of("a") == ["c", "f"]
    assert tree.graph.children_of("b") == ["d", "c", "e"]
    assert tree.graph.parent_of("c") == "a"


def test_a_source_named_twice_in_one_edge_counts_once() -> None:
    twice = {**link("a", "b"), "sources": [{"nodeId": "a"}, {"nodeId": "a", "role": "context"}]}
    tree = tree_of(map(node, "ab"), [twice])
    assert tree.graph.children_of("a") == ["b"]


def test_annotations_and_unknown_types_are_no_topology() -> None:
    """OL2-4.4-type-unknown."""
    tree = tree_of(map(node, "abc"), [note_edge("a", "b"), {**link("a", "c"), "type": "quotes"}])
    assert tree.graph.children_of("a") == []
    assert tree.graph.roots() == [0, 1, 2]


def test_a_ring_neither_hangs_nor_is_reached() -> None:
    tree = tree_of(map(node, "rabs"), [link("a", "b"), link("b", "a"), link("s", "s")])
    graph = tree.graph
    assert list(graph.walk([0])) == [0]
    assert graph.path_to("b") == ["a", "b"]
    assert graph.path_to("s") == ["s"]
    assert list(graph.depths([0])) == [1, 0, 0, 0]
    assert list(graph.walk([1])) == [1, 2]


def test_nothing_at_all() -> None:
    graph = Tree({}).graph
    assert len(graph) == 0
    assert graph.roots() == []
    assert list(graph.walk([])) == []
    assert list(graph.depths([])) == []


def test_the_view_follows_changes_of_the_tree() -> None:
    tree = tree_of(map(node, "ab"), [link("a", "b")])
    before = tree.graph
    assert tree.graph is before
    tree.nodes["c"] = node("c")  # type: ignore[assignment]
    tree.edges.add(0, 2)
    assert tree.graph is not before
    assert tree.graph.children_of("a") == ["b", "c"]


COUNT = 100_000


def big_table(parents: list[int]) -> EdgeTable:
    nodes = NodeIndex()
    for ordinal in range(len(parents) + 1):
        nodes.add_block(str(ordinal), b"{}")
    table = EdgeTable(nodes)
    for child, parent in enumerate(parents, start=1):
        table.add(parent, child)
    return table


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_nodes_are_ordinary(shape: str) -> None:
    parents = list(range(COUNT)) if shape == "chain" else [0] * COUNT
    start = time.perf_counter()
    graph = Graph(big_table(parents))
    depths = graph.depths([0])
    walked = sum(1 for _ in graph.walk([0]))
    path = graph.path(COUNT)
    taken = time.perf_counter() - start
    assert walked == COUNT + 1
    assert max(depths) == (COUNT + 1 if shape == "chain" else 2)
    assert len(path) == max(depths)
    assert graph.child_count(0) == (1 if shape == "chain" else COUNT)
    assert list(graph.walk([0])) == list(range(COUNT + 1))
    # Linear work takes a small part of this; anything quadratic takes hours.
    assert taken < 10
