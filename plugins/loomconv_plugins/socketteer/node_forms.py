"""One node in its two forms: what an entry of the file says, and the entry that the core gives.

Both directions stand side by side because each is checked by the other: a raw form is written back only while reading
it gives the core, and what no entry can say travels as a *mark*, the exact core value under the node's `openloom` key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loomconv.model.ids import mint_ulid
from loomconv.model.times import is_usual_time
from loomconv_plugins.socketteer.facts import (
    EMPTY_ID,
    KIDS,
    LEGACY_FLAGS,
    NAMESPACE,
    ROLE_OF_SOURCE,
    SOURCE_OF_ROLE,
    TAG_OF_FLAG,
    Raw,
    image_type,
)
from loomconv_plugins.socketteer.raw_forms import same
from loomconv_plugins.socketteer.responses import Responses
from loomconv_plugins.socketteer.stamps import Zones, parse_stamp, proves_nothing, stamp_of

__all__ = ["Core", "NodeForms", "Noter", "image_block", "is_file_image", "joined_text", "medium_of"]

# Called for something odd: finding code, message, pointer below the node, value.
Noter = Callable[[str, str, str, Any], None]


@dataclass(slots=True)
class Core:
    """The parts of a pivot node that an entry can say, as the node has them; None for one that it does not have."""

    content: list[Raw]
    author: Raw
    created: str | None = None
    meta: Raw | None = None
    generation: Raw | None = None

    @classmethod
    def of(cls, node: Any) -> Core:
        """The core of a pivot node."""
        return cls(node["content"], node["author"], node.get("createdAt"), node.get("meta"), node.get("generation"))


def is_file_image(block: Raw) -> bool:
    """Whether a block is a picture that the app can hold by file name; one inside the document it cannot show."""
    ref = block.get("ref")
    return block.get("type") == "image" and isinstance(ref, str) and not ref.startswith("data:")


def joined_text(content: list[Raw]) -> str:
    """The node's own segment."""
    return "".join(
        [block["text"] for block in content if block.get("type") == "text" and isinstance(block.get("text"), str)]
    )


