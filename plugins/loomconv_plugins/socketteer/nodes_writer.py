"""The nodes of a tree as JSON text, nested or flat, without recursion; and what the top level has to know of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from loomconv.model.document import Tree
from loomconv.model.ids import mint_ulid
from loomconv_plugins.socketteer.compose import Composer, own_stash
from loomconv_plugins.socketteer.emission import Texts, Writer
from loomconv_plugins.socketteer.facts import CARRIER, KIDS, NAMESPACE, Raw
from loomconv_plugins.socketteer.key_order import NODE_ORDER, ROOT_ORDER, in_order
from loomconv_plugins.socketteer.node_forms import NodeForms, joined_text
from loomconv_plugins.socketteer.raw_forms import restored
from loomconv_plugins.socketteer.refold import ROOT, Item, Mask, Structure
from loomconv_plugins.socketteer.responses import Responses
from loomconv_plugins.socketteer.stamps import Zones, parse_stamp, parse_zone
from loomconv_plugins.socketteer.tree_stash import base_mask, base_root, path_text
from loomconv_plugins.socketteer.unfold import id_key

__all__ = ["NodesWriter", "usual_zone"]

# Things to do, last one first: text to write, an object to open (item, level, parent_id, seed), or a list of children.
_Open = tuple[Item, int, Raw, tuple[str, int]]


def usual_zone(stash: Raw) -> int | None:
    """The zone of the stamps that prove none: the stashed one, for a tree that has none UTC (dossier §2.3.4)."""
    if "assumedZone" in stash:
        return parse_zone(stash["assumedZone"])
    return parse_zone(stash["zone"]) if "zone" in stash else 0


class _Children:
    """A list of children that is being written."""

    __slots__ = ("level", "owner", "parent", "rest", "started")

    def __init__(self, rest: Iterator[Any], level: int, parent: Raw, owner: str) -> None:
        self.rest = rest
        self.level = level
        self.parent = parent
        self.owner = owner
        self.started = False


class _Stray:
    """A value among children that is no node."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class NodesWriter:
    """Writes the nodes once, and gathers what the top level needs.

    `forced` says that a tree object is written for a tree whose own shape has no top level.
    """

    def __init__(self, tree: Tree, stash: Raw, texts: Texts, shape: str, *, forced: bool = False) -> None:
        self.tree = tree
        self.stash = stash
        self.texts = texts
        self.zones = Zones(usual_zone(stash))
        self.responses = Responses(stash.get("model_responses"), stash.get("sidecarResponses"))
        self.structure = Structure(tree, stash.get("folds") if shape in ("tree", "node") else None)
        orders, lacking = stash.get("orders"), stash.get("nodesLack")
        self.orders: list[Any] = orders if isinstance(orders, list) else []
        self.composer = Composer(
            NodeForms(self.zones, self.responses),
            [key for key in lacking if isinstance(key, str)] if isinstance(lacking, list) else [],
            self.orders,
            strict=forced,
        )
        roots = self.structure.roots
        self.single_root = roots[0] if len(roots) == 1 and stash.get("rootIsNode") is True else None
        self.forced = forced
        # What the top level has to know.
        self.tags: dict[int, list[str]] = {}
        self.chapters: Raw = {}
        self.rewritten: list[str] = []
        self.masks: list[tuple[Any, Mask]] = []
        self.root_id: Any = None
        self.current_id: Any = None
        current = tree.fields.get("currentNodeId")
        self.current = tree.nodes.ordinals.get(current, -1) if isinstance(current, str) else -1

    # -- shapes ------------------------------------------------------------------------------------------------

    def write_root(self, out: Writer, level: int) -> None:
        """The root of a tree: the structural one above all roots, or the only root where the file had it so."""
        top: Item = ROOT if self.single_root is None else self.single_root
        self._run(out, [(self.structure.placed(top), level, {}, ("", 0))])

    def write_list(self, out: Writer) -> None:
        """All roots, nested, in one array or one a line."""
        roots = enumerate(self.structure.roots)
        pieces: list[Any] = [(self.structure.placed(root), {}, ("", place)) for place, root in roots]
        self._write_list(out, pieces, self._run_one)

    def write_flat(self, out: Writer) -> None:
        """All nodes in one array or one a line, each with a link to its parent."""
        graph, ids = self.tree.graph, self.tree.nodes.ids
        places = self._places()
        order: list[int] = list(range(len(ids)))
        if not self._is_file_order():
            order = list(graph.walk(self.structure.roots))
        written = {ordinal: self._written_id(ordinal) for ordinal in order}
        link = "parentId" if self.stash.get("link") == "parentId" else "parent_id"
        pieces: list[Any] = []
        for ordinal in order:
            parent = graph.parent[ordinal]
            parents: Raw = {} if parent < 0 else {link: written[parent]}
            pieces.append((ordinal, parents, ("" if parent < 0 else ids[parent], places[ordinal])))
        self._write_list(out, pieces, self._run_flat)

    def _write_list(self, out: Writer, pieces: list[Any], write_one: Any) -> None:
        lines = self.stash.get("shape") == "lines"
        everything = list(pieces) if lines else _with_strays(pieces, self.stash.get("strays"))
        level = 0 if lines else 1
        for number, piece in enumerate(everything):
            if lines:
                out.write(self.texts.layout.newline.encode() if number else b"")
            else:
                out.write(self.texts.comma(1) if number else b"[" + self.texts.line(1))
            if isinstance(piece, _Stray):
                out.write(self.texts.value(piece.value, 1))
            else:
                write_one(out, level, *piece)
        if not lines:
            out.write(self.texts.line(0) + b"]")

    def _run_one(self, out: Writer, level: int, item: Item, parents: Raw, seed: tuple[str, int]) -> None:
        self._run(out, [(item, level, parents, seed)])

    def _run_flat(self, out: Writer, level: int, ordinal: int, parents: Raw, seed: tuple[str, int]) -> None:
        entry = self._node_entry(ordinal, parents, seed, has_kids=False)
        entry = self.composer.settle_link(entry, parents, self.tree.nodes.ordinals)
        if entry.get("children") is KIDS:
            entry = {**entry, "children": []}
        out.write(self.texts.value(entry, level))

    def _is_file_order(self) -> bool:
        """Whether the order of the nodes shows the order of siblings and roots."""
        roots = self.structure.roots
        if any(after < before for before, after in pairwise(roots)):
            return False
        graph = self.tree.graph
        for ordinal in range(len(graph)):
            if any(after < before for before, after in pairwise(graph.children(ordinal))):
                return False
        return True

    def _places(self) -> list[int]:
        places = [0] * len(self.tree.nodes)
        for place, root in enumerate(self.structure.roots):
            places[root] = place
        for ordinal in range(len(places)):
            for place, kid in enumerate(self.tree.graph.children(ordinal)):
                places[kid] = place
        return places

    def _written_id(self, ordinal: int) -> Any:
        node_id = self.tree.nodes.ids[ordinal]
        raw = own_stash(self.tree.nodes[node_id]).get("id")
        return raw if id_key(raw) == node_id else node_id

    # -- nesting -----------------------------------------------------------------------------------------------

    def _run(self, out: Writer, todo: list[Any]) -> None:
        """Write an object with everything nested in it."""
        while todo:
            task = todo.pop()
            if type(task) is bytes:
                out.write(task)
            elif type(task) is _Children:
                self._go_on(out, todo, task)
            else:
                self._open(todo, task)

    def _go_on(self, out: Writer, todo: list[Any], children: _Children) -> None:
        following = next(children.rest, None)
        level = children.level + 1
        if following is None:
            out.write(self.texts.line(children.level) + b"]")
            return
        out.write(self.texts.comma(level) if children.started else b"[" + self.texts.line(level))
        children.started = True
        todo.append(children)
        if isinstance(following, _Stray):
            todo.append(self.texts.value(following.value, level))
        else:
            place, ordinal = following
            todo.append((self.structure.placed(ordinal), level, children.parent, (children.owner, place)))

    def _open(self, todo: list[Any], task: _Open) -> None:
        """Put the pieces of an object on the list of things to do, in reverse."""
        item, level, parent, seed = task
        entry, kids, owner, masked, head_parent = self._item(item, parent, seed)
        texts = self.texts
        pieces: list[Any] = [b"{" + texts.line(level + 1)]
        run: Raw = {}
        for key, value in entry.items():
            if value is not KIDS:
                run[key] = value
                continue
            lead = texts.members(run, level) + texts.comma(level + 1) if run else b""
            run = {}
            lead = (texts.comma(level + 1) if len(pieces) > 1 else b"") + lead + texts.name(key)
            if key == "masked_head" and masked is not None:
                pieces += [lead, (masked, level + 1, head_parent, seed)]
            elif kids:
                mine = {"parent_id": entry["id"]} if id_key(entry.get("id")) is not None else {}
                pieces += [lead, _Children(iter(kids), level + 1, mine, owner)]
            else:
                pieces.append(lead + texts.empty("[]", level + 1))
        if run:
            pieces.append((texts.comma(level + 1) if len(pieces) > 1 else b"") + texts.members(run, level))
        pieces.append(texts.line(level) + b"}")
        todo.extend(reversed(pieces))

    def _item(self, item: Item, parent: Raw, seed: tuple[str, int]) -> tuple[Raw, list[Any], str, Item | None, Raw]:
        """Entry, children, id for seeds, what waits in `masked_head`, and the `parent_id` of that."""
        if isinstance(item, Mask):
            entry = self._mask_entry(item, parent)
            owner = "" if item.last == ROOT else self.tree.nodes.ids[item.last]
            kids = _with_strays(list(item.kids), item.entry.get("strays"))
            return self._with_list(entry, kids), kids, owner, item.masked, {"parent_id": None} if parent else {}
        if item == ROOT:
            return self._root_item()
        node_id = self.tree.nodes.ids[item]
        stash = own_stash(node := self.tree.nodes[node_id])
        kids = list(self.structure.kids(item))
        masked: Item | None = None
        head = stash.get("maskedHead")
        if isinstance(head, str) and (waiting := self.tree.nodes.ordinals.get(head)) is not None:
            left = [kid for kid in kids if kid[1] != waiting]
            if len(left) != len(kids):
                kids, masked = left, self.structure.placed(waiting)
        everything = _with_strays(kids, stash.get("strays")) if kids or "strays" in stash else []
        entry = self._node_entry(item, parent, seed, has_kids=bool(everything), node=node)
        if masked is not None:
            entry = in_order({**entry, "masked_head": KIDS}, NODE_ORDER, self.orders, stash.get("order"))
        return entry, everything, node_id, masked, {"parent_id": None}

    def _with_list(self, entry: Raw, kids: list[Any]) -> Raw:
        """The entry with a list of children if there are any."""
        return entry if not kids or entry.get("children") is KIDS else {**entry, "children": KIDS}

    def _node_entry(self, ordinal: int, parent: Raw, seed: tuple[str, int], *, has_kids: bool, node: Any = None) -> Raw:
        node_id = self.tree.nodes.ids[ordinal]
        node = self.tree.nodes[node_id] if node is None else node
        entry = self.composer.entry(node_id, node, own_stash(node), parent, seed, has_kids)
        self._look_at(ordinal, node_id, node, entry)
        return entry

    def _look_at(self, ordinal: int, node_id: str, node: Any, entry: Raw) -> None:
        """Gather what the top level has to know."""
        listed = entry.get("tags")
        if isinstance(listed, list) and listed:
            self.tags[ordinal] = [name for name in listed if isinstance(name, str)]
        meta = entry.get("meta")
        stamp = parse_stamp(meta.get("creation_timestamp")) if isinstance(meta, dict) else None
        if stamp is not None:
            self.zones.note(stamp, node_id)
        if "chapter_id" in entry and isinstance(chapter := entry["chapter_id"], str):
            self.chapters.setdefault(chapter, {"id": chapter, "root_id": entry.get("id"), "title": ""})
        if ordinal == self.current:
            self.current_id = entry.get("id")
        text = entry.get("text")
        if isinstance(text, str) and ("<p>" in text or "</p" in text):
            self.rewritten.append(node_id)

    # -- what is no node ---------------------------------------------------------------------------------------

    def _root_item(self) -> tuple[Raw, list[Any], str, Item | None, Raw]:
        roots, ids = self.structure.roots, self.tree.nodes.ids
        base = base_root(ids[roots[0]] if roots else "")
        attempt = 0
        while base["id"] in self.tree.nodes:
            attempt += 1
            base["id"] = mint_ulid(NAMESPACE, "root", str(attempt), *ids[:1])
        stash = self.stash.get("root")
        stash = stash if isinstance(stash, dict) else {}
        kids = list(self.structure.kids(ROOT))
        everything: list[Any] = _with_strays(kids, stash.get("strays"))
        entry = in_order(restored(base, stash), ROOT_ORDER, self.orders, stash.get("order"))
        if "children" in stash and not everything:
            entry["children"] = stash["children"]
        self.root_id = entry.get("id")
        if not roots and self.stash.get("empty") is not True:
            everything = [_Stray(self._stand_in())]
        return self._with_list(entry, everything), everything, "", None, {}

    def _stand_in(self) -> Raw:
        """An empty node for a tree without nodes, which the app cannot open (dossier §2.1); its mark takes it out."""
        entry: Raw = {"id": mint_ulid(NAMESPACE, "stand-in"), "text": "", "children": [], "mutable": True}
        if id_key(self.root_id) is not None:
            entry["parent_id"] = self.root_id
        entry[CARRIER] = {NAMESPACE: {"standIn": True}}
        return entry

    def _mask_entry(self, mask: Mask, parent: Raw) -> Raw:
        texts: list[str] | None = None
        text: str | None = ""
        if "text" not in mask.entry:
            texts = _Texts(self.tree)
            text = path_text(texts, self.tree.graph.parent, mask.head, mask.last, len(self.tree.nodes))
        if isinstance(mask.tail, Mask):
            tail = mask.tail.entry.get("id")
        else:
            tail = self.root_id if mask.tail == ROOT else self._written_id(mask.tail)
        if mask.tail == ROOT:
            root = self.stash.get("root")
            tail = root.get("id") if isinstance(root, dict) and "id" in root else tail
        entry = restored(base_mask(text or "", tail, parent), mask.entry)
        if "children" in mask.entry:
            entry["children"] = mask.entry["children"]
        entry["masked_head"] = KIDS
        self.masks.append((entry.get("id"), mask))
        return in_order(entry, NODE_ORDER, self.orders, mask.entry.get("order"))


class _Texts(list[str]):
    """Own texts of nodes by ordinal, read when asked for."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self._tree = tree

    def __getitem__(self, ordinal: Any) -> Any:
        return joined_text(self._tree.nodes[self._tree.nodes.ids[ordinal]]["content"])


def _with_strays(items: list[Any], strays: Any) -> list[Any]:
    """The items with the kept values put in at the places that they had."""
    if not isinstance(strays, dict):
        return items
    mixed = list(items)
    places = sorted((int(place), place) for place in strays if place.isdecimal() and len(place) < 10)
    for number, place in places:
        mixed.insert(number, _Stray(strays[place]))
    return mixed
