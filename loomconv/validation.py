"""Checking a file: the schema of its format, and the invariants that reading it as a loom reveals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from loomconv import api, jsontext
from loomconv.errors import LoomconvError, PluginFault, UsageFault
from loomconv.format import Format, ReadContext
from loomconv.options import ConversionOptions
from loomconv.registry import Registry, default_registry
from loomconv.report import Report, add_failure
from loomconv.storage import Source, open_source

__all__ = ["Validation", "validate_file"]

# Stages whose warnings say that the file is not as it should be; others warn of what it holds (keys, media).
_FAULTY_STAGES: Final = frozenset({"detect", "read", "repair", "validate"})


@dataclass(slots=True)
class Validation:
    """The verdict on a file, and the findings it rests on."""

    report: Report

    @property
    def valid(self) -> bool:
        """Whether there is no error, and no warning of reading, repair or schema."""
        report = self.report
        if report.severities["error"]:
            return False
        # Of a code beyond the report's limit the first findings speak for all.
        return not any(each.code.partition(".")[0] in _FAULTY_STAGES for each in report.of_severity("warning"))

    def to_json(self) -> dict[str, Any]:
        """The verdict and the report as a JSON object, for `loomconv validate --json`."""
        return {"valid": self.valid, **self.report.to_json()}


def validate_file(
    where: api.Where,
    *,
    format: str | None = None,
    options: ConversionOptions | None = None,
    registry: Registry | None = None,
) -> Validation:
    """Check a file of any format: a path, `-`, bytes, or an open source.

    A format that does not validate by itself, but has a schema, is checked against that as a whole, each fault with its
    line and column. A file that cannot be read is not valid: what ended the reading is the last finding. Raises
    UsageFault for a format that is not there, and PluginFault.
    """
    options, registry = options or ConversionOptions(), registry or default_registry()
    report = Report(limit=options.findings_limit)
    opened = None
    try:
        source = opened = where if isinstance(where, Source) else open_source(where, options.limits)
        name = format or api.detect(source, options=options, registry=registry).format
        chosen = registry.format(name)
        report.source = api.describe_source(source, chosen)
        report.declare(chosen.finding_codes)
        context = ReadContext(
            report=report,
            limits=options.limits,
            assume_timezone=options.assume_timezone,
            options=options.of_format(chosen, "read"),
        )
        with registry.at_work(chosen, "validating", source.name):
            if type(chosen).validate is Format.validate:
                _check_schema(chosen, source, report)
            else:
                chosen.validate(source, context)
        api.load(source, format=name, options=options, report=report, registry=registry)
    except (UsageFault, PluginFault):
        raise
    except LoomconvError as error:
        add_failure(report, error)
    finally:
        if opened is not None and opened is not where:
            opened.close()
    return Validation(report)


def _check_schema(chosen: Format, source: Source, report: Report) -> None:
    """Check a JSON file as a whole; what ends too early is checked as far as it goes."""
    schema = chosen.schema()
    if schema is None:
        return
    from loomconv.schema import validate

    # What is odd about the text is reported when it is read as a loom.
    value = jsontext.load(source.data, non_finite="null", salvage=True).value
    faults = validate(value, schema)
    kept = [fault.pointer for fault in faults[: report.limit]]
    places = jsontext.find_pointers(source.data, kept) if kept else {}
    # In the order of the text; beyond those that the report keeps, the order does not matter.
    for fault in sorted(faults, key=lambda each: places[each.pointer].byte if each.pointer in places else source.size):
        where = fault.pointer if fault.pointer.startswith("/") else None
        report.add("validate.schema", f"The value {fault.message}.", pointer=where, place=places.get(fault.pointer))
