"""The rules of reading, one by one (openloom-1 dossier §4 and §5)."""

from __future__ import annotations

import pytest

from loomconv.errors import InvalidDocument, UnreadableFile
from tests.plugins.openloom_1.harness import LEFT_OUT, back, chain, codes, entry, file_of, read, tree_of


def stash_of(node_id: str, data: object) -> object:
    return tree_of(data).nodes[node_id].get("extensions", {}).get("openloom-1")  # type: ignore[arg-type]


def test_what_is_no_tree_is_refused() -> None:
    for data in (b"[]", b'{"rootNodeId": "r"}', b'{"nodes": []}'):
        with pytest.raises(InvalidDocument):
            read(data)
    with pytest.raises(UnreadableFile):
        read(b'{"nodes": {,}}')


def test_a_plain_file_has_no_stash_and_no_findings() -> None:
    document, context = read(file_of(*chain("r", "a", "b")))
    tree = document.trees[0]
    assert document.fields == {"format": "open-loom", "version": "2.0"}
    assert tree.fields == {
        "id": "T",
        "title": "Knots",
        "description": "About knots",
        "mode": "dialogue",
        "updatedAt": "2024-12-27T13:48:20.500Z",
        "rootNodeIds": ["r"],
        "currentNodeId": "b",
    }
    assert tree.nodes["r"] == {
        "id": "r",
        "content": [{"type": "text", "text": "text of r"}],
        "author": {"role": "human"},
        "createdAt": "2024-12-27T13:46:40.250Z",
    }
    assert not context.report.codes
    assert not context.touched


def test_key_id() -> None:
    """OL1-key-id."""
    value = file_of(entry("r", children=("a", "b")), entry("a", "r"), entry("b", "r"))
    value["nodes"]["a"]["id"] = "z"
    del value["nodes"]["b"]["id"]
    assert list(tree_of(value).nodes) == ["r", "a", "b"]
    assert tree_of(value).nodes["a"]["id"] == "a"
    assert stash_of("a", value) == {"id": "z"}
    assert stash_of("b", value) == {"absent": ["id"]}
    assert codes(value) == {"read.id-mismatch": 1, "read.missing-id": 1}


def test_missing_and_null_are_the_same() -> None:
    """OL1-missing-null."""
    value = file_of(entry("r", parentId=None, rememberedChildId=None, bookmarkTitle=None), description=None)
    tree = tree_of(value)
    assert codes(value) == {}
    assert "description" not in tree.fields
    assert tree.fields["extensions"]["openloom-1"] == {"links": {"r": {"parentId": None}}}
    assert stash_of("r", value) == {"bookmarkTitle": None, "rememberedChildId": None}
    assert back(value) == value


def test_a_claimed_parent_counts_and_is_first() -> None:
    """OL1-parent."""
    nodes = [entry("r", children=("a", "b")), entry("a", "r"), entry("b", "r", ("c",)), entry("c", "a")]
    tree = tree_of(file_of(*nodes))
    assert tree.graph.parent_of("c") == "a"
    # One contradiction, one finding, where the wrong list is.
    _, context = read(file_of(*nodes))
    (found,) = [each for each in context.report.findings if each.code == "read.children-disagree"]
    assert (found.node, found.pointer, found.value) == ("b", "/childrenIds", ["c"])
    assert context.touched


def test_without_a_claim_the_list_counts() -> None:
    """OL1-parent."""
    nodes = [entry("r", children=("a", "b")), entry("a"), entry("b", "ghost")]
    value = file_of(*nodes)
    assert tree_of(value).graph.children_of("r") == ["a", "b"]
    assert codes(value) == {"repair.missing-parent": 1}
    assert tree_of(value).fields["extensions"]["openloom-1"]["links"] == {
        "a": {"absent": ["parentId"]},
        "b": {"parentId": "ghost", "missing": ["ghost"]},
    }


def test_a_file_with_its_links_in_one_place_is_nothing_odd() -> None:
    value = file_of(entry("r", children=("a", "b")), entry("a"), entry("b"))
    assert codes(value) == {}
    assert back(value) == value


