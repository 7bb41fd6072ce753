"""Taking a file's store of nodes apart: which entries there are, whose child each is, and in what order.

`nodeStore` is the truth; text follows `parent`, and siblings follow `children` (dossier §1.3, §6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loomconv.errors import InvalidDocument
from loomconv.format import ReadContext
from loomconv_plugins.miniloom.facts import ROOT, Raw

__all__ = ["Store", "key_of", "merged_children", "take_apart"]


@dataclass(slots=True)
class Store:
    """The entries by key, the root's among them under `ROOT`; `parent` and `children` as they are to be understood."""

    entries: dict[str, Raw]
    parent: dict[str, str] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)

    def walk(self) -> Iterator[str]:
        """All keys but the root's, parents before children, in the order of siblings."""
        waiting = list(reversed(self.children.get(ROOT, ())))
        while waiting:
            key = waiting.pop()
            yield key
            waiting.extend(reversed(self.children.get(key, ())))


def key_of(value: Any) -> str | None:
    """A reference to a node as its key: early files have numbers (dossier §1.1)."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def merged_children(shown: list[str], former: list[str]) -> list[str]:
    """Keys of a node's children in the file: those that hang there visibly, and among them by number those that do not.

    The app lists children in the order in which they were made.
    """
    merged: list[str] = []
    rest = sorted(former, key=_number, reverse=True)
    for key in shown:
        while rest and _number(rest[-1]) < _number(key):
            merged.append(rest.pop())
        merged.append(key)
    return [*merged, *reversed(rest)]


def take_apart(raw: Any, context: ReadContext) -> Store:
    """The store of a file. Raises InvalidDocument when there is none."""
    entries = _entries(raw, context)
    if ROOT not in entries:
        entries = {ROOT: {}, **entries}
        context.report.add("read.bad-value", "There is no root; an empty one was assumed.", node=ROOT)
        context.touched = True
    store = Store(entries)
    _find_parents(store, context)
    _order_children(store, context)
    _check_numbers(store, context)
    return store


def _entries(raw: Any, context: ReadContext) -> dict[str, Raw]:
    if isinstance(raw, list):
        # The app would never come to an end with such a file (dossier §3).
        context.report.add(
            "read.bad-value", "The nodes are a list; their own ids count.", pointer="/loomTree/nodeStore"
        )
        context.touched = True
        raw = {(isinstance(each, dict) and key_of(each.get("id"))) or str(n + 1): each for n, each in enumerate(raw)}
    if not isinstance(raw, dict):
        raise InvalidDocument(
            "there is no store of nodes in it", pointer="/loomTree/nodeStore", next_step="Save it again in MiniLoom."
        )
    entries: dict[str, Raw] = {}
    for key, value in raw.items():
        if isinstance(value, dict):
            entries[key] = value
        else:
            context.report.add("read.opaque-node", node=key)
            entries[key] = {"is": value}
            context.touched = True
        own = key_of(entries[key].get("id"))
        if own is not None and own != key:
            context.report.add("read.id-mismatch", node=key, value=own)
    return entries


def _find_parents(store: Store, context: ReadContext) -> None:
    """The parent that each entry names; the root for one that is not there, and for a ring's first member."""
    report = context.report
    for key, entry in store.entries.items():
        if key == ROOT:
            continue
        named = key_of(entry.get("parent"))
        if named is None or named not in store.entries:
            report.add("repair.missing-parent", "The node's parent is not there; it hangs on the root.", node=key)
            context.touched = True
            named = ROOT
        store.parent[key] = named
    settled = {ROOT}
    for key in store.parent:
        path = [key]
        on_path = {key}
        while path[-1] not in settled:
            above = store.parent[path[-1]]
            if above in on_path:
                report.add("repair.cycle", "A ring of nodes; the link that closes it was cut.", node=above)
                context.touched = True
                store.parent[above] = above = ROOT
            path.append(above)
            on_path.add(above)
        settled.update(path)


def _order_children(store: Store, context: ReadContext) -> None:
    """Children as listed, then those that are in nobody's list, by number."""
    below: dict[str, list[str]] = {}
    for key in store.parent:
        below.setdefault(store.parent[key], []).append(key)
    for key, entry in store.entries.items():
        listed = entry.get("children")
        names = [name for each in listed if (name := key_of(each)) is not None] if isinstance(listed, list) else []
        own = dict.fromkeys(name for name in names if store.parent.get(name) == key)
        rest = sorted((child for child in below.get(key, ()) if child not in own), key=_number)
        for name in dict.fromkeys(names):
            if name not in store.entries:
                context.report.add("read.missing-child", node=key, value=name)
                context.touched = True
        if rest or len(own) != sum(name in store.entries for name in names):
            context.report.add("read.children-disagree", node=key)
            context.touched = True
        store.children[key] = [*own, *rest]


def _number(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isascii() and key.isdecimal() and len(key) < 20 else (10**20, key)


def _check_numbers(store: Store, context: ReadContext) -> None:
    """The app gives a new node the number of all entries plus one, whether that is free or not (dossier §3)."""
    gaps = [key for key in store.entries if key.isdecimal() and _number(key)[0] > len(store.entries)]
    if gaps:
        context.report.add("miniloom.id-gap", value=gaps[:20])
        context.touched = True
