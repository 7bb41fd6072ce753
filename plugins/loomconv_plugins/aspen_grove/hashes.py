"""The app's content hashes (dossier §6)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from loomconv import jsontext
from loomconv.model import Document, Tree
from loomconv.model.edges import CONTINUATION
from loomconv.model.record import extensions_of
from loomconv.provenance import HashScheme, HashVerdict
from loomconv_plugins.aspen_grove.entities import content_of
from loomconv_plugins.aspen_grove.tables import NAMESPACE
from loomconv_plugins.aspen_grove.times import iso

__all__ = ["AspenGroveHashes", "bare_hash", "canonical_content", "content_hash", "response_hash"]

_DELIMITER: Final = "=|d|="
_HEX: Final = re.compile("[0-9a-fA-F]{64}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def canonical_content(content: Any) -> str:
    """The content as the app spells it for hashing: keys sorted, no blanks, numbers and strings as in JavaScript."""
    return jsontext.encode(_sorted(content)).decode()


def _sorted(value: Any) -> Any:
    """Contents nest four levels at most; deeper values are taken as they are."""
    return _sorted_to(value, 8)


def _sorted_to(value: Any, levels: int) -> Any:
    if levels and isinstance(value, dict):
        return {key: _sorted_to(value[key], levels - 1) for key in sorted(value) if value[key] is not None}
    if levels and isinstance(value, list):
        return [_sorted_to(each, levels - 1) for each in value]
    if isinstance(value, float) and value == value // 1 and abs(value) < 1e21:
        return int(value)
    return value


def content_hash(content: Any, parents: Iterable[str], created: str, agent: str, response: str | None = None) -> str:
    """A node's hash in 64 hex digits; with the hash of the raw response for what a model wrote."""
    parts = [canonical_content(content), ",".join(sorted(parents)), created, agent]
    if response is not None:
        parts.append(response)
    return hashlib.sha256(_DELIMITER.join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def response_hash(headers: str, body: str) -> str:
    """The hash of a raw response: over the header lines, two line feeds, and the body, as texts."""
    return hashlib.sha256(f"{headers}\n\n{body}".encode("utf-8", "surrogatepass")).hexdigest()


def bare_hash(value: Any) -> str | None:
    """The hex digits of a hash with or without its algorithm's name; None for anything else (A7c)."""
    if not isinstance(value, str):
        return None
    text = value.removeprefix("sha256:")
    return text.lower() if _HEX.fullmatch(text) else None


class AspenGroveHashes(HashScheme):
    """The scheme of the app, for its databases and for what it exports."""

    name = NAMESPACE

    def claims(self, document: Document) -> bool:
        """A document that the app exported, or that came from one of its files."""
        generator = document.fields.get("generator")
        if isinstance(generator, dict) and generator.get("name") == "Aspen Grove":
            return True
        return NAMESPACE in extensions_of(document.fields) or any(
            NAMESPACE in extensions_of(tree.fields) for tree in document.trees
        )

    def verify(self, document: Document, tree: Tree) -> Iterator[HashVerdict]:
        """A verdict on every node that has a hash, or whose hash its children name; parents come first."""
        known = {ordinal: _stated(node) for ordinal, node in enumerate(tree.nodes.values())}
        parents = _parents(tree)
        for ordinal in tree.graph.walk(tree.root_ordinals):
            node: Any = tree.nodes[tree.nodes.ids[ordinal]]
            verdict, known[ordinal] = _verify(node, [[known.get(each) for each in row] for row in parents[ordinal]])
            if verdict is not None:
                yield verdict


def _parents(tree: Tree) -> list[list[tuple[int, ...]]]:
    """For each node the sources of each continuation into it."""
    found: list[list[tuple[int, ...]]] = [[] for _ in range(len(tree.nodes))]
    for position, kind in enumerate(tree.edges.kinds):
        if kind == CONTINUATION:
            found[tree.edges.targets[position]].append(tree.edges.sources(position))
    return found


def _stated(node: Any) -> str | None:
    """The hash that a node says it has; of a human's in what the app keeps with it."""
    own = extensions_of(node).get(NAMESPACE)
    kept = own.get("contentHash") if isinstance(own, dict) else None
    return bare_hash((node.get("generation") or {}).get("contentHash")) or bare_hash(kept)


def _verify(node: Any, parents: list[list[str | None]]) -> tuple[HashVerdict | None, str | None]:
    """The verdict on a node, and its hash for those below it."""
    own = extensions_of(node).get(NAMESPACE)
    stash: dict[str, Any] = own if isinstance(own, dict) else {}
    generation = node.get("generation") or {}
    stated = _stated(node)
    agent, created = node["author"].get("agentId"), iso(node.get("createdAt"))
    response = _response_of(generation, stash)
    content = stash["content"] if "content" in stash else content_of(node["content"])
    complete = isinstance(agent, str) and isinstance(created, str)
    every = [each for row in parents for each in row]
    if stated is None:
        if not complete or None in every or node["author"]["role"] != "human":
            return None, None
        return None, content_hash(content, [each for each in every if each], str(created), str(agent))
    if not complete:
        return HashVerdict(node["id"], "incomplete", "Its agent or time is not there."), stated
    return _judge(node["id"], stated, parents, content, str(created), str(agent), response, generation), stated


def _judge(
    node_id: str,
    stated: str,
    parents: list[list[str | None]],
    content: Any,
    created: str,
    agent: str,
    response: str | None,
    generation: dict[str, Any],
) -> HashVerdict:
    every = [each for row in parents for each in row]
    choices: list[tuple[list[str | None], str]] = [(every, "")]
    named = generation.get("parentHashes")
    if isinstance(named, list):
        choices.append(([bare_hash(each) for each in named], "By the hashes of its parents that it states itself."))
    subset = "Valid against a subset of its parents."
    choices += (
        [(row, subset) for row in parents[:1]] + [([each], subset) for each in dict.fromkeys(every)] + [([], subset)]
    )
    for response_part, remark in ((response, ""), (None, "As imported: without its raw response.")):
        for chosen, detail in choices:
            if None in chosen or (chosen == [] and every and response_part is None and response is not None):
                continue
            if content_hash(content, [each for each in chosen if each], created, agent, response_part) == stated:
                return HashVerdict(node_id, "verified", " ".join(filter(None, (detail, remark if response else ""))))
        if response is None:
            break
    if None in every:
        return HashVerdict(node_id, "incomplete", "The hash of a parent is not known.")
    if generation.get("contentHash") is not None and response is None:
        return HashVerdict(node_id, "incomplete", "Its raw response is not there.")
    return HashVerdict(node_id, "mismatch", "The node is not what was hashed.")


def _response_of(generation: dict[str, Any], stash: dict[str, Any]) -> str | None:
    raw = generation.get("rawResponse")
    if not isinstance(raw, dict):
        return None
    stated = bare_hash(raw.get("bodyHash"))
    body = raw.get("body")
    if not isinstance(body, str):
        return stated
    headers = raw.get("headers")
    kept = stash.get("response")
    text = kept.get("responseHeaders") if isinstance(kept, dict) else None
    if not isinstance(text, str):
        text = headers if isinstance(headers, str) else _header_lines(headers)
    return response_hash(text, body) if stated is None else stated


def _header_lines(headers: Any) -> str:
    if not isinstance(headers, dict):
        return ""
    return "\n".join(f"{name}: {value}" for name, value in sorted(headers.items()))
