"""hypothesis strategies for documents: any valid one, and damaged ones, as plain OpenLoom 2.0 values.

    from hypothesis import given
    from loomconv.testing.strategies import documents

    @given(documents(max_trees=1))
    def test_something(value): ...

`loomconv.testing.convert_value` makes a file of any format of such a value. Needs hypothesis (extra `testing`).
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.testing.looms import link, note_edge

__all__ = ["JUNK", "TIMES", "VALUES", "damaged", "documents", "trees"]

LETTERS = st.text(st.sampled_from("ab \n\t\0é\u2028🧵\ud83e"), max_size=6)
NUMBERS = st.sampled_from([0, 1, -1, 2**70, 0.5, -2.25, 3.0])
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, LETTERS)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(
        st.lists(below, max_size=2), st.dictionaries(st.sampled_from(["k", "ü", "a/b~"]), below, max_size=2)
    ),
    max_leaves=4,
)
TIMES = st.sampled_from(
    [
        "2026-07-08T21:14:00Z",
        "2026-07-08T21:14:00.123Z",
        "2026-07-08T21:14:00.123456Z",
        "2026-07-08T21:14:00.000Z",
        "2026-07-08t23:14:00+02:00",
        "0999-01-01T00:00:00z",
    ]
)
EXTENSIONS = st.dictionaries(st.sampled_from(["aspen-grove", "my-app"]), VALUES, max_size=2)
ROLES = st.sampled_from(["human", "model", "system", "mixed", "oracle"])


@st.composite
def some_of(draw: st.DrawFn, required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    """An object with all required keys and some of the optional ones."""
    chosen = draw(st.sets(st.sampled_from(sorted(optional)), max_size=3)) if optional else set()
    return {key: draw(kind) for key, kind in {**required, **{key: optional[key] for key in sorted(chosen)}}.items()}


BLOCKS = st.one_of(
    some_of({"type": st.just("text"), "text": LETTERS}, {"lang": SCALARS}),
    some_of(
        {"type": st.just("image"), "ref": st.just("https://example.org/i.png"), "mimeType": st.just("image/png")},
        {"altText": LETTERS, "width": NUMBERS},
    ),
    some_of({"type": st.sampled_from(["audio", "tool-call", "poll"])}, {"text": SCALARS, "transcript": LETTERS}),
)
CONTENTS = st.one_of(st.builds(lambda text: [{"type": "text", "text": text}], LETTERS), st.lists(BLOCKS, max_size=3))
AUTHORS = some_of({"role": ROLES}, {"agentId": LETTERS, "name": st.one_of(st.none(), LETTERS), "color": SCALARS})
METAS = some_of(
    {},
    {
        "bookmarked": st.booleans(),
        "bookmarkLabel": LETTERS,
        "pruned": st.booleans(),
        "excluded": st.booleans(),
        "tags": st.lists(LETTERS, max_size=2),
        "rating": st.sampled_from([-1, 0, 1, 2**70]),
        "note": LETTERS,
        "mood": SCALARS,
    },
)
GENERATIONS = some_of(
    {},
    {
        "provider": SCALARS,
        "model": SCALARS,
        "completionIndex": SCALARS,
        "parameters": VALUES,
        "contentHash": LETTERS,
        "rawResponse": VALUES,
    },
)


def _nodes(node_id: str, others: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return some_of(
        {"id": st.just(node_id), "content": CONTENTS, "author": AUTHORS},
        {
            "createdAt": st.one_of(st.none(), TIMES),
            "editedFrom": st.one_of(st.none(), st.sampled_from(others)),
            "meta": st.one_of(st.none(), METAS),
            "generation": st.one_of(st.none(), GENERATIONS),
            "extensions": st.one_of(st.none(), EXTENSIONS),
            "mystery": VALUES,
        },
    )


TREE_FIELDS: dict[str, Any] = {
    "description": st.one_of(st.none(), LETTERS),
    "mode": st.sampled_from(["dialogue", "buffer", "prose", "chess"]),
    "systemContext": LETTERS,
    "createdAt": TIMES,
    "updatedAt": st.one_of(st.none(), TIMES),
    "tags": st.lists(some_of({"name": LETTERS}, {"color": SCALARS}), max_size=2),
    "agents": st.dictionaries(LETTERS, some_of({"name": LETTERS, "type": LETTERS}, {}), max_size=2),
    "extensions": EXTENSIONS,
    "mystery": VALUES,
}
DOCUMENT_FIELDS: dict[str, Any] = {
    "exportedAt": TIMES,
    "generator": some_of({"name": st.just("Aspen Grove")}, {"version": LETTERS}),
    "agents": st.dictionaries(LETTERS, some_of({"name": LETTERS, "type": LETTERS}, {}), max_size=2),
    "extensions": EXTENSIONS,
    "mystery": VALUES,
}

NODE_IDS = ["r", "b", "a", "10", "2", "ä", "a/b", "~", "edge:a", "A"]


@st.composite
def _edges(draw: st.DrawFn, ids: list[str]) -> list[dict[str, Any]]:
    """Edges without a ring: sources come before targets in `ids`; annotations may point anywhere."""
    edges: list[dict[str, Any]] = []
    said: set[bytes] = set()
    count = draw(st.integers(0, 2 * len(ids)))
    for number in range(count):
        position = draw(st.integers(0, len(ids) - 1))
        kind = draw(st.sampled_from(["continuation"] * 5 + ["annotation", "quotes"]))
        choices = ids[:position] if kind == "continuation" else ids
        if not choices:
            continue
        sources = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=draw(st.sampled_from([1, 1, 1, 3]))))
        edge: dict[str, Any] = {
            "type": kind,
            "sources": [
                draw(
                    some_of(
                        {"nodeId": st.just(source)},
                        {"role": st.sampled_from(["primary", "primary", "context", "instruction", "muse", None])},
                    )
                )
                for source in sources
            ],
            "targetNodeId": ids[position],
        }
        key = jsontext.encode([kind, [[s["nodeId"], s.get("role") or "primary"] for s in edge["sources"]], position])
        if key in said:
            continue
        said.add(key)
        own_id = draw(st.sampled_from([None, f"e{number}", f"edge:{ids[position]}"]))
        if own_id is not None and own_id not in ids and all(own_id != other.get("id") for other in edges):
            edge = {"id": own_id, **edge}
        more = draw(
            some_of({}, {"createdAt": TIMES, "extensions": EXTENSIONS, "weight": SCALARS})
            if number % 3 == 0
            else st.just({})
        )
        edges.append({**edge, **more})
    return edges


@st.composite
def trees(draw: st.DrawFn, tree_id: str = "t", max_nodes: int = 6) -> dict[str, Any]:
    """A valid tree as an OpenLoom object, with anything in it that the specification allows."""
    ids = draw(st.lists(st.sampled_from(NODE_IDS), min_size=1, max_size=max_nodes, unique=True))
    edges = draw(_edges(ids))
    targets = {edge["targetNodeId"] for edge in edges if edge["type"] == "continuation"}
    touched = {source["nodeId"] for edge in edges if edge["type"] == "continuation" for source in edge["sources"]}
    noted = {
        end
        for edge in edges
        if edge["type"] != "continuation"
        for end in (edge["targetNodeId"], *(source["nodeId"] for source in edge["sources"]))
    }
    notes = noted - targets - touched
    roots = [each for each in ids if each not in targets and (each not in notes or draw(st.booleans()))]
    fields = draw(some_of({"id": st.just(tree_id), "title": LETTERS}, TREE_FIELDS))
    fields["rootNodeIds"] = draw(st.permutations(roots))
    if draw(st.booleans()):
        fields["currentNodeId"] = draw(st.sampled_from(ids))
    order = draw(st.permutations(ids))
    return {**fields, "nodes": {each: draw(_nodes(each, ids)) for each in order}, "edges": edges}


@st.composite
def documents(draw: st.DrawFn, max_trees: int = 2) -> dict[str, Any]:
    """A valid document as an OpenLoom object."""
    fields = draw(
        some_of({"format": st.just("open-loom"), "version": st.sampled_from(["2.0", "2.0", "2.7"])}, DOCUMENT_FIELDS)
    )
    count = draw(st.integers(1, max_trees))
    return {**fields, "trees": [draw(trees(tree_id=f"t{number}", max_nodes=5)) for number in range(count)]}


# Any value in any place of a document, for what has to be mended or refused.
JUNK: st.SearchStrategy[Any] = st.one_of(SCALARS, st.just([]), st.just({}), st.just([None]), st.just({"nodeId": 1}))


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A document with wrong types, dangling references, rings and doubles in it."""
    value = draw(documents())
    for tree in value["trees"]:
        ids = [*tree["nodes"], "ghost"]
        for _ in range(draw(st.integers(0, 3))):
            tree["edges"].insert(
                draw(st.integers(0, len(tree["edges"]))),
                draw(
                    st.one_of(
                        JUNK,
                        st.builds(link, st.sampled_from(ids), st.sampled_from(ids)),
                        st.builds(note_edge, st.sampled_from(ids), st.sampled_from(ids)),
                        st.builds(lambda a, b, c: link(a, b, id=c), *[st.sampled_from(ids)] * 3),
                        st.builds(
                            lambda sources, target: {
                                "type": "continuation",
                                "sources": [{"nodeId": source} for source in sources],
                                "targetNodeId": target,
                            },
                            st.lists(st.sampled_from(ids), max_size=3),
                            st.sampled_from(ids),
                        ),
                        *([st.sampled_from(tree["edges"])] if tree["edges"] else []),
                    )
                ),
            )
        for key in draw(
            st.sets(st.sampled_from(["id", "title", "currentNodeId", "rootNodeIds", *TREE_FIELDS]), max_size=2)
        ):
            tree[key] = draw(JUNK)
        if draw(st.booleans()) and isinstance(tree.get("rootNodeIds"), list):
            tree["rootNodeIds"] = [
                *tree["rootNodeIds"],
                *draw(st.lists(st.one_of(st.sampled_from(ids), JUNK), max_size=2)),
            ]
        for each in tree["nodes"].values():
            for key in draw(
                st.sets(
                    st.sampled_from(
                        ["id", "content", "author", "createdAt", "meta", "generation", "editedFrom", "extensions"]
                    ),
                    max_size=1,
                )
            ):
                each[key] = draw(JUNK)
    return value
