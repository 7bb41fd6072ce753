"""Findings and the report that collects them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from loomconv.errors import Place, PluginFault
from loomconv.report.codes import CODES, Code, Severity

__all__ = ["Finding", "Report"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One reported event. `tree` and `node` are ids, `pointer` a JSON pointer below them, `value` plain JSON."""

    code: str
    severity: Severity
    message: str
    tree: str | None = None
    node: str | None = None
    pointer: str | None = None
    value: Any = None
    place: Place | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as the report's schema has it; what is not known is left out."""
        found: dict[str, Any] = {"code": self.code, "severity": self.severity, "message": self.message}
        for key in ("tree", "node", "pointer", "value"):
            if (value := getattr(self, key)) is not None:
                found[key] = value
        if self.place is not None:
            found["place"] = {"line": self.place.line, "column": self.place.column, "byte": self.place.byte}
        return found


@dataclass(slots=True)
class Report:
    """All findings of one conversion, plus counts.

    At most `limit` findings of one code are kept one by one (None: all); the counts are always complete.
    """

    limit: int | None = 1000
    findings: list[Finding] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    severities: Counter[str] = field(default_factory=Counter)
    counts: dict[str, int] = field(default_factory=dict)
    source: dict[str, Any] | None = None
    target: dict[str, Any] | None = None
    vocabulary: dict[str, Code] = field(default_factory=lambda: dict(CODES))
    observers: list[Callable[[Finding], None]] = field(default_factory=list)

    def add(
        self,
        code: str,
        message: str | None = None,
        *,
        severity: Severity | None = None,
        tree: str | None = None,
        node: str | None = None,
        pointer: str | None = None,
        value: Any = None,
        place: Place | None = None,
    ) -> None:
        """Record one event. Raises PluginFault for a code that is not in the vocabulary."""
        known = self.vocabulary.get(code)
        if known is None:
            raise PluginFault(f"finding code {code!r} is not declared", next_step="Add it to Format.finding_codes.")
        severity = severity or known.severity
        self.codes[code] += 1
        self.severities[severity] += 1
        if self.limit is not None and self.codes[code] > self.limit:
            return
        finding = Finding(code, severity, message or known.meaning, tree, node, pointer, value, place)
        self.findings.append(finding)
        for observe in self.observers:
            observe(finding)

    def is_full(self, code: str) -> bool:
        """Whether further findings of a code are counted only."""
        return self.limit is not None and self.codes[code] >= self.limit

    def add_counted(self, code: str, number: int, severity: Severity | None = None) -> None:
        """Record so many events of a code of which no more are kept one by one (`is_full`): `add` for each of them."""
        if number:
            self.codes[code] += number
            self.severities[severity or self.vocabulary[code].severity] += number

    def declare(self, codes: Mapping[str, Code]) -> None:
        """Take a format's own codes into the vocabulary."""
        self.vocabulary.update(codes)

    def count(self, name: str, number: int = 1) -> None:
        """Add to one of the report's counters."""
        self.counts[name] = self.counts.get(name, 0) + number

    def losses(self) -> int:
        """How many things do not fit into the target, or stay behind; trees in files of their own do not count."""
        return sum(
            number
            for code, number in self.codes.items()
            if (code.startswith("loss.") and code != "loss.extra-tree") or code == "media.left-behind"
        )

    def of_severity(self, severity: Severity) -> Iterator[Finding]:
        """The kept findings of one severity."""
        return (finding for finding in self.findings if finding.severity == severity)

    def to_json(self) -> dict[str, Any]:
        """The report by its JSON Schema (`report.schema.json`)."""
        counts: dict[str, Any] = dict(self.counts)
        counts["findings"] = {name: self.severities.get(name, 0) for name in ("error", "warning", "notice")}
        counts["codes"] = dict(sorted(self.codes.items()))
        return {
            "version": "1",
            "source": self.source,
            "target": self.target,
            "counts": counts,
            "findings": [finding.to_json() for finding in self.findings],
        }
