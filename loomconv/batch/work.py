"""The work on one item, the same in every engine: a pure function of the item and the settings, but for its files."""

from __future__ import annotations

import errno
import hashlib
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from loomconv import api, jsontext
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.names import DirectoryNames, safe_name
from loomconv.batch.scan import is_url, open_store
from loomconv.errors import DiskFull, LoomconvError, UnknownFormat, UnreadableFile
from loomconv.model.document import Document
from loomconv.registry import default_registry
from loomconv.report import Report
from loomconv.storage import Source, companion_path, open_source
from loomconv.storage.archive import Archive

__all__ = ["convert_item", "limit_memory"]

_EXAMPLE: Final = 240
_NUMBERED: Final = re.compile(r"(.+)-([0-9]{1,6})(\..+)", re.DOTALL)
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def convert_item(item: Item, settings: Settings) -> Outcome:
    """Convert one source. Whatever is wrong with it is in the outcome; nothing is raised for it."""
    began = time.perf_counter()
    outcome = Outcome(item.name, "failed")
    report = Report(limit=None)
    try:
        with _opened(item, settings) as source:
            outcome.digest = hashlib.sha256(source.data).hexdigest()
            if outcome.digest == item.digest and _is_there(item, settings):
                outcome.status = "same"
            else:
                _convert(item, settings, source, report, outcome)
    except UnknownFormat as error:
        outcome.status, outcome.message = _unknown(item, settings, error)
    except DiskFull as error:
        outcome.status, outcome.message, outcome.fatal = "stopped", _said(error), True
    except LoomconvError as error:
        outcome.status, outcome.message = "failed", _said(error)
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


# -- in ------------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(item: Item, settings: Settings) -> Iterator[Source]:
    limits = settings.options.limits
    if item.member is not None:
        with Path(item.source).open("rb") as stream:
            archive = Archive(stream, item.source, limits, with_tree=False)
            data = archive.read(item.member, limits.document_bytes)
            archive.close()
        if data is None:
            raise UnreadableFile("the archive does not hold it any more", source=item.name)
        source = open_source(data, limits, name=item.name)
    elif is_url(item.source):
        system, path = open_store(item.source)
        try:
            data = system.cat_file(path)
        except OSError as error:
            raise UnreadableFile(f"it cannot be fetched ({type(error).__name__})", source=item.name) from None
        source = open_source(data, limits, name=item.name)
    else:
        source = open_source(item.source, limits)
    with source:
        yield source


def _unknown(item: Item, settings: Settings, error: UnknownFormat) -> tuple[Any, str]:
    """A file that is no loom is skipped; one that is called like a loom, and is no JSON at all, needs a look."""
    suffixes = [suffix for each in default_registry().formats.values() for suffix in each.suffixes]
    if item.name.lower().endswith((".json", *suffixes)):
        try:
            with _opened(item, settings) as source:
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
        target.parent.mkdir(parents=True, exist_ok=True)
        if settings.split:
            files = _split(item, settings, source, report, outcome, target)
        else:
            done = api.convert(
                source,
                target,
                source_format=outcome.format,
                target_format=settings.target_format,
                options=settings.options,
                report=report,
            )
            outcome.status = "partly" if done.truncated else "done"
            files = _written(target, done.files, report)
        outcome.outputs = [Path(each).relative_to(folder).as_posix() for each in files]
        publish(outcome.outputs)


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


def _split(item: Item, settings: Settings, source: Source, report: Report, outcome: Outcome, target: Path) -> list[str]:
    """Each tree to a file of its own, named by its title; a loom of one tree keeps the name of its file."""
    document = api.load(source, format=outcome.format, options=settings.options, report=report)
    outcome.status = "partly" if report.codes["read.truncated"] else "done"
    files: list[str] = []
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
        written = api.dump(single, path, format=settings.target_format, options=settings.options, report=report)
        files += _written(path, written, report)
    return files


def _written(target: Path, files: list[str], report: Report) -> list[str]:
    """All files that a conversion wrote, those for residue and media included."""
    told = report.target or {}
    more = [*told.get("residue", ()), *told.get("media", ())]
    return [*files, *(str(target.parent / name) for name in more)]


@contextmanager
def _target_folder(settings: Settings) -> Iterator[tuple[Path, Any]]:
    """A local folder to write to, and what makes its files appear where they belong."""
    if not is_url(settings.target_root):
        yield Path(settings.target_root), lambda outputs: None
        return
    with tempfile.TemporaryDirectory(prefix="loomconv-") as folder:
        system, root = open_store(settings.target_root)

        def publish(outputs: list[str]) -> None:
            # The loom itself comes last: when it is there, all of it is.
            for name in reversed(outputs):
                system.pipe_file(f"{root.rstrip('/')}/{name}", (Path(folder) / name).read_bytes())

        yield Path(folder), publish


def _is_there(item: Item, settings: Settings) -> bool:
    if not is_url(settings.target_root):
        return (Path(settings.target_root) / item.target).exists()
    system, root = open_store(settings.target_root)
    return bool(system.exists(f"{root.rstrip('/')}/{item.target}"))


def limit_memory(size: int | None) -> None:
    """Limit this process to so many bytes, where the system can do that."""
    if size is None:
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, size))
