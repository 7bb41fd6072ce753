"""The Python API: load, dump, convert, detect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from loomconv.errors import ConversionRefused
from loomconv.format import Confidence, Probe
from loomconv.model.document import Document
from loomconv.options import ConversionOptions
from loomconv.reading import Reading, Where, collector_paused, describe_source
from loomconv.registry import Registry, default_registry
from loomconv.report import Finding, Report
from loomconv.storage import Guard, Source, open_source
from loomconv.writing import dump

__all__ = [
    "Conversion",
    "Detection",
    "Where",
    "collector_paused",
    "convert",
    "describe_source",
    "detect",
    "dump",
    "load",
]


@dataclass(frozen=True, slots=True)
class Detection:
    """Which format a file's content speaks for, how surely, and why; `candidates` are all that recognised it."""

    format: str
    confidence: Confidence
    candidates: tuple[tuple[str, Confidence], ...] = ()


@dataclass(slots=True)
class Conversion:
    """The outcome of a conversion: its report, the files written, and whether the input ended too early."""

    report: Report
    files: list[str] = field(default_factory=list)
    truncated: bool = False


def detect(where: Where, *, options: ConversionOptions | None = None, registry: Registry | None = None) -> Detection:
    """The format of a file, by its content. Raises UnknownFormat, AmbiguousFormat, UnreadableFile."""
    options = options or ConversionOptions()
    registry = registry or default_registry()
    with _open(where, options) as source:
        probe = Probe(source.data, source.name, source=source)
        chosen, confidence = registry.detect(probe)
        return Detection(chosen.name, confidence, tuple((each.name, found) for each, found in registry.scores(probe)))


def _tell_plugins(registry: Registry, finding: Finding) -> None:
    registry.call("loomconv_finding", finding=finding)


@contextmanager
def _open(where: Where, options: ConversionOptions) -> Iterator[Source]:
    """The source, closed afterwards unless it was open before."""
    if isinstance(where, Source):
        yield where
        return
    with open_source(where, options.limits) as source:
        yield source


def load(
    where: Where,
    *,
    format: str | None = None,
    options: ConversionOptions | None = None,
    report: Report | None = None,
    registry: Registry | None = None,
) -> Document:
    """Read any loom: a path, `-` for standard input, or bytes.

    The document is repaired, secrets are out, residue of earlier conversions is back in its place; `report` receives
    what was found. Media of a bundle are read when they are needed: the archive stays open as long as `document.media`.
    Where the file is one part of a document of several trees, the other parts are looked for beside it.
    Raises LoomconvError subclasses, never anything else for bad input.
    """
    return Reading(options or ConversionOptions(), report or Report(), registry or default_registry()).load(
        where, format
    )


def convert(
    source: Where,
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    options: ConversionOptions | None = None,
    report: Report | None = None,
    registry: Registry | None = None,
    stdout: BinaryIO | None = None,
    guard: Guard | None = None,
) -> Conversion:
    """Convert a file of any format to any other; `-` is standard input or output.

    The target format is that of the name's suffix unless given. What the target cannot hold is reported and kept in
    the file; reading it again puts it back. Nothing is written unless all of it is. A `guard` may forbid places.
    """
    options = options or ConversionOptions()
    registry = registry or default_registry()
    report = Report(limit=options.findings_limit) if report is None else report
    if registry.listens("loomconv_finding"):
        report.observers.append(partial(_tell_plugins, registry))
    chosen = registry.format(target_format) if target_format else registry.format_for_name(os.fspath(target))
    reading = Reading(options, report, registry)
    document = reading.load(source, source_format)
    try:
        if options.strict and reading.truncated:
            raise ConversionRefused(
                "the input ends too early, so that something of it is lost",
                source=report.source["name"] if report.source else None,
                next_step="Get the complete file; without --strict what stands before the cut is saved.",
            )
        files = dump(
            document, target, format=chosen.name, options=options, report=report, registry=registry, stdout=stdout,
            guard=guard,
        )  # fmt: skip
    finally:
        if document.media is not None and not isinstance(source, Source):
            document.media.close()
    return Conversion(report, files, reading.truncated)
