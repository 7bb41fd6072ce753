"""Reading a file of socketteer's loom into the pivot: the *get* of the lens."""

from __future__ import annotations

from typing import Any, Final

from loomconv.format import ReadContext
from loomconv.model.builder import TreeBuilder
from loomconv.model.document import Document
from loomconv.model.ids import mint_ulid
from loomconv.storage import Source
from loomconv_plugins.socketteer.carrier import unpack
from loomconv_plugins.socketteer.facts import CARRIER, EMPTY_EXTENSIONS, NAMESPACE, PLACEHOLDER, Raw
from loomconv_plugins.socketteer.identity import Identities
from loomconv_plugins.socketteer.key_order import OrderTable
from loomconv_plugins.socketteer.node_forms import Core, NodeForms, joined_text
from loomconv_plugins.socketteer.parse import Parsed, parse
from loomconv_plugins.socketteer.raw_forms import node_difference, same
from loomconv_plugins.socketteer.responses import Responses, read_sidecars
from loomconv_plugins.socketteer.stamps import Zones, parse_stamp, parse_zone
from loomconv_plugins.socketteer.tree_stash import TreeStash
from loomconv_plugins.socketteer.unfold import FOLDED_HEAD, Nest, from_links, id_key, unfold

__all__ = ["derived_fields", "read"]

# Keys that whole files lack; noted once for the tree instead of on each node.
_SHARED: Final = ("id", "mutable", "parent_id", "children", "meta")
_MOST_SPLITS: Final = 1000


def derived_fields(first_root: str) -> dict[str, Any]:
    """What the reader makes up for a tree: the app has no ids and titles of trees, and joins texts without a break."""
    return {"id": mint_ulid(NAMESPACE, "tree", first_root), "title": "", "mode": "buffer"}


def read(source: Source, context: ReadContext) -> Document:
    """The file as a document with one tree.

    Raises UnreadableFile for what is no JSON and InvalidDocument for what is no tree of the app.
    """
    parsed = parse(source, context)
    if parsed.flat:
        nest = from_links(parsed.nodes)
    else:
        nest = unfold(parsed.nodes, root=parsed.shape in ("tree", "node"))
    _drop_stand_in(nest)
    return Document({"format": "open-loom", "version": "2.0"}, [Reading(parsed, nest, source, context).tree()])


def _drop_stand_in(nest: Nest) -> None:
    """Take out the empty node that the writer puts into a tree without nodes, as long as it is empty."""
    if len(nest.raws) == 1 and nest.structural is not None:
        raw = nest.raws[0]
        if unpack(raw)[1].get("standIn") is True and not raw.get("text") and not raw.get("children"):
            nest.raws.clear()
            nest.parents.clear()
            nest.above.clear()


