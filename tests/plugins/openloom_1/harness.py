"""Reading and writing without the hub, and files and documents to do it with."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.format import ReadContext, WriteContext
from loomconv.jsontext import Layout
from loomconv.model import Document, Tree, TreeBuilder
from loomconv.report import Report
from loomconv.storage import open_source
from loomconv_plugins.openloom_1.plugin import OpenLoom1

FORMAT = OpenLoom1()


def read(data: bytes | dict[str, Any], **context: Any) -> tuple[Document, ReadContext]:
    """The document of a file, or of its value, and the context with the report."""
    text = data if isinstance(data, bytes) else jsontext.encode(data)
    settings = ReadContext(report=Report(), **context)
    return FORMAT.read(open_source(text), settings), settings


def tree_of(data: bytes | dict[str, Any], **context: Any) -> Tree:
    return read(data, **context)[0].trees[0]


def codes(data: bytes | dict[str, Any], **context: Any) -> dict[str, int]:
    """How often each finding was made."""
    return dict(read(data, **context)[1].report.codes)


def write(document: Document, layout: Layout | None = None, **options: str) -> bytes:
    sink = io.BytesIO()
    FORMAT.write(document, sink, WriteContext(report=Report(), layout=layout or FORMAT.layout, options=options))
    return sink.getvalue()


def written(document: Document, **options: str) -> dict[str, Any]:
    """The value of the written file."""
    value: dict[str, Any] = jsontext.decode(write(document, **options))
    return value


def back(data: bytes | dict[str, Any], **context: Any) -> Any:
    """The value of the file after reading and writing."""
    return written(read(data, **context)[0])


# -- files -------------------------------------------------------------------------------------------------------------


def entry(node_id: str, parent: str | None = None, children: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A node of a file as the app writes it."""
    raw: dict[str, Any] = {
        "id": node_id,
        "text": f"text of {node_id}",
        "author": "user",
        "modelId": "User",
        "createdTime": 757000000.25,
    }
    if parent is not None:
        raw["parentId"] = parent
    raw["childrenIds"] = list(children)
    if children:
        raw["rememberedChildId"] = children[0]
    return {**raw, "isBookmarked": False, **more}


def file_of(*entries: dict[str, Any], copies: Any = None, **fields: Any) -> dict[str, Any]:
    """A file around nodes, which stand under their ids."""
    nodes = {each["id"]: each for each in entries}
    value = {
        "id": "T",
        "title": "Knots",
        "description": "About knots",
        "systemMessage": "",
        "lastModified": 757000100.5,
        "rootNodeId": next(iter(nodes), ""),
        "nodes": nodes,
        "bookmarkedNodes": {} if copies is None else copies,
        "currentNodeId": list(nodes)[-1] if nodes else "",
    }
    return {key: item for key, item in {**value, **fields}.items() if item is not LEFT_OUT}


LEFT_OUT = object()


def chain(*ids: str, **more: Any) -> list[dict[str, Any]]:
    """Nodes one below the other; `more` goes into the last one."""
    below = dict(pairwise(ids))
    above = {child: parent for parent, child in below.items()}
    nodes = [entry(each, above.get(each), (below[each],) if each in below else ()) for each in ids]
    nodes[-1].update(more)
    return nodes


# -- documents ---------------------------------------------------------------------------------------------------------


def document_of(nodes: list[dict[str, Any]], edges: list[tuple[str, str]] = (), **fields: Any) -> Document:  # type: ignore[assignment]
    """A document of one tree; the first node is its root unless `fields` says otherwise."""
    base: dict[str, Any] = {"id": "T", "title": "Knots", "mode": "dialogue"}
    base["rootNodeIds"] = [nodes[0]["id"]] if nodes else []
    builder = TreeBuilder({**base, **fields})
    for node in nodes:
        builder.add_node(node["id"], node)  # type: ignore[arg-type]
    for parent, child in edges:
        builder.add_edge(parent, child)
    return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])


def node(node_id: str, text: str = "", role: str = "human", **more: Any) -> dict[str, Any]:
    """A node of a document."""
    return {"id": node_id, "content": [{"type": "text", "text": text}], "author": {"role": role}, **more}


def as_json(document: Document) -> dict[str, Any]:
    """Everything that a document says, as plain values; edges by parent, for only siblings have an order."""
    return {**document.fields, "trees": [_tree_json(tree) for tree in document.trees]}


def _tree_json(tree: Tree) -> dict[str, Any]:
    edges: dict[str, list[Any]] = {}
    for edge in tree.edges:
        edges.setdefault(edge["sources"][0]["nodeId"], []).append(edge)
    return {**tree.fields, "nodes": dict(tree.nodes.items()), "edges": edges}


