"""A single node as the specification wants it: gaps A9, A12, A16, A23 and A28 of the openloom-2 dossier."""

from __future__ import annotations

from typing import Any, cast

from loomconv.jsontext import ExactFloat
from loomconv.model.record import own_record, with_record
from loomconv.model.times import has_zone, looks_like_time, parse_iso
from loomconv.model.types import Node
from loomconv.report import Report
from loomconv.report.shown import shown_value

__all__ = ["mend_node"]

_BOOLEANS = ("bookmarked", "pruned", "excluded")
_STRINGS = ("bookmarkLabel", "note")


class _Mender:
    """Copies a node when the first thing has to be changed, and keeps what was there before."""

    __slots__ = ("aside", "changed", "node", "node_id", "report")

    def __init__(self, node_id: str, node: Node, report: Report) -> None:
        self.node_id = node_id
        self.node: dict[str, Any] = cast("dict[str, Any]", node)
        self.report = report
        self.changed = False
        self.aside: dict[str, Any] = {}

    def put(self, key: str, value: Any) -> None:
        """Set a key of the node; None takes it out. The former value is kept aside."""
        if not self.changed:
            self.node, self.changed = dict(self.node), True
        if key in self.node:
            self.aside[key] = self.node[key]
        if value is None:
            self.node.pop(key, None)
        else:
            self.node[key] = value

    def found(self, code: str, message: str, pointer: str, value: Any = None) -> None:
        self.report.add(code, message, node=self.node_id, pointer=pointer, value=shown_value(value))

    def finish(self) -> Node:
        if self.aside:
            earlier = own_record(self.node).get("original")
            original = {**self.aside, **earlier} if isinstance(earlier, dict) else self.aside
            self.node = with_record(self.node, original=original)
        return cast(Node, self.node)


def mend_node(node_id: str, node: Node, report: Report) -> Node:
    """The node in proper shape; the very same object when nothing had to be mended.

    What had to be changed is reported and kept under `extensions.loomconv.original`. Unknown keys, unknown values of
    reserved positions and `generation` are never touched (OL2-A-preserve, OL2-5-verbatim).
    """
    if _is_plainly_sound(node_id, node):
        return node
    mender = _Mender(node_id, node, report)
    if node.get("id") != node_id:
        _mend_id(mender)
    _mend_content(mender)
    _mend_author(mender)
    created = node.get("createdAt")
    if created is not None:
        _mend_time(mender, created)
    meta: Any = node.get("meta")
    if meta is not None:
        _mend_meta(mender, meta)
    for key, kind in (("generation", dict), ("editedFrom", str)):
        value: Any = node.get(key)
        if value is not None and not isinstance(value, kind):
            mender.found("read.bad-value", f"{key} has the wrong type; it was kept aside.", f"/{key}")
            mender.put(key, None)
    extensions: Any = node.get("extensions")
    if extensions is not None and not isinstance(extensions, dict):
        mender.found("read.bad-value", "extensions is not an object; it was kept aside.", "/extensions")
        mender.put("extensions", None)
    return mender.finish()


def _is_plainly_sound(node_id: str, node: Node) -> bool:
    """Whether a node has one text, an author with a role, a proper time or none, no `meta`, and no other type wrong.

    Most nodes are like that. What this passes needs no mending; what it does not pass may need none either.
    """
    content: Any = node.get("content")
    if node.get("id") != node_id or type(content) is not list or len(content) != 1 or "meta" in node:
        return False
    block, author, created = content[0], node.get("author"), node.get("createdAt")
    if type(block) is not dict or block.get("type") != "text" or type(block.get("text")) is not str:
        return False
    if type(author) is not dict or type(author.get("role")) is not str:
        return False
    if created is not None and (type(created) is not str or parse_iso(created) is None):
        return False
    generation, extensions, edited = node.get("generation"), node.get("extensions"), node.get("editedFrom")
    return (
        (generation is None or type(generation) is dict)
        and (extensions is None or type(extensions) is dict)
        and (edited is None or type(edited) is str)
    )


def _mend_id(mender: _Mender) -> None:
    """The key is the identity (A1)."""
    own = mender.node.get("id")
    if own is None:
        mender.found("read.missing-id", "The node has no id of its own; the key it stands under counts.", "/id")
    else:
        mender.found(
            "read.id-mismatch", "The node's id differs from the key it stands under; the key counts.", "/id", own
        )
    mender.put("id", mender.node_id)


def _mend_content(mender: _Mender) -> None:
    """A list of blocks, each an object with a type (A23)."""
    content = mender.node.get("content")
    if isinstance(content, list):
        if all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in content) and all(
            isinstance(block.get("text"), str) for block in content if block["type"] == "text"
        ):
            return
        mender.found("repair.content", "A content block is no object with a type; it was made one.", "/content")
        mender.put("content", [_as_block(block) for block in content])
        return
    mender.found("repair.content", "The content is not a list of blocks; it was made one.", "/content")
    mender.put("content", [] if content is None else [_as_block(content)])


def _as_block(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        if value["type"] != "text" or isinstance(value.get("text"), str):
            return value
        text = value.get("text")
        return {**value, "text": "" if text is None else str(text) if not isinstance(text, dict | list) else ""}
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return {**value, "type": "text"}
    return {"type": "unknown", "value": value}


def _mend_author(mender: _Mender) -> None:
    """An author with a role: model if the text was generated, else human (A28)."""
    author = mender.node.get("author")
    if isinstance(author, dict) and isinstance(author.get("role"), str):
        return
    role = "model" if mender.node.get("generation") else "human"
    mender.found("repair.author", f"The node has no author with a role; {role} was assumed.", "/author")
    mender.put("author", {**author, "role": role} if isinstance(author, dict) else {"role": role})


def _mend_time(mender: _Mender, created: Any) -> None:
    """A time that cannot be placed is left out, never guessed (A12, OL2-8.4-badtime)."""
    if isinstance(created, str):
        if parse_iso(created) is not None:
            return
        if looks_like_time(created) and not has_zone(created):
            mender.found("read.time-without-zone", "createdAt has no zone; it was left out.", "/createdAt", created)
            mender.put("createdAt", None)
            return
    mender.found("read.bad-time", "createdAt is no time; it was left out.", "/createdAt", created)
    mender.put("createdAt", None)


def _is_whole(rating: Any) -> bool:
    """A whole number, however many digits it has; null counts as absent (A9)."""
    if isinstance(rating, ExactFloat):
        return rating.token.lstrip("-").isdecimal()
    return isinstance(rating, int | None) and not isinstance(rating, bool)


def _mend_meta(mender: _Mender, meta: Any) -> None:
    """Flags are booleans, labels texts, the rating a whole number (A16: never rounded)."""
    if not isinstance(meta, dict):
        mender.found("repair.meta", "meta is not an object; it was kept aside.", "/meta")
        mender.put("meta", None)
        return
    bad = [key for key in _BOOLEANS if not isinstance(meta.get(key, False), bool | None)]
    bad += [key for key in _STRINGS if not isinstance(meta.get(key), str | None)]
    if not _is_whole(meta.get("rating", 0)):
        bad.append("rating")
    tags = meta.get("tags")
    if tags is not None and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        bad.append("tags")
    if not bad:
        return
    for key in bad:
        mender.found("repair.meta", f"meta.{key} has the wrong type; it was kept aside.", f"/meta/{key}", meta[key])
    mender.put("meta", {key: value for key, value in meta.items() if key not in bad})
