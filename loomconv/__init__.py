"""loomconv reads any loom file, writes any other, says what the target cannot hold, and puts it back on the way home.

    import loomconv

    document = loomconv.load("story.json")
    for tree in document.trees:
        for node_id, node in tree.nodes.items():
            ...
    loomconv.convert("story.json", "story.openloom")

Everything public is here or in `loomconv.format` (for plugin authors) and `loomconv.model`; it is imported when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from loomconv.api import Conversion, Detection, convert, detect, dump, load
    from loomconv.errors import LoomconvError
    from loomconv.options import ConversionOptions
    from loomconv.report import Finding, Report

__all__ = [
    "Conversion",
    "ConversionOptions",
    "Detection",
    "Finding",
    "LoomconvError",
    "Report",
    "__version__",
    "convert",
    "detect",
    "dump",
    "load",
]

_HOMES = {
    "Conversion": "loomconv.api",
    "ConversionOptions": "loomconv.options",
    "Detection": "loomconv.api",
    "Finding": "loomconv.report",
    "LoomconvError": "loomconv.errors",
    "Report": "loomconv.report",
    "convert": "loomconv.api",
    "detect": "loomconv.api",
    "dump": "loomconv.api",
    "load": "loomconv.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'loomconv' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
