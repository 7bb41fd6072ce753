"""Ids that the app's storage can hold: letters, digits, dot and underscore (dossier §3.3), each for one thing only."""

from __future__ import annotations

import re
from typing import Any, Final

from loomconv.model import mint_ulid
from loomconv_plugins.aspen_grove.tables import NAMESPACE, SAFE_IDS, Entities, Entity, ref

__all__ = ["renamed", "with_safe_ids"]

_SAFE: Final = re.compile(SAFE_IDS)
# Keys of entities that hold the id of a node or an edge of the entity's tree, and those that hold any other id.
_IN_TREE: Final = frozenset(
    {
        *("nodeId", "targetNodeId", "rootNodeId", "editedFrom", "targetId", "activeNodeId", "selectedEdgeId"),
        *("selectedSourceNodeId", "versionGroupId"),
    }
)
_ELSEWHERE: Final = frozenset(
    {
        *("id", "loomTreeId", "authorAgentId", "ownerAgentId", "agentId", "defaultModelAgentId", "ownerTreeId"),
        *("tagId", "groveId", "pathId"),
    }
)
_LOCAL: Final = ("nodes", "edges")


def with_safe_ids(entities: Entities, *, all_characters: bool) -> tuple[Entities, dict[str, str]]:
    """The entities with new ids in place of those that cannot be stored or are there twice, and the former ones.

    OpenLoom has ids of nodes and edges within their tree; a database has one table for all.
    """
    everywhere: dict[str, str] = {}
    in_tree: dict[Any, dict[str, str]] = {}
    for name, listed in entities.items():
        taken: set[Any] = set()
        for each in listed:
            own = each.get("id")
            if not isinstance(own, str):
                continue
            is_safe = all_characters or _SAFE.fullmatch(own) is not None
            if name in _LOCAL:
                if own in taken or not is_safe:
                    tree = ref(each, "loomTreeId")
                    in_tree.setdefault(tree, {})[own] = mint_ulid(NAMESPACE, "safe", name, str(tree), own)
                taken.add(own)
            elif not is_safe:
                everywhere[own] = mint_ulid(NAMESPACE, "safe", name, own)
    if not everywhere and not in_tree:
        return entities, {}
    trees = {ref(each, "id"): ref(each, "loomTreeId") for each in (*entities["paths"], *reversed(entities["nodes"]))}
    result = {
        name: [
            _renamed(each, everywhere, in_tree.get(_tree_of(name, each, trees), {}), name in _LOCAL) for each in listed
        ]
        for name, listed in entities.items()
    }
    former = {new: old for ids in (everywhere, *in_tree.values()) for old, new in ids.items()}
    return result, former


def _tree_of(name: str, entity: Entity, trees: dict[Any, Any]) -> Any:
    if name == "loomTrees":
        return ref(entity, "id")
    if "loomTreeId" in entity:
        return ref(entity, "loomTreeId")
    return trees.get(ref(entity, "pathId") or ref(entity, "nodeId") or ref(entity, "targetId"))


def renamed(entities: Entities, ids: dict[str, Any]) -> Entities:
    """Copies of the entities in which these ids are replaced wherever they are referred to."""
    if not ids:
        return entities
    return {name: [_renamed(each, ids, ids, True) for each in listed] for name, listed in entities.items()}


def _renamed(entity: Entity, everywhere: dict[str, Any], in_tree: dict[str, Any], is_local: bool) -> Entity:
    def new(key: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if key in _IN_TREE or (key == "id" and is_local):
            return in_tree.get(value, value)
        return everywhere.get(value, value) if key in _ELSEWHERE else value

    copy = {key: new(key, value) for key, value in entity.items()}
    sources = copy.get("sources")
    if isinstance(sources, list):
        copy["sources"] = [
            {**each, "nodeId": new("nodeId", each.get("nodeId"))}
            if isinstance(each, dict) and "nodeId" in each
            else each
            for each in sources
        ]
    return copy
