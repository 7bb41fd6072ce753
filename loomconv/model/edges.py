"""A tree's edges: compact arrays for topology, the edges' own bytes for everything else."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast, overload

import msgspec

from loomconv import jsontext
from loomconv.model.nodes import NodeIndex
from loomconv.model.types import Edge, Source

__all__ = [
    "ANNOTATION",
    "BROKEN",
    "CONTINUATION",
    "ID_ABSENT",
    "ODD",
    "OWN_ID",
    "ROLE_ABSENT",
    "EdgeTable",
    "derived_edge_id",
    "is_edge",
    "plain_edge",
    "primary_source",
]

# What an edge's form says beyond its ends, as bits: nothing for a plain edge. An odd edge has an id of its own, a time,
# further sources, another type or role, extensions or unknown keys; `OWN_ID` with it says that its id is all.
ID_ABSENT, ROLE_ABSENT, OWN_ID, ODD = 1, 2, 4, 128

# Kinds of edges as topology sees them. Unknown types count as annotations (OL2-4.4-type-unknown); an edge is broken
# while one of its ends is not a node of the tree.
CONTINUATION, ANNOTATION, BROKEN = 0, 1, 2


def derived_edge_id(target: str) -> str:
    """The id written for an edge that has none of its own (OL2-4.4-id): derived, hence reproducible.

    Such an id says nothing that the edge does not say, so it never counts as a loss.
    """
    return f"edge:{target}"


def plain_edge(source: str, target: str, form: int = 0) -> Edge:
    """A simple parent → child edge (OL2-4.4-simple), without the optional parts that the bits of `form` name."""
    end: Source = {"nodeId": source} if form & ROLE_ABSENT else {"nodeId": source, "role": "primary"}
    if form & ID_ABSENT:
        return {"type": "continuation", "sources": [end], "targetNodeId": target}
    return {"id": derived_edge_id(target), "type": "continuation", "sources": [end], "targetNodeId": target}


def primary_source(edge: Mapping[str, Any]) -> str | None:
    """The source that acts as the parent: the first primary one, else the first (OL2-4.4-strictparent, A4).

    A role that is absent or null means primary (OL2-4.4-role, A9).
    """
    sources = edge["sources"]
    for source in sources:
        if source.get("role") in (None, "primary"):
            return cast(str, source["nodeId"])
    return sources[0]["nodeId"] if sources else None


# null is no value here: an edge that holds one is kept as it is.
class _PlainSource(msgspec.Struct, forbid_unknown_fields=True):
    nodeId: str  # noqa: N815 - the specification's spelling
    role: str | msgspec.UnsetType = msgspec.UNSET


class _PlainEdge(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    sources: list[_PlainSource]
    targetNodeId: str  # noqa: N815 - the specification's spelling
    id: str | msgspec.UnsetType = msgspec.UNSET
    createdAt: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815 - the specification's spelling


_decode_plain = msgspec.json.Decoder(_PlainEdge).decode
_decode_plain_list = msgspec.json.Decoder(list[_PlainEdge]).decode
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)
# So many edges are decoded at once.
_BATCH = 256


def _with_plain_edges(
    edges: Iterable[Edge | msgspec.Raw | bytes],
) -> Iterator[tuple[msgspec.Raw | bytes, _PlainEdge | None]]:
    """The edges as bytes, each with what it is if it is a plain one."""
    rest = iter(edges)
    while batch := list(islice(rest, _BATCH)):
        blocks = [each if type(each) is msgspec.Raw or type(each) is bytes else jsontext.encode(each) for each in batch]
        try:
            yield from zip(blocks, _decode_plain_list(b"[%b]" % b",".join(blocks)), strict=True)
        except _REFUSED:
            yield from ((block, _plain_edge(block)) for block in blocks)


def _plain_edge(block: msgspec.Raw | bytes) -> _PlainEdge | None:
    try:
        return _decode_plain(block)
    except _REFUSED:
        return None


class EdgeTable(Sequence[Edge]):
    """Edges in array order, which is sibling order (OL2-4.2-meaning).

    `table[i]` gives a fresh dictionary. Arrays hold, per edge, the ordinal of the source that acts as parent, the
    ordinal of the target and the kind; `-1` stands for an end that is not a node. Sources beyond the first are in a
    side table. An edge that is nothing but parent and child costs 26 bytes.
    """

    __slots__ = (
        "_blocks",
        "_id_hashes",
        "claims",
        "forms",
        "kinds",
        "more_sources",
        "nodes",
        "parents",
        "rich",
        "strings",
        "targets",
        "unusable",
    )

    def __init__(self, nodes: NodeIndex) -> None:
        self.nodes = nodes
        self._blocks: list[msgspec.Raw | bytes | None] = []
        self.parents = array("q")
        self.targets = array("q")
        self.kinds = bytearray()
        self.forms = bytearray()
        self.more_sources: dict[int, tuple[int, ...]] = {}
        # Positions of values that are no edges at all (not an object, no target, no list of sources).
        self.unusable: dict[int, Any] = {}
        # Positions of edges with anything beyond id, type, time, target and one source.
        self.rich: list[int] = []
        # Positions of edges that a node's pointer to its parent claims, where the parent is not there.
        self.claims: set[int] = set()
        # Hashes of the edges' own ids: 8 bytes an edge are enough to rule out that two are equal.
        self._id_hashes = array("q")
        # How many strings the edges' own bytes hold (`jsontext.strings_in_text`).
        self.strings = 0

    # -- filling -----------------------------------------------------------------------------------------------

    def add(self, parent: int, target: int, form: int = 0) -> None:
        """Append a plain parent → child edge between two ordinals."""
        self._blocks.append(None)
        self.parents.append(parent)
        self.targets.append(target)
        self.kinds.append(CONTINUATION)
        self.forms.append(form)

    def extend_plain(self, parents: array[int], targets: array[int]) -> None:
        """Append many plain parent → child edges between ordinals: `add` for each pair."""
        self._blocks += [None] * len(targets)
        self.parents += parents
        self.targets += targets
        self.kinds += bytes([CONTINUATION]) * len(targets)
        self.forms += bytes(len(targets))

    def add_claim(self, parent: str, child: str) -> None:
        """Append the edge that a node's pointer to its parent claims, one of them not being there."""
        self.claims.add(len(self._blocks))
        source = {"nodeId": parent, "role": "primary"}
        self.append(cast(Edge, {"type": "continuation", "sources": [source], "targetNodeId": child}))

    def append(self, edge: Edge) -> None:
        """Append any edge; ends that are not nodes make it a broken one, for repair to deal with."""
        self.append_block(jsontext.encode(edge))

    def append_block(self, block: msgspec.Raw | bytes) -> None:
        """Append an edge by its source bytes."""
        self.extend((block,))

    def extend(self, edges: Iterable[Edge | msgspec.Raw | bytes]) -> None:
        """Append many edges, decoded or as bytes; about 1 µs for an ordinary one."""
        ordinal = self.nodes.ordinals.get
        add_block, add_hash = self._blocks.append, self._id_hashes.append
        add_parent, add_target = self.parents.append, self.targets.append
        add_kind, add_form = self.kinds.append, self.forms.append
        strings, unset = 0, msgspec.UNSET
        for block, edge in _with_plain_edges(edges):
            if edge is None or len(edge.sources) != 1:
                self._append_value(jsontext.decode(block), block)
                continue
            source = edge.sources[0]
            parent, target = ordinal(source.nodeId, -1), ordinal(edge.targetNodeId, -1)
            form, kind = 0, CONTINUATION if edge.type == "continuation" else ANNOTATION
            strings += 7
            if source.role is unset:
                form = ROLE_ABSENT
            else:
                strings += 2
                if source.role != "primary":
                    form = ODD
            if edge.id is unset:
                form |= ID_ABSENT
            else:
                strings += 2
                add_hash(hash(edge.id))
            if edge.createdAt is not unset:
                strings += 2
                form |= ODD
            if kind != CONTINUATION:
                form |= ODD
            if edge.id is not unset and edge.id != "edge:" + edge.targetNodeId:
                form |= ODD if form & ODD else ODD | OWN_ID
            add_block(block)
            add_parent(parent)
            add_target(target)
            add_kind(BROKEN if parent < 0 or target < 0 else kind)
            add_form(form)
        self.strings += strings

    def _append_value(self, value: Any, block: msgspec.Raw | bytes) -> None:
        self.strings += jsontext.strings_in_value(value)
        self.rich.append(len(self._blocks))
        if not is_edge(value):
            self.unusable[len(self._blocks)] = value
            self._append_row(block, -1, -1, BROKEN)
            return
        sources = [self.nodes.ordinals.get(source["nodeId"], -1) for source in value["sources"]]
        target = self.nodes.ordinals.get(value["targetNodeId"], -1)
        parent = self.nodes.ordinals.get(primary_source(value) or "", -1)
        broken = target < 0 or not sources or min(sources) < 0
        kind = CONTINUATION if value["type"] == "continuation" else ANNOTATION
        if len(sources) > 1:
            self.more_sources[len(self._blocks)] = tuple(sources)
        if value.get("id") is not None:
            self._id_hashes.append(hash(value["id"]) if isinstance(value["id"], str) else hash(""))
        self._append_row(block, parent, target, BROKEN if broken else kind)

    def _append_row(
        self, block: msgspec.Raw | bytes | None, parent: int, target: int, kind: int, form: int = ODD
    ) -> None:
        self._blocks.append(block)
        self.parents.append(parent)
        self.targets.append(target)
        self.kinds.append(kind)
        self.forms.append(form)

    # -- looking -----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._blocks)

    @overload
    def __getitem__(self, position: int) -> Edge: ...
    @overload
    def __getitem__(self, position: slice) -> list[Edge]: ...
    def __getitem__(self, position: int | slice) -> Edge | list[Edge]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        block = self._blocks[position]
        if block is not None:
            return cast(Edge, jsontext.decode(block))
        ids = self.nodes.ids
        return plain_edge(ids[self.parents[position]], ids[self.targets[position]], self.forms[position])

    def __iter__(self) -> Iterator[Edge]:
        return (self[position] for position in range(len(self)))

    def blocks(self) -> Iterator[msgspec.Raw | bytes]:
        """All edges as JSON, verbatim where they have bytes of their own."""
        ids = self.nodes.ids
        for position, block in enumerate(self._blocks):
            if block is None:
                edge = plain_edge(ids[self.parents[position]], ids[self.targets[position]], self.forms[position])
                yield jsontext.encode_plain(edge)
            else:
                yield block

    def own_id(self, position: int) -> str:
        """The id of an edge whose form says `OWN_ID`; decodes less than looking at the edge."""
        block = self._blocks[position]
        return cast(str, _decode_plain(block).id) if block is not None else ""

    def sources(self, position: int) -> tuple[int, ...]:
        """Ordinals of all sources, in edge order; `-1` for one that is not a node."""
        return self.more_sources.get(position) or (self.parents[position],)

    def links_alike(self, other: EdgeTable) -> bool:
        """Whether it is plain that both tables link the same ordinals in the same order, each child to one parent."""
        return (
            not self.more_sources
            and not other.more_sources
            and self.kinds == other.kinds
            and self.parents == other.parents
            and self.targets == other.targets
        )

    def ids_may_clash(self) -> bool:
        """Whether an edge's id may be taken by a node or another edge, or be no id (A2); rarely a false alarm."""
        if not self._id_hashes:
            return False
        hashes = set(self._id_hashes)
        if len(hashes) != len(self._id_hashes) or hash("") in hashes:
            return True
        return any(hash(node_id) in hashes for node_id in self.nodes.ids)

    # -- changing ----------------------------------------------------------------------------------------------

    def rebuilt(self, nodes: NodeIndex, change: Callable[[int], Edge | bool]) -> EdgeTable:
        """A table over another set of nodes: `change(position)` gives True (as it is), False (out), or another edge."""
        table = EdgeTable(nodes)
        ids, ordinals = self.nodes.ids, nodes.ordinals
        for position, block in enumerate(self._blocks):
            verdict = change(position)
            if verdict is True and block is None:
                parent = ordinals.get(ids[self.parents[position]], -1)
                target = ordinals.get(ids[self.targets[position]], -1)
                if parent < 0 or target < 0:
                    table.append(self[position])
                else:
                    table.add(parent, target, self.forms[position])
            elif verdict is True and block is not None:
                table.append_block(block)
            elif verdict:
                table.append(cast(Edge, verdict))
        return table

    def over(self, nodes: NodeIndex) -> EdgeTable:
        """The same edges over an index of the same nodes in the same order; shares everything."""
        table = EdgeTable(nodes)
        for name in self.__slots__:
            if name != "nodes":
                setattr(table, name, getattr(self, name))
        return table

    @classmethod
    def from_edges(cls, nodes: NodeIndex, edges: Iterable[Edge]) -> EdgeTable:
        """A table of decoded edges."""
        table = cls(nodes)
        table.extend(edges)
        return table

    def __repr__(self) -> str:
        return f"<EdgeTable of {len(self)} edges>"


def is_edge(value: Any) -> bool:
    """Whether the value has what topology needs: a type, a target and a list of sources with ids."""
    if not isinstance(value, dict):
        return False
    sources = value.get("sources")
    return (
        isinstance(value.get("type"), str)
        and isinstance(value.get("targetNodeId"), str)
        and isinstance(sources, list)
        and all(isinstance(source, dict) and isinstance(source.get("nodeId"), str) for source in sources)
    )
