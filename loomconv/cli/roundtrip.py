"""`loomconv roundtrip`."""

from __future__ import annotations

import sys
from typing import Any

import click

from loomconv.cli import statuses
from loomconv.cli.parameters import (
    FILE,
    ConvertingCommand,
    assume_timezone,
    complete_format,
    findings,
    keep_secrets,
    limits,
    make_options,
    media,
    residue,
    source_format,
)
from loomconv.cli.summary import counted
from loomconv.cli.terminal import columns, cut, neutralised, paint, print_data, print_json
from loomconv.errors import UsageFault
from loomconv.roundtrip import RoundTrip, round_trip

__all__ = ["command"]

_EPILOG = f"""\b
Examples:
  loomconv roundtrip story.json --via openloom-2
  loomconv roundtrip story.openloom --via socketteer,openloom-1 --json

{statuses.READING_TABLE}"""
_GRADES = {
    "bytes": "no difference, the same bytes",
    "values": "no difference, but the bytes are laid out otherwise",
}


@click.command("roundtrip", cls=ConvertingCommand, short_help="Convert there and back, and compare.", epilog=_EPILOG)
@click.argument("source", metavar="SRC", type=FILE)
@source_format
@click.option(
    "--via",
    required=True,
    shell_complete=complete_format,
    metavar="FORMAT[,FORMAT...]",
    help="The format to go through, or several, one after the other.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the differences, and the report of every step.")
@click.option(
    "--edit", type=int, metavar="SEED", help="Edit the foreign file on the way; exactly the edits must remain."
)
@residue
@media
@keep_secrets
@assume_timezone
@limits
@findings(1000)
def command(source: str, source_format: str | None, via: str, as_json: bool, edit: int | None, **given: Any) -> int:
    """Convert SRC (`-`: standard input) to another format and back, and list every difference.

    With --edit the file of the last format is edited before it goes home: texts are changed, and nodes added, removed
    and moved, as the number says. Then exactly the edits must be there.

    The exit status is 0 only if every value is the same then. Keys and passwords are left out of conversions, and
    make a difference, unless they are kept with --keep-secrets.
    """
    stops = [name.strip() for name in via.split(",") if name.strip()]
    if not stops:
        raise UsageFault("--via names no format", next_step="Name one, such as `--via openloom-2`.")
    options = make_options(given)
    trip = round_trip(
        source, stops, source_format=source_format, options=options, cap=options.findings_limit, edit=edit
    )
    if as_json:
        print_json(trip.to_json())
    else:
        _print(trip, source)
    return statuses.DONE if trip.as_expected else statuses.FAILED


def _print_edits(trip: RoundTrip, source: str) -> None:
    way = f"{source}: {' -> '.join(trip.formats)}: "
    made = counted(len(trip.edits or ()), "edit")
    verdict = (
        f"{made} came home, and nothing else" if not trip.unexpected else f"{made}, and {len(trip.unexpected)} more"
    )
    colour = "green" if not trip.unexpected else "red"
    print_data(neutralised(way) + paint(verdict, sys.stdout, fg=colour, bold=True))
    for edit in trip.edits or ():
        print_data(f"  {edit.kind} {cut(neutralised(edit.node), 80)}")
    for change in trip.unexpected:
        print_data(f"  not expected: {change.kind} {cut(neutralised(str(change.node)), 80)}, {change.what}")
        for line in columns([("    before", str(change.before)), ("    after", str(change.after))]):
            print_data(cut(neutralised(line), 160))


def _print(trip: RoundTrip, source: str) -> None:
    if trip.edits is not None:
        _print_edits(trip, source)
        return
    comparison = trip.comparison
    verdict = _GRADES.get(comparison.grade) or counted(comparison.total, "difference")
    if comparison.equal and comparison.key_order_differs:
        verdict += ", keys in another order"
    colour = "green" if comparison.equal else "red"
    way = f"{source}: {' -> '.join(trip.formats)}: "
    print_data(neutralised(way) + paint(verdict, sys.stdout, fg=colour, bold=True))
    for difference in trip.differences:
        print_data(f"  {neutralised(difference.pointer) or 'the whole file'}")
        sides = [("before", difference.left), ("after", difference.right)]
        for line in columns([(f"    {name}", cut(neutralised(text), 160)) for name, text in sides]):
            print_data(line)
    if comparison.total > len(trip.differences):
        more = comparison.total - len(trip.differences)
        print_data(f"  ... {counted(more, 'more difference')} (--findings all)")
