"""The index of nodes: bytes until somebody looks, an edit is what is assigned."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.model import NodeIndex, plain_text
from tests.made import examples, node, trees


class Counting:
    """A decoder that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, node_id: str, block: msgspec.Raw) -> Any:
        self.asked.append(node_id)
        return node(node_id, bytes(block).decode())


def lazy(decoder: Any = None) -> NodeIndex:
    return NodeIndex.from_blocks({"a": msgspec.Raw(b'"one"'), "b": msgspec.Raw(b'"two"')}, decoder)


def test_nothing_is_decoded_until_somebody_looks() -> None:
    decoder = Counting()
    index = lazy(decoder)
    assert len(index) == 2
    assert list(index) == ["a", "b"]
    assert "a" in index and "c" not in index
    assert index.ordinals == {"a": 0, "b": 1}
    without = index.without({"a"})
    assert list(without) == ["b"]
    assert decoder.asked == []
    assert plain_text(index["b"]) == '"two"'
    assert decoder.asked == ["b"]


def test_what_was_looked_at_is_not_kept_alive() -> None:
    index = lazy(Counting())
    first = index["a"]
    first["author"]["role"] = "model"
    assert index["a"]["author"]["role"] == "human"
    assert index["a"] is not index["a"]
    assert not index.edited


def test_blocks_without_a_decoder_are_verbatim() -> None:
    text = b'{ "id":"a" , "n": 1.50, "n": 1.50 }'
    index = NodeIndex.from_blocks({"a": msgspec.Raw(text)})
    assert bytes(index.block("a")) == text
    assert bytes(index.source_block("a")) == text


def test_a_foreign_block_becomes_a_node_and_the_source_block_stays() -> None:
    index = lazy(Counting())
    assert jsontext.decode(index.block("a")) == index["a"]
    assert bytes(index.source_block("a")) == b'"one"'


def test_an_edit_is_what_is_assigned() -> None:
    index = lazy(Counting())
    changed = index["a"]
    changed["content"][0]["text"] = "three"
    index["a"] = changed
    assert index.edited
    assert index["a"] == changed
    assert list(index) == ["a", "b"]
    index["c"] = node("c")  # type: ignore[assignment]
    assert index.ordinals["c"] == 2


def test_adding_is_a_readers_way_and_no_edit() -> None:
    index = NodeIndex()
    assert index.add_block("a", b'{"id":"a"}') == 0
    assert index.add_block("b", b'{"id":"b"}') == 1
    index.put_block("a", b'{"id":"a","x":1}')
    assert not index.edited
    with pytest.raises(KeyError):
        index.add_block("a", b"{}")


def test_transforms_apply_in_turn_and_leave_the_source_alone() -> None:
    index = NodeIndex()
    index.add_block("a", jsontext.encode(node("a", "x")))
    seen = index.transformed(lambda _, each: {**each, "meta": {"note": "1"}})  # type: ignore[typeddict-item]
    twice = seen.transformed(lambda _, each: {**each, "meta": {"note": each["meta"]["note"] + "2"}})  # type: ignore[typeddict-item]
    assert "meta" not in index["a"]
    assert seen["a"]["meta"] == {"note": "1"}
    assert twice["a"]["meta"] == {"note": "12"}
    assert jsontext.decode(twice.block("a")) == twice["a"]


def test_a_transform_that_changes_nothing_keeps_the_bytes() -> None:
    text = b'{ "id": "a" }'
    index = NodeIndex.from_blocks({"a": msgspec.Raw(text)}).transformed(lambda _, each: each)
    assert bytes(index.block("a")) == text


def test_transforms_cost_nothing_until_somebody_looks() -> None:
    asked: list[str] = []

    def note(node_id: str, each: Any) -> Any:
        asked.append(node_id)
        return each

    index = lazy(Counting()).transformed(note)
    assert list(index.without({"a"})) == ["b"]
    assert asked == []
    index.block("b")
    assert asked == ["b"]


def test_an_edit_of_a_transformed_index_does_not_reach_the_source() -> None:
    index = NodeIndex()
    index.add_block("a", jsontext.encode(node("a", "x")))
    seen = index.transformed(lambda _, each: each)
    seen["a"] = node("a", "y")  # type: ignore[assignment]
    assert plain_text(index["a"]) == "x"
    assert seen.edited and not index.edited


@pytest.mark.parametrize("position, order", [(0, "nab"), (1, "anb"), (2, "abn"), (99, "abn")])
def test_insertion_takes_the_position_in_the_result(position: int, order: str) -> None:
    index = NodeIndex()
    for each in "ab":
        index.add_block(each, jsontext.encode(node(each)))
    inserted = index.with_inserted({position: node("n", "new")})  # type: ignore[dict-item]
    assert "".join(inserted) == order
    assert [inserted.ordinals[each] for each in order] == [0, 1, 2]
    assert plain_text(inserted["n"]) == "new"


@examples(10)
@given(st.sets(st.integers(0, 7), min_size=1), st.integers(0, 5))
def test_insertion_undoes_removal(gone: set[int], extra: int) -> None:
    index = NodeIndex()
    ids = [f"n{number}" for number in range(8 + extra)]
    for each in ids:
        index.add_block(each, jsontext.encode(node(each)))
    removed = {position: index[ids[position]] for position in gone}
    rest = index.without({ids[position] for position in gone})
    assert list(rest.with_inserted(removed)) == ids


@examples(15)
@given(trees())
def test_nodes_come_back_as_they_were(value: dict[str, Any]) -> None:
    index = NodeIndex()
    for node_id, each in value["nodes"].items():
        index[node_id] = each
    assert dict(index.items()) == value["nodes"]
    assert {each: jsontext.decode(index.block(each)) for each in index} == value["nodes"]


def test_plain_text_joins_text_blocks_without_a_separator() -> None:
    """A3, A24."""
    content = [{"type": "text", "text": "a "}, {"type": "image", "ref": "x"}, {"type": "text", "text": " b"}]
    assert plain_text({"content": content}) == "a  b"
    assert plain_text({"content": []}) == ""
