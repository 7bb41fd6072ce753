"""Any document in any format comes home from any other (promise 4); the file is valid, and losses have causes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.api import convert
from loomconv.registry import default_registry
from loomconv.roundtrip import round_trip
from loomconv.validation import validate_file
from tests.made import documents, examples, link, node

FORMATS = sorted(default_registry().formats)
SUFFIX = {"aspen-grove": (".db", ".json"), "loom-write-log": (".loom.jsonl",)}
Factory = pytest.TempPathFactory


def _written(factory: Factory, value: dict[str, Any], home: str, kind: int) -> Path:
    """The document as a file of a format."""
    folder = factory.mktemp("any")
    source = folder / "source.openloom"
    source.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    suffixes = SUFFIX.get(home, (".x",))
    path = folder / f"home{suffixes[kind % len(suffixes)]}"
    convert(source, path, target_format=home)
    return path


def _comes_home(factory: Factory, value: dict[str, Any], home: str, via: str, kind: int) -> None:
    path = _written(factory, value, home, kind)
    trip = round_trip(path, [via], source_format=home)
    # Residue that has to go into a file as text may have its keys in another order then, which a text comparison shows;
    # and where nodes stand in the map of nodes, which means nothing, is seen from the positions of notes set aside.
    shown = [each for each in trip.differences if not each.pointer.endswith(("/json", "/position"))]
    assert shown == []


@given(documents(max_trees=1), st.sampled_from(FORMATS), st.sampled_from(FORMATS), st.integers(0, 1))
@examples(60)
def test_any_file_comes_home(tmp_path_factory: Factory, value: dict[str, Any], home: str, via: str, kind: int) -> None:
    _comes_home(tmp_path_factory, value, home, via, kind)


@pytest.mark.slow
@pytest.mark.parametrize("home", FORMATS)
@pytest.mark.parametrize("via", FORMATS)
def test_any_file_comes_home_from_every_other_format(tmp_path_factory: Factory, home: str, via: str) -> None:
    @given(documents(max_trees=1), st.integers(0, 1))
    @examples(6)
    def check(value: dict[str, Any], kind: int) -> None:
        _comes_home(tmp_path_factory, value, home, via, kind)

    check()


def _large() -> dict[str, Any]:
    """A chain of 1,000 nodes, 1,000 children of one that lead to one more, and a text of 300,000 letters."""
    nodes = [node(f"c{number}", f"step {number} \u2028") for number in range(1_000)]
    edges = [link(f"c{number - 1}", f"c{number}") for number in range(1, 1_000)]
    nodes += [node(f"w{number}", "" if number % 3 else "🧵 child", "model") for number in range(1_000)]
    edges += [link("c5", f"w{number}") for number in range(1_000)]
    nodes.append(node("huge", "A long line, é and 🧵.\n" * 14_000))
    sources = [{"nodeId": f"w{number}", "role": "context" if number else "primary"} for number in range(1_000)]
    edges.append({"type": "continuation", "sources": sources, "targetNodeId": "huge"})
    tree = {"id": "large", "title": "Large", "rootNodeIds": ["c0"], "nodes": {each["id"]: each for each in nodes}}
    return {"format": "open-loom", "version": "2.0", "trees": [{**tree, "edges": edges}]}


@pytest.mark.slow
@pytest.mark.parametrize("home", FORMATS)
@pytest.mark.parametrize("via", FORMATS)
def test_a_large_file_comes_home_from_every_other_format(tmp_path_factory: Factory, home: str, via: str) -> None:
    _comes_home(tmp_path_factory, _large(), home, via, 0)


@given(documents(max_trees=1), st.sampled_from(FORMATS), st.integers(0, 1))
@examples(40)
def test_what_is_written_is_valid(tmp_path_factory: Factory, value: dict[str, Any], home: str, kind: int) -> None:
    report = validate_file(_written(tmp_path_factory, value, home, kind), format=home).report
    faults = [each for each in report.findings if each.code == "validate.schema"]
    own = [each for each in faults if "time" not in each.message]
    assert home in ("openloom-2", "loom-write-log") or own == []


@given(documents(max_trees=1), st.sampled_from(FORMATS))
@examples(40)
def test_no_loss_without_a_cause(tmp_path_factory: Factory, value: dict[str, Any], home: str) -> None:
    """A tree of one plain text, whatever else there was, loses nothing anywhere but its id."""
    (tree,) = value["trees"]
    node_id = next(iter(tree["nodes"]))
    node = {"id": node_id, "content": [{"type": "text", "text": "plain"}], "author": {"role": "human"}}
    bare = {"id": tree["id"], "title": "", "rootNodeIds": [node_id], "nodes": {node_id: node}, "edges": []}
    folder = tmp_path_factory.mktemp("plain")
    path = folder / "a.openloom"
    path.write_bytes(jsontext.dump({"format": "open-loom", "version": "2.0", "trees": [bare]}, jsontext.TWO_SPACES))
    report = convert(path, folder / "b.x", target_format=home).report
    assert {code for code in report.codes if code.startswith("loss.")} <= {"loss.tree-field"}
