"""Small looms as plain OpenLoom 2.0 values, for tests."""

from __future__ import annotations

from typing import Any

__all__ = ["chain", "link", "loom", "node", "note_edge", "star"]


def node(node_id: str, text: str = "", role: str = "human", **more: Any) -> dict[str, Any]:
    """A plain node with one text block; `more` are further keys of it, or others instead."""
    return {"id": node_id, "content": [{"type": "text", "text": text}], "author": {"role": role}, **more}


def link(parent: str, child: str, **more: Any) -> dict[str, Any]:
    """A plain edge without an id."""
    source = {"nodeId": parent, "role": "primary"}
    return {"type": "continuation", "sources": [source], "targetNodeId": child, **more}


def note_edge(source: str, target: str, **more: Any) -> dict[str, Any]:
    """An annotation."""
    return {**link(source, target), "type": "annotation", **more}


def loom(*nodes: dict[str, Any], edges: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document of one tree, whose root is the first node; `fields` are further fields of the tree."""
    tree = {"id": "t", "title": "", "mode": "buffer", "rootNodeIds": [nodes[0]["id"]], **fields}
    tree |= {"nodes": {each["id"]: each for each in nodes}, "edges": edges or []}
    return {"format": "open-loom", "version": "2.0", "trees": [tree]}


def chain(length: int) -> dict[str, Any]:
    """A document of so many nodes, each the only child of the one before."""
    nodes = [node(f"n{number}", f"step {number}. ") for number in range(length)]
    return loom(*nodes, edges=[link(f"n{number - 1}", f"n{number}") for number in range(1, length)])


def star(width: int) -> dict[str, Any]:
    """A document of one root with so many children."""
    nodes = [node("n0", "root"), *(node(f"n{number}", f"branch {number}. ", "model") for number in range(1, width + 1))]
    return loom(*nodes, edges=[link("n0", f"n{number}") for number in range(1, width + 1)])
