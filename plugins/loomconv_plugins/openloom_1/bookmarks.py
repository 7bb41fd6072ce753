"""Bookmarks: flags on the nodes, and the redundant map of full copies (OL1-bookmarks, OL1-w-bookmarks).

The tree's stash keeps, under `bookmarkedNodes`, how the file's map differs from the copies that the flags imply, by id:

    {"set": {…}, "absent": […]}   the copy has these values and lacks these keys of the node
    {"is": …}                     an entry that is no copy of its node, since it is no object (or the node is none)
    {"stray": …}                  an entry under an id that no node has
    {"missing": true}             a bookmarked node without a copy

A map that is no object is kept as it is in the same place.
"""

from __future__ import annotations

from typing import Any

from loomconv_plugins.openloom_1.shape import difference, same_json

__all__ = ["Bookmarks", "WrittenBookmarks", "copy_difference", "default_title", "patched"]

_TITLE_LENGTH = 30


def default_title(text: str) -> str:
    """The label that the app gives by default: the first 30 characters, `...` behind them when there are more."""
    return text if len(text) <= _TITLE_LENGTH else text[:_TITLE_LENGTH] + "..."


def title_of(copy: Any) -> str | None:
    """The label in a node or copy of the file."""
    title = copy.get("bookmarkTitle") if isinstance(copy, dict) else None
    return title if isinstance(title, str) else None


class Bookmarks:
    """What the file's map of copies adds to what a node says of itself: membership, and the copy's label."""

    __slots__ = ("_titles",)

    def __init__(self, titles: dict[str, str | None] | None = None) -> None:
        self._titles: dict[str, str | None] = {} if titles is None else titles

    def holds(self, node_id: str) -> bool:
        """Whether the map has the node."""
        return node_id in self._titles

    def title(self, node_id: str) -> str | None:
        """The label that the node's copy has, None without one."""
        return self._titles.get(node_id)


class WrittenBookmarks(Bookmarks):
    """The same of the map as it will be written: copies of all bookmarked nodes, but for the differences kept."""

    __slots__ = ("differences", "raw")

    def __init__(self, stash: dict[str, Any]) -> None:
        super().__init__()
        kept = stash.get("bookmarkedNodes", {})
        absent = stash.get("absent")
        # What stands in place of the map: nothing (None) or a list with the value.
        self.raw: list[Any] | None = None if isinstance(kept, dict) else [kept]
        if isinstance(absent, list) and "bookmarkedNodes" in absent:
            self.raw = []
        self.differences: dict[str, dict[str, Any]] = (
            {key: value for key, value in kept.items() if isinstance(value, dict)} if isinstance(kept, dict) else {}
        )

    def holds(self, node_id: str) -> bool:
        """Whether the node, if it is bookmarked, will have a copy."""
        return self.raw is None and "missing" not in self.differences.get(node_id, {})

    def title(self, node_id: str) -> str | None:
        """The label that the copy will have, where it is not just the node's own."""
        kept = self.differences.get(node_id, {})
        return title_of(kept.get("is", kept.get("set")))


def copy_difference(copy: Any, node: Any) -> dict[str, Any] | None:
    """How a copy differs from the node's own object in the file; None when it does not."""
    if same_json(copy, node):
        return None
    if not isinstance(copy, dict) or not isinstance(node, dict):
        return {"is": copy}
    other, absent = difference(copy, node, sorted(node.keys() | copy.keys()))
    return {key: value for key, value in (("set", other), ("absent", absent)) if value}


def patched(written: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The copy of a node as it will be written, by the difference that was kept."""
    absent = kept.get("absent")
    copy = {key: value for key, value in written.items() if not isinstance(absent, list) or key not in absent}
    other = kept.get("set")
    return {**copy, **other} if isinstance(other, dict) else copy
