"""The quick ways of a projection say the same as the careful ones."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.model.graph import Graph
from loomconv.model.times import format_ms, parse_iso, to_ms
from loomconv.project import edges as packing
from loomconv.project import residue
from loomconv.project.nodes import STEPS, Fit, fitted_time, relevant_steps
from loomconv.project.projection import project_document
from loomconv.registry import default_registry
from loomconv.report import Report
from tests.made import TIMES, VALUES, as_json, document_from, document_of, documents, examples, link, node, tree_of


@examples(60)
@given(documents(), st.sampled_from(sorted(default_registry().formats)))
def test_steps_that_are_left_out_would_do_nothing(value: dict[str, Any], name: str) -> None:
    capabilities = default_registry().formats[name].capabilities
    for tree in value["trees"]:
        for each in tree["nodes"].values():
            known = {key: item for key, item in each.items() if item is not None}
            for step in set(STEPS) - set(relevant_steps(tuple(known), capabilities)):
                fit = Fit(capabilities, "", [])
                assert not step(known, fit)
                assert not fit.losses


@examples(100)
@given(st.one_of(VALUES, st.text(), st.dictionaries(st.text(), st.text())))
def test_the_digest_of_a_plain_value_is_the_general_one(value: Any) -> None:
    if value is not None:
        general = hashlib.sha256(jsontext.encode(residue._sorted(value, 8))).hexdigest()[:16]
        assert residue.digest(value) == general


@examples(200)
@given(
    st.one_of(
        TIMES,
        st.from_regex(
            r"(000[01]|1969|9999)-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,4})?(Z|\+01:00)?", fullmatch=True
        ),
    ),
    st.sampled_from(["second", "millisecond"]),
)
def test_a_time_is_fitted_as_its_moment_is(text: str, unit: str) -> None:
    parsed, milliseconds = parse_iso(text), to_ms(text)
    if parsed is None or milliseconds is None:
        assert fitted_time(text, unit) == (None, False)
    else:
        whole = milliseconds - milliseconds % 1000 if unit == "second" else milliseconds
        assert fitted_time(text, unit) == (format_ms(whole), whole == milliseconds and not parsed[1])


@examples(60)
@given(documents())
def test_edges_that_are_plain_already_are_those_of_a_strict_tree(value: dict[str, Any]) -> None:
    for tree in document_from(value).trees:
        quick = packing.simple_edges(tree)
        plain = [
            link(tree.nodes.ids[tree.graph.parent[target]], tree.nodes.ids[target])
            for position, target in enumerate(tree.edges.targets)
            if tree.edges.kinds[position] == 0
            and tree.edges.parents[position] == tree.graph.parent[target]
            and not any(
                tree.edges.targets[before] == target and tree.edges.kinds[before] == 0 for before in range(position)
            )
        ]
        assert [{key: item for key, item in edge.items() if key != "id"} for edge in quick] == plain
        shared = tree.with_edges(quick)
        assert list(shared.graph.parent) == list(Graph(quick).parent)
        assert list(shared.graph.links()) == list(Graph(quick).links())
        assert list(shared.graph.incoming) == list(Graph(quick).incoming)


@pytest.mark.parametrize("limit", [None, 0, 3, 100])
def test_losses_beyond_the_limit_are_counted_all_the_same(limit: int | None) -> None:
    nodes = [node(f"n{number}") for number in range(12)]
    edges = [link(f"n{number - 1}", f"n{number}", id=f"own{number}") for number in range(1, 12)]
    document = document_of(tree_of(nodes, edges, rootNodeIds=["n0"]))
    report = Report(limit=limit)
    project_document(document, default_registry().format("openloom-1").capabilities, report)
    kept = [finding for finding in report.findings if finding.code == "loss.edge-detail"]
    assert report.codes["loss.edge-detail"] == 11
    assert sum(report.severities.values()) == sum(report.codes.values())
    assert [finding.pointer for finding in kept] == [f"/edges/{position}" for position in range(11)][:limit]


def test_a_tree_over_other_nodes_keeps_its_graph() -> None:
    tree = tree_of([node("a"), node("b")], [link("a", "b")])
    graph = tree.graph
    over = tree.over(tree.nodes.transformed(lambda node_id, each: each))
    assert over.graph is graph
    over.edges.add(1, 0)
    assert over.graph is not graph
    assert as_json(document_of(tree))["trees"][0]["edges"] == as_json(document_of(over))["trees"][0]["edges"]
