"""Appending to a log: cut at any byte it is read up to the last boundary, and goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from loomconv.api import load
from loomconv.errors import LoomconvError, UnreadableFile, UsageFault
from loomconv.report import Report
from loomconv.writelog import Writer
from tests.made import link, node


def _write(log: Writer) -> None:
    log.put_tree({"id": "t", "title": "T 🧵"})
    log.put_node("t", node("a", "one\u2028"))
    log.commit()
    log.put_node("t", node("b", "two"))
    log.put_edge("t", link("a", "b"))
    log.commit()
    log.put_node("t", node("c", "three"))


def _codes(path: Path) -> dict[str, int]:
    report = Report()
    load(path, report=report)
    return dict(report.codes)


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl"
    with Writer(path, {"title": "mine"}) as log:
        _write(log)
        assert log.commit() == 3
    document = load(path)
    assert list(document.trees[0].nodes) == ["a", "b", "c"]
    assert document.fields["title"] == "mine"
    assert not [code for code in _codes(path) if code.startswith("write-log")]


def test_cut_at_any_byte_everything_up_to_the_last_boundary_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl"
    with Writer(path) as log:
        _write(log)
    data = path.read_bytes()
    for cut in range(1, len(data) + 1):
        path.write_bytes(data[:cut])
        whole = data[:cut].rfind(b"\n") + 1
        nodes = [name for name, mark in (("a", b"one"), ("b", b"two"), ("c", b"three")) if mark in data[:whole]]
        if not whole:
            with pytest.raises(LoomconvError):
                load(path, format="loom-write-log")
            continue
        report = Report()
        document = load(path, report=report, format="loom-write-log")
        assert [node_id for tree in document.trees for node_id in tree.nodes] == nodes
        assert report.codes["write-log.torn"] == (whole < cut)
        assert report.codes["write-log.digest"] == 0


def test_cut_at_any_byte_it_goes_on_behind_the_last_boundary(tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl"
    with Writer(path) as log:
        _write(log)
    data = path.read_bytes()
    for cut in range(0, len(data) + 1, 3):
        path.write_bytes(data[:cut])
        with Writer(path) as log:
            log.put_tree({"id": "t", "title": "again"})
            log.put_node("t", node("z", "last"))
            log.commit()
        whole = data[: data[:cut].rfind(b"\n") + 1]
        assert path.read_bytes().startswith(whole)
        codes = _codes(path)
        assert not {"write-log.torn", "write-log.digest", "write-log.uncommitted", "write-log.glued"} & codes.keys()
        assert "z" in load(path).trees[0].nodes


def test_a_program_that_is_killed_loses_nothing_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl"
    program = textwrap.dedent(
        """
        import sys
        from loomconv.writelog import Writer
        log = Writer(sys.argv[1])
        log.put_tree({"id": "t", "title": ""})
        for number in range(10**9):
            log.put_node("t", {"id": str(number), "content": [], "author": {"role": "human"}})
            if number == 50:
                print("far enough", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    nodes = list(load(path, format="loom-write-log").trees[0].nodes)
    assert len(nodes) > 50
    assert nodes == [str(number) for number in range(len(nodes))]


def test_a_file_that_is_no_log_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "story.openloom"
    path.write_text('{"format":"open-loom"}\n')
    with pytest.raises(UnreadableFile, match="no write-boundary log"):
        Writer(path)
    assert path.read_text() == '{"format":"open-loom"}\n'
    with pytest.raises(UsageFault, match="cannot be opened"):
        Writer(tmp_path)


def test_every_kind_of_record(tmp_path: Path) -> None:
    path = tmp_path / "a.loom.jsonl"
    log = Writer(path)
    _write(log)
    log.put_agent("x", {"name": "X", "type": "human"})
    log.put_document({"format": "open-loom", "version": "2.0", "agents": {"x": {"name": "X", "type": "human"}}})
    log.delete(tree="t", edge=link("a", "b"))
    log.delete(tree="t", node="b")
    log.append("cursor", at="a")
    log.close()
    log.close()
    with pytest.raises(UsageFault, match="closed"):
        log.commit()
    document: Any = load(path)
    assert list(document.trees[0].nodes) == ["a", "c"]
    assert document.fields["agents"] == {"x": {"name": "X", "type": "human"}}
    assert document.fields["extensions"]["loom-write-log"]["records"] == [{"op": "cursor", "at": "a"}]