def test_the_root_is_nobodys_child_unless_it_says_so() -> None:
    value = file_of(entry("r", children=("a",)), entry("a", "r", ("r",)))
    assert tree_of(value).graph.parent_of("r") is None
    assert codes(value) == {"read.children-disagree": 1}


def test_order() -> None:
    """OL1-order, OL2-8.0-topology."""
    nodes = [
        entry("r", children=("c", "a", "c")),
        *(entry("a", "r"), entry("b", "r", createdTime=9), entry("c", "r"), entry("d", "r", createdTime=5)),
        entry("e", "r", createdTime="2001-01-01T00:00:05Z"),
        entry("f", "r", createdTime=None),
    ]
    value = file_of(*nodes)
    assert tree_of(value).graph.children_of("r") == ["c", "a", "d", "e", "b", "f"]
    # The list has one finding, however much of it is wrong.
    assert codes(value) == {"read.children-disagree": 1}
    assert back(value) == value


def test_dangling_ids_are_dropped_and_kept_aside() -> None:
    """OL1-dangling."""
    value = file_of(entry("r", children=("x", "a", "y")), entry("a", "r", rememberedChildId="z"))
    value["nodes"]["r"]["rememberedChildId"] = "a"
    assert tree_of(value).graph.children_of("r") == ["a"]
    assert codes(value) == {"read.missing-child": 2, "read.remembered-child": 1}
    assert stash_of("a", value) == {"strayRememberedChildId": "z"}
    assert tree_of(value).fields["extensions"]["openloom-1"] == {
        "links": {"r": {"childrenIds": ["x", "a", "y"], "missing": ["x", "y"]}}
    }


def test_a_parent_that_is_not_there_is_left_to_the_hub() -> None:
    """OL1-orphans."""
    tree = tree_of(file_of(entry("r"), entry("a", "ghost"), currentNodeId="r"))
    (edge,) = tree.edges
    assert (edge["sources"][0]["nodeId"], edge["targetNodeId"]) == ("ghost", "a")


def test_root() -> None:
    """OL1-root."""
    nodes = [entry("r", children=("a",)), entry("a", "r")]
    assert tree_of(file_of(*nodes)).fields["rootNodeIds"] == ["r"]
    # A root that is not there: the only node without a parent, or all of them.
    assert tree_of(file_of(*nodes, rootNodeId="ghost")).fields["rootNodeIds"] == ["r"]
    assert tree_of(file_of(*nodes, entry("s"), rootNodeId=7)).fields["rootNodeIds"] == ["r", "s"]
    assert codes(file_of(*nodes, rootNodeId="ghost")) == {"repair.bad-root": 1}
    # A root that has a parent is the hub's to judge; the raw form waits.
    below = file_of(*nodes, rootNodeId="a")
    assert tree_of(below).fields["rootNodeIds"] == ["a"]
    assert tree_of(below).fields["extensions"]["openloom-1"]["rootNodeId"] == "a"


def test_rings_are_read_as_they_are_claimed() -> None:
    """OL1-cycle."""
    value = file_of(entry("r"), entry("x", "y", ("y",)), entry("y", "x", ("x",)), currentNodeId="r")
    tree = tree_of(value)
    assert sorted((edge["sources"][0]["nodeId"], edge["targetNodeId"]) for edge in tree.edges) == [
        ("x", "y"),
        ("y", "x"),
    ]
    assert codes(value) == {}
    assert back(value) == value


@pytest.mark.parametrize(
    ("author", "role"),
    [("user", "human"), ("Assistant", "model"), ("SYSTEM", "system"), ("tool", "human"), (None, "human"), (3, "human")],
)
def test_author(author: object, role: str) -> None:
    """OL1-author, OL2-8.0-author."""
    value = file_of(entry("r", author=author))
    assert tree_of(value).nodes["r"]["author"] == {"role": role}
    known = author in ("user", "Assistant", "SYSTEM")
    assert codes(value) == ({} if known else {"read.unknown-author": 1})
    assert back(value) == value


