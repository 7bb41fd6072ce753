"""The Python API: load, dump, convert, detect."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

from loomconv import jsontext
from loomconv.errors import ConversionRefused, LoomconvError, PluginFault, UsageFault
from loomconv.examination import Examiner
from loomconv.format import Confidence, Format, Others, Probe, ReadContext, WriteContext
from loomconv.jsontext import Layout
from loomconv.model.document import Document, Origin
from loomconv.model.record import NAMESPACE, extensions_of, own_record
from loomconv.options import ConversionOptions
from loomconv.privacy import Withholder, contained_parts
from loomconv.project import project_document, restore_document
from loomconv.project.restoration import join_parts, part_of
from loomconv.registry import Registry, default_registry
from loomconv.repair import mend_node, repair_document
from loomconv.report import Report
from loomconv.storage import AtomicGroup, Source, companion_path, open_source

__all__ = ["Conversion", "Detection", "collector_paused", "convert", "describe_source", "detect", "dump", "load"]

# A path, `-` for a standard stream, the bytes of a file, or a source that is open already (and stays so).
Where = str | os.PathLike[str] | bytes | Source


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


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector during bulk work, which makes no cycles; may be nested."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def detect(where: Where, *, options: ConversionOptions | None = None, registry: Registry | None = None) -> Detection:
    """The format of a file, by its content. Raises UnknownFormat, AmbiguousFormat, UnreadableFile."""
    options = options or ConversionOptions()
    registry = registry or default_registry()
    with _open(where, options) as source:
        probe = Probe(source.data, source.name, source=source)
        chosen, confidence = registry.detect(probe)
        return Detection(chosen.name, confidence, tuple((each.name, found) for each, found in registry.scores(probe)))


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
    what was found. Where the file is one part of a document of several trees, the other parts are looked for beside it.
    Raises LoomconvError subclasses, never anything else for bad input.
    """
    return _Reading(options or ConversionOptions(), report or Report(), registry or default_registry()).load(
        where, format
    )


class _Reading:
    """One input on its way in."""

    def __init__(self, options: ConversionOptions, report: Report, registry: Registry) -> None:
        self.options = options
        self.report = report
        self.registry = registry
        self.truncated = False

    def load(self, where: Where, name: str | None) -> Document:
        source = where if isinstance(where, Source) else open_source(where, self.options.limits)
        try:
            with collector_paused():
                document, chosen = self._read(source, name)
                part = part_of(document)
                if part is not None and part[1] > 1:
                    document = self._with_other_parts(document, part, source, chosen)
                restore_document(document, self.report, mend_node)
                self._finish(document)
        except LoomconvError:
            source.close()
            raise
        return document

    def _read(self, source: Source, name: str | None) -> tuple[Document, Format]:
        probe = Probe(source.data, source.name, source=source)
        chosen = self.registry.format(name) if name else self.registry.detect(probe)[0]
        if not chosen.reads:
            raise UsageFault(f"{chosen.name} cannot be read", source=source.name)
        self.report.source = describe_source(source, chosen)
        self.report.declare(chosen.finding_codes)
        names_files = "file" in chosen.capabilities.media
        examiner = Examiner(source, self.report, self.options, names_files=names_files)
        context = ReadContext(
            report=self.report,
            limits=self.options.limits,
            assume_timezone=self.options.assume_timezone,
            options=self.options.of_format(chosen, "read"),
            examine=examiner.node,
            others=_others(self.registry, self.options),
        )
        try:
            document = chosen.read(source, context)
        except LoomconvError as error:
            error.source = error.source or source.name
            raise
        if not isinstance(document, Document):
            raise PluginFault(f"the format {chosen.name} gave no document", source=source.name)
        layout = jsontext.recognise_layout(probe.head, bytes(source.data[-4096:]))
        # A byte order mark is passed over on reading and never written (A39).
        layout = replace(jsontext.settled_layout(layout, chosen.layout, probe.head), bom=False)
        document.origin = Origin(chosen.name, source.name, source.data, layout, source.container)
        examiner.fields(document)
        source.detach()
        document.touched |= context.touched or examiner.changed or context.truncated
        self.truncated |= context.truncated or source.truncated
        return document, chosen

    def _with_other_parts(
        self, document: Document, part: tuple[int, int, str], source: Source, chosen: Format
    ) -> Document:
        """The whole document, when the file is its first part and all others lie beside it."""
        index, of, mark = part
        parts = [document]
        if index == 1 and source.path is not None:
            for number in range(2, of + 1):
                path = companion_path(source.path, number)
                if not path.is_file():
                    break
                try:
                    other, _ = self._read(open_source(path, self.options.limits), chosen.name)
                except LoomconvError:
                    break  # told of below, with those that are not there
                if part_of(other) != (number, of, mark):
                    break
                parts.append(other)
        self.report.source = describe_source(source, chosen)
        if len(parts) < of:
            self.report.add(
                "restore.missing",
                f"The file is part {index} of {of}; the other parts were not all found beside it.",
                severity="warning",
                value=[index, of],
            )
            return document
        for other in parts[1:]:
            restore_document(other, self.report, mend_node)
        restore_document(document, self.report, mend_node)
        joined = join_parts(parts)
        # No single file holds it, so there are no bytes of its own to copy.
        joined.touched = True
        return joined

    def _finish(self, document: Document) -> None:
        repair_document(document, self.report)
        Withholder(self.options.without, self._private_keys()).apply(document, self.report)
        if any(self.registry.manager.hook.loomconv_transform(document=document, report=self.report)):
            document.touched = True
        if self.options.tree is not None:
            _choose_tree(document, self.options.tree)
        _count(document, self.report, Withholder(self.options.without).parts)

    def _private_keys(self) -> dict[str, Any]:
        return {each.namespace: each.private_keys() for each in self.registry.formats.values()}


