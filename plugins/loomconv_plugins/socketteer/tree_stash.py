"""What a tree's core does not say of its file: the tree's own stash, gathered when the nodes have been read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from loomconv_plugins.socketteer.facts import CARRIER, EMPTY_EXTENSIONS, KIDS, OWN_KEYS, Raw
from loomconv_plugins.socketteer.frame_switch import without_switch
from loomconv_plugins.socketteer.identity import root_id
from loomconv_plugins.socketteer.key_order import NODE_ORDER, ROOT_ORDER, TOP_ORDER
from loomconv_plugins.socketteer.raw_forms import difference, same
from loomconv_plugins.socketteer.responses import Made, Responses, looks_made
from loomconv_plugins.socketteer.stamps import Zones, parse_zone, zone_text
from loomconv_plugins.socketteer.tags import hides, with_definitions
from loomconv_plugins.socketteer.unfold import FOLDED_HEAD, Fold, id_key

if TYPE_CHECKING:
    from loomconv_plugins.socketteer.reader import Reading

__all__ = ["SHAPE_KEYS", "TreeStash", "base_mask", "base_root", "path_text", "zone_mark"]

# What a file says of its shape; a tree object that stands for another shape has it in its mark.
SHAPE_KEYS: Final = ("shape", "flat", "link", "nodesLack")
# Keys of the tree object that the core implies, at least in part.
_DERIVED: Final = frozenset({"tags", "model_responses", "frame", "selected_node_id", CARRIER})


def base_root(first_root: str) -> Raw:
    """The empty root that the app puts above a tree's roots (dossier §2.3)."""
    return {"mutable": False, "visited": True, "text": "", "id": root_id(first_root), "children": KIDS, "open": True}


def base_mask(text: str, tail: Any, parent: Raw) -> Raw:
    """The mask of a folded chain; `parent` has its `parent_id`, if it has one."""
    return {"text": text, "children": KIDS, "mutable": False, **parent, "masked_head": KIDS, "tail_id": tail}


def path_text(text_of: Callable[[int], str], parents: Sequence[int], head: int, tail: int, most: int) -> str | None:
    """The texts from head down to tail, joined; None when tail is not below head, or further than `most` nodes."""
    pieces: list[str] = []
    position = tail
    while position >= 0 and len(pieces) <= most:
        pieces.append(text_of(position))
        if position == head:
            break
        position = parents[position]
    return "".join(reversed(pieces)) if position == head else None


def zone_mark(zones: Zones, stash: Raw) -> Raw:
    """The mark for stamps that prove no zone, when a reader would not find theirs by itself; `zones` has all stamps."""
    if not zones.stamps or "assumedZone" in stash:
        return {}
    if "zone" in stash and zones.commonest() == zones.usual:
        return {}
    return {"zone": None if zones.usual is None else zone_text(zones.usual)}


