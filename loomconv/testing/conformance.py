"""The conformance suite as a pytest class."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from loomconv.format import Format
from loomconv.registry import Registry
from loomconv.testing.checks import Check, Skipped, checks_of, run_check
from loomconv.testing.problems import Nonconformance
from loomconv.testing.subject import Subject

__all__ = ["EFFORT_VARIABLE", "FormatConformance", "effort"]

EFFORT_VARIABLE = "LOOMCONV_TEST_EFFORT"


def effort() -> float:
    """How many times as many generated examples as usual are tried: `LOOMCONV_TEST_EFFORT`, 1 if it is not set."""
    return float(os.environ.get(EFFORT_VARIABLE, "1"))


class FormatConformance:
    """Subclass it in a test module, and everything that is promised of a format is tested.

        class TestTwigs(FormatConformance):
            format = Twigs()
            fixtures = ["fixtures"]

    `fixtures` are files, or folders of files, as the app writes them, relative to the test module. `exceptions` maps
    the name of a check (`get-put`), or of a check and a fixture (`get-put:walk.twigs`), to the reason why it does not
    hold: such a test is expected to fail, and fails when it does not. `registry` stands for what is installed.
    """

    format: ClassVar[Format]
    fixtures: ClassVar[Iterable[str | Path]] = ()
    exceptions: ClassVar[Mapping[str, str]] = {}
    registry: ClassVar[Registry | None] = None

    @classmethod
    def subject(cls, folder: Path) -> Subject:
        """What is tested; `folder` is that of the test module."""
        given = getattr(cls, "format", None)
        if not isinstance(given, Format):
            raise TypeError(f"{cls.__name__}.format has to be an object of your format class, such as Twigs()")
        return Subject.of(given, [folder / path for path in cls.fixtures], registry=cls.registry, effort=effort())

    @classmethod
    def pytest_generate_tests(cls, metafunc: Any) -> None:
        """One test for each check that applies."""
        if "conformance_check" not in metafunc.fixturenames:
            return
        import pytest

        subject = cls.subject(Path(str(metafunc.definition.path)).parent)
        cls._subject = subject  # type: ignore[attr-defined]
        parameters, used = [], set()
        for check in checks_of(subject):
            names = [check.name] if check.fixture is None else [f"{check.name}:{check.fixture.name}", check.name]
            reason = next((cls.exceptions[name] for name in names if name in cls.exceptions), None)
            used.update(names)
            marks = [pytest.mark.xfail(reason=reason, strict=True, raises=Nonconformance)] if reason is not None else []
            parameters.append(pytest.param(check, id=names[0], marks=marks))
        if unknown := sorted(set(cls.exceptions) - used):
            raise ValueError(f"{cls.__name__}.exceptions names checks that there are not: {', '.join(unknown)}")
        metafunc.parametrize("conformance_check", parameters)

    def test_conformance(self, conformance_check: Check, tmp_path: Path) -> None:
        """What the check's title says holds."""
        import pytest

        try:
            run_check(conformance_check, self._subject, tmp_path)  # type: ignore[attr-defined]
        except Skipped as skipped:
            pytest.skip(str(skipped))
