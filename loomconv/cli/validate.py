"""`loomconv validate`."""

from __future__ import annotations

import sys
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
from loomconv.cli.summary import counted, finding_line
from loomconv.cli.terminal import neutralised, paint, print_data, print_json
from loomconv.report import Report
from loomconv.validation import validate_file

__all__ = ["command"]

_EPILOG = f"""\b
Examples:
  loomconv validate story.openloom
  loomconv validate story.openloom --json --findings all

{statuses.READING_TABLE}"""


@click.command("validate", cls=ReadingCommand, short_help="Check a loom file.", epilog=_EPILOG)
@click.argument("source", metavar="SRC", type=FILE)
@source_format
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the report, and whether the file is valid.")
@assume_timezone
@limits
@findings(20)
def command(source: str, source_format: str | None, as_json: bool, **given: Any) -> int:
    """Check the loom file SRC (`-`: standard input) against its format's schema and the invariants of a loom.

    Every fault is listed with its place. The file is not valid if there is an error, or a warning of reading, of repair
    or of the schema; warnings of what it holds (keys, media) and notices do not count.
    """
    validation = validate_file(source, format=source_format, options=make_options(given))
    if as_json:
        print_json(validation.to_json())
    else:
        _print(validation.report, validation.valid, source)
    return statuses.DONE if validation.valid else statuses.FAILED


def _print(report: Report, valid: bool, source: str) -> None:
    for finding in report.findings:
        print_data(finding_line(finding, source, sys.stdout))
    more = sum(report.codes.values()) - len(report.findings)
    if more:
        print_data(f"... {counted(more, 'more finding')} (--findings all)")
    format_name = (report.source or {}).get("format")
    verdict = paint("valid", sys.stdout, fg="green") if valid else paint("not valid", sys.stdout, fg="red", bold=True)
    numbers = [
        counted(report.severities[name], name) for name in ("error", "warning", "notice") if report.severities[name]
    ]
    kind = f" {format_name}" if format_name else ""
    print_data(f"{neutralised(source)}: {verdict}{kind}{': ' if numbers else ''}{', '.join(numbers)}")
