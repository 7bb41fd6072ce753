"""Plugins of all kinds: good ones, broken ones, and two that want the same file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomconv import api, load
from loomconv.capabilities import Capabilities
from loomconv.errors import AmbiguousFormat, PluginFault, UnknownFormat, UsageFault
from loomconv.format import Confidence, Format, Option, Probe, hookimpl
from loomconv.model import Document
from loomconv.model.document import document_json
from loomconv.registry import Registry, default_registry
from loomconv.report import Code, Report
from loomconv_plugins import openloom_2
from tests.made import document_of, node, tree_of


def never(self: Format, *_: Any) -> Any:
    raise AssertionError("no file was to be read or written")


def format_of(name: str, score: int | None = None, **attributes: Any) -> Format:
    """A format that recognises everything with the same confidence, or nothing."""

    def detect(self: Format, probe: Probe) -> Confidence | None:
        return None if score is None else Confidence(score, f"because {name}")

    given = {"name": name, "title": name.title(), "namespace": name, "detect": detect, "read": never, "write": never}
    made = type("Made", (Format,), {**given, **attributes})
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
    read = write = never

    def detect(self, probe: Probe) -> Confidence | None:
        raise ValueError("words of the file")


def test_a_format_that_fails_at_detecting_stops_nobody() -> None:
    registry = registry_of(format_of("good", 50), Raises(), format_of("odd", 90, detect=lambda self, probe: 90))
    assert registry.detect(PROBE)[0].name == "good"
    assert registry.broken.pop("raises").startswith("ValueError at test_registry.py line")
    assert registry.broken == {"odd": "its answer while detecting is no Confidence"}


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


# -- declarations that cannot be -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"name": "My Loom"}, "small letters"),
        ({"title": ""}, "lacks the attribute title"),
        ({"namespace": "loomconv"}, "the hub's own"),
        ({"api": (2, 0)}, "plugin API 2.0, and this loomconv has 1.0: update loomconv"),
        ({"api": (0, 9)}, "update the plugin"),
        ({"api": "1.0"}, "no pair of numbers"),
        ({"capabilities": {"trees": "many"}}, "no Capabilities"),
        ({"layout": "compact"}, "no Layout"),
        ({"suffixes": ("made",)}, "begin with a full stop"),
        ({"suffixes": ".made"}, "begin with a full stop"),
        ({"compared_by": "eye"}, "compared by neither"),
        ({"by_products": ("*.bak",)}, "by-products"),
        ({"reads": False, "writes": False}, "neither reads nor writes"),
        ({"write": Format.write}, "no method `write`"),
        ({"detect": Format.detect}, "no method `detect`"),
        ({"options": (Option("As it is", "h", ("a",), "a"),)}, "cannot stand on a command line"),
        ({"options": (Option("as", "h", ("a",), "b"),)}, "none of its choices"),
        ({"options": (Option("as", "h", ("a",), "a"),) * 2}, "two options of one name"),
        ({"finding_codes": {"odd": Code("notice", "Odd.")}}, "not written like"),
        ({"finding_codes": {"read.bom": Code("notice", "Fine.")}}, "one of the hub's own"),
        ({"finding_codes": {"made.odd": Code("fatal", "Odd.")}}, "no Code with one of the severities"),
        ({"private_keys": lambda self: {"diary": ("a",)}}, "parts that do not exist: diary"),
        ({"private_keys": lambda self: {"system-context": "a.b"}}, "tuples of dotted paths"),
    ],
)
def test_nonsense_is_refused_by_name(attributes: dict[str, Any], said: str) -> None:
    registry = Registry()
    with pytest.raises(PluginFault, match=re.escape(said)) as caught:
        registry.add(
            Plugin(format_of("made", **attributes) if "name" not in attributes else format_of(**attributes)), "it"
        )
    assert "of the plugin 'it'" in str(caught.value)
    assert registry.formats == {}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"roots": "lots"}, "roots is 'lots', and not one of 'one', 'many'"),
        ({"blocks": ["text"]}, "blocks"),
        ({"block_list": "yes"}, "block_list"),
        ({"media": ("cloud",)}, "media"),
        ({"unknown_keys": ("node", "leaf")}, "unknown_keys"),
        ({"ids": "[a-"}, "ids"),
        ({"depth": 0}, "depth"),
        ({"modes": ()}, "modes"),
        ({"roles": ()}, "roles"),
        ({"note_tag": 5}, "note_tag"),
    ],
)
def test_capabilities_that_make_no_sense_are_refused_at_once(declared: dict[str, Any], said: str) -> None:
    with pytest.raises(PluginFault, match=re.escape(said)):
        Capabilities(**declared)


def test_formats_of_two_plugins_do_not_share_a_namespace() -> None:
    registry = registry_of(format_of("one"))
    with pytest.raises(PluginFault, match="has the namespace 'one', which is that of 'one'"):
        registry.add(Plugin(format_of("two", namespace="one")), "second")


def test_a_hook_that_wraps_others_is_refused() -> None:
    class Wrapper:
        @hookimpl(wrapper=True)
        def loomconv_transform(self, document: Document, report: Report) -> Any:
            return (yield)

    with pytest.raises(PluginFault, match="wraps the hook loomconv_transform"):
        Registry([("wrapper", Wrapper())])


# -- hooks that fail -------------------------------------------------------------------------------------------------


class Halfway:
    """Empties the document and then fails."""

    @hookimpl
    def loomconv_transform(self, document: Document, report: Report) -> bool:
        tree = document.trees[0]
        tree.fields["title"] = "half"
        first = tree.nodes.ids[0]
        tree.nodes[first] = {**tree.nodes[first], "content": []}
        del document.fields["version"]
        raise RuntimeError("words of the file")


class Labels:
    @hookimpl
    def loomconv_transform(self, document: Document, report: Report) -> bool:
        document.trees[0].fields["description"] = "labelled"
        return True


@pytest.mark.parametrize("order", [1, -1])
def test_a_transform_that_fails_midway_is_undone_and_switched_off(order: int, fixtures: Path) -> None:
    path = fixtures / "openloom-2" / "full.openloom"
    plain = document_json(load(path, registry=Registry([("openloom-2", openloom_2), ("labels", Labels())])))
    plugins = [("halfway", Halfway()), ("labels", Labels())][::order]
    registry, report = Registry([("openloom-2", openloom_2), *plugins]), Report()
    assert document_json(load(path, registry=registry, report=report)) == plain
    assert plain["trees"][0]["description"] == "labelled"
    (finding,) = [each for each in report.findings if each.code == "convert.plugin-switched-off"]
    assert "halfway" in finding.message and "words of the file" not in str(finding)
    assert registry.broken["halfway"].startswith("RuntimeError at test_registry.py line")
    assert not registry.manager.has_plugin("halfway")


def test_an_observer_that_fails_stops_nothing(fixtures: Path, tmp_path: Path) -> None:
    class Observer:
        @hookimpl
        def loomconv_finding(self, finding: Any) -> None:
            raise KeyError("x")

    registry = Registry([("openloom-2", openloom_2), ("observer", Observer())])
    api.convert(fixtures / "openloom-2" / "full.openloom", tmp_path / "x.openloom", registry=registry)
    assert (tmp_path / "x.openloom").exists()
    assert registry.broken == {"observer": registry.broken["observer"]}
    assert "in loomconv_finding" in registry.broken["observer"]


def test_the_formats_of_a_plugin_that_is_switched_off_go() -> None:
    registry = registry_of(format_of("a"), format_of("b"))
    registry.switch_off("made", "for a test")
    assert registry.formats == {} and registry.broken == {"made": "for a test"}


def test_a_reader_that_fails_is_named_with_the_file(tmp_path: Path) -> None:
    def fails(self: Format, *_: Any) -> Any:
        raise TypeError("words of the file")

    (tmp_path / "a.made").write_bytes(b"x")
    with pytest.raises(PluginFault) as caught:
        load(tmp_path / "a.made", registry=registry_of(format_of("made", 100, read=fails)))
    said = str(caught.value)
    assert "the format made of the plugin 'made' failed while reading (TypeError at test_registry.py line" in said
    assert "a.made" in said and "words of the file" not in said and caught.value.next_step


# -- entry points ------------------------------------------------------------------------------------------------------

GOOD = """
from loomconv.format import Confidence, Format, hookimpl

