"""The hub's look at each node that a reader hands over: shape, secrets, odd characters, media."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from loomconv.media.blocks import MEDIA_TYPES
from loomconv.media.store import MediaStore
from loomconv.model.document import Document, Tree
from loomconv.model.types import Edge, Node
from loomconv.options import ConversionOptions
from loomconv.privacy import drop_secrets
from loomconv.repair import mend_node
from loomconv.report import Report
from loomconv.storage import Source

if TYPE_CHECKING:
    from loomconv.media.check import MediaChecker

__all__ = ["Examiner"]

_SURROGATE = re.compile("[\ud800-\udfff]")
# Parts of a node that cannot hold a setting, and so no key or password either.
_PLAIN_KEYS = frozenset({"id", "content", "author", "createdAt", "editedFrom", "generation", "meta"})
# The same for what is in these; anything else in them can.
_KNOWN_MEMBERS = {
    "author": frozenset({"role", "agentId", "name"}),
    "meta": frozenset({"bookmarked", "bookmarkLabel", "pruned", "excluded", "tags", "rating", "note"}),
}


class Examiner:
    """Examines the nodes and fields of one source. `changed` tells whether anything was not kept as it was."""

    def __init__(
        self,
        source: Source,
        report: Report,
        options: ConversionOptions,
        store: MediaStore,
        *,
        names_files: bool = False,
    ) -> None:
        self.source = source
        self.report = report
        self.options = options
        self.changed = False
        # Whether the format refers to files on its author's disk by nature: then such a reference is nothing odd.
        self._names_files = names_files
        self._store = store

    @cached_property
    def _media(self) -> MediaChecker:
        from loomconv.media.check import MediaChecker  # documents without media do without

        return MediaChecker(self._store.head, self.options.limits)

    def node(self, node_id: str, node: Node, sound: bool = False) -> Node:
        """The node to keep: the very same object when nothing about it had to be changed.

        Of a `sound` node, whose core is known to be in shape, only what is beyond the core is looked at.
        """
        kept = node if sound else mend_node(node_id, node, self.report)
        if sound:
            if not kept.keys() <= _PLAIN_KEYS:
                kept = self._without_secrets(kept, node_id)
                self.changed |= kept is not node
            return kept
        kept = self._without_secrets(kept, node_id)
        for position, block in enumerate(kept["content"]):
            if block["type"] == "text":
                text = block["text"]
                if not text.isascii() and _SURROGATE.search(text):
                    self.report.add("read.lone-surrogate", node=node_id, pointer=f"/content/{position}/text")
            elif block["type"] in MEDIA_TYPES:
                self._check_medium(kept, node_id, position)
        if kept is not node:
            self.changed = True
        return kept

    def _without_secrets(self, node: Node, node_id: str) -> Node:
        suspects: dict[str, Any] = {key: value for key, value in node.items() if key not in _PLAIN_KEYS}
        for key, known in _KNOWN_MEMBERS.items():
            holder: Any = node.get(key)
            if holder and not holder.keys() <= known:
                suspects[key] = {name: value for name, value in holder.items() if name not in known}
        if not suspects:
            return node
        cleaned, places = drop_secrets(suspects, keep=self.options.keep_secrets)
        self._report_secrets(places, node=node_id)
        if cleaned is suspects:
            return node
        kept: dict[str, Any] = {key: value for key, value in node.items() if key in _PLAIN_KEYS or key in cleaned}
        for key, value in cleaned.items():
            known = _KNOWN_MEMBERS.get(key, frozenset())
            kept[key] = {name: kept[key][name] for name in kept[key] if name in known} | value if known else value
        return cast(Node, kept)

    def _report_secrets(self, places: list[str], *, node: str | None = None, tree: str | None = None) -> None:
        kept = self.options.keep_secrets
        for place in places:
            name = place.removeprefix("/extensions/").split("/", 1)[-1].replace("/", ".")
            self.report.add(
                "privacy.secret-kept" if kept else "privacy.secret-dropped",
                f"{name} holds a key or password; it was {'kept, as asked for' if kept else 'left out'}.",
                pointer=place,
                node=node,
                tree=tree,
            )

    def mended(self, node_id: str, node: Node, report: Report) -> Node:
        """A node that came back from what was set aside, in shape; where its media lead to is told."""
        kept = mend_node(node_id, node, report)
        for position, block in enumerate(kept["content"]):
            if block["type"] in MEDIA_TYPES:
                for incident in self._media.check(block):
                    if incident.kind in ("missing-media", "unsafe-path"):
                        report.add(
                            f"media.{incident.kind}",
                            _sentence(incident.message),
                            node=node_id,
                            pointer=f"/content/{position}",
                            value=incident.value,
                        )
        return kept

    def _check_medium(self, node: Node, node_id: str, position: int) -> None:
        for incident in self._media.check(node["content"][position]):
            on_disk = self._names_files and incident.kind in ("unsafe-path", "missing-media")
            self.report.add(
                "media.unresolved-media" if on_disk else f"media.{incident.kind}",
                _sentence(incident.message),
                node=node_id,
                pointer=f"/content/{position}",
                value=incident.value,
            )

    def fields(self, document: Document) -> None:
        """Look at what stands outside of nodes and edges, in place."""
        document.fields = self._clean_fields(document.fields, None)
        for tree in document.trees:
            tree.fields = self._clean_fields(tree.fields, tree.id)
            self._clean_edges(tree)
        for incident in self.source.incidents:
            code = "media.unsafe-path" if incident.kind == "unsafe-path" else "read.bad-container"
            self.report.add(code, _sentence(incident.message), value=incident.value)

    def without_secrets(self, value: Any) -> Any:
        """Anything else that came along with the source, without keys and passwords; what was found is reported."""
        cleaned, places = drop_secrets(value, keep=self.options.keep_secrets)
        self._report_secrets(places)
        return cleaned

    def _clean_edges(self, tree: Tree) -> None:
        changes: dict[int, Edge] = {}
        for position in tree.edges.rich:
            edge = tree.edges[position]
            cleaned, places = drop_secrets(edge, keep=self.options.keep_secrets)
            self._report_secrets([f"/edges/{position}{place}" for place in places], tree=tree.id)
            if cleaned is not edge:
                changes[position] = cleaned
        if changes:
            self.changed = True
            tree.edges = tree.edges.rebuilt(tree.nodes, lambda position: changes.get(position, True))

    def _clean_fields(self, fields: dict[str, Any], tree: str | None) -> dict[str, Any]:
        cleaned, places = drop_secrets(fields, keep=self.options.keep_secrets)
        self._report_secrets(places, tree=tree)
        if cleaned is not fields:
            self.changed = True
        for key in ("title", "description", "systemContext"):
            value = cleaned.get(key)
            if isinstance(value, str) and _SURROGATE.search(value):
                self.report.add("read.lone-surrogate", pointer=f"/{key}", tree=tree)
        return cast("dict[str, Any]", cleaned)


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."
