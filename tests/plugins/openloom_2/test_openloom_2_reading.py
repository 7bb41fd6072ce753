"""Ways through the reader: large files, the exact reader, keys that are there twice, odd nodes and references."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.errors import InvalidDocument, LimitExceeded
from loomconv.model import plain_text
from loomconv.model.record import own_record
from loomconv.model.times import parse_iso
from loomconv.storage import Limits
from loomconv_plugins.openloom_2.envelope import LARGE
from loomconv_plugins.openloom_2.probe import ordinary_strings, probe_node
from tests.made import TIMES, as_json, documents, examples, node, spelled
from tests.plugins.openloom_2.harness import dump, faults, load, minimal, rewritten, value_of

# -- large files -------------------------------------------------------------------------------------------------------


def large(**fields: Any) -> bytes:
    """A file above the size from which the envelope is decoded in one pass, with keys in an order of their own."""
    nodes = {f"n{number}": node(f"n{number}", "word " * 40) for number in range(5000)}
    edges = [
        {"type": "continuation", "sources": [{"nodeId": f"n{number - 1}"}], "targetNodeId": f"n{number}"}
        for number in range(1, 5000)
    ]
    tree = {
        "edges": edges,
        "title": "Large",
        "nodes": nodes,
        "id": "t",
        "rootNodeIds": ["n0"],
        "tags": [{"name": "x", "weight": 1.0}],
        **fields,
    }
    text = jsontext.encode(
        {"version": "2.0", "format": "open-loom", "trees": [tree], "exportedAt": "2026-01-01T00:00:00Z"}
    )
    text = text.replace(b'"weight":1.0', b'"weight":1.50E2,"none":-0')
    assert len(text) > LARGE
    return text


def test_a_large_file_is_copied_and_rewritten_byte_for_byte() -> None:
    source = large()
    document, report = load(source)
    assert not faults(report)
    assert dump(document) == source
    document, _ = load(source)
    assert rewritten(document) == source, "key order and the spelling of numbers included"


def test_a_large_file_says_the_same_as_a_small_one() -> None:
    source = large()
    document, _ = load(source)
    assert spelled(as_json(document)) == spelled(value_of(source))
    assert str(document.trees[0].fields["tags"][0]["weight"]) == "1.50E2"


def test_unknown_keys_make_a_large_file_no_different() -> None:
    source = large(mystery={"x": 1})
    document, report = load(source)
    assert not faults(report)
    assert rewritten(document) == source
    assert document.trees[0].fields["mystery"] == {"x": 1}  # type: ignore[typeddict-item]


def test_an_edit_in_a_large_file_leaves_all_other_bytes_alone() -> None:
    source = large()
    document, _ = load(source)
    edited = document.trees[0].nodes["n7"]
    edited["content"][0]["text"] = "new"
    document.trees[0].nodes["n7"] = edited
    written = dump(document)
    assert written == source.replace(jsontext.encode(node("n7", "word " * 40)), jsontext.encode(node("n7", "new")), 1)


def test_a_large_file_that_only_the_exact_reader_reads_keeps_its_order() -> None:
    source = large().replace(b'"title":"Large"', b'"title":"Large \\ud83e"')
    document, report = load(source)
    assert report.codes["read.exact"] == 1
    assert rewritten(document) == source


def test_keys_twice_in_a_large_file_are_noticed() -> None:
    source = large().replace(b'"title":"Large"', b'"title":"Small","title":"Large"')
    document, report = load(source)
    assert report.codes["read.duplicate-key"] == 1
    assert document.trees[0].fields["title"] == "Large"
    assert dump(document) == source


def test_edges_may_be_missing_in_a_large_file() -> None:
    source = re.sub(rb'"edges":\[.*?\],"title"', b'"title"', large())
    document, report = load(source + b" " * LARGE)
    assert report.codes["read.bad-value"] == 1
    assert value_of(dump(document))["trees"][0]["edges"] == []


# -- keys twice --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "old, new, number",
    [
        (b'"version":"2.0"', b'"version":"1.0","version":"2.0"', 1),
        (b'"title":"T"', b'"title":"S","title":"T"', 1),
        (b'"role":"human"', b'"role":"model","role":"human"', 1),
        (b'"text":"One"', b'"text":"Two","t\\u0065xt":"One"', 1),
        (b'"targetNodeId":"b"', b'"targetNodeId":"a","targetNodeId":"b"', 1),
        (b'"nodes":{', b'"nodes":{"a":{"id":"a"},', 1),
        (b'"role":"human"', b'"role":"human","x":{"y":1,"y":2}', 1),
        (b'"text":"One"', b'"text":"a \\" b","text":"One"', 1),
        (b'"text":"One"', b'"text":"say: \\"text\\", \\\\"', 0),
    ],
)
def test_a_key_twice_is_noticed_and_the_last_counts_a02(old: bytes, new: bytes, number: int) -> None:
    source = jsontext.encode(minimal()).replace(old, new, 1)
    document, report = load(source)
    assert report.codes["read.duplicate-key"] == number
    assert spelled(as_json(document)) == spelled(value_of(source))
    assert dump(document) == source


def test_a_node_with_a_key_twice_keeps_its_bytes_when_others_are_edited() -> None:
    source = jsontext.encode(minimal()).replace(b'"text":"One"', b'"text":"Two","text":"One"')
    document, _ = load(source)
    document.trees[0].nodes["b"] = document.trees[0].nodes["b"]
    assert b'"text":"Two","text":"One"' in dump(document)


# -- the exact rung ----------------------------------------------------------------------------------------------------

HARD = [b'"\\ud83e"', b"1e400", b"-0", b"1" * 5000, b"[" * 150 + b"]" * 150, b'{"a":1,"a":2}']


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("place", ["document", "tree", "node", "edge", "generation"])
def test_what_is_hard_to_read_comes_back_as_it_was(hard: bytes, place: str) -> None:
    mark = '"HARD"'
    value = minimal()
    tree = value["trees"][0]
    {
        "document": value,
        "tree": tree,
        "node": tree["nodes"]["a"],
        "edge": tree["edges"][0],
        "generation": tree["nodes"]["b"].setdefault("generation", {}),
    }[place]["hard"] = "HARD"
    source = jsontext.encode(value).replace(mark.encode(), hard)
    document, report = load(source)
    assert dump(document) == source
    document, _ = load(source)
    if b'"a":2' not in hard:
        assert rewritten(document) == source
        assert not report.codes["read.duplicate-key"]
    else:
        assert report.codes["read.duplicate-key"] == 1
    # What another format makes of it is read again as it was.
    there = dump(load(source)[0], "socketteer")
    back, _ = load_foreign(there)
    before = as_json(load(source)[0])
    assert spelled(as_json(back)["trees"]) == spelled(before["trees"])


def load_foreign(data: bytes) -> Any:
    from loomconv import api
    from loomconv.report import Report

    report = Report()
    return api.load(data, report=report), report


def test_depth_is_limited_a_limit_can_be_lifted() -> None:
    """OL2-9-limits: flat by nature, so that deep nesting is no story."""
    deep = jsontext.encode(minimal()).replace(b'"title":"T"', b'"title":"T","x":' + b"[" * 50_000 + b"]" * 50_000)
    with pytest.raises(LimitExceeded):
        load(deep)
    document, report = load(deep, limits=Limits.unlimited())
    assert report.codes["read.deep"] == 1
    assert rewritten(document) == deep


# -- nodes, references, versions ---------------------------------------------------------------------------------------


def test_references_to_an_inner_id_are_pointed_at_the_key_a01() -> None:
    value = minimal()
    tree = value["trees"][0]
    tree["nodes"]["a"]["id"] = "inner"
    tree["nodes"]["b"]["editedFrom"] = "inner"
    tree.update(rootNodeIds=["inner"], currentNodeId="inner")
    tree["edges"][0]["sources"][0]["nodeId"] = "inner"
    document, report = load(value)
    assert faults(report) == {"read.id-mismatch": 1, "repair.bad-reference": 4}
    back = document.trees[0]
    assert back.roots == ["a"] and back.fields["currentNodeId"] == "a"
    assert back.nodes["b"]["editedFrom"] == "a"
    assert back.graph.parent_of("b") == "a"
    assert own_record(back.nodes["a"]) == {"original": {"id": "inner"}}


def test_an_inner_id_that_two_nodes_share_points_nowhere_a01() -> None:
    value = minimal()
    tree = value["trees"][0]
    tree["nodes"]["a"]["id"] = tree["nodes"]["b"]["id"] = "inner"
    tree["edges"][0]["sources"][0]["nodeId"] = "inner"
    _, report = load(value)
    assert faults(report)["repair.missing-source"] == 1
    assert "repair.bad-reference" not in faults(report)


def test_a_key_is_stronger_than_an_inner_id_a01() -> None:
    value = minimal()
    value["trees"][0]["nodes"]["b"]["id"] = "a"
    document, report = load(value)
    assert faults(report) == {"read.id-mismatch": 1}
    assert document.trees[0].graph.parent_of("b") == "a"


@pytest.mark.parametrize("odd", [[], {}, None, 5])
def test_odd_references_beside_an_inner_id_do_no_harm(odd: Any) -> None:
    value = minimal()
    tree = value["trees"][0]
    tree["nodes"]["a"]["id"] = "inner"
    tree["edges"] += [
        {"type": "continuation", "sources": [{"nodeId": odd}], "targetNodeId": "b"},
        {"type": "continuation", "sources": [{"nodeId": "a"}], "targetNodeId": odd},
        {"type": "continuation", "sources": [odd], "targetNodeId": "b"},
    ]
    tree.update(rootNodeIds=[odd, "a"], currentNodeId=odd)
    document, _ = load(value)
    assert document.trees[0].roots == ["a"]


def test_a_list_of_roots_is_made_when_there_is_none() -> None:
    """OL2-4-rootNodeIds, OL2-4.1-redundant."""
    for missing in (..., None):
        document, report = load(minimal(rootNodeIds=missing))
        assert faults(report) == {"repair.bad-root": 1}
        assert value_of(dump(document))["trees"][0]["rootNodeIds"] == ["a"]


@pytest.mark.parametrize("value", [5, "words", [1], None, True])
def test_what_is_no_node_is_written_back_as_it_is(value: Any) -> None:
    """OL2-2-lenient: a bad node never loses the file."""
    document = minimal()
    document["trees"][0]["nodes"]["b"] = value
    loaded, report = load(document)
    assert faults(report) == {"read.opaque-node": 1}
    assert plain_text(loaded.trees[0].nodes["b"]) == ""
    assert value_of(rewritten(loaded)) == document


def test_an_opaque_node_that_was_written_into_is_a_node() -> None:
    document = minimal()
    document["trees"][0]["nodes"]["b"] = 5
    loaded, _ = load(document)
    made = loaded.trees[0].nodes["b"]
    made["content"] = [{"type": "text", "text": "now"}]
    loaded.trees[0].nodes["b"] = made
    assert value_of(dump(loaded))["trees"][0]["nodes"]["b"]["content"] == made["content"]


@pytest.mark.parametrize(
    "change, codes",
    [
        (
            {"nodes": []},
            {"read.bad-value": 1, "repair.empty-tree": 1, "repair.bad-root": 1, "repair.missing-target": 1},
        ),
        (
            {"nodes": ...},
            {"read.bad-value": 1, "repair.empty-tree": 1, "repair.bad-root": 1, "repair.missing-target": 1},
        ),
        ({"edges": {}}, {"read.bad-value": 1, "repair.unlisted-root": 1}),
        ({"edges": None}, {"read.bad-value": 1, "repair.unlisted-root": 1}),
    ],
)
def test_trees_without_nodes_or_edges(change: dict[str, Any], codes: dict[str, int]) -> None:
    """OL2-4-nodes, OL2-4-edges, A21."""
    document, report = load(minimal(**change))
    assert faults(report) == codes
    (key, value) = next(iter(change.items()))
    if value not in (..., None):
        assert own_record(document.trees[0].fields)[f"original{key.title()}"] == value


@pytest.mark.parametrize("tree", [5, None, "tree", [1]])
def test_what_is_no_tree(tree: Any) -> None:
    value = minimal()
    value["trees"].append(tree)
    document, report = load(value)
    assert report.codes["read.bad-value"] >= 1
    assert len(document.trees) == 2
    if tree is not None:
        assert own_record(document.trees[1].fields)["originalTree"] == tree


@pytest.mark.parametrize(
    "key, value", [("agents", 5), ("extensions", "mine"), ("generator", []), ("exportedAt", 7), ("extensions", [1])]
)
@pytest.mark.parametrize("target", ["openloom-2", "openloom-1", "socketteer"])
def test_fields_of_the_document_of_the_wrong_type_are_kept_aside(key: str, value: Any, target: str) -> None:
    document, report = load({**minimal(), key: value})
    assert faults(report) == {"read.bad-value": 1}
    assert own_record(document.fields) == {f"original{key[0].upper()}{key[1:]}": value}
    assert dump(document, target)


@pytest.mark.parametrize(
    "version, read",
    [
        ("2.0", {}),
        ("2.1", {"read.version": 1}),
        ("2.10.3", {"read.version": 1}),
        ("2.", {"read.version": 1}),
        ({"v": 2}, {"read.version": 1}),
        (True, {"read.version": 1}),
        ("", {"read.version": 1}),
    ],
)
def test_versions_that_are_read(version: Any, read: dict[str, int]) -> None:
    """OL2-3.1-accept2x, OL2-3.1-minor, A11."""
    document, report = load({**minimal(), "version": version})
    assert faults(report) == read
    assert isinstance(document.fields["version"], str) and document.fields["version"].startswith("2.")
    assert not document.fields["version"].endswith(".")


@pytest.mark.parametrize("version", ["3.0", "1.0", 1, 3.5, "two", "20", "x" * 500, "sk-FAKE-not-a-real-key-0000"])
def test_versions_that_are_refused(version: Any) -> None:
    """OL2-3.1-major."""
    with pytest.raises(InvalidDocument) as caught:
        load({**minimal(), "version": version})
    message = str(caught.value)
    assert "only 2.x is known" in message and len(message) < 300
    assert "sk-" not in message
    if version == "3.0":
        assert "OpenLoom 3.0" in message


@pytest.mark.parametrize(
    "top", [b"[]", b"5", b'"open-loom"', b"{}", b'{"format":"other"}', b'{"format":"open-loom","version":"2.0"}']
)
def test_what_is_no_document(top: bytes) -> None:
    """OL2-3-object, OL2-3-format, OL2-3-trees."""
    with pytest.raises(InvalidDocument):
        load(top)


# -- the quick look agrees with the close look -------------------------------------------------------------------------


@examples(80)
@given(
    st.one_of(
        TIMES,
        st.from_regex(
            r"\d{4}-[01]\d-[0-3]\d[Tt ][0-2]\d:[0-5]\d:[0-6]\d(\.\d{1,14})?([Zz]|[+-][0-2]\d:?[0-5]\d)?", fullmatch=True
        ),
    )
)
def test_a_time_that_the_quick_look_passes_is_a_time(text: str) -> None:
    value = jsontext.encode({**node("a"), "createdAt": text})
    try:
        probed = probe_node(value)
    except ValueError:
        return
    if ordinary_strings(probed, value) >= 0:
        assert parse_iso(text) is not None


@examples(60)
@given(documents())
def test_a_node_that_the_quick_look_passes_needs_no_repair(value: dict[str, Any]) -> None:
    from loomconv.repair import mend_node
    from loomconv.report import Report

    for tree in value["trees"]:
        for node_id, each in tree["nodes"].items():
            text = json.dumps(each).encode()
            try:
                known = ordinary_strings(probe_node(text), text)
            except ValueError:
                continue
            if known >= 0:
                report = Report()
                assert mend_node(node_id, each, report) is each
                assert known == jsontext.strings_in_text(text)
                assert each.keys() <= {"id", "content", "author", "createdAt", "editedFrom", "meta", "generation"}
