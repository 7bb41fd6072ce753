"""The benchmarks measure what they say: valid files, always the same, and a table. No speed is asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run
from benchmarks.generate import FORMATS, generate
from benchmarks.plan import ROWS, SOURCES, Row
from benchmarks.results import Result, table
from benchmarks.rounds import MeasurementFailed, Samples, interleaved
from benchmarks.synthetic import Mix, SyntheticLoom
from loomconv import jsontext
from loomconv.api import load
from loomconv.registry import default_registry
from loomconv.report import Report

NODES = 200


def made(folder: Path, format: str, **how: Any) -> Path:
    path = folder / f"{format}.json"
    generate(path, format, NODES, **how)
    return path


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_generated_files_are_valid_and_complete(format: str, tmp_path: Path) -> None:
    if format not in default_registry().formats:
        pytest.skip(f"{format} is not installed")
    path = made(tmp_path, format)
    schema = default_registry().format(format).schema()
    if schema is not None:
        from jsonschema import Draft202012Validator

        assert list(Draft202012Validator(schema).iter_errors(json.loads(path.read_bytes()))) == []
    report = Report()
    document = load(path, report=report)
    assert [code for code in report.codes if code.startswith(("read.", "repair."))] == []
    (tree,) = document.trees
    assert len(tree.nodes) == NODES
    assert sorted(tree.graph.walk(tree.root_ordinals)) == list(range(NODES))
    times = {node["id"]: node["createdAt"] for node in tree.nodes.values()}
    assert all(times[tree.graph.path_to(node_id)[0]] <= time for node_id, time in times.items())
    assert {node["author"]["role"] for node in tree.nodes.values()} == {"human", "model"}
    unknown = sum("x-vendor" in json.dumps(node) for node in tree.nodes.values())
    assert unknown == NODES // 5


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_generated_bytes_depend_on_the_seed_alone(format: str, tmp_path: Path) -> None:
    first, again = made(tmp_path, format).read_bytes(), made(tmp_path, format).read_bytes()
    other = made(tmp_path, format, seed=2).read_bytes()
    assert first == again != other


def test_files_have_the_size_and_mix_that_the_method_states(tmp_path: Path) -> None:
    generate(tmp_path / "big", "openloom-2", 2000)
    text = (tmp_path / "big").read_bytes()
    assert 600 < len(text) / 2000 < 740
    tree = json.loads(text)["trees"][0]
    texts = [node["content"][0]["text"] for node in tree["nodes"].values()]
    assert 0.30 < sum("“" in text or "—" in text or "”" in text for text in texts) / 2000 < 0.40
    assert 0.03 < sum("\N{HERB}" in text for text in texts) / 2000 < 0.07
    assert sum(len(edge["sources"]) == 2 for edge in tree["edges"]) == 2000 // 200 - 1
    assert len({edge["id"] for edge in tree["edges"]} | tree["nodes"].keys()) == 2 * 2000 - 1


def test_the_nested_file_is_laid_out_as_its_app_does(tmp_path: Path) -> None:
    text = made(tmp_path, "socketteer").read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=4)


def test_a_chain_nests_every_node_in_the_one_before(tmp_path: Path) -> None:
    node = jsontext.load(made(tmp_path, "socketteer", shape="chain").read_bytes()).value["root"]
    depth = 0
    while node["children"]:
        (node,) = node["children"]
        depth += 1
    assert depth == NODES


def test_half_characters_are_escaped(tmp_path: Path) -> None:
    path = made(tmp_path, "openloom-2", mix=Mix(surrogates=20))
    assert b"\\ud83c" in path.read_bytes()
    nodes = json.loads(path.read_bytes())["trees"][0]["nodes"].values()
    assert 20 < sum(node["content"][0]["text"].endswith(" \ud83c") for node in nodes) < 60


def test_a_loom_grows_forward() -> None:
    loom = SyntheticLoom(NODES, depth=5)
    assert all(-1 < loom.parents[node] < node for node in range(1, NODES))
    assert max(loom.depths) <= 5
    assert sorted(child for node in range(NODES) for child in loom.children(node)) == list(range(1, NODES))
    times = [loom.milliseconds(node) for node in range(NODES)]
    assert times == sorted(set(times))
    with pytest.raises(ValueError, match="at least one"):
        SyntheticLoom(0)


def test_the_run_prints_a_row_for_each_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.json"
    assert run.main(["--nodes", str(NODES), "--rounds", "1", "--only", "P1", "--json", str(facts)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("200 nodes, best of 1 interleaved rounds. F: openloom-2 ")
    assert lines[2] == "| id | what | target | reached | MB/s | note |"
    assert lines[4].startswith("| P1 | same format, untouched | ≤ 0.5 F | ")
    (row,) = json.loads(facts.read_bytes())["rows"]
    (sample,) = row["samples"]
    assert sample["nodes"] == NODES
    assert sample["written"] == sample["size"] > NODES * 600
    assert sample["seconds"] > 0
    assert row["reached"] == pytest.approx(sample["seconds"] / row["floorSamples"][0]["seconds"])


def test_unknown_rows_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only", "P99"])
    assert "no such rows: P99" in capsys.readouterr().err


def test_a_failed_measurement_is_named_and_stops_nothing() -> None:
    def broken() -> dict[str, Any]:
        raise MeasurementFailed("status 1: no disk")

    said: list[str] = []
    samples = interleaved({"bad": broken, "good": lambda: {"seconds": 1.0}}, 2, said.append)
    assert samples["bad"].failure == "status 1: no disk"
    assert len(samples["good"].facts) == 2
    assert said == ["round 1 of 2", "bad failed: status 1: no disk", "round 2 of 2"]
    result = Result(ROWS[0], samples["bad"], samples["good"], trouble="failed: status 1: no disk")
    assert "| – |  | failed: status 1: no disk |" in table([result], NODES, 2)


def test_ratios_are_byte_for_byte_where_the_floor_is_of_another_file() -> None:
    row = Row(id="P7", what="x", operation="load-exactly", source="chain", target="", unit="rate", goal=10)
    own = Samples([{"seconds": 2.0, "size": 40_000_000}, {"seconds": 3.0, "size": 40_000_000}])
    result = Result(row, own, Samples([{"seconds": 1.0, "size": 80_000_000}]))
    assert result.times_floor == pytest.approx(4.0)
    assert result.reached == pytest.approx(20.0)
    assert result.misses_by(NODES) == pytest.approx(0.5)
    assert result.note == "4.00 F byte for byte; noisy: median/min 1.25"


def test_goals_for_large_files_and_sources_are_consistent() -> None:
    (row,) = [row for row in ROWS if row.id == "P3" and row.source == "openloom-1"]
    assert (row.goal_at(100_000), row.goal_at(1_000_000)) == (1.0, 1.3)
    assert {row.source for row in ROWS} <= SOURCES.keys()
    assert {kind.floor for kind in SOURCES.values()} - {""} <= SOURCES.keys()