def spelled(value: Any) -> bytes:
    """JSON with sorted keys: 1, 1.0 and true differ, the order of keys does not."""

    def ordered(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: ordered(item[key]) for key in sorted(item)}
        return [ordered(each) for each in item] if isinstance(item, list) else item

    return jsontext.encode(ordered(value))


# -- strategies --------------------------------------------------------------------------------------------------------

IDS = ("a", "b", "c", "d", "é/f")
TEXTS = st.text(st.sampled_from('ab "\\/\n\0é\u2028🧵\ud83e'), max_size=5)
ODD = st.sampled_from([None, True, 0, -0.5, 7, 1e300, "", "x", [], ["a"], {}, {"k": [1, {}]}])
ANY_ID = st.sampled_from([*IDS, "ghost"])
TIMES = st.sampled_from(
    [
        *(0, 1, 757000000, 757000000.0, 757000000.25, 757000000.123456, -0.0005, -1),
        *(1735307200, 1735307200123, 1e16, 10**30),
        *("2024-12-13T08:00:00Z", "2024-12-13T08:00:00.1234567+02:00", "2024-12-13T08:00:00", "soon"),
    ]
)


def _mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any] = ODD) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, odd, st.just(LEFT_OUT))


EXTENSIONS = st.fixed_dictionaries(
    {},
    optional={
        "loomconv": ODD,
        "openloom-1": st.one_of(
            ODD,
            st.fixed_dictionaries(
                {},
                optional={
                    "createdTimeUnknown": st.booleans(),
                    "lastModifiedUnknown": st.just(True),
                    "currentNodeIdUnknown": st.just(True),
                    "core": st.dictionaries(
                        st.sampled_from(["author", "meta", "createdAt", "title", "x"]), ODD, max_size=2
                    ),
                    "stash": ODD,
                    "more": ODD,
                },
            ),
        ),
    },
)


@st.composite
def raw_nodes(draw: st.DrawFn, node_id: str) -> Any:
    """An entry of the map of nodes, odd in every possible way."""
    if draw(st.integers(0, 30)) == 0:
        return draw(ODD)
    raw = {
        "id": draw(_mostly(st.just(node_id))),
        "text": draw(_mostly(TEXTS)),
        "author": draw(_mostly(st.sampled_from(["user", "assistant", "system", "User", "tool"]))),
        "modelId": draw(_mostly(st.sampled_from(["User", "<model identifier>", "", "Jane", "m/1"]))),
        "createdTime": draw(_mostly(TIMES)),
        "parentId": draw(_mostly(ANY_ID)),
        "childrenIds": draw(_mostly(st.lists(ANY_ID, max_size=3))),
        "rememberedChildId": draw(_mostly(ANY_ID)),
        "isBookmarked": draw(_mostly(st.booleans())),
        "bookmarkTitle": draw(_mostly(TEXTS)),
        "extensions": draw(st.one_of(st.just(LEFT_OUT), st.just(LEFT_OUT), EXTENSIONS, ODD)),
        "future": draw(st.one_of(st.just(LEFT_OUT), ODD)),
    }
    return {key: value for key, value in raw.items() if value is not LEFT_OUT}


@st.composite
def raw_files(draw: st.DrawFn) -> dict[str, Any]:
    """A file, odd in every possible way, as long as it has a map of nodes."""
    ids = draw(st.lists(st.sampled_from(IDS), unique=True, max_size=5))
    nodes = {node_id: draw(raw_nodes(node_id)) for node_id in ids}
    copies = {
        key: draw(st.one_of(st.just(nodes.get(key, 1)), raw_nodes(key))) for key in draw(st.lists(ANY_ID, max_size=3))
    }
    raw = {
        "id": draw(_mostly(st.just("T"))),
        "title": draw(_mostly(TEXTS)),
        "description": draw(_mostly(TEXTS)),
        "systemMessage": draw(_mostly(TEXTS)),
        "lastModified": draw(_mostly(TIMES)),
        "rootNodeId": draw(_mostly(ANY_ID)),
        "currentNodeId": draw(_mostly(ANY_ID)),
        "nodes": nodes,
        "bookmarkedNodes": draw(_mostly(st.just(copies))),
        "extensions": draw(st.one_of(st.just(LEFT_OUT), EXTENSIONS, ODD)),
        "future": draw(st.one_of(st.just(LEFT_OUT), ODD)),
    }
    return {key: value for key, value in raw.items() if value is not LEFT_OUT}
