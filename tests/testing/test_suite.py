"""The conformance suite: it passes a good format, and finds in a bad one what is bad about it, with advice."""

from __future__ import annotations

import copy
import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from loomconv.plugin import Capabilities, Confidence, Document, Format, Probe, ReadContext, Sink, Source, WriteContext
from loomconv.registry import Registry
from loomconv.schema import load_schema
from loomconv.testing import (
    FormatConformance,
    Nonconformance,
    Subject,
    checks_of,
    fidelity_card,
    run_check,
    samples,
)
from loomconv_plugins import openloom_1, openloom_2
from tests import outline
from tests.outline import Outline

REGISTRY = Registry([("openloom-2", openloom_2), ("openloom-1", openloom_1)])


def subject_of(chosen: Format, *fixtures: Path) -> Subject:
    return Subject.of(chosen, fixtures, registry=REGISTRY, effort=0.3)


@pytest.mark.slow
class TestOutline(FormatConformance):
    """A format of plain text without ids conforms."""

    format = Outline()
    registry = REGISTRY


# -- bad formats -------------------------------------------------------------------------------------------------------


class Claims(Outline):
    capabilities = Capabilities(roots="many", ids="none", meta=("bookmarked",), tree_fields=("title",))


class Silent(Outline):
    """Every text is trimmed on the way out."""

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        kept = copy.copy(document)
        for tree in kept.trees:
            for key in tree.nodes.ids:
                node: Any = tree.nodes[key]
                tree.nodes[key] = {**node, "content": [{"type": "text", "text": node["content"][0]["text"].strip()}]}
        super().write(kept, sink, context)


class Grabs(Outline):
    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(100, "everything is mine")


class Blind(Outline):
    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(90, "by its name") if probe.name.endswith(".outline") else None


class Fragile(Outline):
    def detect(self, probe: Probe) -> Confidence | None:
        return super().detect(probe) if probe.value["app"] else None


class Crashes(Outline):
    def read(self, source: Source, context: ReadContext) -> Document:
        source.data[:].decode()  # type: ignore[union-attr]
        return super().read(source, context)


class Random(Outline):
    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        super().write(document, sink, context)
        sink.write(f"\n+ {json.dumps(str(uuid.uuid4()))}\n".encode())


class Slow(Outline):
    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        super().write(document, sink, context)
        end = time.process_time() + len(document.trees[0].nodes) ** 2 * 4e-8
        while time.process_time() < end:
            pass


class Recursive(Outline):
    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        tree = document.trees[0]

        def go(ordinal: int) -> None:
            for child in tree.graph.children(ordinal):
                go(child)

        for root in tree.root_ordinals:
            go(root)
        super().write(document, sink, context)


class Unsound(Outline):
    def schema(self) -> dict[str, Any]:
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "nonsense"}


BAD: list[Any] = [
    (Claims, "capabilities", "`meta` claims it, and it does not come back", "take it out of `meta`"),
    (Silent, "capabilities", "text: `blocks` claims it", "write and read it"),
    (Silent, "residue", "came back as", "raw form"),
    (Grabs, "leaves-others", "a file of openloom-1 is claimed with 100 %", "look for a mark"),
    (Blind, "detects-own", "the file is not recognised", "by the content"),
    (Fragile, "detects-quietly", "`detect` raises", "isinstance"),
    (Crashes, "malformed-written", "failed while reading (UnicodeDecodeError", "InvalidDocument"),
    (Random, "deterministic", "other bytes the second time", "mint_ulid"),
    pytest.param(Slow, "linear", "times as long", "`in` and `index`", marks=pytest.mark.slow, id="Slow-linear"),
    (Recursive, "deep", "cannot be written and read", "never by recursion"),
    (Unsound, "schema", "is not valid", "JSON Schema"),
]


@pytest.mark.parametrize(("bad", "name", "what", "advice"), BAD)
def test_what_is_bad_is_found_with_advice(bad: Any, name: str, what: str, advice: str, tmp_path: Path) -> None:
    subject = subject_of(bad())
    (check,) = (each for each in checks_of(subject) if each.name == name)
    with pytest.raises(Nonconformance) as caught:
        run_check(check, subject, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"not so: {check.title}")
    assert what in said
    assert advice in said
    assert "advice:" in said and "where:" in said


