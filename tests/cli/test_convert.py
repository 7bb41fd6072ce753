from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from loomconv.api import Conversion
from tests.cli.conftest import FIXTURES, ROOT, Run

SCHEMA = json.loads((ROOT / "schemas" / "loomconv_schemas" / "report.schema.json").read_text("utf-8"))


def report_of(path: Path) -> dict[str, Any]:
    """The report, checked against its schema."""
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    jsonschema.validate(report, SCHEMA)
    return report


def failure_of(path: Path) -> dict[str, Any]:
    """The finding that says why nothing was written."""
    report = report_of(path)
    assert report["target"] is None
    finding: dict[str, Any] = report["findings"][-1]
    assert finding["severity"] == "error"
    return finding


def test_the_same_format_gives_the_same_bytes(run: Run, simple: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.openloom"
    result = run("convert", simple, target)
    assert result.exit_code == 0
    assert target.read_bytes() == simple.read_bytes()
    assert result.stdout == ""
    assert "(openloom-2): 1 tree, 3 nodes" in result.stderr


def test_streams(run: Run, simple: Path) -> None:
    result = run("convert", "-", "-", "--to", "cards", stdin=simple.read_bytes())
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "cards": [
            ["n1", None, "The lighthouse keeper"],
            ["n2", "n1", " wound the clock."],
            ["n3", "n1", " forgot the oil."],
        ]
    }


def test_formats_by_name(run: Run, tmp_path: Path, simple: Path) -> None:
    cards = tmp_path / "story.txt"
    assert run("convert", simple, cards, "--to", "cards").exit_code == 0
    back = tmp_path / "back.openloom"
    assert run("convert", cards, back, "--from", "cards").exit_code == 0
    assert set(json.loads(back.read_text("utf-8"))["trees"][0]["nodes"]) == {"n1", "n2", "n3"}


def test_options_of_formats(run: Run, simple: Path, tmp_path: Path) -> None:
    target = tmp_path / "loud.txt"
    run("convert", simple, target, "--to", "cards", "--cards-case", "upper")
    assert "THE LIGHTHOUSE KEEPER" in target.read_text("utf-8")
    assert run("convert", simple, target, "--to", "cards", "--cards-case", "odd").exit_code == 2
    help_text = run("convert", "--help").stdout
    assert "--cards-case [same|upper]" in help_text
    assert "--openloom-2-layout" in help_text


def test_losses_are_explained(run: Run, simple: Path, tmp_path: Path) -> None:
    result = run("convert", simple, tmp_path / "x.txt", "--to", "cards", "--residue", "none")
    assert "that cards cannot hold, lost:" in result.stderr
    kept = run("convert", simple, tmp_path / "x.txt", "--to", "cards")
    assert "that cards cannot hold, kept beside the file, to come back:" in kept.stderr
    assert "[loss." in result.stderr
    assert run("convert", simple, tmp_path / "x.txt", "--to", "cards", "--quiet").stderr == ""


def test_strict_writes_nothing_and_says_what_would_be_lost(run: Run, simple: Path, tmp_path: Path) -> None:
    target, report = tmp_path / "x.txt", tmp_path / "r.json"
    result = run("convert", simple, target, "--to", "cards", "--strict", "--report", report)
    assert result.exit_code == 3
    assert not target.exists()
    assert "[loss." in result.stderr
    assert "without --strict" in result.stderr
    assert failure_of(report)["code"] == "convert.refused"


