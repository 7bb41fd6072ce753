"""Targets of our own making, and what a file of such a target is: exactly what its capabilities hold, and no more."""

from __future__ import annotations

import re
from typing import Any

from loomconv import jsontext
from loomconv.capabilities import Capabilities
from loomconv.model import Document, Tree, TreeBuilder
from loomconv.model.edges import CONTINUATION
from loomconv.model.record import NAMESPACE, extensions_of
from loomconv.model.times import format_ms, to_ms
from loomconv.project import project_document, restore_document
from loomconv.project.nodes import NODE_KEYS
from loomconv.report import Report

EVERYTHING: dict[str, Any] = {
    "trees": "many",
    "roots": "many",
    "parents": "many",
    "source_roles": "any",
    "edge_types": "any",
    "edge_details": True,
    "blocks": "any",
    "block_list": True,
    "media": ("inline", "bundle"),
    "roles": "any",
    "author_names": "any",
    "agents": True,
    "meta": "any",
    "generation": "any",
    "edit_lineage": True,
    "node_times": "exact",
    "tree_fields": "any",
    "tree_times": "exact",
    "modes": "any",
    "document_fields": "any",
    "unknown_keys": ("document", "tree", "node", "edge"),
}
STRICT = {
    **EVERYTHING,
    "parents": "one",
    "source_roles": ("primary",),
    "edge_types": ("continuation",),
    "edge_details": False,
}
HIDDEN: dict[str, Any] = {"unknown_keys": ("tree", "node")}

# Targets that keep and hide keys which they do not know: what they cannot hold comes back.
KEEPING: dict[str, Capabilities] = {
    "everything": Capabilities(**EVERYTHING),
    "strict tree": Capabilities(**STRICT),
    "strict tree, one root": Capabilities(**{**STRICT, "roots": "one"}),
    "one tree a file": Capabilities(**{**STRICT, "trees": "one", **HIDDEN, "document_fields": ()}),
    "text only": Capabilities(**{**STRICT, "blocks": ("text",), "block_list": False}),
    "text and pictures": Capabilities(**{**STRICT, "blocks": ("text", "image"), "block_list": False}),
    "no times": Capabilities(**{**STRICT, "node_times": "none", "tree_times": "none"}),
    "seconds": Capabilities(**{**STRICT, "node_times": "second", "tree_times": "second"}),
    "milliseconds": Capabilities(**{**STRICT, "node_times": "millisecond", "tree_times": "millisecond"}),
    "whole characters": Capabilities(**{**STRICT, "lone_surrogates": False, "nul": False}),
    "only people": Capabilities(**{**STRICT, "roles": ("human",), "agents": False}),
    "chat": Capabilities(
        roles=("human", "model", "system"),
        author_names=("human",),
        meta=("bookmarked", "rating", "tags"),
        generation=("model", "completionIndex"),
        node_times="millisecond",
        tree_fields=("id", "title", "currentNodeId", "createdAt", "mode"),
        tree_times="second",
        **HIDDEN,
    ),
    "poorest": Capabilities(tree_fields=("id",), **HIDDEN),
}
# The same targets, but whatever they do not know is gone.
FORGETTING: dict[str, Capabilities] = {
    name: Capabilities(**{**{key: getattr(each, key) for key in each.__slots__}, "unknown_keys": ()})
    for name, each in KEEPING.items()
}


def derived(tree: Tree) -> dict[str, Any]:
    """What a reader of a target without titles makes up."""
    return {"title": "", "mode": "dialogue"}


def through_file(document: Document, capabilities: Capabilities, made_up: dict[str, Any] | None = None) -> Document:
    """Write the document as text that holds what the capabilities say, and read it as the target's reader would."""
    kept = {
        key: value
        for key, value in document.fields.items()
        if key in ("format", "version")
        or (key == "extensions" and "document" in capabilities.unknown_keys)
        or (key != "extensions" and capabilities.holds(capabilities.document_fields, key))
    }
    fields = {"format": "open-loom", "version": "2.0", **jsontext.decode(jsontext.encode(kept))}
    return Document(fields, [_tree_through_file(tree, capabilities, made_up or {}) for tree in document.trees])