def test_model_id() -> None:
    """dossier §5, OL2-8.0-model."""

    def said(**more: object) -> dict[str, object]:
        node = tree_of(file_of(entry("r", **more))).nodes["r"]
        return {key: node[key] for key in ("author", "generation", "extensions") if key in node}  # type: ignore[literal-required]

    assert said(modelId="Jane") == {"author": {"role": "human", "name": "Jane"}}
    placeholder = "<model identifier>"
    assert said(modelId=placeholder) == {
        "author": {"role": "human"},
        "extensions": {"openloom-1": {"modelId": placeholder}},
    }
    # No guess at the provider.
    assert said(author="assistant", modelId="a/b") == {"author": {"role": "model"}, "generation": {"model": "a/b"}}
    assert said(author="assistant", modelId="") == {"author": {"role": "model"}}
    assert said(author="system", modelId="x")["extensions"] == {"openloom-1": {"modelId": "x"}}
    assert codes(file_of(entry("r", modelId=5))) == {"read.bad-value": 1}


def test_dates_are_stashed_where_the_writer_would_put_others() -> None:
    """OL1-date-number, OL2-8.0-dates."""
    for raw, stash in (
        (757000000.25, None),
        (757000000, None),
        (757000000.0, 757000000.0),
        (757000000.1234, 757000000.1234),
    ):
        found = stash_of("r", file_of(entry("r", createdTime=raw)))
        assert found == (None if stash is None else {"createdTime": stash})
        assert repr(back(file_of(entry("r", createdTime=raw)))["nodes"]["r"]["createdTime"]) == repr(raw)
    assert tree_of(file_of(entry("r"), lastModified=1.0005)).fields["extensions"]["openloom-1"] == {
        "lastModified": 1.0005
    }


def test_a_number_keeps_its_spelling() -> None:
    text = b'{"rootNodeId":"r","nodes":{"r":{"id":"r","text":"","author":"user","createdTime":%s,"childrenIds":[]}}}'
    for token in (b"7.57E8", b"757000000.50", b"757000000.12345678901234567890", b"-0", b"0.0", b"-0.0"):
        assert b'"createdTime":' + token + b"," in write_back(text % token)


def write_back(data: bytes) -> bytes:
    from tests.plugins.openloom_1.harness import write

    return write(read(data)[0])


def test_a_stated_zone_is_used_and_remembered() -> None:
    """OL1-date-string."""
    value = file_of(entry("r", createdTime="2024-12-13T08:00:00"))
    assert codes(value) == {"read.time-without-zone": 1}
    tree = tree_of(value, assume_timezone="+02:00")
    assert tree.nodes["r"]["createdAt"] == "2024-12-13T06:00:00Z"
    assert tree.fields["extensions"]["openloom-1"] == {"timezone": "+02:00"}
    assert back(value, assume_timezone="+02:00") == value
    assert "extensions" not in tree_of(file_of(entry("r")), assume_timezone="+02:00").fields


def test_current() -> None:
    """OL1-current, OL2-8.0-current."""
    nodes = [
        entry("r", children=("a", "b"), rememberedChildId="b"),
        entry("a", "r"),
        entry("b", "r", ("c",)),
        entry("c", "b"),
    ]
    assert tree_of(file_of(*nodes, currentNodeId="a")).fields["currentNodeId"] == "a"
    # Without one: the end of the remembered chain.
    assert tree_of(file_of(*nodes, currentNodeId=LEFT_OUT)).fields["currentNodeId"] == "c"
    assert codes(file_of(*nodes, currentNodeId=LEFT_OUT)) == {}
    assert tree_of(file_of(*nodes, currentNodeId="ghost")).fields["currentNodeId"] == "c"
    assert codes(file_of(*nodes, currentNodeId="ghost")) == {"repair.bad-current": 1}
    nodes[0]["rememberedChildId"] = "c"  # not a child: there is no chain
    assert "currentNodeId" not in tree_of(file_of(*nodes, currentNodeId=LEFT_OUT)).fields


