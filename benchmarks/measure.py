"""One measurement in a process of its own: `python -m benchmarks.measure OPERATION SOURCE TARGET [FORMAT]`.

Prints one JSON object. Only the named operation is timed, not the imports; what it wrote is checked and deleted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

from benchmarks.memory import memory_of, peak_rss

__all__ = ["OPERATIONS", "measure"]

Facts = dict[str, Any]
# Given a source, a target and a target format, gives what is to be timed; that gives facts about what it did.
Preparation = Callable[[Path, Path, str], Callable[[], Facts]]


def _floor(source: Path, target: Path, _: str) -> Callable[[], Facts]:
    from benchmarks.floor import floor

    return lambda: {"written": floor(source, target)}


def _convert(source: Path, target: Path, format: str) -> Callable[[], Facts]:
    """A conversion with its report, by the library's own entry."""
    from loomconv.api import convert
    from loomconv.options import ConversionOptions
    from loomconv.registry import default_registry
    from loomconv.storage import Limits

    options = ConversionOptions(limits=Limits.unlimited())
    default_registry()

    def run() -> Facts:
        report = convert(source, target, target_format=format, options=options).report
        return {"nodes": report.counts["nodes"], "losses": report.losses(), "codes": dict(sorted(report.codes.items()))}

    return run


def _convert_proved(source: Path, target: Path, format: str) -> Callable[[], Facts]:
    """The same, and the proof that source and target hold the same JSON text, white space aside."""
    import msgspec

    convert = _convert(source, target, format)

    def compact(path: Path) -> bytes:
        return msgspec.json.format(path.read_bytes(), indent=-1)

    def run() -> Facts:
        facts = convert()
        return {**facts, "proved": compact(source) == compact(target)}

    return run


def _load_exactly(source: Path, _: Path, __: str) -> Callable[[], Facts]:
    """The exact reader alone."""
    from loomconv.jsontext import parse_exact

    def run() -> Facts:
        return {"oddities": len(parse_exact(source.read_bytes()).oddities)}

    return run


OPERATIONS: Final[dict[str, Preparation]] = {
    "floor": _floor,
    "convert": _convert,
    "convert-proved": _convert_proved,
    "load-exactly": _load_exactly,
}


def measure(operation: str, source: Path, target: Path, format: str = "") -> Facts:
    """Run one operation and say how long it took and what memory it needed, with what it says about itself."""
    run = OPERATIONS[operation](source, target, format)
    before = memory_of()
    wall, processor = perf_counter(), process_time()
    facts = run()
    facts["seconds"] = perf_counter() - wall
    facts["processor"] = process_time() - processor
    facts["peak"] = peak_rss()
    facts["peakBefore"] = 0 if before is None else before.peak
    facts["size"] = source.stat().st_size
    if target.exists():
        facts["written"] = target.stat().st_size
        target.unlink()
    if facts.get("proved") is False:
        raise AssertionError("source and target differ")
    return facts


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])))
