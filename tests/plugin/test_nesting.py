"""Nested objects, taken apart and put together at any depth."""

from __future__ import annotations

from typing import Any

from loomconv.plugin import flat_when_deep, jsontext, nest, unnest
from tests.made import link, node, tree_of


def test_what_is_above_comes_before_what_is_below_in_file_order() -> None:
    items = [{"n": 1, "in": [{"n": 2, "in": [{"n": 3}]}, {"n": 4}]}, 5, {"n": 6, "in": "none"}]
    found = list(unnest(items, "in"))
    numbers = [each.item["n"] if isinstance(each.item, dict) else each.item for each in found]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert [each.depth for each in found] == [1, 2, 3, 2, 1, 1]
    assert found[2].above is found[1] and found[4].above is None


def test_what_is_below_can_be_left_out() -> None:
    seen = []
    for place in unnest([{"n": 1, "in": [{"n": 2}]}, {"n": 3}], "in"):
        seen.append(place.item["n"])
        place.skip = place.item["n"] == 1
    assert seen == [1, 3]


def test_there_and_back_at_any_depth() -> None:
    count = 20_000
    nodes = [node(f"n{number}", str(number)) for number in range(count)]
    tree = tree_of(nodes, [link(f"n{number - 1}", f"n{number}") for number in range(1, count)], rootNodeIds=["n0"])
    (top,) = nest(tree, "in", lambda each: {"id": each["id"]})
    assert [place.item["id"] for place in unnest([top], "in")] == tree.nodes.ids
    assert flat_when_deep(jsontext.TWO_SPACES, tree).indent is None


def test_children_stand_in_their_order_and_fill_the_list_that_is_there() -> None:
    tree = tree_of([node(each) for each in "abcd"], [link("a", "c"), link("a", "b")], rootNodeIds=["d", "a"])

    def item(each: Any) -> dict[str, Any]:
        return {"in": None, "id": each["id"]} if each["id"] == "a" else {"id": each["id"]}

    assert nest(tree, "in", item) == [{"id": "d"}, {"in": [{"id": "c"}, {"id": "b"}], "id": "a"}]
    assert flat_when_deep(jsontext.TWO_SPACES, tree) is jsontext.TWO_SPACES
