"""From a log to the document that it comes to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn, cast

from loomconv import jsontext
from loomconv.errors import InvalidDocument, LoomconvError, Place, UnreadableFile
from loomconv.format import ReadContext
from loomconv.model import Document, TreeBuilder
from loomconv.model.edges import is_edge
from loomconv.model.types import Edge
from loomconv.privacy import drop_secrets
from loomconv.storage import Source
from loomconv.writelog import FORMAT, Chain, Line, split_lines

__all__ = ["read", "records_of"]

_KEYS: Final = {
    "open": {"op", "format", "version", "document", "keys"},
    "document": {"op", "document"},
    "tree": {"op", "tree", "keys"},
    "agent": {"op", "id", "agent", "tree"},
    "node": {"op", "tree", "node"},
    "edge": {"op", "tree", "edge"},
    "delete": {"op", "tree", "node", "edge", "agent"},
    "commit": {"op", "seq", "records", "sha256"},
}
_MOST_GLUED: Final = 1000
_HEX: Final = re.compile("[0-9a-f]{64}")


def read(source: Source, context: ReadContext) -> Document:
    """The document at the end of the log. Raises UnreadableFile for a damaged line, InvalidDocument for no log."""
    if _is_plain_export(source):
        return context.read_as("socketteer", source)
    return _Reader(source, context).run()


def _is_plain_export(source: Source) -> bool:
    """Whether the first line is one of the plain lines that socketteer's loom exports: they have no `op`."""
    for line in split_lines(source.data):
        if line.record:
            try:
                first = jsontext.decode(line.record.removeprefix(b"\xef\xbb\xbf"))
            except LoomconvError:
                return False
            return isinstance(first, dict) and "op" not in first and {"id", "text"} <= first.keys()
    return False


def records_of(text: bytes) -> list[dict[str, Any]] | None:
    """The records on one line: one as a rule; several where a line feed is missing; None for anything else."""
    try:
        value = jsontext.decode(text)
    except LoomconvError:
        return _glued(text)
    return [value] if isinstance(value, dict) and isinstance(value.get("op"), str) else None


def _glued(text: bytes) -> list[dict[str, Any]] | None:
    records: list[dict[str, Any]] = []
    start, at = 0, text.find(b"}{")
    for _ in range(_MOST_GLUED):
        end = len(text) if at < 0 else at + 1
        if start == 0 and at < 0:
            return None
        try:
            value = jsontext.decode(text[start:end])
        except LoomconvError:
            value = None
        if isinstance(value, dict) and isinstance(value.get("op"), str):
            records.append(value)
            start = end
        if at < 0:
            return records if start == len(text) else None
        at = text.find(b"}{", at + 1)
    return None


class _State:
    """One tree as the records so far have it: nodes and edges by what they are known by, in order of first puts."""

    def __init__(self, tree_id: str) -> None:
        self.fields: dict[str, Any] = {"id": tree_id}
        self.keys: tuple[str, ...] = ()
        self.nodes: dict[str, bytes | dict[str, Any]] = {}
        self.edges: dict[Any, Edge] = {}


