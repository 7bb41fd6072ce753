"""Plugins of all kinds: good ones, broken ones, and two that want the same file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomconv import api
from loomconv.errors import AmbiguousFormat, PluginFault, UnknownFormat, UsageFault
from loomconv.format import Confidence, Format, Probe, hookimpl
from loomconv.model import Document
from loomconv.registry import Registry, default_registry
from loomconv.report import Report
from tests.made import document_of, node, tree_of


def format_of(name: str, score: int | None = None, **attributes: Any) -> Format:
    """A format that recognises everything with the same confidence, or nothing."""

    def detect(self: Format, probe: Probe) -> Confidence | None:
        return None if score is None else Confidence(score, f"because {name}")

    made = type(
        "Made", (Format,), {"name": name, "title": name.title(), "namespace": name, "detect": detect, **attributes}
    )
    return made()


class Plugin:
    """A plugin that brings some formats."""

    def __init__(self, *formats: Any) -> None:
        self.formats = formats

    @hookimpl
    def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
        for each in self.formats:
            register(each)


def registry_of(*formats: Format) -> Registry:
    return Registry([("made", Plugin(*formats))])


PROBE = Probe(b"{}", "file.json")


def test_the_surest_format_wins_whatever_the_order() -> None:
    formats = [format_of("b", 60), format_of("a", 30), format_of("c", 90), format_of("d")]
    for order in (formats, formats[::-1]):
        registry = registry_of(*order)
        assert registry.detect(PROBE)[0].name == "c"
        assert [each.name for each, _ in registry.scores(PROBE)] == ["c", "b", "a"]


def test_a_tie_names_all_that_tie_and_how_to_choose() -> None:
    registry = registry_of(format_of("beta", 60), format_of("alpha", 60), format_of("low", 10))
    with pytest.raises(AmbiguousFormat) as caught:
        registry.detect(PROBE)
    message = str(caught.value)
    assert "alpha (because alpha)" in message and "beta (because beta)" in message and "low" not in message
    assert "--from alpha" in message
    assert caught.value.source == "file.json"


def test_a_tie_below_the_surest_is_none() -> None:
    registry = registry_of(format_of("a", 10), format_of("b", 10), format_of("c", 11))
    assert registry.detect(PROBE)[0].name == "c"


def test_an_unknown_file_names_what_was_tried() -> None:
    registry = registry_of(format_of("b"), format_of("a"), format_of("writer-only", 100, reads=False))
    with pytest.raises(UnknownFormat) as caught:
        registry.detect(PROBE)
    assert "tried: a, b)" in str(caught.value)
    assert "writer-only" not in str(caught.value)


def test_an_unknown_name_names_the_known_ones() -> None:
    with pytest.raises(UsageFault, match="there is no format 'nonsense'") as caught:
        registry_of(format_of("b"), format_of("a")).format("nonsense")
    assert caught.value.next_step == "Installed formats: a, b."
    with pytest.raises(UsageFault, match="Installed formats: none"):
        Registry().format("x")


def test_the_longest_suffix_wins() -> None:
    registry = registry_of(
        format_of("one", suffixes=(".json",)),
        format_of("two", suffixes=(".loom.json", ".loom")),
        format_of("three", suffixes=(".big.loom.json",), writes=False),
    )
    assert registry.format_for_name("x.json").name == "one"
    assert registry.format_for_name("X.LOOM.JSON").name == "two"
    assert registry.format_for_name("x.big.loom.json").name == "two", "what cannot be written is no target"


@pytest.mark.parametrize("name, said", [("x.txt", "names no format"), ("x.loom", "fits one, two"), ("-", "no format")])
def test_a_suffix_that_does_not_tell(name: str, said: str) -> None:
    registry = registry_of(format_of("two", suffixes=(".loom",)), format_of("one", suffixes=(".loom",)))
    with pytest.raises(UsageFault, match=said) as caught:
        registry.format_for_name(name)
    assert "--to" in caught.value.next_step


# -- broken plugins ----------------------------------------------------------------------------------------------------


class Raises(Format):
    name, title, namespace = "raises", "Raises", "raises"

    def detect(self, probe: Probe) -> Confidence | None:
        raise ValueError("words of the file")


def test_a_format_that_fails_at_detecting_stops_nobody() -> None:
    registry = registry_of(format_of("good", 50), Raises(), format_of("odd", 90, detect=lambda self, probe: 90))
    assert registry.detect(PROBE)[0].name == "good"
    assert registry.broken == {
        "raises": "ValueError while detecting",
        "odd": "its answer while detecting is no Confidence",
    }


@pytest.mark.parametrize(
    "bad, said",
    [
        ("no format", "which is no Format"),
        (Raises, "which is no Format"),
        (type("Nameless", (Format,), {"title": "T", "namespace": "n"})(), "lacks the attribute name"),
        (format_of("good"), "a second time"),
        (format_of("first"), "a second time"),
    ],
)
def test_a_plugin_comes_whole_or_not_at_all(bad: Any, said: str) -> None:
    registry = registry_of(format_of("good"))
    plugin = Plugin(format_of("first"), bad)
    with pytest.raises(PluginFault, match=said):
        registry.add(plugin, "bad")
    assert set(registry.formats) == {"good"}
    assert not registry.manager.is_registered(plugin)
    registry.add(Plugin(format_of("first")), "bad")
    assert set(registry.formats) == {"good", "first"}


def test_a_plugin_without_formats_is_welcome() -> None:
    class OnlyHooks:
        @hookimpl
        def loomconv_transform(self, document: Document, report: Report) -> bool:
            document.trees[0].fields["title"] = "changed"
            return True

    registry = Registry([("hooks", OnlyHooks())])
    assert registry.formats == {}
    document = document_of(tree_of([node("a")]))
    assert registry.manager.hook.loomconv_transform(document=document, report=Report()) == [True]
    assert document.trees[0].fields["title"] == "changed"


# -- entry points ------------------------------------------------------------------------------------------------------

GOOD = """
from loomconv.format import Confidence, Format, hookimpl

