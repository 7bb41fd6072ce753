"""What is checked of a format: each check by itself, with a title that says what has to hold.

A check gets the subject and a folder of its own for files, and gives problems; none means that it holds. Some are run
once for each fixture. They know no test framework: `loomconv plugin check` runs them as they are, and the pytest class
`FormatConformance` makes a test of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loomconv.errors import LoomconvError
from loomconv.testing import declaration, detection, fidelity, malformed, scale
from loomconv.testing.problems import Nonconformance, Problem
from loomconv.testing.subject import Subject

__all__ = ["CHECKS", "FIXTURE_CHECKS", "Check", "FixtureCheck", "Skipped", "checks_of", "run_check"]


class Skipped(Exception):
    """A check that cannot be made here, and why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `run(subject, folder)` gives problems; `name` is for machines, `title` says what has to hold."""

    name: str
    title: str
    run: Callable[[Subject, Path], Iterable[Problem]]
    # What it needs: "reads" and "writes" of the format, and "hypothesis".
    needs: frozenset[str] = frozenset()
    fixture: Path | None = None


def _check(name: str, title: str, run: Callable[[Subject, Path], Iterable[Problem]], *needs: str) -> Check:
    return Check(name, title, run, frozenset(needs))


CHECKS: Final[tuple[Check, ...]] = (
    _check("declaration", "what is declared makes sense", declaration.declared),
    _check("schema", "the schema is a valid JSON Schema", declaration.schema_is_valid),
    _check("written-is-valid", "what is written is valid by the schema",
           declaration.written_is_valid, "reads", "writes"),
    _check("detects-own", "what is written is recognised, and by no other format more surely",
           detection.written_is_recognised, "reads", "writes"),
    _check("leaves-others", "files of other formats are left to them", detection.others_are_left_alone, "reads"),
    _check("detects-quietly", "any file can be looked at without a failure", detection.anything_can_be_probed, "reads"),
    _check("capabilities", "what is declared to be held comes back, and what is not is reported",
           fidelity.capabilities_are_true, "reads", "writes"),
    _check("residue", "every feature of a loom comes home from the format",
           fidelity.features_come_home, "reads", "writes"),
    _check("others-come-home", "small files of every other format come home from the format",
           fidelity.others_come_home, "reads", "writes"),
    _check("extensions", "extensions of others travel where `unknown_keys` says so",
           fidelity.extensions_travel, "reads", "writes"),
    _check("put-get", "reading what was written gives the same document", fidelity.put_get, "reads", "writes"),
    _check("generated-come-home", "any document comes home from the format",
           fidelity.generated_come_home, "reads", "writes", "hypothesis"),
    _check("generated-files-come-home", "any file of the format comes home from every other",
           fidelity.generated_files_come_home, "reads", "writes", "hypothesis"),
    _check("edits", "an edit in another app wins, and all else returns",
           fidelity.edits_win, "reads", "writes"),
    _check("options", "every option is taken, and the default ones lose nothing",
           fidelity.options_work, "reads", "writes"),
    _check("malformed-written", "damaged files end in a finding or a clean error",
           malformed.written_damaged, "reads", "writes"),
    _check("deep", "a chain of many nodes is no matter", scale.deep, "reads", "writes"),
    _check("wide", "a node with many children is no matter", scale.wide, "reads", "writes"),
    _check("linear", "the time grows with the number of nodes and not faster", scale.linear, "reads", "writes"),
    _check("deterministic", "the same document gives the same bytes, in every process",
           scale.deterministic, "reads", "writes"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FixtureCheck:
    """A check that is run once for each fixture: `run(subject, fixture, folder)`."""

    name: str
    title: str
    run: Callable[[Subject, Path, Path], Iterable[Problem]]
    needs: frozenset[str]

    def of(self, fixture: Path) -> Check:
        """The check of one fixture."""
        return Check(
            self.name,
            f"{fixture.name}: {self.title}",
            lambda subject, folder: self.run(subject, fixture, folder),
            self.needs,
            fixture,
        )


_READS: Final = frozenset({"reads"})
_BOTH: Final = frozenset({"reads", "writes"})

FIXTURE_CHECKS: Final[tuple[FixtureCheck, ...]] = (
    FixtureCheck("fixture-detected", "the file is recognised, and by no other format more surely",
                 detection.fixture_is_recognised, _READS),
    FixtureCheck("fixture-valid", "the file is valid by the schema", declaration.fixture_is_valid, _READS),
    FixtureCheck("get-put", "writing what was read gives the same file", fidelity.get_put, _BOTH),
    FixtureCheck("comes-home", "the file comes home from every other format", fidelity.fixture_comes_home, _BOTH),
    FixtureCheck("cut", "the file cut short anywhere ends in a finding or a clean error", malformed.cut, _READS),
    FixtureCheck("damaged", "the file with wrong values ends in a finding or a clean error", malformed.damaged, _READS),
)  # fmt: skip


def checks_of(subject: Subject) -> Iterator[Check]:
    """All checks that apply to the format: those of its abilities, then those of each fixture."""
    able = {name for name in ("reads", "writes") if getattr(subject.format, name)} | {"hypothesis"}
    yield from (check for check in CHECKS if check.needs <= able)
    for fixture in subject.fixtures:
        yield from (check.of(fixture) for check in FIXTURE_CHECKS if check.needs <= able)


def run_check(check: Check, subject: Subject, folder: Path) -> None:
    """Run one check. Raises Nonconformance, whose text is advice, or Skipped."""
    if "hypothesis" in check.needs and not _has_hypothesis():
        raise Skipped("hypothesis is not installed: pip install 'loomconv[testing]'")
    try:
        problems: Sequence[Problem] = list(check.run(subject, folder))
    except LoomconvError as error:
        # Each check catches what may go wrong; this may not.
        problems = [Problem(f"{error.message}", str(error.source or check.name), error.next_step or "see the message")]
    if problems:
        raise Nonconformance(check.title, problems)


def _has_hypothesis() -> bool:
    from importlib.util import find_spec

    return find_spec("hypothesis") is not None
