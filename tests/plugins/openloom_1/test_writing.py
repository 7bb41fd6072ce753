"""The rules of writing, one by one (openloom-1 dossier §6)."""

from __future__ import annotations

from typing import Any

import pytest

from loomconv import jsontext
from loomconv.errors import UsageFault
from loomconv.model import Document
from tests.plugins.openloom_1.harness import (
    as_json,
    chain,
    document_of,
    entry,
    file_of,
    node,
    read,
    spelled,
    write,
    written,
)


def one(**more: Any) -> dict[str, Any]:
    """What is written for a single node."""
    role = more.pop("role", "human")
    value: dict[str, Any] = written(document_of([node("r", more.pop("text", "hi"), role, **more)]))["nodes"]["r"]
    return value


def marks(raw: dict[str, Any]) -> Any:
    return raw.get("extensions", {}).get("openloom-1")


def test_keys() -> None:
    """OL1-w-keys."""
    value = written(document_of([node("r", createdAt="2024-12-12T21:44:00Z"), node("a")], [("r", "a")]))
    assert list(value) == [
        *("id", "title", "description", "systemMessage", "lastModified", "rootNodeId", "nodes", "bookmarkedNodes"),
        *("currentNodeId", "extensions"),
    ]
    required = ["id", "text", "author", "modelId", "createdTime", "childrenIds", "isBookmarked"]
    assert [key for key in value["nodes"]["r"] if key != "rememberedChildId"] == required
    assert [key for key in value["nodes"]["a"] if key not in ("parentId", "extensions")] == required


def test_date() -> None:
    """OL1-w-date."""
    assert one(createdAt="2024-12-12T21:44:00.360Z")["createdTime"] == 755732640.36
    assert repr(one(createdAt="2024-12-12T21:44:00Z")["createdTime"]) == "755732640"
    assert one(createdAt="1969-07-20T20:17:40Z")["createdTime"] == -14_182_940 - 978_307_200
    assert "extensions" not in one(createdAt="1969-07-20T20:17:40Z")
    # Beyond what reading takes for plausible the mark says what it is.
    assert marks(one(createdAt="2060-01-01T00:00:00Z")) == {"core": {"createdAt": "2060-01-01T00:00:00Z"}}


def test_no_date() -> None:
    """OL1-w-nodate."""
    raw = one()
    assert raw["createdTime"] == 0
    assert marks(raw) == {"createdTimeUnknown": True}
    value = written(document_of([node("r")]))
    assert value["lastModified"] == 0
    assert marks(value)["lastModifiedUnknown"] is True
    # In the app the date was set: the edit wins, and the mark is of no more use.
    value["nodes"]["r"]["createdTime"] = 757000000
    assert read(value)[0].trees[0].nodes["r"]["createdAt"] == "2024-12-27T13:46:40Z"


@pytest.mark.parametrize(
    ("more", "model"),
    [
        ({"role": "model", "generation": {"model": "m/1"}}, "m/1"),
        ({"role": "model", "generation": {"model": "m/1"}, "author": {"role": "model", "name": "Bot"}}, "m/1"),
        ({"role": "model", "author": {"role": "model", "name": "Bot"}}, "Bot"),
        ({"role": "model"}, ""),
        ({"role": "human", "author": {"role": "human", "name": "Jane"}}, "Jane"),
        ({"role": "human"}, "User"),
        ({"role": "human", "generation": {"model": "m/1"}}, "User"),
        ({"role": "system"}, ""),
        ({"role": "system", "author": {"role": "system", "name": "Ops"}}, ""),
    ],
)
def test_model_id(more: dict[str, Any], model: str) -> None:
    """OL1-w-modelId."""
    assert one(**more)["modelId"] == model
    document = document_of([node("r", **{"role": more["role"], **more})])
    assert spelled(as_json(read(write(document))[0])) == spelled(as_json(document))


@pytest.mark.parametrize("name", ["User", "", "<model identifier>"])
def test_a_name_that_reads_as_none_has_a_mark(name: str) -> None:
    raw = one(author={"role": "human", "name": name}, createdAt="2024-12-12T21:44:00Z")
    assert raw["modelId"] == (name or "User")
    assert marks(raw) == {"core": {"author": {"role": "human", "name": name}}}


def test_author() -> None:
    """OL1-w-author."""
    roles = ("human", "model", "system", "mixed", "narrator")
    assert [one(role=role)["author"] for role in roles] == ["user", "assistant", "system", "assistant", "user"]
    assert [marks(one(role=role))["core"]["author"] for role in ("mixed", "narrator")] == [
        {"role": "mixed"},
        {"role": "narrator"},
    ]


