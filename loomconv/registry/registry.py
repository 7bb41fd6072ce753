"""Finding plugins and their formats; choosing a format for a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pluggy

from loomconv.errors import AmbiguousFormat, PluginFault, UnknownFormat, UsageFault
from loomconv.format import Confidence, Format, Probe
from loomconv.provenance import HashScheme
from loomconv.registry import hookspecs
from loomconv.registry.checks import check_format
from loomconv.registry.faults import is_of_the_file, plugin_at_work, told_briefly
from loomconv.registry.files import load_plugin_file

__all__ = ["DISABLE_VARIABLE", "FILES_VARIABLE", "Registry", "broken_plugins", "default_registry"]

DISABLE_VARIABLE = "LOOMCONV_DISABLE_PLUGINS"
FILES_VARIABLE = "LOOMCONV_PLUGINS"

ENTRY_POINT_GROUP = "loomconv"
# The distribution of the formats that come along: nobody else's can take their names.
_OWN_DISTRIBUTION = "loomconv"


class Registry:
    """The installed plugins and the formats that they bring."""

    def __init__(self, plugins: Iterable[tuple[str, Any]] = ()) -> None:
        self.manager = pluggy.PluginManager("loomconv")
        self.manager.add_hookspecs(hookspecs)
        self.formats: dict[str, Format] = {}
        # Name of a format → name of the plugin that brought it.
        self.plugin_of: dict[str, str] = {}
        # Plugins (or formats, where only detection failed) that are left out: name → why.
        self.broken: dict[str, str] = {}
        for name, plugin in plugins:
            self.add(plugin, name)

    @classmethod
    def from_entry_points(cls, files: Iterable[str] = (), disabled: Collection[str] = ()) -> Registry:
        """The plugins in the files, then those of the entry-point group `loomconv` but for the disabled ones.

        What comes first keeps its names: a file, since somebody asked for it, before the formats that come with
        loomconv, and these before everybody else's. An installed plugin that fails is noted in `broken`; raises
        PluginFault for a file that does.
        """
        registry = cls()
        for path in files:
            registry.add(load_plugin_file(path), path)
        for entry_point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=_precedence):
            if entry_point.name in disabled:
                continue
            try:
                registry.add(entry_point.load(), entry_point.name)
            except Exception as error:  # a stranger's code: whatever it raises must not stop the others
                name = entry_point.name
                if registry.manager.has_plugin(name):
                    name = f"{name} ({_distribution(entry_point)})"
                registry.broken[name] = f"{type(error).__name__}: {error}"
        return registry

    def add(self, plugin: Any, name: str) -> None:
        """Register a plugin (a module or an object with hook implementations) and its formats.

        All of it or nothing: raises PluginFault, or whatever the plugin's own code raises.
        """
        self.manager.register(plugin, name)
        try:
            for caller in self.manager.get_hookcallers(plugin) or ():
                if any(each.plugin is plugin and (each.wrapper or each.hookwrapper) for each in caller.get_hookimpls()):
                    raise PluginFault(
                        f"the plugin {name!r} wraps the hook {caller.name}, which loomconv does not offer"
                    )
            formats = self._formats_of(plugin, name)
        except BaseException:
            self.manager.unregister(plugin)
            raise
        self.formats.update(formats)
        self.plugin_of.update(dict.fromkeys(formats, name))

    def _formats_of(self, plugin: Any, name: str) -> dict[str, Format]:
        found: list[Format] = []
        hook = self.manager.subset_hook_caller(
            "loomconv_register_formats",
            [other for other in self.manager.get_plugins() if other is not plugin],
        )
        hook(register=found.append)
        formats: dict[str, Format] = {}
        # Formats of one plugin may share a namespace, as dialects of each other.
        namespaces = {each.namespace: each.name for each in self.formats.values()}
        for each in found:
            check_format(each, name)
            if each.name in self.formats or each.name in formats:
                first = (
                    f", which the plugin {self.plugin_of[each.name]!r} has brought" if each.name in self.formats else ""
                )
                raise PluginFault(f"the plugin {name!r} registers the format {each.name!r} a second time{first}")
            if each.namespace in namespaces:
                raise PluginFault(
                    f"the format {each.name!r} of the plugin {name!r} has the namespace {each.namespace!r}, "
                    f"which is that of {namespaces[each.namespace]!r}"
                )
            formats[each.name] = each
        return formats

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """What the plugins answer to a hook. One that raises is switched off, noted in `broken`; the others are asked.

        Errors that are about the user's file or machine (LoomconvError but for PluginFault, OSError, MemoryError) are
        raised as they are.
        """
        answers = []
        for implementation in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            try:
                given = {name: arguments[name] for name in implementation.argnames}
                answer = implementation.function(*given.values())
            except Exception as error:
                if is_of_the_file(error):
                    raise
                self.switch_off(implementation.plugin_name, f"{told_briefly(error)} in {hook}")
                continue
            if answer is not None:
                answers.append(answer)
        return answers

    def at_work(self, chosen: Format, doing: str, source: str | None) -> AbstractContextManager[None]:
        """Tell what a format's own code raises as its plugin's fault; see `plugin_at_work`."""
        return plugin_at_work(chosen, self.plugin_of.get(chosen.name, chosen.name), doing, source)

    def listens(self, hook: str) -> bool:
        """Whether any plugin implements the hook."""
        return bool(getattr(self.manager.hook, hook).get_hookimpls())

    def switch_off(self, name: str, reason: str) -> None:
        """Use nothing of a plugin any more; its formats go, too."""
        self.broken[name] = reason
        if self.manager.has_plugin(name):
            self.manager.unregister(name=name)
        for each in [each for each, plugin in self.plugin_of.items() if plugin == name]:
            del self.formats[each], self.plugin_of[each]

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
        self.call("loomconv_register_hash_schemes", register=found.append)
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
            except Exception as error:  # a stranger's code must not stop the others
                self.broken[each.name] = f"{told_briefly(error)} while detecting"
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


def _precedence(entry_point: EntryPoint) -> tuple[bool, str]:
    return _distribution(entry_point) != _OWN_DISTRIBUTION, entry_point.name


def _distribution(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else ""


def _asked_for() -> tuple[str, str]:
    """What the two variables say now."""
    return os.environ.get(FILES_VARIABLE, ""), os.environ.get(DISABLE_VARIABLE, "")


# What the two variables said → the registry.
_default: dict[tuple[str, str], Registry] = {}


def broken_plugins() -> dict[str, str]:
    """The plugins that are left out of the default registry, and why; empty while nobody has asked for it."""
    registry = _default.get(_asked_for())
    return {} if registry is None else dict(registry.broken)


def default_registry() -> Registry:
    """The plugins that are installed and asked for, found once a process.

    Two variables of the environment, and hence worker processes, too, have a say: `LOOMCONV_DISABLE_PLUGINS`, names of
    entry points separated by commas, and `LOOMCONV_PLUGINS`, files of plugins separated as in `PATH`.
    """
    files, disabled = _asked_for()
    if (files, disabled) not in _default:
        _default[files, disabled] = Registry.from_entry_points(
            [path for path in files.split(os.pathsep) if path], {name.strip() for name in disabled.split(",")}
        )
    return _default[files, disabled]
