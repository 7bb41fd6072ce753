"""Checking content hashes: schemes that plugins bring, and what they say of each node (OL2-9-hashinfo, A7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from loomconv.model.document import Document, Tree

__all__ = ["HashCheck", "HashScheme", "HashStatus", "HashVerdict", "check_hashes"]

# verified: the hash is that of the content. mismatch: it is not. incomplete: something that went into it is not there.
# unknown-scheme: nobody knows how it was made. none: there is no hash.
HashStatus = Literal["verified", "mismatch", "incomplete", "unknown-scheme", "none"]


@dataclass(frozen=True, slots=True)
class HashVerdict:
    """What became of one node's hash; `detail` is a sentence for people, or empty."""

    node: str
    status: HashStatus
    detail: str = ""


class HashScheme(ABC):
    """A documented way to compute content hashes."""

    name: ClassVar[str]

    @abstractmethod
    def claims(self, document: Document) -> bool:
        """Whether the document's hashes are of this scheme."""

    @abstractmethod
    def verify(self, document: Document, tree: Tree) -> Iterable[HashVerdict]:
        """A verdict on every node of which the scheme has something to say, in any order."""


@dataclass(slots=True)
class HashCheck:
    """One verdict for each node of a tree, in file order; `scheme` is None when no scheme claims the document."""

    tree: str
    scheme: str | None
    verdicts: list[HashVerdict] = field(default_factory=list)

    @property
    def counts(self) -> dict[HashStatus, int]:
        """How many nodes have each status; statuses that occur."""
        found: dict[HashStatus, int] = {}
        for verdict in self.verdicts:
            found[verdict.status] = found.get(verdict.status, 0) + 1
        return found

    def to_json(self) -> dict[str, Any]:
        """The check as a JSON object."""
        return {
            "tree": self.tree,
            "scheme": self.scheme,
            "counts": self.counts,
            "nodes": {
                verdict.node: {"status": verdict.status, **({"detail": verdict.detail} if verdict.detail else {})}
                for verdict in self.verdicts
            },
        }


def check_hashes(document: Document, schemes: Iterable[HashScheme]) -> Iterator[HashCheck]:
    """Check every tree by the first scheme that claims the document. A mismatch is information, never an error."""
    scheme = next((each for each in schemes if each.claims(document)), None)
    for tree in document.trees:
        said = {} if scheme is None else {verdict.node: verdict for verdict in scheme.verify(document, tree)}
        check = HashCheck(tree.id, None if scheme is None else scheme.name)
        for node_id, node in tree.nodes.items():
            generation = node.get("generation")
            has_hash = isinstance(generation, dict) and isinstance(generation.get("contentHash"), str)
            status: HashStatus = "unknown-scheme" if has_hash else "none"
            check.verdicts.append(said.get(node_id) or HashVerdict(node_id, status))
        yield check
