"""One entity and the part of the pivot that it stands for, both ways (dossier §7).

Each `…_core` reads the pivot's values out of an entity, each `…_entity` gives the entity that such values alone make.
What an entity has otherwise is its *stash*: raw values at their own names, and `absent` keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from loomconv_plugins.aspen_grove.tables import Entity, same
from loomconv_plugins.aspen_grove.times import iso, pivot_time

__all__ = [
    "agent_core",
    "agent_entity",
    "content_of",
    "edge_core",
    "edge_entity",
    "node_core",
    "node_entity",
    "patched",
    "response_core",
    "response_entity",
    "stash_of",
    "tree_core",
    "tree_entity",
]

Core = dict[str, Any]

_CONFIGURATION: Final = ("systemPrompt", "temperature", "maxTokens", "stopSequences")
_USAGE: Final = ("promptTokens", "completionTokens", "totalTokens")
_TREE_TEXTS: Final = ("title", "description", "systemContext", "mode")


# -- the difference --------------------------------------------------------------------------------------------------


def stash_of(entity: Entity, base: Entity, without: tuple[str, ...] = ()) -> Entity:
    """What the entity has otherwise than the base."""
    odd = {key: value for key, value in entity.items() if key not in without}
    stash = {key: value for key, value in odd.items() if not (key in base and same(base[key], value))}
    if "absent" in stash:
        stash = {
            **{key: value for key, value in stash.items() if key != "absent"},
            "unknown": {"absent": stash["absent"]},
        }
    absent = [key for key in base if key not in entity]
    return {**stash, "absent": absent} if absent else stash


def patched(base: Entity, stash: Entity, core_of: Callable[[Entity], Core], core: Core) -> Entity:
    """The base with the stash's values, each as long as the entity then still says what the core says."""
    entity, said = dict(base), core_of(base)

    def is_good(tried: Entity) -> bool:
        read = core_of(tried)
        keys = read.keys() | said.keys()
        return all(same(read.get(key), core.get(key)) or same(read.get(key), said.get(key)) for key in keys)

    for key, value in stash.items():
        if key not in ("absent", "unknown"):
            tried = {**entity, key: value}
            entity = tried if is_good(tried) else entity
    unknown = stash.get("unknown")
    entity.update(unknown if isinstance(unknown, dict) else {})
    absent = stash.get("absent")
    for key in absent if isinstance(absent, list) else ():
        if key in entity and key != "id":
            tried = {other: value for other, value in entity.items() if other != key}
            entity = tried if is_good(tried) else entity
    return entity


def _present(**values: Any) -> Core:
    return {key: value for key, value in values.items() if value is not None}


# -- content ---------------------------------------------------------------------------------------------------------


def _block_of(part: Any) -> Core | None:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return None
    if part["type"] == "text" and not isinstance(part.get("text"), str):
        return None
    return {key: value for key, value in part.items() if key not in ("thumbnailRef", "transcriptRef")}


def blocks_of(content: Any) -> list[Core]:
    """The blocks of a content; none for what is no content."""
    parts = content.get("blocks") if isinstance(content, dict) and content.get("type") == "mixed" else [content]
    blocks = [_block_of(part) for part in parts] if isinstance(parts, list) else []
    return [block for block in blocks if block is not None]


def content_of(blocks: list[Any]) -> Entity:
    """The content of some blocks: the only one itself, several as mixed."""
    return dict(blocks[0]) if len(blocks) == 1 else {"type": "mixed", "blocks": [dict(block) for block in blocks]}


# -- nodes -----------------------------------------------------------------------------------------------------------


def node_core(entity: Entity) -> Core:
    """A node's content, author, time, flags and lineage (names, tags and generation come from other entities)."""
    given = entity.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    flags: Core = {name: True for name in ("bookmarked", "pruned", "excluded") if metadata.get(name) is True}
    label = metadata.get("bookmarkLabel")
    if flags.get("bookmarked") and isinstance(label, str):
        flags["bookmarkLabel"] = label
    role, agent = entity.get("authorType"), entity.get("authorAgentId")
    return {
        "content": blocks_of(entity.get("content")),
        "author": _present(
            role="model" if role == "model" else "human", agentId=agent if isinstance(agent, str) and agent else None
        ),
        "createdAt": pivot_time(entity.get("createdAt")),
        "meta": flags or None,
        "editedFrom": entity.get("editedFrom") if isinstance(entity.get("editedFrom"), str) else None,
    }


def node_entity(node_id: str, tree_id: str, core: Core) -> Entity:
    """The node that the core alone gives; hash, local id and whatever else the app needs come later."""
    meta = core.get("meta") or {}
    metadata: Entity = {"bookmarked": meta.get("bookmarked") is True}
    if metadata["bookmarked"] and isinstance(meta.get("bookmarkLabel"), str):
        metadata["bookmarkLabel"] = meta["bookmarkLabel"]
    metadata |= {"pruned": meta.get("pruned") is True, "excluded": meta.get("excluded") is True}
    return {
        "id": node_id,
        "loomTreeId": tree_id,
        "content": content_of(core["content"]),
        **_present(authorAgentId=core["author"].get("agentId")),
        "authorType": core["author"].get("role"),
        **_present(createdAt=iso(core.get("createdAt"))),
        "metadata": metadata,
        **_present(editedFrom=core.get("editedFrom")),
    }


# -- raw responses ---------------------------------------------------------------------------------------------------


