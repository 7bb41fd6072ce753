"""`model_responses` (dossier §1.8): looking up what models answered, in the tree and in sidecars; making entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LoomconvError
from loomconv.format import ReadContext
from loomconv.storage import Source
from loomconv_plugins.socketteer.facts import Raw

__all__ = ["SIDECAR_PATTERNS", "Made", "Responses", "looks_made", "read_sidecars"]

# Beside a tree, and for a tree that lies in `backups` itself (dossier §1.2 W7, W8; §5.5).
SIDECAR_PATTERNS: Final = ("backups/model_responses-*.json", "model_responses-*.json")
# An entry has a completion for each index up to the highest, so that a wild index must not make one.
_MOST_COMPLETIONS: Final = 4096
_MADE_KEYS: Final = frozenset({"completions", "prompt", "id", "model"})
_NO_PROMPT: Final = {"text": "", "tokens": None}


@dataclass(slots=True)
class Made:
    """What an entry is made of: the model, and the text of each completion that a node has."""

    model: str
    texts: dict[int, str] = field(default_factory=dict)

    def entry(self, ref: str) -> Raw:
        """The entry. Prompt, tokens, finish reason and time are not known and not made up (dossier §4.2)."""
        completions = [{"text": self.texts.get(index, ""), "tokens": []} for index in range(max(self.texts) + 1)]
        return {"completions": completions, "prompt": dict(_NO_PROMPT), "id": ref, "model": self.model}


def looks_made(ref: str, entry: Any) -> bool:
    """Whether an entry may be one that `Made` gave, not the record of an answer."""
    return (
        isinstance(entry, dict)
        and entry.keys() == _MADE_KEYS
        and entry["id"] == ref
        and entry["prompt"] == _NO_PROMPT
        and isinstance(entry["model"], str)
        and isinstance(entry["completions"], list)
    )


class Responses:
    """The responses of one tree: its own, those of sidecars, and those made while writing."""

    __slots__ = ("beside", "made", "own")

    def __init__(self, own: Any = None, beside: Any = None) -> None:
        self.own: Raw = own if isinstance(own, dict) else {}
        self.beside: Raw = beside if isinstance(beside, dict) else {}
        self.made: dict[str, Made] = {}

    def get(self, ref: str) -> Raw | None:
        """The recorded response with this id; None for an unknown one."""
        found = self.own.get(ref)
        if not isinstance(found, dict):
            found = self.beside.get(ref)
        return found if isinstance(found, dict) else None

    def model(self, ref: str) -> str | None:
        """The model that gave the response, None when it is not known."""
        found = self.get(ref)
        if found is None:
            return self.made[ref].model if ref in self.made else None
        model = found.get("model")
        return model if isinstance(model, str) and model else None

    def completion(self, ref: str, index: int) -> str | None:
        """The text of a recorded completion, None when it is not known."""
        found = self.get(ref)
        completions = found.get("completions") if found is not None else None
        if not isinstance(completions, list) or not 0 <= index < len(completions):
            return None
        text = completions[index].get("text") if isinstance(completions[index], dict) else None
        return text if isinstance(text, str) else None

    def make(self, ref: str, model: str, index: int, text: str) -> None:
        """See to it that the id leads to the model, unless something is recorded under it."""
        if self.get(ref) is not None or index >= _MOST_COMPLETIONS:
            return
        self.made.setdefault(ref, Made(model)).texts.setdefault(index, text)

    def entries(self) -> Raw:
        """`model_responses` as it is to be written: the tree's own, then those made."""
        return {**self.own, **{ref: made.entry(ref) for ref, made in self.made.items()}}


def read_sidecars(source: Source, context: ReadContext, wanted: Collection[str]) -> Raw:
    """The wanted responses out of the files that the app moved them to, each file used one notice; {} without any."""
    found: Raw = {}
    for path in _sidecar_paths(source):
        if len(found) == len(wanted):
            break
        try:
            loaded = jsontext.load(source.read_beside(path), non_finite="null").value
        except LoomconvError as error:
            message = f"A companion file cannot be used: {error.message}."
            context.report.add("read.sidecar", message, severity="warning", value=path.name)
            continue
        used = _take(loaded, wanted, found)
        if used:
            message = f"Model responses found in a companion file: {used}."
            context.report.add("read.sidecar", message, value=path.name)
    return found


def _sidecar_paths(source: Source) -> Iterable[Any]:
    return [path for pattern in SIDECAR_PATTERNS for path in source.beside(pattern)]


def _take(loaded: Any, wanted: Collection[str], found: Raw) -> int:
    if not isinstance(loaded, dict):
        return 0  # `[]` stands for nothing moved
    used = 0
    for ref, response in loaded.items():
        if ref in wanted and ref not in found and isinstance(response, dict):
            found[ref] = response
            used += 1
    return used
