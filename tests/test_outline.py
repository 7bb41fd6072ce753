from __future__ import annotations

from typing import Any

from loomconv.model import Tree, TreeBuilder
from loomconv.outline import outline, spread


def grow(edges: list[tuple[str, str]], current: str | None = None, text: str | None = None) -> Tree:
    """A tree of the nodes that the edges name; roots are the nodes without a parent."""
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    children = {child for _, child in edges}
    fields: dict[str, Any] = {"id": "t", "rootNodeIds": [name for name in names if name not in children]}
    if current is not None:
        fields["currentNodeId"] = current
    builder = TreeBuilder(fields)
    for name in names:
        content = [{"type": "text", "text": name if text is None else text}]
        builder.add_node(name, {"id": name, "content": content, "author": {"role": "human"}})
    for parent, child in edges:
        builder.add_edge(parent, child)
    return builder.build()


def shown(tree: Tree, **limits: int) -> list[tuple[str | None, int]]:
    return [(line.node, line.indent) for line in outline(tree, **limits)]


def test_a_chain_is_not_indented() -> None:
    assert shown(grow([("a", "b"), ("b", "c")])) == [("a", 0), ("b", 0), ("c", 0)]


def test_branches_are_indented_and_marked() -> None:
    lines = outline(grow([("a", "b"), ("b", "c"), ("a", "d"), ("d", "e"), ("d", "f")]))
    assert [(line.node, line.indent, line.branch) for line in lines] == [
        ("a", 0, False),
        ("b", 1, True),
        ("c", 1, False),
        ("d", 1, True),
        ("e", 2, True),
        ("f", 2, True),
    ]


def test_several_roots_are_branches() -> None:
    lines = outline(grow([("a", "b"), ("x", "y")]))
    assert [(line.node, line.branch) for line in lines] == [("a", True), ("b", False), ("x", True), ("y", False)]


def test_wide_trees_are_cut() -> None:
    lines = outline(grow([("a", f"n{i}") for i in range(100)]), width=3)
    assert [(line.node, line.below) for line in lines] == [("a", 0), ("n0", 0), ("n1", 0), ("n2", 0), (None, 97)]
    assert lines[0].children == 100


def test_deep_trees_are_cut_and_counted() -> None:
    lines = outline(grow([(str(i), str(i + 1)) for i in range(50_000)]), levels=3)
    assert [(line.node, line.below) for line in lines] == [("0", 0), ("1", 0), ("2", 49_998)]


def test_the_number_of_lines_is_bounded() -> None:
    edges = [(f"n{(i - 1) // 3}", f"n{i}") for i in range(1, 1000)]
    assert sum(line.node is not None for line in outline(grow(edges), lines=10)) == 10


def test_the_way_to_the_current_node_is_shown() -> None:
    edges = [("a", f"n{i}") for i in range(20)] + [("n15", "deep"), ("deep", "deeper")]
    lines = outline(grow(edges, current="deep"), width=2, lines=5)
    assert [line.node for line in lines if line.on_path] == ["a", "n15", "deep"]
    assert [line.node for line in lines if line.current] == ["deep"]
    assert [line.node for line in lines] == ["a", "n0", "n1", "n15", "deep", None]


def test_text_is_one_short_line() -> None:
    (line, _) = outline(grow([("a", "b")], text="  one\n\ttwo " + "x" * 5000))
    assert line.text.startswith("one two xxx")
    assert line.text.endswith("…")
    assert len(line.text) == 80


def test_a_key_is_not_shown() -> None:
    assert outline(grow([("a", "b")], text="sk-" + "x" * 30))[0].text == "[a key or password]"


def test_levels_and_sizes_by_first_parents() -> None:
    # `c` is reached from `a` before its first parent `b` is looked at.
    tree = grow([("b", "c"), ("a", "c"), ("r", "a"), ("r", "b")])
    extent = spread(tree)
    at = tree.nodes.ordinals
    assert [extent.level[at[name]] for name in ("r", "a", "b", "c")] == [1, 2, 2, 3]
    assert [extent.size[at[name]] for name in ("r", "a", "b", "c")] == [4, 1, 2, 1]


def test_an_empty_tree_has_no_lines() -> None:
    assert outline(TreeBuilder({"id": "t", "rootNodeIds": []}).build()) == []
