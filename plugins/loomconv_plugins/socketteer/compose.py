"""Entries of nodes for the file: raw forms where they still say what the core says, the core's own forms elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, KeysView, Sequence
from typing import Any, Final

from loomconv_plugins.socketteer.carrier import pack
from loomconv_plugins.socketteer.facts import CARRIER, EMPTY_EXTENSIONS, KIDS, LEGACY_FLAGS, NAMESPACE, Raw
from loomconv_plugins.socketteer.identity import minted_id
from loomconv_plugins.socketteer.key_order import META_ORDER, NODE_ORDER, in_order
from loomconv_plugins.socketteer.node_forms import Core, NodeForms, image_block, is_file_image, medium_of
from loomconv_plugins.socketteer.raw_forms import restored, same
from loomconv_plugins.socketteer.unfold import LINKS, id_key, link_of

__all__ = ["Composer", "own_stash"]

# What a tree object's nodes must have (dossier §2.1).
_NEEDED: Final = frozenset({"id", "text", "children", "mutable"})


def own_stash(holder: Any) -> Raw:
    """Our stash in the extensions of a node or a tree's fields; {} when there is none."""
    extensions = holder.get("extensions")
    stash = extensions.get(NAMESPACE) if isinstance(extensions, dict) else None
    return stash if isinstance(stash, dict) else {}