class NodeForms:
    """Reads and writes the parts of nodes of one file, given its zones and its model responses."""

    __slots__ = ("responses", "zones")

    def __init__(self, zones: Zones, responses: Responses) -> None:
        self.zones = zones
        self.responses = responses

    # -- an entry's own words ----------------------------------------------------------------------------------

    def read_core(self, raw: Raw, node_id: str, note: Noter | None = None) -> Core:
        """What the entry says, marks aside. `note` is told what is odd."""
        meta = raw.get("meta")
        if not isinstance(meta, dict):
            if "meta" in raw and note is not None:
                note("read.bad-value", "meta is not an object; it was kept aside.", "/meta", None)
            meta = {}
        generation = self._read_generation(raw, meta, note)
        content: list[Raw] = [{"type": "text", "text": _read_text(raw, note)}]
        if "multimedia" in raw:
            content += _read_images(_media(raw))
        return Core(
            content,
            {"role": _read_role(raw, meta, note)},
            self._read_created(meta, node_id, note) if "creation_timestamp" in meta else None,
            _read_flags(raw, note),
            generation,
        )

    def _read_created(self, meta: Raw, node_id: str, note: Noter | None) -> str | None:
        value = meta["creation_timestamp"]
        if value is None:
            return None
        stamp = parse_stamp(value)
        created = None if stamp is None else self.zones.created(stamp, node_id)
        if created is None and note is not None:
            if stamp is not None and self.zones.usual is None:
                code, message = "read.time-without-zone", "The time has no zone; it was left out and kept aside."
            else:
                code, message = "read.bad-time", "The time cannot be understood; it was left out and kept aside."
            note(code, message, "/meta/creation_timestamp", value)
        return created

    def _read_generation(self, raw: Raw, meta: Raw, note: Noter | None) -> Raw | None:
        """By reference (since August 2021), else as the choice that earlier versions kept in place."""
        reference: Any = raw.get("generation")
        read: Raw = {}
        if _is_reference(reference):
            model = self.responses.model(reference["id"])
            if model is not None:
                read["model"] = model
            read["requestId"] = reference["id"]
            _take_index(reference.get("index"), read)
            return read
        if reference is not None and note is not None:
            note("read.bad-value", "generation is no reference; it was kept aside.", "/generation", None)
        choice = meta.get("generation")
        if isinstance(choice, dict):
            if isinstance(choice.get("model"), str) and choice["model"]:
                read["model"] = choice["model"]
            _take_index(choice.get("index"), read)
        return read or None

    # -- marks -------------------------------------------------------------------------------------------------

    def with_mark(self, core: Core, raw: Raw, mark: Raw, node_id: str) -> Core:
        """The core with what the entry's mark says more exactly, as far as the entry still says the same."""
        marked = Core(core.content, core.author, core.created, core.meta, core.generation)
        if isinstance(mark.get("content"), list):
            marked.content = _marked_content(core.content, mark["content"], _media(raw))
        author = mark.get("author")
        if isinstance(author, dict) and "role" in author and _source_of(author) == _source_of(core.author):
            marked.author = author
        if "createdAt" in mark and _is_same_time(raw, mark["createdAt"]):
            marked.created = mark["createdAt"]
        meta = mark.get("meta")
        if isinstance(meta, dict) and sorted(_base_tags(meta) or ()) == sorted(_names(raw)):
            marked.meta = meta
        generation = mark.get("generation")
        if isinstance(generation, dict) and same(raw.get("generation"), self.reference(generation, node_id)):
            marked.generation = generation
        return marked

    def mark_of(self, core: Core, read: Core) -> Raw:
        """What the entry that reads as `read` does not say of the core."""
        mark: Raw = {}
        if not _same_content(core.content, read.content):
            mark["content"] = core.content
        if core.author != read.author or len(core.author) != 1:
            mark["author"] = core.author
        if core.created != read.created:
            mark["createdAt"] = core.created
        if core.meta is not read.meta and not same(core.meta, read.meta):
            mark["meta"] = core.meta
        if core.generation is not read.generation and not same(core.generation, read.generation):
            mark["generation"] = core.generation
        return mark

    def plain_mark(self, core: Core, base: Raw, node_id: str) -> Raw | None:
        """`mark_of` the core and what its base entry reads as, without reading it; None for all but plain cores.

        Plain is one text, a time in the app's precision where nothing but the usual zone counts, and no `meta`.
        """
        content, created = core.content, core.created
        if core.meta is not None or len(content) != 1 or list(content[0]) != ["type", "text"]:
            return None
        if content[0]["type"] != "text" or type(content[0]["text"]) is not str:
            return None
        if created is not None:
            said_exactly = len(created) == 20 and is_usual_time(created) and "creation_timestamp" in base["meta"]
            if not said_exactly or self.zones.usual != 0 or not proves_nothing(node_id):
                return None
        mark: Raw = {}
        if core.author != {"role": ROLE_OF_SOURCE[base["meta"]["source"]]}:
            mark["author"] = core.author
        if core.generation is not None and not same(core.generation, self._read_generation(base, base["meta"], None)):
            mark["generation"] = core.generation
        return mark

    # -- the entry that the core gives -------------------------------------------------------------------------

    def base_entry(self, core: Core, node_id: str) -> Raw:
        """The entry of a node by the recipe (dossier §2.3), without `parent_id`; `KIDS` stands for the children."""
        text = joined_text(core.content)
        entry: Raw = {"id": node_id or EMPTY_ID, "text": text, "children": KIDS, "mutable": True}
        role = core.author.get("role")
        meta: Raw = {}
        if core.created is not None:
            stamp = stamp_of(core.created, self.zones.usual or 0)
            if stamp is not None:
                meta["creation_timestamp"] = stamp
        meta["source"] = _source_of(core.author)
        meta["modified"] = role == "mixed"
        entry["meta"] = meta
        if core.generation is not None:
            entry["generation"] = self.reference(core.generation, node_id)
        tags = _base_tags(core.meta)
        if tags is not None:
            entry["tags"] = tags
        if len(core.content) > 1 or (core.content and core.content[0].get("type") != "text"):
            images = [medium_of(block) for block in core.content if is_file_image(block)]
            if images:
                entry["multimedia"] = images
        return entry

    def reference(self, generation: Raw, node_id: str) -> Raw:
        """`{id, index}` of a generation; an id that is not known is derived from the node's."""
        request = generation.get("requestId")
        index = generation.get("completionIndex")
        return {
            "id": request if isinstance(request, str) and request else mint_ulid(NAMESPACE, "response", node_id),
            "index": index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else 0,
        }

    def make_response(self, core: Core, node_id: str, made: Responses) -> None:
        """See to it that the node's reference leads to the model that the core names, if it names one."""
        model = core.generation.get("model") if isinstance(core.generation, dict) else None
        if isinstance(model, str) and model:
            reference = self.reference(core.generation or {}, node_id)
            made.make(reference["id"], model, reference["index"], joined_text(core.content))

    def is_said_in_place(self, generation: Any, stash: Raw) -> bool:
        """Whether a node without a usable reference says its generation in `meta`, as early files do."""
        meta, absent = stash.get("meta"), stash.get("absent")
        if not isinstance(meta, dict) or _is_reference(stash.get("generation")):
            return False
        if "generation" not in stash and not (isinstance(absent, list) and "generation" in absent):
            return False
        return same(self._read_generation({}, meta, None), generation)


def _same_content(these: list[Raw], those: list[Raw]) -> bool:
    if len(these) == 1 == len(those) and list(these[0]) == ["type", "text"] == list(those[0]):
        return these[0] == those[0]
    return same(these, those)


def _read_text(raw: Raw, note: Noter | None) -> str:
    text = raw.get("text")
    if isinstance(text, str):
        return text
    if note is not None:
        note("read.bad-text", "The text is no string; it was read as one and the original kept aside.", "/text", None)
    if isinstance(text, bool) or text is None or isinstance(text, dict | list):
        return ""
    return str(text)


