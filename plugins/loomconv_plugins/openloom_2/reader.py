"""Reading OpenLoom 2.0: the envelope is decoded, nodes and edges stay bytes unless something about them is odd."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, cast

import msgspec

from loomconv import jsontext
from loomconv.errors import InvalidDocument, LoomconvError
from loomconv.format import ReadContext
from loomconv.model import Document, Tree, TreeBuilder
from loomconv.model.edges import EdgeTable
from loomconv.model.record import with_record
from loomconv.model.types import Node
from loomconv.privacy import drop_secrets
from loomconv.report.shown import shown_value
from loomconv.storage import Source
from loomconv_plugins.openloom_2.doubled_keys import account_for_keys, is_free_of_doubles
from loomconv_plugins.openloom_2.envelope import Envelope, TreeText, decode_object, fast_envelope, plain_fields
from loomconv_plugins.openloom_2.probe import ProbedNode, core_strings, has_strings, ordinary_strings, probe_nodes

__all__ = ["read"]

_Blocks = Mapping[str, Any]


# So many nodes are decoded at once: enough to save calls, and few enough to stay in the processor's cache.
_BATCH = 256
_VERSION = re.compile(r"[0-9]{1,6}(?:\.[0-9A-Za-z-]{1,12}){0,3}", re.ASCII)


def read(source: Source, context: ReadContext) -> Document:
    """The document; nodes are looked at once, strictly, and decoded only when that look finds something odd.

    Raises InvalidDocument for another format, an unknown major version, or a document without trees (OL2-3-trees),
    UnreadableFile with line, column and byte for text that is no JSON.
    """
    envelope = fast_envelope(source)
    if envelope is None:
        value = context.load_json(source, max_depth=context.limits.nesting)
        if not isinstance(value, dict):
            raise InvalidDocument("the top level is not an object", source=source.name)
        envelope = Envelope(value, value.get("trees"), tuple(value))
    _check_document(envelope, source, context)
    fields = {key: value for key, value in envelope.fields.items() if key != "trees"}
    document = Document(fields, [], envelope.key_order)
    readers = [_TreeReader(context, position) for position in range(len(envelope.trees))]
    document.trees.extend(reader.read(tree) for reader, tree in zip(readers, envelope.trees, strict=True))
    if envelope.text is not None and is_free_of_doubles(envelope.text, readers, source.data):
        return document
    if envelope.is_text:
        account_for_keys(source, document, sum(reader.strings for reader in readers), context)
    return document


def _check_document(envelope: Envelope, source: Source, context: ReadContext) -> None:
    """Format, version and trees (OL2-3-format, OL2-3.1-*, OL2-3-trees, A11)."""
    fields, report = envelope.fields, context.report
    if fields.get("format") != "open-loom":
        raise InvalidDocument(
            'the document is not OpenLoom 2: "format" is not "open-loom"',
            source=source.name,
            pointer="/format",
            next_step="`loomconv inspect` says what it looks like.",
        )
    version = fields.get("version")
    text = str(version) if isinstance(version, str | int | float) and not isinstance(version, bool) else ""
    major, dot, minor = text.partition(".")
    if version is None or text == "":
        message = "The version is missing; 2.0 is assumed."
        report.add("read.version", message, pointer="/version", value=shown_value(version))
    elif major != "2":
        raise InvalidDocument(
            f"the document is OpenLoom {_shown_version(text)}, and only 2.x is known",
            source=source.name,
            pointer="/version",
            next_step="Export it as OpenLoom 2, or look for a newer loomconv.",
        )
    elif not isinstance(version, str) or not dot or not minor:
        report.add(
            "read.version", "The version is oddly written; it is read as 2.0.", pointer="/version", value=version
        )
    elif minor != "0":
        message = f"The version is {_shown_version(text)}; what 2.0 does not know is kept."
        report.add("read.version", message, pointer="/version")
    if not isinstance(version, str) or not minor:
        fields["version"] = "2.0"
        context.touched = True
    if not envelope.trees:
        raise InvalidDocument(
            "the document has no trees",
            source=source.name,
            pointer="/trees",
            next_step="There is nothing to convert in it.",
        )


def _shown_version(text: str) -> str:
    return text if _VERSION.fullmatch(text) else "of an unknown version"


class _TreeReader:
    """Reads one tree and counts the strings of its text."""

    def __init__(self, context: ReadContext, position: int) -> None:
        self.context = context
        self.report = context.report
        self.position = position
        self.strings = 0
        self.edge_strings = 0
        # Whether some node has a key twice, as far as nodes alone can tell.
        self.doubled = False
        # Ids inside nodes that differ from the keys they stand under (A1): id → keys.
        self.aliases: dict[str, list[str]] = {}
        # What nodes say that they were edited from, to be checked when all nodes are known (A20).
        self.lineage: list[tuple[str, str]] = []

    def read(self, value: Any) -> Tree:
        fields, nodes, edges, key_order = self._parts(value)
        builder = self.context.builder(fields)
        if "" in nodes:
            nodes = self._with_ids(builder, nodes)
        self._read_nodes(builder, nodes)
        tree = builder.build()
        tree.key_order = key_order
        aliases = {inner: keys[0] for inner, keys in self.aliases.items() if len(keys) == 1}
        aliases = {inner: key for inner, key in aliases.items() if inner not in tree.nodes}
        self._read_edges(tree.edges, edges, aliases)
        if aliases:
            self._point_at_keys(tree, aliases)
        for node_id, origin in self.lineage:
            if origin in aliases:
                self._found_alias(node=node_id, pointer="/editedFrom")
                tree.nodes.put_block(node_id, jsontext.encode({**tree.nodes[node_id], "editedFrom": aliases[origin]}))
            elif origin not in tree.nodes:
                self.report.add("repair.bad-lineage", node=node_id, tree=tree.id, pointer="/editedFrom", value=origin)
        return tree

    def _parts(self, value: Any) -> tuple[dict[str, Any], _Blocks, Iterable[Any], tuple[str, ...]]:
        """Fields, nodes, edges and key order of a tree in any of its decoded forms."""
        if isinstance(value, TreeText):
            fields = plain_fields(value, "nodes", "edges")
            given: Any = [] if value.edges is msgspec.UNSET else value.edges
            nodes: Any = value.nodes
            key_order: tuple[str, ...] = (*fields, "nodes", "edges")
            missing = value.edges is msgspec.UNSET
        else:
            if not isinstance(value, dict):
                self.report.add("read.bad-value", "A tree is not an object.", pointer=f"/trees/{self.position}")
                self.context.touched = True
                value = {"extensions": {"loomconv": {"originalTree": value}}}
            fields = {key: item for key, item in value.items() if key not in ("nodes", "edges")}
            nodes, given, key_order = value.get("nodes"), value.get("edges"), tuple(value)
            missing = given is None
        where = f"/trees/{self.position}"
        if fields.get("rootNodeIds") is None:
            self.report.add("repair.bad-root", "The tree lists no roots.", pointer=f"{where}/rootNodeIds")
            self.context.touched = True
        if not isinstance(nodes, dict):
            self.report.add("read.bad-value", "The tree's nodes are not an object.", pointer=f"{where}/nodes")
            self._keep_aside(fields, "originalNodes", nodes)
            nodes = {}
        if missing:
            self.report.add("read.bad-value", "The tree has no edges.", pointer=f"{where}/edges")
            self.context.touched = True
        elif not isinstance(given, list):
            self.report.add("read.bad-value", "The tree's edges are not a list.", pointer=f"{where}/edges")
            self._keep_aside(fields, "originalEdges", given)
        self._count_envelope(fields, missing)
        return fields, nodes, given if isinstance(given, list) else [], key_order

    def _keep_aside(self, fields: dict[str, Any], name: str, value: Any) -> None:
        self.context.touched = True
        if value is not None:
            fields.update(with_record(fields, **{name: value}))

    def _count_envelope(self, fields: dict[str, Any], no_edges: bool) -> None:
        self.strings += jsontext.strings_in_value(fields) + 1 + (not no_edges)

    # -- nodes -------------------------------------------------------------------------------------------------

    def _read_nodes(self, builder: TreeBuilder, nodes: _Blocks) -> None:
        """Take the nodes that are ordinary as they are, and look closely at the others."""
        self.strings += len(nodes)
        entries = iter(nodes.items())
        while batch := list(islice(entries, _BATCH)):
            if type(batch[0][1]) is msgspec.Raw:
                self._read_batch(builder, batch)
            else:
                for node_id, value in batch:
                    self._look_closely(builder, node_id, value, None)

    def _read_batch(self, builder: TreeBuilder, batch: list[tuple[str, msgspec.Raw]]) -> None:
        """Take some nodes; those between two that need a close look go to the builder together."""
        # The strings of a block are counted in its text, which is exact once every block has been accounted for.
        strings = generations = start = 0
        unset = msgspec.UNSET
        for position, ((node_id, block), node) in enumerate(
            zip(batch, probe_nodes([block for _, block in batch]), strict=True)
        ):
            known = -1
            if node is not None and node.id == node_id:
                text = bytes(block)
                known = ordinary_strings(node, text)
                if known < 0:
                    known = _strings_with_more(node, block, text)
            if known < 0 or node is None:
                builder.nodes.extend_blocks(batch[start:position])
                start = position + 1
                # What the probe knows is sound; what else is there may be odd, or a key may be there twice.
                strings += self._look_at_block(builder, node_id, block, sound=node is not None and node.id == node_id)
                continue
            strings += known
            if node.editedFrom is not unset:
                self.lineage.append((node_id, node.editedFrom))
            if type(node.generation) is dict:
                generations += 1
                self._count_tiers(node.generation)
        builder.nodes.extend_blocks(batch[start:])
        self.strings += strings
        if generations:
            self.report.count("generations", generations)

    def _with_ids(self, builder: TreeBuilder, nodes: _Blocks) -> _Blocks:
        """The nodes with an id in place of an empty one (OL2-3.2-ids); what refers to it will follow."""
        minted = builder.mint("openloom-2", str(self.position), "")
        while minted in nodes:
            minted = builder.mint("openloom-2", minted)
        self.report.add("repair.node-id", node=minted, pointer="/nodes/")
        self.context.touched = True
        self.aliases[""] = [minted]
        return {node_id or minted: block for node_id, block in nodes.items()}

    def _look_at_block(self, builder: TreeBuilder, node_id: str, block: msgspec.Raw, *, sound: bool = False) -> int:
        """The close look at a node that is bytes; gives the number of its strings."""
        value = jsontext.decode(block)
        self._look_closely(builder, node_id, value, block, sound=sound)
        strings = jsontext.strings_in_value(value)
        self.doubled |= not has_strings(bytes(block), strings)
        return strings

    def _look_closely(
        self, builder: TreeBuilder, node_id: str, value: Any, block: msgspec.Raw | None, *, sound: bool = False
    ) -> None:
        if not isinstance(value, dict):
            self.report.add("read.opaque-node", node=node_id)
            value = {
                "id": node_id,
                "content": [],
                "author": {"role": "human"},
                "extensions": {"loomconv": {"opaque": value}},
            }
            block = None
        self._note_references(node_id, value)
        # The probe does not look into these two.
        sound = sound and all(isinstance(value.get(key), dict | None) for key in ("generation", "extensions"))
        builder.add_node(node_id, cast(Node, value), block, sound=sound)

    def _note_references(self, node_id: str, value: dict[str, Any]) -> None:
        inner, origin, generation = value.get("id"), value.get("editedFrom"), value.get("generation")
        if isinstance(inner, str) and inner and inner != node_id:
            self.aliases.setdefault(inner, []).append(node_id)
        if isinstance(origin, str):
            self.lineage.append((node_id, origin))
        if isinstance(generation, dict):
            self.report.count("generations")
            self._count_tiers(generation)

    def _count_tiers(self, generation: dict[str, Any]) -> None:
        """What the report says of provenance (OL2-9-default-prov)."""
        if generation.get("contentHash") is not None:
            self.report.count("contentHashes")
        if generation.get("rawResponse") is not None:
            self.report.count("rawResponses")

    # -- edges and references ----------------------------------------------------------------------------------

    def _read_edges(self, table: EdgeTable, edges: Iterable[Any], aliases: dict[str, str]) -> None:
        if aliases:
            edges = [self._with_keys(_decoded(edge), aliases) for edge in edges]
        table.extend(edges)
        self.edge_strings = table.strings
        self.strings += table.strings

    def _with_keys(self, edge: Any, aliases: dict[str, str]) -> Any:
        """The edge with references to inner ids pointed at the keys (A1)."""
        if not isinstance(edge, dict) or not isinstance(edge.get("sources"), list):
            return edge
        pointed = dict(edge)
        if "targetNodeId" in edge:
            pointed["targetNodeId"] = _key(edge["targetNodeId"], aliases)
        pointed["sources"] = [
            {**source, "nodeId": _key(source["nodeId"], aliases)}
            if isinstance(source, dict) and "nodeId" in source
            else source
            for source in edge["sources"]
        ]
        if pointed == edge:
            return edge
        target = pointed.get("targetNodeId")
        self._found_alias(node=target if isinstance(target, str) else None, pointer="/edges")
        return pointed

    def _point_at_keys(self, tree: Tree, aliases: dict[str, str]) -> None:
        for field in ("rootNodeIds", "currentNodeId"):
            value = tree.fields.get(field)
            pointed = [_key(each, aliases) for each in value] if isinstance(value, list) else _key(value, aliases)
            if pointed != value:
                self._found_alias(pointer=f"/{field}")
                tree.fields[field] = pointed

    def _found_alias(self, *, pointer: str, node: str | None = None) -> None:
        self.report.add("repair.bad-reference", node=node, pointer=pointer)
        self.context.touched = True


def _strings_with_more(node: ProbedNode, block: msgspec.Raw, text: bytes) -> int:
    """The number of strings of a node that has unknown keys or `extensions`, if nothing need be done about them.

    -1 if that takes a close look: they hold a secret, `extensions` are no object, a key may be there twice, or what the
    probe passed over is no text.
    """
    known = core_strings(node)
    if known < 0:
        return -1
    try:
        beyond = _beyond_core(block)
    except (msgspec.DecodeError, LoomconvError):
        return -1
    if not isinstance(beyond.get("extensions"), dict | None) or drop_secrets(beyond)[1]:
        return -1
    known += jsontext.strings_in_value(beyond)
    return known if has_strings(text, known) else -1


def _beyond_core(block: msgspec.Raw) -> dict[str, Any]:
    """What an object that the probe has passed holds besides: its `extensions`, and unknown keys."""
    return {
        key: jsontext.decode(bytes(value))
        for key, value in decode_object(block).items()
        if key not in ProbedNode.__struct_fields__
    }


def _key(reference: Any, aliases: dict[str, str]) -> Any:
    """The key that a reference means."""
    return aliases.get(reference, reference) if isinstance(reference, str) else reference


def _decoded(value: Any) -> Any:
    return jsontext.decode(value) if type(value) is msgspec.Raw else value