# -- fixtures ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.outline"
    path.write_text('!outline\n+ "a"\n\t- "b "\n+ "c"\n')
    return path


def run_one(chosen: Format, fixture: Path, name: str, folder: Path) -> None:
    subject = subject_of(chosen, fixture)
    (check,) = (each for each in checks_of(subject) if each.name == name and each.fixture is not None)
    run_check(check, subject, folder)


@pytest.mark.parametrize("name", ["fixture-detected", "fixture-valid", "get-put", "comes-home", "cut", "damaged"])
def test_a_good_fixture_passes(name: str, walk: Path, tmp_path: Path) -> None:
    run_one(Outline(), walk, name, tmp_path)


@pytest.mark.parametrize(
    ("bad", "name"), [(Blind, "fixture-detected"), (Silent, "get-put"), (Crashes, "cut"), (Crashes, "damaged")]
)
def test_a_fixture_shows_what_is_bad(bad: Callable[[], Format], name: str, walk: Path, tmp_path: Path) -> None:
    walk.write_text('!outline\n+ "é"\n\t- "b "\n+ "c"\n')
    with pytest.raises(Nonconformance):
        run_one(bad(), walk, name, tmp_path)


# -- the card ----------------------------------------------------------------------------------------------------------


def test_the_card_is_true_and_by_its_schema(walk: Path) -> None:
    subject = subject_of(Outline(), walk)
    card = fidelity_card(subject)
    value = json.loads(json.dumps(card.to_json()))
    Draft202012Validator(load_schema("loomconv_schemas", "fidelity-card.schema.json")).validate(value)
    by_name = {each["name"]: each for each in value["features"]}
    assert by_name["text"] == {"name": "text", "in_file": "held", "returns": True}
    assert by_name["hyperedges"] == {"name": "hyperedges", "in_file": "reported", "returns": True}
    assert set(value["journeys"]) == {"openloom-1", "openloom-2"}
    text = card.to_markdown()
    assert "| text | held | returns |" in text
    assert text.endswith("\n") and "lost" not in text


def test_the_card_of_a_bad_format_says_so() -> None:
    text = fidelity_card(subject_of(Claims())).to_markdown()
    assert "| meta: bookmarked | **claimed and lost** |" in text


def test_a_format_of_the_same_name_takes_the_place_of_the_installed_one() -> None:
    registry = Registry([("openloom-2", openloom_2), ("outline", outline)])
    subject = Subject.of(Claims(), registry=registry)
    assert type(subject.registry.formats["outline"]) is Claims
    assert type(registry.formats["outline"]) is Outline
    same = Subject.of(registry.formats["outline"], registry=registry)
    assert same.registry is registry


def test_samples_of_every_format(tmp_path: Path) -> None:
    found = [name for name, _ in samples(REGISTRY, REGISTRY.formats["openloom-2"], tmp_path, without="openloom-2")]
    assert set(found) == {"openloom-1"} and len(found) >= 3


# -- the pytest plugin -------------------------------------------------------------------------------------------------

MODULE = """
from loomconv.testing import FormatConformance
from loomconv.registry import Registry
from loomconv_plugins import openloom_2
from tests.testing.test_suite import Claims

class TestClaims(FormatConformance):
    format = Claims()
    registry = Registry([("openloom-2", openloom_2)])
    exceptions = EXCEPTIONS
"""


def run_pytest(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, exceptions: dict[str, str], *arguments: str
) -> pytest.RunResult:
    # Run in a process of its own: modules are shared with other tests here.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(MODULE.replace("EXCEPTIONS", repr(exceptions)))
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", *arguments)


pytest_plugins = ["pytester"]


def test_a_failure_reads_like_advice(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_pytest(pytester, monkeypatch, {}, "-k", "capabilities")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "take it out of `meta`" in text
    assert "run_check(" not in text, "no traceback"


def test_an_exception_has_to_be_needed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run_pytest(pytester, monkeypatch, {"capabilities": "for a test"}, "-k", "capabilities").assert_outcomes(xfailed=1)
    run_pytest(pytester, monkeypatch, {"put-get": "for a test"}, "-k", "put-get").assert_outcomes(failed=1)
    result = run_pytest(pytester, monkeypatch, {"made-up": "for a test"})
    assert "names checks that there are not: made-up" in result.stdout.str()
