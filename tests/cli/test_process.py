"""The program as a process of its own: streams, statuses, what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import FIXTURES


def loomconv(
    *arguments: str | Path, stdin: bytes = b"", python: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *python, "-m", "loomconv", *map(str, arguments)]
    env = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"} | environment
    return subprocess.run(command, input=stdin, capture_output=True, env=env, timeout=60, check=False)


def test_a_pipe_gives_the_same_bytes() -> None:
    data = (FIXTURES / "full.openloom").read_bytes()
    done = loomconv("convert", "-", "-", "--to", "openloom-2", stdin=data)
    assert (done.returncode, done.stdout) == (0, data)
    assert b"\x1b" not in done.stderr


def test_bad_input_gives_a_message(tmp_path: Path) -> None:
    target = tmp_path / "out.openloom"
    done = loomconv("convert", FIXTURES / "broken-trailing-comma.openloom", target)
    assert done.returncode == 1
    assert done.stdout == b""
    assert b"line 74" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not target.exists()


def test_the_traceback_is_shown_on_request(tmp_path: Path) -> None:
    done = loomconv("inspect", tmp_path / "no-such-file", LOOMCONV_DEBUG="1")
    assert done.returncode == 1
    assert b"Traceback" in done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    trees = [
        {"id": f"t{i}", "title": "T" * 60, "rootNodeIds": ["a"], "edges": [],
         "nodes": {"a": {"id": "a", "content": [{"type": "text", "text": "x"}], "author": {"role": "human"}}}}
        for i in range(2000)
    ]  # fmt: skip
    document = json.dumps({"format": "open-loom", "version": "2.0", "trees": trees}).encode()
    command = [sys.executable, "-m", "loomconv", "inspect", "-", "--json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(document)
        process.stdin.close()
        errors = process.stderr.read()
        assert (process.wait(timeout=60), errors) == (0, b"")


def test_a_poor_locale_is_no_error() -> None:
    data = (FIXTURES / "escapes.openloom").read_bytes()
    done = loomconv("inspect", "-", stdin=data, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert done.returncode == 0
    assert b"e\\u0301" in done.stdout


def test_the_version_costs_no_plugins() -> None:
    done = loomconv("--version", python=("-X", "importtime"))
    imported = {line.rpartition(b"|")[2].strip().split(b".")[0] for line in done.stderr.splitlines()}
    assert b"click" in imported
    assert not imported & {b"msgspec", b"jsonschema", b"PIL", b"magic", b"pluggy", b"loomconv_plugins", b"rich"}


def test_a_conversion_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    done = loomconv("convert", FIXTURES / "minimal.openloom", tmp_path / "x.openloom", python=("-X", "importtime"))
    assert done.returncode == 0
    imported = {line.rpartition(b"|")[2].strip().split(b".")[0] for line in done.stderr.splitlines()}
    assert b"msgspec" in imported
    assert not imported & {b"jsonschema", b"jsonschema_rs", b"PIL", b"magic", b"rich"}
