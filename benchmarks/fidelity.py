"""Which files come home from which format: `python -m benchmarks.fidelity [FILE...]`.

Every file (all fixtures unless some are named) goes to each other format and back, and is compared. A file that cannot
be read, or whose reading changes it (a repair), is passed over: it has tests of its own. `mended` is a file that is
damaged all the same, which its reader says in a warning (`read.…`, `repair.…`), and that came home without the damage.
Printed is a table of formats, and each file that does not come home exactly; the exit status is 0 only if all of these
are mended ones.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from loomconv.api import detect, load
from loomconv.errors import LoomconvError
from loomconv.registry import default_registry
from loomconv.report import Report
from loomconv.roundtrip import round_trip

__all__ = ["grade", "grades", "main"]

Grade = Literal["exact", "exact with residue beside", "mended", "not exact"]

FIXTURES: Final = Path(__file__).parents[1] / "fixtures"


def grade(path: Path, home: str, via: str) -> Grade:
    """How a file of one format comes home from another."""
    trip = round_trip(path, [via], source_format=home)
    if not trip.comparison.equal:
        told = (each for step in trip.steps[:1] for each in step.findings if each.severity != "notice")
        return "mended" if any(each.code.startswith(("read.", "repair.")) for each in told) else "not exact"
    beside = any((step.target or {}).get("residue") for step in trip.steps)
    return "exact with residue beside" if beside else "exact"


def grades(paths: Iterable[Path]) -> dict[tuple[str, str], dict[str, Grade]]:
    """By format and format gone through: the grade of each sound file."""
    found: dict[tuple[str, str], dict[str, Grade]] = {}
    for path in paths:
        try:
            if not load(path, report=Report(limit=0)).pristine:
                continue
            home = detect(path).format
        except LoomconvError:
            continue
        for via in sorted(default_registry().formats):
            if via != home:
                found.setdefault((home, via), {})[path.name] = grade(path, home, via)
    return found


def main(arguments: list[str]) -> int:
    """Print the table."""
    named = [Path(each) for each in arguments]
    paths = named or sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.suffix != ".md")
    found = grades(path for path in paths if "backups" not in path.parts)
    bad = 0
    for (home, via), files in sorted(found.items()):
        counts = Counter(files.values())
        print(f"{home:<15} via {via:<15} {', '.join(f'{number} {word}' for word, number in sorted(counts.items()))}")
        for name, each in files.items():
            if not each.startswith("exact"):
                bad += each == "not exact"
                print(f"    {each}: {name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