def response_core(entity: Entity) -> Core:
    """What a raw response says of a generation."""
    body, headers = entity.get("responseBody"), entity.get("responseHeaders")
    core = _present(
        provider=_text(entity.get("provider")),
        model=_text(entity.get("modelIdentifier")),
        requestId=_text(entity.get("requestId")),
        requestedAt=pivot_time(entity.get("requestTimestamp")),
        receivedAt=pivot_time(entity.get("responseTimestamp")),
        latencyMs=_whole(entity.get("latencyMs")),
    )
    usage = entity.get("tokenUsage")
    counts = {key: usage[key] for key in _USAGE if type(usage.get(key)) is int} if isinstance(usage, dict) else {}
    if counts:
        core["usage"] = counts
    if isinstance(body, str) and isinstance(headers, str):
        digest = hashlib.sha256(f"{headers}\n\n{body}".encode("utf-8", "surrogatepass")).hexdigest()
        raw: Core = {"bodyHash": f"sha256:{digest}", "encoding": "identity", "body": body}
        lines = [line.partition(": ") for line in headers.split("\n") if line]
        if lines and all(separator for _, separator, _ in lines):
            raw["headers"] = {name: value for name, _, value in lines}
        core["rawResponse"] = raw
    return core


def response_entity(node_id: str, core: Core) -> Entity:
    """The raw response that a generation alone gives."""
    raw = core.get("rawResponse")
    known = raw if isinstance(raw, dict) else {}
    headers = known.get("headers")
    lines = "\n".join(f"{name}: {value}" for name, value in headers.items()) if isinstance(headers, dict) else ""
    return {
        "nodeId": node_id,
        **_present(
            provider=core.get("provider"),
            requestId=core.get("requestId"),
            modelIdentifier=core.get("model"),
            responseBody=known.get("body"),
        ),
        "responseHeaders": lines,
        **_present(
            requestTimestamp=iso(core.get("requestedAt")),
            responseTimestamp=iso(core.get("receivedAt")),
            latencyMs=core.get("latencyMs"),
            tokenUsage=core.get("usage"),
        ),
        "compressionType": "gzip",
        **_present(createdAt=iso(core.get("receivedAt"))),
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return (
        int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1 else None
    )


# -- edges, agents, trees --------------------------------------------------------------------------------------------


def edge_core(entity: Entity) -> Core:
    """An edge of the pivot; one whose ends are no texts is left to the hub to report."""
    sources = entity.get("sources")
    listed = [each for each in sources if isinstance(each, dict)] if isinstance(sources, list) else []
    return {
        **_present(id=_text(entity.get("id"))),
        "type": entity.get("edgeType") if isinstance(entity.get("edgeType"), str) else "continuation",
        "sources": [{key: each[key] for key in ("nodeId", "role") if each.get(key) is not None} for each in listed],
        "targetNodeId": entity.get("targetNodeId"),
        **_present(createdAt=pivot_time(entity.get("createdAt"))),
    }


def edge_entity(tree_id: str, edge: Core) -> Entity:
    """The edge that the pivot's alone gives."""
    return {
        **_present(id=edge.get("id")),
        "loomTreeId": tree_id,
        "sources": [{"nodeId": each.get("nodeId"), "role": each.get("role") or "primary"} for each in edge["sources"]],
        "targetNodeId": edge["targetNodeId"],
        "edgeType": edge["type"],
        **_present(createdAt=iso(edge.get("createdAt"))),
    }


def agent_core(entity: Entity) -> Core:
    """An agent of the registry."""
    given = entity.get("configuration")
    configuration = {key: given[key] for key in _CONFIGURATION if key in given} if isinstance(given, dict) else {}
    kind = entity.get("type")
    core = {"name": _text(entity.get("name")) or "", "type": kind if isinstance(kind, str) else "human"}
    return {**core, **_present(modelRef=_text(entity.get("modelRef")), configuration=configuration or None)}


def agent_entity(agent_id: str, core: Core) -> Entity:
    """The agent that the registry alone gives."""
    given = core.get("configuration")
    configuration = {key: given[key] for key in _CONFIGURATION if key in given} if isinstance(given, dict) else {}
    kind = "model" if core.get("type") == "model" else "human"
    reference = core.get("modelRef") if isinstance(core.get("modelRef"), str) else None
    if kind == "model":
        reference = _known_reference(reference)
    return {
        "id": agent_id,
        "name": core.get("name") if isinstance(core.get("name"), str) else "",
        "type": kind,
        **_present(modelRef=reference if kind == "model" else None),
        "configuration": configuration,
    }


_PROVIDERS: Final = frozenset(
    ("openrouter", "lmstudio", "hyperbolic", "anthropic", "openai", "google", "local", "custom")
)


def _known_reference(reference: str | None) -> str:
    """A reference that the app can read: it fails on an agent of a provider that it does not know (dossier §1)."""
    if reference is None:
        return "custom:imported"
    provider, colon, _ = reference.partition(":")
    return reference if colon and provider in _PROVIDERS else f"custom:{reference}"


def tree_core(entity: Entity) -> Core:
    """A tree's own fields, without what other entities say."""
    texts = {name: entity[name] for name in _TREE_TEXTS if isinstance(entity.get(name), str)}
    times = {name: pivot_time(entity.get(name)) for name in ("createdAt", "updatedAt")}
    root = entity.get("rootNodeId")
    return {**texts, **_present(**times), "rootNodeIds": [root] if isinstance(root, str) and root else []}


def tree_entity(tree_id: str, core: Core) -> Entity:
    """The tree that its fields alone give."""
    texts = {name: core[name] for name in _TREE_TEXTS if isinstance(core.get(name), str)}
    roots = core.get("rootNodeIds") or [None]
    return {
        "id": tree_id,
        **texts,
        **_present(rootNodeId=roots[0]),
        **_present(createdAt=iso(core.get("createdAt")), updatedAt=iso(core.get("updatedAt"))),
    }
