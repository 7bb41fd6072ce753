"""The app's entities and the tables in which it stores them (dossier §1, §3.1)."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

from loomconv import jsontext

__all__ = [
    "COLLECTIONS",
    "EXPORT_MARK",
    "NAMESPACE",
    "NEVER_READ",
    "SAFE_IDS",
    "SCHEMA_VERSION",
    "TABLES",
    "Column",
    "Entities",
    "Entity",
    "Table",
    "ref",
    "same",
]

NAMESPACE: Final = "aspen-grove"
SCHEMA_VERSION: Final = 8
# How a file begins that the app exported as OpenLoom 2; a title may be the same word.
EXPORT_MARK: Final = re.compile(rb'"format"\s*:\s*"open-loom"')
# Ids that the app's storage can hold (dossier §3.3), as a regular expression.
SAFE_IDS: Final = "[A-Za-z0-9._]+"

# An entity with the keys of the app's own types; collections of them by name.
Entity = dict[str, Any]
Entities = dict[str, list[Entity]]

# text, number, boolean, time (ms in the database, ISO elsewhere), JSON, or a text that may be packed.
Kind = Literal["text", "number", "flag", "time", "json", "packed"]


class Column(NamedTuple):
    """A column, the entity's key for it, and what is stored in it."""

    name: str
    key: str
    kind: Kind
    optional: bool = False
    indexed: bool = False


class Table(NamedTuple):
    """A table, the entity collection that it holds, and its columns beyond `id`, `_changed` and `_status`."""

    name: str
    collection: str
    columns: tuple[Column, ...]


def _columns(text: str) -> tuple[Column, ...]:
    """Columns as a line: `name:kind`, with `?` for optional ones, `*` for indexed ones."""
    kinds: dict[str, Kind] = {
        "s": "text",
        "n": "number",
        "b": "flag",
        "t": "time",
        "j": "json",
        "z": "packed",
    }
    columns = []
    for part in text.split():
        name, _, kind = part.partition(":")
        first, *rest = name.split("_")
        key = _RENAMED.get(name, first + "".join(word.capitalize() for word in rest))
        columns.append(Column(name, key, kinds[kind[0]], "?" in kind, "*" in kind))
    return tuple(columns)


_RENAMED: Final = {"agent_type": "type"}

TABLES: Final = (
    Table("groves", "groves", _columns("name:s owner_agent_id:s created_at:t updated_at:t")),
    Table(
        "agents",
        "agents",
        _columns(
            "name:s agent_type:s model_ref:s? configuration:j? permissions:j? owner_tree_id:s?* "
            "created_at:t updated_at:t archived_at:t?"
        ),
    ),
    Table(
        "loom_trees",
        "loomTrees",
        _columns(
            "grove_id:s title:s description:s? summary:s? root_node_id:s mode:s system_context:s? "
            "default_model_agent_id:s?* last_message_at:t? created_at:t updated_at:t archived_at:t?"
        ),
    ),
    Table(
        "nodes",
        "nodes",
        _columns(
            "local_id:s loom_tree_id:s* content:j summary:s? author_agent_id:s author_type:s content_hash:s "
            "created_at:t version_group_id:s? edited_from:s?"
        ),
    ),
    Table(
        "raw_api_responses",
        "rawApiResponses",
        _columns(
            "node_id:s* provider:s* request_id:s? model_identifier:s response_body:z response_headers:z "
            "request_timestamp:t* response_timestamp:t latency_ms:n token_usage:j? compression_type:s created_at:t"
        ),
    ),
    Table("edges", "edges", _columns("loom_tree_id:s target_node_id:s edge_type:s created_at:t")),
    Table("tags", "tags", _columns("grove_id:s* name:s color:s? created_at:t")),
    Table("tag_assignments", "tagAssignments", _columns("tag_id:s* target_type:s target_id:s* created_at:t")),
    Table(
        "paths", "paths", _columns("loom_tree_id:s owner_agent_id:s name:s? created_at:t updated_at:t archived_at:t?")
    ),
    Table("path_nodes", "pathNodes", _columns("path_id:s position:n node_id:s created_at:t")),
    Table(
        "path_selections",
        "pathSelections",
        _columns("path_id:s target_node_id:s selected_edge_id:s? selected_source_node_id:s? updated_at:t"),
    ),
    Table("path_states", "pathStates", _columns("path_id:s agent_id:s mode:s? active_node_id:s updated_at:t")),
)
COLLECTIONS: Final = tuple(table.collection for table in TABLES)
# Personal or secret: noticed, never read (dossier §1, §3).
NEVER_READ: Final = {"user_preferences": "userPreferences", "local_models": "localModels"}


def ref(entity: Entity, key: str) -> str | None:
    """A reference of an entity; None for what is no text."""
    value = entity.get(key)
    return value if isinstance(value, str) else None


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are written alike: types, order of keys and spelling of numbers included."""
    if type(left) is not type(right):
        return False
    if left is None or isinstance(left, str | bool) or type(left) is int:
        return bool(left == right)
    return jsontext.encode(left) == jsontext.encode(right)
