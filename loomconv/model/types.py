"""The JSON objects of OpenLoom 2.0 as typed dictionaries (openloom-2 dossier §2 to §7).

They describe what a plugin author sees when looking at a node, an edge or the fields of a tree. Unknown keys are legal
on every object and are kept; `TypedDict` only names the ones that the specification knows.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

__all__ = [
    "Agent",
    "AudioBlock",
    "Author",
    "Block",
    "DocumentFields",
    "Edge",
    "Generation",
    "Generator",
    "ImageBlock",
    "Meta",
    "Node",
    "RawResponse",
    "Source",
    "TagDef",
    "TextBlock",
    "TreeFields",
]


class TextBlock(TypedDict):
    """A piece of a node's own segment (OL2-4.3-text). Never trimmed or normalised."""

    type: str
    text: str


class ImageBlock(TypedDict):
    """A picture by `data:` URI or bundle member (OL2-4.3-image)."""

    type: str
    ref: str
    mimeType: str
    width: NotRequired[float]
    height: NotRequired[float]
    altText: NotRequired[str]


class AudioBlock(TypedDict):
    """A sound by `data:` URI or bundle member (OL2-4.3-audio)."""

    type: str
    ref: str
    mimeType: str
    durationMs: NotRequired[float]
    transcript: NotRequired[str]


# Unknown block types are legal and kept, so a block is in general any JSON object with a `type`.
Block = dict[str, Any]


class Author(TypedDict):
    """Who wrote a node; `role` is human, model, system, mixed or an unknown value that is kept (OL2-4.3-role)."""

    role: str
    agentId: NotRequired[str]
    name: NotRequired[str]


class Meta(TypedDict, total=False):
    """Flags and labels of a node; an absent key means its default (openloom-2 dossier §4.3)."""

    bookmarked: bool
    bookmarkLabel: str
    pruned: bool
    excluded: bool
    tags: list[str]
    rating: int
    note: str


class RawResponse(TypedDict):
    """Evidence of a generation (Tier 3); kept verbatim (OL2-5-verbatim)."""

    bodyHash: str
    encoding: NotRequired[str]
    body: NotRequired[str]
    headers: NotRequired[Any]


class Generation(TypedDict, total=False):
    """Provenance of a node's text in three tiers; kept verbatim, never invented (openloom-2 dossier §7)."""

    provider: str
    model: str
    parameters: dict[str, Any]
    requestId: str
    requestedAt: str
    receivedAt: str
    latencyMs: float
    usage: dict[str, Any]
    completionIndex: int
    contentHash: str
    parentHashes: list[str]
    hashAlgorithm: str
    rawResponse: RawResponse


class Node(TypedDict):
    """One node: its own segment, its author and what is known of it (OL2-4.3)."""

    id: str
    content: list[Block]
    author: Author
    createdAt: NotRequired[str]
    editedFrom: NotRequired[str]
    meta: NotRequired[Meta]
    generation: NotRequired[Generation]
    extensions: NotRequired[dict[str, Any]]


class Source(TypedDict):
    """One end of a hyperedge; an absent role means primary (OL2-4.4-role)."""

    nodeId: str
    role: NotRequired[str]


class Edge(TypedDict):
    """A directed hyperedge from one or more sources to one target (OL2-4.4)."""

    type: str
    sources: list[Source]
    targetNodeId: str
    id: NotRequired[str]
    createdAt: NotRequired[str]
    extensions: NotRequired[dict[str, Any]]


class Agent(TypedDict):
    """An entry of an agent registry (OL2-4.5)."""

    name: str
    type: str
    modelRef: NotRequired[str]
    configuration: NotRequired[dict[str, Any]]


class TagDef(TypedDict):
    """A tag definition of a tree; nodes refer to it by name."""

    name: str
    color: NotRequired[str]


class Generator(TypedDict):
    """The program that wrote a document."""

    name: str
    version: NotRequired[str]


class TreeFields(TypedDict, total=False):
    """A tree without its `nodes` and `edges` (openloom-2 dossier §3)."""

    id: str
    title: str
    description: str
    mode: str
    systemContext: str
    rootNodeIds: list[str]
    currentNodeId: str
    createdAt: str
    updatedAt: str
    tags: list[TagDef]
    agents: dict[str, Agent]
    extensions: dict[str, Any]


class DocumentFields(TypedDict, total=False):
    """A document without its `trees` (openloom-2 dossier §2)."""

    format: str
    version: str
    exportedAt: str
    generator: Generator
    agents: dict[str, Agent]
    extensions: dict[str, Any]
