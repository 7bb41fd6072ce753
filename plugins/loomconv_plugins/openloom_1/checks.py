"""Checking a file against the schema, node by node, so that size costs no memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loomconv import jsontext
from loomconv.format import ReadContext
from loomconv.report import Report
from loomconv.schema import SchemaFault, Steps, load_schema, validate, validate_nodes
from loomconv.storage import Source
from loomconv_plugins.openloom_1.intake import Intake, take_apart

__all__ = ["check", "schema"]

# Nodes that the slow engine looks at before it takes samples, and faults that are kept of either kind of object.
_BULK = 20_000
_MOST_SHOWN = 100


def schema() -> dict[str, Any]:
    """The JSON Schema of the file; do not change it."""
    return load_schema("loomconv_schemas", "openloom-1.schema.json")


def check(source: Source, context: ReadContext) -> None:
    """Report what in the file is not as the app writes it, with line and column. Raises as reading does."""
    # What is odd about the text itself is reported when the file is read as a loom.
    intake = take_apart(source, ReadContext(report=Report(), limits=context.limits))
    whole = schema()
    shell = {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": "#/$defs/treeShell"}
    faults = validate({"nodes": {}, **intake.fields, **_map_of_copies(intake)}, shell, cap=_MOST_SHOWN)
    found = validate_nodes(_pieces(intake), whole, "node", cap=_BULK, fault_cap=_MOST_SHOWN)
    _report([*faults, *found.faults], source, context)
    if found.checked < found.seen:
        message = f"Of {found.seen} nodes {found.checked} were checked; the extra `fast` checks all of them."
        context.report.add("validate.sampled", message, value=found.seen)


def _map_of_copies(intake: Intake) -> dict[str, Any]:
    """The map of bookmarks without its entries, which are checked as nodes; or what stands in its place."""
    if isinstance(intake.copies, dict):
        return {"bookmarkedNodes": {}}
    return {} if intake.has_no_copies else {"bookmarkedNodes": intake.copies}


def _pieces(intake: Intake) -> Iterator[tuple[Steps, Any]]:
    nodes = Steps("nodes")
    for node_id in intake.claims.ids:
        yield nodes / node_id, intake.object(node_id)
    if isinstance(intake.copies, dict):
        copies = Steps("bookmarkedNodes")
        for node_id in intake.copies:
            yield copies / node_id, intake.copy(node_id)


def _report(faults: list[SchemaFault], source: Source, context: ReadContext) -> None:
    places = jsontext.find_pointers(source.data, [fault.pointer for fault in faults]) if faults else {}
    for fault in faults:
        context.report.add(
            "validate.schema",
            f"The value {fault.message}.",
            pointer=fault.pointer or None,
            place=places.get(fault.pointer),
        )
