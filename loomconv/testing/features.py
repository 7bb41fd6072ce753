"""What a loom can have, one small document each: what a format has to say of it, and where it is found then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from loomconv.capabilities import Capabilities
from loomconv.testing.looms import link, loom, node, note_edge

__all__ = ["FEATURES", "Feature"]

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that a loom can have.

    `document` is an OpenLoom 2.0 value that has it. `claimed(capabilities)` says whether a format declares to hold it
    whatever else its files hold; `capability` is the name of what it declares by. `found(document)` is how it stands in
    a document, for comparison; ids do not matter in it, since formats may change them.
    """

    name: str
    capability: str
    document: Document
    claimed: Callable[[Capabilities], bool]
    found: Callable[[Document], Any]


def _tree(document: Document) -> Any:
    return document["trees"][0]


def _only(document: Document) -> Any:
    """The only node, or the one with a text when an empty root stands above it."""
    nodes = list(_tree(document)["nodes"].values())
    return nodes[0] if len(nodes) == 1 else next(each for each in nodes if _text(each))


def _text(each: Any) -> str:
    return "".join(block.get("text", "") for block in each["content"])


def _texts_by_id(document: Document) -> dict[str, str]:
    return {node_id: _text(each) for node_id, each in _tree(document)["nodes"].items()}


def _meta(key: str, value: Any) -> Feature:
    return Feature(
        f"meta: {key}",
        "meta",
        loom(node("a", "x", meta={key: value})),
        lambda held: held.holds(held.meta, key),
        lambda document: (_only(document).get("meta") or {}).get(key),
    )


def _field(name: str, key: str, value: Any) -> Feature:
    return Feature(
        name,
        "tree_fields",
        loom(node("a", "x"), **{key: value}),
        # What is said to the model before a dialogue has no meaning for a text that runs on.
        lambda held: held.holds(held.tree_fields, key) and (key != "systemContext" or held.modes != ("buffer",)),
        lambda document: _tree(document).get(key),
    )


def _role(role: str) -> Feature:
    return Feature(
        f"role: {role}",
        "roles",
        loom(node("a", "x", role)),
        lambda held: held.holds(held.roles, role),
        lambda document: _only(document)["author"]["role"],
    )


def _time(name: str, moment: str, units: tuple[str, ...]) -> Feature:
    return Feature(
        name,
        "node_times",
        loom(node("a", "x", createdAt=moment)),
        lambda held: held.node_times in units,
        lambda document: _only(document).get("createdAt"),
    )


def _generation(key: str, value: Any) -> Feature:
    return Feature(
        f"generation: {key}",
        "generation",
        loom(node("a", "x", "model", generation={key: value})),
        lambda held: held.holds(held.generation, key),
        lambda document: (_only(document).get("generation") or {}).get(key),
    )


def _shape(document: Document) -> list[tuple[str, list[tuple[str, str]], str]]:
    """The edges by the texts of their nodes."""
    texts = _texts_by_id(document)
    return sorted(
        (
            edge["type"],
            [(texts[source["nodeId"]], source.get("role") or "primary") for source in edge["sources"]],
            texts[edge["targetNodeId"]],
        )
        for edge in _tree(document)["edges"]
    )


_PICTURE: Final = {"type": "image", "ref": "https://example.org/a.png", "mimeType": "image/png"}
_TWO: Final = (node("a", "one"), node("b", "two"))
_THREE: Final = (*_TWO, node("c", "three"))

