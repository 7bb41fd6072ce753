"""Which files are the app's, and how surely (dossier §5.16)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loomconv import jsontext
from loomconv.format import Probe
from tests.plugins.socketteer.harness import FORMAT, detect, entry, file

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (file(entry("a"), selected_node_id="a"), 95),
        (file(entry("a")), 75),
        (entry("a"), 60),
        ({"text": "a", "children": []}, 60),
        ({"text": "a"}, 30),
        ([entry("a")], 55),
        ([{"id": "a", "text": "x", "parent_id": "b"}], 55),
        ([{"text": "x", "alt": "y"}], 30),
    ],
)
def test_shapes(value: Any, score: int) -> None:
    found = detect(value)
    assert found is not None
    assert found.score == score
    assert found.reason


@pytest.mark.parametrize(
    "value",
    [
        {"root": "a", "version": 1, "nodes": {}},
        {"root": {"name": "x"}},
        {"loomTree": {}, "text": "x"},
        {"format": "open-loom", "trees": []},
        {"nodes": {}, "text": "x"},
        [{"role": "user", "content": "x", "text": "x"}],
        [{"sku": "yarn-7", "title": "Merino"}],
        [{"mapping": {}, "text": ""}],
        [],
        {},
        "text",
        {"title": "x", "text": "y"},
    ],
)
def test_others(value: Any) -> None:
    assert detect(value) is None


def test_json_lines() -> None:
    lines = b'{"id": "a", "text": "x"}\n{"id": "b", "text": "y", "parent_id": "a"}\n{"id": "c", "parent_id": "a"}\n'
    found = detect(lines)
    assert found is not None
    assert found.score == 60
    assert detect(b'{"op": "open", "id": "a"}\n{"op": "node", "id": "b"}\n{"op": "node"}\n') is None


def test_relatives_are_known_so_that_reading_can_explain_them() -> None:
    for value in ({"tabs": [{"filename": "x"}]}, {"cmpl-1": {"completions": []}}):
        found = detect(value)
        assert found is not None
        assert found.score == 20
    assert detect(b"[\n\t{id: 'a', text: 'x'},\n]").score == 20  # type: ignore[union-attr]


def test_a_root_beyond_the_head() -> None:
    value = {"canonical": [], "chapters": {}, "model_responses": {"r": {"text": "x" * 70_000}}, **file(entry("a"))}
    found = detect(value)
    assert found is not None
    assert found.score == 60


@pytest.mark.parametrize("path", sorted((FIXTURES / "socketteer").glob("*.json*")), ids=lambda path: path.name)
def test_own_fixtures_are_recognised(path: Path) -> None:
    found = FORMAT.detect(Probe(path.read_bytes(), path.name))
    assert (found is None) == (path.name == "empty-array.json")


def test_fixtures_of_others_are_not() -> None:
    for folder in sorted(FIXTURES.iterdir()):
        if folder.is_dir() and folder.name != "socketteer":
            for path in sorted(each for each in folder.rglob("*") if each.is_file() and each.suffix != ".zip"):
                found = FORMAT.detect(Probe(path.read_bytes(), path.name))
                # The write-boundary log's reader takes the app's export lines, too.
                assert found is None or folder.name == "loom-write-log", path


def test_a_cut_head_is_enough() -> None:
    text = jsontext.encode(file(entry("a", "y" * 100_000)))
    assert detect(text) is not None
