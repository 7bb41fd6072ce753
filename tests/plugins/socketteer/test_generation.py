"""Where a text comes from: references, recorded responses, sidecars, early files (dossier §1.5, §1.8, §3.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loomconv import jsontext
from tests.plugins.socketteer.harness import (
    OWN,
    back,
    document,
    entry,
    file,
    node,
    nodes_of,
    notices,
    read,
    tree_of,
    write,
    written,
)


def response(ref: str, model: str | None = "davinci", *texts: str) -> dict[str, Any]:
    completions = [{"text": text, "finishReason": "stop", "tokens": []} for text in texts]
    return {
        "id": ref,
        "model": model,
        "timestamp": "x",
        "prompt": {"text": "p", "tokens": None},
        "completions": completions,
    }


def generated(node_id: str, text: str, index: int = 0, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    meta = {"source": "AI", "modified": False}
    return entry(node_id, text, *children, meta=meta, generation={"id": "r", "index": index}, **more)


def test_a_reference_that_leads_nowhere() -> None:
    value = file(generated("a", "x", 2))
    assert nodes_of(value)["a"]["generation"] == {"requestId": "r", "completionIndex": 2}
    assert back(value) == value


def test_a_recorded_response() -> None:
    value = file(
        generated("a", "one", 0), generated("b", "two", 1), model_responses={"r": response("r", "m", "one", "two")}
    )
    nodes = nodes_of(value)
    assert nodes["b"]["generation"] == {"model": "m", "requestId": "r", "completionIndex": 1}
    assert nodes["a"]["author"] == {"role": "model"}
    assert tree_of(value).fields["extensions"][OWN]["model_responses"] == value["model_responses"]
    assert notices(value, "read.text-differs") == []
    assert back(value) == value


def test_the_author() -> None:
    value = file(
        entry("a", meta={"source": "AI"}),
        entry("b", meta={"source": "prompt"}),
        entry("c", meta={"source": "mixed"}),
        entry("d", generation={"id": "r", "index": 0}),
        entry("e"),
    )
    roles = [each["author"]["role"] for each in nodes_of(value).values()]
    assert roles == ["model", "human", "mixed", "model", "human"]
    (finding,) = [each for each in read(value)[1].report.findings if each.code == "read.unknown-author"]
    assert (finding.severity, finding.value) == ("notice", 1)
    assert back(value) == value


def test_early_files_have_the_choice_in_place() -> None:
    choice = {"text": "b", "index": 1, "logprobs": None, "finish_reason": "stop", "model": "davinci", "prompt": "a"}
    value = file(entry("a", "b", meta={"generation": choice, "modified": False, "origin": "generated", "source": "AI"}))
    read_node = nodes_of(value)["a"]
    assert read_node["generation"] == {"model": "davinci", "completionIndex": 1}
    assert read_node["extensions"][OWN]["meta"]["generation"] == choice
    assert back(value) == value


def test_a_changed_generation_is_written_as_a_reference() -> None:
    choice = {"text": "b", "index": 1, "model": "davinci"}
    document_, _ = read(file(entry("a", "b", meta={"generation": choice, "source": "AI"})))
    changed = document_.trees[0].nodes["a"]
    changed["generation"] = {"model": "other", "requestId": "q"}
    document_.trees[0].nodes["a"] = changed
    text, _ = write(document_)
    assert nodes_of(text)["a"]["generation"] == {"model": "other", "requestId": "q"}


@pytest.mark.parametrize("wrapped", ["one", "\nGPT: one", "one\nYou:"])
def test_wrapping_explains_a_difference(wrapped: str) -> None:
    value = file(generated("a", wrapped), model_responses={"r": response("r", "m", "one")})
    assert notices(value, "read.text-differs") == []


def test_a_difference_that_nothing_explains() -> None:
    value = file(generated("a", "changed"), model_responses={"r": response("r", "m", "one")})
    assert notices(value, "read.text-differs") == ["a"]
    value["root"]["children"][0]["meta"]["source"] = "mixed"
    assert notices(value, "read.text-differs") == []


def test_a_split_completion() -> None:
    above = {"origin": "split (from child a)", "source": "AI"}
    split = entry("p", "one", generated("a", " two"), meta=above)
    assert notices(file(split, model_responses={"r": response("r", "m", "one two")}), "read.text-differs") == []
    split["meta"] = {"source": "AI"}
    assert notices(file(split, model_responses={"r": response("r", "m", "one two")}), "read.text-differs") == ["a"]


def test_sidecars(tmp_path: Path) -> None:
    value = file(generated("a", "one"), entry("b", "x", generation={"id": "gone", "index": 0}), model_responses={})
    (tmp_path / "backups").mkdir()
    beside = tmp_path / "backups" / "model_responses-2021-09-15-12.00.00.json"
    beside.write_bytes(jsontext.encode({"r": response("r", "m", "one"), "unused": response("unused")}))
    (tmp_path / "backups" / "model_responses-2021-09-16-12.00.00.json").write_text("[]")
    (tmp_path / "backups" / "model_responses-2021-09-17-12.00.00.json").write_text("{broken")
    tree = tmp_path / "tree.json"
    tree.write_bytes(jsontext.encode(value))
    document_, context = read(tree)
    assert document_.trees[0].nodes["a"]["generation"] == {"model": "m", "requestId": "r", "completionIndex": 0}
    assert document_.trees[0].nodes["b"]["generation"] == {"requestId": "gone", "completionIndex": 0}
    found = [(each.severity, each.value) for each in context.report.findings if each.code == "read.sidecar"]
    assert found == [("notice", beside.name), ("warning", "model_responses-2021-09-17-12.00.00.json")]
    # They fill in what is known of the nodes, and stay where they are.
    assert written(document_) == value
    assert set(document_.trees[0].fields["extensions"][OWN]["sidecarResponses"]) == {"r"}
    assert "model" not in nodes_of(tree, options={"sidecars": "no"})["a"]["generation"]


def test_sidecars_of_a_backup(tmp_path: Path) -> None:
    (tmp_path / "model_responses-1.json").write_bytes(jsontext.encode({"r": response("r", "m", "one")}))
    tree = tmp_path / "tree-2021.json"
    tree.write_bytes(jsontext.encode(file(generated("a", "one"))))
    assert nodes_of(tree)["a"]["generation"]["model"] == "m"


def test_foreign_models_become_responses_and_go_again() -> None:
    both = {"model": "m", "requestId": "r"}
    document_ = document(
        node("a", "A", "model", generation={**both, "completionIndex": 0}),
        node("b", "B", "model", generation={**both, "completionIndex": 2}),
        node("c", "C", "model", generation={"model": "only"}),
        node("d", "D", "model", generation={"requestId": "r"}),
    )
    value = written(document_)
    entries = value["model_responses"]
    assert entries["r"]["completions"] == [{"text": each, "tokens": []} for each in ("A", "", "B")]
    assert entries["r"]["prompt"] == {"text": "", "tokens": None}
    assert value["frame"] == {"preferences": {"model_response": "save"}}
    assert value["root"]["children"][1]["generation"] == {"id": "r", "index": 2}
    for each in value["root"]["children"]:
        reference = each["generation"]
        assert reference["id"] not in entries or reference["index"] < len(entries[reference["id"]]["completions"])
    tree = tree_of(jsontext.encode(value))
    assert "extensions" not in tree.fields
    assert [tree.nodes[each].get("generation") for each in "abcd"] == [
        document_.trees[0].nodes[each].get("generation") for each in "abcd"
    ]


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"preferences": {}},
        {"preferences": {"autosave": True}},
        {"preferences": {"model_response": "discard"}},
        None,
    ],
)
def test_the_frame_comes_back_as_it_was(frame: Any) -> None:
    document_, _ = read(file(entry("a"), frame=frame))
    added = node("b", "B", "model", generation={"model": "m", "requestId": "q", "completionIndex": 0})
    document_.trees[0].nodes["b"] = added  # type: ignore[assignment]
    document_.trees[0].fields["rootNodeIds"].append("b")
    tree = tree_of(write(document_)[0])
    assert tree.fields["extensions"][OWN]["frame"] == frame
    assert tree.nodes["b"]["generation"] == added["generation"]