FEATURES: Final[tuple[Feature, ...]] = (
    Feature("text", "blocks", loom(node("a", "  x\n")), lambda held: True, lambda document: _text(_only(document))),
    Feature(
        "branches in order", "parents",
        loom(*_THREE, edges=[link("a", "c"), link("a", "b")]), lambda held: True, _shape,
    ),
    *(_role(role) for role in ("human", "model", "system", "mixed")),
    Feature(
        "author's name", "author_names", loom(node("a", "x", author={"role": "human", "name": "Ada"})),
        lambda held: held.author_names == "any" or (held.holds(held.author_names, "human") and not held.agents),
        lambda document: _only(document)["author"].get("name"),
    ),
    _time("time of a node", "2026-07-08T21:14:00Z", ("second", "millisecond", "exact")),
    _time("time to the millisecond", "2026-07-08T21:14:00.123Z", ("millisecond", "exact")),
    _time("time to the microsecond", "2026-07-08T21:14:00.123456Z", ("exact",)),
    _meta("bookmarked", True), _meta("pruned", True), _meta("excluded", True), _meta("tags", ["one", "two"]),
    _meta("note", "A short note"), _meta("rating", 1),
    Feature(
        "rating of 5", "ratings", loom(node("a", "x", meta={"rating": 5})),
        lambda held: held.holds(held.meta, "rating") and held.ratings == "any",
        lambda document: (_only(document).get("meta") or {}).get("rating"),
    ),
    _generation("model", "tide"), _generation("provider", "anthropic"), _generation("prompt", "Once"),
    Feature(
        "what a node was edited from", "edit_lineage",
        loom(*_TWO[:1], node("b", "two", editedFrom="a"), rootNodeIds=["a", "b"]),
        lambda held: held.edit_lineage and held.roots == "many",
        lambda document: [
            _texts_by_id(document).get(each["editedFrom"])
            for each in _tree(document)["nodes"].values() if each.get("editedFrom")
        ],
    ),
    _field("title", "title", "A title"), _field("description", "description", "Of something"),
    _field("system prompt", "systemContext", "Be kind."),
    Feature(
        "the current node", "tree_fields", loom(*_TWO, edges=[link("a", "b")], currentNodeId="b"),
        lambda held: held.holds(held.tree_fields, "currentNodeId"),
        lambda document: _texts_by_id(document).get(_tree(document).get("currentNodeId", "")),
    ),
    Feature(
        "mode: dialogue", "modes", loom(node("a", "x"), mode="dialogue"),
        lambda held: held.holds(held.modes, "dialogue"), lambda document: _tree(document).get("mode"),
    ),
    Feature(
        "mode: buffer", "modes", loom(node("a", "x"), mode="buffer"), lambda held: held.holds(held.modes, "buffer"),
        lambda document: _tree(document).get("mode"),
    ),
    Feature(
        "several roots", "roots", loom(*_TWO, rootNodeIds=["a", "b"]), lambda held: held.roots == "many",
        lambda document: [
            _texts_by_id(document)[root] for root in _tree(document)["rootNodeIds"] if _texts_by_id(document)[root]
        ],
    ),
    Feature(
        "several parents", "parents", loom(*_THREE, edges=[link("a", "b"), link("a", "c"), link("b", "c")]),
        lambda held: held.parents == "many", _shape,
    ),
    Feature(
        "hyperedges", "source_roles",
        loom(*_THREE, rootNodeIds=["a", "b"], edges=[
            {**link("a", "c"), "sources": [{"nodeId": "a", "role": "primary"}, {"nodeId": "b", "role": "context"}]},
        ]),
        lambda held: held.parents == "many" and held.roots == "many" and held.holds(held.source_roles, "context"),
        _shape,
    ),
    Feature(
        "annotations", "edge_types", loom(*_THREE, edges=[link("a", "b"), link("b", "c"), note_edge("c", "a")]),
        lambda held: held.parents == "many" and held.holds(held.edge_types, "annotation"), _shape,
    ),
    Feature(
        "loose notes", "notes", loom(*_TWO, edges=[note_edge("b", "a")]), lambda held: held.notes == "loose", _shape,
    ),
    Feature(
        "ids of edges", "edge_details", loom(*_TWO, edges=[link("a", "b", id="e1")]), lambda held: held.edge_details,
        lambda document: [edge.get("id") for edge in _tree(document)["edges"]],
    ),
    Feature(
        "pictures", "blocks", loom(node("a", content=[{"type": "text", "text": "x"}, _PICTURE])),
        lambda held: held.blocks == "any" or (held.holds(held.blocks, "image") and "file" not in held.media),
        lambda document: [block["type"] for block in _only(document)["content"]],
    ),
    Feature(
        "several texts in a node", "block_list",
        loom(node("a", content=[{"type": "text", "text": "x"}, {"type": "text", "text": "y"}])),
        # Where text and pictures are all there is, the text comes as one.
        lambda held: held.block_list and held.blocks != ("text", "image"),
        lambda document: len(_only(document)["content"]),
    ),
    Feature(
        "half characters", "lone_surrogates", loom(node("a", "x\ud83e")), lambda held: held.lone_surrogates,
        lambda document: _text(_only(document)),
    ),
    Feature("NUL", "nul", loom(node("a", "x\0")), lambda held: held.nul, lambda document: _text(_only(document))),
    Feature(
        "ids of nodes", "ids", loom(node("My/own id é", "x")), lambda held: held.ids == "any",
        lambda document: list(_tree(document)["nodes"]),
    ),
    Feature(
        "several trees", "trees",
        {"format": "open-loom", "version": "2.0",
         "trees": [{**loom(node("a", "x"))["trees"][0], "id": f"t{number}"} for number in (1, 2)]},
        lambda held: held.trees == "many", lambda document: len(document["trees"]),
    ),
)  # fmt: skip
