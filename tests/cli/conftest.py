"""A poor format of our own, installed beside the built-in ones, and ways to run the command line."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from loomconv.cli.program import program
from loomconv.format import Capabilities, Confidence, Format, Option, Probe, ReadContext, Sink, WriteContext, hookimpl
from loomconv.model import Document, Node, plain_text
from loomconv.registry import Registry
from loomconv.storage import Source
from loomconv_plugins import openloom_2

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "openloom-2"


class Cards(Format):
    """`{"cards": [[id, parent or null, text], …]}`: keeps no key that it does not know."""

    name = "cards"
    title = "Stack of cards"
    suffixes = (".cards",)
    namespace = "cards"
    capabilities = Capabilities(roots="many", modes=("dialogue", "buffer"))
    options = (Option("case", "How texts are written.", ("same", "upper"), "same", "write"),)

    def detect(self, probe: Probe) -> Confidence | None:
        if "wild cards" in probe.keys:
            return Confidence(50, "cards, perhaps")
        return Confidence(90, "a list of cards") if "cards" in probe.keys else None

    def read(self, source: Source, context: ReadContext) -> Document:
        value = context.load_json(source)
        if value.get("fault"):
            raise KeyError(value["fault"])
        builder = context.builder({"id": "cards", "title": ""})
        for node_id, parent, text in value["cards"]:
            node: Any = {"id": node_id, "content": [{"type": "text", "text": text}], "author": {"role": "human"}}
            builder.add_node(node_id, node)
            if parent is not None:
                builder.add_edge(parent, node_id)
        return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        tree = document.trees[0]
        rows = [[key, tree.graph.parent_of(key), self._text(node, context)] for key, node in tree.nodes.items()]
        sink.write(json.dumps({"cards": rows}).encode())

    @staticmethod
    def _text(node: Node, context: WriteContext) -> str:
        text = plain_text(node)
        return text.upper() if context.options["case"] == "upper" else text


class WildCards(Cards):
    name = "wild-cards"
    suffixes = (".cards",)
    options = ()

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(50, "wild cards, perhaps") if "wild cards" in probe.keys else None


class Plugin:
    @hookimpl
    def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
        register(Cards())
        register(WildCards())

    @hookimpl
    def loomconv_register_commands(self, cli: click.Group) -> None:
        @cli.command("shuffle", short_help="Shuffle cards.")
        def shuffle() -> int:
            click.echo("shuffled")
            return 0

        cli.add_command(click.Command("convert", callback=lambda: click.echo("not ours")))


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, with OpenLoom 2.0 and the cards; `stdin` is what it reads."""
    registry = Registry([("openloom-2", openloom_2), ("cards", Plugin())])
    monkeypatch.setattr("loomconv.registry.registry._default", {("", ""): registry})
    for name in ("SOURCE_DATE_EPOCH", "LOOMCONV_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("convert", "inspect", "validate", "roundtrip"):
        program.get_command(click.Context(program), name).__dict__.pop("of_formats", None)  # type: ignore[union-attr]
    fresh = copy.copy(program)
    fresh.commands, fresh._asked = {}, False

    def call(*arguments: str | Path, stdin: bytes = b"") -> Result:
        result = CliRunner().invoke(fresh, [str(each) for each in arguments], input=stdin)
        assert "Traceback" not in result.stderr
        return result

    return call


@pytest.fixture
def simple(tmp_path: Path) -> Path:
    """A loom of three nodes that OpenLoom 2.0 holds."""
    path = tmp_path / "simple.openloom"
    path.write_bytes((FIXTURES / "minimal.openloom").read_bytes())
    return path