class TreeStash:
    """`own` is the stash, `current` the node that was selected."""

    def __init__(self, reading: Reading, roots: list[str]) -> None:
        self.reading = reading
        self.nest = reading.nest
        self.top = reading.parsed.top
        self.absent: list[str] = []
        self.own: Raw = {}
        self.stale: Raw = dict(reading.mark)
        self.current: str | None = None
        self._tags: dict[int, list[str]] = {}
        for position, raw in enumerate(self.nest.raws):
            listed = raw.get("tags")
            if isinstance(listed, list) and listed:
                self._tags[position] = [name for name in listed if isinstance(name, str)]
        self._take_top_level()
        self._take_shape(roots)
        self._take_folds()
        if reading.parsed.shape == "tree":
            self._take_selected()
            self._take_tags()
            self._take_responses()
        if reading.responses.beside:
            self.own["sidecarResponses"] = reading.responses.beside
        self._take_zone()
        self._finish()

    # -- shape -------------------------------------------------------------------------------------------------

    def _take_shape(self, roots: list[str]) -> None:
        parsed, own = self.reading.parsed, self.own
        if parsed.shape != "tree":
            own["shape"] = parsed.shape
        elif isinstance(self.reading.mark.get("shape"), dict):
            marked = self.stale.pop("shape")
            own.update((key, marked[key]) for key in SHAPE_KEYS if key in marked)
        if parsed.flat:
            own["flat"] = True
            if self.reading.link != "parent_id":
                own["link"] = self.reading.link
        if parsed.strays:
            own["strays"] = parsed.strays
            message = "Among the nodes are things that are no objects; they were kept aside."
            self.reading.context.report.add("read.bad-value", message, pointer="")
        if self.reading.shared:
            own.setdefault("nodesLack", self.reading.shared)
        if self.nest.structural is not None:
            self._take_root(self.nest.structural, roots)
        elif parsed.shape in ("tree", "node"):
            own["rootIsNode"] = True

    def _take_root(self, raw: Raw, roots: list[str]) -> None:
        stash = difference(raw, base_root(roots[0] if roots else ""))
        self._take_children(stash, raw)
        self.reading.table.note(stash, raw, ROOT_ORDER)
        if stash:
            self.own["root"] = stash
        if not self.nest.raws and not raw.get("children"):
            self.own["empty"] = True

    def _take_children(self, stash: Raw, raw: Raw) -> None:
        """What in the list of children, or in its place, is no node."""
        children = raw.get("children", [])
        if type(children) is not list:
            stash["children"] = children
        elif strays := {str(place): kid for place, kid in enumerate(children) if type(kid) is not dict}:
            stash["strays"] = strays

    def _take_folds(self) -> None:
        if not self.nest.folds:
            return
        cores = self.reading.cores
        texts = ["".join(block["text"] for block in core.content if block["type"] == "text") for core in cores]
        self.own["folds"] = [self._fold(fold, texts) for fold in self.nest.folds]

    def _fold(self, fold: Fold, texts: list[str]) -> Raw:
        """How a chain was folded: enough to fold it again as long as it is as it was."""
        ids, mask = self.reading.ids.ids, fold.mask
        parent: Raw = {}
        if fold.above is FOLDED_HEAD:
            parent["parent_id"] = None
        elif fold.above is not None and id_key(fold.above.get("id")) is not None:
            parent["parent_id"] = fold.above["id"]
        text = path_text(texts.__getitem__, self.nest.parents, fold.head, fold.tail, len(str(mask.get("text"))) + 64)
        entry = difference(mask, base_mask("" if text is None else text, self._tail_id(fold), parent))
        self._take_children(entry, mask)
        self.reading.table.note(entry, mask, NODE_ORDER)
        record: Raw = {"entry": entry, "head": ids[fold.head] if fold.head >= 0 else None}
        tail = ids[fold.tail] if fold.tail >= 0 else None
        record["tail"] = tail if fold.tail_fold is None else {"fold": fold.tail_fold}
        if fold.kept:
            record["kept"] = fold.kept
        record["nodes"] = fold.nodes
        return record

    def _tail_id(self, fold: Fold) -> Any:
        """How the tail's id is written."""
        if fold.tail_fold is not None:
            return self.nest.folds[fold.tail_fold].mask.get("id")
        raw = self.nest.raws[fold.tail] if fold.tail >= 0 else self.nest.structural
        return raw.get("id") if raw is not None else None

    # -- top level ---------------------------------------------------------------------------------------------

    def _take_top_level(self) -> None:
        unknown: Raw = {}
        for key, value in self.top.items():
            if key not in _DERIVED:
                (unknown if key in OWN_KEYS else self.own)[key] = value
        if unknown:
            self.own["unknown"] = unknown
        if CARRIER in self.top and not self.reading.others and not self.reading.mark:
            self.own[CARRIER] = self.top[CARRIER]

    def _take_selected(self) -> None:
        ids = self.reading.ids
        if "selected_node_id" not in self.top:
            marked = self.stale.get("current")
            if marked in ids.ids:
                self.current = self.stale.pop("current")
                if not self._hidden(ids.ids.index(marked)):
                    self.absent.append("selected_node_id")
            return
        value = self.top["selected_node_id"]
        found = ids.find(value)
        if found is not None:
            self.current = ids.ids[found]
            if same(value, self.nest.raws[found].get("id")) and not self._hidden(found):
                return
        else:
            self.current = self._folded_tail(value)
            structural = self.nest.structural
            is_root = structural is not None and id_key(structural.get("id")) == id_key(value)
            if self.current is None and not is_root and value is not None:
                message = "The selected node is not in the file; none is current now."
                self.reading.context.report.add("repair.bad-current", message, pointer="/selected_node_id", value=value)
        self.own["selected_node_id"] = value

    def _folded_tail(self, value: Any) -> str | None:
        """The tail of the mask with this id (dossier §1.6)."""
        key = id_key(value)
        if key is None:
            return None
        for fold in self.nest.folds:
            if id_key(fold.mask.get("id")) == key:
                tail = fold
                while tail.tail_fold is not None:
                    tail = self.nest.folds[tail.tail_fold]
                return self.reading.ids.ids[tail.tail] if tail.tail >= 0 else None
        return None

    def _hidden(self, position: int) -> bool:
        path = [position]
        while (above := self.nest.parents[path[-1]]) >= 0:
            path.append(above)
        return hides(self.top.get("tags"), path[::-1], self._tags, self.nest.parents)

    def _take_tags(self) -> None:
        used = dict.fromkeys(name for names in self._tags.values() for name in names)
        base = with_definitions({}, used)
        defined = self.top.get("tags")
        if "tags" in self.top and base and same(defined, base):
            return
        if "tags" in self.top:
            self.own["tags"] = defined
        elif used:
            self.absent.append("tags")
        undefined = [name for name in used if not isinstance(defined, dict) or name not in defined]
        if undefined:
            self.own["undefinedTags"] = undefined

    def _take_responses(self) -> None:
        """Responses as they are, but for those that the writer makes out of nodes; and the frame without its switch."""
        own = self.top.get("model_responses")
        former = without_switch(self.top, self.stale.get("added"))
        made = self._made(own) if isinstance(own, dict) and former is not None else {}
        if made and former is not None:
            self.stale.pop("added", None)
        else:
            former = self.top
        if "frame" in former:
            self.own["frame"] = former["frame"]
        if "model_responses" in self.top:
            rest = {ref: entry for ref, entry in own.items() if ref not in made} if isinstance(own, dict) else own
            if rest or not made:
                self.own["model_responses"] = rest

    def _made(self, own: Raw) -> dict[str, Made]:
        """The entries that the writer would make again."""
        candidates = {ref for ref, entry in own.items() if looks_made(ref, entry)}
        made = Responses()
        if candidates:
            forms = self.reading.forms
            for raw, node_id, core in zip(self.nest.raws, self.reading.ids.ids, self.reading.cores, strict=True):
                reference = raw.get("generation")
                ref = reference.get("id") if isinstance(reference, dict) else None
                if isinstance(ref, str) and ref in candidates:
                    forms.make_response(core, node_id, made)
        return {ref: entry for ref, entry in made.made.items() if ref in own and same(entry.entry(ref), own[ref])}

    def _take_zone(self) -> None:
        """The usual zone, as far as a reader would not find it again (see `zone_mark`)."""
        zones, own = self.reading.zones, self.own
        if "zone" in self.reading.mark:
            if zones.usual != 0:
                own["zone"] = None if zones.usual is None else zone_text(zones.usual)
        elif (proven := zones.commonest()) is not None:
            own["zone"] = zone_text(proven)
        elif zones.stamps:
            own["zone"] = None
            if zones.usual is not None:
                own["assumedZone"] = zone_text(zones.usual)
        marked = zone_mark(zones, own)
        if "zone" in marked and marked["zone"] == self.stale.get("zone") and _is_zone(self.stale["zone"]):
            del self.stale["zone"]

    # -- the rest ----------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        reading, own = self.reading, self.own
        if self.absent:
            own["absent"] = self.absent
        if reading.parsed.shape == "tree":
            reading.table.note(own, reading.parsed.top_keys, TOP_ORDER)
        if reading.table.orders:
            own["orders"] = reading.table.orders
        if self.stale.get(EMPTY_EXTENSIONS) is True:
            del self.stale[EMPTY_EXTENSIONS]
        if self.stale:
            own["mark"] = self.stale


def _is_zone(value: Any) -> bool:
    return value is None or parse_zone(value) is not None