def _media(raw: Raw) -> list[Any]:
    media = raw.get("multimedia")
    return media if isinstance(media, list) else []


def _read_images(media: list[Any]) -> list[Raw]:
    """Blocks of the pictures; names that are no picture's, and entries of other shapes, stay in the stash."""
    return [block for medium in media if (block := image_block(medium)) is not None]


def image_block(medium: Any) -> Raw | None:
    """The block of an entry of `multimedia` (in the oldest files nothing but a name); None when it is no picture."""
    file = medium.get("file") if isinstance(medium, dict) else medium
    kind = image_type(file) if isinstance(file, str) else None
    if kind is None:
        return None
    block = {"type": "image", "ref": file, "mimeType": kind}
    caption = medium.get("caption") if isinstance(medium, dict) else None
    if isinstance(caption, str) and caption:
        block["altText"] = caption
    return block


def medium_of(block: Raw) -> Raw:
    """The entry of `multimedia` for a picture."""
    caption = block.get("altText")
    return {"file": block["ref"], "caption": caption if isinstance(caption, str) else ""}


def _read_role(raw: Raw, meta: Raw, note: Noter | None) -> str:
    """Who wrote it; if nothing says so, the model where there is a generation (dossier §3.4), else a human (A28)."""
    source = meta.get("source")
    role = ROLE_OF_SOURCE.get(source) if isinstance(source, str) else None
    if role is not None:
        return role
    if source is not None and note is not None:
        note("read.unknown-author", "The source is none that the app knows; it was kept aside.", "/meta/source", None)
    if raw.get("generation") is not None or meta.get("generation") is not None:
        return "model"
    return "human"


def _source_of(author: Raw) -> str:
    role = author.get("role")
    return SOURCE_OF_ROLE.get(role, "prompt") if isinstance(role, str) else "prompt"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _names(raw: Raw) -> list[str]:
    """The names of an entry's tags, and of its old flags that are true."""
    listed = raw.get("tags")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return [*names, *(flag for flag in LEGACY_FLAGS if flag in raw and raw[flag] and flag not in names)]


def _read_flags(raw: Raw, note: Noter | None) -> Raw | None:
    """Flags and tags; of the flags of 2021 only true ones count."""
    listed = raw.get("tags", [])
    if note is not None and not (listed is None or (isinstance(listed, list) and all(map(_is_text, listed)))):
        note("read.bad-value", "tags is no list of names; the rest was kept aside.", "/tags", None)
    names = _names(raw)
    if not names:
        return None
    meta: Raw = {flag: True for flag, tag in TAG_OF_FLAG.items() if tag in names}
    tags = [name for name in names if name not in TAG_OF_FLAG.values()]
    if tags:
        meta["tags"] = tags
    return meta


def _base_tags(meta: Any) -> list[str] | None:
    """`tags` of an entry; None for none at all."""
    if not isinstance(meta, dict):
        return None
    listed = meta.get("tags")
    tags = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    tags += [tag for flag, tag in TAG_OF_FLAG.items() if meta.get(flag) is True and tag not in tags]
    return tags or None


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str) and value["id"] != ""


def _take_index(index: Any, read: Raw) -> None:
    if isinstance(index, int) and not isinstance(index, bool) and index >= 0:
        read["completionIndex"] = index


def _is_same_time(raw: Raw, created: Any) -> bool:
    """Whether the entry's stamp shows this moment in some zone; None stands for a stamp that has none."""
    if created is None:
        return True
    meta = raw.get("meta")
    value = meta.get("creation_timestamp") if isinstance(meta, dict) else None
    if not isinstance(created, str):
        return False
    at_utc = stamp_of(created, 0)
    if at_utc is None or value is None:
        return value is None
    stamp, shown = parse_stamp(at_utc), parse_stamp(value)
    if stamp is None or shown is None:
        return False
    return (shown - stamp) % 900 == 0 and abs(shown - stamp) <= 14 * 3600


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return value["type"] != "text" or isinstance(value.get("text"), str)


def _marked_content(read: list[Raw], marked: list[Any], media: list[Any]) -> list[Raw]:
    """The marked blocks with the text and the pictures that the entry has now."""
    if not all(_is_block(block) for block in marked):
        return read
    blocks: list[Raw] = list(marked)
    text = read[0]["text"]
    if joined_text(blocks) != text:
        position = next((at for at, block in enumerate(blocks) if block["type"] == "text"), 0)
        rest = [(at, block) for at, block in enumerate(blocks) if block["type"] != "text"]
        blocks = [block for at, block in rest if at < position]
        blocks += [{"type": "text", "text": text}, *(block for at, block in rest if at >= position)]
    pictures = [medium_of(block) for block in blocks if is_file_image(block)]
    shown = [medium for medium in media if medium in pictures or image_block(medium) is not None]
    if shown != pictures:
        blocks = [*(block for block in blocks if not is_file_image(block)), *read[1:]]
    return blocks
