"""The nodes of a tree as JSON text, nested or flat, in any layout; depth and width cost nothing but their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from loomconv_plugins.socketteer.compose import own_stash
from loomconv_plugins.socketteer.emission import Texts, Writer
from loomconv_plugins.socketteer.facts import KIDS, Raw
from loomconv_plugins.socketteer.items import Items, Opened, Stray, with_strays
from loomconv_plugins.socketteer.refold import ROOT, Item

__all__ = ["Nesting"]

_Seed = tuple[str, int]


class _Children:
    """A list of children that is being written; `level` is that of the children."""

    __slots__ = ("level", "opened", "rest", "started")

    def __init__(self, opened: Opened, level: int) -> None:
        self.rest: Iterator[Any] = iter(opened.kids)
        self.opened = opened
        self.level = level
        self.started = False


class Nesting:
    """Writes the nodes in one of the app's shapes."""

    def __init__(self, items: Items, texts: Texts) -> None:
        self.items = items
        self.texts = texts

    # -- shapes ------------------------------------------------------------------------------------------------

    def write_root(self, out: Writer, level: int) -> None:
        """The root of a tree: the structural one above all roots, or the only root where the file had it so."""
        structure = self.items.structure
        top: Item = ROOT if self.items.single_root is None else self.items.single_root
        self._write(out, structure.placed(top), level, None, ("", 0))

    def write_list(self, out: Writer) -> None:
        """All roots, nested, in one array or one a line."""
        structure = self.items.structure
        places: list[Any] = [(structure.placed(root), None, ("", place)) for place, root in enumerate(structure.roots)]
        self._write_items(out, places, lambda level, place: self._write(out, place[0], level, *place[1:]))

    def write_flat(self, out: Writer) -> None:
        """All nodes in one array or one a line, each with a link to its parent."""
        self.items.plan()
        graph, ids = self.items.tree.graph, self.items.tree.nodes.ids
        link = "parentId" if self.items.stash.get("link") == "parentId" else "parent_id"
        order = range(len(ids)) if self._is_file_order() else list(graph.walk(self.items.structure.roots))
        written = [self.items.written_id(ordinal) for ordinal in range(len(ids))]
        at = self._places()
        places: list[tuple[int, Raw, _Seed]] = []
        for ordinal in order:
            parent = graph.parent[ordinal]
            if parent < 0:
                places.append((ordinal, {}, ("", at[ordinal])))
            else:
                places.append((ordinal, {link: written[parent]}, (ids[parent], at[ordinal])))
        self._write_items(out, places, lambda level, place: out.write(self._flat_text(level, *place)))

    def _flat_text(self, level: int, ordinal: int, parent: Raw, seed: _Seed) -> bytes:
        nodes = self.items.tree.nodes
        node = nodes[nodes.ids[ordinal]]
        entry = self.items.node_entry(ordinal, node, own_stash(node), parent, seed, has_kids=False)
        entry = self.items.composer.settle_link(entry, parent, nodes.ordinals)
        if entry.get("children") is KIDS:
            entry = {**entry, "children": []}
        return self.texts.value(entry, level)

    def _write_items(self, out: Writer, places: list[Any], write: Callable[[int, Any], Any]) -> None:
        """The items of the outermost list, each by `write(level, item)`."""
        texts, stash = self.texts, self.items.stash
        if stash.get("shape") == "lines":
            for number, place in enumerate(places):
                out.write(texts.layout.newline.encode() if number else b"")
                write(0, place)
            return
        for number, place in enumerate(with_strays(places, stash.get("strays"))):
            out.write(texts.comma(1) if number else b"[" + texts.line(1))
            if isinstance(place, Stray):
                out.write(texts.value(place.value, 1))
            else:
                write(1, place)
        out.write(texts.line(0) + b"]")

    def _is_file_order(self) -> bool:
        """Whether the order of the nodes shows the order of siblings and roots."""
        graph, roots = self.items.tree.graph, self.items.structure.roots
        if any(after < before for before, after in pairwise(roots)):
            return False
        lists = (graph.children(ordinal) for ordinal in range(len(graph)))
        return not any(after < before for kids in lists for before, after in pairwise(kids))

    def _places(self) -> list[int]:
        """The place of each node among its parent's children or the roots."""
        graph = self.items.tree.graph
        places = [0] * len(graph)
        for ordinal in range(len(graph)):
            for place, kid in enumerate(graph.children(ordinal)):
                places[kid] = place
        for place, root in enumerate(self.items.structure.roots):
            places[root] = place
        return places

    # -- nesting -----------------------------------------------------------------------------------------------

    def _write(self, out: Writer, item: Item, level: int, parent: Raw | None, seed: _Seed) -> None:
        """An object with everything nested in it. What is still to be written waits in `todo`, last thing first."""
        todo: list[Any] = []
        self._open(out, todo, self.items.opened(item, parent, seed), level)
        while todo:
            task = todo.pop()
            if type(task) is bytes:
                out.write(task)
            elif type(task) is _Children:
                self._go_on(out, todo, task)
            else:
                masked, level, parent, seed = task
                self._open(out, todo, self.items.opened(masked, parent, seed), level)

    def _go_on(self, out: Writer, todo: list[Any], children: _Children) -> None:
        """Write children until one has something nested in it, or there are no more."""
        texts, level = self.texts, children.level
        link, owner = children.opened.link, children.opened.owner
        for kid in children.rest:
            out.write(texts.comma(level) if children.started else b"[" + texts.line(level))
            children.started = True
            if isinstance(kid, Stray):
                out.write(texts.value(kid.value, level))
                continue
            seed = (owner, kid[0])
            opened = self.items.opened(self.items.structure.placed(kid[1]), link, seed)
            if opened.kids or opened.masked is not None:
                todo.append(children)
                self._open(out, todo, opened, level)
                return
            out.write(texts.value(opened.entry, level))
        out.write(texts.line(level - 1) + b"]")

    def _open(self, out: Writer, todo: list[Any], opened: Opened, level: int) -> None:
        """Write an object up to the first thing that is nested in it; the rest waits."""
        texts = self.texts
        comma = texts.comma(level + 1)
        pieces: list[Any] = []
        text = b"{" + texts.line(level + 1)
        run: Raw = {}
        for key, value in opened.entry.items():
            if value is not KIDS:
                run[key] = value
                continue
            if run:
                text += texts.members(run, level) + comma
                run = {}
            pieces.append(text + texts.name(key))
            if key == "masked_head":
                pieces.append((opened.masked, level + 1, opened.head_parent, opened.head_seed))
            else:
                pieces.append(_Children(opened, level + 2))
            text = comma
        if run:
            text += texts.members(run, level)
        elif pieces:
            text = b""
        pieces.append(text + texts.line(level) + b"}")
        out.write(pieces[0])
        todo.extend(reversed(pieces[1:]))
