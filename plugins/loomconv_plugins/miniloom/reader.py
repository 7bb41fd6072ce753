"""From the app's files to the pivot (dossier §4)."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from loomconv import jsontext
from loomconv.errors import InvalidDocument
from loomconv.format import ReadContext
from loomconv.model import Document, TreeBuilder, mint_ulid
from loomconv.storage import Source
from loomconv_plugins.miniloom import carrier
from loomconv_plugins.miniloom.chats import ChatRopes, Message, messages_of
from loomconv_plugins.miniloom.facts import EDIT_TYPES, NAMESPACE, ROLE_OF_TYPE, ROOT, Raw, same
from loomconv_plugins.miniloom.fields import (
    Core,
    apply_marks,
    base_entry,
    node_fields,
    read_core,
    stash_of,
)
from loomconv_plugins.miniloom.patches import Hunk, append_patch, apply_exact, make_patch, parse_patch
from loomconv_plugins.miniloom.recovery import apply_fuzzy
from loomconv_plugins.miniloom.store import Store, key_of, merged_children, take_apart
from loomconv_plugins.miniloom.texts import TextRopes
from loomconv_plugins.miniloom.utf16 import from_units, has_lone_half, to_units

__all__ = ["Ropes", "candidates", "derived_fields", "is_chat", "read", "text_digest"]

Ropes = TextRopes | ChatRopes


def read(source: Source, context: ReadContext) -> Document:
    """The document of a tree file, in any of its shapes. Raises InvalidDocument when there is no tree in it."""
    top = context.load_json(source, max_depth=context.limits.nesting)
    if isinstance(top, dict) and isinstance(top.get("responseDict"), dict):
        from loomconv_plugins.miniloom.web import read_web

        return read_web(top, context)
    return _Reader(top, context).run()


def derived_fields(roots: list[str], mode: str) -> dict[str, Any]:
    """Id, title and mode of a tree; the file says none of them."""
    return {"id": mint_ulid(NAMESPACE, *roots[:1]), "title": "", "mode": mode}


def is_chat(store: Store) -> bool:
    """Whether the file is a chat: one of its texts is an object with messages (dossier §4.5)."""
    for key in store.walk():
        patch = store.entries[key].get("patch")
        if isinstance(patch, list) and b'\\"messages\\"' in jsontext.encode(patch):
            break
    else:
        return False
    ropes = TextRopes()
    for key in store.walk():
        above = store.parent[key]
        hunks = parse_patch(store.entries[key].get("patch")) or []
        _put(ropes, key, above, next(candidates(ropes, above, hunks, None)))
        if any('"messages"' in text for hunk in hunks for _, text in hunk.diffs):
            return messages_of(from_units(ropes.text(key))) is not None
    return False


def text_digest(ropes: Ropes, key: str | None) -> str:
    """16 hex digits that tell whether a node's text is still the same; those of the empty text for no node."""
    text = "" if key is None or key not in ropes else ropes.text(key)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Candidate(NamedTuple):
    """One way to understand a patch: what it appends, or the whole text; and how that was found."""

    way: str
    appended: str | None = None
    text: str | None = None
    dropped: int = 0


def candidates(ropes: Ropes, above: str, hunks: list[Hunk], cache: str | None) -> Iterator[Candidate]:
    """What a patch may mean, best first: exactly, on the text that the parent has stored, by search (dossier §2.3)."""
    if isinstance(ropes, TextRopes):
        appended = ropes.appended(above, hunks)
        if appended is not None:
            yield Candidate("exact", appended=appended)
            return
    text = ropes.after(above, hunks)
    if text is not None:
        yield Candidate("exact", text=text)
        return
    if cache is not None:
        on_cache = apply_exact(hunks, to_units(cache))
        if on_cache is not None:
            yield Candidate("cache", text=on_cache)
    found, dropped = apply_fuzzy(hunks, ropes.text(above))
    yield Candidate("search", text=found, dropped=dropped)


