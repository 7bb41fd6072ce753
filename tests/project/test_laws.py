"""Projection fits, and restoration undoes it: for documents and targets of all kinds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.capabilities import Capabilities
from loomconv.model import Document
from loomconv.project import project_document, restore_document
from loomconv.report import Report
from tests.made import as_json, document_from, documents, examples, spelled
from tests.project.journeys import FORGETTING, KEEPING, assert_fits, derived, there_and_back, through_file

SETTINGS = examples(6)


def comparable(document: Document) -> dict[str, Any]:
    """The document's values; the order of keys is not compared."""
    return as_json(document)


@pytest.mark.parametrize("name", [*KEEPING, *(f"{each} (forgetting)" for each in FORGETTING)])
@SETTINGS
@given(value=documents())
def test_what_is_projected_fits(name: str, value: dict[str, Any]) -> None:
    capabilities = FORGETTING[name.removesuffix(" (forgetting)")] if "(" in name else KEEPING[name]
    document = document_from(value)
    for part in project_document(document, capabilities, Report(), derived=derived):
        assert_fits(part, capabilities)
    assert spelled(as_json(document)) == spelled(value), "the source document stays as it is"


@pytest.mark.parametrize("made_up", [False, True])
@pytest.mark.parametrize("name", KEEPING)
@SETTINGS
@given(value=documents())
def test_what_went_out_comes_back(name: str, made_up: bool, value: dict[str, Any]) -> None:
    document = document_from(value)
    back, report = there_and_back(document, KEEPING[name], made_up=made_up and name != "everything")
    assert spelled(comparable(back)) == spelled(value)
    assert not report.codes["restore.edited"] and not report.codes["restore.missing"]


@SETTINGS
@given(value=documents(), names=st.lists(st.sampled_from(sorted(KEEPING)), min_size=2, max_size=3))
def test_a_longer_journey_is_undone_as_well(value: dict[str, Any], names: list[str]) -> None:
    document = document_from(value)
    for name in names:
        document, _ = there_and_back(document, KEEPING[name])
    assert spelled(comparable(document)) == spelled(value)


@pytest.mark.parametrize("name", KEEPING)
@SETTINGS
@given(value=documents())
def test_a_projection_is_stable(name: str, value: dict[str, Any]) -> None:
    """The same document gives the same files, and looking twice reports once."""
    document = document_from(value)
    results = []
    for _ in range(2):
        report = Report()
        parts = project_document(document, KEEPING[name], report)
        first = [spelled(as_json(part)) for part in parts]
        counted = dict(report.codes)
        assert [spelled(as_json(part)) for part in parts] == first
        assert dict(report.codes) == counted
        results.append((first, report.to_json()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", KEEPING)
@SETTINGS
@given(value=documents())
def test_a_projection_of_a_projection_changes_nothing_more(name: str, value: dict[str, Any]) -> None:
    capabilities = KEEPING[name]
    for part in project_document(document_from(value), capabilities, Report()):
        back = through_file(part, capabilities)
        report = Report()
        again = project_document(back, capabilities, report)
        assert len(again) == 1
        assert spelled(as_json(again[0])["trees"]) == spelled(as_json(back)["trees"])
        assert not report.losses()


@pytest.mark.parametrize("name", FORGETTING)
@SETTINGS
@given(value=documents())
def test_what_cannot_be_kept_is_a_warning_and_nothing_is_lost_in_silence(name: str, value: dict[str, Any]) -> None:
    report = Report(limit=None)
    document = document_from(value)
    parts = project_document(document, FORGETTING[name], report, derived=derived)
    back = [through_file(part, FORGETTING[name], derived(part.trees[0])) for part in parts]
    losses = [finding for finding in report.findings if finding.code.startswith("loss.")]
    quiet = {"loss.extra-tree"}
    assert all(finding.severity == "warning" for finding in losses if finding.code not in quiet)
    if not losses:
        # What is said about the story is the same; what differs says nothing (defaults, this program's name).
        for before, after in zip(document.trees, (each for part in back for each in part.trees), strict=True):
            assert {key: _said(each) for key, each in after.nodes.items()} == {
                key: _said(each) for key, each in before.nodes.items()
            }
            assert after.fields | _saying(before.fields) == after.fields
            assert after.graph.roots() == before.graph.roots() or len(before.nodes) == len(after.nodes)
        assert back[0].fields | _saying(document.fields) == back[0].fields


def _saying(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", [], {}) and key not in TIMES}


TIMES = ("createdAt", "updatedAt")


def _said(node: Any) -> bytes:
    """A node without what says nothing: nulls, empty objects, defaults of flags."""
    said = {key: value for key, value in node.items() if value not in (None, {}) or key in ("content", "author")}
    if "meta" in said:
        said["meta"] = {
            key: value
            for key, value in said["meta"].items()
            if value
            not in (
                None,
                [],
            )
            and value is not False
        }
        if not said["meta"]:
            del said["meta"]
    said["author"] = {key: value for key, value in said["author"].items() if value is not None}
    from loomconv.model.times import to_ms

    if said.get("createdAt") is not None:
        said["createdAt"] = to_ms(said["createdAt"])
    return spelled(said)


@pytest.mark.parametrize("name", KEEPING)
@SETTINGS
@given(value=documents())
def test_without_residue_nothing_is_set_aside(name: str, value: dict[str, Any]) -> None:
    report = Report()
    parts = project_document(document_from(value), KEEPING[name], report, keep=False)
    for part in parts:
        text = spelled(as_json(part))
        assert b'"residue"' not in text and b'"written"' not in text and b'"part"' not in text
    quiet = {"loss.extra-tree", "loss.depth"}
    for finding in report.findings:
        assert finding.severity == "warning" or finding.code in quiet


def test_restoring_what_has_no_residue_changes_nothing() -> None:
    value = {"format": "open-loom", "version": "2.0", "trees": []}
    document = document_from(value)
    restore_document(document, Report())
    assert as_json(document) == value


def test_capabilities_are_plain_data() -> None:
    declared = Capabilities(tree_fields=("id",), depth=5).to_json()
    assert declared["tree_fields"] == ["id"]
    assert declared["depth"] == 5
    assert declared["parents"] == "one"
    assert Capabilities(meta="any").holds("any", "anything")
    assert not Capabilities().holds(("a",), "b")
