"""The fidelity card of a format: what survives in its files, and on the way to each other format and back."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loomconv import __version__
from loomconv.errors import LoomconvError
from loomconv.format import API_VERSION
from loomconv.roundtrip import round_trip
from loomconv.testing.features import FEATURES
from loomconv.testing.fidelity import feature_outcome
from loomconv.testing.outcomes import Outcome
from loomconv.testing.sample_files import write_samples
from loomconv.testing.subject import Subject

__all__ = ["FidelityCard", "fidelity_card"]

_GRADES: Final = ("the same bytes", "the same values", "differences", "no journey")


@dataclass(slots=True)
class FidelityCard:
    """What survives, as tables.

    `features` has for each feature of a loom whether the format's own files hold it (`held`), and whether it comes home
    through the format with residue (`returns`). `journeys` has for each other format how many files of this one came
    back from it, by grade. `outcomes` are those of the checks.
    """

    format: str
    title: str
    features: list[tuple[str, str, bool]] = field(default_factory=list)
    journeys: dict[str, Counter[str]] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def conforms(self) -> bool:
        """Whether no check has failed."""
        return not any(each.status == "failed" for each in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """The card as a JSON object (`loomconv_schemas/fidelity-card.schema.json`)."""
        return {
            "format": self.format,
            "title": self.title,
            "loomconv": __version__,
            "api": ".".join(map(str, API_VERSION)),
            "conforms": self.conforms,
            "features": [
                {"name": name, "in_file": outcome, "returns": returns} for name, outcome, returns in self.features
            ],
            "journeys": {name: dict(grades) for name, grades in self.journeys.items()},
            "checks": [each.to_json() for each in self.outcomes],
        }

    def to_markdown(self) -> str:
        """The card for a README."""
        counts = Counter(each.status for each in self.outcomes)
        passed = ", ".join(f"{counts[status]} {status}" for status in ("passed", "failed", "skipped") if counts[status])
        version = ".".join(map(str, API_VERSION))
        lines = [
            f"### Fidelity of {self.format} ({self.title})",
            "",
            f"loomconv {__version__}, plugin API {version}. Checks: {passed or 'none'}.",
            "",
            *_table(
                ("a loom's", "in the file", "home through it"),
                [(name, _IN_FILE[outcome], "returns" if back else "**lost**") for name, outcome, back in self.features],
            ),
            "",
            *_table(
                ("files to and back", *_GRADES),
                [(name, *(str(grades[grade] or "") for grade in _GRADES)) for name, grades in self.journeys.items()],
            ),
        ]
        failed = [each for each in self.outcomes if each.status == "failed"]
        if failed:
            lines += ["", "Not so:", "", *(f"* {each.check.title}: {each.problems[0].what}" for each in failed)]
        return "\n".join(lines) + "\n"


_IN_FILE: Final = {
    "held": "held",
    "reported": "no, and said so",
    "claimed and lost": "**claimed and lost**",
    "lost in silence": "**lost in silence**",
}


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows),
    ]


def fidelity_card(subject: Subject, outcomes: Iterable[Outcome] = ()) -> FidelityCard:
    """Make the card of a format that reads and writes; `outcomes` are those of `check_format`, if it was run."""
    card = FidelityCard(subject.format.name, subject.format.title, outcomes=list(outcomes))
    if not (subject.format.reads and subject.format.writes):
        return card
    with tempfile.TemporaryDirectory(prefix="loomconv-") as place:
        folder = Path(place)
        for number, feature in enumerate(FEATURES):
            outcome, _ = feature_outcome(subject, feature, folder, f"card-{number}")
            card.features.append((feature.name, outcome, _returns(subject, feature.document, folder)))
        files = [*subject.fixtures, *write_samples(subject.registry, subject.pivot, subject.format, folder)]
        for name, other in sorted(subject.registry.formats.items()):
            if other is not subject.format and other.reads and other.writes:
                card.journeys[name] = Counter(_grade(subject, path, name) for path in files)
    return card


def _returns(subject: Subject, value: dict[str, Any], folder: Path) -> bool:
    from loomconv import jsontext

    path = folder / f"card{subject.suffix_of(subject.pivot)}"
    path.write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    trip = round_trip(path, [subject.format.name], source_format=subject.pivot.name, registry=subject.registry)
    return trip.comparison.equal


def _grade(subject: Subject, path: Path, via: str) -> str:
    try:
        trip = round_trip(path, [via], source_format=subject.format.name, registry=subject.registry)
    except LoomconvError:
        return _GRADES[3]
    return {"bytes": _GRADES[0], "values": _GRADES[1], "none": _GRADES[2]}[trip.grade]
