"""Checking content hashes: one verdict a node, by a scheme that a plugin brings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from click.testing import CliRunner

from loomconv.cli.program import program
from loomconv.format import hookimpl
from loomconv.inspection import inspect_file
from loomconv.model import Document, Tree
from loomconv.provenance import HashScheme, HashVerdict, check_hashes
from loomconv.registry import Registry
from loomconv_plugins import openloom_2
from tests.made import as_json, document_of, node, tree_of


class Lengths(HashScheme):
    """A made-up scheme: the hash is the length of the text."""

    name = "lengths"

    def claims(self, document: Document) -> bool:
        return bool(document.fields.get("generator") == {"name": "Lengths"})

    def verify(self, document: Document, tree: Tree) -> Iterator[HashVerdict]:
        for node_id, each in tree.nodes.items():
            stated = (each.get("generation") or {}).get("contentHash")
            if stated is not None:
                same = stated == str(len(each["content"][0]["text"]))
                yield HashVerdict(node_id, "verified" if same else "mismatch", "" if same else "The text was edited.")


class Plugin:
    @hookimpl
    def loomconv_register_hash_schemes(self, register: Callable[[HashScheme], None]) -> None:
        register(Lengths())


def _document(generator: str) -> Document:
    nodes = [
        node("a", "1234", generation={"contentHash": "4"}),
        node("b", "1234", generation={"contentHash": "5"}),
        node("c", "1234"),
    ]
    return document_of(tree_of(nodes, rootNodeIds=["a", "b", "c"]), generator={"name": generator})


def test_each_node_has_one_verdict() -> None:
    (check,) = check_hashes(_document("Lengths"), [Lengths()])
    assert (check.scheme, check.counts) == ("lengths", {"verified": 1, "mismatch": 1, "none": 1})
    assert check.to_json()["nodes"]["b"] == {"status": "mismatch", "detail": "The text was edited."}


def test_without_a_scheme_nothing_is_claimed() -> None:
    (check,) = check_hashes(_document("Somebody"), [Lengths()])
    assert (check.scheme, check.counts) == (None, {"unknown-scheme": 2, "none": 1})


def test_inspection_asks_the_plugins(tmp_path: Path) -> None:
    path = tmp_path / "a.openloom"
    path.write_text(json.dumps(as_json(_document("Lengths"))))
    registry = Registry([("openloom-2", openloom_2), ("lengths", Plugin())])
    found = inspect_file(path, registry=registry, verify_hashes=True)
    assert found.hashes is not None
    assert found.to_json()["hashes"][0]["counts"] == {"verified": 1, "mismatch": 1, "none": 1}
    assert "hashes" not in inspect_file(path, registry=registry).to_json()


def test_the_command_names_the_nodes_that_need_a_look(tmp_path: Path) -> None:
    path = tmp_path / "a.openloom"
    path.write_text(json.dumps(as_json(_document("Nobody known"))))
    done = CliRunner().invoke(program, ["inspect", str(path), "--verify-hashes"], standalone_mode=False)
    assert "hashes: 2 unknown scheme, 1 without a hash" in done.output
    assert "    b unknown scheme" in done.output
