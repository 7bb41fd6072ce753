"""The format on the page for authors of plugins is a good one: it keeps the laws, and the page names what there is."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import generate
import pytest
import shown

import loomconv
from loomconv.format import Format, Probe, ReadContext, WriteContext
from loomconv.registry import Registry, hookspecs
from loomconv.roundtrip import round_trip
from loomconv_plugins import openloom_2

PAGE = generate.DOCS / "plugins.md"
FENCES = list(shown.fences(PAGE.read_text("utf-8").split("\n")))
FILES = {fence.mark.removeprefix("file: "): fence.text for fence in FENCES if fence.mark.startswith("file: ")}
# The file as it is after the last step.
TWIGS = shown.joined({name.partition("#")[2]: text for name, text in FILES.items() if name.startswith("twigs.py#")})
OPENLOOM = sorted((generate.ROOT / "fixtures" / "openloom-2").glob("*.openloom"))
# Files that cannot be read, that are mended on the way, or from which keys are taken out.
NOT_WHOLE = ("broken-", "repair-", "gap-a", "major-", "secrets")


@pytest.fixture(scope="module")
def twigs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module of the page, as a plugin would be imported."""
    path = tmp_path_factory.mktemp("plugin") / "loomconv_twigs.py"
    path.write_text(TWIGS, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("loomconv_twigs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loomconv_twigs"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["loomconv_twigs"]


@pytest.fixture
def registry(twigs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The format of the page and the pivot's own, as if nothing else were installed."""
    registry = Registry([("twigs", twigs), ("openloom-2", openloom_2)])
    monkeypatch.setattr("loomconv.registry.registry._default", {("", ""): registry})
    return registry


def there_and_back(value: dict[str, Any], registry: Registry, tmp_path: Path) -> tuple[dict[str, Any], loomconv.Report]:
    """A file of Twigs to OpenLoom 2.0 and back, and the report of reading it."""
    (tmp_path / "a.twigs").write_text(json.dumps(value), encoding="utf-8")
    report = loomconv.Report()
    loomconv.convert(tmp_path / "a.twigs", tmp_path / "a.openloom", report=report, registry=registry)
    loomconv.convert(tmp_path / "a.openloom", tmp_path / "b.twigs", registry=registry)
    return json.loads((tmp_path / "b.twigs").read_text("utf-8")), report


def twig(**more: Any) -> dict[str, Any]:
    return {"id": "a", "by": "me", "text": "x", "twigs": [], **more}


def test_detection(registry: Registry) -> None:
    assert registry.detect(Probe(FILES["walk.twigs"].encode(), "any"))[0].name == "twigs"
    assert registry.formats["twigs"].detect(Probe(b'{"app": "other", "twigs": []}', "a.twigs")) is None
    assert registry.formats["twigs"].detect(Probe(b'["app", "twigs"]', "a.twigs")) is None


@pytest.mark.parametrize("name", [path.name for path in OPENLOOM if not path.name.startswith(NOT_WHOLE)])
def test_every_fixture_comes_back_from_the_format(name: str, registry: Registry, tmp_path: Path) -> None:
    outcome = round_trip(generate.ROOT / "fixtures" / "openloom-2" / name, ["twigs"], registry=registry)
    assert outcome.comparison.total == 0, outcome.differences


def test_odd_values_come_back_and_are_reported(registry: Registry, tmp_path: Path) -> None:
    value = {
        "app": "twigs",
        "name": None,
        "absent": True,
        "twigs": [
            twig(by="cat", text=7, made=1.5, starred="yes", set=1, absent=["id"]),
            {"id": "b", "twigs": "none", "made": 10**30},
            twig(id="c", made=-1, twigs=[twig(id="d", extensions={"other": {"k": [1]}})]),
        ],
    }
    back, report = there_and_back(value, registry, tmp_path)
    assert back == value
    assert report.codes == {"read.unknown-author": 2, "read.bad-text": 2, "read.bad-time": 2}


def test_ids_that_are_missing_or_taken_are_given(registry: Registry, tmp_path: Path) -> None:
    value = {"app": "twigs", "name": "", "twigs": [twig(), twig(), {"by": "ai", "text": "y", "twigs": []}]}
    back, report = there_and_back(value, registry, tmp_path)
    assert report.codes == {"read.duplicate-id": 1, "read.missing-id": 1}
    ids = [each.pop("id") for each in back["twigs"]]
    assert ids[0] == "a" and len(set(ids)) == 3
    assert back["twigs"] == [{key: each[key] for key in ("by", "text", "twigs")} for each in value["twigs"]]


def test_an_edit_wins_over_the_stash(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "a.twigs").write_text(json.dumps({"app": "twigs", "twigs": [twig(by="cat", made="noon", k=1)]}))
    document = loomconv.load(tmp_path / "a.twigs", registry=registry)
    node = document.trees[0].nodes["a"]
    node["author"] = {"role": "model"}
    node["createdAt"] = "2026-01-01T00:00:00Z"
    document.trees[0].nodes["a"] = node
    document.trees[0].fields["title"] = "Named"
    document.touched = True
    loomconv.dump(document, tmp_path / "b.twigs", registry=registry)
    back = json.loads((tmp_path / "b.twigs").read_text())
    assert back == {
        "app": "twigs",
        "name": "Named",
        "twigs": [{"id": "a", "by": "ai", "text": "x", "made": 1767225600, "k": 1, "twigs": []}],
    }


def test_a_document_that_never_was_in_the_format_carries_nothing_of_it(registry: Registry, tmp_path: Path) -> None:
    source = generate.ROOT / "fixtures" / "openloom-2" / "full.openloom"
    loomconv.convert(source, tmp_path / "a.twigs", registry=registry)
    document = loomconv.load(tmp_path / "a.twigs", registry=registry)
    holders = [tree.fields for tree in document.trees] + [
        dict(node) for tree in document.trees for node in tree.nodes.values()
    ]
    assert [each for each in holders if "twigs" in (each.get("extensions") or {})] == []


@pytest.mark.parametrize("text", ["[]", '{"app": "twigs"}', '{"app": "twigs", "twigs": [5]}'])
def test_what_is_no_file_of_the_app_is_refused(text: str, registry: Registry) -> None:
    with pytest.raises(loomconv.LoomconvError) as caught:
        loomconv.load(text.encode(), format="twigs", registry=registry)
    assert caught.value.next_step


def test_depth_is_no_matter(registry: Registry, tmp_path: Path) -> None:
    levels = 3000
    text = "".join(f'{{"id":"n{level}","by":"me","text":"x","twigs":[' for level in range(levels)) + "]}" * levels
    (tmp_path / "deep.twigs").write_text(f'{{"app":"twigs","name":"","twigs":[{text}]}}')
    outcome = round_trip(tmp_path / "deep.twigs", ["openloom-2"], registry=registry)
    assert outcome.comparison.total == 0


def test_the_pages_name_all_that_there_is() -> None:
    page = PAGE.read_text("utf-8") + (generate.DOCS / "capabilities.md").read_text("utf-8")
    page += (generate.DOCS / "plugin-reference.md").read_text("utf-8")
    hooks = [name for name in vars(hookspecs) if name.startswith("loomconv_")]
    assert len(hooks) == 5
    members = [name for name, value in vars(Format).items() if inspect.isfunction(value) and not name.startswith("_")]
    context = [each.name for kind in (ReadContext, WriteContext) for each in fields(kind)]
    # Set by the hub for itself, or explained under another name.
    context = [
        name for name in context if name not in ("examine", "truncated", "limits", "layout_is_original", "others")
    ]
    probe = [name for name in Probe.__slots__ if not name.startswith("_")]
    known = [*hooks, *members, *context, *probe, *(name for name in Format.__annotations__)]
    assert [name for name in known if name not in page] == []
