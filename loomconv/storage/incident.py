"""What storage and media notice on the way: plain records that the caller turns into findings."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Incident"]


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that was skipped, ignored or does not fit; the work went on.

    `kind` is the second half of a finding code (`unsafe-path`, `gzip-trailing`). `message` is a sentence that quotes
    nothing from the file. `value` names what it is about (a member's name, a reference, a number of bytes), or is None.
    """

    kind: str
    message: str
    value: str | None = None
