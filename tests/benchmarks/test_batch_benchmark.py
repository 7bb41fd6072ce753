"""The folder of the batch benchmark: every file has the status that it is said to have."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import batch, growth


@pytest.mark.slow
def test_the_outcomes_are_as_foretold(capsys: pytest.CaptureFixture[str]) -> None:
    assert batch.main(["--files", "60", "--kills", "1"]) == 0
    out = capsys.readouterr().out
    assert "60 files" in out
    assert out.count("0 wrong outcomes") == 3


def test_every_kind_of_file_is_there(tmp_path: Path) -> None:
    expected = batch.make_folder(tmp_path, 420)
    assert set(expected.values()) == {"done", "failed", "partly", "skipped"}
    assert len(expected) == 420


def test_growth_is_printed_by_size_and_shape(capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.main(["--nodes", "200"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert all("| 200 |" in line for line in lines[2:])
