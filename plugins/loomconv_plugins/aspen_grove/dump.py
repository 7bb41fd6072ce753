"""The dump of entities as one JSON object (dossier §5)."""

from __future__ import annotations

from typing import Any, Final

from loomconv.errors import InvalidDocument
from loomconv.format import ReadContext
from loomconv.storage import Source
from loomconv_plugins.aspen_grove.tables import COLLECTIONS, SCHEMA_VERSION, Entities

__all__ = ["DUMP", "VERSION", "dump_value", "fresh_dump", "read_dump"]

DUMP: Final = "aspen-grove-dump"
VERSION: Final = "1.0"
_NEVER: Final = ("localModels", "userPreferences")


def read_dump(source: Source, context: ReadContext) -> tuple[Entities, dict[str, Any]]:
    """The entities of a dump, with or without its mark, and its other keys. Raises InvalidDocument for all else."""
    value = context.load_json(source, max_depth=context.limits.nesting)
    if not isinstance(value, dict) or not ("loomTrees" in value or "tree" in value or "nodes" in value):
        raise InvalidDocument("there are no trees in it", pointer="/loomTrees", next_step="Choose a whole dump.")
    version = value.get("version")
    if value.get("format") == DUMP and (not isinstance(version, str) or version.split(".")[0] != "1"):
        context.report.add("read.version", value=version)
    entities: Entities = {}
    for name in COLLECTIONS:
        listed = value.get(name)
        if name == "loomTrees" and "loomTrees" not in value and isinstance(value.get("tree"), dict):
            listed = [value["tree"]]
        if listed is not None and not isinstance(listed, list):
            context.report.add("read.bad-value", pointer=f"/{name}")
            context.touched = True
        entities[name] = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        if isinstance(listed, list) and len(entities[name]) != len(listed):
            context.report.add("read.bad-value", "A value is no entity; it was left out.", pointer=f"/{name}")
            context.touched = True
    for name in _NEVER:
        if name in value:
            context.report.add("aspen-grove.private-table", value=name)
            context.touched = True
    more = {key: each for key, each in value.items() if key not in (*COLLECTIONS, *_NEVER, "tree")}
    more["keys"] = [key for key in value if key not in (*_NEVER, "extensions")]
    return entities, more


def fresh_dump() -> dict[str, Any]:
    """What stands beside the entities in a new dump."""
    mark = {"format": DUMP, "version": VERSION, "schemaVersion": SCHEMA_VERSION}
    return {**mark, "keys": [*mark, *COLLECTIONS]}


def dump_value(entities: Entities, more: dict[str, Any], exported_at: str | None) -> dict[str, Any]:
    """The dump: its own keys in the order that they had, or in that of the definition."""
    given = more.get("keys")
    keys = given if isinstance(given, list) else []
    rest = {key: value for key, value in more.items() if key != "keys"}
    if exported_at is not None:
        rest["exportedAt"] = exported_at
        keys = keys if "exportedAt" in keys else [*keys, "exportedAt"]
    value: dict[str, Any] = {}
    whole = {**rest, **entities}
    for key in keys:
        if key == "tree" and len(entities["loomTrees"]) == 1:
            value["tree"] = entities["loomTrees"][0]
        elif key in whole:
            value[key] = whole[key]
    for name in COLLECTIONS:
        if name not in value and entities[name] and not (name == "loomTrees" and "tree" in value):
            value[name] = entities[name]
    for key, each in rest.items():
        value.setdefault(key, each)
    return value
