"""What a format declares is what it does: what it claims comes back by itself, what it does not is reported as lost."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomconv.api import convert, load
from loomconv.capabilities import Capabilities
from loomconv.model.document import document_json
from loomconv.options import ConversionOptions
from loomconv.registry import default_registry
from tests.made import link, node, note_edge

FORMATS = sorted(default_registry().formats)
TIME = "2026-07-08T21:14:00Z"


def loom(*nodes: dict[str, Any], edges: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document of one tree."""
    tree = {"id": "t", "title": "", "mode": "buffer", "rootNodeIds": [nodes[0]["id"]], **fields}
    tree |= {"nodes": {each["id"]: each for each in nodes}, "edges": edges or []}
    return {"format": "open-loom", "version": "2.0", "trees": [tree]}


def _meta(key: str, value: Any) -> tuple[str, dict[str, Any], Callable[[Capabilities], bool], Callable[[Any], Any]]:
    return (
        f"meta.{key}",
        loom(node("a", "x", meta={key: value})),
        lambda held: held.holds(held.meta, key),
        lambda tree: (_only(tree).get("meta") or {}).get(key),
    )


def _only(tree: Any) -> Any:
    (found,) = tree["nodes"].values()
    return found


def _field(key: str, value: Any) -> tuple[str, dict[str, Any], Callable[[Capabilities], bool], Callable[[Any], Any]]:
    return (
        key,
        loom(node("a", "x"), **{key: value}),
        lambda held: held.holds(held.tree_fields, key) and (key != "systemContext" or held.modes != ("buffer",)),
        lambda tree: tree.get(key),
    )


