"""Folded and hoisted trees: unfolded on reading, folded again where nothing has changed (dossier §1.6)."""

from __future__ import annotations

from typing import Any

from loomconv import jsontext
from tests.plugins.socketteer.harness import OWN, back, entry, file, notices, read, tree_of, write, written


def mask(head: dict[str, Any], tail: str, text: str, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A mask as `zip` makes it."""
    for child in children:
        child["parent_id"] = "mask-" + tail
    head["parent_id"] = None
    raw = {"id": "mask-" + tail, "text": text, "children": list(children), "mutable": False}
    return {
        **raw,
        "masked_head": head,
        "tail_id": tail,
        "text_attributes": {"nav_preview": "x"},
        "visited": True,
        **more,
    }


def zipped() -> dict[str, Any]:
    """a → (b → c, with b2 beside c) → d, the middle folded."""
    folded = mask(entry("b", "B", entry("c", "C"), entry("b2", "side")), "c", "BC", entry("d", "D"))
    return file(entry("a", "A", folded, entry("e", "E")), selected_node_id="mask-c")


def test_a_chain_is_unfolded_where_its_mask_was() -> None:
    tree = tree_of(zipped())
    assert tree.nodes.ids == ["a", "b", "c", "d", "b2", "e"]
    assert tree.graph.children_of("a") == ["b", "e"]
    assert tree.graph.children_of("b") == ["c", "b2"]
    assert tree.graph.children_of("c") == ["d"]
    assert tree.fields["currentNodeId"] == "c"
    (fold,) = tree.fields["extensions"][OWN]["folds"]
    assert fold.pop("entry").keys() == {"id", "text_attributes", "visited", "order"}
    assert fold == {"head": "b", "tail": "c", "nodes": 3}


def test_a_chain_is_folded_again() -> None:
    assert back(zipped()) == zipped()


def test_texts_of_masks_follow_the_chain() -> None:
    document, _ = read(zipped())
    node = document.trees[0].nodes["b"]
    node["content"] = [{"type": "text", "text": "new"}]
    document.trees[0].nodes["b"] = node
    folded = written(document)["root"]["children"][0]["children"][0]
    assert folded["text"] == "newC"
    assert folded["masked_head"]["text"] == "new"


def test_a_chain_with_a_new_branch_is_written_unfolded() -> None:
    document, _ = read(zipped())
    tree = document.trees[0]
    tree.nodes["n"] = {"id": "n", "content": [{"type": "text", "text": "N"}], "author": {"role": "human"}}
    tree.edges.add(tree.nodes.ordinals["b"], tree.nodes.ordinals["n"])
    text, _ = write(document)
    assert b"masked_head" not in text
    assert tree_of(text).graph.children_of("b") == ["c", "b2", "n"]
    # The mask was selected; its tail takes its place.
    assert jsontext.decode(text)["selected_node_id"] == "c"


def test_a_new_node_below_the_chain_hangs_on_the_mask() -> None:
    document, _ = read(zipped())
    tree = document.trees[0]
    tree.nodes["n"] = {"id": "n", "content": [{"type": "text", "text": "N"}], "author": {"role": "human"}}
    tree.edges.add(tree.nodes.ordinals["c"], tree.nodes.ordinals["n"])
    folded = written(document)["root"]["children"][0]["children"][0]
    assert [child["id"] for child in folded["children"]] == ["d", "n"]
    assert folded["children"][1]["parent_id"] == "mask-c"


def hoisted(times: int) -> dict[str, Any]:
    """A chain n0 → n1 → …, hoisted again and again: each mask heads the next one."""
    root: dict[str, Any] = file(entry("n0", "0"))["root"]
    for number in range(times):
        child = entry(f"n{number + 1}", str(number + 1))
        text = root["text"] + str(number)
        above = dict(root)
        deepest = above["children"][0]
        deepest["children"] = []
        root = mask(above, f"n{number}", text, child, hoisted=True)
        del above["parent_id"]
    return {"root": root}


def test_hoisted_trees() -> None:
    value = hoisted(3)
    tree = tree_of(value)
    assert tree.roots == ["n0"]
    assert tree.nodes.ids == ["n0", "n1", "n2", "n3"]
    assert back(value) == value


def test_deeply_hoisted_trees_cost_no_recursion() -> None:
    value = hoisted(400)
    tree = tree_of(jsontext.write_exact(value))
    assert len(tree.nodes) == 401
    text, _ = write(read(jsontext.write_exact(value))[0], jsontext.COMPACT)
    assert text == jsontext.write_exact(value)


def test_a_mask_whose_tail_is_a_mask() -> None:
    inner = mask(entry("b", "B", entry("c", "C")), "c", "BC")
    outer = mask(inner, "mask-c", "BC", entry("d", "D"), id="outer")
    outer["children"][0]["parent_id"] = "outer"
    value = file(entry("a", "A", outer))
    tree = tree_of(value)
    assert tree.graph.children_of("c") == ["d"]
    assert back(value) == value


def test_a_chain_without_an_end_stays_on_its_mask() -> None:
    value = file(entry("a", "A", mask(entry("b", "B"), "c", "B", entry("d", "D"), tail_id="nobody")))
    tree = tree_of(value)
    assert tree.graph.children_of("mask-c") == ["b", "d"]
    assert notices(value, "read.fold-unresolved") == ["mask-c"]
    assert back(value) == value


def test_ids_that_occur_twice_mean_the_one_in_the_chain() -> None:
    value = file(entry("c", "other"), entry("a", "A", mask(entry("b", "B", entry("c", "C")), "c", "BC", entry("d"))))
    document, context = read(value)
    tree = document.trees[0]
    again = tree.graph.children_of("b")[0]
    assert again != "c"
    assert tree.graph.children_of(again) == ["d"]
    assert context.report.codes["read.duplicate-id"] == 1
