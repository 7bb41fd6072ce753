"""Documents of our own making: builders, plain values to compare, and how hard property tests try."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import HealthCheck, settings

from loomconv import jsontext
from loomconv.model import Document, Tree, TreeBuilder
from loomconv.testing.looms import link, node, note_edge
from loomconv.testing.strategies import JUNK, TIMES, VALUES, damaged, documents, trees

__all__ = [
    "JUNK",
    "TIMES",
    "VALUES",
    "as_json",
    "damaged",
    "document_from",
    "document_of",
    "documents",
    "examples",
    "link",
    "node",
    "note_edge",
    "spelled",
    "tree_json",
    "tree_of",
    "trees",
]

# `LOOMCONV_TEST_EFFORT=20` is for a long evening.
_EFFORT = float(os.environ.get("LOOMCONV_TEST_EFFORT", "1"))


def examples(count: int) -> settings:
    """Settings of a property test that looks at about so many examples."""
    return settings(
        max_examples=max(1, int(count * _EFFORT)), deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


def tree_of(nodes: Iterable[dict[str, Any]] | Mapping[str, Any] = (), edges: Iterable[Any] = (), **fields: Any) -> Tree:
    """A tree of decoded nodes and edges; id and title are filled in, roots are not."""
    builder = TreeBuilder({"id": "t", "title": "T", **fields})
    items = nodes.items() if isinstance(nodes, Mapping) else ((each["id"], each) for each in nodes)
    for node_id, value in items:
        builder.add_node(node_id, value)
    for edge in edges:
        builder.append_edge(edge)
    return builder.build()


def document_of(*trees: Tree, **fields: Any) -> Document:
    """A document around trees."""
    return Document({"format": "open-loom", "version": "2.0", **fields}, list(trees))


def document_from(value: Mapping[str, Any]) -> Document:
    """The document that an OpenLoom object describes, as it is: nothing is examined or repaired."""
    trees = []
    for tree in value["trees"]:
        fields = {key: item for key, item in tree.items() if key not in ("nodes", "edges")}
        builder = TreeBuilder(fields)
        for node_id, each in tree["nodes"].items():
            builder.add_node(node_id, each)
        for edge in tree["edges"]:
            builder.append_edge(edge)
        trees.append(builder.build())
    return Document({key: item for key, item in value.items() if key != "trees"}, trees)


def tree_json(tree: Tree) -> dict[str, Any]:
    """A tree as an OpenLoom object."""
    return {**tree.fields, "nodes": dict(tree.nodes.items()), "edges": list(tree.edges)}


def as_json(document: Document) -> dict[str, Any]:
    """A document as an OpenLoom object."""
    return {**document.fields, "trees": [tree_json(tree) for tree in document.trees]}


def spelled(value: Any) -> bytes:
    """JSON text with sorted keys, to compare values without allowances: 1, 1.0 and true differ."""
    return jsontext.encode(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
