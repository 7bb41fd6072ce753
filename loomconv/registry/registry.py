"""Finding plugins and their formats; choosing a format for a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pluggy

from loomconv.errors import AmbiguousFormat, PluginFault, UnknownFormat, UsageFault
from loomconv.format import Confidence, Format, Probe
from loomconv.provenance import HashScheme
from loomconv.registry import hookspecs

__all__ = ["Registry", "default_registry"]

ENTRY_POINT_GROUP = "loomconv"
# Names of entry points to leave out, separated by commas; for when a broken plugin stands in the way.
_BLOCK_VARIABLE = "LOOMCONV_WITHOUT_PLUGINS"


class Registry:
    """The installed plugins and the formats that they bring."""

    def __init__(self, plugins: Iterable[tuple[str, Any]] = ()) -> None:
        self.manager = pluggy.PluginManager("loomconv")
        self.manager.add_hookspecs(hookspecs)
        self.formats: dict[str, Format] = {}
        # Plugins that could not be loaded: entry point name → why.
        self.broken: dict[str, str] = {}
        for name, plugin in plugins:
            self.add(plugin, name)

    @classmethod
    def from_entry_points(cls) -> Registry:
        """The plugins of the entry-point group `loomconv`. One that fails to load is noted in `broken`."""
        blocked = {name.strip() for name in os.environ.get(_BLOCK_VARIABLE, "").split(",")}
        registry = cls()
        for entry_point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda found: found.name):
            if entry_point.name in blocked:
                continue
            try:
                registry.add(entry_point.load(), entry_point.name)
            except Exception as error:  # a stranger's code: whatever it raises must not stop the others
                registry.broken[entry_point.name] = f"{type(error).__name__}: {error}"
        return registry

    def add(self, plugin: Any, name: str) -> None:
        """Register a plugin (a module or an object with hook implementations) and its formats.

        All of it or nothing: raises PluginFault, or whatever the plugin's own code raises.
        """
        self.manager.register(plugin, name)
        try:
            self.formats.update(self._formats_of(plugin, name))
        except BaseException:
            self.manager.unregister(plugin)
            raise

    def _formats_of(self, plugin: Any, name: str) -> dict[str, Format]:
        found: list[Format] = []
        hook = self.manager.subset_hook_caller(
            "loomconv_register_formats",
            [other for other in self.manager.get_plugins() if other is not plugin],
        )
        hook(register=found.append)
        formats: dict[str, Format] = {}
        for each in found:
            if not isinstance(each, Format):
                raise PluginFault(f"plugin {name!r} registers {each!r}, which is no Format")
            missing = [key for key in ("name", "title", "namespace") if not isinstance(getattr(each, key, None), str)]
            if missing:
                raise PluginFault(f"a format of the plugin {name!r} lacks the attribute {', '.join(missing)}")
            if each.name in self.formats or each.name in formats:
                raise PluginFault(f"plugin {name!r} registers the format {each.name!r} a second time")
            formats[each.name] = each
        return formats

    def format(self, name: str) -> Format:
        """The format of that name. Raises UsageFault, naming the known ones."""
        if name not in self.formats:
            import difflib

            known = ", ".join(sorted(self.formats)) or "none"
            near = difflib.get_close_matches(name.lower(), self.formats, n=1)
            meant = f"Did you mean {near[0]}? " if near else ""
            raise UsageFault(f"there is no format {name!r}", next_step=f"{meant}Installed formats: {known}.")
        return self.formats[name]

    def hash_schemes(self) -> list[HashScheme]:
        """The ways to compute content hashes that the plugins know."""
        found: list[HashScheme] = []
        self.manager.hook.loomconv_register_hash_schemes(register=found.append)
        return found

    def scores(self, probe: Probe) -> list[tuple[Format, Confidence]]:
        """Formats that recognise the file, surest first; equal scores in order of their names.

        A format that fails at it, or answers anything but a `Confidence`, is passed over and noted in `broken`.
        """
        found = []
        for each in self.formats.values():
            if not each.reads:
                continue
            try:
                confidence = each.detect(probe)
            except Exception as error:  # a stranger's code must not stop the others; its words may quote the file
                self.broken[each.name] = f"{type(error).__name__} while detecting"
                continue
            if isinstance(confidence, Confidence):
                found.append((each, confidence))
            elif confidence is not None:
                self.broken[each.name] = "its answer while detecting is no Confidence"
        found.sort(key=lambda pair: (-pair[1].score, pair[0].name))
        return found

    def detect(self, probe: Probe) -> tuple[Format, Confidence]:
        """The format that the file's content speaks for.

        Raises UnknownFormat, naming the formats that were tried, or AmbiguousFormat, naming those that tie.
        """
        found = self.scores(probe)
        if not found:
            tried = ", ".join(sorted(name for name, each in self.formats.items() if each.reads))
            raise UnknownFormat(
                f"no installed format recognises the content (tried: {tried})",
                source=probe.name,
                next_step="If you know the format, name it with --from; `loomconv formats` lists what is installed.",
            )
        if len(found) > 1 and found[0][1].score == found[1][1].score:
            best = [pair for pair in found if pair[1].score == found[0][1].score]
            reasons = "; ".join(f"{each.name} ({confidence.reason})" for each, confidence in best)
            raise AmbiguousFormat(
                f"the content fits several formats equally well: {reasons}",
                source=probe.name,
                next_step=f"Choose one, for example with --from {best[0][0].name}.",
            )
        return found[0]

    def format_for_name(self, name: str) -> Format:
        """The format whose suffix the file name has; the longest suffix wins. Raises UsageFault.

        `.zip` behind a suffix means a bundle of a format that has them.
        """
        if name.endswith(("/", os.sep)) or Path(name).is_dir():
            raise UsageFault("the output is a folder", source=name, next_step="Name a file in it.")
        lowered = name.lower()
        zipped = lowered.endswith(".zip")
        lowered = lowered.removesuffix(".zip")
        fitting = [
            (len(suffix), each)
            for each in self.formats.values()
            if each.writes and (not zipped or "bundle" in each.capabilities.media)
            for suffix in each.suffixes
            if lowered.endswith(suffix)
        ]
        if zipped and not fitting:
            fitting = [
                (0, each) for each in self.formats.values() if each.writes and "bundle" in each.capabilities.media
            ]
        longest = max((length for length, _ in fitting), default=0)
        best = sorted({each.name for length, each in fitting if length == longest})
        if len(best) == 1:
            return self.formats[best[0]]
        what = f"the suffix of {name!r} fits {', '.join(best)}" if best else f"the suffix of {name!r} names no format"
        raise UsageFault(what, next_step="Say the target format with --to; `loomconv formats` lists them.")


_default: Registry | None = None


def default_registry() -> Registry:
    """The installed plugins, found once a process."""
    global _default
    if _default is None:
        _default = Registry.from_entry_points()
    return _default
