"""`loomconv batch`: whole folders."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from loomconv.batch.engines import Dask, Engine, Here, Local, usable_cores
from loomconv.batch.items import Settings
from loomconv.batch.ledger import Ledger
from loomconv.batch.places import check_places, endangered, is_url, local_path, without_password
from loomconv.batch.report import write_reports
from loomconv.batch.run import Batch, Tally, ledger_folder, plan
from loomconv.batch.stores import open_store
from loomconv.cli import statuses
from loomconv.cli.batch_progress import progress_for
from loomconv.cli.parameters import (
    ConvertingCommand,
    assume_timezone,
    complete_format,
    exported_at,
    keep_secrets,
    limits,
    make_options,
    media,
    parsed_size,
    residue,
    source_format,
    without,
)
from loomconv.cli.summary import counted
from loomconv.cli.terminal import hush, neutralised, paint, print_data, print_message
from loomconv.errors import LoomconvError, UsageFault
from loomconv.registry import default_registry

__all__ = ["command"]

# Below that a worker cannot even begin.
_LEAST_MEMORY: Final = 64 << 20
_LOOKING: Final = 1.0
# How long it waits for better times.
_TROUBLED: Final = 5.0
_SETTLED: Final = 1.5
# What goes to a worker of a cluster at once.
_CLUSTER_TASK: Final = 64 << 20
_EPILOG = """\b
Examples:
  loomconv batch looms converted --to openloom-2
      Every loom in the folder, of whatever format; run it again after a stop, or to bring it up to date.
  loomconv batch looms converted --to socketteer --dry-run
      Only say what would be done.
  loomconv batch exports.tar.gz converted --to openloom-2 --split
      All looms in an archive, each tree to a file of its own.
  loomconv batch s3://bucket/looms s3://bucket/new --to openloom-2 --engine dask --scheduler tcp://10.0.0.5:8786

\b
Exit status:
  0  done
  1  nothing could be converted
  2  wrong usage, or a target that cannot be written
  3  --strict, and nothing was written since something of every file would be lost
  4  partly done: some files failed, or were saved as far as they go; see the report