class Reading:
    """One file on its way into the pivot."""

    def __init__(self, parsed: Parsed, nest: Nest, source: Source, context: ReadContext) -> None:
        self.parsed = parsed
        self.nest = nest
        self.context = context
        self.builder: TreeBuilder = context.builder()
        self.kids = nest.kids()
        self.ids = Identities(nest, self.kids, context)
        self.others, self.mark = unpack(parsed.top)
        self.zones = self._zones()
        own = parsed.top.get("model_responses")
        beside = self._sidecars(source, own) if context.options.get("sidecars", "yes") == "yes" else {}
        self.responses = Responses(own, beside)
        self.forms = NodeForms(self.zones, self.responses)
        self.table = OrderTable()
        self.shared: list[str] = []
        # A tree object that stands for another shape says in its mark what is to be left out there.
        if nest.raws and not isinstance(self.mark.get("shape"), dict):
            self.shared = [key for key in _SHARED if not any(key in raw for raw in nest.raws)]
        # The key by which a flat list names parents.
        self.link = "parent_id"
        if parsed.flat and "parent_id" in self.shared and any("parentId" in raw for raw in nest.raws):
            self.link = "parentId"
        self.cores: list[Core] = []
        self.nobody = 0

    # -- what holds for the whole file -------------------------------------------------------------------------

    def _zones(self) -> Zones:
        """The zone of stamps without evidence: as marked, else the commonest proven one, else the user's word."""
        zones = Zones()
        for raw, node_id in zip(self.nest.raws, self.ids.ids, strict=True):
            meta = raw.get("meta")
            stamp = parse_stamp(meta.get("creation_timestamp")) if isinstance(meta, dict) else None
            if stamp is not None:
                zones.note(stamp, node_id)
        zones.usual = zones.commonest()
        if "zone" in self.mark:
            zones.usual = parse_zone(self.mark["zone"])
        elif zones.usual is None:
            zones.usual = parse_zone(self.context.assume_timezone)
        return zones

    def _sidecars(self, source: Source, own: Any) -> Raw:
        """The responses that nodes refer to and that the tree does not have."""
        has = own if isinstance(own, dict) else {}
        references = [raw.get("generation") for raw in self.nest.raws]
        refs = {ref["id"]: True for ref in references if isinstance(ref, dict) and isinstance(ref.get("id"), str)}
        wanted = [ref for ref in refs if ref not in has]
        return read_sidecars(source, self.context, set(wanted)) if wanted else {}

    # -- the tree ----------------------------------------------------------------------------------------------

    def tree(self) -> Any:
        """The whole tree."""
        for position in range(len(self.nest.raws)):
            self._add_node(position)
        ids, parents = self.ids.ids, self.nest.parents
        linked = [position for position, parent in enumerate(parents) if parent >= 0]
        # Parents depth-first, and the children of each in their order: positions count depth-first already.
        for position in sorted(linked, key=parents.__getitem__):
            self.builder.add_edge(ids[parents[position]], ids[position])
        for position, parent_id in self.nest.claims.items():
            if parents[position] < 0:
                self.builder.add_edge(parent_id, ids[position])
        if self.nobody:
            self.context.report.add(
                "read.unknown-author",
                f"The file does not say who wrote {self.nobody} of its nodes; they count as a human's.",
                severity="notice",
                value=self.nobody,
            )
        roots = [self.ids.ids[position] for position in self.kids[-1] if position not in self.nest.claims]
        stash = TreeStash(self, roots)
        fields = self.builder.fields
        fields.update(derived_fields(roots[0] if roots else ""))
        fields["rootNodeIds"] = roots
        if stash.current is not None:
            fields["currentNodeId"] = stash.current
        extensions = _extensions(self.others, stash.own, self.mark)
        if extensions is not None:
            fields["extensions"] = extensions
        return self.builder.build()

    def _add_node(self, position: int) -> None:
        raw, node_id = self.nest.raws[position], self.ids.ids[position]

        def note(code: str, message: str, pointer: str, value: Any) -> None:
            if code == "read.bad-text" and self.parsed.shape == "lines" and "text" not in raw:
                return  # the app's export leaves an absent text out (dossier §1.2 W4)
            self.context.report.add(code, message, node=node_id, pointer=pointer, value=value)

        others: dict[str, Any] = {}
        mark: Raw = {}
        core = plain = self.forms.read_core(raw, node_id, note)
        if CARRIER in raw:
            others, mark = unpack(raw)
            if mark:
                core = self.forms.with_mark(plain, raw, mark, node_id)
        self.cores.append(core)
        stash = self._stash(position, core, note)
        if mark:
            self._keep_mark(mark, plain, core, stash)
        elif CARRIER in raw and not others:
            stash[CARRIER] = raw[CARRIER]
        if raw.get("text") == PLACEHOLDER and raw.get("mutable") is False and "meta" not in raw:
            note("read.placeholder", "The node waits for a generation that never came.", "/text", None)
        if core.author["role"] == "human" and not _says_source(raw):
            self.nobody += 1
        self._compare_with_completion(position, core)
        extensions = _extensions(others, stash, mark)
        self.builder.add_node(node_id, _pivot_node(node_id, core, extensions), sound=not mark and _is_in_shape(core))

    def _stash(self, position: int, core: Core, note: Any) -> Raw:
        """What the core does not say of the entry."""
        raw = self.nest.raws[position]
        base = self.forms.base_entry(core, self.ids.ids[position])
        self._put_parent(base, position)
        stash = node_difference(raw, base, self.shared, self.table)
        if "parent_id" in stash and self._claims_other_parent(raw, base):
            note("read.children-disagree", "The node names a parent that it does not stand under.", "/parent_id", None)
        self.ids.keep(position, stash, self.shared)
        children = raw.get("children", ())
        if type(children) is not list and "children" in raw:
            stash["children"] = children
            note("read.bad-value", "The children are no list; they were kept aside.", "/children", None)
        if position in self.nest.strays:
            stash["strays"] = self.nest.strays[position]
            note("read.bad-value", "Among the children are things that are no nodes; kept aside.", "/children", None)
        if position in self.nest.unresolved:
            stash["maskedHead"] = self.ids.of_raw(self.nest.unresolved[position])
            note("read.fold-unresolved", "The folded chain has no end; its head hangs on its mask.", "/tail_id", None)
        elif "masked_head" in raw and type(raw["masked_head"]) is not dict:
            stash["masked_head"] = raw["masked_head"]
            note("read.bad-value", "masked_head is no node; it was kept aside.", "/masked_head", None)
        return stash

    def _claims_other_parent(self, raw: Raw, base: Raw) -> bool:
        claimed = id_key(raw["parent_id"])
        return claimed is not None and base.get("parent_id") is not None and claimed != id_key(base["parent_id"])

    def _put_parent(self, base: Raw, position: int) -> None:
        """The `parent_id` that the file's own nesting gives."""
        above = self.nest.above[position]
        if above is FOLDED_HEAD:
            base["parent_id"] = None
        elif above is not None and id_key(above.get("id")) is not None:
            base["parent_id"] = above["id"]
        elif self.parsed.flat and self.nest.parents[position] >= 0:
            base[self.link] = self.nest.raws[self.nest.parents[position]]["id"]

    def _keep_mark(self, mark: Raw, plain: Core, core: Core, stash: Raw) -> None:
        """Keep a mark that the writer would not make again: it says something that is no longer true."""
        again = self.forms.mark_of(core, plain)
        if "originalId" in mark:
            again["originalId"] = stash["originalId"] = mark["originalId"]
        if mark.get(EMPTY_EXTENSIONS) is True:
            again[EMPTY_EXTENSIONS] = True
        alike = again.keys() == mark.keys() and all(same(again[key], mark[key]) for key in mark)
        if not alike and "standIn" not in mark:
            stash["mark"] = mark

    def _compare_with_completion(self, position: int, core: Core) -> None:
        """Say when a text that counts as the model's is not what the model is recorded to have answered (dossier §3.4).

        Not when the completion stands in it, for `start` and `restart` are put around completions, nor when it was
        split: then it continues the pieces above it (dossier §3.2).
        """
        if core.author["role"] != "model":
            return
        recorded = self._recorded(position)
        if recorded is None:
            return
        text = joined_text(core.content)
        above = position
        for _ in range(_MOST_SPLITS):
            if recorded in text:
                return
            above = self.nest.parents[above]
            if above < 0 or len(text) > len(recorded) or not _is_split(self.nest.raws[above]):
                break
            text = joined_text(self.cores[above].content) + text
        self.context.report.add(
            "read.text-differs",
            "The text differs from the recorded completion, though the file says that the model wrote it.",
            node=self.ids.ids[position],
            pointer="/text",
        )

    def _recorded(self, position: int) -> str | None:
        raw = self.nest.raws[position]
        reference = raw.get("generation")
        if isinstance(reference, dict):
            ref, index = reference.get("id"), reference.get("index")
            return self.responses.completion(ref, index) if isinstance(ref, str) and isinstance(index, int) else None
        meta = raw.get("meta")
        choice = meta.get("generation") if isinstance(meta, dict) else None
        text = choice.get("text") if isinstance(choice, dict) else None
        return text if isinstance(text, str) else None


