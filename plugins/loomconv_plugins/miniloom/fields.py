"""One entry of the store and the core of its node, both ways.

The core's fields stand flat here: `createdAt`, `role`, `note`, `rating`, `model`, `usage`; one that is not there is
None. `base_entry` is what the core alone gives; the *stash* is what an entry has otherwise; *marks* say of a written
entry what it cannot say of the core.
"""

from __future__ import annotations

from typing import Any, Final

from loomconv.model.times import format_ms, to_ms
from loomconv_plugins.miniloom.facts import PLACEHOLDERS, ROLE_OF_TYPE, TYPE_OF_ROLE, Raw, same

__all__ = [
    "OWN_KEYS",
    "Core",
    "apply_marks",
    "base_entry",
    "core_of_node",
    "marks_of",
    "node_fields",
    "put_stash",
    "read_core",
    "stash_of",
]

Core = dict[str, Any]

# Which key of an entry each field of the core is read from.
_KEY_OF: Final = {
    "createdAt": "timestamp",
    "role": "type",
    "note": "summary",
    "rating": "rating",
    "model": "model",
    "usage": "usage",
}
_ROLE_OF_MESSAGE: Final = {"user": "human", "assistant": "model", "system": "system"}
_MODEL_KEYS: Final = ("model", "baseModel", "base_model")
_USAGE: Final = {
    "prompt_tokens": "promptTokens",
    "completion_tokens": "completionTokens",
    "total_tokens": "totalTokens",
}
# Keys of a stash that are no keys of an entry; an entry's key with such a name goes under `unknown`.
OWN_KEYS: Final = frozenset({"absent", "unknown", "patchJson", "message", "messages", "system", "is"})
# Keys that are put together from the tree's structure.
_STRUCTURE: Final = frozenset({"parent", "children", "patch"})
_LABEL_LENGTH: Final = 60
_LABEL_WORDS: Final = 5
# Markup in a summary would be shown as such (dossier §3).
_MARKUP: Final = str.maketrans("", "", "<>&\"'")


# -- reading ---------------------------------------------------------------------------------------------------------


def read_core(entry: Raw, message_role: Any = None) -> Core:
    """The core's fields as the entry says them; in a chat the message's role counts before the entry's type."""
    role = _role(entry.get("type"), message_role)
    rating, summary = entry.get("rating"), entry.get("summary")
    note = isinstance(summary, str) and summary not in PLACEHOLDERS and not _is_numbered(summary)
    core: Core = {
        "createdAt": _time(entry.get("timestamp")),
        "role": role,
        "note": summary if note else None,
        "rating": (1 if rating else -1) if isinstance(rating, bool) else None,
        "model": None,
        "usage": None,
    }
    if role in ("model", "mixed"):
        names = (entry.get(key) for key in _MODEL_KEYS)
        core["model"] = next((name for name in names if isinstance(name, str) and name), None)
        core["usage"] = _usage(entry.get("usage"))
    return core


def _role(kind: Any, message_role: Any) -> str:
    if isinstance(message_role, str) and message_role in _ROLE_OF_MESSAGE:
        return "mixed" if kind == "import" and message_role == "user" else _ROLE_OF_MESSAGE[message_role]
    return ROLE_OF_TYPE.get(kind, "human") if isinstance(kind, str) else "human"


def _is_numbered(summary: str) -> bool:
    return summary.startswith("Branch ") and summary[7:].isdecimal()


def _time(value: Any) -> str | None:
    if isinstance(value, str):
        milliseconds = to_ms(value)
        return None if milliseconds is None else format_ms(milliseconds)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 8.64e15 or value != value // 1:
        return None
    return format_ms(int(value))


def _usage(value: Any) -> Raw | None:
    if not isinstance(value, dict):
        return None
    return {name: value[key] for key, name in _USAGE.items() if type(value.get(key)) is int} or None


def node_fields(core: Core) -> Raw:
    """The fields as a node of the pivot has them, without its id, content and extensions."""
    fields: Raw = {"author": {"role": core["role"]}}
    if core["createdAt"] is not None:
        fields["createdAt"] = core["createdAt"]
    meta = {name: core[name] for name in ("rating", "note") if core[name] is not None}
    if meta:
        fields["meta"] = meta
    generation = {name: core[name] for name in ("model", "usage") if core[name] is not None}
    if generation:
        fields["generation"] = generation
    return fields


def core_of_node(node: Any) -> Core:
    """The fields of a node of the pivot."""
    meta, generation = node.get("meta") or {}, node.get("generation") or {}
    return {
        "createdAt": node.get("createdAt"),
        "role": node["author"]["role"],
        "note": meta.get("note"),
        "rating": meta.get("rating"),
        "model": generation.get("model"),
        "usage": generation.get("usage"),
    }


