"""The way out: a document becomes a file of any format, and files beside it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from loomconv import jsontext
from loomconv.capabilities import EVERYTHING
from loomconv.errors import ConversionRefused, LoomconvError, UsageFault
from loomconv.format import Format, WriteContext
from loomconv.jsontext import Layout
from loomconv.model.document import Document
from loomconv.model.record import NAMESPACE, extensions_of, own_record
from loomconv.options import ConversionOptions
from loomconv.project import project_document
from loomconv.project.beside import (
    LEVELS,
    RESIDUE_FORMAT,
    make_residue_file,
    without_extensions,
)
from loomconv.reading import collector_paused, others_of
from loomconv.registry import Registry, default_registry
from loomconv.report import Report
from loomconv.storage import AtomicGroup, companion_path, residue_path

__all__ = ["dump"]


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
    with collector_paused():
        return _Writing(os.fspath(where), target, options, report, registry).run(document, stdout)


class _Writing:
    """One document on its way out."""

    def __init__(
        self, name: str, target: Format, options: ConversionOptions, report: Report, registry: Registry
    ) -> None:
        self.name = name
        self.target = target
        self.options = options
        self.report = report
        self.registry = registry
        self.format_options = options.of_format(target, "write")
        self.file_name = "" if name == "-" else Path(name).name
        self.capabilities = target.capabilities_for(self.file_name, self.format_options)
        self.levels_beside = self._levels_beside()

    def run(self, document: Document, stdout: BinaryIO | None) -> list[str]:
        """Write all files, or none; gives their names."""
        parts, layout = self._prepared(document)
        if len(parts) > 1 and self.name == "-":
            raise UsageFault(
                f"{self.target.name} holds one tree a file, and the document has {len(parts)}",
                next_step="Choose one with --tree, or name an output file.",
            )
        files = [self.name, *(str(companion_path(Path(self.name), number + 1)) for number in range(1, len(parts)))]
        _spare_strangers(files)
        names = [Path(file).name for file in files]
        self.report.target = {"name": names[0], "format": self.target.name, "files": names}
        residues: dict[str, bytes | None] = {}
        with AtomicGroup(fsync=self.options.fsync, stdout=stdout) as group:
            for path, part in zip(files, parts, strict=True):
                residues[path] = self._write(part, path, layout, group)
            self._write_residues(residues, group)
            if self.options.strict and self.report.losses():
                raise ConversionRefused(
                    f"{self.target.name} cannot hold everything ({self.report.losses()} losses)",
                    source=self.report.source["name"] if self.report.source else None,
                    next_step="See the report; without --strict it is written, and what does not fit is kept aside.",
                )
        _remove_stale_residues(residues)
        return files

    def _levels_beside(self) -> tuple[str, ...]:
        """The levels whose extensions go to a file beside: all if asked for, else those that the app does not keep."""
        if self.capabilities == EVERYTHING:
            return ()
        if self.options.residue == "beside":
            if self.name == "-":
                raise UsageFault(
                    "standard output has no file beside it", next_step="Name an output file, or use --residue embed."
                )
            return LEVELS
        if self.options.residue == "none" or self.name == "-":
            return ()
        kept = set(self.capabilities.unknown_keys)
        if self.capabilities.trees == "one" and "tree" in kept:
            kept.add("document")  # a file of one tree keeps with it what is the document's
        return tuple(level for level in LEVELS if level not in kept)

    def _prepared(self, document: Document) -> tuple[list[Document], Layout | None]:
        """The documents to write, one a file, and the layout that the target's file had before its journey."""
        origin, target, options = document.origin, self.target, self.options
        at_home = origin is not None and origin.format == target.name
        if origin is not None and at_home:
            rewritten = target.is_rewritten(origin, self.file_name, self.format_options)
            if rewritten or options.exported_at is not None or options.asks(target):
                document.touched = True
            if document.pristine:
                return [document], None
        document, layout = _with_layouts(document, target, options, self.report, self.registry)
        capabilities = self.capabilities
        if self.levels_beside:
            levels: Any = tuple(dict.fromkeys((*capabilities.unknown_keys, *self.levels_beside)))
            capabilities = replace(capabilities, unknown_keys=levels)
        keep = options.residue != "none"
        parts = project_document(document, capabilities, self.report, keep=keep, derived=target.derived_fields)
        return parts, origin.layout if origin is not None and at_home else layout

    def _write(self, part: Document, path: str, layout: Layout | None, group: AtomicGroup) -> bytes | None:
        """Write one file; gives the bytes of the residue file that belongs to it, or None."""
        origin, target = part.origin, self.target
        if part.pristine and origin is not None and origin.format == target.name:
            with group.open(path) as sink:
                _copy(origin.data, sink)
            return origin.residue if self.options.residue != "none" and path != "-" else None
        residue = make_residue_file(part, self.levels_beside, target.namespace, format=target.name)
        if residue is not None:
            part = without_extensions(part, self.levels_beside, target.namespace)
        context = WriteContext(
            report=self.report,
            layout=layout or target.layout,
            layout_is_original=layout is not None,
            options=self.format_options,
            name="" if path == "-" else Path(path).name,
            exported_at=self.options.exported_at,
            others=others_of(self.registry, self.options),
        )
        with group.open(path) as sink:
            target.write(part, sink, context)
        return None if residue is None else jsontext.dump(residue, jsontext.COMPACT)

    def _write_residues(self, residues: dict[str, bytes | None], group: AtomicGroup) -> None:
        written = []
        for path, data in residues.items():
            if data is not None:
                beside = residue_path(Path(path))
                with group.open(beside) as sink:
                    sink.write(data)
                written.append(beside.name)
        if written and self.report.target is not None:
            self.report.target["residue"] = written


def _remove_stale_residues(residues: dict[str, bytes | None]) -> None:
    """The residue file of a file that was replaced says nothing of the new one."""
    mark = f'"format":"{RESIDUE_FORMAT}"'.encode()
    for path, data in residues.items():
        if data is None and path != "-":
            stale = residue_path(Path(path))
            if stale.is_file() and mark in stale.read_bytes()[:64]:
                stale.unlink()


def _spare_strangers(files: list[str]) -> None:
    """Further trees go to files that the user never named: never over one that this output did not write before."""
    if len(files) > 1 and not Path(files[0]).exists():
        for path in files[1:]:
            if Path(path).exists():
                raise UsageFault(
                    f"a further tree would go to {path!r}, where a file is already",
                    next_step="Move that file away, choose another output name, or choose one tree with --tree.",
                )


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
    if origin is not None and origin.format != target.name and options.residue != "none":
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
