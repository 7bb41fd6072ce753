"""Writes looms of any size for measuring: valid files, the same bytes for the same arguments.

    python -m benchmarks.generate openloom-2 big.openloom --nodes 100000

Texts are streamed; memory grows by some 20 bytes a node.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.synthetic import Mix, Shape, SyntheticLoom

__all__ = ["FORMATS", "generate"]

_TITLE: Final = "Made up for measuring"
_REFERENCE_DATE: Final = 978_307_200
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_dumps_ascii = json.JSONEncoder(separators=(",", ":")).encode


def generate(
    path: Path, format: str, nodes: int, *, seed: int = 1, shape: Shape = "bushy", mix: Mix | None = None
) -> None:
    """Write one loom with as many nodes. `format` is a key of `FORMATS`; `shape` chain nests each node in the last.

    A nested file is indented as its app does it, but a chain is compact: its indentation would grow with the square
    of its depth.
    """
    depth, write = FORMATS[format]
    loom = SyntheticLoom(nodes, seed=seed, shape=shape, depth=depth, mix=mix)
    with path.open("w", encoding="utf-8", newline="", buffering=1 << 20) as file:
        file.writelines(write(loom, shape))


def _encode(value: Any) -> str:
    """Compact JSON as UTF-8 has it; half a character becomes its escape."""
    text = _dumps(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _dumps_ascii(value)
    return text


# -- OpenLoom 2.0 ------------------------------------------------------------------------------------------------------


def _openloom_2(loom: SyntheticLoom, _: Shape) -> Iterator[str]:
    last = loom.nodes - 1
    document = {"format": "open-loom", "version": "2.0", "exportedAt": loom.iso_time(last + 1)}
    tree: dict[str, Any] = {
        "id": loom.ulid(0, 7),
        "title": _TITLE,
        "mode": "dialogue",
        "rootNodeIds": [loom.ulid(0)],
        "currentNodeId": loom.ulid(last),
        "createdAt": loom.iso_time(0),
        "updatedAt": loom.iso_time(last),
    }
    if loom.mix.agents:
        people = {loom.name(node): {"name": loom.name(node), "type": "human"} for node in range(min(100, loom.nodes))}
        models = {loom.model(node): {"name": loom.model(node), "type": "model"} for node in range(min(100, loom.nodes))}
        tree["agents"] = people | models
    yield f'{_encode(document)[:-1]},"trees":[{_encode(tree)[:-1]},"nodes":{{'
    for node in range(loom.nodes):
        yield f'{"," if node else ""}"{loom.ulid(node)}":{_encode(_node_2(loom, node))}'
    yield '},"edges":['
    for node in range(1, loom.nodes):
        yield f"{',' if node > 1 else ''}{_encode(_edge_2(loom, node))}"
    yield "]}]}"


def _node_2(loom: SyntheticLoom, node: int) -> dict[str, Any]:
    author: dict[str, Any] = {"role": "model" if loom.is_model(node) else "human"}
    if loom.mix.agents:
        author["agentId"] = loom.model(node) if loom.is_model(node) else loom.name(node)
    elif not loom.is_model(node):
        author["name"] = loom.name(node)
    made: dict[str, Any] = {
        "id": loom.ulid(node),
        "content": [{"type": "text", "text": loom.text(node)}],
        "author": author,
        "createdAt": loom.iso_time(node),
    }
    if loom.is_bookmarked(node):
        made["meta"] = {"bookmarked": True, "bookmarkLabel": f"Place {node}"}
    if loom.is_model(node):
        made["generation"] = {"model": loom.model(node)}
    vendor = loom.vendor(node)
    if vendor is not None:
        made["x-vendor"] = vendor
    return made


def _edge_2(loom: SyntheticLoom, node: int) -> dict[str, Any]:
    edge: dict[str, Any] = {"id": loom.ulid(node, 7)} if loom.mix.edge_ids else {}
    sources = [{"nodeId": loom.ulid(loom.parents[node]), "role": "primary"}]
    second = loom.second_source(node)
    if second is not None:
        sources.append({"nodeId": loom.ulid(second), "role": "context"})
    edge |= {"type": "continuation", "sources": sources, "targetNodeId": loom.ulid(node)}
    return edge


# -- OpenLoom 1.0 ------------------------------------------------------------------------------------------------------


def _openloom_1(loom: SyntheticLoom, _: Shape) -> Iterator[str]:
    """One line, slashes escaped, keys of every object in an order of its own: what Swift writes."""
    orders = _KeyOrders()
    last = loom.nodes - 1
    tree = {
        "id": loom.uuid4(loom.nodes),
        "title": _TITLE,
        "description": "",
        "lastModified": _swift_time(loom, last) + 0.5,
        "systemMessage": "",
        "rootNodeId": loom.uuid4(0),
        "currentNodeId": loom.uuid4(loom.leaf()),
    }
    yield f'{_swift(tree)[:-1]},"nodes":{{'
    for node in range(loom.nodes):
        yield f'{"," if node else ""}"{loom.uuid4(node)}":{_swift(orders.ordered(_node_1(loom, node), node))}'
    yield '},"bookmarkedNodes":{'
    comma = ""
    for node in filter(loom.is_bookmarked, range(loom.nodes)):
        yield f'{comma}"{loom.uuid4(node)}":{_swift(orders.ordered(_node_1(loom, node), node + 7))}'
        comma = ","
    yield "}}"


def _swift(value: Any) -> str:
    return _encode(value).replace("/", "\\/")


def _swift_time(loom: SyntheticLoom, node: int) -> float:
    """Seconds since 2001 with microseconds."""
    return (loom.milliseconds(node) * 1000 + loom.noise(node, 4) % 1000) / 1_000_000 - _REFERENCE_DATE


def _node_1(loom: SyntheticLoom, node: int) -> dict[str, Any]:
    children = [loom.uuid4(child) for child in loom.children(node)]
    made: dict[str, Any] = {
        "id": loom.uuid4(node),
        "text": loom.text(node),
        "author": "assistant" if loom.is_model(node) else "user",
        "modelId": loom.model(node) if loom.is_model(node) else loom.name(node),
        "createdTime": round(_swift_time(loom, node), 6),
        "childrenIds": children,
        "isBookmarked": loom.is_bookmarked(node),
    }
    if node:
        made["parentId"] = loom.uuid4(loom.parents[node])
    if children:
        made["rememberedChildId"] = children[0]
    if loom.is_bookmarked(node):
        made["bookmarkTitle"] = f"Place {node}"
    vendor = loom.vendor(node)
    if vendor is not None:
        made["x-vendor"] = vendor
    return made


class _KeyOrders:
    """A few orders for each set of keys."""

    def __init__(self) -> None:
        self._random = Random(1)
        self._known: dict[tuple[str, ...], list[list[str]]] = {}

    def ordered(self, value: dict[str, Any], number: int) -> dict[str, Any]:
        """The object with its keys in the order of that number."""
        keys = tuple(value)
        orders = self._known.setdefault(keys, [])
        if not orders:
            orders.extend(self._random.sample(keys, len(keys)) for _ in range(31))
        return {key: value[key] for key in orders[number % len(orders)]}


# -- socketteer --------------------------------------------------------------------------------------------------------


def _socketteer(loom: SyntheticLoom, shape: Shape) -> Iterator[str]:
    """ASCII, nested, indented by four spaces; an empty immutable root above the real one."""
    indented = shape == "bushy"
    root = loom.uuid1(loom.nodes)
    pad = _Pad(indented)
    yield f'{{{pad.line(1)}"root": {{{pad.line(2)}"mutable": false,{pad.line(2)}"visited": true,{pad.line(2)}'
    yield f'"open": true,{pad.line(2)}"id": "{root}",{pad.line(2)}"text": "",{pad.line(2)}"children": [{pad.line(3)}'
    yield from _nested(loom, pad, root)
    yield f"{pad.line(2)}]{pad.line(1)}}}"
    rest = {
        "chapters": {},
        "canonical": [],
        "summaries": {},
        "model_responses": {},
        "tags": {},
        "selected_node_id": loom.uuid1(loom.leaf()),
    }
    for key, value in rest.items():
        yield f",{pad.line(1)}{json.dumps(key)}: {json.dumps(value)}"
    yield f"{pad.line(0)}}}"


class _Pad:
    """Line breaks with indentation, or the space that stands for them in a compact file."""

    def __init__(self, indented: bool) -> None:
        self._indented = indented

    def line(self, level: int) -> str:
        return "\n" + "    " * level if self._indented else ""


def _nested(loom: SyntheticLoom, pad: _Pad, root: str) -> Iterator[str]:
    """All nodes from 0 on, by a walk with a stack of those that are open."""
    opened: list[int] = []
    node = 0
    while True:
        level = 3 + 2 * len(opened)
        head = {"id": loom.uuid1(node), "text": loom.text(node)}
        yield f"{{{_members(head, pad, level + 1)},{pad.line(level + 1)}"
        opened.append(node)
        if loom.first_child[node] >= 0:
            yield f'"children": [{pad.line(level + 2)}'
            node = loom.first_child[node]
            continue
        yield '"children": []'
        while opened:
            node = opened.pop()
            level = 3 + 2 * len(opened)
            if loom.first_child[node] >= 0:
                yield f"{pad.line(level + 1)}]"
            above = loom.uuid1(opened[-1]) if opened else root
            yield f",{_members(_tail(loom, node, above), pad, level + 1)}{pad.line(level)}}}"
            if opened and loom.next_sibling[node] >= 0:
                node = loom.next_sibling[node]
                yield f",{pad.line(level)}"
                break
        else:
            return


def _tail(loom: SyntheticLoom, node: int, above: str) -> dict[str, Any]:
    """What stands behind the children."""
    made: dict[str, Any] = {
        "parent_id": above,
        "mutable": True,
        "visited": True,
        "open": bool(node % 3),
        "meta": {
            "creation_timestamp": f"{loom.time(node):%Y-%m-%d-%H.%M.%S}",
            "source": "AI" if loom.is_model(node) else "prompt",
            "modified": not loom.is_model(node),
        },
    }
    if loom.is_bookmarked(node):
        made["tags"] = ["bookmark"]
    vendor = loom.vendor(node)
    if vendor is not None:
        made["x-vendor"] = vendor
    return made


def _members(value: dict[str, Any], pad: _Pad, level: int) -> str:
    """The members of an object, each on a line of its own at the level."""
    if not pad.line(level):
        return json.dumps(value)[1:-1]
    text = json.dumps(value, indent=4)[1:-2]
    return text.replace("\n", "\n" + "    " * (level - 1)) if level > 1 else text


# Depth to which a bushy tree grows, and its writer.
FORMATS: Final[dict[str, tuple[int, Callable[[SyntheticLoom, Shape], Iterator[str]]]]] = {
    "openloom-1": (200, _openloom_1),
    "openloom-2": (200, _openloom_2),
    "socketteer": (12, _socketteer),
}


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description="Write a loom of any size.")
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("path", type=Path)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", choices=("bushy", "chain"), default="bushy")
    parser.add_argument("--surrogates", type=int, default=0, help="percent of texts that end in half a character")
    parser.add_argument("--agents", action="store_true", help="give every author an id in a registry")
    given = parser.parse_args(arguments)
    mix = Mix(surrogates=given.surrogates, agents=given.agents)
    generate(given.path, given.format, given.nodes, seed=given.seed, shape=given.shape, mix=mix)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
