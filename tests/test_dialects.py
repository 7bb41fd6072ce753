"""Formats that hand files to another format, that write files of several kinds, and that are compared by documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from loomconv.api import convert, load
from loomconv.errors import PluginFault
from loomconv.format import (
    Capabilities,
    Confidence,
    Format,
    Option,
    Probe,
    ReadContext,
    Sink,
    WriteContext,
    hookimpl,
)
from loomconv.model import Document
from loomconv.model.document import Origin, document_json
from loomconv.options import ConversionOptions
from loomconv.registry import Registry
from loomconv.report import Report
from loomconv.roundtrip import round_trip
from loomconv.storage import Source, open_source
from loomconv_plugins import openloom_2
from tests.made import document_of, node, tree_of

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openloom-2"
MARK = b"# dialect\n"
_FULL = Capabilities(
    trees="many", roots="many", document_fields="any", unknown_keys=("document", "tree", "node", "edge")
)


class Dialect(Format):
    """OpenLoom 2.0 behind a first line; a `.poor` file of it has nothing beside plain texts."""

    name = "dialect"
    title = "A dialect"
    namespace = "dialect"
    suffixes = (".dialect", ".poor")
    compared_by = "document"
    capabilities = _FULL
    options = (Option("line", "The first line.", ("short", "long"), "short", "write"),)

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(100, "the first line") if probe.head.startswith(MARK) else None

    def read(self, source: Source, context: ReadContext) -> Document:
        with open_source(bytes(source.data)[len(MARK) :]) as inner:
            return context.read_as("openloom-2", inner)

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        sink.write(MARK)
        context.write_as("openloom-2", document, sink)

    def capabilities_for(self, name: str, options: Mapping[str, str]) -> Capabilities:
        return replace(_FULL, unknown_keys=(), roots="one") if name.endswith(".poor") else _FULL

    def is_rewritten(self, origin: Origin, name: str, options: Mapping[str, str]) -> bool:
        return name.endswith(".poor")


class Plugin:
    @hookimpl
    def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
        register(Dialect())


REGISTRY = Registry([("openloom-2", openloom_2), ("dialect", Plugin())])


def test_another_format_reads_and_writes_what_is_inside(tmp_path: Path) -> None:
    path = tmp_path / "a.dialect"
    convert(FIXTURES / "minimal.openloom", path, registry=REGISTRY)
    assert path.read_bytes().startswith(MARK)
    trees = [document_json(load(each, registry=REGISTRY))["trees"] for each in (path, FIXTURES / "minimal.openloom")]
    assert trees[0] == trees[1]


def test_what_the_other_format_finds_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.dialect"
    path.write_bytes(MARK + (FIXTURES / "gap-a11-version-missing.openloom").read_bytes())
    report = Report()
    load(path, registry=REGISTRY, report=report)
    assert report.codes["read.version"] == 1


def test_a_format_alone_has_no_others() -> None:
    with open_source(b"{}") as source, pytest.raises(PluginFault, match="openloom-2"):
        ReadContext(report=Report()).read_as("openloom-2", source)


def test_capabilities_are_those_of_the_file_to_be_written(tmp_path: Path) -> None:
    document = document_of(tree_of([node("a"), node("b")], rootNodeIds=["a", "b"]))
    path = tmp_path / "two-roots.openloom"
    path.write_text(json.dumps(document_json(document)))
    codes = {
        suffix: set(convert(path, tmp_path / f"a{suffix}", registry=REGISTRY).report.codes)
        for suffix in Dialect.suffixes
    }
    assert "loss.extra-root" in codes[".poor"]
    assert "loss.extra-root" not in codes[".dialect"]


def test_an_untouched_file_is_copied_only_to_its_own_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.dialect"
    path.write_bytes(MARK + json.dumps(json.loads((FIXTURES / "minimal.openloom").read_bytes()), indent=7).encode())
    convert(path, tmp_path / "b.dialect", registry=REGISTRY)
    convert(path, tmp_path / "b.poor", registry=REGISTRY)
    assert (tmp_path / "b.dialect").read_bytes() == path.read_bytes()
    assert (tmp_path / "b.poor").read_bytes() != path.read_bytes()


def test_round_trips_compare_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.dialect"
    path.write_bytes(MARK + (FIXTURES / "minimal.openloom").read_bytes())
    trip = round_trip(path, ["openloom-2"], registry=REGISTRY)
    assert (trip.grade, trip.differences) == ("values", [])
    assert trip.files[-1] == ["step-2.dialect"]
    options = ConversionOptions(without=frozenset({"generation"}))
    path.write_bytes(MARK + (FIXTURES / "full.openloom").read_bytes())
    less = round_trip(path, ["openloom-2"], registry=REGISTRY, options=options)
    assert less.grade == "none"
    assert {each.pointer.split("/")[-1] for each in less.differences} == {"generation"}