def test_the_report(run: Run, simple: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    assert run("convert", simple, tmp_path / "y.openloom", "--report", report).exit_code == 0
    found = report_of(report)
    assert found["source"] == {"name": "simple.openloom", "format": "openloom-2", "container": "plain"}
    assert found["target"] == {"name": "y.openloom", "format": "openloom-2", "files": ["y.openloom"]}
    assert found["counts"]["nodes"] == 3
    assert str(tmp_path) not in report.read_text("utf-8")
    assert json.loads(run("convert", simple, tmp_path / "y.openloom", "--report", "-").stdout) == found


def test_findings_are_capped_and_counted(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    source = FIXTURES / "repair-dangling-edges.openloom"
    run("convert", source, tmp_path / "y.openloom", "--report", report, "--findings", "1")
    found = report_of(report)
    assert found["counts"]["codes"]["repair.missing-source"] == 2
    assert sum(each["code"] == "repair.missing-source" for each in found["findings"]) == 1
    run("convert", source, tmp_path / "y.openloom", "--report", report, "--findings", "all")
    assert sum(each["code"] == "repair.missing-source" for each in report_of(report)["findings"]) == 2


@pytest.mark.parametrize(
    ("source", "code", "status"),
    [
        (b'{"format": "open-loom", "version": "2.0", "trees": [,]}', "read.syntax", 1),
        (b'{"neither": "this"}', "detect.unknown-format", 1),
        (b'{"wild cards": []}', "detect.ambiguous", 1),
        (b"", "read.unreadable", 1),
        (b'{"format": "open-loom", "version": "3.0", "trees": [{}]}', "read.invalid", 1),
        (b'{"cards": [], "fault": "quoted"}', "convert.plugin-fault", 1),
        (b"PK\x05\x06" + b"\0" * 18, "read.unreadable", 1),
    ],
)
def test_a_failure_is_in_the_report(run: Run, tmp_path: Path, source: bytes, code: str, status: int) -> None:
    path, target, report = tmp_path / "in", tmp_path / "out.openloom", tmp_path / "r.json"
    path.write_bytes(source)
    result = run("convert", path, target, "--report", report)
    assert result.exit_code == status
    assert not target.exists()
    assert result.stderr.startswith("loomconv: error: ")
    finding = failure_of(report)
    assert finding["code"] == code
    # Nothing of the file is quoted.
    assert "quoted" not in result.stderr + report.read_text("utf-8")


def test_a_syntax_fault_names_its_place(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    result = run("convert", FIXTURES / "broken-trailing-comma.openloom", tmp_path / "x.openloom", "--report", report)
    assert "line 74 column 8" in result.stderr
    assert failure_of(report)["place"] == {"line": 74, "column": 8, "byte": 1414}


def test_a_limit_names_its_option(run: Run, simple: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    arguments = ["convert", simple, tmp_path / "x.openloom", "--report", report]
    result = run(*arguments, "--limit", "document-bytes=100")
    assert result.exit_code == 1
    assert "--limit document-bytes=" in result.stderr
    assert failure_of(report)["code"] == "read.limit"
    assert run(*arguments, "--limit", "document-bytes=none").exit_code == 0
    assert run(*arguments, "--limit", "bogus=1").exit_code == 2


def test_an_impossible_conversion_is_in_the_report(run: Run, simple: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    result = run("convert", simple, tmp_path / "x.openloom", "--tree", "no-such-tree", "--report", report)
    assert result.exit_code == 2
    assert failure_of(report)["code"] == "convert.impossible"


def test_a_cut_input_is_saved_as_far_as_it_goes(run: Run, tmp_path: Path) -> None:
    target, report = tmp_path / "x.openloom", tmp_path / "r.json"
    result = run("convert", FIXTURES / "broken-truncated.openloom", target, "--report", report)
    assert result.exit_code == 4
    assert json.loads(target.read_text("utf-8"))["trees"]
    assert "ends too early" in result.stderr
    assert report_of(report)["counts"]["codes"]["read.truncated"] == 1
    target.unlink()
    strict = run("convert", FIXTURES / "broken-truncated.openloom", target, "--report", report, "--strict")
    assert strict.exit_code == 3
    assert not target.exists()
    assert failure_of(report)["code"] == "convert.refused"


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert"],
        ["convert", "a"],
        ["convert", "SRC", "out.unknown"],
        ["convert", "SRC", "out.openloom", "--to", "nope"],
        ["convert", "SRC", "out.openloom", "--from", "nope"],
        ["convert", "SRC", "out.openloom", "--without", "nope"],
        ["convert", "SRC", "out.openloom", "--assume-timezone", "noon"],
        ["convert", "SRC", "out.openloom", "--assume-timezone", "+15:00"],
        ["convert", "SRC", "out.openloom", "--exported-at", "2026-01-01T00:00:00"],
        ["convert", "SRC", "out.openloom", "--findings", "none"],
        ["convert", "SRC", "out.openloom", "--findings", "0"],
        ["convert", "SRC", "out.openloom", "--residue", "somewhere"],
        ["convert", "SRC", "-", "--to", "cards", "--residue", "beside"],
        ["convert", "SRC", "out.cards", "--report", "out.cards.loomconv-residue.json"],
        ["convert", "SRC", "-", "--to", "openloom-2", "--report", "-"],
        ["convert", "SRC", "out.openloom", "--report", "SRC"],
        ["convert", "SRC", "out.openloom", "--report", "./out.openloom"],
        ["convert", "SRC", "out.openloom", "--report", "no/such/folder/report.json"],
        ["convert", "SRC", "no/such/folder/out.openloom"],
        ["convert", "SRC", "."],
    ],
)
def test_wrong_usage(
    run: Run, simple: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = simple.read_bytes()
    result = run(*(str(simple) if each == "SRC" else each for each in arguments))
    assert result.exit_code == 2
    assert result.stderr
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["simple.openloom"]
    assert simple.read_bytes() == before


def test_an_unknown_format_names_the_known_ones(run: Run, simple: Path, tmp_path: Path) -> None:
    result = run("convert", simple, tmp_path / "x", "--to", "odd-format")
    assert "Installed formats: cards, openloom-2" in result.stderr


def test_without_private_parts(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "x.openloom"
    source = FIXTURES / "full.openloom"
    assert (
        run(
            "convert", source, target, "--without", "system-context, agent-prompts", "--without", "raw-responses"
        ).exit_code
        == 0
    )
    text = target.read_text("utf-8")
    assert "systemContext" not in text
    assert "systemPrompt" not in text
    assert "rawResponse" not in text
    assert "systemContext" in source.read_text("utf-8")


def test_secrets_stay_behind_unless_asked_for(run: Run, tmp_path: Path) -> None:
    source, target = FIXTURES / "secrets.openloom", tmp_path / "x.openloom"
    result = run("convert", source, target)
    assert result.exit_code == 0
    assert "privacy.secret-dropped" in result.stderr
    assert '"api_key"' not in target.read_text("utf-8")
    run("convert", source, target, "--keep-secrets")
    assert '"api_key"' in target.read_text("utf-8")


def test_the_time_of_the_export(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cards, target = tmp_path / "a.cards", tmp_path / "x.openloom"
    cards.write_text('{"cards": [["a", null, "A"]]}', "utf-8")

    def exported(*more: str) -> str | None:
        assert run("convert", cards, target, *more).exit_code == 0
        moment: str | None = json.loads(target.read_text("utf-8")).get("exportedAt")
        return moment

    assert exported() is None
    assert exported("--exported-at", "2026-03-01T20:00:00+02:00") == "2026-03-01T18:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert exported() == "1970-01-02T00:00:00Z"
    assert exported("--exported-at", "2026-03-01T18:00:00Z") == "2026-03-01T18:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert run("convert", cards, target).exit_code == 2


def test_zones_are_handed_on(run: Run, simple: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def convert(source: str, target: str, *, options: Any, report: Any, **_: Any) -> Conversion:
        seen.append(options.assume_timezone)
        return Conversion(report, [target])

    monkeypatch.setattr("loomconv.api.convert", convert)
    for zone in ("+02:00", "-0530", "utc", "Z"):
        assert run("convert", simple, tmp_path / "x.openloom", "--assume-timezone", zone).exit_code == 0
    assert seen == ["+02:00", "-05:30", "+00:00", "+00:00"]


def test_one_tree_of_several(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "x.openloom"
    assert run("convert", FIXTURES / "full.openloom", target, "--tree", "talk").exit_code == 0
    assert [tree["id"] for tree in json.loads(target.read_text("utf-8"))["trees"]] == ["talk"]


def test_several_files_are_said(run: Run, tmp_path: Path) -> None:
    result = run("convert", FIXTURES / "several-trees.openloom", tmp_path / "x.cards", "--to", "cards")
    assert result.exit_code == 0
    assert "and 2 more files (cards)" in result.stderr
    assert sorted(path.name for path in tmp_path.glob("*.cards")) == ["x-2.cards", "x-3.cards", "x.cards"]
    refused = run("convert", FIXTURES / "several-trees.openloom", "-", "--to", "cards")
    assert refused.exit_code == 2
    assert "--tree" in refused.stderr


def test_text_of_the_file_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "x.cards"
    source.write_text('{"cards": [["a\\u001b[31m", "gone\\u202e", "A"]]}', "utf-8")
    result = run("convert", source, tmp_path / "x.openloom")
    assert result.exit_code == 0
    assert "\\x1b[31m" in result.stderr
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