class Made(Format):
    name, title, namespace = "made-loom", "Made loom", "made-loom"
    suffixes = (".made",)

    def read(self, source, context):
        raise NotImplementedError

    write = read

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
    assert registry.broken["wrong"].startswith("PluginFault: the plugin 'wrong' registers an object of type int")
    assert registry.broken["gone"].startswith("ModuleNotFoundError")
    assert {name for name, _ in registry.manager.list_name_plugin()} & set(registry.broken) == set()


def test_plugins_can_be_left_out(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMCONV_DISABLE_PLUGINS", "good, broken,openloom-1")
    registry = default_registry()
    assert "made-loom" not in registry.formats and "openloom-1" not in registry.formats
    assert "openloom-2" in registry.formats
    assert "broken" not in registry.broken


def test_nobody_takes_the_name_of_a_format_that_comes_along(installed: Path) -> None:
    (installed / "made_good.py").write_text(GOOD.replace("made-loom", "openloom-2"))
    entries = "[loomconv]\naaa = made_good\nopenloom-1 = made_broken\n"
    (installed / "made_plugins-1.0.dist-info" / "entry_points.txt").write_text(entries)
    registry = Registry.from_entry_points()
    assert registry.plugin_of["openloom-2"] == "openloom-2"
    assert "the format 'openloom-2' a second time, which the plugin 'openloom-2' has brought" in registry.broken["aaa"]
    assert registry.plugin_of["openloom-1"] == "openloom-1"
    assert "openloom-1 (made-plugins)" in registry.broken


def test_a_plugin_in_a_file_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.py"
    path.write_text(GOOD.replace("made-loom", "openloom-1"))
    package = tmp_path / "packed"
    package.mkdir()
    (package / "__init__.py").write_text("from packed.inner import *\nfrom .inner import loomconv_register_formats\n")
    (package / "inner.py").write_text(GOOD)
    monkeypatch.setenv("LOOMCONV_PLUGINS", os.pathsep.join([str(path), str(package)]))
    registry = default_registry()
    assert registry.plugin_of["openloom-1"] == str(path) and registry.plugin_of["made-loom"] == str(package)
    assert "a second time" in registry.broken["openloom-1"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gone.py", None, "no such plugin file"),
        ("plugin.txt", "", "has to end in .py"),
        ("bad.py", "def", "invalid syntax"),
        ("bad.py", "import nothing_of_the_kind", "nothing_of_the_kind"),
        ("bad.py", "1/0", "ZeroDivisionError at bad.py line 1"),
    ],
)
def test_a_plugin_file_that_cannot_be_loaded_is_an_error(
    name: str, text: str | None, said: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(PluginFault, match=said) as caught:
        Registry.from_entry_points([str(tmp_path / name)])
    assert name in str(caught.value) and "bad" not in sys.modules


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
