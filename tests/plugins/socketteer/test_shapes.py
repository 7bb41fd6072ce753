"""The shapes of a file, its ids, and values that are not what they should be."""

from __future__ import annotations

from typing import Any

import pytest

from loomconv import jsontext
from loomconv.errors import InvalidDocument, UnreadableFile
from tests.plugins.socketteer.harness import OWN, back, codes, entry, file, nodes_of, notices, read, tree_of, write


def test_the_empty_immutable_root_is_no_node() -> None:
    value = file(entry("a", "A", entry("b", "B")), entry("c", "C"))
    tree = tree_of(value)
    assert tree.nodes.ids == ["a", "b", "c"]
    assert tree.roots == ["a", "c"]
    assert tree.graph.children_of("a") == ["b"]
    assert tree.fields["mode"] == "buffer"
    assert tree.fields["extensions"][OWN]["root"] == {"id": "root"}
    assert back(value) == value


@pytest.mark.parametrize("root", [{"mutable": True, "text": ""}, {"mutable": False, "text": "Once"}, {"text": ""}])
def test_any_other_root_is_a_node(root: dict[str, Any]) -> None:
    value = {"root": {"id": "r", "children": [entry("a", parent_id="r")], **root}}
    tree = tree_of(value)
    assert tree.roots == ["r"]
    assert tree.fields["extensions"][OWN]["rootIsNode"] is True
    assert back(value) == value


@pytest.mark.parametrize(
    "value",
    [
        entry("a", "A", entry("b", "B")),
        [entry("a", "A", entry("b", "B")), entry("c", "C")],
        {"text": "A", "children": [{"text": "B", "children": []}]},
        [
            {"id": "a", "text": "A"},
            {"id": "b", "text": "B", "parentId": "a"},
            {"id": "c", "text": "C", "parentId": "b"},
        ],
        [{"id": "b", "text": "B", "parent_id": "a"}, {"id": "a", "text": "A"}],
        [{"id": 1, "text": "A"}, {"id": 2, "text": "B", "parent_id": 1}, "stray"],
    ],
)
def test_other_shapes_come_back_as_they_were(value: Any) -> None:
    assert back(value) == value


def test_flat_lists_are_nested_again() -> None:
    tree = tree_of(
        [{"id": "b", "text": "B", "parent_id": "a"}, {"id": "a", "text": "A"}, {"id": "c", "parent_id": "a"}]
    )
    assert tree.roots == ["a"]
    assert tree.graph.children_of("a") == ["b", "c"]


def test_flat_lists_keep_what_they_claim() -> None:
    tree = tree_of([{"id": "a", "text": "A", "parent_id": "gone"}, {"id": "b", "text": "B", "parent_id": "b"}])
    assert {"nodeId": "gone", "role": "primary"} in [edge["sources"][0] for edge in tree.edges]
    assert tree.graph.parent_of("b") == "b"  # the hub breaks rings


def test_json_lines() -> None:
    lines = [
        '{"id": "a", "text": "A"}',
        '{"id": "b", "text": "B\u2028", "parent_id": "a"}',
        '{"id": "c", "parent_id": "a"}',
    ]
    text = "\n".join([*lines, ""]).encode()
    document, _ = read(text)
    assert document.trees[0].graph.children_of("a") == ["b", "c"]
    assert codes(text) == {}
    layout = jsontext.recognise_layout(text, text[-2:])
    assert write(document, layout)[0] == text


def test_a_torn_last_line_is_left_out() -> None:
    document, context = read(b'{"id": "a", "text": "A"}\n{"id": "b", "parent_id": "a"}\n{"id": "c", "te')
    assert document.trees[0].nodes.ids == ["a", "b"]
    assert context.truncated
    assert context.report.codes["read.truncated"] == 1


