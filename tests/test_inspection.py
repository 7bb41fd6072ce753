from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from loomconv.errors import UnknownFormat
from loomconv.inspection import inspect_file
from loomconv.storage import open_source

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openloom-2"


def test_what_a_document_holds() -> None:
    found = inspect_file(FIXTURES / "full.openloom")
    assert (found.name, found.format, found.container) == ("full.openloom", "openloom-2", "plain")
    assert found.confidence is not None
    assert found.confidence.score == 100
    assert found.size == (FIXTURES / "full.openloom").stat().st_size
    tale = found.trees[0]
    assert (tale.title, tale.mode, tale.nodes, tale.roots, tale.notes) == ("The harbour at night", "buffer", 9, 2, 2)
    assert (tale.depth, tale.leaves, tale.branch_points, tale.current, tale.current_level) == (4, 3, 1, "d", 4)
    assert tale.authors == {"human": 5, "model": 3, "mixed": 1}
    assert tale.models == {"tide-1": 3}
    assert tale.media["image"] == {"embedded": 1}
    assert (tale.first_time, tale.last_time) == ("2026-03-01T18:00:00Z", "2026-03-01T18:05:00Z")
    assert found.private == {"system_prompts": 1, "agent_prompts": 1, "raw_responses": 3, "secrets": 0}


def test_json_is_plain_and_free_of_paths() -> None:
    value = inspect_file(FIXTURES / "full.openloom").to_json()
    text = json.dumps(value)
    assert json.loads(text) == value
    assert str(FIXTURES) not in text
    assert value["trees"][0]["preview"][0]["node"] == "r1"
    assert value["findings"] == {"error": 0, "warning": 0, "notice": 3}


def test_secrets_are_counted_and_not_told() -> None:
    path = FIXTURES / "secrets.openloom"
    found = inspect_file(path)
    assert found.private["secrets"] == 2
    text = json.dumps(found.to_json())
    document = json.loads(path.read_text("utf-8"))
    assert document["trees"][0]["extensions"]["fixture-maker"]["settings"]["api_key"] not in text


def test_containers_and_findings() -> None:
    found = inspect_file(gzip.compress((FIXTURES / "repair-dangling-edges.openloom").read_bytes()))
    assert found.container == "gzip"
    assert found.report.codes["repair.missing-source"] == 2
    assert found.to_json()["codes"]["repair.missing-target"] == 1


def test_a_given_format_and_an_open_source() -> None:
    with open_source(FIXTURES / "minimal.openloom") as source:
        found = inspect_file(source, format="openloom-2", preview=False)
        assert found.confidence is None
        assert found.candidates == ()
        assert found.trees[0].preview == []
        assert found.to_json()["format"]["reason"] is None
        assert len(source.data) == found.size


def test_no_loom_at_all() -> None:
    with pytest.raises(UnknownFormat):
        inspect_file(b'{"neither": "this"}')