def _put(ropes: Ropes, key: str, above: str, found: Candidate) -> None:
    if found.appended is not None and isinstance(ropes, TextRopes):
        ropes.put(key, above, above, found.appended)
    else:
        ropes.put_text(key, above, found.text or "")


class _Reader:
    def __init__(self, top: Any, context: ReadContext) -> None:
        self.context = context
        self.report = context.report
        self.top = top
        self.tree_raw = _tree_of(top)
        if not isinstance(top.get("loomTree"), dict):
            self.report.add("miniloom.bare-map")
            context.touched = True
        self.store = take_apart(self.tree_raw["nodeStore"], context)
        self.root = self.store.entries[ROOT]
        self.carried, self.reason = carrier.unpack(self.root.get("finishReason"))
        self.carried_nodes = self._carried_nodes()
        self.ids = self._ids()
        self.taken = set(self.ids.values())
        mode = self.carried.get("mode")
        self.chat = mode == "dialogue" if mode in ("dialogue", "buffer") else is_chat(self.store)
        leading = self.carried.get("leading")
        self.ropes: Ropes = ChatRopes(leading if isinstance(leading, int) else None) if self.chat else TextRopes()
        # Pieces of nodes that several messages make: their ids, first one first.
        self.parts: dict[str, list[str]] = {}
        self.whole = context.options.get("text", "segments") == "full"

    def run(self) -> Document:
        for key in self.store.walk():
            self._render(key)
        systems = self._systems()
        builder = self.context.builder()
        reached = dict.fromkeys(self.store.walk())
        for key in self.store.entries:
            if key in reached:
                self._add_node(key, builder, systems)
        roots = self._link(builder)
        fields: Raw = {**derived_fields(roots, "dialogue" if self.chat else "buffer"), "rootNodeIds": roots}
        self._add_fields(fields, systems)
        builder.fields.update(fields)
        document: Raw = {"format": "open-loom", "version": "2.0"}
        if isinstance(self.carried.get("document"), dict):
            document["extensions"] = self.carried["document"]
        return Document(document, [builder.build()])

    # -- what was carried --------------------------------------------------------------------------------------

    def _carried_nodes(self) -> dict[str, Raw]:
        found = self.carried.get("nodes")
        entries = found.items() if isinstance(found, dict) else ()
        kept = {key: entry for key, entry in entries if isinstance(entry, dict) and key in self.store.parent}
        for key, _ in entries:
            if key not in kept:
                self.report.add("restore.missing", "What was set aside is of a node that is gone.", value=key)
        return kept

    def _ids(self) -> dict[str, str]:
        """The pivot's id of each node: the one that it had before it came into this format, else its key."""
        ids: dict[str, str] = {}
        taken: set[str] = set()
        for key, entry in self.carried_nodes.items():
            own = entry.get("id")
            if isinstance(own, str) and own and own not in taken:
                ids[key] = own
                taken.add(own)
        for key in self.store.parent:
            if key in ids:
                continue
            own = key
            if own in taken:
                own = mint_ulid(NAMESPACE, key)
                self.report.add("read.duplicate-id", node=own, value=key)
            ids[key] = own
            taken.add(own)
        return ids

    # -- texts -------------------------------------------------------------------------------------------------

    def _render(self, key: str) -> None:
        """Find what the node's text is, and say so where its patch does not fit."""
        above, raw = self.store.parent[key], self.store.entries[key].get("patch")
        hunks = parse_patch(raw)
        if hunks is None:
            self.report.add("read.bad-text", "The patch is none that the app can read.", node=self.ids[key])
            self.context.touched = True
            hunks = []
        elif raw == "":
            self.report.add("miniloom.no-patch", node=self.ids[key])
        if isinstance(self.ropes, ChatRopes) and self.ropes.put_appended(key, above, hunks):
            return
        cache = self.store.entries[above].get("cache")
        chosen = next(candidates(self.ropes, above, hunks, cache if isinstance(cache, str) else None))
        if chosen.way == "cache":
            self.report.add("miniloom.recovered-from-cache", node=self.ids[key])
        elif chosen.way == "search":
            self.report.add("miniloom.recovered", node=self.ids[key], value={"dropped": chosen.dropped})
        _put(self.ropes, key, above, chosen)

    def _systems(self) -> list[Message]:
        """The system messages that all chats of the file begin with, where they begin with any."""
        if not isinstance(self.ropes, ChatRopes):
            return []
        found = [system for key in self.store.walk() if (system := self.ropes.system(key))]
        return found[0] if found and all(same(each, found[0]) for each in found) and _is_text(found[0]) else []

    # -- nodes -------------------------------------------------------------------------------------------------

    def _add_node(self, key: str, builder: TreeBuilder, systems: list[Message]) -> None:
        entry, carried = self.store.entries[key], self.carried_nodes.get(key)
        pieces: list[tuple[str, Any, Raw | None]] = [(*self._content(key), None)]
        if isinstance(self.ropes, ChatRopes) and not self.whole:
            pieces = self._messages(key) or pieces
        node_id = self.ids[key]
        names = self._names(node_id, len(pieces), builder)
        self.parts[key] = names
        lineage = self._lineage(key, carried)
        for name, (text, role, message) in zip(names[:-1], pieces[:-1], strict=True):
            core = {**dict.fromkeys(read_core({})), "role": read_core({}, role)["role"]}
            more: Raw = {} if message is None else {"extensions": {NAMESPACE: {"message": message}}}
            self._add(builder, name, text, core, {**lineage, **more})
            lineage = {}
        text, role, message = pieces[-1]
        kind = entry.get("type")
        if not isinstance(kind, str) or kind not in ROLE_OF_TYPE:
            self.report.add("read.unknown-author", node=node_id, pointer="/type")
        core = read_core(entry, role)
        if core["createdAt"] is None and "timestamp" in entry:
            self.report.add("read.bad-time", node=node_id, pointer="/timestamp")
        marked = apply_marks(core, entry, (carried or {}).get("marks"))
        stash = self._stash(key, entry, marked, text, carried)
        if message is not None:
            stash["message"] = message
        if len(names) > 1:
            stash["messages"] = len(names)
        if isinstance(self.ropes, ChatRopes) and self.ropes.system(key) and not same(self.ropes.system(key), systems):
            stash["system"] = self.ropes.system(key)
        more = lineage
        extensions = dict(carried["extensions"]) if carried and isinstance(carried.get("extensions"), dict) else {}
        if stash:
            extensions[NAMESPACE] = stash
        if extensions or (carried and "extensions" in carried):
            more["extensions"] = extensions or carried["extensions"]  # type: ignore[index]
        self._add(builder, names[-1], text, marked, more)

    def _add(self, builder: TreeBuilder, node_id: str, text: str, core: Core, more: Raw) -> None:
        content = [{"type": "text", "text": text}]
        builder.add_node(node_id, {"id": node_id, "content": content, **node_fields(core), **more})  # type: ignore[typeddict-item]

    def _content(self, key: str) -> tuple[str, Any]:
        if self.whole:
            return from_units(self.ropes.text(key)), None
        if isinstance(self.ropes, TextRopes):
            return from_units(self.ropes.piece(key)), None
        return "", None

    def _messages(self, key: str) -> list[tuple[str, Any, Raw | None]]:
        """Text and role of each message that a chat's node adds, and the message itself where those do not say it."""
        assert isinstance(self.ropes, ChatRopes)
        if self.ropes.is_plain(key) and self.ropes.base(key) == ROOT:
            text = from_units(self.ropes.text(key))
            return [(text, None, None)] if self.ropes.added(key) else []
        found = []
        for message in self.ropes.added(key):
            texts = [message.get(name) for name in ("content", "answer", "reasoning")]
            text = next((each for each in texts if isinstance(each, str) and each), "")
            usual = message.keys() == {"role", "content"} and message["content"] == text
            usual = usual and message["role"] in ("user", "assistant", "system")
            found.append((text, message.get("role"), None if usual else message))
        return found

    def _names(self, node_id: str, count: int, builder: TreeBuilder) -> list[str]:
        names = [node_id]
        for number in range(1, count):
            name = f"{node_id}.{number}"
            names.append(builder.mint(NAMESPACE, name) if name in self.taken or name in builder.nodes else name)
        return names

    def _stash(self, key: str, entry: Raw, core: Core, text: str, carried: Raw | None) -> Raw:
        """What the entry says and the core does not; of a native entry its type and patch in any case."""
        above = self.store.parent[key]
        base = base_entry(core, key, text, 0)
        if carried is not None and core["createdAt"] is None:
            base["timestamp"] = entry.get("timestamp")
        stash = stash_of(entry, base)
        native = carried is None or carried.get("native") is True
        patch = entry.get("patch")
        if native:
            stash.setdefault("type", entry["type"]) if "type" in entry else None
        if native or not same(patch, self._fresh_patch(key, above)):
            self._keep_patch(key, patch, stash)
        grafted = self.ropes.base(key) != above
        if grafted or not same(entry.get("parent"), above):
            stash["parent"] = entry.get("parent")
        if not self._is_usual_listing(key):
            stash["children"] = entry.get("children")
        return stash

    def _keep_patch(self, key: str, patch: Any, stash: Raw) -> None:
        """The patch as it is; one that cuts characters in two as a text, beside one that does not (dossier §4.4)."""
        if isinstance(patch, list) and _has_lone_half(patch):
            stash["patch"] = make_patch(self.ropes.text(self.store.parent[key]), self.ropes.text(key))
            stash["patchJson"] = jsontext.dump(patch, _ASCII).decode("ascii")
        else:
            stash["patch"] = patch

    def _is_usual_listing(self, key: str) -> bool:
        """Whether the entry lists its children as the writer does by itself."""
        children = self.store.children[key]
        former = [child for child in children if self.ropes.base(child) != key]
        gone = set(former)
        usual = merged_children([child for child in children if child not in gone], former)
        return same(self.store.entries[key].get("children"), usual)

    def _fresh_patch(self, key: str, above: str) -> Any:
        if isinstance(self.ropes, ChatRopes):
            return self.ropes.patch(key, above)
        if self.ropes.base(key) == above:
            return append_patch(self.ropes.tail(above), self.ropes.length(above), self.ropes.piece(key))
        return make_patch(self.ropes.text(above), self.ropes.text(key))

    def _lineage(self, key: str, carried: Raw | None) -> Raw:
        if carried is not None and "editedFrom" in carried:
            edited_from = carried["editedFrom"]
            return {} if edited_from is None else {"editedFrom": edited_from}
        above = self.store.parent[key]
        rewritten = self.store.entries[key].get("type") in EDIT_TYPES
        if above != ROOT and (rewritten or self.ropes.base(key) != above):
            return {"editedFrom": self.parts[above][-1] if above in self.parts else self.ids[above]}
        return {}

    # -- links and fields --------------------------------------------------------------------------------------

    def _link(self, builder: TreeBuilder) -> list[str]:
        """Edges, parents depth-first, grafted nodes behind a parent's own children; gives the roots."""
        below: dict[str, list[str]] = {}
        grafts: dict[str, list[str]] = {}
        for key in self.store.walk():
            base = self.store.parent[key] if self.whole else self.ropes.base(key)
            (below if base == self.store.parent[key] else grafts).setdefault(base, []).append(key)
        order = {key: [*below.get(key, ()), *grafts.get(key, ())] for key in (*below, *grafts)}
        waiting = [ROOT]
        while waiting:
            key = waiting.pop()
            names = self.parts.get(key, [])
            for first, second in itertools.pairwise(names):
                builder.add_edge(first, second)
            children = order.get(key, [])
            for child in children if key != ROOT else ():
                builder.add_edge(names[-1], self.parts[child][0])
            waiting.extend(reversed(children))
        return [self.parts[child][0] for child in order.get(ROOT, ())]

    def _add_fields(self, fields: Raw, systems: list[Message]) -> None:
        current = self._current()
        if current in self.parts:
            fields["currentNodeId"] = self.parts[current][-1]
        elif current not in (ROOT, None):
            self.report.add("repair.bad-current", value=current)
        if systems:
            fields["systemContext"] = "\n\n".join(str(each["content"]) for each in systems)
        if isinstance(self.carried.get("fields"), dict):
            fields.update({key: value for key, value in self.carried["fields"].items() if key not in _STRUCTURE})
            for key in [key for key, value in self.carried["fields"].items() if value is None]:
                del fields[key]
        stash = self._tree_stash(systems)
        extensions = dict(self.carried["tree"]) if isinstance(self.carried.get("tree"), dict) else {}
        if stash:
            extensions[NAMESPACE] = stash
        if extensions:
            fields["extensions"] = extensions

    def _current(self) -> str | None:
        focus = self.top.get("focus")
        return key_of(focus.get("id")) if isinstance(focus, dict) else None

    def _tree_stash(self, systems: list[Message]) -> Raw:
        made = bool(self.carried) and self.carried.get("native") is not True
        stash: Raw = {}
        if not made:
            root = {key: value for key, value in self.root.items() if key != "finishReason"}
            if "finishReason" in self.root:
                root["finishReason"] = self.reason
            if self._is_usual_listing(ROOT):
                root.pop("children", None)
            stash["root"] = root
            if "focus" in self.top:
                stash["focus"] = self.top["focus"]
                stash["focusOf"] = text_digest(self.ropes, self._current())
            loom = {key: value for key, value in self.tree_raw.items() if key != "nodeStore"}
            if loom:
                stash["loomTree"] = loom
            if len(systems) > 1:
                stash["system"] = systems
        more = {key: value for key, value in self.top.items() if key not in ("loomTree", "focus")}
        if more and self.tree_raw is self.top.get("loomTree"):
            stash["top"] = more
        if self.whole:
            stash["textScope"] = "cumulative"
        return stash


