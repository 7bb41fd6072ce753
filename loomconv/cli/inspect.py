"""`loomconv inspect`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import click

from loomconv.cli import statuses
from loomconv.cli.parameters import (
    FILE,
    ReadingCommand,
    assume_timezone,
    findings,
    limits,
    make_options,
    source_format,
)
from loomconv.cli.summary import counted, report_lines
from loomconv.cli.terminal import columns, cut, neutralised, paint, print_data, print_json
from loomconv.inspection import Inspection, TreeSummary, inspect_file
from loomconv.outline import OutlineLine
from loomconv.provenance import HashCheck, HashStatus

__all__ = ["command"]

_EPILOG = f"""\b
Examples:
  loomconv inspect story.json
  curl -s https://example.org/story.openloom | loomconv inspect -
  loomconv inspect story.json --json
  loomconv inspect grove.db --verify-hashes

In the picture of a tree `+` begins a branch, and a line without it continues the one above; `>` in the margin marks the
way to the current node, `*` the current node itself.

{statuses.READING_TABLE}"""
# Names and models listed one by one.
_MOST = 5
_TREES_SHOWN = 20
_VERDICTS_SHOWN = 20
_HASH_WORDS: dict[HashStatus, str] = {
    "verified": "verified",
    "mismatch": "mismatch",
    "incomplete": "incomplete",
    "unknown-scheme": "unknown scheme",
    "none": "without a hash",
}


@click.command("inspect", cls=ReadingCommand, short_help="Show what a loom file is and holds.", epilog=_EPILOG)
@click.argument("source", metavar="SRC", type=FILE)
@source_format
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--verify-hashes", is_flag=True, help="Recompute the content hashes of nodes; a mismatch is no error.")
@assume_timezone
@limits
@findings(1000)
def command(source: str, source_format: str | None, as_json: bool, verify_hashes: bool, **given: Any) -> int:
    """Show what the loom file SRC (`-`: standard input) is and holds.

    Its format and why it is taken for it, its trees, authors, models, times, media, how many private things are in it
    (never which), and what a conversion would report of it.
    """
    inspection = inspect_file(source, format=source_format, options=make_options(given), verify_hashes=verify_hashes)
    if as_json:
        print_json(inspection.to_json())
        return statuses.DONE
    for line in _overview(inspection):
        print_data(line)
    checks: list[HashCheck | None] = [None] * len(inspection.trees)
    checks[:] = inspection.hashes or checks
    for number, (tree, check) in enumerate(zip(inspection.trees[:_TREES_SHOWN], checks, strict=False), 1):
        for line in _tree_lines(tree, number):
            print_data(line)
        for line in _hash_lines(check):
            print_data(line)
    if len(inspection.trees) > _TREES_SHOWN:
        print_data(f"\n... {counted(len(inspection.trees) - _TREES_SHOWN, 'more tree')} (--json lists them)")
    return statuses.DONE


def _overview(found: Inspection) -> list[str]:
    rows = [("format", _format(found)), ("size", _size(found)), ("trees", _totals(found.trees))]
    rows += [("written by", _listed(_sum(tree.authors for tree in found.trees)))]
    rows += [("names", _listed(_sum(tree.names for tree in found.trees)))]
    rows += [("models", _listed(_sum(tree.models for tree in found.trees)))]
    rows += [("times", _times(found.trees)), ("media", _media(found.trees)), ("private", _private(found.private))]
    lines = [paint(neutralised(found.name), sys.stdout, bold=True)]
    lines += columns([(f"  {name}", value) for name, value in rows if value])
    # What is private stands above.
    reported = report_lines(found.report, sys.stdout, without="privacy.")
    return [*lines, *(["  findings", *(f"  {line}" for line in reported)] if reported else [])]


def _format(found: Inspection) -> str:
    line = f"{found.format} ({found.title})"
    if found.confidence is None:
        return f"{line}, as given"
    others = [f"{name} {each.score} %" for name, each in found.candidates if name != found.format]
    other = f"; also possible: {', '.join(others)}" if others else ""
    return neutralised(f"{line}, {found.confidence.score} % sure: {found.confidence.reason}{other}")


def _size(found: Inspection) -> str:
    packed = {"gzip": ", unpacked from gzip", "zip": ", unpacked from a ZIP bundle"}.get(found.container, "")
    return f"{counted(found.size, 'byte')}{packed}"


def _totals(trees: list[TreeSummary]) -> str:
    nodes, roots = sum(tree.nodes for tree in trees), sum(tree.roots for tree in trees)
    depth = max((tree.depth for tree in trees), default=0)
    return f"{len(trees):,} with {counted(nodes, 'node')}, {counted(roots, 'root')}, depth {depth:,}"


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _listed(counter: Counter[str]) -> str:
    shown = [f"{cut(neutralised(name), 40)} {number:,}" for name, number in counter.most_common(_MOST)]
    more = len(counter) - len(shown)
    return ", ".join([*shown, *([f"{more:,} more"] if more else [])])


def _times(trees: list[TreeSummary]) -> str:
    first = min((tree.first_time for tree in trees if tree.first_time), default=None)
    last = max((tree.last_time for tree in trees if tree.last_time), default=None)
    return "" if first is None else f"{first} to {last}"


def _media(trees: list[TreeSummary]) -> str:
    total: dict[str, Counter[str]] = {}
    for tree in trees:
        for kind, counts in tree.media.items():
            total.setdefault(kind, Counter()).update(counts)
    return ", ".join(
        f"{cut(neutralised(kind), 40)} {number:,} {where}"
        for kind, counts in total.items()
        for where, number in counts.items()
    )


def _private(private: dict[str, int]) -> str:
    """What there is that should not leave the machine unasked; counts only."""
    names = {
        "system_prompts": ("system prompt", "system-context"),
        "agent_prompts": ("agent prompt", "agent-prompts"),
        "raw_responses": ("raw response", "raw-responses"),
    }
    parts = [name for key, (_, name) in names.items() if private[key]]
    listed = ", ".join(counted(private[key], word) for key, (word, _) in names.items() if private[key])
    found = f"{listed} (--without {','.join(parts)} leaves them out)" if parts else ""
    secrets = private["secrets"]
    if not secrets:
        return found
    kept = f"{counted(secrets, 'key or password', 'keys or passwords')} (conversions leave them out)"
    return f"{found}; {kept}" if found else kept


def _tree_lines(tree: TreeSummary, number: int) -> list[str]:
    title = f' "{cut(neutralised(tree.title), 70)}"' if tree.title else ""
    facts = [
        counted(tree.nodes, "node"),
        counted(tree.roots, "root"),
        counted(tree.leaves, "leaf", "leaves"),
        counted(tree.branch_points, "branch point"),
        f"depth {tree.depth:,}",
        *([counted(tree.notes, "note")] if tree.notes else []),
        counted(tree.characters, "character"),
    ]
    mode = f", {cut(neutralised(tree.mode), 20)}" if tree.mode else ""
    lines = ["", paint(f"tree {number}{title}", sys.stdout, bold=True) + f" (id {cut(neutralised(tree.id), 60)}{mode})"]
    lines.append(f"  {', '.join(facts)}")
    if tree.current is not None:
        lines.append(f"  current node {cut(neutralised(tree.current), 60)}, level {tree.current_level:,}")
    return [*lines, *map(_outline_line, tree.preview)]


def _hash_lines(check: HashCheck | None) -> list[str]:
    """The count of each status, then the nodes whose hashes need a look."""
    if check is None:
        return []
    counts = ", ".join(f"{number:,} {_HASH_WORDS[status]}" for status, number in check.counts.items())
    scheme = f" ({check.scheme})" if check.scheme else ""
    lines = [f"  hashes{scheme}: {counts or 'no nodes'}"]
    odd = [verdict for verdict in check.verdicts if verdict.status not in ("verified", "none") or verdict.detail]
    for verdict in odd[:_VERDICTS_SHOWN]:
        detail = f": {verdict.detail}" if verdict.detail else ""
        lines.append(f"    {cut(neutralised(verdict.node), 60)} {_HASH_WORDS[verdict.status]}{neutralised(detail)}")
    if len(odd) > _VERDICTS_SHOWN:
        lines.append(f"    ... {counted(len(odd) - _VERDICTS_SHOWN, 'more node')} (--json lists them)")
    return lines


def _outline_line(line: OutlineLine) -> str:
    """A line of the picture: in the margin the way to the current node, `+` where a branch begins."""
    indent = "  " * line.indent if not line.branch else "  " * (line.indent - 1) + "+ "
    if line.node is None:
        return f"    {indent}... {counted(line.below, 'more branch', 'more branches')}"
    mark = "*" if line.current else ">" if line.on_path else " "
    below = f"  ... {line.below:,} below" if line.below else ""
    text = cut(neutralised(line.text), 80) or "(empty)"
    margin = paint(mark, sys.stdout, fg="green", bold=True) if line.on_path else mark
    return f"  {margin} {indent}{cut(neutralised(line.role), 12)}: {text}{below}"
