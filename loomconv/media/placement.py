"""Puts the media of a document where its target has them: in a bundle, in the document, or in files beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from loomconv.errors import LimitExceeded, LoomconvError
from loomconv.media.blocks import MEDIA_TYPES
from loomconv.media.check import MediaChecker
from loomconv.media.data_uri import decoded_size, is_data_uri, parse_data_uri
from loomconv.media.dropping import without_media
from loomconv.media.former import FormerMedia, data_uri
from loomconv.media.images import image_size
from loomconv.media.sniff import file_suffix, is_of_kind, same_type, sniff
from loomconv.media.store import InlineMedium, MediaStore, Medium
from loomconv.model.document import Document, Tree
from loomconv.model.record import own_record, with_record, without_members
from loomconv.model.types import Node
from loomconv.report import Report
from loomconv.storage.limits import Limits
from loomconv.storage.member_names import collision_key, unsafe_reason

__all__ = ["MediaMode", "PlacedMedia", "inline_count", "inline_size", "leads_to", "place_media"]

# `keep` leaves references as they are, but what this program itself put beside a document comes back into it.
MediaMode = Literal["bundle", "inline", "beside", "keep", "drop"]

# How much of a digest names a file; more of it where two begin the same.
_DIGEST_SHOWN: Final = 16
_RECORD: Final = "media"
_HEADER: Final = re.compile(
    r"data:([A-Za-z0-9!#$&^_.+/-]{0,120})(?:;[^,;\x00-\x20]{1,120}){0,4};base64,", re.IGNORECASE
)
# Names of files that this program puts beside a document.
_OURS: Final = re.compile(r"[^/]+\.media/[0-9a-f]{16,64}\.[a-z0-9]{1,8}")
# How many bytes of members that no block refers to are set aside.
_MOST_KEPT: Final = 1_000_000


@dataclass(slots=True)
class PlacedMedia:
    """A document whose references lead to where its media will be, and what has to be written there, by name."""

    document: Document
    files: dict[str, Medium] = field(default_factory=dict)


def leads_to(store: MediaStore, reference: str, medium: Medium) -> bool:
    """Whether the reference leads to the same bytes in another place."""
    found = store.find(reference)
    return found is not None and found.size == medium.size and found.sha256() == medium.sha256()


def inline_count(document: Document) -> int:
    """How many blocks have their medium in the document itself."""
    return sum(
        block["type"] in MEDIA_TYPES and isinstance(block.get("ref"), str) and is_data_uri(block["ref"])
        for tree in document.trees
        for node in tree.nodes.values()
        for block in node["content"]
    )


def inline_size(document: Document) -> int:
    """How many bytes of media stand in the document itself, decoded; an estimate that decodes nothing."""
    size = 0
    for tree in document.trees:
        for node in tree.nodes.values():
            for block in node["content"]:
                reference = block.get("ref")
                if block["type"] in MEDIA_TYPES and isinstance(reference, str) and is_data_uri(reference):
                    size += decoded_size(reference)
    return size


def place_media(
    document: Document,
    store: MediaStore,
    mode: MediaMode,
    report: Report,
    *,
    folder: str = "",
    remember: bool = True,
    fill_sizes: bool = False,
    limits: Limits | None = None,
    near: MediaStore | None = None,
    shows_files: bool = False,
) -> PlacedMedia:
    """Make the references of a document fit `mode`; the document itself is not changed.

    `folder` is put before the names of files beside the document. With `remember` the document says how its media
    were written before, for the way back. `near` is where files are looked for from the output; when the target
    `shows_files`, a medium gets the reference again that it had there. `fill_sizes` adds width and height where an
    image has none. What cannot be read, or is not what it says, stays as it is: that was reported on reading. Raises
    LimitExceeded when media that are put into the document would make it larger than a document may be.
    """
    return _Placing(
        document, store, mode, report, folder, remember, fill_sizes, limits or Limits(), near, shows_files
    ).run()


@dataclass(frozen=True, slots=True)
class _Found:
    """A medium that is what its block says."""

    medium: Medium
    sniffed: str | None
    # What stands before the bytes of a `data:` URI.
    header: str = ""


# Makes the new reference, block, or text of a block.
_Change = Callable[[dict[str, Any]], dict[str, Any]]


class _Placing:
    def __init__(
        self,
        document: Document,
        store: MediaStore,
        mode: MediaMode,
        report: Report,
        folder: str,
        remember: bool,
        fill_sizes: bool,
        limits: Limits,
        near: MediaStore | None,
        shows_files: bool,
    ) -> None:
        self.document = document
        self.store = store
        self.mode = mode
        self.report = report
        self.folder = folder
        self.remember = remember
        self.fill_sizes = fill_sizes
        self.limits = limits
        self.near = near
        self.local = near if shows_files else None
        self.checker = MediaChecker(store.head, limits)
        self.files: dict[str, Medium] = {}
        self.used: set[str] = set()
        self.inlined = 0
        self.tree: Tree | None = None
        self.former = FormerMedia(own_record(document.fields).get(_RECORD))
        self.names: dict[str, str] = {}
        self.taken = {collision_key(name) for name in store.members}

    def run(self) -> PlacedMedia:
        if self.mode == "drop":
            return PlacedMedia(without_media(self.document, self._tell_dropped))
        before = self.former.to_json()
        trees = [self._placed(tree) for tree in self.document.trees]
        if self.mode == "bundle":
            for name in self.store.members:
                medium = self.store.find(name)
                if name not in self.files and medium is not None:
                    self.files[name] = medium
            for name, medium in self.former.others.items():
                if unsafe_reason(name) is None and self._fits_beside(name) and self._is_free(name):
                    self.files[name] = medium
                elif name not in self.files:
                    self.report.add("media.left-behind", "A member that was kept aside has no safe name.", value=name)
            self.former.others = {}
        else:
            self._keep_others()
        if self.former.to_json() == before and all(
            new is old for new, old in zip(trees, self.document.trees, strict=True)
        ):
            return PlacedMedia(self.document, self.files)
        fields = self.document.fields
        after = self.former.to_json()
        if after != before:
            fields = without_members(fields, _RECORD)
            if after and self.remember:
                fields = with_record(fields, **{_RECORD: after})
        document = Document(fields, trees, self.document.key_order, self.document.origin, touched=True)
        return PlacedMedia(document, self.files)

    def _keep_others(self) -> None:
        """Members that no block refers to are set aside in the document's record, as far as they are small.

        When references are to stay as they are, media stay behind.
        """
        room = _MOST_KEPT if self.remember and self.mode not in ("keep", "drop") else 0
        for name in self.store.members:
            medium = None if name in self.used else self.store.find(name)
            if medium is None:
                continue
            try:
                kept = InlineMedium(medium.data()) if medium.size <= room else None
            except LoomconvError:
                kept = None
            if kept is None:
                self.report.add("media.left-behind", value=name)
                continue
            room -= kept.size
            self.former.others[name] = kept
            self.report.add("media.kept-aside", value=name)

    def _placed(self, tree: Tree) -> Tree:
        self.tree = tree
        changes: dict[str, dict[int, _Change]] = {}
        for node_id in tree.nodes.ids:
            content = tree.nodes[node_id]["content"]
            for position, block in enumerate(content):
                if block["type"] not in MEDIA_TYPES:
                    continue
                change = self._change(node_id, position, block)
                if change is not None:
                    changes.setdefault(node_id, {})[position] = change
        if not changes:
            return tree

        def replaced(node_id: str, node: Node) -> Node:
            of_node = changes.get(node_id)
            if of_node is None:
                return node
            content: list[Any] = list(node["content"])
            for position, change in of_node.items():
                content[position] = change(content[position])
            return cast(Node, {**node, "content": content})

        nodes = tree.nodes.transformed(replaced)
        return Tree(tree.fields, nodes, tree.edges.over(nodes), tree.key_order)

    # -- one block -------------------------------------------------------------------------------------------------

    def _change(self, node_id: str, position: int, block: dict[str, Any]) -> _Change | None:
        try:
            found = self._found(block)
        except LimitExceeded:
            raise
        except LoomconvError:
            return None
        if found is None or not self._is_whole(found, node_id, position, block):
            return None
        changes = [self._moved(found, node_id, position, block), self._sized(found, block)]
        steps = [each for each in changes if each is not None]
        if not steps:
            return None

        def change(block: dict[str, Any]) -> dict[str, Any]:
            for step in steps:
                block = step(block)
            return block

        return change

    def _is_whole(self, found: _Found, node_id: str, position: int, block: dict[str, Any]) -> bool:
        """Whether all bytes can be read; members that go to another bundle are looked at when they are copied."""
        if found.medium.where == "inline" or self.mode not in ("inline", "beside"):
            return True
        try:
            found.medium.sha256()
        except LoomconvError as error:
            self._tell(
                "media.missing-media", node_id, position, block["ref"], f"It was left where it is: {error.message}."
            )
            return False
        return True

    def _found(self, block: dict[str, Any]) -> _Found | None:
        """The block's medium, if it is there, can be read and is what the block says."""
        reference = block.get("ref")
        if not isinstance(reference, str) or self.checker.check(block):
            return None
        if is_data_uri(reference):
            if self.mode in ("keep", "inline") and not self.fill_sizes and (self.local is None or not self.former):
                return None
            data = parse_data_uri(reference, self.limits).data
            return _Found(InlineMedium(data), sniff(data), reference[: reference.index(",") + 1])
        medium = self.store.find(reference)
        if medium is None:
            return None
        sniffed = sniff(medium.head())
        # A loom must not name any file of its folder and have it taken along.
        return _Found(medium, sniffed) if medium.where != "file" or is_of_kind(block["type"], sniffed) else None

    def _moved(self, found: _Found, node_id: str, position: int, block: dict[str, Any]) -> _Change | None:
        if found.medium.where == "member" and self.mode != "keep":
            self.used.add(block["ref"])
        if self.mode == "bundle":
            return self._into_bundle(found, node_id, position, block)
        if self.mode == "beside":
            return self._beside(found, node_id, position, block)
        if self.local is not None and found.medium.where != "file" and (name := self._local_name(found)) is not None:
            return _with_reference(name)
        if found.medium.where == "inline":
            return None
        if self.mode == "inline" or self._was_moved_out(found, block["ref"]):
            return self._into_document(found, node_id, position, block)
        return None

    def _local_name(self, found: _Found) -> str | None:
        """The reference that the medium had before, where it still leads to these bytes."""
        digest = found.medium.sha256()
        own = self.former.next_name(digest)
        names: list[str | None] = [own, *self.former.names.get(digest, ())]
        for name in dict.fromkeys(names):
            medium = self.local.find(name) if self.local is not None and name is not None else None
            if medium is not None and medium.sha256() == digest:
                self.former.use_names(digest)
                return name
        return None

    def _was_moved_out(self, found: _Found, reference: str) -> bool:
        """Whether the file lies beside the document because this program put it there, or another one in its place."""
        if found.medium.where != "file" or not self.former:
            return False
        return _OURS.fullmatch(reference) is not None or found.medium.sha256() in self.former

    def _into_bundle(self, found: _Found, node_id: str, position: int, block: dict[str, Any]) -> _Change | None:
        medium = found.medium
        if medium.where == "member":
            if medium.name == block["ref"]:
                self.files[medium.name] = medium
            return None  # a pointer leads to its member by the start of its name
        if medium.where == "inline" and not self._may_move_out(found, node_id, position, block):
            return None
        name = self._member_name(found)
        if medium.where == "file" and medium.sha256() not in self.former:
            self.former.add(medium.sha256(), block["ref"])
        self.files.setdefault(name, medium)
        self._tell("media.bundled", node_id, position, name)
        return _with_reference(name)

    def _beside(self, found: _Found, node_id: str, position: int, block: dict[str, Any]) -> _Change | None:
        medium = found.medium
        if medium.where == "file" and self.near is not None and leads_to(self.near, block["ref"], medium):
            return None
        if medium.where != "inline":
            self.former.add(medium.sha256(), block["ref"])
        elif not self._may_move_out(found, node_id, position, block):
            return None
        name = self.folder + self._digest_name(found).rpartition("/")[2]
        self.files.setdefault(name, medium)
        self._tell("media.beside", node_id, position, name)
        return _with_reference(name)

    def _may_move_out(self, found: _Found, node_id: str, position: int, block: dict[str, Any]) -> bool:
        """Whether a medium that stands in the document can come back as it was; what stands before it is noted."""
        digest = found.medium.sha256()
        header = self.former.headers.get(digest, found.header)
        if data_uri(found.header, found.medium) != block["ref"] or header != found.header:
            self._tell("media.kept-inline", node_id, position, None)
            return False
        if self.mode == "beside" or found.header != _header(block, found.sniffed):
            self.former.headers[digest] = found.header
        return True

    def _into_document(self, found: _Found, node_id: str, position: int, block: dict[str, Any]) -> _Change:
        medium = found.medium
        self.inlined += medium.size * 4 // 3
        if self.limits.document_bytes is not None and self.inlined > self.limits.document_bytes:
            error: LimitExceeded = self.limits.exceeded(
                "document_bytes", "the document with its media in it", needed=self.inlined
            )
            error.next_step = f"Leave the media outside, with `--media beside` or in a bundle. {error.next_step}"
            raise error
        digest = medium.sha256()
        header = self.former.use_header(digest) or ""
        stated = _HEADER.fullmatch(header)
        if stated is None or (stated[1] and not same_type(stated[1], _mime(block, found.sniffed))):
            header = _header(block, found.sniffed)
        if medium.where == "member" and block["ref"] != _name(digest, found.sniffed):
            self.former.add(digest, block["ref"])
        self._tell("media.inlined", node_id, position, block["ref"])
        return lambda block: {**block, "ref": data_uri(header, medium)}

    def _sized(self, found: _Found, block: dict[str, Any]) -> _Change | None:
        if not self.fill_sizes or block["type"] != "image" or "width" in block or "height" in block:
            return None
        try:
            size = image_size(found.medium.data(), self.limits)
        except LoomconvError:
            return None  # too large to be looked at, which is no reason not to take it along
        if size is None:
            return None
        width, height = size
        return lambda block: {**block, "width": width, "height": height}

    # -- names -----------------------------------------------------------------------------------------------------

    def _member_name(self, found: _Found) -> str:
        """The name in the bundle: that of an equal member, the one that the medium had before, else by its digest."""
        digest = found.medium.sha256()
        former = self.former.next_name(digest)
        there = None if former is None else self.files.get(former)
        is_same = there is not None and there.sha256() == digest
        if former is not None and unsafe_reason(former) is None and (is_same or self._is_free(former)):
            self.former.use_names(digest)
            return former
        if digest not in self.names:
            for name in self.store.members:
                member = self.store.find(name)
                if member is not None and member.size == found.medium.size and member.sha256() == digest:
                    self.names[digest] = name
                    break
        return self._digest_name(found)

    def _digest_name(self, found: _Found) -> str:
        digest = found.medium.sha256()
        if digest not in self.names:
            shown = _DIGEST_SHOWN
            while not self._is_free(name := _name(digest, found.sniffed, shown)):
                shown += _DIGEST_SHOWN
            self.names[digest] = name
        return self.names[digest]

    def _fits_beside(self, name: str) -> bool:
        """Whether no file would have to be a folder, too."""
        names = [*self.files, *self.store.members]
        return not name.endswith("/") and not any(
            each.startswith(f"{name}/") or name.startswith(f"{each}/") for each in names
        )

    def _is_free(self, name: str) -> bool:
        key = collision_key(name)
        if key in self.taken or key == collision_key("tree.openloom"):
            return False
        self.taken.add(key)
        return True

    def _tell_dropped(self, tree: Tree, node_id: str, position: int) -> None:
        self.tree = tree
        self._tell("media.dropped", node_id, position, None)

    def _tell(self, code: str, node_id: str, position: int, value: str | None, message: str | None = None) -> None:
        tree = self.tree.id if self.tree is not None and len(self.document.trees) > 1 else None
        self.report.add(code, message, tree=tree, node=node_id, pointer=f"/content/{position}", value=value)


def _name(digest: str, sniffed: str | None, shown: int = _DIGEST_SHOWN) -> str:
    """The name of a medium in a bundle that nobody has named."""
    return f"media/{digest[:shown]}.{file_suffix(sniffed)}"


def _with_reference(name: str) -> _Change:
    return lambda block: {**block, "ref": name}


def _header(block: dict[str, Any], sniffed: str | None) -> str:
    """What stands before the bytes in a `data:` URI of the usual form."""
    return f"data:{_mime(block, sniffed)};base64,"


def _mime(block: dict[str, Any], sniffed: str | None) -> str:
    declared = block.get("mimeType")
    return (declared if isinstance(declared, str) and declared else sniffed) or "application/octet-stream"
