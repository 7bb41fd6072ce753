"""Checking a file against the schema, node by node, so that depth costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from loomconv import jsontext
from loomconv.format import ReadContext
from loomconv.report import Report
from loomconv.schema import SchemaFault, Steps, load_schema, validate, validate_nodes, walk_nested
from loomconv.storage import Source
from loomconv_plugins.socketteer.parse import Parsed, parse

__all__ = ["check", "schema"]

# Nodes that the slow engine looks at before it takes samples, and faults that are kept of either kind of object.
_BULK: Final = 20_000
_MOST_SHOWN: Final = 100
_NODE_OF: Final = {"tree": "flatNode", "node": "flatLooseNode", "array": "flatLooseNode", "lines": "jsonlLine"}


def schema() -> dict[str, Any]:
    """The JSON Schema of a tree file; do not change it."""
    return load_schema("loomconv_schemas", "socketteer.schema.json")


def check(source: Source, context: ReadContext) -> None:
    """Report what in the file is not as the app writes it, with line and column. Raises as `parse` does."""
    # What is odd about the text is reported when it is read as a loom.
    parsed = parse(source, ReadContext(report=Report(limit=0), limits=context.limits))
    whole = schema()
    faults: list[SchemaFault] = []
    if parsed.shape == "tree":
        shell = {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": "#/$defs/treeShell"}
        faults += validate({"root": {}, **parsed.top}, shell, cap=_MOST_SHOWN)
    found = validate_nodes(_pieces(parsed), whole, _NODE_OF[parsed.shape], cap=_BULK, fault_cap=_MOST_SHOWN)
    _report([*faults, *found.faults], parsed, source, context)
    if found.checked < found.seen:
        message = f"Of {found.seen} nodes {found.checked} were checked; the extra `fast` checks all of them."
        context.report.add("validate.sampled", message, value=found.seen)


def _pieces(parsed: Parsed) -> Iterator[tuple[Steps, Any]]:
    """The nodes without what is nested in them."""
    if parsed.shape in ("tree", "node"):
        yield from walk_nested(parsed.nodes[0], "/root" if parsed.shape == "tree" else "", singles=("masked_head",))
        return
    for place, node in enumerate(parsed.nodes):
        yield from walk_nested(node, f"/{place}", singles=("masked_head",))


def _report(faults: list[SchemaFault], parsed: Parsed, source: Source, context: ReadContext) -> None:
    one_text = parsed.shape != "lines" and bool(faults)
    places = jsontext.find_pointers(source.data, [fault.pointer for fault in faults]) if one_text else {}
    for fault in faults:
        context.report.add(
            "validate.schema",
            f"The value {fault.message}.",
            pointer=fault.pointer or None,
            place=places.get(fault.pointer),
        )
