"""Projection of a single node: one small step per capability, in a fixed order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, cast

from loomconv.capabilities import ANY, Capabilities
from loomconv.media.blocks import stand_in
from loomconv.model.times import format_ms, is_usual_time, ms_of, parse_iso
from loomconv.model.types import Node
from loomconv.project.residue import attach
from loomconv.report import Report, Severity

__all__ = ["NODE_KEYS", "STEPS", "Fit", "NodeProjector", "fitted_text", "fitted_time", "relevant_steps"]

# Keys of a node that the specification knows (openloom-2 dossier §4).
NODE_KEYS = frozenset({"id", "content", "author", "createdAt", "editedFrom", "meta", "generation", "extensions"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_PLANS = 256


@dataclass(slots=True)
class Fit:
    """What a step works with: the target's capabilities, how texts are joined, and the losses so far."""

    capabilities: Capabilities
    separator: str
    losses: list[tuple[str, str, str, Any]]
    # Whether the node is a note that is written as a child of what it is about.
    is_note: bool = False

    def lose(self, code: str, message: str, pointer: str, value: Any) -> None:
        """Note one thing that the target cannot hold."""
        self.losses.append((code, message, pointer, value))


# A step looks at the node, notes what the target cannot hold, and gives the values to write instead: key → value,
# None for a key that is left out. An empty result means that the node fits.
Step = Callable[[dict[str, Any], Fit], dict[str, Any]]


class NodeProjector:
    """Makes nodes fit a format's capabilities; a pure function of the node but for the report.

    A node is reported once, however often it is looked at. With `keep` the original values go into the node's residue.
    """

    def __init__(
        self,
        capabilities: Capabilities,
        report: Report,
        *,
        tree: str,
        keep: bool,
        separator: str = "",
        notes: Collection[str] = (),
    ) -> None:
        self.capabilities = capabilities
        self.report = report
        self.tree = tree
        self.notes = notes
        self.keep = keep and "node" in capabilities.unknown_keys
        self._reported: set[str] = set()
        self._fit = Fit(capabilities, separator, [])
        # The steps that can have anything to do with a node that has these keys; the same few over and over.
        self._plans: dict[tuple[str, ...], tuple[Step, ...]] = {}

    def __call__(self, node_id: str, node: Node) -> Node:
        """The node as the target can hold it; the very same object when it fits."""
        source = current = cast("dict[str, Any]", node)
        keys = tuple(source)
        fit = self._fit
        if fit.losses:
            fit.losses = []
        if self.notes:
            fit.is_note = node_id in self.notes
        changes: dict[str, Any] = {}
        for step in STEPS if None in source.values() else self._plans.get(keys) or self._planned(keys):
            changed = step(current, fit)
            if changed:
                changes.update(changed)
                current = {**current, **changed}
                for key, value in changed.items():
                    if value is None:
                        del current[key]
        if not changes:
            return node
        if fit.losses and node_id not in self._reported:
            self._report(node_id, fit)
        if self.keep:
            taken = {key: source[key] for key in changes if key in source and (key != "extensions" or not source[key])}
            current = attach(current, taken, [key for key in changes if key not in source])
        return cast(Node, current)

    def _planned(self, keys: tuple[str, ...]) -> tuple[Step, ...]:
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        plan = self._plans[keys] = relevant_steps(keys, self.capabilities)
        return plan

    def _report(self, node_id: str, fit: Fit) -> None:
        self._reported.add(node_id)
        severity: Severity | None = None if self.keep else "warning"
        for code, message, pointer, value in fit.losses:
            self.report.add(
                code, message, tree=self.tree, node=node_id, pointer=pointer, value=value, severity=severity
            )


