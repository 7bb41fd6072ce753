"""Files that the installed formats write, for whoever has to tell them apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from loomconv import api, jsontext
from loomconv.format import Format
from loomconv.options import ConversionOptions
from loomconv.registry import Registry
from loomconv.testing.looms import link, loom, node

__all__ = ["samples", "write_samples"]

_NODES: Final = (
    node("a", "Once ", createdAt="2026-07-08T21:14:00Z"),
    node("b", "upon a time", "model", meta={"bookmarked": True, "tags": ["x"]}, generation={"model": "tide"}),
    node("c", "there was", "model", extensions={"other-app": {"k": 1}}),
)
_EDGES: Final = (link("a", "b"), link("a", "c"))
# A tree whose nodes stand neither by level nor branch by branch.
_BUSHY: Final = (("a", "c"), ("a", "b"), ("c", "d"), ("b", "e"), ("c", "f"), ("f", "g"), ("b", "h"))
# A single text, a tree of texts that run on, a dialogue, and one with more branches.
_LOOMS: Final = (
    loom(node("a", "Once.")),
    loom(*_NODES, edges=list(_EDGES), title="A tale", currentNodeId="b"),
    loom(*_NODES, edges=list(_EDGES), title="A talk", mode="dialogue", systemContext="Be kind."),
    loom(*(node(each, f"text {each}") for each in "ahcegbdf"), edges=[link(*ends) for ends in _BUSHY], mode="dialogue"),
)


def samples(registry: Registry, pivot: Format, folder: Path, *, without: str = "") -> Iterator[tuple[str, Path]]:
    """Small files of every format of the registry that writes, with every value of its writing options.

    `pivot` is a format of the registry that holds everything. Gives the name of each file's format, and its path in a
    sub-folder of `folder`.
    """
    for name, chosen in sorted(registry.formats.items()):
        if name != without and chosen.writes:
            for path in write_samples(registry, pivot, chosen, folder):
                yield name, path


def write_samples(registry: Registry, pivot: Format, chosen: Format, folder: Path) -> Iterator[Path]:
    """The small files of one format; see `samples`."""
    name = chosen.name
    place = folder / f"samples-{name}"
    place.mkdir(exist_ok=True)
    for number, (value, given) in enumerate(itertools.product(_LOOMS, _choices(chosen))):
        path = place / f"sample-{number}{chosen.suffixes[0] if chosen.suffixes else '.loom'}"
        options = ConversionOptions(format_options={name: given}, residue="none" if number % 2 else "embed")
        source = jsontext.dump(value, jsontext.COMPACT)
        api.convert(source, path, source_format=pivot.name, target_format=name, options=options, registry=registry)
        yield path


def _choices(chosen: Format) -> list[dict[str, str]]:
    """The default options, and each other value of each option by itself."""
    others = [
        {option.name: choice}
        for option in chosen.options
        if option.applies_to == "write"
        for choice in option.choices
        if choice != option.default
    ]
    return [{}, *others]
