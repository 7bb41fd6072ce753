"""Damaged ledgers and archives, failing disks."""

from __future__ import annotations

import sqlite3
import zipfile
from pathlib import Path

import pytest

from tests.batch.harness import fill, loom, refused, run, statuses, titles


@pytest.mark.parametrize("name", ["ledger.sqlite", "running.lock"])
def test_a_damaged_ledger_is_told(tmp_path: Path, name: str) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-2", "-j1")
    (out / "loomconv-batch" / name).write_bytes(b"no database " * 1000)
    said = refused(source, out, "--to", "openloom-2")
    assert f"{name}: the ledger of the batch is damaged" in said
    assert "Move it away" in said
    (out / "loomconv-batch" / name).unlink()
    assert run(source, out, "--to", "openloom-2", "-j1", "--overwrite")[0] == 0


def test_a_ledger_that_is_damaged_inside_is_told(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-2", "-j1")
    path = out / "loomconv-batch" / "ledger.sqlite"
    path.write_bytes(path.read_bytes()[:4096] + b"\xaa" * (path.stat().st_size - 4096))
    assert "is damaged" in refused(source, out, "--to", "openloom-2")
    assert "is damaged" in refused(source, out, "--to", "openloom-2", "--dry-run")


def test_a_ledger_of_version_1_is_gone_on_with(tmp_path: Path) -> None:
    source, out = fill(tmp_path / "looms", "a.openloom"), tmp_path / "out"
    run(source, out, "--to", "openloom-2", "-j1")
    with sqlite3.connect(out / "loomconv-batch" / "ledger.sqlite") as rows:
        rows.executescript("DROP TABLE outputs; PRAGMA user_version=1")
    rows.close()
    (source / "a.openloom").write_bytes(loom("changed"))
    assert run(source, out, "--to", "openloom-2", "-j1")[0] == 0
    assert titles(out) == {"a.openloom": "changed"}


def test_encrypted_members_are_told(tmp_path: Path) -> None:
    path = tmp_path / "looms.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.openloom", "b.openloom", "A.openloom"):
            archive.writestr(name, loom(name))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the directory says that the first one is encrypted
    path.write_bytes(bytes(data))
    status, _, err = run(path, tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 4
    assert "looms.zip/a.openloom: It is encrypted. Extract it with its password." in err
    assert statuses(tmp_path / "out") == {
        "looms.zip/a.openloom": "failed", "looms.zip/b.openloom": "done", "looms.zip/A.openloom": "done",
    }  # fmt: skip


def test_twins_in_an_archive_are_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "looms.zip", "w") as archive:
        for name in ("a.openloom", "A.openloom", "b.openloom"):
            archive.writestr(name, loom(name))
    status, _, err = run(tmp_path / "looms.zip", tmp_path / "out", "--to", "openloom-2", "-j1")
    assert status == 4
    assert "looms.zip/A.openloom: Its name is that of another file in the archive." in err