def _tree_through_file(tree: Tree, capabilities: Capabilities, made_up: dict[str, Any]) -> Tree:
    fields = dict(made_up)
    for key, value in tree.fields.items():
        if key == "extensions":
            if "tree" in capabilities.unknown_keys:
                fields[key] = value
        elif key in ("rootNodeIds", "id") or capabilities.holds(capabilities.tree_fields, key):
            fields[key] = value
    fields = jsontext.decode(jsontext.encode(fields))
    builder = TreeBuilder(fields)
    if capabilities.parents == "many":
        for node_id in tree.nodes:
            builder.add_node(node_id, jsontext.decode(tree.nodes.block(node_id)))
        for edge in tree.edges:
            builder.append_edge(edge)
        return builder.build()
    # A nested file: nodes in reading order, each below its parent.
    graph, ids = tree.graph, tree.nodes.ids
    for ordinal in graph.walk(tree.root_ordinals):
        node = jsontext.decode(tree.nodes.block(ids[ordinal]))
        if "node" not in capabilities.unknown_keys:
            node.pop("extensions", None)
        builder.add_node(ids[ordinal], node)
        for child in graph.children(ordinal):
            builder.add_edge(ids[ordinal], ids[child])
    return builder.build()


def there_and_back(document: Document, capabilities: Capabilities, *, made_up: bool = False) -> tuple[Document, Report]:
    """A document that went to a target and came back, and the report of the way home."""
    from loomconv.project.restoration import join_parts

    maker = derived if made_up else (lambda tree: {})
    parts = project_document(document, capabilities, Report(), derived=maker)
    returned = []
    report = Report()
    for part in parts:
        back = through_file(part, capabilities, derived(part.trees[0]) if made_up else None)
        restore_document(back, report)
        returned.append(back)
    return (returned[0] if len(returned) == 1 else join_parts(returned)), report


_SURROGATE = re.compile("[\ud800-\udfff]")


def assert_fits(document: Document, capabilities: Capabilities) -> None:
    """The document holds nothing that the capabilities do not."""
    if capabilities.trees == "one":
        assert len(document.trees) == 1
    for key in document.fields:
        if key == "extensions":
            assert "document" in capabilities.unknown_keys
        elif key not in ("format", "version"):
            assert capabilities.holds(capabilities.document_fields, key)
    for tree in document.trees:
        _tree_fits(tree, capabilities)
        for node_id, node in tree.nodes.items():
            _node_fits(node_id, node, capabilities)


def _tree_fits(tree: Tree, capabilities: Capabilities) -> None:
    if capabilities.roots == "one":
        assert len(tree.roots) <= 1
    if capabilities.parents == "one":
        assert all(count <= 1 for count in tree.graph.incoming)
        assert all(kind == CONTINUATION for kind in tree.edges.kinds)
        assert all(not form for form in tree.edges.forms)
        assert {tree.nodes.ids[root] for root in tree.graph.roots()} == set(tree.fields["rootNodeIds"])
        assert len(list(tree.graph.walk(tree.root_ordinals))) == len(tree.nodes), "a node cannot be reached"
    assert tree.fields.get("currentNodeId") is None or tree.fields["currentNodeId"] in tree.nodes
    for key, value in tree.fields.items():
        if key == "extensions":
            assert "tree" in capabilities.unknown_keys or not value.keys() - {NAMESPACE}
        elif key not in ("id", "rootNodeIds"):
            assert capabilities.holds(capabilities.tree_fields, key) or key in ("title", "mode")
        if key == "mode":
            assert capabilities.holds(capabilities.modes, value)
        if key in ("createdAt", "updatedAt"):
            _time_fits(value, capabilities.tree_times)


def _node_fits(node_id: str, node: Any, capabilities: Capabilities) -> None:
    assert node["id"] == node_id
    assert node.keys() <= NODE_KEYS or capabilities == KEEPING["everything"]
    for block in node["content"]:
        assert capabilities.holds(capabilities.blocks, block["type"])
        text = block.get("text", "")
        if isinstance(text, str):
            assert capabilities.nul or "\0" not in text
            assert capabilities.lone_surrogates or not _SURROGATE.search(text)
    if not capabilities.block_list:
        assert [block["type"] for block in node["content"]].count("text") == 1
        assert node["content"][0].keys() == {"type", "text"}
    author = node["author"]
    assert capabilities.holds(capabilities.roles, author["role"])
    if author.get("name") is not None:
        assert capabilities.holds(capabilities.author_names, author["role"])
    if not capabilities.agents:
        assert author.keys() <= {"role", "name"}
    _time_fits(node.get("createdAt"), capabilities.node_times)
    assert capabilities.edit_lineage or "editedFrom" not in node
    for key in ("meta", "generation"):
        names = getattr(capabilities, key)
        assert all(capabilities.holds(names, name) for name in node.get(key) or {})
    extensions = extensions_of(node)
    if "node" not in capabilities.unknown_keys:
        assert not extensions.keys() - {NAMESPACE}


def _time_fits(value: Any, unit: str) -> None:
    if value is None or unit == "exact":
        return
    assert unit != "none"
    milliseconds = to_ms(value)
    assert milliseconds is not None
    assert format_ms(milliseconds) == value
    assert unit == "millisecond" or milliseconds % 1000 == 0
