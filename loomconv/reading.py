"""The way in: a source of any format becomes a document that is whole and sound."""

from __future__ import annotations

import gc
import glob
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from loomconv import jsontext
from loomconv.errors import LoomconvError, PluginFault, UsageFault
from loomconv.examination import Examiner
from loomconv.format import Format, Others, Probe, ReadContext
from loomconv.media.store import MediaStore
from loomconv.model.document import Document, Origin, copy_of
from loomconv.options import ConversionOptions
from loomconv.privacy import Withholder, contained_parts, drop_secrets
from loomconv.project import restore_document
from loomconv.project.beside import (
    merge_residue_file,
)
from loomconv.project.restoration import Mend, join_parts, part_of
from loomconv.registry import Registry
from loomconv.repair import mend_node, repair_document
from loomconv.report import Report
from loomconv.storage import Source, companion_path, open_source, residue_path

__all__ = ["Reading", "Where", "collector_paused", "describe_source", "others_of"]

# A path, `-` for a standard stream, the bytes of a file, or a source that is open already (and stays so).
Where = str | os.PathLike[str] | bytes | Source


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


class Reading:
    """One input on its way in."""

    def __init__(self, options: ConversionOptions, report: Report, registry: Registry) -> None:
        self.options = options
        self.report = report
        self.registry = registry
        self.truncated = False
        self._mend: Mend = mend_node

    def load(self, where: Where, name: str | None) -> Document:
        """The whole, restored and repaired document; `name` is the format when it is known. Closes what it opened."""
        source = where if isinstance(where, Source) else open_source(where, self.options.limits)
        try:
            with collector_paused():
                document, chosen = self._read(source, name, closes=not isinstance(where, Source))
                part = part_of(document)
                if part is not None and part[1] > 1:
                    document = self._with_other_parts(document, part, source, chosen)
                restore_document(document, self.report, self._mend)
                self._finish(document)
        except LoomconvError:
            source.close()
            raise
        return document

    def _read(self, source: Source, name: str | None, *, closes: bool = True) -> tuple[Document, Format]:
        probe = Probe(source.data, source.name, source=source)
        chosen = self.registry.format(name) if name else self.registry.detect(probe)[0]
        if not chosen.reads:
            raise UsageFault(f"{chosen.name} cannot be read", source=source.name)
        self.report.source = describe_source(source, chosen)
        self.report.declare(chosen.finding_codes)
        names_files = "file" in chosen.capabilities.media
        store = MediaStore(source, self._media_folders(source), self.options.limits, closes=closes)
        examiner = Examiner(source, self.report, self.options, store, names_files=names_files)
        context = ReadContext(
            report=self.report,
            limits=self.options.limits,
            assume_timezone=self.options.assume_timezone,
            options=self.options.of_format(chosen, "read"),
            examine=examiner.node,
            others=others_of(self.registry, self.options),
        )
        doubled = self.report.codes["read.duplicate-key"]
        with self.registry.at_work(chosen, "reading", source.name):
            document = chosen.read(source, context)
        if not isinstance(document, Document):
            raise PluginFault(f"the format {chosen.name} gave no document", source=source.name)
        if self.report.codes["read.duplicate-key"] > doubled and self._must_not_show_all(source):
            _spell_anew(document)
            context.touched = True
        layout = jsontext.recognise_layout(probe.head, bytes(source.data[-4096:]))
        if probe.value is jsontext.NOTHING:
            layout = chosen.layout  # no JSON, such as a database
        # A byte order mark is passed over on reading and never written (A39).
        layout = replace(jsontext.settled_layout(layout, chosen.layout, probe.head), bom=False)
        document.origin = Origin(chosen.name, source.name, source.data, layout, source.container)
        examiner.fields(document)
        self._merge_residue_file(document, source, examiner)
        document.media = store
        self._mend = examiner.mended
        if not source.members:
            source.detach()
        document.touched |= context.touched or examiner.changed or context.truncated
        self.truncated |= context.truncated or source.truncated
        return document, chosen

    def _must_not_show_all(self, source: Source) -> bool:
        """Whether a value that a later one with the same key hides must not be written along."""
        if self.options.without or self.options.media == "drop":
            return True
        return not self.options.keep_secrets and _hides_secrets(bytes(source.data))

    def _media_folders(self, source: Source) -> list[Path]:
        """Where files that the document names are looked for: in the folder that was named, then beside it."""
        folders = [] if self.options.media_root is None else [self.options.media_root]
        return folders if source.path is None else [*folders, source.path.parent]

    def _merge_residue_file(self, document: Document, source: Source, examiner: Examiner) -> None:
        """Put back what an earlier conversion set aside beside the file; a file that cannot be used is left alone."""
        if source.path is None or document.origin is None:
            return
        for path in source.beside(glob.escape(residue_path(source.path).name)):
            try:
                data = source.read_beside(path, self.options.limits.document_bytes)
                value = examiner.without_secrets(jsontext.load(data).value)
                if merge_residue_file(document, value, self.report):
                    document.origin.residue = data
                    self.report.add("read.sidecar", "The residue file beside the file was read, too.", value=path.name)
            except LoomconvError as error:
                self.report.add(
                    "restore.foreign",
                    f"The residue file beside the file was left alone: {error.message}.",
                    severity="warning",
                    value=path.name,
                )

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
            restore_document(other, self.report, self._mend)
        restore_document(document, self.report, self._mend)
        joined = join_parts(parts)
        # No single file holds it, so there are no bytes of its own to copy.
        joined.touched = True
        return joined

    def _finish(self, document: Document) -> None:
        repair_document(document, self.report)
        Withholder(self.options.without, self._private_keys()).apply(document, self.report)
        self._transform(document)
        if self.options.tree is not None:
            _choose_tree(document, self.options.tree)
        _count(document, self.report, Withholder(self.options.without).parts)

    def _transform(self, document: Document) -> None:
        """Let plugins change the document. One that fails midway is switched off, and what it did is undone."""
        while self.registry.listens("loomconv_transform"):
            spare, broken = copy_of(document), set(self.registry.broken)
            answers = self.registry.call("loomconv_transform", document=document, report=self.report)
            failed = sorted(self.registry.broken.keys() - broken)
            if not failed:
                document.touched |= any(answers)
                return
            for name in failed:
                self.report.add(
                    "convert.plugin-switched-off",
                    f"The plugin {name} failed and was switched off; the document is as if it had not been asked.",
                    value=self.registry.broken[name],
                )
            document.fields, document.trees, document.touched = spare.fields, spare.trees, spare.touched

    def _private_keys(self) -> dict[str, Any]:
        return {each.namespace: each.private_keys() for each in self.registry.formats.values()}


