"""Every code of the vocabulary happens: in a fixture as it is read or written elsewhere, or in a case made here.

A new code fails this test until it has its line in one of the two tables.
"""

from __future__ import annotations

import base64
import io
import itertools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomconv import api, jsontext, load
from loomconv.errors import LoomconvError
from loomconv.format import hookimpl
from loomconv.gallery import list_media, report_problems
from loomconv.model import Document
from loomconv.options import ConversionOptions
from loomconv.registry import Registry
from loomconv.report import CODES, Report, add_failure
from loomconv.storage import Limits
from loomconv.validation import validate_file
from loomconv_plugins import openloom_2
from tests import outline
from tests.made import link, node

FIXTURES = Path(__file__).parents[2] / "fixtures"

# Code: fixture, where it is written to, and whether it is the way back that tells.
IN_FIXTURES = {
    "read.bom": "openloom-1/bom.openloom.json",
    "read.bad-encoding": "socketteer/cp1252.json",
    "read.duplicate-key": "openloom-2/gap-a02-duplicate-key.openloom",
    "read.lone-surrogate": "openloom-2/gap-a39-lone-surrogate.openloom",
    "read.non-finite-number": "socketteer/nan.json",
    "read.truncated": "openloom-1/broken-truncated.openloom.json",
    "read.exact": "openloom-1/bom.openloom.json",
    "read.version": "openloom-2/gap-a11-version-missing.openloom",
    "read.bad-value": "openloom-2/repair-bare-tree.openloom",
    "read.bad-text": "openloom-1/text.openloom.json",
    "read.bad-time": "openloom-1/date-iso.openloom.json",
    "read.time-without-zone": "socketteer/zones-unknown.json",
    "read.time-unit": "openloom-1/date-unix-ms.openloom.json",
    "read.duplicate-id": "socketteer/duplicate-ids.json",
    "read.missing-id": "openloom-1/minimal.openloom.json",
    "read.id-mismatch": "openloom-1/key-id.openloom.json",
    "read.children-disagree": "openloom-1/order.openloom.json",
    "read.missing-child": "openloom-1/dangling.openloom.json",
    "read.remembered-child": "openloom-1/current-missing-odd-memory.openloom.json",
    "read.bookmark-disagree": "openloom-1/bookmarks-disagree.openloom.json",
    "read.unknown-author": "openloom-1/author.openloom.json",
    "read.fold-unresolved": "socketteer/zipped-tail-missing.json",
    "read.text-differs": "socketteer/wrapped-completion.json",
    "read.placeholder": "socketteer/generating-placeholder.json",
    "read.sidecar": "socketteer/with-sidecar/tree.json",
    "read.opaque-node": "openloom-2/repair-bad-node.openloom",
    "repair.missing-parent": "openloom-1/orphans.openloom.json",
    "repair.missing-source": "openloom-2/repair-dangling-edges.openloom",
    "repair.missing-target": "openloom-2/repair-dangling-edges.openloom",
    "repair.bad-edge": "openloom-2/repair-bad-edges.openloom",
    "repair.duplicate-edge": "openloom-2/gap-a47-duplicate-edge.openloom",
    "repair.edge-type": "openloom-2/repair-bad-edges.openloom",
    "repair.edge-id": "openloom-2/gap-a02-edge-id-taken.openloom",
    "repair.cycle": "openloom-1/cycle-through-root.openloom.json",
    "repair.bad-root": "openloom-1/root-dangling-several.openloom.json",
    "repair.unlisted-root": "openloom-1/orphans.openloom.json",
    "repair.bad-current": "openloom-2/gap-a19-current.openloom",
    "repair.bad-lineage": "openloom-2/gap-a20-lineage.openloom",
    "repair.bad-reference": "openloom-2/gap-a01-key-differs.openloom",
    "repair.tree-id": "openloom-2/gap-a49-duplicate-tree.openloom",
    "repair.node-id": "openloom-2/repair-empty-id.openloom",
    "repair.title": "openloom-2/repair-bare-tree.openloom",
    "repair.empty-tree": "openloom-2/gap-a21-no-nodes.openloom",
    "repair.content": "openloom-2/gap-a23-content.openloom",
    "repair.author": "openloom-2/gap-a28-author.openloom",
    "repair.meta": "openloom-2/gap-a16-rating.openloom",
    "loss.extra-tree": "openloom-2/gap-a49-duplicate-tree.openloom > openloom-1",
    "loss.extra-root": "openloom-1/orphans.openloom.json > openloom-1",
    "loss.extra-parent": "openloom-2/hyperedges.openloom > socketteer",
    "loss.extra-source": "openloom-2/gap-a04-no-primary.openloom > socketteer",
    "loss.annotation-edge": "openloom-1/cycle-through-root.openloom.json > openloom-1",
    "loss.edge-type": "openloom-2/reserved-values.openloom > openloom-1",
    "loss.note-node": "openloom-2/annotations.openloom > openloom-1",
    "loss.loose-note": "openloom-2/annotations.openloom > socketteer",
    "loss.rating": "openloom-2/full.openloom > miniloom",
    "loss.edge-detail": "openloom-2/dialogue.openloom > openloom-1",
    "loss.block": "openloom-2/gap-a25-foreign-refs.openloom > socketteer",
    "loss.block-boundary": "openloom-2/gap-a23-content.openloom > openloom-1",
    "loss.author-role": "socketteer/plain.json > openloom-1",
    "loss.author-name": "openloom-2/escapes.openloom > socketteer",
    "loss.agent": "openloom-2/gap-a13-agent-overlay.openloom > openloom-1",
    "loss.generation": "socketteer/split-chain.json > openloom-1",
    "loss.meta": "openloom-1/bookmarks-disagree.openloom.json > socketteer",
    "loss.edit-lineage": "openloom-2/edit-lineage.openloom > socketteer",
    "loss.time-precision": "openloom-1/bom.openloom.json > socketteer",
    "loss.tree-field": "openloom-1/broken-truncated.openloom.json > socketteer",
    "loss.document-field": "openloom-2/gap-a29-agent-type.openloom > openloom-1",
    "loss.unknown-field": "openloom-2/gap-a09-null.openloom > openloom-1",
    "loss.extension": "openloom-2/full.openloom > openloom-1",
    "loss.lone-surrogate": "openloom-2/gap-a39-lone-surrogate.openloom > socketteer",
    "loss.nul": "openloom-2/escapes.openloom > socketteer",
    "restore.restored": "openloom-1/author.openloom.json > socketteer > back",
    "privacy.secret-dropped": "openloom-2/secrets.openloom",
    "privacy.contains": "openloom-1/pretty.openloom.json",
    "media.mime-mismatch": "openloom-2/gap-a27-mime.openloom",
    "media.unsafe-path": "openloom-2/gap-a25-foreign-refs.openloom",
    "media.missing-media": "openloom-2/bundle.openloom.zip",
    "media.unresolved-media": "socketteer/full.json",
    "media.bad-data-uri": "openloom-2/gap-a25-foreign-refs.openloom",
}


