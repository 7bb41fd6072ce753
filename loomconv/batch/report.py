"""The report of a batch: JSON by schema, a table, and a page that opens from the disk."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from loomconv import __version__
from loomconv.batch.items import Item, Outcome
from loomconv.batch.ledger import Ledger
from loomconv.report import CODES
from loomconv.storage import AtomicFile, AtomicGroup

__all__ = ["REPORTS", "write_reports"]

REPORTS: Final = ("report.json", "report.csv", "report.html")
_FORMAT: Final = "loomconv-batch-report"
_COLUMNS: Final = (
    *("name", "status", "format", "outputs", "trees", "nodes", "bytes", "warnings", "losses", "lost", "needs a look"),
    *("message", "codes", "seconds"),
)
# A page with more rows would be slow to open; it shows those that need a look first. The table has them all.
_MOST_ROWS: Final = 20_000
# Wide forms count as well in some languages.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_EXAMPLES: Final = 3


class _Totals:
    """What is summed up over all files."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.formats: dict[str, Counter[str]] = defaultdict(Counter)
        self.codes: Counter[str] = Counter()
        self.files_by_code: Counter[str] = Counter()
        self.examples: dict[str, list[dict[str, str]]] = defaultdict(list)
        self.sums: Counter[str] = Counter()

    def add(self, item: Item, outcome: Outcome) -> None:
        self.statuses[outcome.status] += 1
        of_format = self.formats[outcome.format or "none"]
        of_format["files"] += 1
        of_format[outcome.status] += 1
        of_format["needs a look"] += outcome.needs_a_look
        for key in ("trees", "nodes", "losses", "lost", "warnings"):
            self.sums[key] += getattr(outcome, key)
            of_format[key] += getattr(outcome, key)
        self.sums["bytes"] += item.size
        self.sums["files"] += 1
        self.sums["needs a look"] += outcome.needs_a_look
        for code, number in outcome.codes.items():
            self.codes[code] += number
            self.files_by_code[code] += 1
            if len(self.examples[code]) < _EXAMPLES and code in outcome.examples:
                self.examples[code].append({"name": item.name, "message": outcome.examples[code]})

    def to_json(self) -> dict[str, Any]:
        codes = {
            code: {
                "meaning": CODES[code].meaning if code in CODES else "",
                "findings": number,
                "files": self.files_by_code[code],
                "examples": self.examples[code],
            }
            for code, number in self.codes.most_common()
        }
        return {
            "totals": {**dict(self.sums), "statuses": dict(self.statuses)},
            "formats": {name: dict(counts) for name, counts in sorted(self.formats.items())},
            "codes": codes,
        }


def write_reports(ledger: Ledger, about: dict[str, Any], further: Path | None = None) -> list[Path]:
    """Write the reports of the ledger's run into its folder; `about` is said at the top of them.

    The JSON goes to a `further` place, too.
    Files are read from the ledger one by one; none of the reports is held as a whole but the page.
    """
    totals = _Totals()
    for item, outcome in ledger.outcomes():
        totals.add(item, outcome)
    head = {
        "format": _FORMAT,
        "version": 1,
        "generator": f"loomconv {__version__}",
        **about,
        "passed_over": ledger.passed_over(),
        **totals.to_json(),
    }
    paths = [ledger.folder / name for name in REPORTS]
    with AtomicGroup() as group:
        with group.open(paths[0]) as out:
            _write_json(out, head, ledger)
        with group.open(paths[1]) as out:
            _write_csv(out, ledger)
        with group.open(paths[2]) as out:
            out.write(_page(head, ledger))
    if further is not None:
        with AtomicFile(further) as out:
            _write_json(out, head, ledger)
    return paths


def _row(item: Item, outcome: Outcome) -> dict[str, Any]:
    return {**outcome.to_json(), "bytes": item.size}


def _write_json(out: AtomicFile, head: dict[str, Any], ledger: Ledger) -> None:
    out.write(json.dumps(head, ensure_ascii=True, indent=2)[:-2])
    out.write(',\n  "files": [')
    comma = ""
    for item, outcome in ledger.outcomes():
        out.write(f"{comma}\n    {json.dumps(_row(item, outcome), ensure_ascii=True)}")
        comma = ","
    out.write("\n  ]\n}\n")


def _write_csv(out: AtomicFile, ledger: Ledger) -> None:
    for line in _csv_lines(ledger):
        out.write(line)


def _csv_lines(ledger: Ledger) -> Iterator[bytes]:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_COLUMNS)
    for item, outcome in ledger.outcomes():
        codes = " ".join(f"{code}:{number}" for code, number in sorted(outcome.codes.items()))
        table.writerow(
            map(
                _cell,
                (
                    *(item.name, outcome.status, outcome.format, " ".join(outcome.outputs), outcome.trees),
                    *(outcome.nodes, item.size, outcome.warnings, outcome.losses, outcome.lost),
                    *("yes" if outcome.needs_a_look else "", outcome.message, codes, f"{outcome.seconds:.3f}"),
                ),
            )
        )
        if text.tell() > 1 << 16:
            yield text.getvalue().encode("utf-8", "backslashreplace")
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _page(head: dict[str, Any], ledger: Ledger) -> str:
    """The page with its data in it. The data is JSON in a script element, and never becomes markup."""
    rows: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for item, outcome in ledger.outcomes():
        if outcome.needs_a_look and len(rows) < _MOST_ROWS:
            rows.append(_row(item, outcome))
        elif len(rest) < _MOST_ROWS:
            rest.append(_row(item, outcome))
    shown = [*rows, *rest][:_MOST_ROWS]
    data = {**head, "files": shown, "left_out": head["totals"].get("files", 0) - len(shown)}
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c").replace("\u2028", "\\u2028")
    template = files("loomconv.batch").joinpath("report.html").read_text("utf-8")
    before, mark, after = template.partition("/*DATA*/null")
    assert mark, "the template has a place for the data"
    return before + text + after
