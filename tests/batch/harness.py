"""What the tests of batches share: looms, runs from the command line, and what a report says."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loomconv import jsontext
from loomconv.api import load
from loomconv.cli.program import program
from tests.made import link, node

FIXTURES = Path(__file__).parents[2] / "fixtures"


def loom(title: str = "A loom", **fields: Any) -> bytes:
    nodes = {"a": node("a", title), "b": node("b", "more")}
    tree = {"id": "t", "title": title, "rootNodeIds": ["a"], "nodes": nodes, "edges": [link("a", "b")], **fields}
    return jsontext.encode({"format": "open-loom", "version": "2.0", "trees": [tree]})


def several(*titles: str) -> bytes:
    trees = [
        {"id": f"t{number}", "title": title, "rootNodeIds": ["a"], "nodes": {"a": node("a", title)}, "edges": []}
        for number, title in enumerate(titles)
    ]
    return jsontext.encode({"format": "open-loom", "version": "2.0", "trees": trees})


def run(*arguments: Any) -> tuple[int, str, str]:
    done = CliRunner().invoke(program, ["batch", *map(str, arguments)], standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.return_value, done.stdout, done.stderr


def report(target: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((target / "loomconv-batch" / "report.json").read_text("utf-8"))
    return found


def statuses(target: Path) -> dict[str, str]:
    return {each["name"]: each["status"] for each in report(target)["files"]}


posix = pytest.mark.skipif(sys.platform == "win32", reason="names and permissions are others there")


def fill(root: Path, *names: str) -> Path:
    """A folder with a loom for each name, titled by it."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(loom(name))
    return root


def refused(*arguments: Any) -> str:
    """What is said of a run that cannot even begin."""
    done = CliRunner().invoke(program, ["batch", *map(str, arguments)])
    assert done.exit_code == 2, done.output
    assert "fault of loomconv" not in done.stderr
    return done.stderr


def titles(target: Path) -> dict[str, str]:
    """What is in each output, by the name of its source."""
    found = {}
    for each in report(target)["files"]:
        for output in each.get("outputs", [])[:1]:
            found[each["name"]] = load(target / output).trees[0].fields["title"]
    return found


def wait_for(condition: Any) -> None:
    """Wait until it holds, and half a minute at most."""
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.1)
