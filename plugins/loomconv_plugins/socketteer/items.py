"""What is to be written at each place of a file: the entries of nodes, of the root above them, and of masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loomconv.model.document import Tree
from loomconv.model.ids import mint_ulid
from loomconv_plugins.socketteer.compose import Composer, own_stash
from loomconv_plugins.socketteer.facts import CARRIER, KIDS, NAMESPACE, Raw
from loomconv_plugins.socketteer.key_order import NODE_ORDER, ROOT_ORDER, in_order
from loomconv_plugins.socketteer.node_forms import Core, NodeForms, is_file_image, joined_text
from loomconv_plugins.socketteer.raw_forms import restored
from loomconv_plugins.socketteer.refold import ROOT, Item, Mask, Structure
from loomconv_plugins.socketteer.responses import Responses
from loomconv_plugins.socketteer.stamps import Zones, parse_stamp, parse_zone
from loomconv_plugins.socketteer.tree_stash import base_mask, base_root, path_text
from loomconv_plugins.socketteer.unfold import id_key, is_structural

__all__ = ["Items", "Opened", "Stray", "with_strays"]


@dataclass(slots=True)
class Stray:
    """A value among children that is no node."""

    value: Any


@dataclass(slots=True)
class Opened:
    """An object that is to be written: its entry, with `KIDS` where something nested comes, and what that is.

    `kids` are pairs of place and ordinal, or strays; `owner` is the id from which missing ids of children derive.
    `masked` waits in `masked_head`; its `parent_id` and seed are `head_parent` and `head_seed`.
    """

    entry: Raw
    kids: list[Any]
    owner: str
    masked: Item | None = None
    head_parent: Raw | None = None
    head_seed: tuple[str, int] = ("", 0)

    @property
    def link(self) -> Raw:
        """The `parent_id` of the children, if the object has an id."""
        own = self.entry.get("id")
        return {"parent_id": own} if id_key(own) is not None else {}


def with_strays(items: list[Any], strays: Any) -> list[Any]:
    """The items with the kept values put in at the places that they had."""
    if not isinstance(strays, dict):
        return items
    mixed = list(items)
    places = sorted((int(place), place) for place in strays if place.isdecimal() and len(place) < 10)
    for number, place in places:
        mixed.insert(number, Stray(strays[place]))
    return mixed


class Items:
    """Makes what is to be written, once each, and gathers what the top level has to know.

    `forced` says that a tree object is written for a tree whose own shape has no top level.
    """

    def __init__(self, tree: Tree, stash: Raw, *, forced: bool = False) -> None:
        self.tree = tree
        self.stash = stash
        self.zones = Zones(_usual_zone(stash))
        self.responses = Responses(stash.get("model_responses"), stash.get("sidecarResponses"))
        self.structure = Structure(tree, stash.get("folds") if tree.nodes or stash.get("empty") is True else None)
        orders, lacking = stash.get("orders"), stash.get("nodesLack")
        self.orders: list[Any] = orders if isinstance(orders, list) else []
        self.composer = Composer(
            NodeForms(self.zones, self.responses),
            [key for key in lacking if isinstance(key, str)] if isinstance(lacking, list) else [],
            self.orders,
            strict=forced,
        )
        # Responses are made in this order, a node's own just before the node: see `_plan`. None when all are made.
        self._to_plan: Iterator[int] | None = tree.graph.walk(self.structure.roots)
        self.tags: dict[int, list[str]] = {}
        self.chapters: Raw = {}
        # Nodes whose texts the app takes for HTML (dossier §2.2), and places of pictures that are no files.
        self.rewritten: list[str] = []
        self.inside: list[tuple[str, int]] = []
        self.masks: list[tuple[Any, Mask]] = []
        self._texts: dict[int, str] = {}
        self.current_id: Any = None
        roots = self.structure.roots
        # The root that is a node and stands at the top of the file, where the structural one stands otherwise.
        self.single_root = roots[0] if len(roots) == 1 and stash.get("rootIsNode") is True else None
        current = tree.fields.get("currentNodeId")
        self.current = tree.nodes.ordinals.get(current, -1) if isinstance(current, str) else -1

    def plan(self) -> None:
        """Make the responses that nodes call for, as far as that has not been done."""
        to_plan, self._to_plan = self._to_plan, None
        for ordinal in to_plan or ():
            self._make_response(ordinal, self.tree.nodes[self.tree.nodes.ids[ordinal]])

    def _plan(self, ordinal: int, node: Any, stash: Raw) -> None:
        """See to it that all responses are made on which the node's entry depends.

        One response may belong to several nodes, of which the first says the model. So each node's own can be made
        just before it, as long as nodes come in walking order, none refers to what a later one may make, and none has a
        raw form, which may refer to anything. From the first that is otherwise on all have to be made beforehand.
        """
        if self._to_plan is None:
            return
        expected = next(self._to_plan, None)
        if expected is not None:
            expected_node = node if expected == ordinal else self.tree.nodes[self.tree.nodes.ids[expected]]
            self._make_response(expected, expected_node)
        generation = node.get("generation")
        if expected != ordinal or stash or (generation and not self._is_answered(generation, ordinal)):
            self.plan()

    def _is_answered(self, generation: Any, ordinal: int) -> bool:
        reference = self.composer.forms.reference(generation, self.tree.nodes.ids[ordinal])
        return self.responses.model(reference["id"]) is not None

    def _make_response(self, ordinal: int, node: Any) -> None:
        generation, node_id, forms = node.get("generation"), self.tree.nodes.ids[ordinal], self.composer.forms
        if generation and not forms.is_said_in_place(generation, own_stash(node)):
            forms.make_response(Core.of(node), node_id, self.responses)

    def opened(self, item: Item, parent: Raw | None, seed: tuple[str, int]) -> Opened:
        """What is to be written for an item; `parent` and `seed` as in `Composer.entry`, no parent at the top."""
        if isinstance(item, Mask):
            return self._mask(item, parent, seed)
        if item == ROOT:
            return self._root()
        node_id = self.tree.nodes.ids[item]
        node = self.tree.nodes[node_id]
        stash = own_stash(node)
        self._plan(item, node, stash)
        kids = list(self.structure.kids(item))
        waiting = self._waiting(kids, stash["maskedHead"]) if "maskedHead" in stash else None
        if waiting is not None:
            kids.remove(waiting)
        if "strays" in stash:
            kids = with_strays(kids, stash["strays"])
        entry = self.node_entry(item, node, stash, parent or {}, seed, has_kids=bool(kids))
        if not kids and entry.get("children") is KIDS:
            entry["children"] = []
        if item == self.single_root and waiting is None and is_structural(entry):
            entry["mutable"] = True  # or it would count as structural
        if waiting is None:
            return Opened(entry, kids, node_id)
        place, head = waiting
        entry = in_order({**entry, "masked_head": KIDS}, NODE_ORDER, self.orders, stash.get("order"))
        return Opened(entry, kids, node_id, self.structure.placed(head), {"parent_id": None}, (node_id, place))

    def node_entry(
        self, ordinal: int, node: Any, stash: Raw, parent: Raw, seed: tuple[str, int], *, has_kids: bool
    ) -> Raw:
        """The entry of a node alone."""
        node_id = self.tree.nodes.ids[ordinal]
        entry = self.composer.entry(node_id, node, stash, parent, seed, has_kids)
        listed = entry.get("tags")
        if isinstance(listed, list) and listed:
            self.tags[ordinal] = [name for name in listed if isinstance(name, str)]
        meta = entry.get("meta")
        stamp = parse_stamp(meta.get("creation_timestamp")) if type(meta) is dict else None
        if stamp is not None:
            self.zones.note(stamp, node_id)
        if isinstance(chapter := entry.get("chapter_id"), str):
            self.chapters.setdefault(chapter, {"id": chapter, "root_id": entry.get("id"), "title": ""})
        if ordinal == self.current:
            self.current_id = entry.get("id")
        text = entry.get("text")
        if isinstance(text, str) and ("<p>" in text or "</p" in text):
            self.rewritten.append(node_id)
        for position, block in enumerate(node["content"]):
            if block.get("type") == "image" and not is_file_image(block):
                self.inside.append((node_id, position))
        return entry

    def written_id(self, ordinal: int) -> Any:
        """How a node's id is written."""
        node_id = self.tree.nodes.ids[ordinal]
        raw = own_stash(self.tree.nodes[node_id]).get("id")
        return raw if id_key(raw) == node_id else node_id

    def _waiting(self, kids: list[Any], head: Any) -> tuple[int, int] | None:
        """The first child, if it is the head of a chain that could not be unfolded (see `unfold`)."""
        ordinal = self.tree.nodes.ordinals.get(head) if isinstance(head, str) else None
        return kids[0] if kids and kids[0][1] == ordinal else None

    # -- what is no node ---------------------------------------------------------------------------------------

    def _root(self) -> Opened:
        roots, ids = self.structure.roots, self.tree.nodes.ids
        stash = self._root_stash()
        kids = with_strays(list(self.structure.kids(ROOT)), stash.get("strays"))
        base = base_root(ids[roots[0]] if roots else "")
        entry = in_order(restored(base, stash), ROOT_ORDER, self.orders, stash.get("order"))
        if not roots and self.stash.get("empty") is not True:
            kids = [Stray(self._stand_in(entry))]
        if kids:
            entry["children"] = KIDS
        elif "children" in stash:
            entry["children"] = stash["children"]
        elif "children" in entry:
            entry["children"] = []
        return Opened(entry, kids, "")

    def _root_stash(self) -> Raw:
        stash = self.stash.get("root")
        return stash if isinstance(stash, dict) else {}

    def _stand_in(self, root: Raw) -> Raw:
        """An empty node for a tree without nodes, which the app cannot open (dossier §2.1); its mark takes it out."""
        entry: Raw = {"id": mint_ulid(NAMESPACE, "stand-in"), "text": "", "children": [], "mutable": True}
        if id_key(root.get("id")) is not None:
            entry["parent_id"] = root["id"]
        entry[CARRIER] = {NAMESPACE: {"standIn": True}}
        return entry

    def _mask(self, mask: Mask, parent: Raw | None, seed: tuple[str, int]) -> Opened:
        text = None
        if "text" not in mask.entry:
            text = path_text(self._text_of, self.tree.graph.parent, mask.head, mask.last, len(self.tree.nodes))
        entry = restored(base_mask(text or "", self._tail_id(mask.tail), parent or {}), mask.entry)
        kids = with_strays(list(mask.kids), mask.entry.get("strays"))
        entry["masked_head"] = KIDS
        if kids:
            entry["children"] = KIDS
        elif "children" in mask.entry:
            entry["children"] = mask.entry["children"]
        elif "children" in entry:
            entry["children"] = []
        self.masks.append((entry.get("id"), mask))
        owner = "" if mask.last == ROOT else self.tree.nodes.ids[mask.last]
        entry = in_order(entry, NODE_ORDER, self.orders, mask.entry.get("order"))
        return Opened(entry, kids, owner, mask.masked, None if parent is None else {"parent_id": None}, seed)

    def _tail_id(self, tail: Item) -> Any:
        if isinstance(tail, Mask):
            return tail.entry.get("id")
        return self._root_stash().get("id") if tail == ROOT else self.written_id(tail)

    def _text_of(self, ordinal: int) -> str:
        """The node's own text; remembered, since the masks of a tree that was hoisted often share long parts."""
        text = self._texts.get(ordinal)
        if text is None:
            node = self.tree.nodes[self.tree.nodes.ids[ordinal]]
            text = self._texts[ordinal] = joined_text(node["content"])
        return text


def _usual_zone(stash: Raw) -> int | None:
    """The zone of the stamps that prove none: the stashed one, for a tree that has none UTC (dossier §2.3.4)."""
    if "assumedZone" in stash:
        return parse_zone(stash["assumedZone"])
    return parse_zone(stash["zone"]) if "zone" in stash else 0
