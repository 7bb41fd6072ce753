"""The lens laws, for arbitrary documents and arbitrary files (design §6)."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.errors import InvalidDocument
from tests.plugins.socketteer.harness import OWN, document, outline, read, tree_of, write

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
LAYOUTS = st.sampled_from([jsontext.PYTHON_INDENT_4, jsontext.COMPACT, jsontext.TWO_SPACES, jsontext.SWIFT])
TEXTS = st.sampled_from(["", "a", " word", "<p>", "\n", "é😀", "\u2028", "bookmark", '"\\/'])
UUID = "0000000{}-af58-11eb-b6b1-e3ac32f1b8b3"
TIMES = st.sampled_from(
    ["2021-05-07T10:02:03Z", "2021-05-08T08:36:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
)

PICTURES = st.sampled_from(
    [
        {"type": "image", "ref": "a.png", "mimeType": "image/png"},
        {"type": "image", "ref": "C:\\b.jpg", "mimeType": "image/jpeg", "altText": "b"},
        {"type": "image", "ref": "data:image/png;base64,AAAA", "mimeType": "image/png"},
        {"type": "image", "ref": "q", "mimeType": "image/png", "width": 3},
    ]
)
BLOCKS = st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
METAS = st.fixed_dictionaries(
    {}, optional={"bookmarked": st.just(True), "tags": st.lists(st.sampled_from(["x", "archived", "note", "bookmark"]))}
)
GENERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["m1", "m2"]),
        "requestId": st.sampled_from(["r1", "r2"]),
        "completionIndex": st.sampled_from([0, 2, 10**9]),
    },
)


@st.composite
def pivot_nodes(draw: st.DrawFn, node_id: str) -> dict[str, Any]:
    content = draw(
        st.one_of(st.lists(BLOCKS, min_size=1, max_size=1), st.lists(st.one_of(BLOCKS, PICTURES), max_size=3))
    )
    node: dict[str, Any] = {"id": node_id, "content": content}
    node["author"] = {"role": draw(st.sampled_from(["human", "model", "mixed"]))}
    for key, strategy in (("createdAt", TIMES), ("meta", METAS), ("generation", GENERATIONS)):
        if draw(st.booleans()):
            node[key] = draw(strategy)
    if draw(st.integers(0, 4)) == 0:
        node["extensions"] = draw(st.sampled_from([{}, {"x": {"y": [1]}}, {"loomconv": {"residue": {"a": 1}}}]))
    return node


@st.composite
def documents(draw: st.DrawFn) -> Any:
    count = draw(st.integers(0, 6))
    ids = [draw(st.sampled_from([f"n{number}", str(number), UUID.format(number)])) for number in range(count)]
    nodes = [draw(pivot_nodes(node_id)) for node_id in ids]
    links = []
    for number in range(1, count):
        parent = draw(st.integers(-1, number - 1))
        if parent >= 0:
            links.append((ids[parent], ids[number]))
    made = document(*nodes, links=tuple(links))
    if ids and draw(st.booleans()):
        made.trees[0].fields["currentNodeId"] = draw(st.sampled_from(ids))
    if draw(st.integers(0, 4)) == 0:
        made.trees[0].fields["extensions"] = draw(st.sampled_from([{}, {"loomconv": {"fields": {}}}]))
    return made


@EXAMPLES
@given(documents(), LAYOUTS)
def test_a_document_comes_back_without_a_trace(made: Any, layout: Any) -> None:
    text, _ = write(made, layout)
    again, context = read(text)
    assert outline(again.trees[0]) == outline(made.trees[0])
    assert OWN not in again.trees[0].fields.get("extensions", {})
    assert all(OWN not in again.trees[0].nodes[each].get("extensions", {}) for each in again.trees[0].nodes)
    assert not context.touched
    assert all(finding.severity == "notice" for finding in context.report.findings)


ODD = st.sampled_from([None, 0, 1, True, False, "", "x", [], {}, ["a"], {"a": 1}, 1.5])


def mostly(usual: Any) -> Any:
    """The usual values, and now and then anything."""
    return st.one_of(usual, usual, usual, usual, ODD)


RAW_META = st.fixed_dictionaries(
    {},
    optional={
        "source": mostly(st.sampled_from(["AI", "prompt", "mixed"])),
        "creation_timestamp": mostly(
            st.sampled_from(["2021-05-07-10.02.03", "2021-05-06-03.00.00", "2021-05-07 10:02:03", "no"])
        ),
        "modified": st.booleans(),
        "origin": st.just("split (from child n1)"),
        "generation": mostly(st.just({"model": "d", "index": 1, "text": "a", "prompt": "p"})),
    },
)
RAW_NODES = st.fixed_dictionaries(
    {"text": mostly(TEXTS)},
    optional={
        "mutable": st.booleans(),
        "open": st.sampled_from([0, 1, True, False]),
        "parent_id": mostly(st.just("n0")),
        "meta": mostly(RAW_META),
        "generation": mostly(
            st.sampled_from([{"id": "r1", "index": 0}, {"id": "gone", "index": 3}, {"id": "r1", "index": 0, "x": 1}])
        ),
        "tags": mostly(st.lists(st.sampled_from(["bookmark", "x", "archived"]), max_size=3)),
        "bookmark": st.booleans(),
        "archived": st.booleans(),
        "multimedia": mostly(
            st.lists(st.sampled_from([{"file": "a.png", "caption": ""}, {"file": "a.mp4"}, "b.gif", 3]), max_size=3)
        ),
        "openloom": st.sampled_from([{}, 3, {"x": 1}, {OWN: {"meta": {"tags": ["q"]}}}, {OWN: {"content": []}}]),
        "order": ODD,
        "absent": ODD,
        "mystery": ODD,
    },
)


@st.composite
def files(draw: st.DrawFn) -> Any:
    count = draw(st.integers(1, 6))
    root: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"mutable": False, "visited": True, "text": "", "id": "root", "children": []},
                {"id": "root", "text": "hi", "children": []},
                {"mutable": False, "text": "", "children": []},
            ]
        )
    )
    nodes = [{**root, "children": []}]
    for number in range(count):
        raw = dict(draw(RAW_NODES))
        if draw(st.integers(0, 9)):
            raw["id"] = draw(st.sampled_from([f"n{number}", number, UUID.format(number)]))
        raw["children"] = []
        keys = draw(st.permutations(list(raw)))
        raw = {key: raw[key] for key in keys}
        nodes[draw(st.integers(0, len(nodes) - 1))]["children"].append(raw)
        nodes.append(raw)
    for raw in nodes[1:]:
        if not raw["children"] and not draw(st.integers(0, 9)):
            raw["children"] = draw(ODD)
        elif draw(st.integers(0, 9)) == 0 and isinstance(raw["children"], list):
            raw["children"].insert(0, draw(st.sampled_from([None, "id", 3])))
    top = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "selected_node_id": mostly(st.sampled_from(["n0", "n1", "root", "gone", 2])),
                "tags": mostly(st.just({"x": {"name": "x", "scope": "subtree", "hide": True}})),
                "model_responses": mostly(st.just({"r1": {"id": "r1", "model": "m", "completions": [{"text": "a"}]}})),
                "frame": mostly(st.just({"preferences": {"model_response": "save"}})),
                "zone": ODD,
                "shape": ODD,
            },
        )
    )
    tree = {"root": nodes[0], **top}
    return {key: tree[key] for key in draw(st.permutations(list(tree)))}


@EXAMPLES
@given(files(), LAYOUTS)
def test_a_file_comes_back_as_it_was(value: Any, layout: Any) -> None:
    text = jsontext.dump(value, layout)
    try:
        made, context = read(text)
    except InvalidDocument:
        return
    again, _ = write(made, layout)
    if not context.touched:
        assert jsontext.decode(again) == value
    assert set(tree_of(again).nodes.ids) == set(made.trees[0].nodes.ids)
