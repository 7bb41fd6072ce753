"""From the pivot to the app's entities (dossier §3.3, §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from loomconv.format import ReadContext, WriteContext
from loomconv.model import Document, Tree, mint_ulid
from loomconv.model.edges import CONTINUATION
from loomconv.model.record import extensions_of
from loomconv.report import Report
from loomconv_plugins.aspen_grove.entities import (
    agent_core,
    agent_entity,
    edge_core,
    edge_entity,
    node_core,
    node_entity,
    patched,
    response_core,
    response_entity,
    tree_core,
    tree_entity,
)
from loomconv_plugins.aspen_grove.hashes import bare_hash, content_hash
from loomconv_plugins.aspen_grove.marks import carrier_of
from loomconv_plugins.aspen_grove.tables import COLLECTIONS, NAMESPACE, Entities, Entity, ref
from loomconv_plugins.aspen_grove.times import iso
from loomconv_plugins.aspen_grove.to_pivot import to_pivot

__all__ = ["from_pivot"]

_EDGE_TYPES: Final = ("continuation", "annotation")
_ROLES: Final = ("primary", "context", "instruction")
_EPOCH: Final = "1970-01-01T00:00:00.000Z"


def from_pivot(
    document: Document,
    context: WriteContext,
    beside: dict[str, Any],
    as_read: Callable[[Entities], Entities] = lambda entities: entities,
) -> tuple[Entities, dict[str, Any]]:
    """The entities of a document, with all that the app needs, and what stands beside them in the file.

    `beside` is what a file has there by itself. What entities cannot say is carried with them: they are read back, as
    the file will give them (`as_read`), and marks tell the difference.
    """
    return _Writing(document, context, beside, as_read).run()


def _stash(holder: Any) -> dict[str, Any]:
    stash = extensions_of(holder).get(NAMESPACE)
    return stash if isinstance(stash, dict) else {}


def _listed(value: Any) -> list[Entity]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


class _Writing:
    def __init__(
        self,
        document: Document,
        context: WriteContext,
        beside: dict[str, Any],
        as_read: Callable[[Entities], Entities],
    ) -> None:
        self.document = document
        self.as_read = as_read
        self.beside = beside
        self.report = context.report
        self.stash = _stash(document.fields)
        self.entities: Entities = {name: [] for name in COLLECTIONS}
        self.agents: dict[str, Entity] = {}
        self.grove: Entity = {}
        self.owner = ""

    def run(self) -> tuple[Entities, dict[str, Any]]:
        self._add_agents()
        self._add_grove()
        for tree in self.document.trees:
            self._add_tree(tree)
        self._add_tags()
        strays = self.stash.get("strays") if "keys" in self.beside else None  # a database has no place for them
        for name, listed in strays.items() if isinstance(strays, dict) else ():
            if name in self.entities:
                self.entities[name] += _listed(listed)
        self.entities["rawApiResponses"] += _listed(self.stash.get("rawApiResponses"))
        self.entities["agents"] = list(self.agents.values())
        beside = {} if "keys" in self.beside and "keys" in self.stash else self.beside
        more = beside | {
            key: value
            for key, value in self.stash.items()
            if key not in ("agents", "groves", "tags", "tagAssignments", "rawApiResponses")
            and (key != "strays" or "keys" not in self.beside)
        }
        if isinstance(more.get("keys"), list):
            known = {*more["keys"], "keys", "extensions"}
            more["keys"] = [*more["keys"], *(key for key in more if key not in known)]
        self._add_marks(more)
        return self.entities, more

    # -- agents and grove --------------------------------------------------------------------------------------

    def _add_agents(self) -> None:
        known: dict[str, Any] = {}
        holders = (*(tree.fields for tree in self.document.trees), self.document.fields)
        for registry in (holder.get("agents") for holder in holders):
            for key, each in registry.items() if isinstance(registry, dict) else ():
                if isinstance(each, dict):
                    known.setdefault(key, each)
        kept = self.stash.get("agents")
        stashes: dict[str, Any] = kept if isinstance(kept, dict) else {}
        for key in (*(key for key in stashes if key in known), *(key for key in known if key not in stashes)):
            own = stashes.get(key)
            stash = dict(own) if isinstance(own, dict) else {}
            base = agent_entity(key, known[key])
            more = stash.get("configuration")
            if isinstance(more, dict):
                stash["configuration"] = {**base["configuration"], **more}
            entity = patched(base, stash, agent_core, agent_core(base))
            if own is None:
                entity = self._complete_agent(entity)
            self.agents[key] = entity

    def _complete_agent(self, entity: Entity) -> Entity:
        permissions = {"loomAware": False, "loomWrite": True, "loomGenerate": True, "docRead": True, "docWrite": True}
        return {**entity, "permissions": permissions, "createdAt": self._time(), "updatedAt": self._time()}

    def _time(self) -> str:
        """A time for what needs one and has none: the earliest of the document's trees, never the clock's."""
        times = [iso(tree.fields.get("createdAt")) for tree in self.document.trees]
        return min((each for each in times if isinstance(each, str) and len(each) == 24), default=_EPOCH)

    def _add_grove(self) -> None:
        groves = _listed(self.stash.get("groves"))
        if groves:
            self.entities["groves"] = groves
            self.grove = groves[0]
            self.owner = str(self.grove.get("ownerAgentId"))
            return
        people = [key for key, each in self.agents.items() if each.get("type") == "human"]
        if "keys" in self.beside and "keys" in self.stash and people:
            self.owner = people[0]  # a dump that had no grove needs none
            return
        self.owner = people[0] if people else self._new_agent("Human", "human", None)
        self.grove = {"id": mint_ulid(NAMESPACE, "grove"), "name": "My Grove", "ownerAgentId": self.owner}
        self.grove |= {"createdAt": self._time(), "updatedAt": self._time()}
        self.entities["groves"] = [self.grove]

    def _new_agent(self, name: str, kind: str, reference: str | None) -> str:
        key = mint_ulid(NAMESPACE, "agent", kind, name)
        if key not in self.agents:
            core = {"name": name, "type": kind, **({"modelRef": reference} if reference else {})}
            self.agents[key] = self._complete_agent(agent_entity(key, core))
        return key

    def _author_of(self, node: Any) -> str:
        """The agent that a node is by: its own, made known to the app if need be, or one for all such nodes."""
        author = node["author"]
        own = author.get("agentId")
        kind = "model" if author["role"] == "model" else "human"
        if isinstance(own, str) and own:
            if own not in self.agents:
                core = {"name": author.get("name") or own, "type": kind}
                self.agents[own] = self._complete_agent(agent_entity(own, core))
            return own
        if kind == "human":
            return self.owner
        model = (node.get("generation") or {}).get("model")
        name = model if isinstance(model, str) and model else "model"
        return self._new_agent(f"Imported · {name}", "model", "custom:imported")

    # -- trees -------------------------------------------------------------------------------------------------

    def _add_tree(self, tree: Tree) -> None:
        stash = _stash(tree.fields)
        base = tree_entity(tree.id, tree.fields)
        own = {key: value for key, value in stash.items() if key not in _PATHS and key != "treeTags"}
        entity = patched(base, own, tree_core, tree_core(base))
        fills = {"groveId": self.grove.get("id"), "title": "", "mode": "dialogue", "createdAt": self._time()}
        for key, value in fills.items():
            if key not in entity and not ("absent" in stash and key in stash["absent"]):
                entity[key] = value
        entity.setdefault("updatedAt", entity.get("createdAt"))
        self.entities["loomTrees"].append(entity)
        created = iso(entity.get("createdAt"))
        self._add_nodes(tree, created if isinstance(created, str) else _EPOCH)
        self._add_edges(tree)
        self._add_paths(tree, stash)

    def _add_nodes(self, tree: Tree, created: str) -> None:
        local_ids: set[str] = set()
        made: list[tuple[Entity, Any]] = []
        for node_id in tree.nodes.ids:
            node: Any = tree.nodes[node_id]
            stash = _stash(node)
            base = node_entity(node_id, tree.id, node)
            generation: Any = node.get("generation") or {}
            own_hash = bare_hash(generation.get("contentHash")) if node["author"]["role"] == "model" else None
            if own_hash is not None:
                base["contentHash"] = own_hash
            own = {key: value for key, value in stash.items() if key != "response"}
            entity = patched(base, own, node_core, node_core(base))
            absent = stash.get("absent") or ()
            if not entity.get("authorAgentId") and "authorAgentId" not in absent:
                entity["authorAgentId"] = self._author_of(node)
            elif node["author"].get("agentId") is not None:
                self._author_of(node)
            if "createdAt" not in entity and "createdAt" not in absent:
                entity["createdAt"] = created
            if "localId" in entity:
                local_ids.add(str(entity["localId"]))
            self._add_response(node, stash)
            made.append((entity, absent))
        for entity, absent in made:
            if "localId" not in entity and "localId" not in absent:
                entity["localId"] = _local_id(str(entity["id"]), local_ids)
        self._add_hashes(tree, [entity for entity, _ in made], [absent for _, absent in made])
        self.entities["nodes"] += [_in_order(entity) for entity, _ in made]

    def _add_hashes(self, tree: Tree, entities: list[Entity], absent: list[Any]) -> None:
        """The app's own formula for imported nodes (dossier §3.3), parents first."""
        parents: list[list[int]] = [[] for _ in entities]
        for position, kind in enumerate(tree.edges.kinds):
            if kind == CONTINUATION:
                parents[tree.edges.targets[position]].extend(tree.edges.sources(position))
        for ordinal in tree.graph.walk(tree.root_ordinals):
            entity = entities[ordinal]
            if "contentHash" in entity or "contentHash" in absent[ordinal]:
                continue
            above = [str(entities[each].get("contentHash", "")) for each in parents[ordinal]]
            time, agent = str(iso(entity.get("createdAt"))), str(entity.get("authorAgentId"))
            entity["contentHash"] = content_hash(entity.get("content"), above, time, agent)
        for ordinal, entity in enumerate(entities):
            if "contentHash" not in entity and "contentHash" not in absent[ordinal]:  # notes, which nothing leads to
                time, agent = str(iso(entity.get("createdAt"))), str(entity.get("authorAgentId"))
                entity["contentHash"] = content_hash(entity.get("content"), [], time, agent)

    def _add_response(self, node: Any, stash: dict[str, Any]) -> None:
        generation = node.get("generation") or {}
        raw = generation.get("rawResponse")
        kept = stash.get("response")
        if isinstance(kept, dict):
            base = response_entity(node["id"], generation)
            self.entities["rawApiResponses"].append(patched(base, kept, response_core, response_core(base)))
            return
        complete = isinstance(raw, dict) and isinstance(raw.get("body"), str) and raw.get("encoding") == "identity"
        needed = ("provider", "model", "requestedAt", "receivedAt", "latencyMs")
        if complete and all(generation.get(name) is not None for name in needed):
            entity = response_entity(node["id"], generation)
            self.entities["rawApiResponses"].append({"id": mint_ulid(NAMESPACE, "response", node["id"]), **entity})

    def _add_edges(self, tree: Tree) -> None:
        taken: set[str] = set()
        for position in range(len(tree.edges)):
            edge: Any = tree.edges[position]
            stash = _stash(edge)
            base = edge_entity(tree.id, edge)
            if base["edgeType"] not in _EDGE_TYPES:
                base["edgeType"] = "annotation"
                self.report.add(
                    "loss.edge-type",
                    f"The edge of type {edge['type']!r} is written as an annotation.",
                    tree=tree.id,
                    pointer=f"/edges/{position}",
                )
            for source in base["sources"]:
                if source["role"] not in _ROLES:
                    self.report.add(
                        "loss.extra-source",
                        "A source of unknown role is written as context.",
                        tree=tree.id,
                        pointer=f"/edges/{position}",
                    )
                    source["role"] = "context"
            entity = patched(base, stash, edge_core, edge_core(base))
            if "id" not in entity and not ("absent" in stash and "id" in stash["absent"]):
                entity = {"id": mint_ulid(NAMESPACE, "edge", tree.id, str(position)), **entity}
            taken.add(str(entity.get("id")))
            if "createdAt" not in entity and not ("absent" in stash and "createdAt" in stash["absent"]):
                created = iso(tree.nodes[edge["targetNodeId"]].get("createdAt"))
                entity["createdAt"] = created if isinstance(created, str) else self._time()
            self.entities["edges"].append(entity)

    def _add_paths(self, tree: Tree, stash: dict[str, Any]) -> None:
        """The former paths while they lead to the current node and over nodes that are there; else a new one."""
        kept = {name: _listed(stash.get(name)) for name in _PATHS}
        current = tree.fields.get("currentNodeId")
        if not isinstance(current, str) or current not in tree.nodes:
            current = None
        if kept["paths"]:
            for name in _PATHS:
                kept[name] = [each for each in kept[name] if self._is_alive(each, tree)]
            entity = self.entities["loomTrees"][-1]
            trial: Entities = {name: [] for name in COLLECTIONS} | kept
            trial |= {"groves": self.entities["groves"], "loomTrees": [entity]}
            quiet = self._quiet()
            read = to_pivot(trial, {}, quiet, marks=False).trees[0].fields.get("currentNodeId")
            if read == current:
                for name in _PATHS:
                    self.entities[name] += kept[name]
                return
        if current is None:
            return
        path_id = mint_ulid(NAMESPACE, "path", tree.id)
        times = {"createdAt": self._time(), "updatedAt": self._time()}
        owner = {"loomTreeId": tree.id, "ownerAgentId": self.owner, "name": "Main"}
        self.entities["paths"].append({"id": path_id, **owner, **times})
        for position, node_id in enumerate(tree.graph.path_to(current)):
            step = {"id": mint_ulid(NAMESPACE, "step", tree.id, str(position)), "pathId": path_id, "position": position}
            self.entities["pathNodes"].append({**step, "nodeId": node_id, "createdAt": times["createdAt"]})
        state: Entity = {"id": mint_ulid(NAMESPACE, "state", tree.id), "pathId": path_id, "agentId": self.owner}
        mode = self.entities["loomTrees"][-1].get("mode")
        state |= {"mode": mode, "activeNodeId": current, "updatedAt": times["updatedAt"]}
        self.entities["pathStates"].append(state)

    @staticmethod
    def _is_alive(entity: Entity, tree: Tree) -> bool:
        ends = [entity[name] for name in ("nodeId", "targetNodeId", "activeNodeId") if name in entity]
        return all(isinstance(end, str) and end in tree.nodes for end in ends)

    # -- tags --------------------------------------------------------------------------------------------------

    def _add_tags(self) -> None:
        tags = {ref(each, "name"): each for each in _listed(self.stash.get("tags"))}
        wanted: dict[tuple[str, str], None] = {}
        for tree in self.document.trees:
            colours = {each["name"]: each.get("color") for each in _listed(tree.fields.get("tags")) if "name" in each}
            for node_id, node in tree.nodes.items():
                for name in (node.get("meta") or {}).get("tags") or ():
                    wanted[name, node_id] = None
                    if name not in tags:
                        colour = colours.get(name)
                        tag = {"id": mint_ulid(NAMESPACE, "tag", name), "groveId": self.grove.get("id"), "name": name}
                        tag |= {"color": colour} if isinstance(colour, str) else {}
                        tags[name] = {**tag, "createdAt": self._time()}
        self.entities["tags"] = list(tags.values())
        names = {ref(each, "id"): name for name, each in tags.items()}
        said = set()
        for each in _listed(self.stash.get("tagAssignments")):
            pair = (names.get(ref(each, "tagId")), ref(each, "targetId"))
            if each.get("targetType") != "node" or pair in wanted:
                self.entities["tagAssignments"].append(each)
                said.add(pair)
        for name, node_id in wanted:
            if (name, node_id) not in said:
                ids = {"id": mint_ulid(NAMESPACE, "assignment", name, node_id), "tagId": tags[name]["id"]}
                target = {"targetType": "node", "targetId": node_id, "createdAt": self._time()}
                self.entities["tagAssignments"].append({**ids, **target})

    # -- what entities cannot say ------------------------------------------------------------------------------

    def _quiet(self) -> ReadContext:
        """A context for reading back what was not written yet, whose findings nobody needs."""
        report = Report(limit=0)
        report.declare(self.report.vocabulary)
        return ReadContext(report=report)

    def _add_marks(self, more: dict[str, Any]) -> None:
        read = to_pivot(self.as_read(self.entities), more, self._quiet(), marks=False)
        nodes, edges = iter(self.entities["nodes"]), iter(self.entities["edges"])
        for tree, back, entity in zip(self.document.trees, read.trees, self.entities["loomTrees"], strict=True):
            _carry(entity, carrier_of(tree.fields, back.fields))
            for node_id, node in tree.nodes.items():
                _carry(next(nodes), carrier_of(node, back.nodes[node_id]))
            for position in range(len(tree.edges)):
                _carry(next(edges), carrier_of(tree.edges[position], back.edges[position]))
        carried = carrier_of(self.document.fields, read.fields)
        if carried:
            more["extensions"] = carried


_PATHS: Final = ("paths", "pathNodes", "pathSelections", "pathStates")


def _carry(entity: Entity, carried: dict[str, Any]) -> None:
    if carried:
        entity["extensions"] = carried


# Order of a node's keys (dossier §1).
_NODE_ORDER: Final = (
    *("id", "localId", "loomTreeId", "content", "summary", "authorAgentId", "authorType", "contentHash", "createdAt"),
    *("metadata", "versionGroupId", "editedFrom"),
)


def _in_order(entity: Entity) -> Entity:
    return {**{key: entity[key] for key in _NODE_ORDER if key in entity}, **entity}


def _local_id(node_id: str, taken: set[str]) -> str:
    """The last six characters of the id, one more for each collision, at most eight (dossier §1)."""
    seeds: list[Callable[[], str]] = [lambda: node_id[-6:], lambda: node_id[-7:], lambda: node_id[-8:]]
    for seed in seeds:
        if len(seed()) >= 6 and seed() not in taken:
            taken.add(seed())
            return seed()
    number = 0
    while (made := mint_ulid(NAMESPACE, "local", node_id, str(number))[-8:]) in taken:
        number += 1
    taken.add(made)
    return made