class Made(Format):
    name, title, namespace = "made-loom", "Made loom", "made-loom"
    suffixes = (".made",)

    def detect(self, probe):
        return Confidence(100, "made") if probe.head.startswith(b"MADE") else None

@hookimpl
def loomconv_register_formats(register):
    register(Made())
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with good and broken plugins, as an installer would leave it."""
    for name, text in {
        "made_good": GOOD,
        "made_broken": "raise RuntimeError('not today')",
        "made_wrong": GOOD.replace("register(Made())", "register(5)"),
        "made_hook": GOOD.replace("made-loom", "hooked").replace("(register)", "(nonsense)"),
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    info = tmp_path / "made_plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-plugins\nVersion: 1.0\n")
    entries = ["good = made_good", "broken = made_broken", "wrong = made_wrong", "hook = made_hook", "gone = made_gone"]
    (info / "entry_points.txt").write_text("[loomconv]\n" + "\n".join(entries) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path  # type: ignore[misc]
    for name in [each for each in sys.modules if each.startswith("made_")]:
        del sys.modules[name]


def test_plugins_are_found_by_entry_point(installed: Path) -> None:
    registry = Registry.from_entry_points()
    assert {"made-loom", "openloom-1", "openloom-2", "socketteer"} <= set(registry.formats)
    assert "hooked" not in registry.formats
    assert registry.detect(Probe(b"MADE of words", "x"))[0].name == "made-loom"
    assert registry.format_for_name("x.made").name == "made-loom"


def test_broken_plugins_are_noted_and_stop_nobody(installed: Path) -> None:
    registry = Registry.from_entry_points()
    assert set(registry.broken) == {"broken", "wrong", "hook", "gone"}
    assert registry.broken["broken"] == "RuntimeError: not today"
    assert registry.broken["wrong"].startswith("PluginFault: plugin 'wrong' registers 5")
    assert registry.broken["gone"].startswith("ModuleNotFoundError")
    assert {name for name, _ in registry.manager.list_name_plugin()} & set(registry.broken) == set()


def test_plugins_can_be_left_out(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMCONV_WITHOUT_PLUGINS", "good, broken,openloom-1")
    registry = Registry.from_entry_points()
    assert "made-loom" not in registry.formats and "openloom-1" not in registry.formats
    assert "openloom-2" in registry.formats
    assert "broken" not in registry.broken


def test_the_default_registry_is_found_once() -> None:
    assert default_registry() is default_registry()
    assert not default_registry().broken


# -- the probe ---------------------------------------------------------------------------------------------------------


def test_a_probe_sees_the_start_of_a_large_file() -> None:
    data = b'{"format": "open-loom", "list": [' + b"1," * 100_000 + b"1]}"
    probe = Probe(data, "Big.Loom.JSON")
    assert probe.truncated
    assert probe.keys == {"format", "list"}
    assert probe.value["list"][:3] == [1, 1, 1]
    assert probe.suffixes == ".loom.json"
    assert probe.lines == []


def test_a_probe_of_lines() -> None:
    probe = Probe(b'{"a": 1}\n{"b": 2}\n\n{"c": 3}\n', "x.jsonl")
    assert probe.value == {"a": 1}
    assert probe.lines[:2] == [{"a": 1}, {"b": 2}]
    assert Probe(b'{"a": 1}\nnot json\n{"c": 3}\n', "x").lines == []
    assert Probe(b'{\n"a": 1\n}\n', "x").lines == []


@pytest.mark.parametrize("data", [b"", b"\x00\x01", b"words", b"\xff\xfe{", b"[1, 2]", b'"text"'])
def test_a_probe_of_anything(data: bytes) -> None:
    probe = Probe(data, "x")
    assert probe.keys == frozenset()
    assert probe.lines == []


def test_detection_by_way_of_the_api(fixtures: Path) -> None:
    found = api.detect(fixtures / "openloom-2" / "minimal.openloom")
    assert (found.format, found.confidence.score) == ("openloom-2", 100)
    assert found.candidates[0] == ("openloom-2", found.confidence)
    with pytest.raises(UnknownFormat):
        api.detect(b'{"nothing": 1}')


def test_a_name_that_is_nearly_right_is_named() -> None:
    with pytest.raises(UsageFault, match="Did you mean openloom-2"):
        default_registry().format("OpenLoom2")


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    for name in (str(tmp_path), "new/"):
        with pytest.raises(UsageFault, match="is a folder"):
            default_registry().format_for_name(name)


def test_a_zip_is_a_bundle_of_the_format_that_has_them() -> None:
    for name in ("a.zip", "a.openloom.zip"):
        assert default_registry().format_for_name(name).name == "openloom-2"
