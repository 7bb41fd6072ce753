"""Leaving private parts out of a conversion: `--without system-context,agent-prompts,raw-responses,…`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from loomconv.errors import UsageFault
from loomconv.model.document import Document
from loomconv.model.record import NAMESPACE, own_record, without_members
from loomconv.model.types import Node
from loomconv.report import Report

__all__ = ["PARTS", "Withholder", "contained_parts"]

PARTS: dict[str, str] = {
    "system-context": "system prompts of trees (`systemContext`)",
    "agent-prompts": "system prompts of agents (`configuration.systemPrompt`)",
    "raw-responses": "raw model responses, body and headers and their hashes (Tier 3)",
    "raw-bodies": "bodies and headers of raw responses; their hashes stay",
    "generation": "everything about how texts were generated",
    "extensions": "what apps keep under `extensions`, and set-aside data of earlier conversions",
    "private": "system-context, agent-prompts and raw-bodies together",
}
_PRIVATE = frozenset({"system-context", "agent-prompts", "raw-bodies"})
# Set-aside data of an earlier conversion that could not be put back; it may hold anything.
_LEFT_OVER = ("residue", "written", "nodes", "document", "part")
_IN_LEFT_OVERS = frozenset({"system-context", "agent-prompts", "raw-responses", "raw-bodies", "generation"})
# Where the hub keeps such parts when a repair had to take them out of their place.
_KEPT_ASIDE = {
    "system-context": ("originalSystemContext",),
    "agent-prompts": ("originalAgents",),
    "raw-responses": ("original.generation",),
}


class Withholder:
    """Takes the named parts out of documents; what is taken out is counted in the report and goes nowhere else.

    Extensions may hold what is withheld, too (an app's own settings, raw forms): `private_keys` says, by namespace and
    part, under which dotted key paths; these go with their part.
    """

    def __init__(
        self, parts: Iterable[str], private_keys: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None
    ) -> None:
        chosen = set(parts)
        unknown = sorted(chosen - PARTS.keys())
        if unknown:
            raise UsageFault(
                f"unknown part {', '.join(unknown)} to leave out", next_step=f"Known parts: {', '.join(PARTS)}."
            )
        if "private" in chosen:
            chosen |= _PRIVATE
        self.parts = frozenset(chosen)
        # Recorded responses go with the bodies that they hold, and with everything about the generation.
        going = chosen | ({"raw-responses"} if chosen & {"raw-bodies", "generation"} else set())
        self._private = {
            namespace: [tuple(path.split(".")) for part, paths in by_part.items() if part in going for path in paths]
            for namespace, by_part in {**(private_keys or {}), NAMESPACE: _KEPT_ASIDE}.items()
        }
        self._private = {namespace: paths for namespace, paths in self._private.items() if paths}

    def apply(self, document: Document, report: Report) -> None:
        """Take the parts out of the document in place; nodes lose theirs when they are looked at."""
        if not self.parts:
            return
        document.touched = True
        self._apply_fields(document.fields, report)
        for tree in document.trees:
            self._apply_fields(tree.fields, report, tree=tree.id)
            if self._private or "extensions" in self.parts or self.parts & _IN_LEFT_OVERS:
                tree.nodes = tree.nodes.transformed(self._withhold_node)
                tree.edges = tree.edges.over(tree.nodes)
            if "extensions" in self.parts:
                edges = [
                    cast(Any, {key: value for key, value in edge.items() if key != "extensions"}) for edge in tree.edges
                ]
                tree.edges = type(tree.edges).from_edges(tree.nodes, edges)
        report.add("privacy.withheld", f"Left out as asked for: {', '.join(sorted(self.parts))}.")

    def _apply_fields(self, fields: dict[str, Any], report: Report, tree: str | None = None) -> None:
        if "system-context" in self.parts and fields.pop("systemContext", None) is not None:
            report.add("privacy.withheld", "The tree's system prompt was left out.", tree=tree)
        if "extensions" in self.parts:
            fields.pop("extensions", None)
        elif self._private and isinstance(fields.get("extensions"), dict):
            fields["extensions"] = self._without_private(fields["extensions"])
        if self.parts & _IN_LEFT_OVERS and not own_record(fields).keys().isdisjoint(_LEFT_OVER):
            rest = without_members(fields, *_LEFT_OVER)
            fields.clear()
            fields.update(rest)
        agents = fields.get("agents")
        if "agent-prompts" not in self.parts or not isinstance(agents, dict):
            return
        for agent_id, agent in agents.items():
            configuration = agent.get("configuration") if isinstance(agent, dict) else None
            if isinstance(configuration, dict) and configuration.get("systemPrompt") is not None:
                kept = {key: value for key, value in configuration.items() if key != "systemPrompt"}
                agents[agent_id] = {**agent, "configuration": kept}
                report.add("privacy.withheld", "The agent's system prompt was left out.", value=agent_id)

    def _withhold_node(self, node_id: str, node: Node) -> Node:
        changed = cast("dict[str, Any]", node)
        if self.parts & _IN_LEFT_OVERS and "residue" in own_record(changed):
            changed = without_members(changed, *_LEFT_OVER)
        if "extensions" in self.parts and "extensions" in changed:
            changed = {key: value for key, value in changed.items() if key != "extensions"}
        elif self._private and (extensions := changed.get("extensions")):
            kept = self._without_private(extensions)
            if kept is not extensions:
                changed = {**changed, "extensions": kept}
        generation = changed.get("generation")
        if generation is None:
            return cast(Node, changed)
        if "generation" in self.parts:
            return cast(Node, {key: value for key, value in changed.items() if key != "generation"})
        raw = generation.get("rawResponse") if isinstance(generation, dict) else None
        if raw is None:
            return cast(Node, changed)
        kept = {key: value for key, value in generation.items() if key != "rawResponse"}
        if "raw-responses" not in self.parts and "raw-bodies" in self.parts and isinstance(raw, dict):
            kept["rawResponse"] = {key: value for key, value in raw.items() if key not in ("body", "headers")}
        elif not self.parts & {"raw-responses", "raw-bodies"}:
            return cast(Node, changed)
        return cast(Node, {**changed, "generation": kept})

    def _without_private(self, extensions: dict[str, Any]) -> dict[str, Any]:
        """The extensions without the formats' private keys; the same object when there are none."""
        for namespace, paths in self._private.items():
            for path in paths:
                extensions = _without_path(extensions, (namespace, *path))
        return extensions


def _without_path(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """A copy of the object without what stands at the path; the same object when nothing does."""
    trail = [value]
    for step in path[:-1]:
        below = trail[-1].get(step)
        if not isinstance(below, dict):
            return value
        trail.append(below)
    if path[-1] not in trail[-1]:
        return value
    changed = {key: item for key, item in trail.pop().items() if key != path[-1]}
    for step in reversed(path[:-1]):
        changed = {**trail.pop(), step: changed}
    return changed


def contained_parts(document: Document) -> dict[str, int]:
    """How many system prompts of trees and of agents the document's fields hold; nodes are not looked at."""
    found = {"system-context": 0, "agent-prompts": 0}
    for fields in (document.fields, *(tree.fields for tree in document.trees)):
        found["system-context"] += bool(fields.get("systemContext"))
        agents = fields.get("agents")
        for agent in agents.values() if isinstance(agents, dict) else ():
            configuration = agent.get("configuration") if isinstance(agent, dict) else None
            found["agent-prompts"] += bool(isinstance(configuration, dict) and configuration.get("systemPrompt"))
    return found
