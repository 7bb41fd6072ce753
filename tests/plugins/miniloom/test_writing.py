"""What is written: every file keeps the app's demands, and comes back as it was."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.model import plain_text
from loomconv_plugins.miniloom.patches import apply_exact, parse_patch
from loomconv_plugins.miniloom.utf16 import from_units, to_units
from tests.made import document_of, examples, link, node, spelled
from tests.made import tree_of as made_tree
from tests.plugins.miniloom.harness import FIXTURES, Loom, nodes_written, read, rendered, tree_of, write

CLEAN = [
    *("full", "c1", "chat", "chat-plain-start", "surrogates", "many-emoji", "crlf", "diff-objects", "unknown-keys"),
    *("legacy-number-root", "legacy-cache", "legacy-plain", "poisoned-cache", "no-focus", "empty", "fuzzy"),
    *("web-1", "web-2", "web-3", "empty-patch"),
]


def check_demands(value: Any) -> dict[str, str]:
    """The MUSTs of dossier §3; gives the text of each node as the app renders it."""
    store = value["loomTree"]["nodeStore"]
    assert sorted(store, key=int) == [str(number) for number in range(1, len(store) + 1)]
    assert store["1"]["parent"] is None
    for key, entry in store.items():
        assert str(entry["id"]) == key
        assert parse_patch(entry["patch"]) is not None
        assert isinstance(entry.get("summary"), str | None)
        assert " " not in entry["type"]
        assert all(str(child) in store and str(store[str(child)]["parent"]) == key for child in entry["children"])
    assert isinstance(value["focus"]["id"], str)
    texts = {"1": ""}
    waiting = [str(child) for child in store["1"]["children"]]
    while waiting:
        key = waiting.pop()
        text = apply_exact(parse_patch(store[key]["patch"]) or [], to_units(texts[str(store[key]["parent"])]))
        assert text is not None
        texts[key] = from_units(text)
        waiting += [str(child) for child in store[key]["children"]]
    assert texts.keys() == store.keys()
    return texts


@pytest.mark.parametrize("name", CLEAN)
def test_a_file_comes_back_with_equal_values(name: str) -> None:
    value = jsontext.decode((FIXTURES / f"{name}.json").read_bytes())
    assert spelled(write(read(FIXTURES / f"{name}.json")[0])) == spelled(value)


def test_a_foreign_story_keeps_every_demand() -> None:
    nodes = [node("r", "One 🧵 "), node("x", "two", "model"), node("y", "", "mixed"), node("s", "deux", "system")]
    tree = made_tree(nodes, [link("r", "x"), link("x", "y"), link("r", "s")], mode="buffer", rootNodeIds=["r"])
    value = write(document_of(tree))
    texts = check_demands({**value, "focus": {"id": "1"}})
    assert sorted(texts.values()) == sorted(["", "One 🧵 ", "One 🧵 two", "One 🧵 two", "One 🧵 deux"])
    assert [value["loomTree"]["nodeStore"][key]["type"] for key in "2345"] == ["user", "gen", "import", "import"]
    back = tree_of(value)
    assert dict(back.nodes) == dict(tree.nodes)
    assert "extensions" not in back.fields


def test_a_foreign_dialogue_is_a_chat() -> None:
    nodes = [node("q", "Why?"), node("a", "So.", "model"), node("s", "Be kind.", "system")]
    fields = {"mode": "dialogue", "systemContext": "Be brief.", "rootNodeIds": ["q"], "currentNodeId": "a"}
    value = write(document_of(made_tree(nodes, [link("q", "a"), link("a", "s")], **fields)))
    texts = check_demands(value)
    assert json.loads(texts["3"]) == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": "So."},
        ]
    }
    assert texts["3"] == json.dumps(json.loads(texts["3"]), ensure_ascii=False, indent=2)
    assert value["focus"]["id"] == "3"
    back = tree_of(value)
    assert {key: back.nodes[key] for key in back.nodes} == {each["id"]: each for each in nodes}
    assert back.fields["systemContext"] == "Be brief."


def test_a_summary_has_no_markup_and_few_words() -> None:
    tree = made_tree([node("a", "<b>One</b> two & three four five six seven eight nine ten")], mode="buffer")
    tree.fields["rootNodeIds"] = ["a"]
    assert nodes_written(document_of(tree))["2"]["summary"] == "bOne/b two three four five"


def test_an_edit_gets_a_new_patch_and_the_rest_keeps_its_own() -> None:
    document, _ = read(FIXTURES / "full.json")
    before = json.loads((FIXTURES / "full.json").read_text("utf-8"))["loomTree"]["nodeStore"]
    tree = document.trees[0]
    edited = tree.nodes["3"]
    tree.nodes["3"] = {**edited, "content": [{"type": "text", "text": "Boats rock there"}]}
    after = nodes_written(document)
    texts = check_demands({"loomTree": {"nodeStore": after}, "focus": {"id": "3"}})
    assert texts["3"] == "The harbour at night. Boats rock there"
    assert texts["6"] == rendered(tree, "6")
    assert all(after[key] == before[key] for key in ("2", "4", "8", "9"))


def test_a_graft_goes_home_and_stays_visible_when_its_former_parent_is_gone() -> None:
    document, _ = read(FIXTURES / "full.json")
    tree = document.trees[0]
    assert nodes_written(document)["5"]["parent"] == "3"
    document.trees[0] = tree.without_nodes({"3"})
    value = nodes_written(document)
    texts = check_demands({"loomTree": {"nodeStore": value}, "focus": {"id": "2"}})
    assert "The harbor at night. Lamps rock on the water" in texts.values()


def test_messages_that_one_node_made_are_one_again() -> None:
    document, _ = read(FIXTURES / "chat.json")
    assert len(nodes_written(document)) == 7
    tree = document.trees[0]
    tree.nodes["new"] = node("new", "Wait.")
    tree.edges.append(link("6", "new"))
    texts = check_demands({**write(document), "focus": {"id": "2"}})
    assert len(texts) == 9
    assert any(json.loads(text)["messages"][-1]["content"] == "Wait." for text in texts.values() if text)


def test_the_literal_reading_goes_home_too() -> None:
    document, _ = read(FIXTURES / "full.json", text="full")
    value = jsontext.decode((FIXTURES / "full.json").read_bytes())
    assert nodes_written(document) == value["loomTree"]["nodeStore"]
    del document.trees[0].fields["extensions"]["miniloom"]["textScope"]
    assert nodes_written(document) == value["loomTree"]["nodeStore"]


@pytest.mark.parametrize(
    "reason", [5, {"openloom": 7}, {"openloom": {"nodes": [], "tree": 3, "document": 1}}, {"x": 1}]
)
def test_any_finish_reason_of_the_root_survives(reason: Any) -> None:
    loom = Loom()
    loom.add("1", "x")
    loom.store["1"]["finishReason"] = reason
    written = write(read(loom.file)[0])["loomTree"]["nodeStore"]["1"].get("finishReason")
    assert written == reason or "openloom" in reason


def test_what_was_set_aside_for_a_node_that_is_gone_is_reported() -> None:
    nodes = [node("r", "One "), node("x", "two", "model")]
    value = write(document_of(made_tree(nodes, [link("r", "x")], mode="buffer", rootNodeIds=["r"])))
    del value["loomTree"]["nodeStore"]["3"]
    value["loomTree"]["nodeStore"]["2"]["children"] = []
    document, context = read(value)
    assert context.report.codes["restore.missing"] == 1
    assert list(document.trees[0].nodes) == ["r"]


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.text(st.sampled_from("ab 🧵\n"), max_size=5), st.integers(0, 9), st.booleans()),
    max_size=8,
)


@given(STEPS)
@examples(150)
def test_any_file_of_the_app_comes_back(steps: list[tuple[int, str, int, bool]]) -> None:
    loom = Loom()
    keys = ["1"]
    for back, piece, cut, edit in steps:
        parent = keys[max(0, len(keys) - 1 - back)]
        old = loom.texts[parent]
        text = old[: max(0, len(old) - cut)] + piece if edit else old + piece
        keys.append(loom.add(parent, text, "user" if edit else "gen", summary=piece, rating=edit or None))
    loom.file["focus"]["id"] = keys[-1]
    document, context = read(loom.file)
    assert not context.report.severities.get("warning")
    tree = document.trees[0]
    assert {key: rendered(tree, key) for key in keys[1:]} == {key: loom.texts[key] for key in keys[1:]}
    assert spelled(write(document)) == spelled(loom.file)


def _chain(count: int) -> dict[str, Any]:
    loom, text = Loom(), ""
    for number in range(2, count + 2):
        piece = f"word {number} of a long story, "
        patch = {"diffs": [[0, text[-4:]], [1, piece]] if text else [[1, piece]], "length1": len(text[-4:])}
        start = max(0, len(text) - 4)
        patch |= {"start1": start, "start2": start, "length2": patch["length1"] + len(piece)}
        entry = {"id": str(number), "timestamp": number, "type": "gen", "patch": [patch], "summary": ""}
        loom.store[str(number)] = {**entry, "parent": str(number - 1), "children": []}
        loom.store[str(number - 1)]["children"] = [str(number)]
        text += piece
    return loom.file


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_long_chain_is_read_and_written_in_one_pass(count: int, tmp_path: Path) -> None:
    value = _chain(count)
    started = time.process_time()
    document, _ = read(value)
    again = nodes_written(document)
    taken = time.process_time() - started
    assert again == value["loomTree"]["nodeStore"]
    assert plain_text(document.trees[0].nodes[str(count + 1)]) == f"word {count + 1} of a long story, "
    # Far below anything that grows with the square of the depth (which took minutes); no measure of speed.
    assert taken < count / 200
