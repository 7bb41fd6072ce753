from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomconv.errors import LoomconvError, UsageFault
from loomconv.format import Capabilities, Confidence, Format, Probe, ReadContext, Sink, WriteContext, hookimpl
from loomconv.model import Document
from loomconv.options import ConversionOptions
from loomconv.registry import Registry
from loomconv.roundtrip import round_trip
from loomconv.storage import Source
from loomconv_plugins import openloom_2

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openloom-2"


class Page(Format):
    """One tree a file; keeps unknown keys of a tree, its nodes and its edges."""

    name = "page"
    title = "A page"
    namespace = "page"
    forgetful = False
    capabilities = Capabilities(
        roots="many", parents="many", source_roles="any", edge_types="any", edge_details=True, blocks="any",
        block_list=True, roles="any", author_names="any", meta="any", generation="any", modes="any", tree_fields="any",
        tree_times="exact", node_times="exact", edit_lineage=True, agents=True, unknown_keys=("tree", "node", "edge"),
    )  # fmt: skip

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(100, "a page") if probe.keys == {"page"} else None

    def read(self, source: Source, context: ReadContext) -> Document:
        page = context.load_json(source)["page"]
        builder = context.builder({key: value for key, value in page.items() if key not in ("nodes", "edges")})
        for number, (node_id, node) in enumerate(page["nodes"].items()):
            if self.forgetful and number % 2:
                node["content"] = []
            builder.add_node(node_id, node)
        for edge in page["edges"]:
            builder.append_edge(edge)
        return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        tree = document.trees[0]
        page = {**tree.fields, "nodes": dict(tree.nodes), "edges": list(tree.edges)}
        sink.write(json.dumps({"page": page}).encode())


class ForgetfulPage(Page):
    """Loses the text of every second node."""

    name = "forgetful-page"
    forgetful = True


class Pages:
    @hookimpl
    def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
        register(Page())
        register(ForgetfulPage())


@pytest.fixture
def registry() -> Registry:
    return Registry([("openloom-2", openloom_2), ("pages", Pages())])


def test_the_same_format_gives_the_same_bytes(registry: Registry) -> None:
    trip = round_trip(FIXTURES / "full.openloom", ["openloom-2"], registry=registry)
    assert trip.grade == "bytes"
    assert trip.formats == ("openloom-2",) * 3
    assert trip.differences == []
    assert [step.target and step.target["name"] for step in trip.steps] == ["step-1.openloom", "step-2.openloom"]


def test_several_files_come_back_as_one(registry: Registry) -> None:
    trip = round_trip(FIXTURES / "several-trees.openloom", ["page"], registry=registry)
    assert len(trip.files[0]) == 3
    assert len(trip.files[1]) == 1
    assert {each.pointer.split("/")[1] for each in trip.differences} <= {"extensions"}


def test_every_difference_is_listed(registry: Registry, tmp_path: Path) -> None:
    trip = round_trip(FIXTURES / "minimal.openloom", ["page", "forgetful-page"], registry=registry)
    assert trip.grade == "none"
    assert trip.formats == ("openloom-2", "page", "forgetful-page", "openloom-2")
    assert "/trees/0/nodes/n2/content/0" in {each.pointer for each in trip.differences}
    assert "/trees/0/nodes/n1/content/0" not in {each.pointer for each in trip.differences}
    capped = round_trip(FIXTURES / "minimal.openloom", ["forgetful-page"], registry=registry, cap=0)
    assert capped.differences == []
    assert capped.comparison.total > 0


def test_the_outcome_is_json(registry: Registry) -> None:
    value: dict[str, Any] = round_trip(FIXTURES / "minimal.openloom", ["openloom-2"], registry=registry).to_json()
    assert json.loads(json.dumps(value)) == value
    assert value["grade"] == "bytes"
    assert value["source"] == "minimal.openloom"
    assert len(value["steps"]) == 2
    # Nothing in it depends on the machine.
    assert str(FIXTURES) not in json.dumps(value)
    assert "loomconv-" not in json.dumps(value)


def test_parts_left_out_are_differences(registry: Registry) -> None:
    options = ConversionOptions(without=frozenset({"system-context"}))
    trip = round_trip(FIXTURES / "full.openloom", ["openloom-2"], options=options, registry=registry)
    assert "/trees/1/systemContext" in {each.pointer for each in trip.differences}


def test_one_tree_of_several(registry: Registry) -> None:
    options = ConversionOptions(tree="2")
    trip = round_trip(FIXTURES / "several-trees.openloom", ["page"], options=options, registry=registry)
    assert "/trees/1" in {each.pointer for each in trip.differences}


def test_what_cannot_be_asked_for(registry: Registry) -> None:
    with pytest.raises(UsageFault, match="no format to go through"):
        round_trip(FIXTURES / "minimal.openloom", [], registry=registry)
    with pytest.raises(UsageFault, match="no format 'nope'"):
        round_trip(FIXTURES / "minimal.openloom", ["nope"], registry=registry)


def test_a_failing_step_is_named(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Page, source: Source, context: ReadContext) -> Document:
        raise LoomconvError("no good", source=source.name)

    monkeypatch.setattr(Page, "read", fail)
    with pytest.raises(LoomconvError) as caught:
        round_trip(FIXTURES / "minimal.openloom", ["page"], registry=registry)
    assert str(caught.value.source).endswith("minimal.openloom, step 2 (page to openloom-2)")