def describe_source(source: Source, chosen: Format) -> dict[str, Any]:
    """The report's word on its source."""
    return {"name": source.shown_name, "format": chosen.name, "container": source.container}


def _others(registry: Registry, options: ConversionOptions) -> Others:
    """Other formats for a format that delegates to them."""

    def other(name: str, applies_to: Literal["read", "write"]) -> tuple[Format, dict[str, str]]:
        chosen = registry.format(name)
        return chosen, options.of_format(chosen, applies_to)

    return other


def _choose_tree(document: Document, wanted: str) -> None:
    """Keep one tree of several, chosen by id or number."""
    by_id = [tree for tree in document.trees if tree.id == wanted]
    if not by_id and wanted.isdecimal() and 1 <= int(wanted) <= len(document.trees):
        by_id = [document.trees[int(wanted) - 1]]
    if not by_id:
        known = ", ".join(tree.id for tree in document.trees[:20])
        raise UsageFault(f"there is no tree {wanted!r}", next_step=f"Trees in the file: {known}.")
    if len(document.trees) > 1:
        document.touched = True
    document.trees[:] = by_id[:1]


def _count(document: Document, report: Report, without: frozenset[str]) -> None:
    report.count("trees", len(document.trees))
    report.count("nodes", sum(len(tree.nodes) for tree in document.trees))
    report.count("edges", sum(len(tree.edges) for tree in document.trees))
    report.count("roots", sum(len(tree.roots) for tree in document.trees))
    found = contained_parts(document)
    if not without & {"raw-responses", "raw-bodies", "generation"}:
        found["raw-responses"] = report.counts.get("rawResponses", 0)
    for part, number in found.items():
        if number:
            report.add("privacy.contains", f"The document holds {number} of: {part}; `--without {part}` leaves it out.")


def dump(
    document: Document,
    where: str | os.PathLike[str],
    *,
    format: str | None = None,
    options: ConversionOptions | None = None,
    report: Report | None = None,
    registry: Registry | None = None,
    stdout: BinaryIO | None = None,
) -> list[str]:
    """Write a document as any format, to a path or to `-`; gives the names of the files written.

    All files appear when every one is complete, or none does. A target that holds one tree a file gets the further
    trees in numbered files beside the first. Raises ConversionRefused with
    `options.strict` when anything would be lost.
    """
    options, report, registry = options or ConversionOptions(), report or Report(), registry or default_registry()
    target = registry.format(format) if format else registry.format_for_name(os.fspath(where))
    if not target.writes:
        raise UsageFault(f"{target.name} can be read, but not written")
    report.declare(target.finding_codes)
    name = os.fspath(where)
    with collector_paused():
        parts, layout = _prepared(document, target, "" if name == "-" else Path(name).name, options, report, registry)
        if len(parts) > 1 and name == "-":
            raise UsageFault(
                f"{target.name} holds one tree a file, and the document has {len(parts)}",
                next_step="Choose one with --tree, or name an output file.",
            )
        files = [
            name if number == 1 else str(companion_path(Path(name), number)) for number in range(1, len(parts) + 1)
        ]
        names = [Path(file).name for file in files]
        _spare_strangers(files)
        report.target = {"name": names[0], "format": target.name, "files": names}
        with AtomicGroup(fsync=options.fsync, stdout=stdout) as group:
            for path, part in zip(files, parts, strict=True):
                with group.open(path) as sink:
                    if part.pristine and part.origin is not None and part.origin.format == target.name:
                        _copy(part.origin.data, sink)
                        continue
                    context = WriteContext(
                        report=report,
                        layout=layout or target.layout,
                        layout_is_original=layout is not None,
                        options=options.of_format(target, "write"),
                        name=Path(path).name,
                        exported_at=options.exported_at,
                        others=_others(registry, options),
                    )
                    target.write(part, sink, context)
            if options.strict and report.losses():
                raise ConversionRefused(
                    f"{target.name} cannot hold everything ({report.losses()} losses)",
                    source=report.source["name"] if report.source else None,
                    next_step="See the report; without --strict it is written, and what does not fit is kept aside.",
                )
    return files