def test_a_bad_line_is_named() -> None:
    with pytest.raises(UnreadableFile) as refused:
        read(b'{"id": "a", "text": "A"}\n{"id": "b",, }\n{"id": "c"}\n')
    assert refused.value.place is not None
    assert refused.value.place.line == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([{"role": "user", "content": "x"}], "chat messages"),
        ([{"sku": 1}], "no nodes"),
        ({"root": "a"}, "`root` is no node"),
        ({"root": {"name": 1}}, "`root` is no node"),
        (5, "no tree"),
        ({"a": 1}, "no tree"),
        ({"r1": {"completions": []}}, "sidecar"),
    ],
)
def test_what_is_no_tree(value: Any, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        read(value)


def test_windows_text_is_read_as_such() -> None:
    text = '{"root": {"id": "a", "text": "Caf\u00e9 \u2013 \u201cno\u201d", "children": []}}'
    document, context = read(text.encode("cp1252"))
    assert document.trees[0].nodes["a"]["content"][0]["text"] == "Café – “no”"
    assert context.touched
    assert context.report.codes["read.bad-encoding"] == 1


def test_a_damaged_byte_in_utf8_stays_a_damaged_byte() -> None:
    document, _ = read('{"root": {"id": "a", "text": "é'.encode() + b'\xff", "children": []}}')
    assert document.trees[0].nodes["a"]["content"][0]["text"] == "é\udcff"


def test_numbers_become_ids_with_every_digit() -> None:
    value = file(entry("x"), selected_node_id=3074457352913435889)
    value["root"]["children"] = [
        {"id": 3074457352913435888, "text": "a", "children": [], "parent_id": "root"},
        {"id": 3074457352913435889, "text": "b", "children": [], "parent_id": "root"},
    ]
    tree = tree_of(value)
    assert tree.roots == ["3074457352913435888", "3074457352913435889"]
    assert tree.fields["currentNodeId"] == "3074457352913435889"
    assert codes(value) == {}
    assert back(value) == value


def test_missing_ids_are_made_up_alike_every_time() -> None:
    value = {"text": "A", "children": [{"text": "B", "children": []}, {"text": "C", "children": [], "id": None}]}
    first, second = tree_of(value), tree_of(value)
    assert first.nodes.ids == second.nodes.ids
    assert len(set(first.nodes.ids)) == 3
    assert len(notices(value, "read.missing-id")) == 3
    assert codes(value) == {}
    assert back(value) == value


def test_the_first_of_two_keeps_its_id() -> None:
    value = file(entry("p", "Left", entry("dup", "red")), entry("q", "Right", entry("dup", "blue", entry("k"))))
    document, context = read(value)
    tree = document.trees[0]
    other = tree.graph.children_of("q")[0]
    assert tree.graph.children_of("p") == ["dup"]
    assert tree.nodes[other]["extensions"][OWN]["originalId"] == "dup"
    assert tree.graph.children_of(other) == ["k"]
    assert context.touched
    assert codes(value) == {"read.duplicate-id": 1}
    text, _ = write(document)
    assert tree_of(text).nodes[other]["extensions"][OWN]["originalId"] == "dup"


def test_parents_that_disagree_lose() -> None:
    value = file(entry("a", "A", entry("b", parent_id="elsewhere")))
    assert tree_of(value).graph.children_of("a") == ["b"]
    assert codes(value) == {"read.children-disagree": 1}
    assert back(value) == value


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"text": None}, {"read.bad-text": 1}),
        ({"text": 42}, {"read.bad-text": 1}),
        ({"children": None}, {"read.bad-value": 1}),
        ({"children": ["id-elsewhere", 3]}, {"read.bad-value": 1}),
        ({"meta": None}, {"read.bad-value": 1}),
        ({"tags": ["a", 1]}, {"read.bad-value": 1}),
        ({"tags": None}, {}),
        ({"generation": "x"}, {"read.bad-value": 1}),
        ({"masked_head": 3}, {"read.bad-value": 1}),
        ({"meta": {"source": "nobody"}}, {"read.unknown-author": 1}),
        ({"open": 1, "visited": 0, "mutable": None, "frame": None, "template": True, "name": "x", "order": 5}, {}),
        ({"bookmark": False, "archived": None, "history": [], "notes": ["x"], "unknown": {"absent": 1}}, {}),
    ],
)
def test_odd_values_are_kept(more: dict[str, Any], found: dict[str, int]) -> None:
    value = file(entry("a", "A"))
    value["root"]["children"][0].update(more)
    assert codes(value) == found
    assert back(value) == value


