"""The two ways to check: a whole value, or many flat pieces."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loomconv.schema.engines import Bulk, RawFault, engines
from loomconv.schema.nested import Steps, join_pointer

__all__ = ["SAMPLE_EVERY", "PieceCheck", "SchemaFault", "validate", "validate_nodes"]

# Beyond the cap, the reference engine looks at every so manieth piece.
SAMPLE_EVERY = 100


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One place where a value is not what the schema asks for.

    `pointer` is a JSON pointer into the value, `keyword` the schema's keyword that was broken, `message` a phrase such
    as `must be text`, fit to follow the pointer. Nothing in it but the pointer comes from the value.
    """

    pointer: str
    message: str
    keyword: str


@dataclass(frozen=True, slots=True)
class PieceCheck:
    """What `validate_nodes` found.

    `checked` is less than `seen` only if a cap was given and the reference engine had to be used: then the first ones
    up to the cap were checked and one in `SAMPLE_EVERY` of the others. `total` counts the faults of all checked pieces;
    `faults` has the first of them.
    """

    faults: list[SchemaFault]
    total: int
    seen: int
    checked: int


def _fault(base: str, fault: RawFault) -> SchemaFault:
    return SchemaFault(join_pointer(base, fault.path), fault.message, fault.keyword)


def validate(
    instance: Any, schema: Mapping[str, Any], *, cap: int | None = None, bulk: Bulk = "auto"
) -> list[SchemaFault]:
    """The faults of a whole value in document order (objects by key), at most the first `cap` of them; [] if valid.

    Raises LimitExceeded for a value of more than 100 levels under a schema that refers to itself (check it in pieces),
    and PluginFault when the schema itself is wrong.
    """
    fast, reference = engines(schema, None, bulk)
    faults = fast(instance) if fast is not None else None
    if faults is None:
        faults = reference(instance)
    ordered = heapq.nsmallest(cap, faults) if cap is not None else sorted(faults)
    return [_fault("", fault) for fault in ordered]


def validate_nodes(
    nodes: Iterable[tuple[str | Steps, Any]],
    schema: Mapping[str, Any],
    def_name: str,
    *,
    cap: int | None = None,
    fault_cap: int = 100,
    bulk: Bulk = "auto",
) -> PieceCheck:
    """Check flat pieces, each with its pointer, against `#/$defs/<def_name>` of the schema.

    `cap` bounds how many pieces the slow reference engine checks (see `PieceCheck`), `fault_cap` how many faults are
    kept. Raises as `validate` does. Memory does not grow with the number of pieces.
    """
    fast, reference = engines(schema, def_name, bulk)
    kept: list[SchemaFault] = []
    total = seen = checked = slow = 0
    for pointer, node in nodes:
        seen += 1
        faults = fast(node) if fast is not None else None
        if faults is None:
            slow += 1
            if cap is not None and slow > cap and slow % SAMPLE_EVERY:
                continue
            faults = reference(node)
        checked += 1
        if faults:
            total += len(faults)
            if (room := fault_cap - len(kept)) > 0:
                base = str(pointer)
                kept.extend(
                    SchemaFault(join_pointer(base, f.path), f.message, f.keyword) for f in sorted(faults)[:room]
                )
    return PieceCheck(kept, total, seen, checked)