def _fit_blocks(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """Blocks of unknown type become alternative text, transcript or placeholder (OL2-4.3-textonly, A24)."""
    content = node["content"]
    if len(content) == 1 and content[0]["type"] == "text" and len(content[0]) == 2:
        return {}
    held = []
    for position, block in enumerate(content):
        kind = block["type"]
        if fit.capabilities.holds(fit.capabilities.blocks, kind):
            held.append(block)
            continue
        text = stand_in(block)
        fit.lose("loss.block", f"A block of type {kind} is written as text.", f"/content/{position}", kind)
        held.append({"type": "text", "text": text})
    if not fit.capabilities.block_list:
        held = _joined(held, node, fit)
    return {} if held == content else {"content": held}


def _joined(blocks: list[dict[str, Any]], node: dict[str, Any], fit: Fit) -> list[dict[str, Any]]:
    """One text block; blocks that the target holds but that are no text stay behind it."""
    texts = [block for block in blocks if block["type"] == "text"]
    others = [block for block in blocks if block["type"] != "text"]
    if len(texts) != 1 or len(texts[0]) != 2 or blocks.index(texts[0]) != 0:
        fit.lose("loss.block-boundary", "The blocks are written as one text.", "/content", len(node["content"]))
    return [{"type": "text", "text": fit.separator.join(block["text"] for block in texts)}, *others]


def _fit_characters(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """U+FFFD stands for what the app cannot read."""
    if fit.capabilities.lone_surrogates and fit.capabilities.nul:
        return {}
    content = node["content"]
    changed = None
    for position, block in enumerate(content):
        text = block.get("text")
        if not isinstance(text, str):
            continue
        fitted, losses = fitted_text(text, fit.capabilities)
        for code, message in losses:
            fit.lose(code, message, f"/content/{position}/text", None)
        if fitted is not text:
            changed = list(content) if changed is None else changed
            changed[position] = {**block, "text": fitted}
    return {} if changed is None else {"content": changed}


def fitted_text(text: str, capabilities: Capabilities) -> tuple[str, list[tuple[str, str]]]:
    """The text as the app can read it (the same object when it can), and codes and messages of what was replaced."""
    fitted, losses = text, []
    if not capabilities.nul and "\0" in text:
        losses.append(("loss.nul", "The text holds U+0000; U+FFFD stands for it."))
        fitted = fitted.replace("\0", "\ufffd")
    if not capabilities.lone_surrogates and not text.isascii() and _SURROGATE.search(text):
        losses.append(("loss.lone-surrogate", "The text holds half a character; U+FFFD stands for it."))
        fitted = _SURROGATE.sub("\ufffd", fitted)
    return fitted, losses


def _fit_author(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """Roles, names and agents that the target does not know."""
    author = node["author"]
    role = author["role"]
    fitted = author
    if not fit.capabilities.holds(fit.capabilities.roles, role):
        nearest = _nearest_role(role, node, fit.capabilities)
        fit.lose("loss.author-role", f"The role {role!r} is written as {nearest!r}.", "/author/role", role)
        fitted = {**fitted, "role": nearest}
    if len(author) > 1:
        if author.get("name") is not None and not fit.capabilities.holds(fit.capabilities.author_names, fitted["role"]):
            fit.lose("loss.author-name", "The author's name is not written.", "/author/name", author["name"])
            fitted = {key: value for key, value in fitted.items() if key != "name"}
        if author.get("agentId") is not None and not fit.capabilities.agents:
            fit.lose("loss.agent", "The node's agent is not written.", "/author/agentId", author["agentId"])
            fitted = {key: value for key, value in fitted.items() if key != "agentId"}
        if not fit.capabilities.agents:
            fitted = _known_only(fitted, ("role", "name"), "/author", fit)
    return {} if fitted is author else {"author": fitted}


def _nearest_role(role: str, node: dict[str, Any], capabilities: Capabilities) -> str:
    """`mixed` is model output that a human edited; anything unknown counts as human unless it was generated (A28)."""
    generated = role == "mixed" or (role not in ("human", "model", "system") and bool(node.get("generation")))
    nearest = "model" if generated else "human"
    return nearest if capabilities.holds(capabilities.roles, nearest) else capabilities.roles[0]


def _known_only(value: dict[str, Any], known: tuple[str, ...], pointer: str, fit: Fit) -> dict[str, Any]:
    if all(key in known and item is not None for key, item in value.items()):
        return value
    for key, item in value.items():
        if key not in known and item is not None:
            fit.lose("loss.unknown-field", "The field is not written.", f"{pointer}/{key}", item)
    return {key: item for key, item in value.items() if key in known and item is not None}


def _fit_time(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """Times as fine as the target has them, in UTC."""
    created = node.get("createdAt")
    if created is None or fit.capabilities.node_times == "exact":
        return {}
    if fit.capabilities.node_times == "none":
        fit.lose("loss.node-time", "The node's time is not written.", "/createdAt", created)
        return {"createdAt": None}
    if len(created) == 20 and created[19] == "Z" and created[10] == "T":
        return {}
    fine = fit.capabilities.node_times == "millisecond" and len(created) == 24
    if fine and created[23] == "Z" and created[10] == "T" and created[19:23] != ".000":
        return {}
    fitted, exact = fitted_time(created, fit.capabilities.node_times)
    if fitted is None:
        fit.lose("loss.node-time", "The node's time is not written.", "/createdAt", created)
    elif not exact:
        fit.lose("loss.time-precision", "The node's time is written less finely.", "/createdAt", created)
    return {} if fitted == created else {"createdAt": fitted}


def fitted_time(text: str, unit: str) -> tuple[str | None, bool]:
    """A time in UTC as fine as the unit (second or millisecond) allows, and whether it is the very same moment."""
    parsed = parse_iso(text)
    if parsed is None:
        return None, False
    if is_usual_time(text):
        # Spelled as it would be written, but for digits that are cut off or say nothing.
        exact = len(text) == 20 or text[19:23] == ".000"
        return (text if unit != "second" and not exact else f"{text[:19]}Z"), exact or unit != "second"
    moment, finer = parsed
    milliseconds = ms_of(moment)
    whole = milliseconds - milliseconds % 1000 if unit == "second" else milliseconds
    return format_ms(whole), whole == milliseconds and not finer


def _fit_lineage(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    edited_from = node.get("editedFrom")
    if edited_from is None or fit.capabilities.edit_lineage:
        return {}
    fit.lose("loss.edit-lineage", "What the node was edited from is not written.", "/editedFrom", edited_from)
    return {"editedFrom": None}


def _fit_meta(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    meta = node.get("meta")
    if meta is None or (fit.capabilities.meta == ANY and fit.capabilities.ratings == "any"):
        return {}
    fitted = {}
    for key, value in meta.items():
        if value is None or value is False or value == []:
            continue  # the same as not being there; a rating of 0 is not
        if key == "rating" and fit.capabilities.ratings == "sign" and not _is_sign(value):
            if _sign(value):
                fitted[key] = _sign(value)
            fit.lose("loss.rating", "Only the rating's sign is written.", "/meta/rating", value)
        elif fit.capabilities.holds(fit.capabilities.meta, key):
            fitted[key] = value
        else:
            fit.lose("loss.meta", f"{key} is not written.", f"/meta/{key}", value)
    return {} if fitted == meta and fitted else {"meta": fitted or None}


def _is_sign(rating: Any) -> bool:
    return type(rating) is int and rating in (1, -1)


def _sign(rating: Any) -> int:
    """1, 0 or -1; 0 for what is no number."""
    if isinstance(rating, bool) or not isinstance(rating, int | float):
        return 0
    return (rating > 0) - (rating < 0)


def _fit_note(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """A note that became a child gets the app's tag for notes; that it became one is reported with the tree."""
    if not fit.is_note or fit.capabilities.note_tag is None:
        return {}
    meta = node.get("meta") or {}
    tags = meta.get("tags") or []
    return {} if fit.capabilities.note_tag in tags else {"meta": {**meta, "tags": [*tags, fit.capabilities.note_tag]}}


def _fit_generation(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """What the target knows of how a text was generated; the rest is kept whole (OL2-5-verbatim)."""
    generation = node.get("generation")
    if generation is None or fit.capabilities.generation == ANY:
        return {}
    fitted = {
        key: value for key, value in generation.items() if key in fit.capabilities.generation and _is_plain(key, value)
    }
    if len(fitted) == len(generation) and fitted:
        return {}
    lost = sorted(key for key in generation if key not in fitted)
    if lost:
        fit.lose("loss.generation", f"Not written of the generation: {', '.join(lost)}.", "/generation", lost)
    return {"generation": fitted or None}


def _is_plain(key: str, value: Any) -> bool:
    """A held part of the generation has the type that the specification gives it, and says something."""
    if key == "completionIndex":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, str) and value != ""


def _fit_unknown(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """Keys that the specification does not know, and keys without a value (A9, A10)."""
    if node.keys() <= NODE_KEYS and None not in node.values():
        return {}
    changes: dict[str, Any] = {}
    for key, value in node.items():
        if key not in NODE_KEYS:
            fit.lose("loss.unknown-field", "The field is not written.", f"/{key}", value)
            changes[key] = None
        elif value is None:
            changes[key] = None
    return changes


def _fit_extensions(node: dict[str, Any], fit: Fit) -> dict[str, Any]:
    extensions = node.get("extensions")
    if extensions is None or "node" in fit.capabilities.unknown_keys:
        return {}
    fit.lose("loss.extension", "What other apps keep is not written.", "/extensions", sorted(extensions))
    return {"extensions": None}


STEPS: tuple[Step, ...] = (
    _fit_blocks,
    _fit_characters,
    _fit_author,
    _fit_time,
    _fit_lineage,
    _fit_meta,
    _fit_note,
    _fit_generation,
    _fit_unknown,
    _fit_extensions,
)
# Steps that have nothing to do unless a node has this key.
_KEY_OF_STEP: dict[Step, str] = {
    _fit_time: "createdAt",
    _fit_lineage: "editedFrom",
    _fit_meta: "meta",
    _fit_generation: "generation",
    _fit_extensions: "extensions",
}


def relevant_steps(keys: Collection[str], capabilities: Capabilities) -> tuple[Step, ...]:
    """Those of `STEPS`, in their order, that may change a node which has these keys, and null under none of them."""
    idle = {step for step, key in _KEY_OF_STEP.items() if key not in keys}
    if NODE_KEYS.issuperset(keys):
        idle.add(_fit_unknown)
    if capabilities.lone_surrogates and capabilities.nul:
        idle.add(_fit_characters)
    if capabilities.node_times == "exact":
        idle.add(_fit_time)
    if capabilities.edit_lineage:
        idle.add(_fit_lineage)
    if capabilities.meta == ANY and capabilities.ratings == "any":
        idle.add(_fit_meta)
    if capabilities.note_tag is None:
        idle.add(_fit_note)
    if capabilities.generation == ANY:
        idle.add(_fit_generation)
    if "node" in capabilities.unknown_keys:
        idle.add(_fit_extensions)
    return tuple(step for step in STEPS if step not in idle)