_STRUCTURE: Final = ("rootNodeIds", "extensions", "nodes", "edges")
_ASCII: Final = jsontext.Layout(escape="ascii")


def _tree_of(top: Any) -> Raw:
    """The object with the store of nodes; a bare map of nodes counts as one (dossier §1.3)."""
    if isinstance(top, dict):
        tree = top.get("loomTree")
        if isinstance(tree, dict) and isinstance(tree.get("nodeStore"), dict | list):
            return tree
        if isinstance(top.get("nodes"), dict):
            return {"nodeStore": top["nodes"]}
        if ROOT in top:
            return {"nodeStore": {key: value for key, value in top.items() if isinstance(value, dict)}}
    raise InvalidDocument(
        "there is no tree of MiniLoom in it", pointer="/loomTree", next_step="Save it again in MiniLoom."
    )


def _is_text(messages: list[Message]) -> bool:
    return all(isinstance(each.get("content"), str) and each.keys() == {"role", "content"} for each in messages)


def _has_lone_half(patch: list[Any]) -> bool:
    for hunk in patch:
        diffs = hunk.get("diffs") if isinstance(hunk, dict) else None
        for diff in diffs if isinstance(diffs, list) else ():
            text = diff[1] if isinstance(diff, list) and len(diff) == 2 else diff
            if isinstance(text, dict):
                text = text.get("1")
            if isinstance(text, str) and has_lone_half(text):
                return True
    return False
