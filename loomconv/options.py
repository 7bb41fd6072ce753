"""The user's choices for one conversion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from loomconv.errors import UsageFault
from loomconv.storage.limits import Limits

if TYPE_CHECKING:
    from loomconv.format import Format

__all__ = ["ConversionOptions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversionOptions:
    """Choices that hold for reading and writing; every default is the lossless, reproducible one.

    `without` names parts of `loomconv.privacy.PARTS`. `residue` says where what the target cannot hold is kept: `embed`
    in the written file as far as its app keeps it there, else beside it; `beside` in a file beside it; `none`: lost.
    `strict` refuses to write when anything would be lost. `exported_at` is recorded as the time of the export.
    `assume_timezone` (`+HH:MM`) is the zone of times that have none. `tree` chooses one tree of several, by id or by
    number from 1. `media` says where pictures and sounds go: to members of a `bundle`, `inline` into the document, to
    files `beside` it, or nowhere (`drop`: their text stands for them); `keep` leaves references as they are, `auto`
    does what fits the target (see `loomconv.writing`). Files that a document names are looked for in `media_root` and
    in its own folder. `fill_image_sizes` adds width and height where an image has none. `format_options` are the
    formats' own: format name → option → value.
    """

    without: frozenset[str] = frozenset()
    keep_secrets: bool = False
    residue: Literal["embed", "beside", "none"] = "embed"
    strict: bool = False
    exported_at: str | None = None
    assume_timezone: str | None = None
    tree: str | None = None
    media: Literal["auto", "bundle", "inline", "beside", "keep", "drop"] = "auto"
    media_root: Path | None = None
    fill_image_sizes: bool = False
    limits: Limits = field(default_factory=Limits)
    format_options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # How many findings of one code are kept one by one; None: all. Counts are always complete.
    findings_limit: int | None = 1000
    fsync: bool = False

    def asks(self, chosen: Format) -> bool:
        """Whether a file of this format is to be written otherwise than by default."""
        usual = {option.name: option.default for option in chosen.options}
        return any(value != usual[name] for name, value in self.of_format(chosen, "write").items())

    def of_format(self, chosen: Format, applies_to: Literal["read", "write"]) -> dict[str, str]:
        """The format's own options with their defaults filled in. Raises UsageFault for an unknown name or value."""
        given = dict(self.format_options.get(chosen.name, {}))
        known = {option.name: option for option in chosen.options}
        for name, value in given.items():
            if name not in known:
                raise UsageFault(f"{chosen.name} has no option {name!r}")
            if value not in known[name].choices:
                choices = ", ".join(known[name].choices)
                raise UsageFault(f"{chosen.name}-{name} cannot be {value!r}", next_step=f"Choose one of: {choices}.")
        return {
            name: given.get(name, option.default) for name, option in known.items() if option.applies_to == applies_to
        }
