"""Whether a node costs the same in a large loom: `python -m benchmarks.growth [--nodes 10000,100000,1000000]`.

Each conversion runs in a process of its own. Printed are microseconds a node, by size and shape, against the floor (see
the README) of the same file, and the peak of memory as a multiple of the file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.generate import generate
from benchmarks.synthetic import Shape

__all__ = ["main"]

_PAIRS: Final = (("openloom-2", "openloom-1"), ("openloom-1", "openloom-2"))
_SHAPES: Final[tuple[Shape, ...]] = ("bushy", "chain")
_MOST_OF_A_CHAIN: Final = 100_000


def _measured(operation: str, source: Path, target: Path, format: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.measure", operation, str(source), str(target), format]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--nodes", default="10000,100000,1000000")
    sizes = [int(each) for each in parser.parse_args(arguments).nodes.split(",")]
    print("| conversion | shape | nodes | file | a node | floor a node | ratio | peak |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="loomconv-") as name:
        folder = Path(name)
        for home, target in _PAIRS:
            for shape in _SHAPES:
                for nodes in sizes:
                    if shape == "chain" and nodes > _MOST_OF_A_CHAIN:
                        continue
                    source = folder / "source"
                    generate(source, home, nodes, shape=shape)
                    size = source.stat().st_size
                    best = min(
                        (_measured("convert", source, folder / "target", target) for _ in range(2)),
                        key=lambda each: float(each["seconds"]),
                    )
                    floor = _measured("floor", source, folder / "target", target)
                    cost, least = best["seconds"] / nodes * 1e6, floor["seconds"] / nodes * 1e6
                    print(
                        f"| {home} → {target} | {shape} | {nodes:,} | {size / 1e6:.0f} MB | {cost:.1f} µs "
                        f"| {least:.1f} µs | {cost / least:.1f} F | {best['peak'] / size:.1f} × |",
                        flush=True,
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
