"""What travels between the parts of a batch: a source, how to convert it, and what came of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from loomconv.options import ConversionOptions

__all__ = ["FINISHED", "Item", "Outcome", "Settings", "Status", "is_unchanged", "stamp_of"]

# Some file systems keep times to two seconds only, and forget the rest later.
_COARSE: Final = 2_000_000_000

# `done`: converted. `partly`: the input ends too early, what stands before was saved. `failed`: the file is the cause,
# and would be again. `stopped`: it took too long or too much memory, the worker died, or the disk was full. `skipped`:
# no loom, or a file that belongs to one. `same`: it was touched, but says what it said before.
Status = Literal["done", "partly", "failed", "stopped", "skipped", "same"]

# What is not tried again as long as neither the source nor the options change.
FINISHED: Final = ("done", "partly", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class Item:
    """One source.

    `name` is its path below the source folder with `/`, and its key: unique in a batch. `source` is the path or URL to
    open, `member` the name in the archive that it is. `target` is the output's path below the target folder. `stamp`
    changes when the source does; `digest` is the SHA-256 of what was converted before, empty when nothing was. `own`
    are paths and stamps of what was written of it before and may be replaced, unless it was changed since; `bold` is
    set when it may have written more than that, so that whatever stands there is replaced. `trouble` says why it
    cannot even be tried.
    """

    name: str
    source: str
    target: str
    size: int
    stamp: str
    member: str | None = None
    digest: str = ""
    own: tuple[tuple[str, str], ...] = ()
    bold: bool = False
    trouble: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How each item is converted. `target_root` is the path or URL of the target folder, `suffix`
    what output names end with.

    With `split` each tree of a loom goes to a file of its own, named by its title. `max_memory` is in bytes, None for
    no limit; it holds for a worker process. `sources` are the paths or addresses of the sources, which nothing is
    written to, and `overwrite` lets outputs replace files that the batch did not write. `ledger` is the folder of the
    ledger, if workers can see it, and `began` when the batch was begun, in nanoseconds.
    """

    target_root: str
    target_format: str
    suffix: str
    source_format: str | None = None
    options: ConversionOptions = field(default_factory=ConversionOptions)
    split: bool = False
    max_memory: int | None = None
    sources: tuple[str, ...] = ()
    overwrite: bool = False
    ledger: str = ""
    began: int = 0


@dataclass(slots=True)
class Outcome:
    """What came of an item.

    `outputs` are paths below the target folder, `stamps` what they look like (see `stamp_of`). `codes` counts findings
    by code, `examples` has one message a code with its place. `losses` counts what the target cannot hold, `lost` those
    of them that were not kept aside. `message` says why when there is no output.
    """

    name: str
    status: Status
    format: str = ""
    outputs: list[str] = field(default_factory=list)
    stamps: list[str] = field(default_factory=list)
    digest: str = ""
    trees: int = 0
    nodes: int = 0
    losses: int = 0
    lost: int = 0
    warnings: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    message: str = ""
    seconds: float = 0.0
    # The target cannot take anything any more, so that going on makes no sense.
    fatal: bool = False
    # `--strict` forbade it.
    refused: bool = False

    @property
    def needs_a_look(self) -> bool:
        """Whether a person should look at the file: it is not there, not whole, or was mended, or lost something."""
        return self.status in ("failed", "stopped", "partly") or self.lost > 0 or self.warnings > 0

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object, without what says nothing."""
        found = {
            name: getattr(self, name) for name in self.__slots__ if name not in ("digest", "fatal", "refused", "stamps")
        }
        found["seconds"] = round(self.seconds, 3)
        kept = {name: value for name, value in found.items() if value or name in ("name", "status")}
        return {**kept, "needs_a_look": True} if self.needs_a_look else kept


def stamp_of(status: os.stat_result) -> str:
    """What tells a file that was changed from one that was not."""
    return f"{status.st_size}:{status.st_mtime_ns}"


def is_unchanged(status: os.stat_result, stamp: str) -> bool:
    """Whether a file is what it was when it had this stamp; an empty stamp fits any."""
    if not stamp:
        return True
    size, _, time = stamp.partition(":")
    return status.st_size == int(size) and abs(status.st_mtime_ns - int(time)) <= _COARSE
