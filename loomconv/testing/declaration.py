"""Checks of what a format declares, and of its schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loomconv.errors import LoomconvError
from loomconv.format import Format
from loomconv.registry.checks import check_format
from loomconv.testing.features import FEATURES
from loomconv.testing.problems import Problem
from loomconv.testing.subject import Subject
from loomconv.validation import validate_file

__all__ = ["declared", "fixture_is_valid", "schema_is_valid", "written_is_valid"]


def declared(subject: Subject, folder: Path) -> Iterator[Problem]:
    """The attributes make sense."""
    try:
        check_format(subject.format, subject.registry.plugin_of.get(subject.format.name, subject.format.name))
    except LoomconvError as error:
        yield Problem(error.message, "the class attributes", "see docs/plugin-reference.md#format")
    if subject.format.writes and not subject.format.suffixes:
        yield Problem(
            "the format has no suffix",
            "Format.suffixes",
            "name the suffix of the app's files, so that `--to` can be left out",
        )


def schema_is_valid(subject: Subject, folder: Path) -> Iterator[Problem]:
    """The schema, if there is one, can be used."""
    schema = subject.format.schema()
    if schema is None:
        return
    from loomconv.schema import validate

    if schema.get("$schema") != "https://json-schema.org/draft/2020-12/schema":
        yield Problem("the schema does not say its draft", "/$schema", "use draft 2020-12, as the validators here do")
    try:
        validate({}, schema)
    except LoomconvError as error:
        yield Problem(error.message, "Format.schema()", "check it with a JSON Schema validator")


def written_is_valid(subject: Subject, folder: Path) -> Iterator[Problem]:
    """What is written of every feature is valid."""
    for number, feature in enumerate(FEATURES):
        path = subject.write(feature.document, folder, stem=f"valid-{number}")
        yield from _invalid(subject, path, f"a written file with {feature.name}")


def fixture_is_valid(subject: Subject, fixture: Path, folder: Path) -> Iterator[Problem]:
    """A file of the app is valid, if it is one without faults."""
    if is_sound(subject, fixture):
        yield from _invalid(subject, fixture, fixture.name)


def is_sound(subject: Subject, fixture: Path, *, odd_values: bool = False) -> bool:
    """Whether the file can be read and nothing in it is mended or left out, nor, unless they are allowed, odd."""
    from loomconv import api
    from loomconv.report import Report

    report = Report()
    try:
        document = api.load(fixture, format=subject.format.name, report=report, registry=subject.registry)
    except LoomconvError:
        return False
    if not document.pristine or report.severities["error"] or any(code.startswith("repair.") for code in report.codes):
        return False
    return odd_values or not report.severities["warning"]


def _invalid(subject: Subject, path: Path, where: str) -> Iterator[Problem]:
    chosen = subject.format
    if chosen.schema() is None and type(chosen).validate is Format.validate:
        return
    report = validate_file(path, format=chosen.name, registry=subject.registry).report
    for finding in report.findings:
        if finding.code == "validate.schema":
            yield Problem(
                f"the schema does not allow it: {finding.message}",
                f"{where}, at {finding.pointer or 'the top'}",
                "either the schema is too narrow for what the app writes, or the writer makes what the app would not",
            )
