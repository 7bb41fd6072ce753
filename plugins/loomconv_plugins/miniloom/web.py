"""Conversations saved by the web page of early 2023 (dossier §1.1, W1 to W3): segments, no patches.

The text of a path is each response's own `text`, or its `prompt` where that is empty. A file is written back as it was
while its nodes still say what it says; anything else is written in the shape of today.
"""

from __future__ import annotations

from typing import Any

from loomconv import jsontext
from loomconv.format import ReadContext, Sink, WriteContext
from loomconv.model import Document, TreeBuilder, mint_ulid, plain_text
from loomconv.model.times import format_ms
from loomconv_plugins.miniloom.facts import NAMESPACE, Raw, same

__all__ = ["read_web", "write_web"]


def read_web(top: Raw, context: ReadContext) -> Document:
    """The document of a saved conversation."""
    responses = {key: each for key, each in top["responseDict"].items() if isinstance(each, dict)}
    for key in top["responseDict"].keys() - responses.keys():
        context.report.add("read.opaque-node", node=key)
        context.touched = True
    builder = context.builder()
    parents = _parents(top, responses, builder, context)
    for key, raw in responses.items():
        builder.add_node(key, _node(key, raw, context))
    order = _children(parents, responses)
    roots = order.get("", [])
    waiting = list(reversed(roots))
    while waiting:
        key = waiting.pop()
        for child in order.get(key, ()):
            builder.add_edge(key, child)
        waiting.extend(reversed(order.get(key, ())))
    fields: Raw = {"id": mint_ulid(NAMESPACE, *roots[:1]), "title": "", "mode": "buffer", "rootNodeIds": roots}
    current = _current(top)
    if isinstance(current, str) and current in builder.nodes:
        fields["currentNodeId"] = current
    fields["extensions"] = {NAMESPACE: {"web": {key: value for key, value in top.items() if key != "responseDict"}}}
    builder.fields.update(fields)
    return Document({"format": "open-loom", "version": "2.0"}, [builder.build()])


def _node(key: str, raw: Raw, context: ReadContext) -> Any:
    text, prompt = raw.get("text"), raw.get("prompt")
    own = text if isinstance(text, str) and text else prompt if isinstance(prompt, str) else ""
    if not isinstance(text, str):
        context.report.add("read.bad-text", node=key, pointer="/text")
    made = isinstance(text, str) and text != ""
    node: Raw = {
        "id": key,
        "content": [{"type": "text", "text": own}],
        "author": {"role": "model" if made else "human"},
    }
    if (created := _time(raw.get("timestamp"))) is not None:
        node["createdAt"] = created
    rating = raw.get("rating")
    if isinstance(rating, bool):
        node["meta"] = {"rating": 1 if rating else -1}
    model = raw.get("base_model")
    if made and isinstance(model, str) and model:
        node["generation"] = {"model": model}
    node["extensions"] = {NAMESPACE: {"response": raw}}
    return node


def _time(value: Any) -> str | None:
    """Seconds since 1970 as a number or as a text of digits, cut to milliseconds."""
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        return None
    whole, _, fraction = text.partition(".")
    if not whole.isdecimal() or len(whole) > 12 or (fraction and not fraction.isdecimal()):
        return None
    return format_ms(int(whole) * 1000 + int((fraction + "000")[:3]))


def _parents(top: Raw, responses: dict[str, Raw], builder: TreeBuilder, context: ReadContext) -> dict[str, str]:
    """Parent of each response, "" for none. Before there were parents a batch continued the one chosen before."""
    if isinstance(top.get("responseBatches"), list) and not any("parent" in raw for raw in responses.values()):
        return _parents_by_batch(top, responses)
    parents = {}
    for key, raw in responses.items():
        parent = raw.get("parent")
        if parent is not None and not (isinstance(parent, str) and parent in responses):
            context.report.add("repair.missing-parent", node=key)
        parents[key] = parent if isinstance(parent, str) and parent in responses else ""
    settled = {""}
    for key in parents:
        path, on_path = [key], {key}
        while path[-1] not in settled:
            above = parents[path[-1]]
            if above in on_path:
                context.report.add("repair.cycle", node=above)
                context.touched = True
                parents[above] = above = ""
            path.append(above)
            on_path.add(above)
        settled.update(path)
    return parents


def _parents_by_batch(top: Raw, responses: dict[str, Raw]) -> dict[str, str]:
    chosen = top.get("selectedResponseIndices")
    indices = chosen if isinstance(chosen, list) else []
    parents = dict.fromkeys(responses, "")
    above = ""
    for number, batch in enumerate(top["responseBatches"]):
        members = [key for key in batch if isinstance(key, str) and key in responses] if isinstance(batch, list) else []
        for key in members:
            parents[key] = above if key != above else ""
        index = indices[number] if number < len(indices) else 0
        if members:
            above = members[index] if isinstance(index, int) and 0 <= index < len(members) else members[0]
    return parents


def _children(parents: dict[str, str], responses: dict[str, Raw]) -> dict[str, list[str]]:
    below: dict[str, list[str]] = {}
    for key, parent in parents.items():
        below.setdefault(parent, []).append(key)
    for key, raw in responses.items():
        listed = raw.get("children")
        if isinstance(listed, list) and key in below:
            own = set(below[key])
            first = dict.fromkeys(each for each in listed if isinstance(each, str) and each in own)
            below[key] = [*first, *(each for each in below[key] if each not in first)]
    return below


def _current(top: Raw) -> Any:
    if "focusId" in top:
        return top["focusId"]
    batches, indices = top.get("responseBatches"), top.get("selectedResponseIndices")
    if isinstance(batches, list) and batches and isinstance(batches[-1], list) and isinstance(indices, list):
        index = indices[len(batches) - 1] if len(indices) >= len(batches) else 0
        if isinstance(index, int) and 0 <= index < len(batches[-1]):
            return batches[-1][index]
    return None


def write_web(document: Document, sink: Sink, context: WriteContext) -> bool:
    """Write the file as it was, if reading that gives this very document; whether that was done."""
    tree = document.trees[0]
    top = tree.fields["extensions"][NAMESPACE]["web"]
    responses = {}
    for node_id, node in tree.nodes.items():
        extensions = node.get("extensions")
        own = extensions.get(NAMESPACE) if isinstance(extensions, dict) and len(extensions) == 1 else None
        if not isinstance(own, dict) or not isinstance(own.get("response"), dict):
            return False
        responses[node_id] = own["response"]
    again = read_web({**top, "responseDict": responses}, ReadContext(report=type(context.report)(limit=0)))
    if not _says_the_same(again, document):
        return False
    sink.write(jsontext.dump({"responseDict": responses, **top}, context.layout))
    return True


def _says_the_same(read: Document, document: Document) -> bool:
    ours, theirs = read.trees[0], document.trees[0]
    if document.fields.keys() - {"format", "version"} or ours.nodes.ids != theirs.nodes.ids:
        return False
    if not same(ours.fields.get("extensions"), theirs.fields.get("extensions")):
        return False
    keys = ("currentNodeId", "mode", "title", "id", "rootNodeIds", "systemContext")
    if any(not same(ours.fields.get(key), theirs.fields.get(key)) for key in keys):
        return False
    for node_id, node in theirs.nodes.items():
        raw = ours.nodes[node_id]
        if plain_text(raw) != plain_text(node) or raw.keys() != node.keys():
            return False
        if any(not same(raw.get(key), node.get(key)) for key in ("author", "createdAt", "meta", "generation")):
            return False
    return all(ours.graph.children_of(key) == theirs.graph.children_of(key) for key in ours.nodes.ids)
