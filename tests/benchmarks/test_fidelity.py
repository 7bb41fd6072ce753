"""The table of which files come home from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import fidelity

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_every_sound_file_has_a_grade_for_every_format() -> None:
    paths = [FIXTURES / "openloom-2" / "full.openloom", FIXTURES / "miniloom" / "cycle.json"]
    found = fidelity.grades(paths)
    assert {via for _, via in found} == {"aspen-grove", "loom-write-log", "miniloom", "openloom-1", "socketteer"}
    assert all(files == {"full.openloom": "exact"} for files in found.values())


def test_what_does_not_come_home_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert fidelity.main([str(FIXTURES / "openloom-2" / "gap-a02-duplicate-key.openloom")]) == 0
    assert "mended: gap-a02-duplicate-key.openloom" in capsys.readouterr().out
    assert fidelity.main([str(FIXTURES / "openloom-2" / "minimal.openloom")]) == 0
    assert "mended" not in capsys.readouterr().out
    monkeypatch.setattr(fidelity, "grade", lambda path, home, via: "not exact")
    assert fidelity.main([str(FIXTURES / "openloom-2" / "minimal.openloom")]) == 1
    assert "not exact: minimal.openloom" in capsys.readouterr().out
