"""Checks with large looms: deep, wide, in linear time, and the same bytes in every process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from loomconv.compare import compare_values
from loomconv.errors import LoomconvError
from loomconv.options import ConversionOptions
from loomconv.testing.looms import chain, link, loom, node, star
from loomconv.testing.problems import Problem, problems_of
from loomconv.testing.subject import Subject

__all__ = ["deep", "deterministic", "linear", "wide"]

_MANY: Final = 3_000
# Eight times as many nodes take eight times as long, and 64 times as long where the time grows with the square.
_FEW: Final = 1_000
_GROWTH: Final = 8
_TOO_MUCH: Final = 22
_LOST: Final = ConversionOptions(residue="none")


def deep(subject: Subject, folder: Path) -> Iterator[Problem]:
    """A chain that is far deeper than Python's stack."""
    yield from _survives(subject, folder, chain(_MANY), f"a chain of {_MANY} nodes")


def wide(subject: Subject, folder: Path) -> Iterator[Problem]:
    """A node with many children, in their order."""
    yield from _survives(subject, folder, star(_MANY), f"a node with {_MANY} children")


def _survives(subject: Subject, folder: Path, value: dict[str, Any], what: str) -> Iterator[Problem]:
    try:
        back = subject.read(subject.write(value, folder))
    except LoomconvError as error:
        yield Problem(
            f"{what} cannot be written and read: {error.message}",
            what,
            "walk with a stack, never by recursion: `unnest`, `nest` and `tree.graph.walk` do; "
            "`context.load_json` and `jsontext.dump` read and write any depth",
        )
        return
    yield from problems_of(compare_values(_told(value), _told(back)), what)


def _told(value: dict[str, Any]) -> list[list[str]]:
    """The texts in the order of a walk, each with its parent's, whatever the ids."""
    (tree,) = value["trees"]
    texts = {
        node_id: "".join(block.get("text", "") for block in each["content"]) for node_id, each in tree["nodes"].items()
    }
    return [[texts[edge["sources"][0]["nodeId"]], texts[edge["targetNodeId"]]] for edge in tree["edges"]]


def linear(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Processor time of writing and reading, of few nodes against ten times as many; the best of several tries."""
    for name, make in (("a chain", chain), ("a node with many children", star)):
        ratio = _ratio(subject, folder, make)
        if ratio > _TOO_MUCH:
            ratio = min(ratio, *(_ratio(subject, folder, make) for _ in range(3)))
        if ratio > _TOO_MUCH:
            yield Problem(
                f"{_GROWTH} times as many nodes take {ratio:.0f} times as long",
                f"{name} of {_FEW * _GROWTH} nodes, written and read",
                "somewhere a list is walked once for each of its members: look for `in` and `index` on lists, and for "
                "texts that are put together in a loop",
            )


def _ratio(subject: Subject, folder: Path, make: Callable[[int], dict[str, Any]]) -> float:
    return _time(subject, folder, make(_FEW * _GROWTH)) / max(_time(subject, folder, make(_FEW)), 1e-3)


def _time(subject: Subject, folder: Path, value: dict[str, Any]) -> float:
    """Seconds that the format itself takes, without the hub around it."""
    spent = 0.0

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal spent
            start = time.process_time()
            try:
                return method(*arguments)
            finally:
                spent += time.process_time() - start

        return call

    # For this object only, and only for now.
    own = vars(subject.format)
    own["read"], own["write"] = timed(subject.format.read), timed(subject.format.write)
    try:
        subject.read(subject.write(value, folder, options=_LOST))
    finally:
        del own["read"], own["write"]
    return spent


def deterministic(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Two processes with other seeds for hashing write the same bytes."""
    nodes = [
        node(
            f"n{number}", f"text {number}", meta={"tags": ["b", "a", "c"], "mood": number}, extensions={"z": 1, "b": {}}
        )
        for number in range(20)
    ]
    value = loom(*nodes, edges=[link(f"n{(number - 1) // 2}", f"n{number}") for number in range(1, 20)], title="T")
    first = subject.write(value, folder, stem="one").read_bytes()
    if subject.write(value, folder, stem="one").read_bytes() != first:
        yield Problem(
            "the same document gave other bytes the second time",
            "one process",
            "write no time of day and no random ids: `context.exported_at` is the time to record, `mint_ulid` an id",
        )
        return
    plugin = subject.registry.plugin_of.get(subject.format.name, "")
    # Only a format that another process can find can be asked there.
    if not (Path(plugin).exists() or _is_installed(subject)):
        return
    source = folder / f"one-source{subject.suffix_of(subject.pivot)}"
    for seed in ("1", "2"):
        target = folder / f"seed-{seed}" / f"one{subject.suffix}"
        target.parent.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "loomconv", "convert", str(source), str(target), "--to", subject.format.name]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False)
        if done.returncode or target.read_bytes() != first:
            yield Problem(
                "another process wrote other bytes",
                f"PYTHONHASHSEED={seed}",
                "the order of a set is another one in every process: sort it, or use a dict",
            )


def _is_installed(subject: Subject) -> bool:
    from loomconv.registry import default_registry

    found = default_registry().formats.get(subject.format.name)
    return type(found) is type(subject.format)