PICTURE = {"type": "image", "ref": "https://x.org/a.png", "mimeType": "image/png"}
TWO = [node("a", "x"), node("b", "y")]
# What is asked for, a document that has it, who claims to hold it, and where it is found then.
PROBES: list[tuple[str, dict[str, Any], Callable[[Capabilities], bool], Callable[[Any], Any]]] = [
    _meta("bookmarked", True), _meta("pruned", True), _meta("excluded", True), _meta("tags", ["one", "two"]),
    _meta("note", "A short note"), _meta("rating", 1),
    _field("title", "A title"), _field("description", "Of something"),
    (
        "rating 5", loom(node("a", "x", meta={"rating": 5})),
        lambda held: held.holds(held.meta, "rating") and held.ratings == "any",
        lambda tree: (_only(tree).get("meta") or {}).get("rating"),
    ),
    *(
        (
            f"role {role}", loom(node("a", "x", role)),
            lambda held, role=role: held.holds(held.roles, role),  # type: ignore[misc]
            lambda tree: _only(tree)["author"]["role"],
        )
        for role in ("human", "model", "system", "mixed")
    ),
    (
        "author name", loom(node("a", "x", author={"role": "human", "name": "Ada"})),
        lambda held: (held.holds(held.author_names, "human") and not held.agents) or held.author_names == "any",
        lambda tree: _only(tree)["author"].get("name"),
    ),
    (
        "node time", loom(node("a", "x", createdAt=TIME)), lambda held: held.node_times != "none",
        lambda tree: _only(tree).get("createdAt"),
    ),
    (
        "milliseconds", loom(node("a", "x", createdAt="2026-07-08T21:14:00.123Z")),
        lambda held: held.node_times in ("millisecond", "exact"), lambda tree: _only(tree).get("createdAt"),
    ),
    (
        "microseconds", loom(node("a", "x", createdAt="2026-07-08T21:14:00.123456Z")),
        lambda held: held.node_times == "exact", lambda tree: _only(tree).get("createdAt"),
    ),
    (
        "two roots", loom(*TWO, rootNodeIds=["a", "b"]), lambda held: held.roots == "many",
        lambda tree: len(tree["rootNodeIds"]) if len(tree["nodes"]) == 2 else 1,
    ),
    (
        "two parents", loom(*TWO, node("c", "z"), edges=[link("a", "b"), link("a", "c"), link("b", "c")]),
        lambda held: held.parents == "many", lambda tree: len(tree["edges"]),
    ),
    (
        "a note", loom(*TWO, edges=[note_edge("a", "b")]), lambda held: held.notes == "loose",
        lambda tree: [each["type"] for each in tree["edges"]],
    ),
    (
        "a picture", loom(node("a", content=[PICTURE])),
        lambda held: (held.holds(held.blocks, "image") and "file" not in held.media) or held.blocks == "any",
        lambda tree: _only(tree)["content"][0]["type"],
    ),
    (
        "two texts", loom(node("a", content=[{"type": "text", "text": "x"}, {"type": "text", "text": "y"}])),
        lambda held: held.block_list and held.blocks != ("text", "image"), lambda tree: len(_only(tree)["content"]),
    ),
    (
        "the current node", loom(*TWO, edges=[link("a", "b")], currentNodeId="b"),
        lambda held: held.holds(held.tree_fields, "currentNodeId"),
        lambda tree: [tree["nodes"][tree["currentNodeId"]]["content"][0]["text"]] if "currentNodeId" in tree else None,
    ),
    (
        "half a character", loom(node("a", "\ud83e")), lambda held: held.lone_surrogates,
        lambda tree: _only(tree)["content"][0]["text"],
    ),
    ("NUL", loom(node("a", "x\0")), lambda held: held.nul, lambda tree: _only(tree)["content"][0]["text"]),
    (
        "dialogue", loom(node("a", "x"), mode="dialogue"), lambda held: held.holds(held.modes, "dialogue"),
        lambda tree: tree.get("mode"),
    ),
    (
        "a model", loom(node("a", "x", "model", generation={"model": "tide"})),
        lambda held: held.holds(held.generation, "model"),
        lambda tree: (_only(tree).get("generation") or {}).get("model"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("probe", PROBES, ids=[each[0] for each in PROBES])
def test_claims_are_kept_and_the_rest_is_reported(name: str, probe: tuple[Any, Any, Any, Any], tmp_path: Path) -> None:
    what, value, claimed, found = probe
    chosen = default_registry().format(name)
    source, target = tmp_path / "a.openloom", tmp_path / "b.x"
    source.write_text(json.dumps(value), encoding="utf-8")
    options = ConversionOptions(residue="none")
    report = convert(source, target, target_format=name, options=options).report
    losses = [code for code in report.codes if code.startswith("loss.")]
    before = found(document_json(load(source))["trees"][0])
    after = found(document_json(load(target, format=name))["trees"][0])
    if claimed(chosen.capabilities):
        assert after == before, what
    else:
        assert after == before or losses, f"{what} is lost in silence"


def _database_ids(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM nodes")]


# Where the ids stand in files of the formats that cannot have any id.
IDS_IN_FILE: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "aspen-grove": ("b.db", _database_ids),
    "miniloom": ("b.json", lambda path: list(json.loads(path.read_bytes())["loomTree"]["nodeStore"])),
}


@pytest.mark.parametrize("name", FORMATS)
def test_ids_are_as_declared(name: str, tmp_path: Path) -> None:
    ids = ["a", "ä/ö~", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "12", "c9b1e6a0-0000-4000-8000-000000000001", " ", "x" * 300]
    edges = [link(one, other) for one, other in itertools.pairwise(ids)]
    source = tmp_path / "a.openloom"
    source.write_text(json.dumps(loom(*(node(each, each) for each in ids), edges=edges)), encoding="utf-8")
    target = tmp_path / IDS_IN_FILE.get(name, ("b.x",))[0]
    convert(source, target, target_format=name, options=ConversionOptions(residue="none"))
    alphabet = default_registry().format(name).capabilities_for(target.name, {}).ids
    if alphabet == "any":
        assert list(document_json(load(target, format=name))["trees"][0]["nodes"]) == ids
    else:
        written = IDS_IN_FILE[name][1](target)
        assert len(set(written)) == len(written) >= len(ids)
        assert [each for each in written if not re.fullmatch(alphabet, each)] == []