def test_remembered() -> None:
    """OL1-w-remember."""
    nodes = [node("r"), node("a"), node("b"), node("c")]
    edges = [("r", "a"), ("r", "b"), ("b", "c")]
    raw = written(document_of(nodes, edges, currentNodeId="c"))["nodes"]
    assert [raw[each].get("rememberedChildId") for each in "rabc"] == ["b", None, "c", None]
    assert "rememberedChildId" not in raw["c"]
    # The stash says otherwise, as long as it names a child.
    nodes[0]["extensions"] = {"openloom-1": {"rememberedChildId": "a"}}
    assert written(document_of(nodes, edges, currentNodeId="c"))["nodes"]["r"]["rememberedChildId"] == "a"
    nodes[0]["extensions"] = {"openloom-1": {"rememberedChildId": "c"}}
    assert written(document_of(nodes, edges, currentNodeId="c"))["nodes"]["r"]["rememberedChildId"] == "b"
    # Without a current node: the first child.
    nodes[0].pop("extensions")
    assert written(document_of(nodes, edges))["nodes"]["r"]["rememberedChildId"] == "a"


def test_current() -> None:
    """OL1-w-current."""
    nodes, edges = [node("r"), node("a"), node("b")], [("r", "a"), ("a", "b")]
    assert written(document_of(nodes, edges, currentNodeId="a"))["currentNodeId"] == "a"
    value = written(document_of(nodes, edges))
    assert value["currentNodeId"] == "b"
    assert marks(value)["currentNodeIdUnknown"] is True
    assert "currentNodeId" not in read(value)[0].trees[0].fields
    # In the app another node was chosen: that is the current one now.
    assert read({**value, "currentNodeId": "a"})[0].trees[0].fields["currentNodeId"] == "a"
    assert written(document_of([node("r")]))["currentNodeId"] == "r"


def test_bookmarks() -> None:
    """OL1-w-bookmarks."""
    text = "One line\nand another, which is long enough"
    nodes = [node("r", text, meta={"bookmarked": True}), node("a", "short", meta={"bookmarked": True})]
    value = written(document_of(nodes, [("r", "a")]))
    assert [value["nodes"][each]["bookmarkTitle"] for each in "ra"] == [text[:30] + "...", "short"]
    assert value["bookmarkedNodes"] == value["nodes"]
    assert marks(value["nodes"]["a"])["core"] == {"meta": {"bookmarked": True}}
    labelled = one(meta={"bookmarked": True, "bookmarkLabel": "L"}, createdAt="2024-12-12T21:44:00Z")
    assert (labelled["isBookmarked"], labelled["bookmarkTitle"]) == (True, "L")
    assert "extensions" not in labelled


def test_a_bookmark_that_was_renamed_in_the_app_is_renamed() -> None:
    value = written(document_of([node("r", "text", meta={"bookmarked": True})]))
    value["nodes"]["r"]["bookmarkTitle"] = value["bookmarkedNodes"]["r"]["bookmarkTitle"] = "mine"
    assert read(value)[0].trees[0].nodes["r"]["meta"] == {"bookmarked": True, "bookmarkLabel": "mine"}


def test_file() -> None:
    """OL1-w-file."""
    document = document_of([node("r", "a/b é\u2028\x07", createdAt="2024-12-12T21:44:00Z")])
    data = write(document)
    assert b'"text":"a\\/b \xc3\xa9\xe2\x80\xa8\\u0007"' in data
    assert b"\n" not in data
    assert not data.startswith(b"\xef\xbb\xbf")


def test_ids_as_uuids() -> None:
    """OL1-w-ids."""
    known = "3a9c24f6-5791-4c5a-a9a7-f31c65064da9"
    nodes = [node("r"), node(known), node(known.upper())]
    document = document_of(nodes, [("r", known), ("r", known.upper())], currentNodeId=known)
    value = written(document, ids="uuid")
    ids = list(value["nodes"])
    assert ids[1] == value["currentNodeId"] == known.upper()
    assert all(each == each.upper() and len(each) == 36 for each in [*ids, value["id"], value["rootNodeId"]])
    assert len(set(ids)) == 3
    assert value["nodes"][ids[0]]["childrenIds"] == ids[1:]
    assert [marks(each)["originalId"] for each in list(value["nodes"].values())[:2]] == ["r", known]
    assert list(read(value)[0].trees[0].nodes) == ["r", known, known.upper()]
    # A mark that somebody made up renames nothing.
    value["nodes"][ids[0]]["extensions"]["openloom-1"]["originalId"] = "else"
    assert ids[0] in read(value)[0].trees[0].nodes