def loom(*nodes: Any, **fields: Any) -> dict[str, Any]:
    """A document of one tree whose nodes are a chain."""
    edges = [link(parent["id"], child["id"]) for parent, child in itertools.pairwise(nodes)]
    tree = {"id": "t", "title": "T", "rootNodeIds": [nodes[0]["id"]], "nodes": {each["id"]: each for each in nodes}}
    return {"format": "open-loom", "version": "2.0", "trees": [{**tree, "edges": edges, **fields}]}


class Case:
    """A folder to work in, and the report that a conversion makes, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = Report(limit=None)

    def file(self, name: str, value: Any) -> Path:
        path = self.folder / name
        path.write_bytes(value if isinstance(value, bytes) else jsontext.encode(value))
        return path

    def convert(self, value: Any, target: str = "openloom-2", **options: Any) -> Path:
        out = self.folder / "out"
        try:
            source = value if isinstance(value, Path) else self.file("in", value)
            chosen = ConversionOptions(**options)
            api.convert(source, out, target_format=target, options=chosen, report=self.report)
        except LoomconvError as error:
            add_failure(self.report, error)
        return out

    def back(self, value: Any, target: str, edit: Callable[[Any], Any] | None = None) -> None:
        out = self.convert(value, target)
        if edit is not None:
            there = jsontext.load(out.read_bytes()).value
            edit(there)
            out.write_bytes(jsontext.encode(there))
        self.report = Report(limit=None)
        document = api.load(out, report=self.report)
        for tree in document.trees:
            list(tree.nodes.values())


def bundle(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4IScHAAK2AQUKW6YGAAAAAElFTkSuQmCC")


def picture(size: int) -> dict[str, Any]:
    return {"type": "image", "mimeType": "image/png", "ref": "data:image/png;base64," + "AAAA" * size}


def looked_into(case: Case) -> None:
    block = {**picture(0), "ref": f"data:image/png;base64,{base64.b64encode(PNG[:30]).decode()}"}
    for listed in list_media(api.load(case.file("in", loom(node("a", content=[block]))))):
        report_problems(listed, case.report)


def far_away(case: Case) -> None:
    (case.folder / "below").mkdir()
    (case.folder / "below" / "dot.png").write_bytes(PNG)
    block = {"type": "image", "ref": "dot.png", "mimeType": "image/png"}
    case.convert(case.file("below/in", loom(node("a", content=[block]))))


def large_from_elsewhere(case: Case) -> None:
    block = {**picture(0), "ref": f"data:image/png;base64,{base64.b64encode(PNG + bytes(1_000_000)).decode()}"}
    dump = {"aspen-grove": {"as": "dump"}}
    path = case.convert(loom(node("a", content=[block])), "aspen-grove", residue="none", format_options=dump)
    case.convert(path.rename(case.folder / "in.json"))


def deep(levels: int) -> bytes:
    value = jsontext.encode(loom(node("a"))).decode()
    return value.replace('"title"', '"x":' + "[" * levels + "]" * levels + ',"title"').encode()


def rewrite(key: str, value: Any) -> Callable[[Any], None]:
    def edit(there: Any) -> None:
        next(iter(there["nodes"].values()))[key] = value

    return edit


PICTURES = FIXTURES / "openloom-2" / "media.openloom"
BUNDLE = FIXTURES / "openloom-2" / "bundle.openloom.zip"
RICH = node("a", "x", "mixed", meta={"note": "n"})
LOOM = loom(RICH, node("b", "y"))
NOTED = loom(node("a"), node("b"), edges=[{**link("a", "b"), "id": "e"}])


def drop_child(there: Any) -> None:
    del there["nodes"]["b"]
    there["nodes"]["a"]["childrenIds"] = []


def spoil_residue(there: Any) -> None:
    there["nodes"]["a"]["extensions"]["loomconv"]["residue"] = 5


class Plain(Exception):
    """What no part of the program raises."""


MADE: dict[str, Callable[[Case], Any]] = {
    "read.bad-container": lambda case: case.convert(b"words before" + bundle(("tree.openloom", jsontext.encode(LOOM)))),
    "read.deep": lambda case: case.convert(deep(100_000), limits=Limits(nesting=None)),
    "read.limit": lambda case: case.convert(deep(100_000)),
    "read.syntax": lambda case: case.convert(FIXTURES / "openloom-2" / "broken-trailing-comma.openloom"),
    "read.unreadable": lambda case: case.convert(case.folder / "nowhere"),
    "read.unsafe-archive": lambda case: case.convert(bundle(("a.openloom", b"{}"), ("b.openloom", b"{}"))),
    "read.invalid": lambda case: case.convert(FIXTURES / "openloom-2" / "major-3.0.openloom"),
    "detect.unknown-format": lambda case: case.convert({"nothing": 1}),
    "detect.ambiguous": lambda case: tie(case),
    "validate.schema": lambda case: validated(case, loom(node("a"), mode=5)),
    "validate.sampled": lambda case: sampled(case),
    "loss.node-id": lambda case: without_ids(case),
    "loss.node-time": lambda case: timeless(case),
    "loss.rewritten-text": lambda case: case.convert(loom(node("a", "<p>x</p>")), "socketteer"),
    "loss.depth": lambda case: case.convert(loom(*(node(f"n{number}") for number in range(600))), "socketteer"),
    "convert.refused": lambda case: case.convert(LOOM, "socketteer", strict=True),
    "convert.impossible": lambda case: case.convert(LOOM, "nonsense"),
    "convert.plugin-fault": lambda case: undeclared(case),
    "convert.plugin-switched-off": lambda case: with_a_plugin_that_fails(case),
    "convert.fault": lambda case: add_failure(case.report, Plain("x")),
    "media.inlined": lambda case: case.convert(BUNDLE),
    "media.kept-aside": lambda case: case.convert(BUNDLE),
    "media.left-behind": lambda case: case.convert(
        bundle(("tree.openloom", jsontext.encode(LOOM)), ("large.bin", b"x" * 1_000_001))
    ),
    "media.hidden": lambda case: case.convert(PICTURES, "socketteer"),
    "media.out-of-reach": lambda case: far_away(case),
    "media.bundled": lambda case: case.convert(PICTURES, media="bundle"),
    "media.kept-inline": lambda case: case.convert(PICTURES, media="bundle"),
    "media.beside": lambda case: case.convert(PICTURES, "socketteer", media="beside"),
    "media.dropped": lambda case: case.convert(PICTURES, media="drop"),
    "media.broken-medium": lambda case: looked_into(case),
    "media.bundle-by-size": lambda case: large_from_elsewhere(case),
    "restore.edited": lambda case: case.back(LOOM, "openloom-1", rewrite("author", "user")),
    "restore.missing": lambda case: case.back(NOTED, "openloom-1", drop_child),
    "restore.foreign": lambda case: case.back(LOOM, "openloom-1", spoil_residue),
    "privacy.secret-kept": lambda case: case.convert(FIXTURES / "openloom-2" / "secrets.openloom", keep_secrets=True),
    "privacy.withheld": lambda case: case.convert(LOOM, without=frozenset({"generation"})),
    "media.media-too-large": lambda case: case.convert(
        loom({**node("a"), "content": [picture(100)]}), limits=Limits(medium_bytes=10)
    ),
}


def tie(case: Case) -> None:
    from tests.registry.test_registry import PROBE, format_of, registry_of

    try:
        registry_of(format_of("a", 50), format_of("b", 50)).detect(PROBE)
    except LoomconvError as error:
        add_failure(case.report, error)


def without_ids(case: Case) -> None:
    registry = Registry([("openloom-2", openloom_2), ("outline", outline)])
    api.convert(jsontext.encode(LOOM), case.folder / "x.outline", report=case.report, registry=registry)


def with_a_plugin_that_fails(case: Case) -> None:
    class Failing:
        @hookimpl
        def loomconv_transform(self, document: Document, report: Report) -> bool:
            raise RuntimeError

    load(jsontext.encode(LOOM), report=case.report, registry=Registry([("openloom-2", openloom_2), ("f", Failing())]))


def undeclared(case: Case) -> None:
    try:
        case.report.add("made.up")
    except LoomconvError as error:
        add_failure(case.report, error)


def validated(case: Case, value: Any) -> None:
    case.report = validate_file(jsontext.encode(value)).report


def sampled(case: Case) -> None:
    """Only the reference engine samples, and only above its cap."""
    import loomconv.schema.check as engine
    from loomconv_plugins.openloom_1 import checks

    patch = pytest.MonkeyPatch()
    patch.setattr(checks, "_BULK", 1)
    both = engine.engines
    patch.setattr(engine, "engines", lambda *wanted: (None, both(*wanted)[1]))
    try:
        case.report = validate_file(FIXTURES / "openloom-1" / "pretty.openloom.json").report
    finally:
        patch.undo()


def timeless(case: Case) -> None:
    from loomconv.capabilities import Capabilities
    from loomconv.project import project_document

    document = api.load(jsontext.encode(loom(node("a", createdAt="2026-01-01T00:00:00Z"))))
    for part in project_document(document, Capabilities(), case.report):
        list(part.trees[0].nodes.values())


def test_every_code_has_a_line() -> None:
    assert set(IN_FIXTURES) | set(MADE) == set(CODES)
    assert not set(IN_FIXTURES) & set(MADE)


@pytest.mark.parametrize("code", IN_FIXTURES)
def test_a_fixture_shows_the_code(code: str, tmp_path: Path) -> None:
    path, *ways = IN_FIXTURES[code].split(" > ")
    report = Report(limit=None)
    document = api.load(FIXTURES / path, report=report)
    if ways:
        report = Report(limit=None)
        api.dump(document, tmp_path / "out", format=ways[0], report=report)
    if "back" in ways:
        report = Report(limit=None)
        api.load(tmp_path / "out", format=ways[0], report=report)
    assert report.codes[code]


@pytest.mark.parametrize("code", MADE)
def test_a_made_case_shows_the_code(code: str, tmp_path: Path) -> None:
    case = Case(tmp_path)
    MADE[code](case)
    assert case.report.codes[code]
    for finding in case.report.findings:
        assert finding.message