def _says_source(raw: Raw) -> bool:
    meta = raw.get("meta")
    return isinstance(meta, dict) and meta.get("source") is not None


def _is_in_shape(core: Core) -> bool:
    """Whether there is nothing to say of what an entry was read as: all but halves of characters, and pictures."""
    if len(core.content) > 1:
        return False
    try:
        core.content[0]["text"].encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_split(raw: Raw) -> bool:
    meta = raw.get("meta")
    origin = meta.get("origin") if isinstance(meta, dict) else None
    return isinstance(origin, str) and origin.startswith("split (from child")


def _extensions(others: dict[str, Any], stash: Raw, mark: Raw) -> dict[str, Any] | None:
    """`extensions` of the pivot; an empty object only where a mark says that there was one."""
    if stash:
        return {**others, NAMESPACE: stash}
    return others if others or mark.get(EMPTY_EXTENSIONS) is True else None


def _pivot_node(node_id: str, core: Core, extensions: dict[str, Any] | None) -> Any:
    node: dict[str, Any] = {"id": node_id, "content": core.content, "author": core.author}
    if core.created is not None:
        node["createdAt"] = core.created
    if core.meta is not None:
        node["meta"] = core.meta
    if core.generation is not None:
        node["generation"] = core.generation
    if extensions is not None:
        node["extensions"] = extensions
    return node