class Composer:
    """Makes entries. `shared` keys are absent from all nodes; `strict` gives every node what a tree object needs."""

    def __init__(self, forms: NodeForms, shared: Collection[str], orders: Sequence[Any], *, strict: bool) -> None:
        self.forms = forms
        self.shared = frozenset() if strict else frozenset(shared)
        self.orders = orders
        self.strict = strict

    def entry(self, node_id: str, node: Any, stash: Raw, parent: Raw, seed: tuple[str, int], has_kids: bool) -> Raw:
        """The entry of a node, keys in order; `KIDS` stands for its children.

        `parent` has the `parent_id` (or the link of a flat list) that the place in the file gives, `seed` the id of the
        parent and the place below it.
        """
        core = Core.of(node)
        base = self.forms.base_entry(core, node_id)
        base.update(parent)
        if not stash and not self.shared and (plain_mark := self.forms.plain_mark(core, base, node_id)) is not None:
            extensions = node.get("extensions")
            if plain_mark or extensions is not None:
                self._put_carrier(base, plain_mark, extensions, stash)
            return in_order(base, NODE_ORDER)
        entry = self._with_raw_forms(base, stash, seed, node_id, has_kids) if stash or self.shared else base
        read = self.forms.read_core(entry, node_id)
        mark = self.forms.mark_of(core, read)
        if mark and entry is not base and (unsaid := self._unsaid(core, read, entry, mark, node_id)):
            self._settle(entry, base, core, unsaid, node_id)
            read = self.forms.read_core(entry, node_id)
            mark = self.forms.mark_of(core, read)
        extensions = node.get("extensions")
        if mark or extensions is not None:
            self._put_carrier(entry, self._mark(mark, core, read, entry, stash, node_id), extensions, stash)
        return in_order(entry, NODE_ORDER, self.orders, stash.get("order"))

    def _with_raw_forms(self, base: Raw, stash: Raw, seed: tuple[str, int], node_id: str, has_kids: bool) -> Raw:
        entry = restored(base, stash, shared=self.shared)
        if self.strict:
            entry.update((key, base[key]) for key in _NEEDED - entry.keys())
        patch = stash.get("meta")
        if isinstance(patch, dict):
            entry["meta"] = in_order(restored(base["meta"], patch), META_ORDER, self.orders, patch.get("order"))
        if has_kids:
            entry["children"] = KIDS
        elif "children" in stash and not self.strict:
            entry["children"] = stash["children"]
        if "masked_head" in stash:
            entry["masked_head"] = stash["masked_head"]
        if not self._is_id(entry, node_id, seed):
            entry["id"] = base["id"]
        return entry

    def _is_id(self, entry: Raw, node_id: str, seed: tuple[str, int]) -> bool:
        """Whether reading the entry's id, or its want of one, gives the node's id."""
        key = id_key(entry.get("id"))
        return key == node_id if key is not None else node_id == minted_id(*seed)

    def _settle(self, entry: Raw, base: Raw, core: Core, unsaid: KeysView[str], node_id: str) -> None:
        """Put the core's own form where the raw one says something else. `unsaid` are parts as in a mark."""
        if "content" in unsaid:
            self._settle_content(entry, base, core, node_id)
        if "meta" in unsaid:
            _replace(entry, base, "tags", lambda tag: not isinstance(tag, str))
            for flag in LEGACY_FLAGS:
                if entry.get(flag):
                    del entry[flag]
        if "generation" in unsaid:
            self._settle_generation(entry, base, core)
        if not unsaid.isdisjoint(("createdAt", "author", "generation")):
            self._settle_meta(entry, base, core, node_id)

    def _settle_content(self, entry: Raw, base: Raw, core: Core, node_id: str) -> None:
        read = self.forms.read_core(entry, node_id).content
        if read[0]["text"] != base["text"]:
            entry["text"] = base["text"]
        pictures = [medium_of(block) for block in core.content if is_file_image(block)]
        if pictures != [medium_of(block) for block in read[1:]]:
            _replace(entry, base, "multimedia", lambda medium: image_block(medium) is None and medium not in pictures)

    def _settle_generation(self, entry: Raw, base: Raw, core: Core) -> None:
        _replace(entry, base, "generation")
        meta = entry.get("meta")
        if core.generation is None and isinstance(meta, dict) and "generation" in meta:
            entry["meta"] = {key: value for key, value in meta.items() if key != "generation"}

    def _settle_meta(self, entry: Raw, base: Raw, core: Core, node_id: str) -> None:
        meta = entry.get("meta")
        meta = dict(meta) if isinstance(meta, dict) else dict(base["meta"])
        read = self.forms.read_core({**entry, "meta": meta}, node_id)
        if read.created != core.created:
            _replace(meta, base["meta"], "creation_timestamp")
        if not same(read.author, core.author):
            meta["source"] = base["meta"]["source"]
        entry["meta"] = in_order(meta, META_ORDER)

    # -- what travels under the carrier ------------------------------------------------------------------------

    def _unsaid(self, core: Core, read: Core, entry: Raw, mark: Raw, node_id: str) -> KeysView[str]:
        """The parts of the core that the entry with the mark does not say."""
        return self.forms.mark_of(core, self.forms.with_mark(read, entry, mark, node_id)).keys()

    def _mark(self, mark: Raw, core: Core, read: Core, entry: Raw, stash: Raw, node_id: str) -> Raw:
        former = stash.get("mark")
        if isinstance(former, dict) and not self._unsaid(core, read, entry, former, node_id):
            mark = former
        if "originalId" in stash:
            mark = {**mark, "originalId": stash["originalId"]}
        return mark

    def _put_carrier(self, entry: Raw, mark: Raw, extensions: Any, stash: Raw) -> None:
        others = {key: value for key, value in (extensions or {}).items() if key != NAMESPACE}
        if extensions == {}:
            mark = {**mark, EMPTY_EXTENSIONS: True}
        carrier = pack(others, mark)
        if carrier is not None:
            entry[CARRIER] = carrier
        elif CARRIER not in stash:
            entry.pop(CARRIER, None)

    # -- flat lists --------------------------------------------------------------------------------------------

    def settle_link(self, entry: Raw, parent: Raw, known: Collection[str]) -> Raw:
        """The entry of a flat list with a link that leads to the parent: the raw one if it does."""
        link = link_of(entry)
        wanted = next((id_key(value) for value in parent.values()), None)
        if link == wanted or (wanted is None and link not in known):
            return entry
        return in_order({**{key: value for key, value in entry.items() if key not in LINKS}, **parent}, NODE_ORDER)


def _replace(entry: Raw, base: Raw, key: str, stays: Callable[[Any], bool] | None = None) -> None:
    """The base's value, or none; items of a list that say nothing to the core stay behind it."""
    value, former = base.get(key), entry.get(key)
    if stays is not None and isinstance(former, list):
        value = [*(value or ()), *filter(stays, former)] or None
    if value is None:
        entry.pop(key, None)
    else:
        entry[key] = value
