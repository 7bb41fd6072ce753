"""The report: complete counts, a limit of single findings, and the shape that its schema promises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from loomconv import api, jsontext
from loomconv.errors import (
    AmbiguousFormat,
    ConversionRefused,
    InvalidDocument,
    LimitExceeded,
    LoomconvError,
    Place,
    PluginFault,
    TruncatedInput,
    UnknownFormat,
    UnreadableFile,
    UnsafeArchive,
    UsageFault,
)
from loomconv.options import ConversionOptions
from loomconv.report import CODES, Code, Finding, Report, add_failure
from loomconv.schema import load_schema, validate

SCHEMA = load_schema("loomconv_schemas", "report.schema.json")


def faults(report: Report) -> list[Any]:
    value = jsontext.decode(jsontext.encode(report.to_json()))
    return validate(value, SCHEMA)


def test_severity_and_message_come_from_the_vocabulary() -> None:
    report = Report()
    report.add("read.bom")
    report.add(
        "loss.meta", "note is not written.", severity="warning", tree="t", node="n", pointer="/meta/note", value="x"
    )
    assert report.findings[0] == Finding("read.bom", "warning", CODES["read.bom"].meaning)
    assert report.findings[1] == Finding("loss.meta", "warning", "note is not written.", "t", "n", "/meta/note", "x")
    assert report.severities == {"warning": 2}
    assert report.losses() == 1
    assert list(report.of_severity("warning")) == report.findings
    assert not list(report.of_severity("error"))


def test_a_code_that_nobody_declared_is_a_fault_of_the_plugin() -> None:
    report = Report()
    with pytest.raises(PluginFault, match=r"'my\.code' is not declared"):
        report.add("my.code")
    report.declare({"my.code": Code("notice", "Mine.")})
    report.add("my.code")
    assert report.findings[0].message == "Mine."
    assert "my.code" not in CODES, "the vocabulary is the report's own"
    assert "my.code" not in Report().vocabulary


@pytest.mark.parametrize("limit, kept", [(None, 5), (3, 3), (0, 0)])
def test_the_limit_bounds_findings_and_not_counts(limit: int | None, kept: int) -> None:
    report = Report(limit=limit)
    for number in range(5):
        report.add("read.bom", value=number)
    report.add("read.deep")
    assert [finding.value for finding in report.findings if finding.code == "read.bom"] == list(range(kept))
    assert len([finding for finding in report.findings if finding.code == "read.deep"]) == min(1, kept or 0)
    assert report.codes == {"read.bom": 5, "read.deep": 1}
    assert report.to_json()["counts"]["codes"] == {"read.bom": 5, "read.deep": 1}
    assert not faults(report)


def test_observers_see_what_is_kept() -> None:
    seen: list[Finding] = []
    report = Report(limit=1, observers=[seen.append])
    report.add("read.bom")
    report.add("read.bom")
    assert seen == report.findings and len(seen) == 1


def test_the_report_as_json() -> None:
    report = Report()
    report.count("nodes", 3)
    report.count("nodes")
    report.source = {"name": "x", "format": "openloom-2", "container": "plain"}
    report.add("read.truncated", place=Place(3, 7, 41), value=[1])
    value = report.to_json()
    assert value == {
        "version": "1",
        "source": {"name": "x", "format": "openloom-2", "container": "plain"},
        "target": None,
        "counts": {
            "nodes": 4,
            "findings": {"error": 1, "warning": 0, "notice": 0},
            "codes": {"read.truncated": 1},
        },
        "findings": [
            {
                "code": "read.truncated",
                "severity": "error",
                "message": CODES["read.truncated"].meaning,
                "value": [1],
                "place": {"line": 3, "column": 7, "byte": 41},
            }
        ],
    }
    assert not faults(report)


def test_every_code_is_well_formed() -> None:
    for code, (severity, meaning) in CODES.items():
        assert re.fullmatch(r"[a-z]+\.[a-z0-9-]+", code), code
        assert severity in ("error", "warning", "notice")
        assert meaning[0].isupper() and meaning.endswith("."), code
        report = Report()
        report.add(code)
        assert not faults(report)


def test_no_two_codes_mean_the_same() -> None:
    meanings = [code.meaning for code in CODES.values()]
    assert len(set(meanings)) == len(meanings)


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "fixtures").rglob("*.openloom*")), ids=lambda p: p.name
)
def test_reports_of_real_conversions_are_valid(path: Path, tmp_path: Path) -> None:
    for target in ("openloom-1", "socketteer", "openloom-2"):
        report = Report()
        try:
            api.convert(path, tmp_path / f"out.{target}", target_format=target, report=report)
        except LoomconvError as error:
            add_failure(report, error)
        assert not faults(report)
        text = jsontext.encode(report.to_json())
        assert str(tmp_path).encode() not in text and str(path.parent).encode() not in text, "no absolute path"


@pytest.mark.parametrize(
    "error, code",
    [
        (UnknownFormat("x"), "detect.unknown-format"),
        (AmbiguousFormat("x"), "detect.ambiguous"),
        (TruncatedInput("x"), "read.truncated"),
        (LimitExceeded("x"), "read.limit"),
        (UnsafeArchive("x"), "read.unsafe-archive"),
        (UnreadableFile("x"), "read.unreadable"),
        (UnreadableFile("x", place=Place(1, 2, 1)), "read.syntax"),
        (InvalidDocument("x", pointer="/format"), "read.invalid"),
        (ConversionRefused("x"), "convert.refused"),
        (UsageFault("x"), "convert.impossible"),
        (PluginFault("x"), "convert.plugin-fault"),
        (KeyError("words of the file"), "convert.fault"),
    ],
)
def test_what_ended_a_conversion_is_its_last_finding(error: Exception, code: str) -> None:
    report = Report()
    report.target = {"name": "out"}
    add_failure(report, error)
    (finding,) = report.findings
    assert (finding.code, finding.severity) == (code, "error")
    assert "words of the file" not in finding.message
    assert report.target is None
    assert not faults(report)


def test_strict_counts_every_loss(fixtures: Path, tmp_path: Path) -> None:
    report = Report(limit=0)
    with pytest.raises(ConversionRefused, match=r"\(\d+ losses\)"):
        api.convert(
            fixtures / "openloom-2" / "full.openloom",
            tmp_path / "out.json",
            target_format="socketteer",
            options=ConversionOptions(strict=True),
            report=report,
        )
    assert report.losses() > 10
    assert not list(tmp_path.iterdir()), "nothing is written"
