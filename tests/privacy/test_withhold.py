"""Leaving private parts out: each part of PARTS, wherever it may stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loomconv import api, jsontext
from loomconv.errors import UsageFault
from loomconv.options import ConversionOptions
from loomconv.privacy import PARTS, Withholder, contained_parts
from loomconv.report import Report
from tests.made import as_json, document_from, link, node, spelled


def private() -> dict[str, Any]:
    """A document with all that somebody may not want to pass on."""
    generation = {
        "model": "m",
        "parameters": {"temperature": 1.50, "seed": None},
        "contentHash": "sha256:00",
        "rawResponse": {
            "bodyHash": "sha256:11",
            "encoding": "identity",
            "body": "PRIVATE-RAW",
            "headers": {"authorization": "PRIVATE-TOKEN"},
        },
    }
    return {
        "format": "open-loom",
        "version": "2.0",
        "systemContext": "PRIVATE-STRAY",
        "agents": {
            "d": {"name": "D", "type": "model", "configuration": {"systemPrompt": "PRIVATE-DOC", "temperature": 0}}
        },
        "extensions": {"app": {"settings": "PRIVATE-APP"}},
        "trees": [
            {
                "id": "t",
                "title": "T",
                "systemContext": "PRIVATE-TREE",
                "rootNodeIds": ["a"],
                "agents": {"m": {"name": "M", "type": "model", "configuration": {"systemPrompt": "PRIVATE-AGENT"}}},
                "nodes": {
                    "a": node("a", "public words"),
                    "b": {**node("b", "public reply", "model"), "generation": generation},
                    "c": {**node("c"), "extensions": {"app": {"x": "PRIVATE-NODE"}}, "generation": "PRIVATE-ODD"},
                },
                "edges": [
                    {**link("a", "b"), "extensions": {"app": "PRIVATE-EDGE"}},
                    {**link("b", "c"), "id": "e"},
                ],
                "extensions": {"app": "PRIVATE-OTHER"},
            }
        ],
    }


GONE: dict[str, set[str]] = {
    "system-context": {"PRIVATE-TREE", "PRIVATE-STRAY"},
    "agent-prompts": {"PRIVATE-DOC", "PRIVATE-AGENT"},
    "raw-responses": {"PRIVATE-RAW", "PRIVATE-TOKEN", "PRIVATE-ODD"},
    "raw-bodies": {"PRIVATE-RAW", "PRIVATE-TOKEN", "PRIVATE-ODD"},
    "generation": {"PRIVATE-RAW", "PRIVATE-TOKEN", "PRIVATE-ODD"},
    "extensions": {"PRIVATE-APP", "PRIVATE-NODE", "PRIVATE-EDGE", "PRIVATE-OTHER", "PRIVATE-ODD"},
    "private": {
        "PRIVATE-TREE",
        "PRIVATE-STRAY",
        "PRIVATE-DOC",
        "PRIVATE-AGENT",
        "PRIVATE-RAW",
        "PRIVATE-TOKEN",
        "PRIVATE-ODD",
    },
}
ALL = set().union(*GONE.values())


def test_the_table_has_every_part() -> None:
    assert GONE.keys() == PARTS.keys()


@pytest.mark.parametrize("target", ["openloom-2", "openloom-1", "socketteer"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_gone_everywhere_and_nothing_else_is(part: str, target: str, tmp_path: Path) -> None:
    """OL2-9-excludable, OL2-4-systemContext-opt, OL2-4.5-prompt-opt, OL2-5-t3-exclude, A43."""
    out, report = tmp_path / "out", Report(limit=None)
    options = ConversionOptions(without=frozenset({part}))
    document = api.load(jsontext.encode(private()), options=options, report=report)
    api.dump(document, out, format=target, options=options, report=report)
    text = out.read_bytes().decode()
    shown = jsontext.encode(report.to_json()).decode()
    assert {word for word in ALL if word in text} == ALL - GONE[part]
    assert not {word for word in GONE[part] if word in shown}
    assert "public reply" in text
    assert report.codes["privacy.withheld"] >= 1


def loaded(*parts: str) -> tuple[dict[str, Any], Report]:
    report = Report()
    document = api.load(jsontext.encode(private()), options=ConversionOptions(without=frozenset(parts)), report=report)
    return as_json(document), report


def test_hashes_stay_when_only_bodies_go() -> None:
    """OL2-5-t3-hashonly."""
    value, _ = loaded("raw-bodies")
    generation = value["trees"][0]["nodes"]["b"]["generation"]
    assert generation["rawResponse"] == {"bodyHash": "sha256:11", "encoding": "identity"}
    assert generation["model"] == "m"


def test_the_other_tiers_stay_when_raw_responses_go() -> None:
    value, _ = loaded("raw-responses")
    assert value["trees"][0]["nodes"]["b"]["generation"] == {
        "model": "m",
        "parameters": {"temperature": 1.5, "seed": None},
        "contentHash": "sha256:00",
    }


def test_raw_responses_win_over_bodies() -> None:
    value, _ = loaded("private", "raw-responses")
    assert "rawResponse" not in value["trees"][0]["nodes"]["b"]["generation"]


def test_private_keeps_everything_else() -> None:
    value, _ = loaded("private")
    before, after = private()["trees"][0], value["trees"][0]
    assert after["nodes"]["a"] == before["nodes"]["a"]
    assert after["edges"] == before["edges"]
    assert after["agents"]["m"] == {"name": "M", "type": "model", "configuration": {}}
    assert value["agents"]["d"]["configuration"] == {"temperature": 0}
    assert after["extensions"] == before["extensions"]


def test_what_the_file_holds_is_said_unless_it_was_left_out() -> None:
    """OL2-9-default-prov."""

    def said(report: Report) -> set[str]:
        messages = " ".join(finding.message for finding in report.findings if finding.code == "privacy.contains")
        return {part for part in PARTS if f"--without {part}`" in messages}

    assert said(loaded()[1]) == {"system-context", "agent-prompts", "raw-responses"}
    assert said(loaded("system-context")[1]) == {"agent-prompts", "raw-responses"}
    assert said(loaded("raw-bodies")[1]) == {"system-context", "agent-prompts"}
    assert said(loaded("generation")[1]) == {"system-context", "agent-prompts"}
    assert said(loaded("private")[1]) == set()


def test_generation_is_verbatim_as_long_as_it_stays() -> None:
    """OL2-5-verbatim, OL2-5-noresign: nulls, spellings and odd keys included."""
    generation = b'{ "model":null, "latencyMs":1.50, "n":1E3, "big":123456789012345678901234567890, "odd":[{}] }'
    value = private()
    text = jsontext.encode(value).replace(b'"PRIVATE-ODD"', generation)
    document = api.load(text, options=ConversionOptions(without=frozenset({"system-context", "agent-prompts"})))
    block = bytes(document.trees[0].nodes.block("c"))
    assert generation in block


def test_kept_aside_parts_go_with_their_part() -> None:
    """What a repair had to take out of its place is no less private."""
    value = private()
    value["trees"][0]["systemContext"] = ["PRIVATE-TREE"]
    value["trees"][0]["agents"] = ["PRIVATE-AGENT"]
    text = jsontext.encode(value)
    kept = spelled(as_json(api.load(text)))
    assert b"PRIVATE-TREE" in kept and b"PRIVATE-AGENT" in kept and b"PRIVATE-ODD" in kept
    gone = spelled(as_json(api.load(text, options=ConversionOptions(without=frozenset({"private"})))))
    for word in GONE["private"]:
        assert word.encode() not in gone


def test_private_keys_of_formats_go_with_their_part() -> None:
    keys = {"my-app": {"raw-responses": ("log.entries", "answers"), "system-context": ("prompt",)}}
    extensions = {
        "my-app": {"log": {"entries": [1], "size": 1}, "answers": [2], "prompt": "p", "x": 1},
        "other": {"prompt": 1},
    }
    value = private()
    value["trees"][0]["extensions"] = extensions
    value["trees"][0]["nodes"]["a"]["extensions"] = extensions

    def after(*parts: str) -> Any:
        document = document_from(value)
        document.trees[0].nodes["c"] = node("c")  # type: ignore[assignment]
        Withholder(parts, keys).apply(document, Report())
        tree = document.trees[0]
        assert tree.fields["extensions"] == tree.nodes["a"]["extensions"]
        assert tree.fields["extensions"]["other"] == {"prompt": 1}
        return tree.fields["extensions"]["my-app"]

    assert (
        after("raw-responses")
        == after("raw-bodies")
        == after("generation")
        == {"log": {"size": 1}, "prompt": "p", "x": 1}
    )
    assert after("system-context") == {"log": {"entries": [1], "size": 1}, "answers": [2], "x": 1}
    assert after("agent-prompts") == extensions["my-app"]


def test_nothing_chosen_changes_nothing() -> None:
    document = document_from(private())
    before = spelled(as_json(document))
    Withholder(()).apply(document, Report())
    assert spelled(as_json(document)) == before
    assert not document.touched


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(UsageFault, match="unknown part nonsense") as caught:
        Withholder(["nonsense", "extensions"])
    assert "system-context" in caught.value.next_step


def test_counting_what_is_contained() -> None:
    assert contained_parts(document_from(private())) == {"system-context": 2, "agent-prompts": 2}
    odd = private()
    odd["agents"] = {"x": 5, "y": {"configuration": 6}}
    odd["trees"][0]["agents"] = []
    odd["trees"][0]["systemContext"] = ""
    assert contained_parts(document_from(odd)) == {"system-context": 1, "agent-prompts": 0}


def test_the_report_counts_provenance() -> None:
    _, report = loaded()
    assert (report.counts["generations"], report.counts["contentHashes"], report.counts["rawResponses"]) == (1, 1, 1)