# -- writing ---------------------------------------------------------------------------------------------------------


def base_entry(core: Core, key: str, text: str, default_time: int) -> Raw:
    """The entry that the core alone gives, in the app's order; the patch, parent and children come later.

    `text` is the node's own piece, for a label where there is none; `default_time` (ms) stands for a missing time.
    """
    created = None if core["createdAt"] is None else to_ms(core["createdAt"])
    rating = core["rating"]
    return {
        "id": key,
        "timestamp": default_time if created is None else created,
        "type": TYPE_OF_ROLE.get(core["role"], "import"),
        "patch": [],
        "summary": _label(core["note"]) if core["note"] is not None else _label(text),
        "rating": rating > 0 if isinstance(rating, int) and rating else None,
        "read": True,
        "parent": None,
        "children": [],
        "model": core["model"] if isinstance(core["model"], str) and core["model"] else None,
        "error": None,
        "finishReason": None,
    }


def _label(text: str) -> str:
    """A short text as it is, else its first words; what the app would show as markup is left out of those."""
    if len(text) <= _LABEL_LENGTH and "\n" not in text and not set(text) & set("<>&"):
        return text
    words = text[: 20 * _LABEL_LENGTH].translate(_MARKUP).split()
    return " ".join(words[:_LABEL_WORDS])[:_LABEL_LENGTH]


# -- the difference --------------------------------------------------------------------------------------------------


def stash_of(entry: Raw, base: Raw) -> Raw:
    """What the entry has otherwise than the base: raw values at their own names, and which keys are `absent`."""
    stash = {
        key: value
        for key, value in entry.items()
        if key not in _STRUCTURE and not (key in base and same(base[key], value))
    }
    clashing = {key: stash.pop(key) for key in [*stash] if key in OWN_KEYS}
    if clashing:
        stash["unknown"] = clashing
    absent = [key for key in base if key not in entry]
    return {**stash, "absent": absent} if absent else stash


def put_stash(base: Raw, stash: Raw, core: Core, message_role: Any) -> Raw:
    """The base with the stash's raw values, each as long as the entry then still says what the core says."""
    entry = dict(base)
    settled = read_core(base, message_role)
    for key, value in stash.items():
        if key in OWN_KEYS or key in _STRUCTURE or (key in ("id", "type") and not _is_safe(key, value, base)):
            continue
        tried = {**entry, key: value}
        if _as_good(tried, settled, core, message_role):
            entry = tried
    entry.update(stash.get("unknown") or {})
    for key in stash.get("absent") or ():
        if key in entry and key not in ("id", "patch", "parent"):
            tried = {other: value for other, value in entry.items() if other != key}
            if _as_good(tried, settled, core, message_role):
                entry = tried
    return entry


def _is_safe(key: str, value: Any, base: Raw) -> bool:
    """The app needs an id that is the key, and a type without blanks (dossier §3)."""
    if key == "id":
        return str(value) == base["id"] and not isinstance(value, bool)
    return isinstance(value, str) and not any(character.isspace() for character in value)


def _as_good(entry: Raw, settled: Core, core: Core, message_role: Any) -> bool:
    """Whether the entry says all of the core that the base says, and nothing else of it than the core does."""
    read = read_core(entry, message_role)
    return all(same(read[name], core[name]) or same(read[name], settled[name]) for name in read)


def marks_of(entry: Raw, core: Core, message_role: Any) -> Raw:
    """What the entry does not say of the core: by field, what the entry has in its place and what the core has."""
    read = read_core(entry, message_role)
    return {
        name: {"for": entry.get(_KEY_OF[name]), "is": core[name]} for name in read if not same(read[name], core[name])
    }


def apply_marks(core: Core, entry: Raw, marks: Any) -> Core:
    """The core with what marks say, each as long as the entry has what it was written with."""
    if not isinstance(marks, dict):
        return core
    marked = dict(core)
    for name, mark in marks.items():
        if name in _KEY_OF and isinstance(mark, dict) and same(mark.get("for"), entry.get(_KEY_OF[name])):
            marked[name] = mark.get("is")
    return {name: value if _is_right(name, value) else core[name] for name, value in marked.items()}


def _is_right(name: str, value: Any) -> bool:
    """Whether a value is of the type that the core's field has; marks are a stranger's, too."""
    if name == "role":
        return isinstance(value, str)
    kind = {"createdAt": str, "note": str, "model": str, "rating": int, "usage": dict}.get(name)
    return value is None or kind is None or (isinstance(value, kind) and not isinstance(value, bool))
