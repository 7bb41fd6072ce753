"""`loomconv convert`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from loomconv import api, jsontext
from loomconv.cli import statuses
from loomconv.cli.parameters import (
    FILE,
    ConvertingCommand,
    assume_timezone,
    complete_format,
    exported_at,
    findings,
    keep_secrets,
    limits,
    make_options,
    media,
    residue,
    source_format,
    without,
)
from loomconv.cli.summary import counted, report_lines
from loomconv.cli.terminal import neutralised, paint, print_message
from loomconv.errors import ConversionRefused, UsageFault
from loomconv.report import Report, add_failure
from loomconv.storage import AtomicFile, is_companion, media_folder, residue_path

__all__ = ["command"]

_EPILOG = f"""\b
Examples:
  loomconv convert story.json story.openloom
      The input's format is told by its content, the output's by the suffix.
  loomconv convert story.openloom story.json --to socketteer --report report.json
      What the target cannot hold is kept in the file, and listed in the report.
  loomconv convert story.openloom - --to openloom-1 --strict
      To standard output, and only if nothing would be lost.
  loomconv convert story.json shared.openloom --without private
      Without system prompts and raw model responses.

{statuses.TABLE}"""


@click.command("convert", cls=ConvertingCommand, short_help="Convert a loom file to another format.", epilog=_EPILOG)
@click.argument("source", metavar="SRC", type=FILE)
@click.argument("target", metavar="DST", type=FILE)
@source_format
@click.option(
    "--to",
    "target_format",
    shell_complete=complete_format,
    metavar="FORMAT",
    help="Write this format. Default: by DST's suffix.",
)
@click.option("--report", "report_file", type=FILE, metavar="FILE", help="Write the report as JSON; `-` for stdout.")
@click.option("--strict", is_flag=True, help="Write nothing if anything does not fit, even what would be kept aside.")
@without
@residue
@media
@keep_secrets
@assume_timezone
@exported_at
@click.option("--tree", metavar="ID|N", help="Convert only this tree of several, by its id or its number from 1.")
@limits
@findings(1000)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
def command(
    source: str, target: str, target_format: str | None, report_file: str | None, quiet: bool, **given: Any
) -> int:
    """Convert the loom file SRC to DST; `-` is standard input or output.

    The output is complete or absent. What the target cannot hold is reported on stderr and kept aside in the file,
    from where it comes back when the file is converted again.
    """
    options = make_options(given)
    _spare_input(source, target)
    report = Report(limit=options.findings_limit)
    with _reported(report, report_file, source, target):
        try:
            done = api.convert(
                source,
                target,
                source_format=given["source_format"],
                target_format=target_format,
                options=options,
                report=report,
            )
        except ConversionRefused:
            _print_findings(report)
            raise
    if not quiet:
        _print_summary(done, source)
    return statuses.PARTLY if done.truncated else statuses.DONE


def _spare_input(source: str, target: str) -> None:
    """The input stays what it is. Raises UsageFault when the output would replace it."""
    if "-" in (source, target) or not (Path(source).exists() and Path(target).exists()):
        return
    if Path(source).samefile(target):
        raise UsageFault("the output would replace the input", source=target, next_step="Name another file.")


@contextmanager
def _reported(report: Report, name: str | None, source: str, target: str) -> Iterator[None]:
    """Write the report when the block ends, also when it fails. Raises UsageFault before if that is not possible."""
    if name is None:
        yield
        return
    _check_report_name(name, source, target)
    file = AtomicFile(name)
    try:
        yield
    except Exception as error:
        add_failure(report, error)
        _write_report(report, file)
        raise
    _write_report(report, file)


def _check_report_name(name: str, source: str, target: str) -> None:
    if name == "-" and target == "-":
        raise UsageFault("output and report cannot both go to standard output", next_step="Name a file for one.")
    if name != "-" and Path(name).resolve() in [Path(other).resolve() for other in (source, target) if other != "-"]:
        raise UsageFault(
            "the report would replace the input or the output", source=name, next_step="Name another file."
        )
    if "-" not in (name, target) and Path(name).resolve() == residue_path(Path(target)).resolve():
        raise UsageFault("the report would stand where residue has to go", source=name, next_step="Name another file.")
    media = Path(target).with_name(media_folder(Path(target))).resolve() if target != "-" else None
    if media is not None and name != "-" and media in (Path(name).resolve(), Path(name).resolve().parent):
        raise UsageFault("the report would stand where media have to go", source=name, next_step="Name another file.")
    if "-" not in (name, target) and is_companion(Path(name), Path(target)):
        raise UsageFault(
            "the report may stand where a further tree has to go", source=name, next_step="Name another file."
        )


def _write_report(report: Report, file: AtomicFile) -> None:
    with file:
        file.write(jsontext.dump(report.to_json(), jsontext.TWO_SPACES) + b"\n")


def _print_summary(done: api.Conversion, source: str) -> None:
    """One line that says what was done, and the findings."""
    report = done.report
    read, written = report.source or {}, report.target or {}
    more = f" and {counted(len(done.files) - 1, 'more file')}" if len(done.files) > 1 else ""
    counts = ", ".join(counted(report.counts.get(name, 0), name.removesuffix("s")) for name in ("trees", "nodes"))
    line = f"{source} ({read.get('format')}) -> {done.files[0]}{more} ({written.get('format')}): {counts}"
    print_message(paint(neutralised(line), sys.stderr, bold=True))
    _print_findings(report)
    if done.truncated:
        print_message("The input ends too early; what stands before the cut was saved (exit status 4).")


def _print_findings(report: Report) -> None:
    for line in report_lines(report):
        print_message(line)