def _spare_strangers(files: list[str]) -> None:
    """Further trees go to files that the user never named: never over one that this output did not write before."""
    if len(files) > 1 and not Path(files[0]).exists():
        for path in files[1:]:
            if Path(path).exists():
                raise UsageFault(
                    f"a further tree would go to {path!r}, where a file is already",
                    next_step="Move that file away, choose another output name, or choose one tree with --tree.",
                )


def _prepared(
    document: Document, target: Format, name: str, options: ConversionOptions, report: Report, registry: Registry
) -> tuple[list[Document], Layout | None]:
    """The documents to write, one a file, and the layout that the target's file had before its journey."""
    origin, chosen = document.origin, options.of_format(target, "write")
    if origin is not None and origin.format == target.name:
        if options.exported_at is not None or options.asks(target) or target.is_rewritten(origin, name, chosen):
            document.touched = True
        if document.pristine:
            return [document], None
    document, layout = _with_layouts(document, target, options, report, registry)
    keep = options.residue == "embed"
    capabilities = target.capabilities_for(name, chosen)
    parts = project_document(document, capabilities, report, keep=keep, derived=target.derived_fields)
    if origin is not None and origin.format == target.name:
        layout = origin.layout
    return parts, layout


def _with_layouts(
    document: Document, target: Format, options: ConversionOptions, report: Report, registry: Registry
) -> tuple[Document, Layout | None]:
    """Note how the source was laid out, for its way home, and take out how the target's file was."""
    extensions = dict(extensions_of(document.fields))
    record = own_record(document.fields)
    known = record.get("layouts")
    layouts = dict(known) if isinstance(known, dict) else {}
    own = _known_layout(layouts.pop(target.name, None), report)
    origin = document.origin
    if origin is not None and origin.format != target.name and options.residue == "embed":
        usual = registry.formats.get(origin.format)
        if usual is None or origin.layout not in (usual.layout, *usual.further_layouts):
            layouts[origin.format] = origin.layout.to_json()
    record = {key: value for key, value in record.items() if key != "layouts"}
    fields = dict(document.fields)
    if layouts:
        record["layouts"] = layouts
        if "extensions" in fields and not fields["extensions"]:
            record["bareExtensions"] = fields["extensions"]  # null or empty: they give way to the record
    if record or NAMESPACE in extensions:
        extensions.pop(NAMESPACE, None)
        fields.pop("extensions", None)
        if record.keys() - {"bareExtensions"}:
            extensions[NAMESPACE] = record
        if extensions:
            fields["extensions"] = extensions
        elif "bareExtensions" in record:
            fields["extensions"] = record["bareExtensions"]
    return Document(fields, document.trees, document.key_order, origin, document.touched), own


def _known_layout(value: Any, report: Report) -> Layout | None:
    """A layout that was set aside; one that cannot be read, of a later version perhaps, is passed over."""
    try:
        return None if value is None else Layout.from_json(value)
    except LoomconvError:
        report.add("restore.foreign", "How the file was laid out cannot be read; the usual layout was used.")
        return None


def _copy(data: Any, sink: Any) -> None:
    """The source's own bytes."""
    view = memoryview(data)
    for start in range(0, len(view), 1 << 20):
        sink.write(view[start : start + (1 << 20)])


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
) -> Conversion:
    """Convert a file of any format to any other; `-` is standard input or output.

    The target format is that of the name's suffix unless given. What the target cannot hold is reported and kept in
    the file; reading it again puts it back. Nothing is written unless all of it is.
    """
    options = options or ConversionOptions()
    registry = registry or default_registry()
    report = Report(limit=options.findings_limit) if report is None else report
    report.observers.extend([lambda finding: registry.manager.hook.loomconv_finding(finding=finding)])
    chosen = registry.format(target_format) if target_format else registry.format_for_name(os.fspath(target))
    reading = _Reading(options, report, registry)
    document = reading.load(source, source_format)
    if options.strict and reading.truncated:
        raise ConversionRefused(
            "the input ends too early, so that something of it is lost",
            source=report.source["name"] if report.source else None,
            next_step="Get the complete file; without --strict what stands before the cut is saved.",
        )
    files = dump(document, target, format=chosen.name, options=options, report=report, registry=registry, stdout=stdout)
    return Conversion(report, files, reading.truncated)
