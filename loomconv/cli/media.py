"""`loomconv media`: the pictures and sounds of a loom by themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from loomconv import api
from loomconv.cli import statuses
from loomconv.cli.parameters import FILE, ReadingCommand, limits, make_options, media_root, source_format
from loomconv.cli.summary import counted, finding_line
from loomconv.cli.terminal import columns, cut, neutralised, paint, print_data, print_json, print_message
from loomconv.gallery import INDEX, ListedMedium, extract_media, list_media, report_problems
from loomconv.model.document import Document
from loomconv.options import ConversionOptions
from loomconv.report import Report

__all__ = ["command"]

_WIDEST = 40
_EPILOG = """\b
Examples:
  loomconv media list story.openloom.zip
  loomconv media extract story.openloom.zip pictures
  loomconv media check story.json --media-root ~/loom/media

"""
_STATUS = """\b
Exit status:
  0  done
  1  the input cannot be read, or a picture or sound is missing or not what it says
  2  wrong usage
"""


@click.group("media", short_help="List, extract or check pictures and sounds.", epilog=_EPILOG + _STATUS)
def command() -> None:
    """The pictures and sounds of a loom: in the file, in its bundle, or in files that it names.

    Nothing is fetched from the network, and no file outside of the loom's folder and of --media-root is read.
    """


def _loaded(source: str, given: dict[str, Any]) -> tuple[Document, ConversionOptions]:
    options = make_options(given)
    document = api.load(source, format=given["source_format"], options=options, report=Report(limit=0))
    return document, options


@command.command("list", cls=ReadingCommand, short_help="A table of all media.", epilog=_STATUS)
@click.argument("source", metavar="SRC", type=FILE)
@source_format
@media_root
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@limits
def list_command(source: str, as_json: bool, **given: Any) -> int:
    """List the media of the loom SRC: node, kind, declared and real type, size, pixels, and where they are."""
    document, options = _loaded(source, given)
    found = list(list_media(document, options.limits))
    if as_json:
        print_json({"media": [each.to_json() for each in found]})
        return statuses.DONE
    if not found:
        print_data(f"{neutralised(source)}: no media")
        return statuses.DONE
    rows: list[tuple[str, ...]] = [("node", "kind", "declared", "real", "bytes", "pixels", "where", "problem")]
    rows += [_row(each) for each in found]
    lines = columns([tuple(neutralised(cut(cell, _WIDEST)) for cell in row) for row in rows])
    print_data(paint(lines[0], sys.stdout, bold=True))
    for line in lines[1:]:
        print_data(line)
    return statuses.DONE


@command.command("check", cls=ReadingCommand, short_help="Say which media are missing or wrong.", epilog=_STATUS)
@click.argument("source", metavar="SRC", type=FILE)
@source_format
@media_root
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@limits
def check_command(source: str, as_json: bool, **given: Any) -> int:
    """Check the media of the loom SRC: are they there, are they what the file says, are images whole."""
    document, options = _loaded(source, given)
    found = list(list_media(document, options.limits))
    report = _problems(found)
    bad = sum(not each.is_sound for each in found)
    if as_json:
        print_json({"sound": not bad, "media": [each.to_json() for each in found]})
    else:
        for finding in report.findings:
            print_data(finding_line(finding, source, sys.stdout))
        print_data(f"{neutralised(source)}: {counted(len(found), 'medium', 'media')}, {_verdict(bad)}")
    return statuses.FAILED if bad else statuses.DONE


@command.command("extract", cls=ReadingCommand, short_help="Copy media to files.", epilog=_STATUS)
@click.argument("source", metavar="SRC", type=FILE)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@source_format
@media_root
@limits
def extract_command(source: str, folder: Path, **given: Any) -> int:
    """Copy the media of the loom SRC to files in DIR, named by node and digest, with a list of them in index.json.

    What is missing, or is not what the file says, is named in the list and not copied (exit status 1).
    """
    document, options = _loaded(source, given)
    found = extract_media(document, folder, options.limits)
    for finding in _problems(found).findings:
        print_message(finding_line(finding, source, sys.stderr))
    if not found:
        print_message(f"{neutralised(source)}: no media")
        return statuses.DONE
    bad = sum(not each.is_sound for each in found)
    copied = len({each.file for each in found if each.file is not None})
    print_message(
        f"{neutralised(source)}: {counted(copied, 'file')} and {INDEX} in {neutralised(str(folder))}"
        + (f", {_verdict(bad)}" if bad else "")
    )
    return statuses.FAILED if bad else statuses.DONE


def _problems(found: list[ListedMedium]) -> Report:
    report = Report(limit=None)
    for each in found:
        report_problems(each, report)
    return report


def _verdict(bad: int) -> str:
    return f"{bad} missing or not what the file says" if bad else "all as they should be"


def _row(each: ListedMedium) -> tuple[str, ...]:
    pixels = "" if each.width is None else f"{each.width} x {each.height}"
    where = each.reference if each.where != "inline" and each.reference else each.where
    size = "" if each.size is None else f"{each.size:,}"
    problems = ", ".join(code for code, _ in each.problems)
    return (each.node, each.kind, each.declared or "", each.real or "", size, pixels, where, problems)
