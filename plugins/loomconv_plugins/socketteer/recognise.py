"""Telling the app's files from those of others by content (dossier §1.1, §5.16)."""

from __future__ import annotations

from typing import Any, Final

from loomconv.format import Confidence, Probe
from loomconv_plugins.socketteer.key_order import TOP_ORDER
from loomconv_plugins.socketteer.parse import FLAT_EXPORT, relative_of
from loomconv_plugins.socketteer.unfold import LINKS

__all__ = ["recognise"]

# Keys beside `root` that hardly occur elsewhere.
_TELLING: Final = frozenset(TOP_ORDER.keys) - {"root", "tags", "preferences", "frame"}
# Keys with which others mark their files: token-loom, Loomsidian, MiniLoom, OpenLoom, chat exports.
_OTHERS: Final = frozenset({"nodes", "loomTree", "trees", "mapping", "messages", "format", "op"})
_NODE_KEYS: Final = frozenset({"id", "text", "children", "mutable", "alt", *LINKS})


def recognise(probe: Probe) -> Confidence | None:
    """How sure it is that a file is a tree of the app, or a relative of one that `read` can explain."""
    value = probe.value
    if FLAT_EXPORT.match(probe.head):
        return Confidence(20, "what the app's flat export prints; it cannot be read")
    if isinstance(value, list):
        return _recognise_list(value)
    if not isinstance(value, dict):
        return None
    if len(probe.lines) > 1:
        return _recognise_lines(probe.lines)
    if not _OTHERS.isdisjoint(value):
        return None
    if "root" in value:
        return _recognise_tree(value)
    relative = relative_of(value)
    if relative is not None:
        return Confidence(20, relative)
    companions = sorted(_TELLING.intersection(value))
    if probe.truncated and len(companions) > 1:
        return Confidence(60, f"{' and '.join(companions[:2])}, with the root further on")
    return _recognise_node(value)


def _recognise_tree(value: dict[str, Any]) -> Confidence | None:
    root = value["root"]
    if not isinstance(root, dict) or not ("text" in root or "children" in root):
        return None
    companions = sorted(_TELLING.intersection(value))
    if companions:
        return Confidence(95, f"a root node with text or children, and {companions[0]}")
    return Confidence(75, "a root node with text or children")


def _recognise_node(value: dict[str, Any]) -> Confidence | None:
    if "text" not in value:
        return None
    if isinstance(value.get("children"), list):
        return Confidence(60, "a node with text and children")
    return Confidence(30, "a node with text") if value.keys() <= _NODE_KEYS else None


def _recognise_lines(lines: list[Any]) -> Confidence | None:
    """The app's export has `id`, `text` and `parent_id`; the first line lacks the last."""
    if not all("id" in line and line.keys() <= _NODE_KEYS for line in lines):
        return None
    if any(link in line for line in lines for link in LINKS):
        return Confidence(60, "lines with id, text and parent_id")
    return None


def _recognise_list(value: list[Any]) -> Confidence | None:
    sample = [each for each in value[:20] if isinstance(each, dict)]
    if not sample or len(sample) < len(value[:20]) or any("role" in each for each in sample):
        return None
    if any(not _OTHERS.isdisjoint(each) for each in sample):
        return None
    if not all(isinstance(each.get("text", ""), str) for each in sample) or not any("text" in each for each in sample):
        return None
    if any(isinstance(each.get("children"), list) for each in sample):
        return Confidence(55, "a list of nodes with text and children")
    if any(link in each for each in sample for link in LINKS):
        return Confidence(55, "a list of nodes with text and parents")
    return Confidence(30, "a list of nodes with text") if all(each.keys() <= _NODE_KEYS for each in sample) else None
