"""What is read from the app's files: one test for each rule of the dossier.

By id: OL2-8.3-detect (`test_detection`), OL2-8.3-patches and OL2-8.3-materialize (`test_texts_are_segments…`; the text
is computed whole and stored as segments, gap A3), OL2-8.3-keep-patch (`test_the_original_patch…`), OL2-8.3-author
(`test_types_are_roles`), OL2-8.3-meta (`test_fields_of_a_node`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from loomconv.errors import InvalidDocument
from loomconv.format import Probe
from loomconv_plugins.miniloom.utf16 import from_units
from tests.plugins.miniloom.harness import FIXTURES, FORMAT, Loom, codes, read, rendered, tree_of

GEESE = "Dear committee, the geese are back."


GEESE = "Dear committee, the geese are back."


def own(tree: Any, node_id: str) -> dict[str, Any]:
    return dict(tree.nodes[node_id]["extensions"]["miniloom"])


def test_the_root_is_no_node_and_its_children_are_the_roots() -> None:
    tree = tree_of(FIXTURES / "full.json")
    assert tree.roots == ["8", "2", "5"]  # 5 corrects the very first word
    assert "1" not in tree.nodes
    assert tree.fields["extensions"]["miniloom"]["root"]["summary"] == "Root Node"


def test_texts_are_segments_and_edits_are_grafted() -> None:
    loom = Loom()
    a = loom.add("1", "One big ")
    b = loom.add(a, "One big house")
    c = loom.add(b, "One small house", "user")
    d = loom.add(c, "One small house here")
    tree = tree_of(loom.file)
    assert tree.roots == [a, c]
    assert tree.graph.children_of(c) == [d]
    assert {key: rendered(tree, key) for key in loom.texts if key != "1"} == {
        key: text for key, text in loom.texts.items() if key != "1"
    }
    assert tree.nodes[c]["editedFrom"] == b
    assert own(tree, c)["parent"] == b
    assert "parent" not in own(tree, b)


def test_the_graft_hangs_on_the_deepest_beginning_behind_the_own_children() -> None:
    loom = Loom()
    a = loom.add("1", "One ")
    b = loom.add(a, "One two ")
    c = loom.add(b, "One tvvo", "user")
    e = loom.add(a, "One more")
    tree = tree_of(loom.file)
    assert tree.graph.children_of(a) == [b, e, c]


def test_the_original_patch_type_and_parent_survive() -> None:
    value = json.loads((FIXTURES / "full.json").read_text("utf-8"))
    tree = tree_of(value)
    for key, entry in value["loomTree"]["nodeStore"].items():
        if key != "1":
            assert own(tree, key)["patch"] == entry["patch"]
            assert own(tree, key)["type"] == entry["type"]


def test_half_characters_stay_out_of_the_document_but_not_out_of_reach() -> None:
    tree = tree_of(FIXTURES / "surrogates.json")
    for node_id, node in tree.nodes.items():
        json.dumps(node, ensure_ascii=False).encode("utf-8")
        stash = own(tree, node_id)
        if "patchJson" in stash:
            assert stash["patchJson"].isascii()
            assert json.loads(stash["patchJson"]) != stash["patch"]
    assert sum("patchJson" in own(tree, each) for each in tree.nodes) == 2


@pytest.mark.parametrize(
    ("kind", "role"), [("user", "human"), ("gen", "model"), ("rewrite", "model"), ("import", "mixed"), ("odd", "human")]
)
def test_types_are_roles(kind: str, role: str) -> None:
    loom = Loom()
    a = loom.add("1", "x", kind)
    assert tree_of(loom.file).nodes[a]["author"] == {"role": role}
    assert codes(loom.file).get("read.unknown-author", 0) == (kind == "odd")


def test_fields_of_a_node() -> None:
    loom = Loom()
    a = loom.add("1", "x", summary="A label", rating=False, model="tide", timestamp=1700000000000)
    b = loom.add(a, "xy", summary="New Node", rating=True, timestamp="2026-01-01T00:00:00Z", baseModel="old")
    c = loom.add(b, "xyz", "user", model="copied", timestamp="noon", rating="odd")
    nodes = tree_of(loom.file).nodes
    assert nodes[a]["meta"] == {"rating": -1, "note": "A label"}
    assert nodes[a]["createdAt"] == "2023-11-14T22:13:20Z"
    assert nodes[a]["generation"] == {"model": "tide"}
    assert nodes[b]["meta"] == {"rating": 1}
    assert (nodes[b]["createdAt"], nodes[b]["generation"]) == ("2026-01-01T00:00:00Z", {"model": "old"})
    assert not nodes[c].keys() & {"createdAt", "meta", "generation"}
    assert codes(loom.file)["read.bad-time"] == 1


def test_usage_is_part_of_a_generation() -> None:
    loom = Loom()
    a = loom.add("1", "x", usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "odd": 4})
    node = tree_of(loom.file).nodes[a]
    assert node["generation"]["usage"] == {"promptTokens": 1, "completionTokens": 2, "totalTokens": 3}


def test_chats_are_compared_by_messages() -> None:
    tree = tree_of(FIXTURES / "chat.json")
    assert tree.fields["mode"] == "dialogue"
    assert tree.fields["systemContext"] == "Be brief."
    said = {key: (node["author"]["role"], node["content"][0]["text"]) for key, node in tree.nodes.items()}
    assert said == {
        "2": ("human", "Why is the sky blue? 🌌"),
        "3": ("model", "Scattering."),
        "4": ("human", "And red?"),
        "5": ("model", "Longer way."),
        "6": ("human", "And red at dusk?"),
        "6.1": ("model", "Longer way."),
        "7": ("model", "Much longer."),
    }
    assert tree.graph.children_of("3") == ["4", "6"]
    assert tree.graph.children_of("6.1") == ["7"]
    assert tree.nodes["6"]["editedFrom"] == "5"
    assert own(tree, "5")["message"]["reasoning"] == "Think of dusk."
    assert own(tree, "6.1")["messages"] == 2


def test_a_plain_start_counts_as_one_trimmed_message() -> None:
    tree = tree_of(FIXTURES / "chat-plain-start.json")
    assert tree.graph.children_of("2") == ["3"]
    assert tree.nodes["2"]["content"][0]["text"] == "Hello there  "
    assert tree.nodes["3"]["content"][0]["text"] == "Hi."
    assert tree.graph.path_to("4.2") == ["4", "4.1", "4.2"]


def test_a_long_chat_needs_no_look_at_all_of_it() -> None:
    loom, messages = Loom(), []
    at = "1"
    for number in range(120):
        messages.append({"role": "user" if number % 2 == 0 else "assistant", "content": f"Word {number} 🧵"})
        at = loom.add(at, json.dumps({"messages": messages}, ensure_ascii=False, indent=2))
    tree = tree_of(loom.file)
    assert [tree.nodes[each]["content"][0]["text"] for each in tree.graph.path_to(at)] == [
        each["content"] for each in messages
    ]


def test_the_literal_reading_of_the_draft() -> None:
    value = json.loads((FIXTURES / "full.json").read_text("utf-8"))
    tree = tree_of(value, text="full")
    assert tree.nodes["6"]["content"][0]["text"] == value["focus"]["cachedRenderText"]
    assert tree.graph.parent_of("5") == "3"
    assert tree.fields["extensions"]["miniloom"]["textScope"] == "cumulative"


@pytest.mark.parametrize(
    ("name", "code", "texts"),
    [
        (
            "poisoned-cache",
            "miniloom.recovered-from-cache",
            {"5": f"{GEESE} So are the ducks."},
        ),
        ("fuzzy", "miniloom.recovered", {"4": "One two (inserted) "}),
        ("empty-patch", "miniloom.no-patch", {"4": "One two "}),
        ("null-patch", "read.bad-text", {"4": "One two "}),
    ],
)
def test_one_finding_for_each_node_whose_patch_does_not_fit(name: str, code: str, texts: dict[str, str]) -> None:
    document, context = read(FIXTURES / f"{name}.json")
    assert context.report.codes[code] == 1
    for key, text in texts.items():
        assert rendered(document.trees[0], key) == text


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cycle", "repair.cycle"), ("dangling-parent", "repair.missing-parent"), ("list-store", "read.bad-value"),
        ("children-odd", "read.missing-child"), ("no-root", "read.bad-value"), ("id-gap", "miniloom.id-gap"),
        ("bare-map", "miniloom.bare-map"), ("bare-nodes", "miniloom.bare-map"),
    ],
)  # fmt: skip
def test_what_is_odd_is_said_and_nothing_is_lost(name: str, code: str) -> None:
    value = json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))
    document, context = read(value)
    assert context.report.codes[code] >= 1
    assert context.touched
    store = value.get("loomTree", value).get("nodeStore", value.get("nodes", value))
    assert len(document.trees[0].nodes) == len(store) - ("1" in store or isinstance(store, list))


def test_web_pages_of_2023() -> None:
    first = tree_of(FIXTURES / "web-1.json")
    assert first.graph.path_to("dd") == ["aa", "cc", "dd"]
    assert rendered(first, "dd") == "Once more time"
    second = tree_of(FIXTURES / "web-2.json")
    assert second.graph.children_of("aa") == ["bb", "cc"]
    assert second.nodes["bb"]["createdAt"] == "2023-06-20T22:26:41.500Z"
    third = tree_of(FIXTURES / "web-3.json")
    assert (third.fields["currentNodeId"], third.nodes["bb"]["generation"]) == ("bb", {"model": "tide-0"})


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ({"loomTree": {"nodeStore": {}}, "focus": {}}, 95),
        ({"loomTree": [], "focus": {}}, None),
        ({"nodes": {"a": {"patches": [], "bookmarked": False, "hidden": False, "parent": None}}}, None),
        ({"responseDict": {}, "focusId": None}, 85),
        ({"responseDict": {}}, None),
        ({"1": {"patch": "", "type": "root", "parent": None}}, 40),
        ([], None),
    ],
)
def test_detection(value: Any, score: int | None) -> None:
    found = FORMAT.detect(Probe(json.dumps(value).encode(), "x.json"))
    assert (found and found.score) == score


@pytest.mark.parametrize("value", [[], {}, {"loomTree": {}}, {"loomTree": {"nodeStore": 5}}, 7, "x"])
def test_what_is_no_tree_is_refused(value: Any) -> None:
    with pytest.raises(InvalidDocument):
        read(value)


def test_many_emoji_before_an_edit() -> None:
    tree = tree_of(FIXTURES / "many-emoji.json")
    assert rendered(tree, "3").endswith(" once upon a tide")
    assert from_units(rendered(tree, "3")).count("😀") == 520
