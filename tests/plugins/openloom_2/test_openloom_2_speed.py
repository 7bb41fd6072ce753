"""The quick ways of the reader say the same as the careful ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from loomconv import jsontext
from loomconv_plugins.openloom_2 import doubled_keys, envelope
from loomconv_plugins.openloom_2.probe import ProbedNode, probe_node, probe_nodes
from tests.made import node
from tests.plugins.openloom_2.harness import load

# -- keys that are there twice, in a file above the size from which sizes are compared --------------------------------


def large_text() -> str:
    nodes = {f"n{number}": node(f"n{number}", 'word "' * 50) for number in range(4000)}
    nodes["n7"]["x-vendor"] = {"a": ["b"], "c": {"d": "e"}}
    edges: list[dict[str, Any]] = [
        {"type": "continuation", "sources": [{"nodeId": f"n{number - 1}"}], "targetNodeId": f"n{number}"}
        for number in range(1, 4000)
    ]
    edges[5]["extensions"] = {"a": "b"}
    tree = {"id": "t", "title": "T", "agents": {"a": {"name": "A"}}, "rootNodeIds": ["n0"]}
    document = {"format": "open-loom", "version": "2.0", "trees": [{**tree, "nodes": nodes, "edges": edges}]}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


DOUBLES = {
    "in the document": ('"version":"2.0",', '"version":"2.0","version":"2.0",'),
    "in the tree": ('"title":"T",', '"title":"S","title":"T",'),
    "in a field": ('"name":"A"', '"name":"B","name":"A"'),
    "a node": ('"n9":{', '"n9":{"id":"n9"},"n9":{'),
    "in a node": ('"id":"n9",', '"id":"n9","id":"n9",'),
    "in an unknown key": ('"d":"e"', '"d":"f","d":"e"'),
    "in an edge": ('"targetNodeId":"n9"', '"targetNodeId":"n8","targetNodeId":"n9"'),
    "in an edge's extensions": ('"a":"b"', '"a":"c","a":"b"'),
}


@pytest.mark.parametrize("white_space", ["", "\n", " ", "\n\n ", "        "])
@pytest.mark.parametrize("name", DOUBLES)
def test_a_key_that_is_there_twice_is_noticed_wherever_it_stands(name: str, white_space: str) -> None:
    before, after = DOUBLES[name]
    text = large_text().replace('"trees":[', f'"trees":[{white_space}')
    assert before in text
    assert len(text) >= envelope.LARGE
    assert load(text.encode())[1].codes["read.duplicate-key"] == 0
    assert load(text.replace(before, after, 1).encode())[1].codes["read.duplicate-key"] == 1


@pytest.mark.parametrize("change", [str, lambda text: text.replace(',"n', ',\n"n'), lambda text: text + "\n"])
def test_the_strings_of_a_usual_file_are_not_counted(change: Callable[[str], str]) -> None:
    data = change(large_text()).encode()
    assert doubled_keys._has_size_of_parts(envelope.decode_document(data), data)


# -- the look at a node ------------------------------------------------------------------------------------------------

ODD = [
    b"null",
    b"[]",
    b"{}",
    b'{"id":1,"content":[],"author":{"role":"x"}}',
    b'{"id":"a","content":[],"author":{"role":"x"},"generation":1}',
    b'{"id":"a","content":[],"author":{"role":"x"},"generation":{"n":1e999}}',
    b'{"id":"a","content":[],"author":{"role":"\xff"}}',
]


def test_nodes_are_looked_at_alike_together_and_alone() -> None:
    plain = [jsontext.encode({**node(f"n{number}"), "x": number}) for number in range(10)]

    def alone(block: bytes) -> ProbedNode | None:
        try:
            return probe_node(block)
        except (ValueError, RecursionError):
            return None

    for blocks in (plain, [], *([*plain[:3], odd, *plain[3:]] for odd in ODD)):
        assert probe_nodes([msgspec.Raw(block) for block in blocks]) == [alone(block) for block in blocks]
