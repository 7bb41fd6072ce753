"""The work on one item, the same in every engine: a pure function of the item and the settings, but for its files."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from loomconv import api, jsontext
from loomconv.batch.contents import opened
from loomconv.batch.items import Item, Outcome, Settings, Status, stamp_of
from loomconv.batch.names import DirectoryNames, safe_name
from loomconv.batch.places import Guarded, Territory, is_url
from loomconv.batch.stores import canonical, in_store, open_store
from loomconv.errors import ConversionRefused, DiskFull, InTheWay, LoomconvError, UnknownFormat, UsageFault
from loomconv.model.document import Document
from loomconv.registry import default_registry
from loomconv.report import Report
from loomconv.storage import Source, companion_path
from loomconv.storage.tar import is_tar

__all__ = ["convert_item", "limit_memory"]

# As much as tells whether it is an archive.
_HEAD: Final = 2 << 20
_EXAMPLE: Final = 240
_NUMBERED: Final = re.compile(r"(.+)-([0-9]{1,6})(\..+)", re.DOTALL)
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def convert_item(item: Item, settings: Settings) -> Outcome:
    """Convert one source. Whatever is wrong with it is in the outcome; nothing is raised for it."""
    began = time.perf_counter()
    outcome = Outcome(item.name, "failed")
    report = Report(limit=None)
    try:
        with opened(item, settings.options.limits) as source:
            outcome.digest = hashlib.sha256(source.data).hexdigest()
            if outcome.digest == item.digest and _is_there(item, settings):
                outcome.status = "same"
            else:
                _convert(item, settings, source, report, outcome)
    except UnknownFormat as error:
        outcome.status, outcome.message = _unknown(item, settings, error)
    except DiskFull as error:
        outcome.status, outcome.message, outcome.fatal = "stopped", _said(error), True
    except UsageFault as error:  # the target is the cause, not the file
        outcome.status, outcome.message = "stopped", _said(error)
    except LoomconvError as error:
        outcome.status, outcome.message = "stopped" if _is_barred(item) else "failed", _said(error)
        outcome.refused = isinstance(error, ConversionRefused)
    except OSError as error:
        outcome.status, outcome.message = "stopped", f"The system says: {error.strerror or type(error).__name__}."
        outcome.fatal = error.errno in _NO_ROOM
    except MemoryError:
        outcome.status, outcome.message = "stopped", "There is not enough memory for it."
    except Exception as error:  # a fault of a plugin, or of this program: it costs one file
        outcome.message = f"This is a fault of loomconv or of a plugin ({type(error).__name__})."
    _fill(outcome, report)
    outcome.seconds = time.perf_counter() - began
    return outcome


def _is_barred(item: Item) -> bool:
    """Whether the file cannot be opened now, which says nothing of what is in it."""
    return not is_url(item.source) and Path(item.source).is_file() and not os.access(item.source, os.R_OK)


def _said(error: LoomconvError) -> str:
    """The error without the name of the file, which stands beside it."""
    place = "" if error.place is None else f" at {error.place}"
    step = f" {error.next_step}" if error.next_step else ""
    return f"{error.message[:1].upper()}{error.message[1:]}{place}.{step}"


def _fill(outcome: Outcome, report: Report) -> None:
    outcome.codes = dict(report.codes)
    outcome.losses = sum(number for code, number in report.codes.items() if code.startswith("loss."))
    outcome.trees, outcome.nodes = (report.counts.get(name, 0) for name in ("trees", "nodes"))
    for finding in report.findings:
        if finding.code.startswith("loss.") and finding.severity == "warning":
            outcome.lost += 1
        elif finding.severity in ("warning", "error"):
            outcome.warnings += 1
        if finding.code not in outcome.examples:
            where = ", ".join(filter(None, (finding.node and f"node {finding.node}", finding.pointer)))
            outcome.examples[finding.code] = f"{finding.message}{f' ({where})' if where else ''}"[:_EXAMPLE]


def _unknown(item: Item, settings: Settings, error: UnknownFormat) -> tuple[Any, str]:
    """A file that is no loom is skipped; one that is called like a loom, and is no JSON at all, needs a look."""
    try:
        with opened(item, settings.options.limits) as source:
            if is_tar(io.BytesIO(source.data[:_HEAD]), item.name):
                return "failed", "It is an archive where none is looked into. Extract it first."
    except (LoomconvError, OSError):
        pass  # what is wrong with it is told below, or has been told
    suffixes = [suffix for each in default_registry().formats.values() for suffix in each.suffixes]
    if item.name.lower().endswith((".json", *suffixes)):
        try:
            with opened(item, settings.options.limits) as source:
                jsontext.load(source.data)
        except LoomconvError as broken:
            return "failed", _said(broken)
    return "skipped", "It is no loom."


# -- out -----------------------------------------------------------------------------------------------------------


def _convert(item: Item, settings: Settings, source: Source, report: Report, outcome: Outcome) -> None:
    registry = default_registry()
    if _is_further_part(item, settings, source):
        outcome.status, outcome.message = "skipped", "It is a further part of a loom that lies beside it."
        return
    outcome.format = settings.source_format or api.detect(source, options=settings.options, registry=registry).format
    with _target_folder(settings) as (folder, publish):
        target = folder / item.target
        guard = Guarded(item, settings) if publish is None else None
        if guard is not None:
            guard.spare_sources(Path(os.path.realpath(target)))  # before a folder is made for it
        target.parent.mkdir(parents=True, exist_ok=True)
        if settings.split:
            _split(settings, source, report, outcome, folder, target, guard)
        else:
            done = api.convert(
                source,
                target,
                source_format=outcome.format,
                target_format=settings.target_format,
                options=settings.options,
                report=report,
                guard=guard,
            )
            _note(outcome, folder, _written(target, done.files, report))
            outcome.status = "partly" if done.truncated else "done"
        if publish is not None:
            publish(outcome.outputs)


def _note(outcome: Outcome, folder: Path, files: list[str]) -> None:
    """Note that these files were written."""
    for each in map(Path, files):
        outcome.outputs.append(each.relative_to(folder).as_posix())
        outcome.stamps.append(stamp_of(each.stat()))


def _is_further_part(item: Item, settings: Settings, source: Source) -> bool:
    """Whether the file holds the second or a later tree of a loom whose first file takes it along."""
    found = _NUMBERED.fullmatch(Path(item.source).name)
    if found is None or source.path is None:
        return False
    first, number = source.path.with_name(found[1] + found[3]), int(found[2])
    if number < 2 or not first.is_file() or companion_path(first, number) != source.path:
        return False
    report = Report()
    api.load(source, format=settings.source_format, options=settings.options, report=report)
    parts = [each.value for each in report.findings if each.code == "restore.missing" and isinstance(each.value, list)]
    return any(value[:1] == [number] for value in parts)


def _split(
    settings: Settings,
    source: Source,
    report: Report,
    outcome: Outcome,
    root: Path,
    target: Path,
    guard: Guarded | None,
) -> None:
    """Each tree to a file of its own, named by its title; a loom of one tree keeps the name of its file.

    Each file is noted as soon as it is there: where a later tree fails, the batch knows what it has written.
    """
    document = api.load(source, format=outcome.format, options=settings.options, report=report)
    status: Status = "partly" if report.codes["read.truncated"] else "done"
    names = DirectoryNames()
    folder = target.with_name(target.name.removesuffix(settings.suffix))
    if len(document.trees) > 1:
        folder.mkdir(exist_ok=True)
    for tree in document.trees:
        single = Document(document.fields, [tree], (), document.origin, touched=True, media=document.media)
        if len(document.trees) == 1:
            single, path = document, target
        else:
            path = folder / names.take(safe_name(str(tree.fields.get("title") or "")), settings.suffix)
        written = api.dump(
            single, path, format=settings.target_format, options=settings.options, report=report, guard=guard
        )
        _note(outcome, root, _written(path, written, report))
    outcome.status = status


def _written(target: Path, files: list[str], report: Report) -> list[str]:
    """All files that a conversion wrote, those for residue and media included."""
    told = report.target or {}
    more = [*told.get("residue", ()), *told.get("media", ())]
    return [*files, *(str(target.parent / name) for name in more)]


@contextmanager
def _target_folder(settings: Settings) -> Iterator[tuple[Path, Callable[[list[str]], None] | None]]:
    """A local folder to write to; for a store also what makes its files appear where they belong."""
    if not is_url(settings.target_root):
        yield Path(settings.target_root), None
        return
    with tempfile.TemporaryDirectory(prefix="loomconv-") as folder:
        root = canonical(settings.target_root)
        territory = Territory(map(canonical, settings.sources), root)

        def publish(outputs: list[str]) -> None:
            system, _ = open_store(settings.target_root)
            places = [in_store(settings.target_root, name) for name in outputs]
            if any(territory.is_source(f"{root.rstrip('/')}/{name}") for name in outputs):
                raise InTheWay(
                    "the output would come among the sources, which are never touched",
                    next_step="Choose another target.",
                )
            # The loom itself comes last: when it is there, all of it is.
            for name, place in zip(reversed(outputs), reversed(places), strict=True):
                try:
                    system.pipe_file(place, (Path(folder) / name).read_bytes())
                except Exception as error:  # every store has errors of its own
                    raise UsageFault(
                        f"the store does not take it ({type(error).__name__})",
                        next_step="Check the address and your rights there, and run it again.",
                    ) from None

        yield Path(folder), publish


def _is_there(item: Item, settings: Settings) -> bool:
    if not is_url(settings.target_root):
        return (Path(settings.target_root) / item.target).exists()
    system, _ = open_store(settings.target_root)
    return bool(system.exists(in_store(settings.target_root, item.target)))


def limit_memory(size: int | None) -> None:
    """Limit this process to so many bytes, where the system can do that."""
    if size is None:
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, size))
