"""What a plugin imports, and all that it may rely on: the plugin API, version 1.0.

    from loomconv.plugin import Capabilities, Confidence, Format, hookimpl

Every name here, and every public name of the modules that are listed here, keeps its meaning as long as the first
number of `API_VERSION` stays the same; additions raise the second. A name that is going to go is announced: importing
it warns (DeprecationWarning, with what to use instead) for at least one version with a higher second number, and it
goes with the next first number only. What is not here belongs to the hub and may change with every release.

docs/plugin-reference.md lists the names with what they do. They are imported when first used.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import loomconv.jsontext as jsontext
    from loomconv.capabilities import ANY, EVERYTHING, NO_IDS, Capabilities
    from loomconv.errors import (
        InvalidDocument,
        LoomconvError,
        Place,
        PluginFault,
        TruncatedInput,
        UnreadableFile,
        UsageFault,
    )
    from loomconv.format import (
        API_VERSION,
        Confidence,
        Format,
        Option,
        Probe,
        ReadContext,
        Sink,
        WriteContext,
        hookimpl,
    )
    from loomconv.jsontext import Layout
    from loomconv.model import (
        Document,
        Edge,
        Graph,
        Node,
        NodeIndex,
        Origin,
        Tree,
        TreeBuilder,
        mint_ulid,
        plain_edge,
        plain_text,
        primary_source,
        times,
    )
    from loomconv.model.edges import CONTINUATION, EdgeTable, is_edge
    from loomconv.model.record import extensions_of, own_record, with_record
    from loomconv.plugin.lens import Lens, same_json
    from loomconv.plugin.nesting import Nested, flat_when_deep, nest, unnest
    from loomconv.plugin.text import encode_text
    from loomconv.privacy import drop_secrets
    from loomconv.provenance import HashScheme, HashVerdict
    from loomconv.report import Code, Finding, Report
    from loomconv.report.shown import shown_value
    from loomconv.schema import SchemaFault, Steps, load_schema, validate, validate_nodes, walk_nested
    from loomconv.storage import Limits, Source
    from loomconv.storage.database import SQLITE_MAGIC, open_database, table_names

    HUB_VERSION: str

__all__ = [
    "ANY",
    "API_VERSION",
    "CONTINUATION",
    "EVERYTHING",
    "HUB_VERSION",
    "NO_IDS",
    "SQLITE_MAGIC",
    "Capabilities",
    "Code",
    "Confidence",
    "Document",
    "Edge",
    "EdgeTable",
    "Finding",
    "Format",
    "Graph",
    "HashScheme",
    "HashVerdict",
    "InvalidDocument",
    "Layout",
    "Lens",
    "Limits",
    "LoomconvError",
    "Nested",
    "Node",
    "NodeIndex",
    "Option",
    "Origin",
    "Place",
    "PluginFault",
    "Probe",
    "ReadContext",
    "Report",
    "SchemaFault",
    "Sink",
    "Source",
    "Steps",
    "Tree",
    "TreeBuilder",
    "TruncatedInput",
    "UnreadableFile",
    "UsageFault",
    "WriteContext",
    "drop_secrets",
    "encode_text",
    "extensions_of",
    "flat_when_deep",
    "hookimpl",
    "is_edge",
    "jsontext",
    "load_schema",
    "mint_ulid",
    "nest",
    "open_database",
    "own_record",
    "plain_edge",
    "plain_text",
    "primary_source",
    "same_json",
    "shown_value",
    "table_names",
    "times",
    "unnest",
    "validate",
    "validate_nodes",
    "walk_nested",
    "with_record",
]


class Deprecated(NamedTuple):
    """A name that still works and is going to go."""

    home: str
    since: str
    gone_in: str
    instead: str


# By subject, as docs/plugin-reference.md shows them: subject → module → names.
SUBJECTS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "Declaring a format": {
        "loomconv.format": ("hookimpl", "Format", "Confidence", "Probe", "Option", "API_VERSION"),
        "loomconv.capabilities": ("Capabilities", "ANY", "EVERYTHING", "NO_IDS"),
        "loomconv.report": ("Code",),
    },
    "Reading and writing": {
        "loomconv.format": ("ReadContext", "WriteContext", "Sink"),
        "loomconv.storage": ("Source", "Limits"),
        "loomconv.report": ("Report", "Finding"),
    },
    "Documents": {
        "loomconv.model": (
            *("Document", "Tree", "TreeBuilder", "NodeIndex", "Node", "Edge", "Graph", "Origin"),
            *("plain_text", "plain_edge", "primary_source", "mint_ulid"),
        ),
        "loomconv.model.edges": ("EdgeTable", "CONTINUATION", "is_edge"),
        "loomconv.model.record": ("extensions_of", "own_record", "with_record"),
    },
    "Keeping what the core has no word for": {
        "loomconv.plugin.lens": ("Lens", "same_json"),
        "loomconv.plugin.nesting": ("unnest", "Nested", "nest", "flat_when_deep"),
    },
    "Times": {"loomconv.model": ("times",)},
    "JSON and text": {
        "loomconv": ("jsontext",),
        "loomconv.jsontext": ("Layout",),
        "loomconv.plugin.text": ("encode_text",),
    },
    "Databases": {"loomconv.storage.database": ("open_database", "table_names", "SQLITE_MAGIC")},
    "Schemas": {
        "loomconv.schema": ("load_schema", "validate", "SchemaFault", "walk_nested", "Steps", "validate_nodes"),
    },
    "Errors": {
        "loomconv.errors": (
            *("LoomconvError", "InvalidDocument", "UnreadableFile", "TruncatedInput", "UsageFault", "PluginFault"),
            "Place",
        ),
    },
    "Privacy, hashes, and the rest": {
        "loomconv.privacy": ("drop_secrets",),
        "loomconv.report.shown": ("shown_value",),
        "loomconv.provenance": ("HashScheme", "HashVerdict"),
        "loomconv": ("HUB_VERSION",),
    },
}
_HOMES: Final = {name: home for homes in SUBJECTS.values() for home, names in homes.items() for name in names}
# Names that are modules, and names that are called otherwise where they come from.
_MODULES: Final = {"jsontext": "loomconv.jsontext", "times": "loomconv.model.times"}
_OTHERWISE: Final = {"HUB_VERSION": "__version__"}
DEPRECATED: dict[str, Deprecated] = {}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found: Any = import_module(_MODULES[name])
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), _OTHERWISE.get(name, name))
    elif name in DEPRECATED:
        home, since, gone_in, instead = DEPRECATED[name]
        warnings.warn(
            f"loomconv.plugin.{name} is deprecated since plugin API {since} and goes with {gone_in}: use {instead}",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(home), name)
    else:
        raise AttributeError(f"module 'loomconv.plugin' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
