"""`loomconv diff`."""

from __future__ import annotations

import sys
from typing import Any

import click

from loomconv import api
from loomconv.cli import statuses
from loomconv.cli.parameters import FILE, ReadingCommand, assume_timezone, complete_format, limits, make_options
from loomconv.cli.summary import counted
from loomconv.cli.terminal import cut, neutralised, paint, print_data, print_json
from loomconv.difference import Change, LoomDifference, compare_looms
from loomconv.errors import UsageFault

__all__ = ["command"]

_EPILOG = f"""\b
Examples:
  loomconv diff story.json story-back.json
  loomconv diff story.openloom story.json --json

Nodes are matched by id, else by text and place. What apps and converters keep for themselves is not compared; `loomconv
roundtrip` compares files value by value.

{statuses.READING_TABLE}"""
_COLOURS = {"added": "green", "removed": "red", "edited": "yellow", "changed": "yellow"}
_WIDEST = 70
_LINES_SHOWN = 12


@click.command("diff", cls=ReadingCommand, short_help="Compare two looms by meaning.", epilog=_EPILOG)
@click.argument("first", metavar="A", type=FILE)
@click.argument("second", metavar="B", type=FILE)
@click.option("--from", "first_format", shell_complete=complete_format, metavar="FORMAT", help="Read A as this format.")
@click.option("--from-b", "second_format", shell_complete=complete_format, metavar="FORMAT", help="The same for B.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@assume_timezone
@limits
def command(
    first: str, second: str, first_format: str | None, second_format: str | None, as_json: bool, **given: Any
) -> int:
    """Say how the loom B differs from the loom A, whatever their formats.

    Nodes that were added, removed, edited, moved to another parent, or put in another order; fields that changed; links
    beyond the one to the parent. The exit status is 0 only if there is no difference.
    """
    if first == second == "-":
        raise UsageFault("standard input can be read only once", next_step="Name a file for one of the two.")
    options = make_options(given)
    before = api.load(first, format=first_format, options=options)
    found = compare_looms(before, api.load(second, format=second_format, options=options))
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)
    return statuses.FAILED if found.changes else statuses.DONE


def _print(found: LoomDifference) -> None:
    if not found.changes:
        print_data("no difference")
        return
    tree = None
    for change in found.changes:
        if change.tree != tree:
            tree = change.tree
            print_data(paint(f"tree {cut(neutralised(tree), _WIDEST)}" if tree else "document", sys.stdout, bold=True))
        print_data(f"  {paint(f'{change.kind:<9}', sys.stdout, fg=_COLOURS.get(change.kind, 'cyan'))} {_line(change)}")
        lines = change.text_lines
        for line in lines[:_LINES_SHOWN]:
            print_data(f"      {cut(neutralised(line), 120)}")
        if len(lines) > _LINES_SHOWN:
            print_data(f"      ... {counted(len(lines) - _LINES_SHOWN, 'more line')} (--json has all)")
    print_data(", ".join(f"{number:,} {kind}" for kind, number in found.counts.items()))


def _line(change: Change) -> str:
    """One change in words."""
    name = "" if change.node is None else f"node {cut(neutralised(change.node), _WIDEST)}"
    renamed = f" (now {cut(neutralised(change.other), _WIDEST)})" if change.other and change.kind != "added" else ""
    if change.kind == "added":
        below = f" below {cut(neutralised(change.other), _WIDEST)}" if change.other else ""
        return f"{name or 'tree'}{below}: {_value(change.after)}"
    if change.kind == "removed":
        return f"{name or 'tree'}: {_value(change.before)}"
    if change.kind == "edited":
        return f"{name}{renamed}"
    if change.kind == "moved":
        return f"{name}{renamed}: from {_parent(change.before)} to {_parent(change.after)}"
    if change.kind == "reordered":
        return f"{f'children of {name}' if name else 'roots'}: {_value(change.before)} to {_value(change.after)}"
    where = f"{name}{renamed}, " if name else ""
    return f"{where}{change.what}: {_value(change.before)} to {_value(change.after)}"


def _parent(value: Any) -> str:
    return "the roots" if value is None else cut(neutralised(str(value)), _WIDEST)


def _value(value: Any) -> str:
    return "nothing" if value is None else cut(neutralised(value if isinstance(value, str) else repr(value)), _WIDEST)
