"""Whether what a plugin declares can be true at all; said when it is registered, and not when a file needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from loomconv.capabilities import Capabilities
from loomconv.errors import PluginFault
from loomconv.format import API_VERSION, Format, Option
from loomconv.jsontext import Layout
from loomconv.model.record import NAMESPACE
from loomconv.privacy import PARTS
from loomconv.report import CODES, Code

__all__ = ["check_format"]

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SEVERITIES: Final = ("notice", "warning", "error")
# What a format has to define to do what it says it can: attribute of `Format` → methods.
_NEEDED: Final = {"reads": ("detect", "read"), "writes": ("write",)}


def check_format(chosen: Any, plugin: str) -> None:
    """Raise PluginFault, naming the plugin, the format and the attribute, for the first thing that cannot be."""
    if not isinstance(chosen, Format):
        raise PluginFault(f"the plugin {plugin!r} registers {_shown(chosen)}, which is no Format")
    for problem in _problems(chosen):
        name = getattr(chosen, "name", None)
        what = f"the format {name!r}" if isinstance(name, str) else f"the format class {type(chosen).__name__}"
        raise PluginFault(f"{what} of the plugin {plugin!r} {problem}")


def _shown(value: Any) -> str:
    """The value for a message; a class that was meant to be called is told from an object."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


def _problems(chosen: Format) -> Iterator[str]:
    missing = [key for key in ("name", "title", "namespace") if not _is_text(getattr(chosen, key, None))]
    if missing:
        yield f"lacks the attribute {', '.join(missing)} (a text that is not empty)"
        return
    if not _NAME.fullmatch(chosen.name):
        yield "has a name that is not made of small letters, digits and single hyphens between them"
    if chosen.namespace == NAMESPACE:
        yield f"has the namespace {NAMESPACE!r}, which is the hub's own"
    yield from _api_problems(chosen.api)
    if not isinstance(chosen.capabilities, Capabilities):
        yield "has capabilities that are no Capabilities"
    if not isinstance(chosen.layout, Layout) or not all(isinstance(each, Layout) for each in chosen.further_layouts):
        yield "has a layout that is no Layout"
    if not _are_texts(chosen.suffixes) or not all(
        each.startswith(".") and each == each.lower() for each in chosen.suffixes
    ):
        yield "has suffixes that are no tuple of texts in small letters that begin with a full stop"
    if not _is_text(chosen.media_type):
        yield "has a media type that is no text"
    if chosen.compared_by not in ("file", "document"):
        yield "is compared by neither 'file' nor 'document'"
    if not isinstance(chosen.by_products, Mapping) or not all(
        map(_is_text, [*chosen.by_products, *chosen.by_products.values()])
    ):
        yield "has by-products that are no mapping of patterns to words"
    yield from _ability_problems(chosen)
    yield from _option_problems(chosen.options)
    yield from _code_problems(chosen.finding_codes)
    yield from _private_problems(chosen)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(map(_is_text, values))


def _api_problems(api: Any) -> Iterator[str]:
    if not (isinstance(api, tuple) and len(api) == 2 and all(type(part) is int for part in api)):
        yield "has an api that is no pair of numbers"
    elif api[0] != API_VERSION[0] or api[1] > API_VERSION[1]:
        wanted, given = (".".join(map(str, version)) for version in (api, API_VERSION))
        newer = "loomconv" if api > API_VERSION else "the plugin"
        yield f"is written for plugin API {wanted}, and this loomconv has {given}: update {newer}"


def _ability_problems(chosen: Format) -> Iterator[str]:
    if not isinstance(chosen.reads, bool) or not isinstance(chosen.writes, bool):
        yield "says neither True nor False to whether it reads and writes"
        return
    if not chosen.reads and not chosen.writes:
        yield "neither reads nor writes"
    for ability, methods in _NEEDED.items():
        for method in methods if getattr(chosen, ability) else ():
            if getattr(type(chosen), method) is getattr(Format, method):
                yield f"says that it {ability}, and has no method `{method}`"


def _option_problems(options: Any) -> Iterator[str]:
    if not isinstance(options, tuple) or not all(isinstance(each, Option) for each in options):
        yield "has options that are no tuple of Option"
        return
    for each in options:
        if not isinstance(each.name, str) or not _NAME.fullmatch(each.name):
            yield f"has an option with the name {each.name!r}, which cannot stand on a command line"
        elif not _are_texts(each.choices) or each.default not in each.choices:
            yield f"has an option {each.name!r} whose default is none of its choices"
        elif each.applies_to not in ("read", "write"):
            yield f"has an option {each.name!r} that applies to neither 'read' nor 'write'"
    names = [each.name for each in options]
    if len(set(names)) < len(names):
        yield "has two options of one name"


def _code_problems(codes: Any) -> Iterator[str]:
    if not isinstance(codes, Mapping):
        yield "has finding codes that are no mapping"
        return
    for code, meaning in codes.items():
        if not isinstance(code, str) or not re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", code):
            yield f"has a finding code {code!r}, which is not written like `stage.what`"
        elif code in CODES:
            yield f"has the finding code {code!r}, which is one of the hub's own: use it without declaring it"
        elif not isinstance(meaning, Code) or meaning.severity not in _SEVERITIES or not _is_text(meaning.meaning):
            yield f"has a finding code {code!r} that is no Code with one of the severities {', '.join(_SEVERITIES)}"


def _private_problems(chosen: Format) -> Iterator[str]:
    """Private keys are asked for at every conversion, of whatever format."""
    keys = chosen.private_keys()
    if not isinstance(keys, Mapping) or not all(_are_texts(paths) for paths in keys.values()):
        yield "has private keys that are no mapping of parts to tuples of dotted paths"
    elif unknown := sorted(set(keys) - PARTS.keys()):
        yield f"has private keys of parts that do not exist: {', '.join(map(str, unknown))}"