def test_numbers_as_texts() -> None:
    assert nodes_of(file(entry("a", 42)))["a"]["content"] == [{"type": "text", "text": "42"}]  # type: ignore[arg-type]


def test_texts_are_never_touched() -> None:
    text = "  <p>Write &amp; go</p>\r\n\t\u2028 e\u0301 \x00 "
    assert nodes_of(file(entry("a", text)))["a"]["content"] == [{"type": "text", "text": text}]


def test_placeholders_are_named() -> None:
    value = file(entry("a", "\n\n** Generating **", mutable=False))
    assert notices(value, "read.placeholder") == ["a"]


def test_top_level_is_kept_with_its_order() -> None:
    value = {
        "tags": {"bookmark": {"name": "bookmark", "scope": "ancestry"}},
        "chapters": {"c": {"id": "c", "root_id": "gone", "title": "One"}},
        "zone": "a key of somebody else",
        **file(entry("a", chapter_id="c", tags=["bookmark", "mine"])),
        "frame": {"model_config": {}},
        "mystery": [1.5, jsontext.ExactFloat("1e400"), jsontext.ExactFloat("1.50")],
    }
    text = jsontext.encode(value)
    document, _ = read(text)
    assert write(document, jsontext.COMPACT)[0] == text


def test_a_selected_node_that_is_not_there() -> None:
    value = file(entry("a"), selected_node_id="gone")
    assert "currentNodeId" not in tree_of(value).fields
    assert codes(value) == {"repair.bad-current": 1}
    assert back(value) == value
    root = file(entry("a"), selected_node_id="root")
    assert codes(root) == {}
    assert back(root) == root


def test_legacy_flags_count_when_true() -> None:
    value = file(
        entry("a", bookmark=True),
        entry("b", bookmark=False),
        entry("c", archived=True, tags=["x"]),
        entry("d", canonical=True),
    )
    nodes = nodes_of(value)
    assert nodes["a"]["meta"] == {"bookmarked": True}
    assert "meta" not in nodes["b"]
    assert nodes["c"]["meta"] == {"pruned": True, "tags": ["x"]}
    assert nodes["d"]["meta"] == {"tags": ["canonical"]}
    assert back(value) == value


def test_an_edit_takes_a_legacy_flag_away() -> None:
    document, _ = read(file(entry("a", bookmark=True, archived=False)))
    node = document.trees[0].nodes["a"]
    node["meta"] = {"tags": ["new"]}
    document.trees[0].nodes["a"] = node
    text, _ = write(document)
    raw = jsontext.decode(text)["root"]["children"][0]
    assert "bookmark" not in raw
    assert raw["archived"] is False
    assert raw["tags"] == ["new"]
    assert nodes_of(text)["a"]["meta"] == {"tags": ["new"]}


def test_pictures_stand_behind_the_text() -> None:
    media = [{"file": "C:\\pics\\a.PNG", "caption": "A"}, {"file": "b.mp4", "caption": ""}, "c.gif", {"file": ""}]
    value = file(entry("a", "A", multimedia=media))
    assert nodes_of(value)["a"]["content"] == [
        {"type": "text", "text": "A"},
        {"type": "image", "ref": "C:\\pics\\a.PNG", "mimeType": "image/png", "altText": "A"},
        {"type": "image", "ref": "c.gif", "mimeType": "image/gif"},
    ]
    assert back(value) == value


def test_an_edited_picture_leaves_other_media_alone() -> None:
    document, _ = read(file(entry("a", "A", multimedia=[{"file": "a.png"}, {"file": "b.mp4"}])))
    node = document.trees[0].nodes["a"]
    node["content"] = node["content"][:1]
    document.trees[0].nodes["a"] = node
    assert jsontext.decode(write(document)[0])["root"]["children"][0]["multimedia"] == [{"file": "b.mp4"}]
