"""What a file is at a glance: `loomconv inspect`, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from loomconv import api
from loomconv.format import Confidence
from loomconv.model.document import Document, Tree
from loomconv.model.times import format_ms, to_ms
from loomconv.model.types import Node
from loomconv.options import ConversionOptions
from loomconv.outline import OutlineLine, outline, spread
from loomconv.privacy import contained_parts
from loomconv.provenance import HashCheck, check_hashes
from loomconv.registry import Registry, default_registry
from loomconv.report import Report
from loomconv.storage import Source, open_source

__all__ = ["Inspection", "TreeSummary", "inspect_file"]


@dataclass(slots=True)
class TreeSummary:
    """One tree in numbers. `depth` counts levels (a root alone has 1); `branch_points` have two children or more.

    `media` counts blocks by type and by whether their bytes are `embedded` or `referred` to. Times are ISO-8601, UTC.
    """

    id: str
    title: str
    mode: str | None
    nodes: int = 0
    edges: int = 0
    roots: int = 0
    leaves: int = 0
    branch_points: int = 0
    notes: int = 0
    depth: int = 0
    characters: int = 0
    current: str | None = None
    current_level: int = 0
    authors: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    media: dict[str, Counter[str]] = field(default_factory=dict)
    raw_responses: int = 0
    first_time: str | None = None
    last_time: str | None = None
    preview: list[OutlineLine] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The summary as a JSON object."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__ if name != "preview"}
        for name in ("authors", "names", "models"):
            found[name] = dict(found[name].most_common())
        found["media"] = {kind: dict(counts) for kind, counts in self.media.items()}
        found["preview"] = [line.to_json() for line in self.preview]
        return found


@dataclass(slots=True)
class Inspection:
    """What `inspect_file` finds. `confidence` is None when the format was given; `private` counts, and never quotes."""

    name: str
    format: str
    title: str
    confidence: Confidence | None
    candidates: tuple[tuple[str, Confidence], ...]
    container: str
    size: int
    trees: list[TreeSummary]
    private: dict[str, int]
    report: Report
    # What became of the content hashes, by tree; None unless they were asked for.
    hashes: list[HashCheck] | None = None

    def to_json(self) -> dict[str, Any]:
        """The inspection as a JSON object, for `loomconv inspect --json`."""
        confidence = self.confidence
        return {
            "source": {"name": self.name, "container": self.container, "bytes": self.size},
            "format": {
                "name": self.format,
                "title": self.title,
                "confidence": None if confidence is None else confidence.score,
                "reason": None if confidence is None else confidence.reason,
                "candidates": [
                    {"name": name, "confidence": each.score, "reason": each.reason} for name, each in self.candidates
                ],
            },
            "private": self.private,
            "findings": self.report.to_json()["counts"]["findings"],
            "codes": dict(sorted(self.report.codes.items())),
            "trees": [tree.to_json() for tree in self.trees],
            **({} if self.hashes is None else {"hashes": [check.to_json() for check in self.hashes]}),
        }


def inspect_file(
    where: api.Where,
    *,
    format: str | None = None,
    options: ConversionOptions | None = None,
    registry: Registry | None = None,
    preview: bool = True,
    verify_hashes: bool = False,
) -> Inspection:
    """Look at a file of any format: a path, `-`, bytes, or an open source; `verify_hashes` recomputes content hashes.

    Everything is read as for a conversion, so that its findings are those of one. Raises what `load` raises. Costs one
    look at every node.
    """
    options, registry = options or ConversionOptions(), registry or default_registry()
    report = Report(limit=options.findings_limit)
    source = where if isinstance(where, Source) else open_source(where, options.limits)
    try:
        detection = None if format else api.detect(source, options=options, registry=registry)
        chosen = registry.format(format or (detection.format if detection else ""))
        document = api.load(source, format=chosen.name, options=options, report=report, registry=registry)
        trees = [_summary(tree, preview) for tree in document.trees]
        return Inspection(
            name=source.shown_name,
            format=chosen.name,
            title=chosen.title,
            confidence=detection.confidence if detection else None,
            candidates=detection.candidates if detection else (),
            container=source.container,
            size=source.size,
            trees=trees,
            private=_private(document, trees, report),
            report=report,
            hashes=list(check_hashes(document, registry.hash_schemes())) if verify_hashes else None,
        )
    finally:
        if source is not where:
            source.close()


def _private(document: Document, trees: list[TreeSummary], report: Report) -> dict[str, int]:
    parts = contained_parts(document)
    return {
        "system_prompts": parts["system-context"],
        "agent_prompts": parts["agent-prompts"],
        "raw_responses": sum(tree.raw_responses for tree in trees),
        "secrets": report.codes["privacy.secret-dropped"] + report.codes["privacy.secret-kept"],
    }


def _summary(tree: Tree, preview: bool) -> TreeSummary:
    graph, extent = tree.graph, spread(tree)
    mode = tree.fields.get("mode")
    summary = TreeSummary(tree.id, str(tree.fields.get("title") or ""), mode if isinstance(mode, str) else None)
    notes = tree.attached_notes()
    summary.nodes, summary.edges, summary.roots = len(tree.nodes), len(tree.edges), len(tree.roots)
    summary.notes = len(notes)
    summary.depth = max(extent.level, default=0)
    for ordinal in range(len(tree.nodes)):
        children = graph.child_count(ordinal)
        summary.leaves += not children and ordinal not in notes
        summary.branch_points += children > 1
    current = tree.fields.get("currentNodeId")
    if isinstance(current, str) and current in tree.nodes:
        summary.current, summary.current_level = current, extent.level[tree.nodes.ordinals[current]]
    times = [time for node in tree.nodes.values() if (time := _count_node(node, summary)) is not None]
    if times:
        summary.first_time, summary.last_time = format_ms(min(times)), format_ms(max(times))
    if preview:
        summary.preview = outline(tree, extent)
    return summary


def _count_node(node: Node, summary: TreeSummary) -> int | None:
    """Add one node to the summary; gives its time in milliseconds since 1970."""
    author = node["author"]
    summary.authors[author["role"]] += 1
    if name := author.get("name"):
        summary.names[str(name)] += 1
    for block in node["content"]:
        kind = block["type"]
        if kind == "text":
            summary.characters += len(block["text"])
        else:
            reference = block.get("ref")
            embedded = isinstance(reference, str) and reference.startswith("data:")
            counts = summary.media.setdefault(kind, Counter())
            counts["embedded" if embedded else "referred"] += 1
    generation = node.get("generation")
    if isinstance(generation, dict):
        if model := generation.get("model"):
            summary.models[str(model)] += 1
        summary.raw_responses += generation.get("rawResponse") is not None
    created = node.get("createdAt")
    return to_ms(created) if isinstance(created, str) else None
