"""Tags: their definitions, and what they hide (dossier §3.6; the app's `visible_conditions`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loomconv_plugins.socketteer.facts import DEFAULT_TAGS, Raw, tag_definition

__all__ = ["definition_of", "hides", "with_definitions"]


def definition_of(name: str) -> Raw:
    """The app's own definition of a tag, or a plain one."""
    return dict(DEFAULT_TAGS[name]) if name in DEFAULT_TAGS else tag_definition(name)


def with_definitions(defined: Mapping[str, Any], used: Iterable[str], left_out: Iterable[str] = ()) -> Raw:
    """The definitions with complete ones for the used tags that have none, but for those left out."""
    passed = set(left_out)
    return {
        **defined,
        **{name: definition_of(name) for name in used if name not in defined and name not in passed},
    }


def hides(definitions: Any, path: Sequence[int], tags: Mapping[int, Sequence[str]], parents: Sequence[int]) -> bool:
    """Whether the app would hide the last node of a path (from a root down), given the tags of all tagged nodes.

    A hidden ancestor hides what is below it. Linear in the path and the tagged nodes' ancestors.
    """
    defined = {**DEFAULT_TAGS, **(definitions if isinstance(definitions, dict) else {})}
    reached: list[tuple[bool, set[int]]] = []
    for name, definition in defined.items():
        if not isinstance(definition, dict):
            continue
        for flag, wanted in (("hide", False), ("show_only", True)):
            if definition.get(flag):
                reached.append((wanted, _reach(name, definition.get("scope"), path, tags, parents)))
    for wanted in (False, True):
        sets = [nodes for kind, nodes in reached if kind is wanted]
        if not wanted and any(ordinal in nodes for ordinal in path for nodes in sets):
            return True
        if wanted and sets and not all(any(ordinal in nodes for nodes in sets) for ordinal in path):
            return True
    return False


def _reach(
    name: str, scope: Any, path: Sequence[int], tags: Mapping[int, Sequence[str]], parents: Sequence[int]
) -> set[int]:
    """The nodes (on the path, or all for the scope `ancestry`) that count as tagged."""
    on_path = [place for place, ordinal in enumerate(path) if name in tags.get(ordinal, ())]
    if scope == "subtree":
        return set(path[on_path[0] :]) if on_path else set()
    if scope != "ancestry":
        return {path[place] for place in on_path}
    reached: set[int] = set()
    for ordinal, names in tags.items():
        if name in names:
            while ordinal >= 0 and ordinal not in reached:
                reached.add(ordinal)
                ordinal = parents[ordinal]
    return reached