def test_a_remembered_child_is_stashed_only_where_it_says_something() -> None:
    nodes = [entry("r", children=("a", "b")), entry("a", "r"), entry("b", "r")]
    for current, remembered, stash in (
        ("b", "b", None),
        ("b", "a", {"rememberedChildId": "a"}),
        ("r", "a", None),
        ("r", None, {"rememberedChildId": None}),
        ("r", LEFT_OUT, {"absent": ["rememberedChildId"]}),
    ):
        nodes[0]["rememberedChildId"] = remembered
        root = {key: value for key, value in nodes[0].items() if value is not LEFT_OUT}
        assert stash_of("r", file_of(root, *nodes[1:], currentNodeId=current)) == stash


def test_bookmarks_that_agree() -> None:
    """OL1-bookmarks, OL2-8.0-bookmark."""
    marked = entry("a", "r", isBookmarked=True, bookmarkTitle="here")
    value = file_of(entry("r", children=("a",)), marked, copies={"a": dict(reversed(marked.items()))})
    assert tree_of(value).nodes["a"]["meta"] == {"bookmarked": True, "bookmarkLabel": "here"}
    assert "extensions" not in tree_of(value).fields
    assert codes(value) == {}


def test_bookmarks_that_disagree() -> None:
    """OL1-bookmarks."""
    nodes = [entry("r", children=("a", "b", "c")), *(entry(each, "r") for each in "abc")]
    nodes[1].update(isBookmarked=True, bookmarkTitle="by node")
    nodes[2].update(isBookmarked=True)
    copies = {
        "a": {**nodes[1], "bookmarkTitle": "by map"},
        "c": {**nodes[3], "bookmarkTitle": "map"},
        "ghost": {"id": 1},
    }
    value = file_of(*nodes, copies=copies)
    tree = tree_of(value)
    assert [tree.nodes[each].get("meta") for each in "abc"] == [
        {"bookmarked": True, "bookmarkLabel": "by node"},
        {"bookmarked": True},
        {"bookmarked": True, "bookmarkLabel": "map"},
    ]
    assert tree.fields["extensions"]["openloom-1"]["bookmarkedNodes"] == {
        "a": {"set": {"bookmarkTitle": "by map"}},
        "b": {"missing": True},
        "c": {"set": {"bookmarkTitle": "map"}},
        "ghost": {"stray": {"id": 1}},
    }
    assert codes(value) == {"read.bookmark-disagree": 4}
    assert back(value) == value


def test_a_label_without_a_bookmark_is_just_a_label() -> None:
    value = file_of(entry("r", bookmarkTitle="later"))
    assert tree_of(value).nodes["r"]["meta"] == {"bookmarkLabel": "later"}
    assert codes(value) == {}


def test_a_file_without_the_map_of_bookmarks_is_nothing_odd() -> None:
    value = file_of(entry("r", isBookmarked=True), copies=LEFT_OUT)
    assert tree_of(value).nodes["r"]["meta"] == {"bookmarked": True}
    assert codes(value) == {}
    assert back(value) == value


def test_text() -> None:
    """OL1-text."""
    for raw, text, found in (("  x\r\n", "  x\r\n", 0), (None, "", 1), (42, "42", 1), (["x"], "", 1)):
        value = file_of(entry("r", text=raw))
        assert tree_of(value).nodes["r"]["content"] == [{"type": "text", "text": text}]
        assert codes(value) == ({"read.bad-text": 1} if found else {})
    missing = file_of(entry("r"))
    del missing["nodes"]["r"]["text"]
    assert tree_of(missing).nodes["r"]["content"] == [{"type": "text", "text": ""}]
    assert codes(missing) == {}


def test_unknown_keys_are_kept_in_the_stash() -> None:
    """OL1-unknown."""
    value = file_of(entry("r", colour="red"), theme={"dark": True})
    assert stash_of("r", value) == {"unknown": {"colour": "red"}}
    assert tree_of(value).fields["extensions"]["openloom-1"] == {"unknown": {"theme": {"dark": True}}}
    assert codes(value) == {}


def test_what_is_no_node_stays_what_it_is() -> None:
    value = file_of(entry("r", children=("a",)), currentNodeId="a")
    value["nodes"]["a"] = [1]
    assert tree_of(value).graph.parent_of("a") == "r"
    assert codes(value) == {"read.opaque-node": 1}
    assert back(value) == value


