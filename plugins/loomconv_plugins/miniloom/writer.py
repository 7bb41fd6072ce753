"""From the pivot to the app's files (dossier §2.4, §3, §4.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LoomconvError
from loomconv.format import Sink, WriteContext
from loomconv.model import Document, plain_text
from loomconv.model.record import extensions_of
from loomconv.model.times import to_ms
from loomconv_plugins.miniloom import carrier
from loomconv_plugins.miniloom.chats import ChatRopes, Message
from loomconv_plugins.miniloom.facts import EDIT_TYPES, NAMESPACE, ORDER, ROOT, Raw, same
from loomconv_plugins.miniloom.fields import base_entry, core_of_node, marks_of, put_stash, read_core
from loomconv_plugins.miniloom.numbering import Numbering, own_stash
from loomconv_plugins.miniloom.patches import append_patch, make_patch, parse_patch
from loomconv_plugins.miniloom.reader import Ropes, candidates, derived_fields, is_chat, text_digest
from loomconv_plugins.miniloom.store import Store, key_of
from loomconv_plugins.miniloom.texts import TextRopes
from loomconv_plugins.miniloom.utf16 import from_units, to_units

__all__ = ["write"]

_CHUNK: Final = 1 << 16
_MESSAGE_ROLE: Final = {"human": "user", "mixed": "user", "model": "assistant", "system": "system"}


def write(document: Document, sink: Sink, context: WriteContext) -> None:
    """Write a document of one tree; entries are encoded one by one."""
    tree = document.trees[0]
    stash = own_stash(tree.fields)
    if isinstance(stash.get("web"), dict):
        from loomconv_plugins.miniloom.web import write_web

        if write_web(document, sink, context):
            return
    _Writer(document, context).run(sink)


class _Writer:
    def __init__(self, document: Document, context: WriteContext) -> None:
        self.document = document
        self.tree = document.trees[0]
        self.stash = own_stash(self.tree.fields)
        self.layout = context.layout
        self.numbers = Numbering(self.tree)
        self.chat = self.tree.fields.get("mode") == "dialogue"
        self.children = self.numbers.children()
        self.whole = self.stash.get("textScope") == "cumulative" or self._is_cumulative()
        self.system: list[Message] = self._system()
        # A story that begins with a system's message of its own: it must not be taken for the prompt.
        self.leading = len(self.system) if self.chat and self._begins_with_system() else None
        self.ropes: Ropes = ChatRopes(self.leading) if self.chat else TextRopes()
        self.times = self._default_times()
        self.carried: dict[str, Raw] = {}
        # What the reader will find beside the core, needed where it is asked whether it reads the same.
        self.entries: dict[str, bytes] = {}
        self.patches: dict[int, Any] = {}
        # Parents in the file as they are written, and whose text each node continues.
        self.above: dict[int, int] = {}

    def run(self, sink: Sink) -> None:
        for ordinal in self.numbers.order:
            self._settle_text(ordinal)
        self._relink()
        for ordinal in self.numbers.members:
            self._add_entry(ordinal)
        self._add_root()
        self._emit(sink)

    def _default_times(self) -> dict[int, int]:
        """For nodes without a time that of the nearest ancestor that has one, in milliseconds."""
        own = [node.get("createdAt") for node in self.tree.nodes.values()]
        known = [time for each in own if isinstance(each, str) and (time := to_ms(each)) is not None]
        times = {-1: min(known, default=0)}
        for ordinal in self.tree.graph.walk(self.tree.root_ordinals):
            created = own[ordinal]
            time = to_ms(created) if isinstance(created, str) else None
            times[ordinal] = times[self.tree.graph.parent[ordinal]] if time is None else time
        return times

    # -- texts -------------------------------------------------------------------------------------------------

    def _node(self, ordinal: int) -> Any:
        return self.tree.nodes[self.tree.nodes.ids[ordinal]]

    def _settle_text(self, ordinal: int) -> None:
        """Say what the node's text and patch are: the stored patch if it still means the same, else a new one."""
        numbers = self.numbers
        key, above = numbers.key(ordinal), numbers.above[ordinal]
        stored = _stored_patch(numbers.stashes[ordinal])
        hunks = parse_patch(stored)
        if stored is not None and hunks is not None:
            cache = self._cache_of(above)
            if isinstance(self.ropes, ChatRopes) and self.ropes.put_appended(key, numbers.key(above), hunks):
                if self._fits(ordinal):
                    self._keep(ordinal, above, stored)
                    return
            else:
                for found in candidates(self.ropes, numbers.key(above), hunks, cache):
                    if found.appended is not None and isinstance(self.ropes, TextRopes):
                        self.ropes.put(key, numbers.key(above), numbers.key(above), found.appended)
                    else:
                        self.ropes.put_text(key, numbers.key(above), found.text or "")
                    if self._fits(ordinal):
                        self._keep(ordinal, above, stored)
                        return
        self._put_fresh(ordinal)

    def _keep(self, ordinal: int, above: int, patch: Any) -> None:
        self.above[ordinal] = above
        self.patches[ordinal] = patch

    def _cache_of(self, above: int) -> str | None:
        root = self.stash.get("root")
        holder = self.numbers.stashes[above] if above >= 0 else root if isinstance(root, dict) else {}
        cache = holder.get("cache")
        return cache if isinstance(cache, str) else None

    def _fits(self, ordinal: int) -> bool:
        """Whether the node as it was just understood has the place and the content that the core has."""
        key = self.numbers.key(ordinal)
        if self.whole:
            return bool(from_units(self.ropes.text(key)) == plain_text(self._node(ordinal)))
        if self.ropes.base(key) != self.numbers.key(self.numbers.visible[ordinal]):
            return False
        row = self.numbers.group[ordinal]
        if isinstance(self.ropes, TextRopes):
            return from_units(self.ropes.piece(key)) == plain_text(self._node(ordinal))
        stash = self.numbers.stashes[ordinal]
        systems = stash["system"] if isinstance(stash.get("system"), list) else self.system
        if self.ropes.system(key) and not same(self.ropes.system(key), systems):
            return False
        text = plain_text(self._node(ordinal))
        if self.ropes.is_plain(key) and self.ropes.base(key) == ROOT:
            return len(row) == 1 and from_units(self.ropes.text(key)) == text
        added = self.ropes.added(key)
        if not added:
            return len(row) == 1 and text == ""
        return len(added) == len(row) and all(
            same(message, self._message(each)) for message, each in zip(added, row, strict=True)
        )

    def _message(self, ordinal: int) -> Message:
        """The message of a node: the raw one if it still says what the core says."""
        node = self._node(ordinal)
        text, role = plain_text(node), node["author"]["role"]
        usual: Message = {"role": _MESSAGE_ROLE.get(role, "user"), "content": text}
        raw = self.numbers.stashes[ordinal].get("message")
        if isinstance(raw, dict):
            said = [raw.get(name) for name in ("content", "answer", "reasoning")]
            shown = next((each for each in said if isinstance(each, str) and each), "")
            kind = read_core({"type": self.numbers.stashes[ordinal].get("type")}, raw.get("role"))["role"]
            if shown == text and kind == role:
                return raw
        return usual

    def _put_fresh(self, ordinal: int) -> None:
        """A new text below the visible parent, and a patch that the app applies exactly."""
        numbers = self.numbers
        visible = numbers.visible[ordinal]
        key, above = numbers.key(ordinal), numbers.key(visible)
        if isinstance(self.ropes, ChatRopes):
            row = numbers.group[ordinal]
            stash = numbers.stashes[ordinal]
            system = stash["system"] if isinstance(stash.get("system"), list) else self.system
            if self.whole:
                self.ropes.put_text(key, above, to_units(plain_text(self._node(ordinal))))
            else:
                self.ropes.put_messages(key, above, above, [self._message(each) for each in row], system)
            self._keep(ordinal, visible, self.ropes.patch(key, above))
            return
        text = to_units(plain_text(self._node(ordinal)))
        if self.whole:
            self.ropes.put_text(key, above, text)
            self._keep(ordinal, visible, make_patch(self.ropes.text(above), text))
            return
        self.ropes.put(key, above, above, text)
        self._keep(ordinal, visible, append_patch(self.ropes.tail(above), self.ropes.length(above), text))

    def _relink(self) -> None:
        """Children by the parents that nodes really got."""
        if self.above != self.numbers.above:
            self.numbers.above = self.above
            self.children = self.numbers.children()

    def _system(self) -> list[Message]:
        text = self.tree.fields.get("systemContext")
        stored = self.stash.get("system")
        listed = stored if isinstance(stored, list) and all(isinstance(each, dict) for each in stored) else []
        if listed and "\n\n".join(str(each.get("content")) for each in listed) == text:
            return listed
        return [{"role": "system", "content": text}] if isinstance(text, str) and text and self.chat else []

    def _begins_with_system(self) -> bool:
        return any(self.tree.nodes[root]["author"]["role"] == "system" for root in self.tree.roots)

    def _is_cumulative(self) -> bool:
        """Whether every node holds the whole text so far: content(child) = patch(content(parent)) throughout (A3)."""
        told = False
        for ordinal in self.numbers.members:
            stash, parent = self.numbers.stashes[ordinal], self.tree.graph.parent[ordinal]
            hunks = parse_patch(_stored_patch(stash)) if "patch" in stash else None
            if hunks is None:
                return False
            if parent < 0:
                continue
            above = to_units(plain_text(self._node(parent)))
            ropes = TextRopes()
            ropes.put("0", ROOT, ROOT, above)
            if ropes.after("0", hunks) != to_units(plain_text(self._node(ordinal))):
                return False
            told = told or bool(above)
        return told

    # -- entries -----------------------------------------------------------------------------------------------

    def _add_entry(self, ordinal: int) -> None:
        numbers = self.numbers
        key, stash, node = numbers.key(ordinal), numbers.stashes[ordinal], self._node(ordinal)
        core = core_of_node(node)
        role = None
        if isinstance(self.ropes, ChatRopes) and not self.whole and not self.ropes.is_plain(key):
            added = self.ropes.added(key)
            role = added[-1].get("role") if added else None
        above = self.above[ordinal]
        base = base_entry(core, key, plain_text(node), self.times[above])
        entry = put_stash(base, stash, core, role)
        entry["patch"] = self.patches[ordinal]
        named = stash.get("parent")
        entry["parent"] = named if "parent" in stash and key_of(named) == numbers.key(above) else numbers.key(above)
        entry["children"] = self._listed(ordinal, stash)
        native = "patch" in stash and "type" in stash
        carried = self._carried(ordinal, node, entry, core, role, native)
        if carried:
            self.carried[key] = carried
        self.entries[key] = self._encoded(_in_order(entry), 3)

    def _listed(self, ordinal: int, stash: Raw) -> list[Any]:
        keys = [self.numbers.key(child) for child in self.children.get(ordinal, ())]
        raw = stash.get("children")
        if isinstance(raw, list) and [key_of(each) for each in raw] == keys:
            return raw
        return keys

    def _carried(self, ordinal: int, node: Any, entry: Raw, core: Raw, role: Any, native: bool) -> Raw:
        """What the entry cannot say, for the carrier; of a node that was never native its id in any case."""
        row = self.numbers.group[ordinal]
        node_id = self.tree.nodes.ids[row[0]]
        carried: Raw = {}
        others = {name: value for name, value in extensions_of(node).items() if name != NAMESPACE}
        if others or ("extensions" in node and not node["extensions"]):
            carried["extensions"] = others
        marks = marks_of(entry, core, role)
        if marks:
            carried["marks"] = marks
        edited_from = self._node(row[0]).get("editedFrom")
        if edited_from != self._read_lineage(ordinal, entry):
            carried["editedFrom"] = edited_from
        if carried or not native or node_id != self.numbers.key(ordinal):
            carried = {"id": node_id, **carried, **({"native": True} if native else {})}
        return carried

    def _read_lineage(self, ordinal: int, entry: Raw) -> str | None:
        """What a reader takes the node to be edited from."""
        above = self.above[ordinal]
        if above < 0:
            return None
        grafted = self.ropes.base(self.numbers.key(ordinal)) != self.numbers.key(above)
        if grafted or entry.get("type") in EDIT_TYPES:
            return self.tree.nodes.ids[above]
        return None

    def _add_root(self) -> None:
        kept = self.stash.get("root")
        native = isinstance(kept, dict)
        stored: Raw = kept if isinstance(kept, dict) else {}
        base = base_entry(core_of_node({"author": {"role": "human"}}), ROOT, "", self.times[-1])
        base.update({"type": "root", "patch": "", "summary": "Root Node", "read": False})
        root: Raw = {**base, **stored}
        if native:
            root = {key: value for key, value in root.items() if key in stored or key in _NEEDED}
            if key_of(root.get("id")) != ROOT:
                root["id"] = ROOT
        root["parent"] = None
        if parse_patch(root.get("patch")) != []:
            root["patch"] = ""
        root["children"] = self._listed(-1, stored)
        carried = self._carried_of_tree(native)
        if self.carried:
            carried["nodes"] = self.carried
        if self.leading is not None:
            carried["leading"] = self.leading
        if carried:
            carried = {"mode": "dialogue" if self.chat else "buffer", **carried, **({"native": True} if native else {})}
        reason = carrier.pack(carried, root.get("finishReason"))
        if carried or "finishReason" in root:
            root["finishReason"] = reason
        self.root = root

    def _carried_of_tree(self, native: bool) -> Raw:
        fields, carried = self.tree.fields, Raw()
        document = extensions_of(self.document.fields)
        if document:
            carried["document"] = document
        others = {name: value for name, value in extensions_of(fields).items() if name != NAMESPACE}
        if others:
            carried["tree"] = others
        roots = self.tree.roots
        read = {**derived_fields(roots, "dialogue" if self.chat else "buffer"), **self._read_fields()}
        held = {key: value for key, value in fields.items() if key not in ("rootNodeIds", "extensions")}
        marks = {key: value for key, value in held.items() if key not in read or not same(read[key], value)}
        marks.update({key: None for key in read if key not in held})
        if marks:
            carried["fields"] = marks
        if not carried and not self.carried and self._reads_as_chat() != self.chat:
            carried["mode"] = "dialogue" if self.chat else "buffer"
        if not carried and not self.carried and not native:
            carried["id"] = self.tree.id  # so that a reader knows the file to be of our making
        return carried

    def _read_fields(self) -> Raw:
        """Fields that a reader finds in the file."""
        read: Raw = {}
        if self._current() is not None:
            read["currentNodeId"] = self.tree.fields["currentNodeId"]
        if self.system and isinstance(self.ropes, ChatRopes):
            systems = [found for each in self.numbers.members if (found := self.ropes.system(self.numbers.key(each)))]
            if systems and all(same(each, self.system) for each in systems):
                read["systemContext"] = "\n\n".join(str(each.get("content")) for each in self.system)
        return read

    def _reads_as_chat(self) -> bool:
        entries = {key: jsontext.decode(text) for key, text in self.entries.items()}
        store = Store({ROOT: {}, **entries})
        for key, entry in entries.items():
            store.parent[key] = str(entry["parent"])
            store.children.setdefault(store.parent[key], []).append(key)
        return is_chat(store)

    # -- the file ----------------------------------------------------------------------------------------------

    def _current(self) -> int | None:
        current = self.tree.fields.get("currentNodeId")
        ordinal = self.tree.nodes.ordinals.get(current, -1) if isinstance(current, str) else -1
        return ordinal if ordinal in self.numbers.group else None

    def _focus(self) -> Any:
        """The former focus if it is still the node that it shows, else the entry of the current node."""
        ordinal = self._current()
        key = ROOT if ordinal is None else self.numbers.key(ordinal)
        stored = self.stash.get("focus")
        if "focus" in self.stash and not isinstance(stored, dict):
            return stored
        unchanged = self.stash.get("focusOf") in (None, text_digest(self.ropes, key))
        if isinstance(stored, dict) and (key_of(stored.get("id")) or ROOT) == key and unchanged:
            return stored
        return {**self.root, "finishReason": None} if ordinal is None else jsontext.decode(self.entries[key])

    def _emit(self, sink: Sink) -> None:
        pieces = _Pieces(sink)
        layout = self.layout
        loom = self.stash.get("loomTree")
        more = loom if isinstance(loom, dict) else {}
        before = {key: value for key, value in more.items() if key == "root"}
        behind = {key: value for key, value in more.items() if key != "root"}
        line, colon, comma = layout.line, layout.key_separator, layout.item_separator
        pieces.add("{" + line(1) + f'"loomTree"{colon}' + "{" + line(2))
        for key, value in before.items():
            pieces.add_bytes(self._encoded(key, 2) + colon.encode() + self._encoded(value, 2))
            pieces.add(comma + line(2))
        pieces.add(f'"nodeStore"{colon}' + "{" + line(3))
        pieces.add_bytes(f'"{ROOT}"{colon}'.encode() + self._encoded(_in_order(self.root), 3))
        for ordinal in sorted(self.numbers.members, key=lambda each: int(self.numbers.keys[each])):
            key = self.numbers.key(ordinal)
            pieces.add(comma + line(3))
            pieces.add_bytes(f'"{key}"{colon}'.encode() + self.entries[key])
        pieces.add(line(2) + "}")
        for key, value in behind.items():
            pieces.add(comma + line(2))
            pieces.add_bytes(self._encoded(key, 2) + colon.encode() + self._encoded(value, 2))
        pieces.add(line(1) + "}")
        for key, value in self._beside():
            pieces.add(comma + line(1))
            pieces.add_bytes(self._encoded(key, 1) + colon.encode() + self._encoded(value, 1))
        pieces.add(line(0) + "}" + (layout.newline if layout.final_newline else ""))
        pieces.flush()

    def _beside(self) -> Iterator[tuple[str, Any]]:
        if "focus" in self.stash or not isinstance(self.stash.get("root"), dict):
            yield "focus", self._focus()
        more = self.stash.get("top")
        yield from (more if isinstance(more, dict) else {}).items()

    def _encoded(self, value: Any, level: int) -> bytes:
        if self.layout == jsontext.COMPACT:
            return jsontext.encode(value)
        return b"".join(jsontext.iter_exact(value, self.layout, level))


# Keys that an entry must have (dossier §3).
_NEEDED: Final = frozenset({"id", "type", "patch", "parent", "children"})


def _in_order(entry: Raw) -> Raw:
    known: Raw = {key: entry[key] for key in ORDER if key in entry}
    return {**known, **entry}


def _stored_patch(stash: Raw) -> Any:
    """The patch as it was in the file."""
    text = stash.get("patchJson")
    if isinstance(text, str):
        try:
            return jsontext.decode(text.encode())
        except (LoomconvError, UnicodeEncodeError):
            return stash.get("patch")
    return stash.get("patch")


class _Pieces:
    """Collects small pieces into chunks."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, text: str) -> None:
        self.add_bytes(text.encode())

    def add_bytes(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _CHUNK:
            self.flush()

    def flush(self) -> None:
        self._sink.write(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0
