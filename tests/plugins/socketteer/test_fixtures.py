"""Every fixture: what is written is what was read, as values and, since the app laid them out, as bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from loomconv import jsontext
from loomconv.errors import InvalidDocument
from tests.plugins.socketteer.harness import nodes_of, outline, read, tree_of, write

FOLDER = Path(__file__).parents[3] / "fixtures" / "socketteer"
# No trees: see test_shapes.
OTHERS = {"app_data.json", "empty-array.json", "flat-export.txt", "model_responses-2023-02-14-18.16.30.json"}
# Repaired or cut: what they say is not what comes out.
CHANGED = {"broken-truncated.json", "cp1252.json", "duplicate-ids.json", "nan.json"}
FILES = [path for path in sorted(FOLDER.rglob("*.json*")) if path.name not in OTHERS and "backups" not in path.parts]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_what_is_written_is_what_was_read(path: Path) -> None:
    data = path.read_bytes()
    document, context = read(path)
    text, report = write(document, jsontext.recognise_layout(data, data[-8:]))
    assert not report.findings or path.name == "decimal-ids.json"
    if path.name in CHANGED:
        assert context.touched or context.truncated
    else:
        assert text == data


@pytest.mark.parametrize(
    "path",
    # What is beside a file is not beside its copy.
    [path for path in FILES if "with-sidecar" not in path.parts],
    ids=lambda path: path.name,
)
def test_what_is_read_again_is_what_was_written(path: Path) -> None:
    document, context = read(path)
    again = tree_of(write(document)[0])
    first, second = outline(document.trees[0]), outline(again)
    if context.touched:
        for each in (first, second):
            for node in each["nodes"].values():
                node.pop("extensions", None)
    assert second == first


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_what_is_no_tree_is_refused_with_a_next_step(name: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        read(FOLDER / name)
    assert "Give the tree file itself" in str(refused.value)


@pytest.mark.parametrize("name", ["zipped.json", "hoisted.json", "hoisted-nested.json", "hoisted-leaf.json"])
def test_folded_trees_unfold_to_the_tree(name: str) -> None:
    tree, plain = tree_of(FOLDER / name), tree_of(FOLDER / "folded-none.json")
    assert set(tree.nodes.ids) == set(plain.nodes.ids)
    graph, other = tree.graph, plain.graph
    for node_id in plain.nodes.ids:
        assert graph.parent_of(node_id) == other.parent_of(node_id)
        # The app moves a folded chain behind its siblings.
        assert sorted(graph.children_of(node_id)) == sorted(other.children_of(node_id))
        assert tree.nodes[node_id]["content"] == plain.nodes[node_id]["content"]


def test_zones_follow_from_ids() -> None:
    nodes = nodes_of(FOLDER / "zones.json")
    stamped = [node for node in nodes.values() if "createdAt" in node]
    assert len(stamped) == 8
    assert tree_of(FOLDER / "zones.json").fields["extensions"]["socketteer-loom"]["zone"] == "-07:00"


def test_answers_beside_the_tree_are_found_and_stay_there() -> None:
    path = FOLDER / "with-sidecar" / "tree.json"
    document, context = read(path)
    tree = document.trees[0]
    models = [tree.nodes[each].get("generation", {}).get("model") for each in tree.nodes.ids]
    assert len([model for model in models if model]) == 2
    assert context.report.codes["read.sidecar"] == 1
    assert b"completions" not in write(document)[0]
    alone = nodes_of(path, options={"sidecars": "no"})
    assert all("model" not in node.get("generation", {}) for node in alone.values())