def test_the_system_message() -> None:
    assert tree_of(file_of(entry("r"), systemMessage="Be kind.")).fields["systemContext"] == "Be kind."
    assert "systemContext" not in tree_of(file_of(entry("r"))).fields
    value = file_of(entry("r"), systemMessage=LEFT_OUT)
    assert tree_of(value).fields["extensions"]["openloom-1"] == {"absent": ["systemMessage"]}
    assert codes(file_of(entry("r"), systemMessage=7)) == {"read.bad-value": 1}


def test_a_tree_without_an_id_has_its_roots() -> None:
    value = file_of(entry("r"), id=LEFT_OUT)
    assert tree_of(value).fields["id"] == "r"
    assert codes(value) == {"read.missing-id": 1}
    assert back(value) == value


@pytest.mark.parametrize("twice", ['"text":"x",', '"id" :"r",', '"childrenIds":[],'])
def test_a_key_that_is_there_twice_is_noticed(twice: str) -> None:
    plain = '{"id":"r","text":"a \\\\\\" b","author":"user","createdTime":1,"childrenIds":[]}'
    text = '{"id":"T","rootNodeId":"r","nodes":{"r":' + plain.replace("{", "{" + twice, 1) + "}}"
    assert codes(text.encode()) == {"read.exact": 1, "read.duplicate-key": 1}
    assert codes(text.replace(twice, "").encode()) == {}


def test_a_node_or_field_that_is_there_twice_is_noticed() -> None:
    node = '"r":{"id":"r","text":"","author":"user","createdTime":1,"childrenIds":[]}'
    text = '{"id":"T","rootNodeId":"r","nodes":{%s}}'
    assert codes((text % node).encode()) == {}
    assert codes((text % f"{node},{node}").encode()) == {"read.exact": 1, "read.duplicate-key": 1}
    assert codes((text % node).replace("{", '{"id":"S",', 1).encode()) == {"read.exact": 1, "read.duplicate-key": 1}
    copies = (text % node)[:-1] + ',"bookmarkedNodes":{%s}}'
    assert codes((copies % f"{node},{node}").encode())["read.duplicate-key"] == 1


def test_what_only_the_exact_reader_reads() -> None:
    assert codes(b"\xef\xbb\xbf" + b'{"id":"T","rootNodeId":"r","nodes":{}}')["read.bom"] == 1
    node = b'{"id":"r","text":"%s","author":"user","createdTime":%s,"childrenIds":[]}'
    text = b'{"id":"T","rootNodeId":"r","nodes":{"r":' + node + b"}}"
    assert tree_of(text % (b"\\ud83e", b"1")).nodes["r"]["content"][0]["text"] == "\ud83e"
    assert codes(text % (b"\xff", b"1"))["read.bad-encoding"] == 1
    assert codes(text % (b"", b"NaN"))["read.non-finite-number"] == 1
    deep = b"[" * 100_000 + b"]" * 100_000
    odd = text.replace(b'{"id":"r"', b'{"deep":' + deep + b',"id":"r"', 1) % (b"", b"1")
    assert "deep" in tree_of(odd).nodes["r"]["extensions"]["openloom-1"]["unknown"]


def test_siblings_by_time_if_asked_for() -> None:
    nodes = [entry("r", children=("a", "b", "c")), entry("a", "r"), entry("b", "r", createdTime=5), entry("c", "r")]
    document, context = read(file_of(*nodes), options={"sibling-order": "created"})
    assert document.trees[0].graph.children_of("r") == ["b", "a", "c"]
    assert context.touched


def test_size_and_depth_are_no_matter() -> None:
    count = 20_000
    ids = [f"n{number}" for number in range(count)]
    value = file_of(*chain(*ids))
    assert tree_of(value).graph.parent_of(ids[-1]) == ids[-2]
    assert back(value) == value
    star = file_of(entry("r", children=tuple(ids)), *(entry(each, "r") for each in ids), currentNodeId=ids[-1])
    star["nodes"]["r"]["rememberedChildId"] = ids[-1]
    assert back(star) == star