def describe_source(source: Source, chosen: Format) -> dict[str, Any]:
    """The report's word on its source."""
    return {"name": source.shown_name, "format": chosen.name, "container": source.container}


def others_of(registry: Registry, options: ConversionOptions) -> Others:
    """Other formats for a format that delegates to them."""

    def other(name: str, applies_to: Literal["read", "write"]) -> tuple[Format, dict[str, str]]:
        chosen = registry.format(name)
        return chosen, options.of_format(chosen, applies_to)

    return other


def _hides_secrets(data: bytes) -> bool:
    """Whether a key or password stands in a value that a later one with the same key hides; yes if nobody knows."""
    hidden: list[dict[str, Any]] = []

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        hidden.extend({key: each} for key, each in pairs if len(value) < len(pairs) and value[key] is not each)
        return value

    try:
        json.loads(data, object_pairs_hook=noted)
    except (ValueError, RecursionError):
        return True
    return any(drop_secrets(each)[1] for each in hidden)


def _spell_anew(document: Document) -> None:
    """Let nothing be written as the bytes that it was, so that hidden values go."""
    for tree in document.trees:
        edges = tree.edges
        for node_id in tree.nodes.ids:
            tree.nodes.put_block(node_id, jsontext.encode(tree.nodes[node_id]))
        tree.edges = edges.rebuilt(tree.nodes, lambda position, edges=edges: edges[position])  # type: ignore[misc]


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
