"""What the write-boundary log is called, how it is recognised, and what it holds (everything)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

from loomconv import jsontext
from loomconv.format import EVERYTHING, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document
from loomconv.report import Code
from loomconv.storage import Source
from loomconv.writelog import FORMAT

__all__ = ["LoomWriteLog"]


class LoomWriteLog(Format):
    """`*.loom.jsonl`: one line for each completed write (docs/write-log.md)."""

    name = FORMAT
    title = "Write-boundary log"
    suffixes = (".loom.jsonl", ".jsonl")
    media_type = "application/x-ndjson"
    namespace = FORMAT
    layout: ClassVar[Layout] = replace(jsontext.COMPACT, final_newline=True)
    compared_by: ClassVar[Literal["file", "document"]] = "document"
    # A log is one text; only documents come as bundles.
    capabilities = replace(EVERYTHING, media=("inline",))
    options = (
        Option(
            name="state",
            help="Whether records after the last commit count.",
            choices=("all", "committed"),
            default="all",
        ),
        Option(
            name="damaged",
            help="What becomes of a line that is no record: refuse the log, or skip the line.",
            choices=("refuse", "skip"),
            default="refuse",
        ),
    )
    finding_codes: ClassVar[dict[str, Code]] = {
        "write-log.torn": Code("error", "The log ends in the middle of a line; that was left out."),
        "write-log.uncommitted": Code("notice", "Records after the last commit were applied."),
        "write-log.uncommitted-left-out": Code("notice", "Records after the last commit were left out, as asked for."),
        "write-log.digest": Code("warning", "The lines that a commit covers are not those that were committed."),
        "write-log.damaged-line": Code("warning", "A line is no record; it was skipped, as asked for."),
        "write-log.glued": Code("warning", "A line holds several records; all of them were applied."),
        "write-log.padding": Code("notice", "NULs around records, as a crash can leave them, were passed over."),
        "write-log.superseded": Code("notice", "Values that later records replaced or deleted were left out."),
        "write-log.missing-tree": Code("warning", "A record names a tree that is not there; it was made."),
        "write-log.missing": Code("notice", "A record deletes something that is not there."),
        "write-log.second-open": Code("warning", "The log is opened a second time; its fields replace the first ones."),
        "write-log.unknown-key": Code("notice", "A record has keys that are not known; they were left out."),
    }

    def detect(self, probe: Probe) -> Confidence | None:
        """By the first record."""
        first = probe.lines[0] if probe.lines else probe.value
        if not isinstance(first, dict):
            return None
        if first.get("op") == "open" and first.get("format") == FORMAT:
            return Confidence(100, "the first record opens a loom-write-log")
        if len(probe.lines) > 1 and all(isinstance(each.get("op"), str) for each in probe.lines):
            return Confidence(50, "lines with an op, not opened")
        if {"id", "text"} <= first.keys() <= {"id", "text", "parent_id"} and len(probe.lines) > 1:
            return Confidence(40, "lines with id, text and parent_id")
        return None

    def read(self, source: Source, context: ReadContext) -> Document:
        """See `reader.read`."""
        from loomconv_plugins.loom_write_log.reader import read

        return read(source, context)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """See `writer.write`."""
        from loomconv_plugins.loom_write_log.writer import write

        write(document, sink)

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of a record."""
        from loomconv_plugins.loom_write_log.checks import schema

        return schema()

    def validate(self, source: Source, context: ReadContext) -> None:
        """See `checks.check`."""
        from loomconv_plugins.loom_write_log.checks import check

        check(source, context)
