"""What a batch says when it is done: report, table, page, status."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from loomconv.batch.names import safe_name
from tests.batch.harness import FIXTURES, fill, loom, refused, report, run


def test_the_report_says_what_needs_a_look(looms: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(looms, out, "--to", "openloom-2", "-j1")
    found = report(out)
    schema = json.loads(
        (Path(__file__).parents[2] / "schemas/loomconv_schemas/batch-report.schema.json").read_text("utf-8")
    )
    jsonschema.validate(found, schema)
    assert found["totals"]["files"] == 7
    assert found["formats"]["miniloom"]["files"] == 1
    assert found["codes"]["read.truncated"]["examples"][0]["name"] == "cut.openloom"
    assert {each["name"] for each in found["files"] if each.get("needs_a_look")} >= {"broken.json", "cut.openloom"}
    rows = list(csv.DictReader(io.StringIO((out / "loomconv-batch" / "report.csv").read_text("utf-8"))))
    assert [row["name"] for row in rows] == [each["name"] for each in found["files"]]
    assert next(row for row in rows if row["name"] == "broken.json")["needs a look"] == "yes"


def test_names_in_the_page_are_no_markup_and_in_the_table_no_formulas(tmp_path: Path) -> None:
    source, out = tmp_path / "looms", tmp_path / "out"
    source.mkdir()
    (source / "=cmd()<script>alert(1)<%2fscript>.openloom").write_bytes(loom())
    run(source, out, "--to", "openloom-2", "-j1")
    page = (out / "loomconv-batch" / "report.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert page.count("<script>") == 1
    assert "http://" not in page
    assert "https://" not in page
    assert "\n'=cmd()" in (out / "loomconv-batch" / "report.csv").read_text("utf-8")


def test_strict_is_status_3_when_nothing_could_be_written(tmp_path: Path) -> None:
    source = tmp_path / "looms"
    source.mkdir()
    (source / "a.openloom").write_bytes((FIXTURES / "openloom-2" / "dialogue.openloom").read_bytes())
    assert run(source, tmp_path / "out", "--to", "socketteer", "--strict", "-j1")[0] == 3
    assert not list((tmp_path / "out").glob("*.json"))
    (source / "broken.json").write_bytes(b'{"root":,}')
    assert run(source, tmp_path / "out", "--to", "socketteer", "--strict", "-j1")[0] == 1


def test_the_report_goes_to_another_file_as_well(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "a.openloom")
    run(source, tmp_path / "out", "--to", "openloom-1", "-j1", "--report", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text("utf-8")) == report(tmp_path / "out")

    assert "Make the folder first" in refused(
        source, tmp_path / "out", "--to", "openloom-1", "--report", tmp_path / "missing" / "r.json"
    )


def test_a_disk_that_fails_is_no_reason_to_pass_a_file_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom", "b.openloom"), tmp_path / "out"
    real = Path.open

    def failing(path: Path, *more: Any, **options: Any) -> Any:
        if path.name == "a.openloom" and path.parent.name == "looms":
            raise OSError(5, "Input/output error", str(path))
        return real(path, *more, **options)

    monkeypatch.setattr(Path, "open", failing)
    status, _, err = run(source, out, "--to", "openloom-1", "-j1")
    assert status == 4
    assert "a.openloom: The file cannot be opened (Input/output error)" in err


def test_no_room_for_an_archive_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def __init__(self, max_size: int) -> None:
            super().__init__()

        def write(self, data: Any, /) -> int:
            raise OSError(28, "No space left on device")

    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(fill(tmp_path / "looms", "a.openloom"), "looms")
    monkeypatch.setattr("tempfile.SpooledTemporaryFile", Full)
    status, _, err = run(path, tmp_path / "out", "--to", "openloom-1", "-j1")
    assert status == 1
    assert "cannot be unpacked to a temporary file (No space left on device)" in err


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "=a.openloom", "+b.openloom", "@c.openloom", "-d.openloom", "＝e.openloom")
    run(source, tmp_path / "out", "--to", "openloom-1", "-j1")
    with open(tmp_path / "out" / "loomconv-batch" / "report.csv", encoding="utf-8", newline="") as stream:  # noqa: PTH123
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell[:1] in set("=+-@＝")]


def test_the_page_says_how_many_it_does_not_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomconv.batch.report._MOST_ROWS", 2)
    source, out = fill(tmp_path / "looms", "a.openloom", "b.openloom", "c.openloom"), tmp_path / "out"
    (source / "z.json").write_bytes(b'{"root":,}')
    run(source, out, "--to", "openloom-1", "-j1")
    page = (out / "loomconv-batch" / "report.html").read_text("utf-8")
    data = json.loads(page.partition("const DATA = ")[2].partition(";\n")[0])
    assert [each["name"] for each in data["files"]] == ["z.json", "a.openloom"]
    assert data["left_out"] == 2
    assert "are only in report.csv" in page


def test_titles_cannot_pose_as_others(tmp_path: Path) -> None:
    assert safe_name("a\u202egnp\u2066.exe") == "agnp.exe"


def test_a_ledger_among_the_sources_is_not_read(tmp_path: Path) -> None:
    source = fill(tmp_path / "looms", "a.openloom")
    for _ in range(2):
        run(source, tmp_path / "out", "--to", "openloom-1", "-j1", "--ledger", source / "ledger")
    found = json.loads((source / "ledger" / "report.json").read_text("utf-8"))
    assert [each["name"] for each in found["files"]] == ["a.openloom"]
