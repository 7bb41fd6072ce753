"""How much input is let in: the limits of OL2-9-limits, each of which can be raised or switched off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from loomconv.errors import LimitExceeded, UsageFault

__all__ = ["RATIO_FLOOR", "Limits"]

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

# Below this size a compression ratio proves nothing (a short run of one letter packs 1000:1) and cannot hurt.
RATIO_FLOOR = MIB

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
    "k": KIB,
    "m": MIB,
    "g": GIB,
    "t": 1024 * GIB,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": 1024 * GIB,
}
_SIZE = re.compile(r"([0-9]{1,18})\s*([a-z]{0,3})", re.IGNORECASE)
_RATIO = re.compile(r"([0-9]{1,18})(?::1)?")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in force; None switches one off.

    `document_bytes`: one document's text, unpacked. `nesting`: levels of brackets, for formats that are flat by nature
    (nested ones have no use for it). `medium_bytes`: one image or sound. `bundle_bytes`: all that is unpacked from one
    archive. `members`: entries of an archive, and members of a gzip file. `ratio`: unpacked to packed size, looked at
    above 1 MiB. `image_pixels`: width times height. Values are at least 1; anything else raises UsageFault.
    """

    document_bytes: int | None = 256 * MIB
    nesting: int | None = 200
    medium_bytes: int | None = 64 * MIB
    bundle_bytes: int | None = GIB
    members: int | None = 10_000
    ratio: int | None = 200
    image_pixels: int | None = 89_478_485

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value < 1:
                raise UsageFault(
                    f"the limit {_option(field.name)} must be at least 1",
                    next_step=f"Switch it off with `--limit {_option(field.name)}=none`.",
                )

    @classmethod
    def unlimited(cls) -> Limits:
        """No limit at all, for files that are trusted."""
        return cls(**{field.name: None for field in fields(cls)})

    @classmethod
    def parse(cls, options: Iterable[str], base: Limits | None = None) -> Limits:
        """The limits that a list of NAME=VALUE texts asks for, on top of `base` (default: the defaults).

        Names are the field names with hyphens. Sizes take a unit: kB, MB, GB are powers of 1000; K, KiB, M, MiB, G,
        GiB powers of 1024; the case does not matter. A ratio may be written `500` or `500:1`. `none` switches a limit
        off. The last of several values for one name counts. Raises UsageFault.
        """
        changes: dict[str, int | None] = {}
        for option in options:
            name, value = _parse_option(option)
            changes[name] = value
        return (base or cls()).with_(**changes)

    def with_(self, **changes: int | None) -> Limits:
        """A copy with other values, by field name; an unknown name raises UsageFault."""
        for name in changes:
            _check_name(name)
        return replace(self, **changes)

    def allowance(self, packed: int, name: str) -> tuple[int | None, str]:
        """How many bytes may come out of `packed` compressed bytes, and the name of the limit which says so.

        `name` is the limit for the kind of thing unpacked (`document_bytes`, `medium_bytes`); the ratio can only
        lower it. None: as many as there are.
        """
        size: int | None = getattr(self, name)
        if self.ratio is None:
            return size, name
        by_ratio = max(RATIO_FLOOR, packed * self.ratio)
        return (by_ratio, "ratio") if size is None or by_ratio < size else (size, name)

    def exceeded(self, name: str, what: str, *, source: str | None = None, needed: int | None = None) -> LimitExceeded:
        """The error for `what` (a noun phrase) that is above the limit `name`; it tells which option raises it.

        `needed` is the value that would do, where it is known. The suggestion is the limit doubled until it is enough.
        """
        value = getattr(self, name)
        limit: int = 1 if value is None else value
        suggestion = limit * 2
        while needed is not None and suggestion < needed:
            suggestion *= 2
        return LimitExceeded(
            f"{what} is above the limit of {_shown(name, limit, ' ')}",
            source=source,
            next_step=f"If you trust the file, raise it with `--limit {_option(name)}={_shown(name, suggestion, '')}`.",
        )


def _option(name: str) -> str:
    return name.replace("_", "-")


def _check_name(name: str) -> None:
    names = [field.name for field in fields(Limits)]
    if name not in names:
        known = ", ".join(map(_option, names))
        raise UsageFault("there is no limit of that name", next_step=f"The limits are: {known}.")


def _parse_option(option: str) -> tuple[str, int | None]:
    written, equals, text = option.partition("=")
    name = written.strip().replace("-", "_")
    if not equals:
        raise UsageFault("a limit is written NAME=VALUE", next_step="For example `--limit document-bytes=2GiB`.")
    _check_name(name)
    text = text.strip()
    if text.lower() == "none":
        return name, None
    if name == "ratio":
        match = _RATIO.fullmatch(text)
        unit = 1
    else:
        match = _SIZE.fullmatch(text)
        units = _UNITS if name.endswith("_bytes") else {"": 1}
        unit = units.get(match[2].lower(), 0) if match else 0
    if match is None or unit == 0:
        example = {"ratio": "500:1"}.get(name, "2GiB" if name.endswith("_bytes") else "20000")
        raise UsageFault(
            f"the value of the limit {_option(name)} cannot be read",
            next_step=f"For example `--limit {_option(name)}={example}`, or `none`.",
        )
    return name, int(match[1]) * unit


def _shown(name: str, value: int, space: str) -> str:
    if name == "ratio":
        return f"{value}:1"
    if name.endswith("_bytes"):
        for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
            if value % size == 0:
                return f"{value // size}{space}{unit}"
        return f"{value}{space}B"
    return str(value)