def test_other_apps_extensions_travel() -> None:
    extensions = {"loomconv": {"residue": {"x": 1}}, "other": [jsontext.ExactFloat("1.0E2")]}
    document = document_of([node("r", extensions=extensions)], extensions=extensions)
    value = written(document)
    assert {key: value["extensions"][key] for key in extensions} == extensions
    assert {key: value["nodes"]["r"]["extensions"][key] for key in extensions} == extensions


def test_more_than_the_format_holds_is_in_marks() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image", "ref": "x"}, {"type": "text", "text": "b"}]
    made = {**node("r"), "content": content, "editedFrom": "q", "createdAt": "2024-12-12T21:44:00Z"}
    document = document_of([made], tags=[{"name": "t"}], mode="buffer")
    value = written(document)
    assert value["nodes"]["r"]["text"] == "ab"
    assert marks(value["nodes"]["r"]) == {"core": {"content": content, "editedFrom": "q"}}
    assert spelled(as_json(read(value)[0])) == spelled(as_json(document))
    # Where the app has changed the text, the text stands, and the rest still comes back.
    value["nodes"]["r"]["text"] = "abc"
    again = read(value)[0].trees[0].nodes["r"]
    assert again["content"] == [{"type": "text", "text": "abc"}]
    assert again["editedFrom"] == "q"


def test_a_raw_form_goes_when_the_core_has_changed() -> None:
    raw = entry("r", author="User", modelId="<model identifier>", createdTime=757000000.1234, text=None, colour="red")
    document, _ = read(file_of(raw))
    tree = document.trees[0]
    made: Any = tree.nodes["r"]
    tree.nodes["r"] = {**made, "content": [{"type": "text", "text": "new"}], "author": {"role": "human", "name": "Jo"}}
    value = written(document)["nodes"]["r"]
    assert value == {**raw, "text": "new", "modelId": "Jo"}
    tree.nodes["r"] = {**made, "author": {"role": "system"}, "createdAt": "2024-12-12T21:44:00Z"}
    value = written(document)["nodes"]["r"]
    assert value == {**raw, "author": "system", "createdTime": 755732640}


def test_raw_links_go_where_the_tree_has_changed() -> None:
    nodes = [entry("r", children=("x", "a", "b")), entry("a", "r"), entry("b", "r"), entry("s", "ghost")]
    nodes[0]["rememberedChildId"] = "b"
    document, _ = read(file_of(*nodes, currentNodeId="b"))
    assert written(document) == file_of(*nodes, currentNodeId="b")
    tree = document.trees[0].without_nodes({"b"})
    tree.fields["currentNodeId"] = "a"
    value = written(Document(document.fields, [tree]))
    # One child is gone, hence the list is written anew; the parent of s is still not there.
    assert value["nodes"]["r"]["childrenIds"] == ["a"]
    assert value["nodes"]["s"]["parentId"] == "ghost"


def test_one_tree_a_file() -> None:
    document = document_of([node("r")])
    with pytest.raises(UsageFault, match="one tree"):
        write(Document(document.fields, []))
    with pytest.raises(UsageFault, match="one tree"):
        write(Document(document.fields, document.trees * 2))


def test_a_tree_without_nodes_is_a_file_without_nodes() -> None:
    document = document_of([], updatedAt="2024-12-12T21:44:00Z")
    value = written(document)
    assert (value["nodes"], value["bookmarkedNodes"], value["rootNodeId"]) == ({}, {}, "")
    assert spelled(as_json(read(value)[0])) == spelled(as_json(document))


def test_it_is_written_in_pieces() -> None:
    class Sink:
        sizes: list[int] = []  # noqa: RUF012 - one test, one list

        def write(self, data: bytes) -> None:
            self.sizes.append(len(data))

    from loomconv.format import WriteContext
    from loomconv.report import Report
    from tests.plugins.openloom_1.harness import FORMAT

    sink = Sink()
    document, _ = read(file_of(*chain(*(f"n{number}" for number in range(2000)))))
    FORMAT.write(document, sink, WriteContext(report=Report(), layout=FORMAT.layout))
    assert len(sink.sizes) > 3
    assert max(sink.sizes) < 80_000