"""


@click.command("batch", cls=ConvertingCommand, short_help="Convert whole folders.", epilog=_EPILOG)
@click.argument("sources", metavar="SRC...", nargs=-1, required=True)
@click.argument("target", metavar="DST")
@click.option(
    "--to", "target_format", required=True, shell_complete=complete_format, metavar="FORMAT", help="Write this format."
)
@source_format
@click.option("--jobs", "-j", type=click.IntRange(1), metavar="N", help="Worker processes. Default: one a core.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Give a file up after so long (it costs only this file).",
)
@click.option("--max-memory", callback=parsed_size, metavar="SIZE", help="Limit each worker process: 2GiB, 800MB.")
@click.option("--split", is_flag=True, help="Write each tree to a file of its own, named by its title.")
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Only files like this (*.json, old/*), also in archives. Repeatable.",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="No files and folders like this. Repeatable.")
@click.option("--backups", is_flag=True, help="Take files, too, that apps keep as backups and settings.")
@click.option("--retry", "again", is_flag=True, help="Try again what failed in an earlier run.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace files in DST, too, that no run of this command has written, or that were changed since.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option("--list-skipped", is_flag=True, help="List what is no loom, or was passed over, and why.")
@click.option("--watch", is_flag=True, help="Go on, and convert what changes, until it is stopped with Ctrl-C.")
@click.option("--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True, help="Who works.")
@click.option("--scheduler", metavar="ADDRESS", help="The Dask cluster's scheduler, such as tcp://10.0.0.5:8786.")
@click.option(
    "--ledger", "ledger_path", type=click.Path(path_type=Path), metavar="DIR",
    help="Where ledger and report go. Default: DST/loomconv-batch; for a store, a folder here.",
)  # fmt: skip
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="Write the report here, too, as JSON.")
@click.option("--strict", is_flag=True, help="Do not write a file of which anything does not fit.")
@without
@residue
@media
@keep_secrets
@assume_timezone
@exported_at
@limits
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
def command(sources: tuple[str, ...], target: str, target_format: str, quiet: bool, **given: Any) -> int:
    """Convert every loom in SRC (folders, archives, files, addresses of stores) to files in DST, in the same folders.

    Formats are told by content. Originals are not touched. A ledger in DST remembers what is done: a run that was
    stopped goes on where it was, and only what changed is converted again. The report is in DST/loomconv-batch.
    """
    sources, target = tuple(map(local_path, sources)), local_path(target)
    check_places(sources, target)
    if given["report"] is not None and not given["report"].absolute().parent.is_dir():
        raise UsageFault(
            "the folder of the report does not exist", source=str(given["report"]), next_step="Make the folder first."
        )
    for address in filter(is_url, (*sources, target)):
        open_store(address)  # says what is missing for it before anything is made
    folder = ledger_folder(target, given["ledger_path"])
    settings = _settings(sources, target, target_format, folder, given)
    batch = Batch(
        sources,
        settings,
        _engine(given),
        folder,
        include=given["include"],
        exclude=given["exclude"],
        backups=given["backups"],
        keep_list=given["list_skipped"],
        again=given["again"],
        job_size=_CLUSTER_TASK if given["engine"] == "dask" else None,
        settle=_SETTLED if given["watch"] else 0.0,
        looked_into={} if given["watch"] else None,
    )
    if given["dry_run"]:
        return _dry_run(batch, list_skipped=given["list_skipped"])
    if not is_url(target) and not Path(target).exists():
        _make_folder(Path(target))
    with Ledger(folder) as ledger, _terminated_like_interrupted():
        # Seen before the run: what changes during it is a change.
        seen = _snapshot(batch) if given["watch"] else {}
        status = _run(batch, ledger, quiet=quiet, list_skipped=given["list_skipped"], report=given["report"])
        if given["watch"]:
            _watch(batch, ledger, seen, quiet=quiet, report=given["report"])
            return statuses.DONE
    return status


def _settings(
    sources: tuple[str, ...], target: str, target_format: str, folder: Path, given: dict[str, Any]
) -> Settings:
    chosen = default_registry().format(target_format)
    if not chosen.writes:
        raise UsageFault(f"{chosen.name} can be read, but not written", next_step="Choose another format with --to.")
    suffix = chosen.suffixes[0] if chosen.suffixes else ".json"
    if given["media"] == "bundle":
        suffix += ".zip"
    return Settings(
        target_root=target if is_url(target) else str(Path(target)),
        target_format=chosen.name,
        suffix=suffix,
        source_format=given["source_format"] and default_registry().format(given["source_format"]).name,
        options=make_options(given),
        split=given["split"],
        max_memory=given["max_memory"],
        sources=endangered(sources, target),
        ledger=str(folder),
        began=time.time_ns(),
        overwrite=given["overwrite"],
    )


def _engine(given: dict[str, Any]) -> Engine:
    if given["engine"] == "dask":
        if not given["scheduler"]:
            raise UsageFault("the engine dask needs a scheduler", next_step="Name it with --scheduler tcp://HOST:PORT.")
        return Dask(given["scheduler"])
    if given["max_memory"] is not None and sys.platform == "win32":
        raise UsageFault("memory cannot be limited on this system", next_step="Leave --max-memory out.")
    if given["max_memory"] is not None and given["max_memory"] < _LEAST_MEMORY:
        raise UsageFault(
            "the program itself needs more memory than that",
            next_step="Give each worker 200MB or more with --max-memory.",
        )
    jobs = given["jobs"] or usable_cores()
    # One process more, but whatever goes wrong in it costs one file; asked for one job, there is only this process.
    if given["jobs"] == 1 and given["timeout"] is None and given["max_memory"] is None:
        return Here()
    return Local(jobs, given["timeout"])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageFault(
            f"the target folder cannot be made ({error.strerror})",
            source=str(folder),
            next_step="Choose another, or change the permissions of the folder above it.",
        ) from None


def _dry_run(batch: Batch, *, list_skipped: bool) -> int:
    passed_over: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for each in plan(batch, passed_over):
        if each.target:
            counts["convert"] += 1
            note = " (each tree a file)" if batch.settings.split else ""
            print_data(neutralised(f"{each.name} ({each.format}) -> {each.target}{note}"))
        elif each.format:
            counts["blocked"] += 1
            print_data(neutralised(f"{each.name} ({each.format}): {each.reason}"))
        else:
            counts["skip"] += 1
            if list_skipped:
                print_data(neutralised(f"{each.name}: {each.reason}"))
    blocked = f"{counted(counts['blocked'], 'has', 'have')} a file in the way, " if counts["blocked"] else ""
    print_message(
        f"{counted(counts['convert'], 'file')} would be converted, {counts['skip']:,} would not be (no loom, or not "
        f"readable), {blocked}{passed_over['done before']:,} are done, "
        f"{sum(passed_over.values()) - passed_over['done before']:,} passed over"
    )
    return statuses.DONE


def _run(batch: Batch, ledger: Ledger, *, quiet: bool, list_skipped: bool, report: Path | None) -> int:
    """One run, its report, and its exit status."""
    progress = progress_for(sys.stderr, quiet=quiet)
    try:
        with progress:
            tally = batch.run(ledger, progress.note, started=progress.begin)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not quiet:
            print_message("stopped; run it again, and it goes on where it was")
        if ledger.run:
            with suppress(LoomconvError):  # what ended the run is what is told, not that there is no room for a report
                write_reports(ledger, _about(batch), report)
        raise
    reports = write_reports(ledger, _about(batch), report)
    found = ledger.statuses()
    if list_skipped and batch.last_scan is not None:
        _print_skipped(batch.last_scan.listed, ledger)
    if not quiet:
        _print_summary(tally, found, ledger.need_a_look(), str(reports[-1]))
    converted, bad = found["done"] + found["partly"], found["failed"] + found["stopped"] + found["started"]
    if not bad and not found["partly"]:
        return statuses.DONE
    if not converted and bad == ledger.refused():
        return statuses.REFUSED
    return statuses.PARTLY if converted else statuses.FAILED


def _print_skipped(passed_over: list[tuple[str, str]], ledger: Ledger) -> None:
    """What was no loom or was passed over; a reader who has seen enough does not change the exit status."""
    try:
        for name, reason in passed_over:
            print_data(neutralised(f"{name}: {reason}"))
        for item, outcome in ledger.outcomes():
            if outcome.status == "skipped":
                print_data(neutralised(f"{item.name}: {outcome.message}"))
    except BrokenPipeError:
        hush()


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) do what Ctrl-C does: the workers end, and the report is written."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _about(batch: Batch) -> dict[str, Any]:
    return {
        "sources": list(map(without_password, batch.sources)),
        "target": without_password(batch.settings.target_root),
        "target_format": batch.settings.target_format,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _print_summary(tally: Tally, found: Counter[str], need_a_look: int, page: str) -> None:
    parts = [f"{found['done'] + found['partly']:,} converted"]
    if tally.unchanged:
        parts[0] += f" ({tally.unchanged:,} of all were done before)"
    for name, word in (
        ("partly", "saved in part"),
        ("failed", "failed"),
        ("stopped", "given up"),
        ("skipped", "no looms"),
    ):
        if found[name]:
            parts.append(f"{found[name]:,} {word}")
    if tally.passed_over:
        parts.append(f"{sum(tally.passed_over.values()):,} passed over")
    print_message(paint(f"{counted(sum(found.values()), 'file')}: {', '.join(parts)}", sys.stderr, bold=True))
    look = counted(need_a_look, "needs a look", "need a look")
    print_message(f"{look}: {neutralised(page)}" if need_a_look else f"the report: {neutralised(page)}")


def _watch(batch: Batch, ledger: Ledger, seen: dict[str, str], *, quiet: bool, report: Path | None) -> None:
    """Look again and again; what changed and has been left alone for a while is converted."""
    if not quiet:
        print_message("watching; stop with Ctrl-C")
    waiting = bool(batch.last_scan and batch.last_scan.unsettled)
    said = ""
    try:
        while True:
            time.sleep(_LOOKING if not said else _TROUBLED)
            try:
                now = _snapshot(batch)
                if now != seen or waiting:
                    _run(batch, ledger, quiet=True, list_skipped=False, report=report)
                    if not quiet:
                        _print_changes(ledger)
                    waiting = bool(batch.last_scan and batch.last_scan.unsettled)
                    seen = now
                said = ""
            except LoomconvError as error:  # a source is not there just now, or the disk is full: that may pass
                waiting = True
                if str(error) != said:
                    said = str(error)
                    print_message(neutralised(f"{said} (watching goes on)"))
    except KeyboardInterrupt:
        if not quiet:
            print_message("stopped")


def _print_changes(ledger: Ledger) -> None:
    statuses_now = ledger.statuses()
    words = ", ".join(f"{number:,} {status}" for status, number in sorted(statuses_now.items()))
    print_message(f"{time.strftime('%H:%M:%S')} {words}")


def _snapshot(batch: Batch) -> dict[str, str]:
    scan = batch.scan(None)
    scan.settle = 0.0
    return {item.name: item.stamp for item in scan.items()}
