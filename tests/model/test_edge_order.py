"""Plain edges stand by parents whatever the order in which they came, as long as that says nothing."""

from __future__ import annotations

import random

from loomconv.model import Tree, TreeBuilder
from tests.made import link, node


def built(pairs: list[tuple[str, str]], ids: str = "abcdefgh") -> Tree:
    builder = TreeBuilder({"rootNodeIds": ["a"]})
    for each in ids:
        builder.add_node(each, node(each))  # type: ignore[arg-type]
    for pair in pairs:
        builder.add_edge(*pair)
    return builder.build()


def pairs_of(tree: Tree) -> list[tuple[str, str]]:
    return [(edge["sources"][0]["nodeId"], edge["targetNodeId"]) for edge in tree.edges]


BY_PARENTS = [("a", "c"), ("a", "b"), ("c", "d"), ("c", "f"), ("f", "g"), ("b", "e"), ("b", "h")]


def test_every_order_of_parents_gives_the_same_edges() -> None:
    chance = random.Random(5)
    for _ in range(50):
        parents = [*dict.fromkeys(parent for parent, _ in BY_PARENTS)]
        chance.shuffle(parents)
        mixed = sorted(BY_PARENTS, key=lambda pair: parents.index(pair[0]))
        assert pairs_of(built(mixed)) == BY_PARENTS
    assert pairs_of(built(BY_PARENTS)) == BY_PARENTS


def test_an_order_that_says_something_is_kept() -> None:
    several_parents = [("b", "c"), ("a", "c"), ("a", "b")]
    assert pairs_of(built(several_parents)) == several_parents
    ring = [("b", "c"), ("c", "b"), ("a", "d")]
    assert pairs_of(built(ring)) == ring
    nowhere = [("b", "c"), ("a", "b"), ("ghost", "d")]
    assert pairs_of(built(nowhere)) == nowhere


def test_edges_as_objects_stay_in_their_order() -> None:
    builder = TreeBuilder({"rootNodeIds": ["a"]})
    for each in "abc":
        builder.add_node(each, node(each))  # type: ignore[arg-type]
    builder.append_edge(link("b", "c"))  # type: ignore[arg-type]
    builder.add_edge("a", "b")
    assert pairs_of(builder.build()) == [("b", "c"), ("a", "b")]