class _Reader:
    def __init__(self, source: Source, context: ReadContext) -> None:
        self.source = source
        self.context = context
        self.report = context.report
        self.skips = context.options.get("damaged", "refuse") == "skip"
        self.fields: dict[str, Any] = {}
        self.keys: tuple[str, ...] = ()
        self.trees: dict[str, _State] = {}
        self.kept: list[dict[str, Any]] = []
        self.deleted_nodes: dict[str, set[str]] = {}
        self.superseded = 0
        self.opened = False
        self.chain = Chain()
        self.first_of_link = 1
        self.uncommitted = 0
        self.padded = 0

    def run(self) -> Document:
        until = self._last_commit() if self.context.options.get("state", "all") == "committed" else None
        left_out = 0
        for line in self._whole_lines():
            if until is not None and line.number > until:
                left_out += bool(line.record)
                continue
            self._take_line(line)
        if not self.opened:
            raise InvalidDocument(
                "there is no complete record in it" if until is None else "nothing in it was committed",
                next_step="A log begins with an `open` record.",
            )
        if left_out:
            self.report.add("write-log.uncommitted-left-out", value=left_out)
            self.context.touched = True
        elif self.uncommitted:
            self.report.add("write-log.uncommitted", value=self.uncommitted)
        if self.padded:
            self.report.add("write-log.padding", value=self.padded)
        document = self._document()
        if self.superseded:
            self.report.add("write-log.superseded", value=self.superseded)
        return document

    def _whole_lines(self) -> Iterator[Line]:
        """The lines that were written completely; the rest is reported."""
        for line in split_lines(self.source.data):
            if line.complete:
                if line.number == 1 and line.raw.startswith(b"\xef\xbb\xbf"):
                    self.report.add("read.bom")
                    self.context.touched = True
                    line = Line(1, line.byte, line.raw[3:], True)
                yield line
            else:
                self.context.truncated = True
                self.report.add("write-log.torn", value=len(line.raw), place=Place(line.number, 1, line.byte))

    def _last_commit(self) -> int:
        """Number of the last line that is a commit."""
        last = 0
        for line in split_lines(self.source.data):
            if line.complete and b'"commit"' in line.raw:
                records = records_of(line.record)
                if records and records[-1]["op"] == "commit":
                    last = line.number
        return last

    # -- lines -------------------------------------------------------------------------------------------------

    def _take_line(self, line: Line) -> None:
        text = line.record
        self.padded += line.raw.count(b"\0") if not text or line.raw[:1] == b"\0" or b"\0\n" in line.raw else 0
        if not text:
            self.chain.skip(line.raw)
            return
        records = records_of(text)
        if records is None:
            self._damaged(line)
            self.chain.skip(line.raw)
            return
        if len(records) > 1:
            self.report.add("write-log.glued", value=len(records), place=Place(line.number, 1, line.byte))
            self.context.touched = True
        for record in records:
            if not self._apply(record, line):
                self._damaged(line)
        if records[-1]["op"] != "commit":
            self.chain.add(line.raw)
            self.uncommitted += len(records)

    def _damaged(self, line: Line) -> None:
        place = Place(line.number, 1, line.byte)
        if self.skips:
            self.report.add("write-log.damaged-line", place=place)
            self.context.touched = True
            return
        self._refuse(place)

    def _refuse(self, place: Place) -> NoReturn:
        raise UnreadableFile(
            "a line of the log is no record",
            place=place,
            next_step="See what happened there; --loom-write-log-damaged skip leaves the line out.",
        )

    def _apply(self, record: dict[str, Any], line: Line) -> bool:
        """Apply one record; False when it is not what its kind has to be."""
        op = record["op"]
        if not self.opened and op != "open":
            raise InvalidDocument(
                "the first record does not open a log", place=Place(line.number, 1, line.byte), next_step=_NO_LOG
            )
        if op not in _KEYS:
            self.kept.append(record)
            return True
        unknown = record.keys() - _KEYS[op]
        if unknown:
            self.report.add("write-log.unknown-key", value=sorted(unknown), place=Place(line.number, 1, line.byte))
            self.context.touched = True
        handler = getattr(self, f"_apply_{op}")
        return bool(handler(record, line))

    def _apply_open(self, record: dict[str, Any], line: Line) -> bool:
        version = record.get("version")
        if record.get("format") != FORMAT or not isinstance(version, str):
            raise InvalidDocument(
                "the first record does not open a log", place=Place(line.number, 1, line.byte), next_step=_NO_LOG
            )
        if version.split(".")[0] != "1":
            raise InvalidDocument("the log is of a later version", next_step="Use a newer loomconv.")
        if version != "1.0":
            self.report.add("read.version", "The log's version is newer than what is known.", value=version)
        if self.opened:
            self.report.add("write-log.second-open", place=Place(line.number, 1, line.byte))
        self.opened = True
        self.keys = _names(record.get("keys"))
        return self._apply_document(record, line)

    def _apply_document(self, record: dict[str, Any], line: Line) -> bool:
        fields = record.get("document", {})
        if not isinstance(fields, dict):
            return False
        if self.fields:
            self._leave(self.fields)
        self.fields = {key: value for key, value in fields.items() if key != "trees"}
        return True

    def _apply_tree(self, record: dict[str, Any], line: Line) -> bool:
        fields = record.get("tree")
        if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
            return False
        state = self.trees.get(fields["id"])
        if state is None:
            state = self.trees[fields["id"]] = _State(fields["id"])
        elif state.fields.keys() != {"id"}:
            self._leave(state.fields)
        state.fields = {key: value for key, value in fields.items() if key not in ("nodes", "edges")}
        state.keys = _names(record.get("keys"))
        return True

    def _state(self, tree: str) -> _State:
        if tree not in self.trees:
            self.report.add("write-log.missing-tree", tree=tree)
            self.context.touched = True
            self.trees[tree] = _State(tree)
        return self.trees[tree]

    def _apply_agent(self, record: dict[str, Any], line: Line) -> bool:
        agent_id, agent, tree = record.get("id"), record.get("agent"), record.get("tree")
        if not isinstance(agent_id, str) or not isinstance(agent, dict) or not isinstance(tree, str | None):
            return False
        holder = self.fields if tree is None else self._state(tree).fields
        agents = holder.get("agents")
        known = agents if isinstance(agents, dict) else {}
        if agent_id in known:
            self._leave(known[agent_id])
        holder["agents"] = {**known, agent_id: agent}
        return True

    def _apply_node(self, record: dict[str, Any], line: Line) -> bool:
        tree, node = record.get("tree"), record.get("node")
        if not isinstance(tree, str) or not isinstance(node, dict) or not isinstance(node.get("id"), str):
            return False
        nodes = self._state(tree).nodes
        if node["id"] in nodes:
            self._leave(jsontext.decode(cast(bytes, nodes[node["id"]])))
        nodes[node["id"]] = jsontext.encode(node)
        return True

    def _apply_edge(self, record: dict[str, Any], line: Line) -> bool:
        tree, edge = record.get("tree"), record.get("edge")
        if not isinstance(tree, str) or not isinstance(edge, dict):
            return False
        edges = self._state(tree).edges
        identity = _identity(edge)
        if identity in edges:
            self._leave(edges[identity])
        edges[identity] = cast(Edge, edge)
        return True

    def _apply_delete(self, record: dict[str, Any], line: Line) -> bool:
        tree, node, edge, agent = (record.get(name) for name in ("tree", "node", "edge", "agent"))
        if agent is not None:
            holder = self.fields if tree is None else self._state(str(tree)).fields
            agents = holder.get("agents")
            if not isinstance(agent, str) or not isinstance(agents, dict) or agent not in agents:
                return self._delete(None, line)
            holder["agents"] = {key: value for key, value in agents.items() if key != agent}
            return self._delete(agents[agent], line)
        if not isinstance(tree, str):
            return False
        if node is None and edge is None:
            whole = self.trees.pop(tree, None)
            if whole is None:
                return self._delete(None, line)
            parts = [*map(jsontext.decode, cast("Iterable[bytes]", whole.nodes.values())), *whole.edges.values()]
            return self._delete([whole.fields, *parts], line)
        state = self._state(tree)
        if edge is not None:
            identity = edge if isinstance(edge, str) else _identity(edge) if isinstance(edge, dict) else None
            return self._delete(state.edges.pop(identity, None), line)
        if not isinstance(node, str):
            return False
        block = state.nodes.pop(node, None)
        if block is None:
            return self._delete(None, line)
        self.deleted_nodes.setdefault(tree, set()).add(node)
        return self._delete(jsontext.decode(cast(bytes, block)), line)

    def _delete(self, value: Any, line: Line) -> bool:
        """Leave a deleted value behind, or report that there was none."""
        if value is None:
            self.report.add("write-log.missing", place=Place(line.number, 1, line.byte))
        else:
            self._leave(value)
        return True

    def _leave(self, value: Any) -> None:
        """Count a value that is gone from the document; with a key or password in it the log must not be copied."""
        self.superseded += 1
        if drop_secrets(value)[1]:
            self.context.touched = True
            self.report.add(
                "privacy.secret-dropped",
                "A value that was replaced or deleted holds a key or password.",
            )

    def _apply_commit(self, record: dict[str, Any], line: Line) -> bool:
        digest, seq = record.get("sha256"), record.get("seq")
        if not isinstance(digest, str) or not isinstance(seq, int) or _HEX.fullmatch(digest) is None:
            return False
        same = digest == self.chain.digest() and record.get("records") == self.chain.records
        if not same or seq != self.chain.seq + 1:
            what = "The lines that the commit covers" if not same else "The commit's number"
            self.report.add(
                "write-log.digest",
                f"{what} differ from what was committed: lines {self.first_of_link} to {line.number}.",
                value=[self.first_of_link, line.number],
                place=Place(line.number, 1, line.byte),
            )
            self.context.touched = True
        self.chain.commit(digest, seq)
        self.first_of_link = line.number + 1
        self.uncommitted = 0
        return True

    # -- the document ------------------------------------------------------------------------------------------

    def _document(self) -> Document:
        fields = self.fields
        if self.kept:
            extensions = fields.get("extensions")
            own = {FORMAT: {"records": self.kept}}
            fields = {**fields, "extensions": {**(extensions if isinstance(extensions, dict) else {}), **own}}
        fields.setdefault("format", "open-loom")
        fields.setdefault("version", "2.0")
        trees = []
        for state in self.trees.values():
            tree = self._build(state).build()
            tree.key_order = state.keys
            trees.append(tree)
        return Document(fields, trees, self.keys)

    def _build(self, state: _State) -> TreeBuilder:
        builder = self.context.builder(state.fields)
        for node_id, block in state.nodes.items():
            builder.add_node(node_id, jsontext.decode(cast(bytes, block)))
        deleted = self.deleted_nodes.get(str(state.fields.get("id")), ())
        gone = {node_id for node_id in deleted if node_id not in state.nodes}
        targets = set()
        for edge in state.edges.values():
            left = _without(edge, gone)
            if left is None:
                self._leave(edge)
            else:
                builder.append_edge(left)
                if edge.get("type", "continuation") == "continuation":
                    targets.add(str(edge.get("targetNodeId")))
        state.fields.setdefault("title", "")
        if "rootNodeIds" not in state.fields:
            state.fields["rootNodeIds"] = [node_id for node_id in state.nodes if node_id not in targets]
        return builder


_NO_LOG: Final = "A log begins with an `open` record of the format loom-write-log."


def _without(edge: Edge, gone: set[str]) -> Edge | None:
    """The edge without sources that were deleted; None when its target was, or no source is left."""
    if not gone or not is_edge(edge):
        return edge
    if edge["targetNodeId"] in gone:
        return None
    sources = [source for source in edge["sources"] if source["nodeId"] not in gone]
    if len(sources) == len(edge["sources"]):
        return edge
    return cast(Edge, {**edge, "sources": sources}) if sources else None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _identity(edge: Any) -> Any:
    """What an edge is known by: its id, else its type, sources and target."""
    own = edge.get("id")
    if isinstance(own, str) and own:
        return own
    return jsontext.encode([edge.get("type"), edge.get("sources"), edge.get("targetNodeId")])
