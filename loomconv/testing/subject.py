"""The format that is looked at, among the others that are installed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomconv import api, jsontext
from loomconv.errors import UsageFault
from loomconv.format import Format, hookimpl
from loomconv.model.document import document_json
from loomconv.options import ConversionOptions
from loomconv.registry import Registry, default_registry
from loomconv.report import Report

__all__ = ["Subject", "fixture_files"]


@dataclass(frozen=True)
class Subject:
    """A format, files of its app, and the registry in which it is looked at.

    `pivot` is the installed format that holds everything. `effort` multiplies the number of generated examples.
    """

    format: Format
    fixtures: tuple[Path, ...]
    registry: Registry
    pivot: Format
    effort: float = 1.0

    @classmethod
    def of(
        cls,
        chosen: Format,
        fixtures: Iterable[Path] = (),
        *,
        registry: Registry | None = None,
        effort: float = 1.0,
    ) -> Subject:
        """The format among those of `registry` (default: all that are installed); it need not be in there itself.

        Folders in `fixtures` stand for all files in them. Raises UsageFault when a fixture, or a format that holds
        everything, is missing, and PluginFault when the format declares nonsense.
        """
        among = _with(chosen, registry or default_registry())
        whole = sorted(
            each.name
            for each in among.formats.values()
            if each.reads and each.writes and each.capabilities.holds_everything and each.compared_by == "file"
        )
        if not whole:
            raise UsageFault("no format that holds everything is installed, and one is needed to compare with")
        return cls(chosen, fixture_files(fixtures), among, among.formats[whole[0]], effort)

    def write(
        self,
        value: Mapping[str, Any],
        folder: Path,
        *,
        stem: str = "made",
        options: ConversionOptions | None = None,
        report: Report | None = None,
    ) -> Path:
        """A file of the format that says what an OpenLoom 2.0 value says; gives its path."""
        source = folder / f"{stem}-source{self.suffix_of(self.pivot)}"
        source.write_bytes(jsontext.dump(dict(value), jsontext.TWO_SPACES))
        target = folder / f"{stem}{self.suffix}"
        api.convert(
            source,
            target,
            source_format=self.pivot.name,
            target_format=self.format.name,
            options=options,
            report=report,
            registry=self.registry,
        )
        return target

    def read(self, path: Path, *, options: ConversionOptions | None = None, report: Report | None = None) -> Any:
        """What a file of the format says, as an OpenLoom 2.0 value."""
        document = api.load(path, format=self.format.name, options=options, report=report, registry=self.registry)
        return document_json(document)

    @property
    def suffix(self) -> str:
        """The usual suffix of the format's files."""
        return self.suffix_of(self.format)

    @staticmethod
    def suffix_of(chosen: Format) -> str:
        """The usual suffix of a format's files."""
        return chosen.suffixes[0] if chosen.suffixes else ".loom"


def fixture_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files, and all files in the folders (but for Markdown and what begins with a full stop), sorted."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += sorted(
                each
                for each in path.rglob("*")
                if each.is_file() and each.suffix != ".md" and not each.name.startswith(".")
            )
        elif path.is_file():
            found.append(path)
        else:
            raise UsageFault("there is no such fixture", source=str(path), next_step="Name a file or a folder.")
    return tuple(found)


class _Holder:
    """A plugin with one format."""

    def __init__(self, chosen: Format) -> None:
        self.chosen = chosen

    @hookimpl
    def loomconv_register_formats(self, register: Callable[[Format], None]) -> None:
        register(self.chosen)


def _with(chosen: Format, registry: Registry) -> Registry:
    """A registry that has this very format, instead of one of the same name."""
    if registry.formats.get(chosen.name) is chosen:
        return registry
    replaced = registry.plugin_of.get(chosen.name)
    others = [(name, plugin) for name, plugin in registry.manager.list_name_plugin() if name != replaced]
    among = Registry()
    among.add(_Holder(chosen), replaced or chosen.name)
    for name, plugin in others:
        among.add(plugin, name)
    among.broken = copy.copy(registry.broken)
    return among
