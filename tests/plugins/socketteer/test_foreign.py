"""Documents that did not come from the app: the recipe (dossier §2.3), what breaks the app (§2.1), and the way back."""

from __future__ import annotations

from typing import Any

import pytest

from loomconv import jsontext
from loomconv.model import Document
from tests.plugins.socketteer.harness import OWN, document, entry, file, node, outline, read, tree_of, write, written

PICTURE = {"type": "image", "ref": "media/a.png", "mimeType": "image/png", "altText": "A"}
INSIDE = {"type": "image", "ref": "data:image/png;base64,AAAA", "mimeType": "image/png"}


def comes_back(document_: Document) -> Any:
    """The value of the written file, when reading it gives the document and nothing of ours."""
    text, _ = write(document_)
    tree = tree_of(text)
    assert outline(tree) == outline(document_.trees[0])
    assert OWN not in tree.fields.get("extensions", {})
    assert write(read(text)[0])[0] == text
    return jsontext.decode(text)


def test_the_recipe() -> None:
    value = comes_back(
        document(
            node("a", "Once", createdAt="2024-01-02T03:04:05Z"),
            node("b", " upon", "model"),
            node("c", " a", "mixed"),
            node("d", "Twice"),
            links=(("a", "b"), ("a", "c")),
            currentNodeId="b",
        )
    )
    root = value["root"]
    assert list(value) == ["root", "selected_node_id", "openloom"]
    assert {key: root[key] for key in root if key not in ("id", "children")} == {
        "mutable": False,
        "visited": True,
        "text": "",
        "open": True,
    }
    assert [child["id"] for child in root["children"]] == ["a", "d"]
    first = root["children"][0]
    assert list(first) == ["id", "text", "children", "mutable", "parent_id", "meta"]
    assert first["meta"] == {"creation_timestamp": "2024-01-02-03.04.05", "source": "prompt", "modified": False}
    assert first["parent_id"] == root["id"]
    assert [child["meta"] for child in first["children"]] == [
        {"source": "AI", "modified": False},
        {"source": "mixed", "modified": True},
    ]
    assert value["selected_node_id"] == "b"


def test_ascii_and_four_blanks() -> None:
    text, _ = write(document(node("a", "é\u2028😀")))
    assert text.isascii()
    assert b'\n    "root": {\n        "mutable": false' in text
    assert b"\\u00e9\\u2028\\ud83d\\ude00" in text


def test_tags_and_their_definitions() -> None:
    value = comes_back(document(node("a", meta={"bookmarked": True, "tags": ["mine", "archived"]}), node("b")))
    assert value["root"]["children"][0]["tags"] == ["mine", "archived", "bookmark"]
    assert list(value["tags"]) == ["mine", "archived", "bookmark"]
    for name, definition in value["tags"].items():
        assert definition.keys() == {"name", "scope", "hide", "show_only", "toggle_key", "icon"}
        assert definition["name"] == name
    assert value["tags"]["mine"]["icon"] == "None"
    assert value["tags"]["archived"]["hide"] is True


@pytest.mark.parametrize(
    "meta",
    [{"tags": ["bookmark"]}, {"bookmarked": True, "tags": ["bookmark", "x"]}, {"bookmarked": False}, {"tags": []}, {}],
)
def test_odd_flags_come_back(meta: dict[str, Any]) -> None:
    comes_back(document(node("a", meta=meta)))


def test_a_hidden_current_node_is_not_selected() -> None:
    nodes = (node("a"), node("b", meta={"tags": ["archived"]}), node("c"))
    links = (("a", "b"), ("b", "c"))
    for current in ("b", "c"):
        value = comes_back(document(*nodes, links=links, currentNodeId=current))
        assert "selected_node_id" not in value
        assert value["openloom"][OWN] == {"current": current}
    assert comes_back(document(*nodes, links=links, currentNodeId="a"))["selected_node_id"] == "a"


def test_the_apps_choice_is_stronger_than_the_mark() -> None:
    value = written(document(node("a"), node("b", meta={"tags": ["note"]}), currentNodeId="b"))
    value["selected_node_id"] = "a"
    assert tree_of(jsontext.encode(value)).fields["currentNodeId"] == "a"


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}],
        [{"type": "text", "text": "A"}, PICTURE, {**PICTURE, "width": 3}],
        [PICTURE],
        [PICTURE, {"type": "text", "text": "A"}, INSIDE],
        [{"type": "text", "text": "A"}, {"type": "image", "ref": "no-suffix", "mimeType": "image/png"}],
    ],
)
def test_blocks_come_back(content: list[Any]) -> None:
    comes_back(document({**node("a"), "content": content}))


def test_pictures() -> None:
    _, report = write(document({**node("a"), "content": [{"type": "text", "text": "A"}, INSIDE]}))
    assert [(each.code, each.pointer) for each in report.findings] == [("loss.block", "/content/1")]
    value = written(document({**node("a"), "content": [{"type": "text", "text": "A"}, PICTURE, INSIDE]}))
    (raw,) = value["root"]["children"]
    assert raw["multimedia"] == [{"file": "media/a.png", "caption": "A"}]
    # Edited in the app: the text is the app's, the picture inside the document stays.
    raw["text"] = "B"
    again = tree_of(jsontext.encode(value)).nodes["a"]["content"]
    assert again == [{"type": "text", "text": "B"}, PICTURE, INSIDE]
    raw["multimedia"].append({"file": "b.gif", "caption": ""})
    again = tree_of(jsontext.encode(value)).nodes["a"]["content"]
    assert [each.get("ref") for each in again] == [None, INSIDE["ref"], "media/a.png", "b.gif"]


