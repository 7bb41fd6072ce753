"""A report for people: findings grouped by what they say, most severe first, one example each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TextIO

from loomconv.cli.terminal import cut, neutralised, paint
from loomconv.report import Finding, Report, Severity

__all__ = ["counted", "finding_line", "report_lines"]

_ORDER: Final[tuple[Severity, ...]] = ("error", "warning", "notice")
_COLOURS: Final = {"error": "red", "warning": "yellow", "notice": "cyan"}
# The widest ids and pointers that are shown.
_WIDEST: Final = 60
# A loss that is none: what one file cannot hold stands in another one.
_ELSEWHERE: Final = "loss.extra-tree"
_FATES: Final = {"kept": "kept {place}, to come back", "lost": "lost"}


@dataclass(slots=True)
class _Group:
    code: str
    severity: Severity
    count: int
    example: Finding | None
    # What becomes of something that the target cannot hold; None for any other finding.
    fate: Literal["kept", "lost"] | None


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 tree`, `2 trees`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def report_lines(report: Report, stream: TextIO | None = None, *, without: str = "\0") -> list[str]:
    """The findings as lines, those of one code together; codes that start with `without` are passed over.

    First what was found, most severe first, then what the target cannot hold.
    """
    stream = stream or sys.stderr
    groups = sorted(_groups(report), key=lambda each: _ORDER.index(each.severity))
    lines = []
    for group in groups:
        if group.fate is None and not group.code.startswith(without):
            head = f"  {paint(f'{group.severity:<7}', stream, fg=_COLOURS[group.severity])} "
            lines += _group_lines(group, report, head, " " * 10)
    target = (report.target or {}).get("format", "the target")
    place = "beside the file" if (report.target or {}).get("residue") else "in the file"
    for fate, verdict in _FATES.items():
        fitting = [group for group in groups if group.fate == fate]
        if fitting:
            number = counted(sum(group.count for group in fitting), "thing")
            title = f"{number} that {target} cannot hold, {verdict.format(place=place)}:"
            lines.append(f"  {paint(neutralised(title), stream, fg='red' if fate == 'lost' else 'cyan')}")
            for group in fitting:
                lines += _group_lines(group, report, " " * 4, " " * 6)
    return lines


def _group_lines(group: _Group, report: Report, head: str, indent: str) -> list[str]:
    """A group as its sentence and, below, where it is."""
    alone = group.count == 1 and group.example is not None
    sentence = group.example.message if alone and group.example else report.vocabulary[group.code].meaning
    times = "" if group.count == 1 else f"{group.count:,} x "
    lines = [f"{head}{times}{neutralised(sentence)} [{group.code}]"]
    place = "" if group.example is None else _place(group.example)
    return [*lines, f"{indent}{place if alone else f'for example {place}'}"] if place else lines


def finding_line(finding: Finding, source: str, stream: TextIO) -> str:
    """One finding as one line, in the manner of compilers: file, line and column, severity, message, code, where."""
    place = f":{finding.place.line}:{finding.place.column}" if finding.place is not None else ""
    severity = paint(finding.severity, stream, fg=_COLOURS[finding.severity])
    where = _ids(finding)
    return (
        f"{neutralised(source)}{place}: {severity}: {neutralised(finding.message)} [{finding.code}]"
        f"{f' ({where})' if where else ''}"
    )


def _groups(report: Report) -> Iterator[_Group]:
    examples: dict[str, Finding] = {}
    for finding in report.findings:
        known = examples.get(finding.code)
        if known is None or _ORDER.index(finding.severity) < _ORDER.index(known.severity):
            examples[finding.code] = finding
    for code, count in report.codes.items():
        example = examples.get(code)
        usual = report.vocabulary[code].severity
        severity = example.severity if example is not None else usual
        fate: Literal["kept", "lost"] | None = None
        # Losses are notices as long as they are kept, but for those that cannot be.
        if code.startswith("loss.") and code != _ELSEWHERE and usual == "notice":
            fate = "kept" if severity == "notice" else "lost"
        yield _Group(code, severity, count, example, fate)


def _place(finding: Finding) -> str:
    """Where a finding is: line and column if known, and its ids."""
    place = str(finding.place) if finding.place is not None else ""
    return ", ".join(part for part in (place, _ids(finding)) if part)


def _ids(finding: Finding) -> str:
    """Tree, node and pointer of a finding."""
    parts = [
        f"{name} {cut(neutralised(identity), _WIDEST)}"
        for name in ("tree", "node")
        if (identity := getattr(finding, name))
    ]
    if finding.pointer:
        parts.append(cut(neutralised(finding.pointer), _WIDEST))
    return ", ".join(parts)
