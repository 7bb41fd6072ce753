"""From the app's entities to the pivot (dossier §7)."""

from __future__ import annotations

from typing import Any, Final, cast

from loomconv.format import ReadContext
from loomconv.model import Document, Tree, TreeBuilder
from loomconv_plugins.aspen_grove.entities import (
    agent_core,
    agent_entity,
    edge_core,
    edge_entity,
    node_core,
    node_entity,
    response_core,
    response_entity,
    stash_of,
    tree_core,
    tree_entity,
)
from loomconv_plugins.aspen_grove.marks import apply_marks, own_marks
from loomconv_plugins.aspen_grove.tables import NAMESPACE, Entities, Entity, ref

__all__ = ["carried_ids", "to_pivot"]

# Collections that are kept whole, with the tree that they are of.
_PATHS: Final = ("paths", "pathNodes", "pathSelections", "pathStates")


def to_pivot(entities: Entities, more: dict[str, Any], context: ReadContext, *, marks: bool = True) -> Document:
    """The document of these entities. Without `marks` as if nothing had been carried along with them."""
    return _Reading(entities, more, context, marks).run()


class _Reading:
    def __init__(self, entities: Entities, more: dict[str, Any], context: ReadContext, marks: bool) -> None:
        self.entities = entities
        self.more = more
        self.context = context
        self.report = context.report
        self.marks = marks
        self.agents = {each["id"]: each for each in entities["agents"] if isinstance(ref(each, "id"), str)}
        self.tags = {ref(each, "id"): each for each in entities["tags"]}
        self.responses, self.other_responses = self._newest_responses()
        self.of_node = self._tags_by_target("node")
        self.by_tree = self._by_tree()
        self.used_agents: set[str] = set()

    def run(self) -> Document:
        trees = [self._tree(entity) for entity in self.entities["loomTrees"]]
        fields: dict[str, Any] = {"format": "open-loom", "version": "2.0"}
        unused = {key: agent_core(each) for key, each in self.agents.items() if key not in self.used_agents}
        if unused:
            fields["agents"] = unused
        stash = self._document_stash()
        if stash:
            fields["extensions"] = {NAMESPACE: stash}
        others = self.more.get("extensions")
        if self.marks:
            fields = apply_marks(fields, others)
        return Document(fields, trees)

    # -- sorting entities --------------------------------------------------------------------------------------

    def _newest_responses(self) -> tuple[dict[Any, Entity], list[Entity]]:
        newest: dict[Any, Entity] = {}
        others: list[Entity] = []
        for each in self.entities["rawApiResponses"]:
            known = newest.get(ref(each, "nodeId"))
            if known is None:
                newest[ref(each, "nodeId")] = each
            elif str(each.get("createdAt")) > str(known.get("createdAt")):
                newest[ref(each, "nodeId")] = each
                others.append(known)
            else:
                others.append(each)
        known_nodes = {ref(each, "id") for each in self.entities["nodes"]}
        others += [each for key, each in newest.items() if key not in known_nodes]
        return {key: each for key, each in newest.items() if key in known_nodes}, others

    def _tags_by_target(self, kind: str) -> dict[Any, list[str]]:
        found: dict[Any, list[str]] = {}
        for each in self.entities["tagAssignments"]:
            tag = self.tags.get(ref(each, "tagId"))
            if each.get("targetType") == kind and tag is not None and isinstance(tag.get("name"), str):
                found.setdefault(ref(each, "targetId"), []).append(tag["name"])
        return found

    def _by_tree(self) -> dict[str, dict[Any, list[Entity]]]:
        found: dict[str, dict[Any, list[Entity]]] = {name: {} for name in ("nodes", "edges", "paths")}
        for name, groups in found.items():
            for each in self.entities[name]:
                groups.setdefault(ref(each, "loomTreeId"), []).append(each)
        path_tree = {ref(each, "id"): ref(each, "loomTreeId") for each in self.entities["paths"]}
        for name in _PATHS[1:]:
            found[name] = {}
            for each in self.entities[name]:
                found[name].setdefault(path_tree.get(ref(each, "pathId")), []).append(each)
        return found

    # -- document ----------------------------------------------------------------------------------------------

    def _document_stash(self) -> Entity:
        """What belongs to no tree: groves, tags, what agents have beyond the registry, and keys of the file."""
        stash: Entity = {key: value for key, value in self.more.items() if key != "extensions"}
        agents = {}
        for key, entity in self.agents.items():
            odd = stash_of(entity, agent_entity(key, agent_core(entity)), ("extensions",))
            given, plain = entity.get("configuration"), agent_core(entity).get("configuration") or {}
            if "configuration" in odd and isinstance(given, dict):
                odd["configuration"] = {name: value for name, value in given.items() if name not in plain}
            agents[key] = odd
        if agents:
            stash["agents"] = agents
        for name in ("groves", "tags", "tagAssignments"):
            if self.entities[name]:
                stash[name] = self.entities[name]
        if self.other_responses:
            stash["rawApiResponses"] = self.other_responses
        known = {ref(each, "id") for each in self.entities["loomTrees"]}
        for name, groups in self.by_tree.items():
            strays = [each for tree, listed in groups.items() if tree not in known for each in listed]
            if strays:
                stash.setdefault("strays", {})[name] = strays
                self.report.add("aspen-grove.stray", f"Of no tree: {len(strays)} of {name}; kept aside.", value=name)
        return stash

    # -- trees -------------------------------------------------------------------------------------------------

    def _tree(self, entity: Entity) -> Tree:
        tree_id = ref(entity, "id")
        builder = self.context.builder()
        nodes = self.by_tree["nodes"].get(tree_id, [])
        used: dict[str, None] = {}
        hashes = {ref(each, "id"): ref(each, "contentHash") for each in nodes}
        incoming = self._incoming(tree_id)
        tag_names: dict[str, None] = {}
        for each in nodes:
            self._node(each, builder, used, hashes, incoming, tag_names)
        for each in self.by_tree["edges"].get(tree_id, []):
            self._edge(each, builder)
        core = tree_core(entity)
        fields: dict[str, Any] = {"id": tree_id, "title": "", **core}
        current = self._current(entity)
        if current is not None:
            fields["currentNodeId"] = current
        if tag_names:
            fields["tags"] = [self._tag_definition(name) for name in tag_names]
        agents = {key: agent_core(self.agents[key]) for key in self._agents_of(entity, used)}
        self.used_agents.update(agents)
        if agents:
            fields["agents"] = agents
        stash = stash_of(entity, tree_entity(str(tree_id), core), ("extensions",))
        for name in _PATHS:
            if self.by_tree[name].get(tree_id):
                stash[name] = self.by_tree[name][tree_id]
        tree_tags = self._tree_tags(tree_id)
        if tree_tags:
            stash["treeTags"] = tree_tags
        if stash:
            fields["extensions"] = {NAMESPACE: stash}
        if self.marks:
            fields = apply_marks(fields, entity.get("extensions"))
        builder.fields.update(fields)
        return builder.build()

    def _tree_tags(self, tree_id: Any) -> list[str]:
        if not hasattr(self, "_of_tree"):
            self._of_tree = self._tags_by_target("loomTree")
        return self._of_tree.get(tree_id, [])

    def _tag_definition(self, name: str) -> Entity:
        tag = next(each for each in self.tags.values() if each.get("name") == name)
        return {"name": name, **({"color": tag["color"]} if isinstance(tag.get("color"), str) else {})}

    def _agents_of(self, entity: Entity, used: dict[str, None]) -> list[str]:
        """Agents that the tree speaks of, in the order of all agents."""
        named = {*used, ref(entity, "defaultModelAgentId")}
        named.update(ref(each, "ownerAgentId") for each in self.by_tree["paths"].get(ref(entity, "id"), ()))
        own = ref(entity, "id")
        return [key for key, each in self.agents.items() if key in named or each.get("ownerTreeId") == own]

    def _incoming(self, tree_id: Any) -> dict[Any, list[Any]]:
        found: dict[Any, list[Any]] = {}
        for edge in self.by_tree["edges"].get(tree_id, ()):
            if edge.get("edgeType") == "continuation" and isinstance(edge.get("sources"), list):
                sources = [ref(each, "nodeId") for each in edge["sources"] if isinstance(each, dict)]
                found.setdefault(ref(edge, "targetNodeId"), []).extend(sources)
        return found

    def _current(self, tree: Entity) -> str | None:
        """Where the owner's path stands (dossier §3.2)."""
        groves = {ref(each, "id"): each for each in self.entities["groves"]}
        owner = groves.get(ref(tree, "groveId"), {}).get("ownerAgentId")
        own = self.by_tree["paths"].get(ref(tree, "id"), [])
        paths = [each for each in own if ref(each, "ownerAgentId") == owner] or own
        path = next((each for each in paths if each.get("archivedAt") is None), paths[0] if paths else None)
        if path is None:
            return None
        states, steps = (
            [each for each in self.by_tree[name].get(ref(tree, "id"), ()) if ref(each, "pathId") == ref(path, "id")]
            for name in ("pathStates", "pathNodes")
        )
        for mode in (tree.get("mode"), None):
            fitting = [each for each in states if each.get("mode") == mode]
            if fitting:
                newest = max(fitting, key=lambda each: str(each.get("updatedAt")))
                active = newest.get("activeNodeId")
                return active if isinstance(active, str) else None
        numbered = [each for each in steps if isinstance(each.get("position"), int | float)]
        last = max(numbered, key=lambda each: float(each["position"]), default={})
        return last.get("nodeId") if isinstance(last.get("nodeId"), str) else None

    # -- nodes and edges ---------------------------------------------------------------------------------------

    def _node(
        self,
        entity: Entity,
        builder: TreeBuilder,
        used: dict[str, None],
        hashes: dict[Any, Any],
        incoming: dict[Any, list[Any]],
        tag_names: dict[str, None],
    ) -> None:
        node_id = ref(entity, "id")
        if not isinstance(node_id, str) or node_id in builder.nodes:
            node_id = builder.mint(NAMESPACE, str(len(builder.nodes)))
            self.report.add("read.duplicate-id" if "id" in entity else "read.missing-id", node=node_id)
            self.context.touched = True
        core = node_core(entity)
        base = node_entity(node_id, str(ref(entity, "loomTreeId")), core)
        author = core["author"]
        agent = self.agents.get(author["agentId"]) if "agentId" in author else None
        if agent is not None:
            used[author["agentId"]] = None
            if isinstance(agent.get("name"), str) and agent["name"]:
                author = {**author, "name": agent["name"]}
        meta = dict(core["meta"] or {})
        tags = self.of_node.get(node_id)
        if tags:
            meta["tags"] = tags
            tag_names.update(dict.fromkeys(tags))
        generation, base, response = self._generation(entity, base, hashes, incoming)
        stash = stash_of(entity, base, ("extensions",))
        if response:
            stash["response"] = response
        node: dict[str, Any] = {"id": node_id, "content": core["content"], "author": author}
        for key, value in (
            ("createdAt", core["createdAt"]),
            ("editedFrom", core["editedFrom"]),
            ("meta", meta),
            ("generation", generation),
        ):
            if value:
                node[key] = value
        if stash:
            node["extensions"] = {NAMESPACE: stash}
        if self.marks:
            node = apply_marks(node, entity.get("extensions"))
        if "createdAt" in entity and core["createdAt"] is None:
            self.report.add("read.bad-time", node=node_id, pointer="/createdAt")
        if content_is_odd(entity):
            self.report.add("read.bad-text", node=node_id, pointer="/content")
        builder.add_node(node_id, cast(Any, node))

    def _generation(
        self, entity: Entity, base: Entity, hashes: dict[Any, Any], incoming: dict[Any, list[Any]]
    ) -> tuple[dict[str, Any], Entity, Entity]:
        """Generation of a node, the base with what it says of the entity, and the stash of the raw response."""
        generation: dict[str, Any] = {}
        stash: Entity = {}
        response = self.responses.get(ref(entity, "id"))
        if response is not None:
            generation = response_core(response)
            usual = response_entity(str(ref(entity, "id")), generation)
            stash = stash_of(response, usual) or {"absent": []}
        own = ref(entity, "contentHash")
        if entity.get("authorType") == "model" and isinstance(own, str) and own:
            generation |= {"contentHash": f"sha256:{own}", "hashAlgorithm": "sha256"}
            base = {**base, "contentHash": own}
            above = [hashes.get(each) for each in incoming.get(ref(entity, "id"), ())]
            if above and all(isinstance(each, str) and each for each in above):
                generation["parentHashes"] = [f"sha256:{each}" for each in above]
        return generation, base, stash

    def _edge(self, entity: Entity, builder: TreeBuilder) -> None:
        core = edge_core(entity)
        stash = stash_of(entity, edge_entity(str(ref(entity, "loomTreeId")), core), ("extensions",))
        edge = {**core, **({"extensions": {NAMESPACE: stash}} if stash else {})}
        if self.marks:
            edge = apply_marks(edge, entity.get("extensions"), ids=True)
        builder.append_edge(cast(Any, edge))


def content_is_odd(entity: Entity) -> bool:
    """Whether a node's content is none that the app knows."""
    content = entity.get("content")
    return not isinstance(content, dict) or (content.get("type") == "text" and not isinstance(content.get("text"), str))


def carried_ids(more: dict[str, Any]) -> dict[str, str]:
    """Ids that were replaced on writing: new to old."""
    ids = own_marks(more.get("extensions")).get("ids")
    return ids if isinstance(ids, dict) else {}