def test_texts_that_the_app_rewrites_are_named_when_they_are_new_to_it() -> None:
    text, report = write(document(node("a", "<p>x</p>"), node("b", "a <b>")))
    assert b"<p>x</p>" in text
    assert [(each.code, each.severity, each.node) for each in report.findings] == [
        ("loss.rewritten-text", "warning", "a")
    ]
    native, _ = read(file(entry("a", "<p>x</p>")))
    assert not write(native)[1].findings


def test_extensions_of_others_travel() -> None:
    value = comes_back(
        document(
            node("a", extensions={"loomconv": {"residue": {}}}), node("b", extensions={}), extensions={"x": {"y": 1}}
        )
    )
    assert value["openloom"]["x"] == {"y": 1}
    assert value["root"]["children"][0]["openloom"] == {"loomconv": {"residue": {}}}


@pytest.mark.parametrize(
    "value", [10**5000, jsontext.ExactFloat("1e400"), jsontext.ExactFloat("1.0E2")], ids=["digits", "size", "spelling"]
)
def test_numbers_that_the_app_cannot_read_travel_as_text(value: Any) -> None:
    text, _ = write(document(node("a", extensions={"x": [value]})))
    (raw,) = jsontext.decode(text)["root"]["children"]
    assert list(raw["openloom"][OWN]) == ["json"]
    assert jsontext.encode(tree_of(text).nodes["a"]["extensions"]) == jsontext.encode({"x": [value]})


def test_deep_extensions_travel_as_text() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    text, _ = write(document(node("a", extensions={"x": deep})))
    assert jsontext.decode(text)["root"]["children"][0]["openloom"][OWN].keys() == {"json"}
    assert tree_of(text).nodes["a"]["extensions"] == {"x": deep}


def test_an_empty_tree_gets_a_node_to_open() -> None:
    value = comes_back(document(rootNodeIds=[]))
    (stand_in,) = value["root"]["children"]
    assert stand_in["text"] == ""
    stand_in["text"] = "written in the app"
    assert len(tree_of(jsontext.encode(value)).nodes) == 1


def test_an_empty_id_is_written_as_another() -> None:
    value = comes_back(document(node(""), node("b"), currentNodeId="b"))
    assert all(child["id"] for child in value["root"]["children"])


def test_template_is_never_made_up() -> None:
    assert b"template" not in write(document(node("a", "{1+1}")))[0]


def test_chapters_come_in_matched_pairs() -> None:
    value = written(document(node("a", extensions={OWN: {"chapter_id": "c"}})))
    assert value["chapters"] == {"c": {"id": "c", "root_id": "a", "title": ""}}


def test_shapes_without_a_top_level_give_way() -> None:
    flat = [{"id": "a", "text": "A"}, {"id": "b", "text": "B", "parent_id": "a"}]
    document_, _ = read(flat)
    document_.trees[0].fields["currentNodeId"] = "b"
    text, _ = write(document_)
    value = jsontext.decode(text)
    assert value["selected_node_id"] == "b"
    for raw in (value["root"]["children"][0], value["root"]["children"][0]["children"][0]):
        assert {"id", "text", "children", "mutable"} <= raw.keys()
    again, _ = read(text)
    assert again.trees[0].graph.children_of("a") == ["b"]
    del again.trees[0].fields["currentNodeId"]
    assert written(again) == flat


def test_several_roots_where_the_file_had_one() -> None:
    document_, _ = read(entry("a", "A"))
    document_.trees[0].nodes["b"] = node("b", "B")  # type: ignore[assignment]
    document_.trees[0].fields["rootNodeIds"].append("b")
    value = written(document_)
    assert [child["id"] for child in value["root"]["children"]] == ["a", "b"]
    assert tree_of(jsontext.encode(value)).roots == ["a", "b"]


def test_moved_and_edited_nodes_of_the_app() -> None:
    value = file(entry("a", "A", entry("b", "B", open=1, mystery=[1])), entry("c", "C"), selected_node_id="b")
    document_, _ = read(value)
    tree = document_.trees[0]
    changed = tree.nodes["b"]
    changed["content"] = [{"type": "text", "text": "new"}]
    changed["author"] = {"role": "mixed"}
    tree.nodes["b"] = changed
    moved = tree.without_nodes(set()).with_edges(type(tree.edges)(tree.nodes))
    moved.edges.add(tree.nodes.ordinals["c"], tree.nodes.ordinals["b"])
    result = written(Document(document_.fields, [moved]))
    (raw,) = result["root"]["children"][1]["children"]
    assert raw["parent_id"] == "c"
    assert raw["text"] == "new"
    assert raw["meta"] == {"source": "mixed", "modified": True}
    assert (raw["open"], raw["mystery"]) == (1, [1])
    assert result["selected_node_id"] == "b"


def test_deep_trees_are_not_indented() -> None:
    nodes = [node(f"n{number}") for number in range(600)]
    links = tuple((f"n{number}", f"n{number + 1}") for number in range(599))
    text, _ = write(document(*nodes, links=links))
    assert b"\n" not in text
    assert len(tree_of(text).nodes) == 600
