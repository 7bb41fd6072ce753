"""All checks of a format, one after the other, without a test framework."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loomconv.testing.checks import Check, Skipped, checks_of, run_check
from loomconv.testing.problems import Nonconformance, Problem
from loomconv.testing.subject import Subject

__all__ = ["Outcome", "check_format"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a check: `passed`, `failed` with problems, or `skipped` with a reason."""

    check: Check
    status: Literal["passed", "failed", "skipped"]
    problems: tuple[Problem, ...] = ()
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object."""
        found: dict[str, Any] = {"check": self.check.name, "title": self.check.title, "status": self.status}
        if self.check.fixture is not None:
            found["fixture"] = self.check.fixture.name
        if self.problems:
            found["problems"] = [each.to_json() for each in self.problems]
        if self.reason:
            found["reason"] = self.reason
        return found


def check_format(subject: Subject) -> Iterator[Outcome]:
    """Run every check that applies, each in a folder of its own that is removed afterwards."""
    for check in checks_of(subject):
        with tempfile.TemporaryDirectory(prefix="loomconv-") as folder:
            try:
                run_check(check, subject, Path(folder))
            except Nonconformance as found:
                yield Outcome(check, "failed", found.problems)
            except Skipped as skipped:
                yield Outcome(check, "skipped", reason=str(skipped))
            else:
                yield Outcome(check, "passed")
