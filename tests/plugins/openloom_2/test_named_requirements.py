"""Requirements of OpenLoom 2.0 by their ids, seen from outside: bytes in, bytes out.

`tests/test_requirements.py` checks that every id has a test that names it or a reason why not.
"""

from __future__ import annotations

import json
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from loomconv import ConversionOptions, LoomconvError, Report, convert, detect, dump, load
from loomconv.errors import InvalidDocument
from loomconv.model import plain_text
from loomconv.roundtrip import round_trip
from loomconv.storage import Limits

FIXTURES = Path(__file__).parents[3] / "fixtures"
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4IScHAAK2AQUKW6YGAAAAAElFTkSuQmCC"
)


def base() -> dict[str, Any]:
    """Two nodes and the edge between them."""
    return {
        "format": "open-loom",
        "version": "2.0",
        "trees": [
            {
                "id": "t",
                "title": "Tale",
                "mode": "dialogue",
                "rootNodeIds": ["a"],
                "nodes": {
                    "a": {"id": "a", "content": [{"type": "text", "text": "A"}], "author": {"role": "human"}},
                    "b": {"id": "b", "content": [{"type": "text", "text": " b"}], "author": {"role": "model"}},
                },
                "edges": [
                    {
                        "id": "e",
                        "type": "continuation",
                        "sources": [{"nodeId": "a", "role": "primary"}],
                        "targetNodeId": "b",
                    }
                ],
            }
        ],
    }


def place(value: dict[str, Any], where: str) -> dict[str, Any]:
    """The object of the document that a test puts something into."""
    tree = value["trees"][0]
    places: dict[str, dict[str, Any]] = {
        "document": value,
        "tree": tree,
        "node": tree["nodes"]["b"],
        "edge": tree["edges"][0],
        "source": tree["edges"][0]["sources"][0],
        "author": tree["nodes"]["b"]["author"],
        "block": tree["nodes"]["b"]["content"][0],
    }
    return places[where]


def rewritten(value: Any, tmp_path: Path) -> tuple[dict[str, Any], Report]:
    """The document as our writer writes it, not as a copy of the source's bytes."""
    report = Report()
    document = load(json.dumps(value).encode(), report=report)
    document.touched = True
    dump(document, tmp_path / "out.openloom", report=report)
    written: dict[str, Any] = json.loads((tmp_path / "out.openloom").read_text("utf-8"))
    return written, report


# What is put where, and must be there again after being read and written, and after a journey through another format.
KEPT: dict[str, tuple[str, dict[str, Any]]] = {
    "OL2-3-exportedAt": ("document", {"exportedAt": "2026-07-08T21:14:00.123Z"}),
    "OL2-3-generator": ("document", {"generator": {"name": "Aspen", "version": "1", "x": [1]}}),
    "OL2-3-agents A13": ("document", {"agents": {"g": {"name": "Ada", "type": "human"}}}),
    "OL2-3-extensions OL2-7-where": ("document", {"extensions": {"org.example": {"a": None}}}),
    "OL2-3.1-minor OL2-3.1-accept2x OL2-3.1-lowest A11": ("document", {"version": "2.7", "later": {"x": 1}}),
    "OL2-4-description": ("tree", {"description": "  two\nlines "}),
    "OL2-4-mode OL2-A-mode A18": ("tree", {"mode": "Screenplay"}),
    "OL2-4-systemContext": ("tree", {"systemContext": "Be brief."}),
    "OL2-4-currentNodeId": ("tree", {"currentNodeId": "b"}),
    "OL2-4-times": ("tree", {"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00.5Z"}),
    "OL2-4-tags A14": ("tree", {"tags": [{"name": "x", "color": "#7A9E7E", "more": 1}]}),
    "OL2-4-agents OL2-4.5-name OL2-4.5-type OL2-4.5-modelRef OL2-4.5-config A29": (
        "tree",
        {
            "agents": {
                "m": {
                    "name": "M",
                    "type": "robot",
                    "modelRef": "openrouter:a/b:c",
                    "configuration": {"temperature": 1.0, "stopSequences": [], "odd": None},
                }
            }
        },
    ),
    "OL2-4-extensions OL2-7-preserve": ("tree", {"extensions": {"loomsidian": {"collapsed": True}}}),
    "OL2-4.3-editedFrom A20": ("node", {"editedFrom": "a"}),
    "OL2-4.3-meta OL2-4.3-bookmarked OL2-4.3-bookmarkLabel": (
        "node",
        {"meta": {"bookmarked": True, "bookmarkLabel": "here"}},
    ),
    "OL2-4.3-pruned OL2-4.3-excluded A17": ("node", {"meta": {"pruned": True, "excluded": True}}),
    "OL2-4.3-metatags OL2-4.3-note": ("node", {"meta": {"tags": ["x", "unheard of"], "note": "n", "rating": -2}}),
    "OL2-4.3-extensions OL2-4.3-createdAt": (
        "node",
        {"extensions": {"x": {"y": [1.50]}}, "createdAt": "2026-07-08T21:14:00.123Z"},
    ),
    "OL2-4.3-role OL2-A-role": ("author", {"role": "oracle"}),
    "OL2-4.3-mixed OL2-4.3-agentId OL2-4.3-name": ("author", {"role": "mixed", "agentId": "gone", "name": "Bo"}),
    "OL2-4.3-text OL2-3.2-markdown OL2-3.2-nomdparse": ("block", {"text": "  <b>*not* closed\u200b\n\n"}),
    "OL2-4.3-image": (
        "node",
        {"content": [{"type": "image", "ref": PNG, "mimeType": "image/png", "width": 1, "altText": "dot"}]},
    ),
    "OL2-4.3-audio A25": (
        "node",
        {
            "content": [
                {"type": "audio", "ref": "app://x", "mimeType": "audio/mpeg", "durationMs": 5, "transcript": "hm"}
            ]
        },
    ),
    "OL2-4.3-unknownblock A10": (
        "node",
        {"content": [{"type": "text", "text": "x"}, {"type": "poll", "options": ["a", {"b": None}]}]},
    ),
    "OL2-4.3-generation OL2-5-t1-provider OL2-5-t1-model OL2-5-t1-parameters OL2-5-t1-requestId OL2-5-t1-times "
    "OL2-5-t1-latency OL2-5-t1-usage OL2-5-t1-index OL2-5-optional": (
        "node",
        {
            "generation": {
                "provider": "p",
                "model": "m",
                "parameters": {"temperature": 0.70, "seed": None},
                "requestId": "r",
                "requestedAt": "2026-01-01T00:00:00Z",
                "receivedAt": "not a time",
                "latencyMs": 12.5,
                "usage": {"promptTokens": 1, "completionTokens": 2, "totalTokens": 3},
                "completionIndex": 0,
                "unheard": {"of": None},
            }
        },
    ),
    "OL2-5-t2-contentHash OL2-5-t2-parentHashes OL2-5-t2-alg OL2-A-hash A7 A7b A7c": (
        "node",
        {"generation": {"contentHash": "ABCDEF", "parentHashes": ["sha256:00", "md5:1"], "hashAlgorithm": "sha999"}},
    ),
    "OL2-5-t3-bodyHash OL2-5-t3-encoding OL2-5-t3-body OL2-5-t3-headers OL2-A-enc A8": (
        "node",
        {
            "generation": {
                "rawResponse": {"bodyHash": "sha256:1", "encoding": "zstd", "body": "plain", "headers": "a: b\nc: d"}
            }
        },
    ),
    "OL2-4.4-type OL2-A-edge": ("edge", {"type": "echo"}),
    "OL2-4.4-createdAt": ("edge", {"createdAt": "2026-01-01T00:00:00Z", "extensions": {"x": 1}, "more": 2}),
    "OL2-A-source": ("source", {"role": "chorus"}),
    "OL2-4.4-sources OL2-4.4-hyper OL2-4.4-target": (
        "edge",
        {"sources": [{"nodeId": "a"}, {"nodeId": "a", "role": "instruction", "weight": 0.5}]},
    ),
}


@pytest.mark.parametrize("ids", KEPT)
def test_is_kept_in_its_place(ids: str, tmp_path: Path) -> None:
    where, what = KEPT[ids]
    value = base()
    place(value, where).update(what)
    if where == "edge" and what.get("type", "continuation") != "continuation":
        value["trees"][0]["rootNodeIds"] = ["a"]  # b is an attached note then (A6)
    written, report = rewritten(value, tmp_path)
    assert written == value
    assert not report.losses()


@pytest.mark.parametrize("via", ["openloom-1", "socketteer"])
@pytest.mark.parametrize("ids", KEPT)
def test_comes_back_from_another_format(ids: str, via: str, tmp_path: Path) -> None:
    """A33: what another format has no place for is kept aside and put back."""
    where, what = KEPT[ids]
    value = base()
    place(value, where).update(what)
    source = tmp_path / "in.openloom"
    source.write_text(json.dumps(value), "utf-8")
    trip = round_trip(str(source), [via])
    assert [(each.pointer, each.left, each.right) for each in trip.differences] == []


def test_top_level_and_format_decide() -> None:
    """OL2-3-object, OL2-3-format, OL2-3-trees, OL2-3.1-major, OL2-3.1-majorchange."""
    for value, why in (
        ([base()], "not an object"),
        ({**base(), "format": "other"}, "not OpenLoom 2"),
        ({**base(), "version": "3.0"}, "only 2.x is known"),
        ({**base(), "trees": []}, "no trees"),
    ):
        with pytest.raises(InvalidDocument, match=why):
            load(json.dumps(value).encode(), format="openloom-2")
    assert detect(json.dumps(base()).encode()).format == "openloom-2"


@pytest.mark.parametrize("version", [None, 2, 2.0, "2"])
def test_odd_versions_are_read_as_2_0(version: Any, tmp_path: Path) -> None:
    """OL2-3-version, A11."""
    written, report = rewritten({**base(), "version": version}, tmp_path)
    assert written["version"] == "2.0"
    assert report.codes["read.version"] == 1


def test_ids_are_opaque(tmp_path: Path) -> None:
    """OL2-3.2-ids, OL2-3.2-opaque: nothing is trimmed, folded or parsed; an empty one is replaced."""
    value = base()
    tree = value["trees"][0]
    odd = " ÄÖ/~\u0301 "
    tree["nodes"] = {odd: {**tree["nodes"]["a"], "id": odd}, "": {**tree["nodes"]["b"], "id": ""}}
    tree["edges"][0].update(sources=[{"nodeId": odd}], targetNodeId="")
    tree["rootNodeIds"] = [odd]
    written, report = rewritten(value, tmp_path)
    first, second = written["trees"][0]["nodes"]
    assert first == odd
    assert len(second) == 26
    assert written["trees"][0]["edges"][0]["targetNodeId"] == second
    assert report.codes["repair.node-id"] == 1


def test_equal_tree_ids_are_told_apart(tmp_path: Path) -> None:
    """OL2-3.2-remap, A32: the later tree gets a new id, the old one is kept beside it."""
    value = base()
    value["trees"].append(deepcopy(value["trees"][0]))
    written, _ = rewritten(value, tmp_path)
    first, second = written["trees"]
    assert first["id"] == "t" != second["id"]
    assert second["extensions"]["loomconv"]["originalId"] == "t"


def test_text_is_utf8_without_a_mark(tmp_path: Path) -> None:
    """OL2-3.2-utf8, A39: a byte order mark is accepted and not written, half a character kept, nothing normalised."""
    value = base()
    place(value, "block")["text"] = "e\u0301 \ud83e"
    report = Report()
    document = load(b"\xef\xbb\xbf" + json.dumps(value).encode(), report=report)
    dump(document, tmp_path / "out.openloom")
    data = (tmp_path / "out.openloom").read_bytes()
    assert not data.startswith(b"\xef\xbb\xbf")
    assert json.loads(data)["trees"][0]["nodes"]["b"]["content"][0]["text"] == "e\u0301 \ud83e"
    assert report.codes["read.bom"] == report.codes["read.lone-surrogate"] == 1


def test_numbers_keep_every_digit_and_nan_is_refused(tmp_path: Path) -> None:
    """A40."""
    value = base()
    value["extensions"] = {"x": {"big": 2**70}}
    assert rewritten(value, tmp_path)[0]["extensions"]["x"]["big"] == 2**70
    with pytest.raises(LoomconvError, match="NaN"):
        load(json.dumps(value).replace(str(2**70), "NaN").encode())


def test_a_title_and_a_list_of_edges_are_always_there(tmp_path: Path) -> None:
    """OL2-4-title, OL2-4-edges, OL2-4-nodes, A22."""
    value = base()
    del value["trees"][0]["title"], value["trees"][0]["edges"]
    written, report = rewritten(value, tmp_path)
    assert written["trees"][0]["title"] == ""
    assert written["trees"][0]["edges"] == []
    assert written["trees"][0]["rootNodeIds"] == ["a", "b"]
    assert report.codes["repair.title"] == 1


def test_roots_and_current_node_are_checked(tmp_path: Path) -> None:
    """OL2-4-rootNodeIds, A19, A30: listed order first, what is missing behind, what is wrong goes."""
    value = base()
    tree = value["trees"][0]
    tree["nodes"]["c"] = {**tree["nodes"]["a"], "id": "c"}
    tree.update(rootNodeIds=["c", "ghost", "a", "b"], currentNodeId="ghost")
    written, report = rewritten(value, tmp_path)
    assert written["trees"][0]["rootNodeIds"] == ["c", "a"]
    assert "currentNodeId" not in written["trees"][0]
    assert report.codes["repair.bad-root"] == 2


def test_an_empty_tree_is_accepted_and_gets_a_root_elsewhere(tmp_path: Path) -> None:
    """A21."""
    value = base()
    value["trees"][0].update(nodes={}, edges=[], rootNodeIds=[])
    _, report = rewritten(value, tmp_path)
    assert report.codes["repair.empty-tree"] == 1
    source = tmp_path / "in.openloom"
    source.write_text(json.dumps(value), "utf-8")
    convert(source, tmp_path / "out.json", target_format="socketteer")
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["root"]["children"]


def test_a_strict_tree_keeps_the_first_parent(tmp_path: Path) -> None:
    """OL2-4.1-oneparent, OL2-4.1-oneparent-strict, OL2-4.1-oneparent-rest, OL2-4.4-strictrest."""
    value = base()
    tree = value["trees"][0]
    tree["nodes"]["c"] = {**tree["nodes"]["a"], "id": "c"}
    tree["rootNodeIds"] = ["a", "c"]
    tree["edges"].append({"id": "f", "type": "continuation", "sources": [{"nodeId": "c"}], "targetNodeId": "b"})
    assert rewritten(value, tmp_path)[0] == value
    source = tmp_path / "in.openloom"
    source.write_text(json.dumps(value), "utf-8")
    done = convert(source, tmp_path / "out.json", target_format="socketteer")
    root = json.loads((tmp_path / "out.json").read_text("utf-8"))["root"]
    assert [(child["id"], [below["id"] for below in child["children"]]) for child in root["children"]] == [
        ("a", ["b"]),
        ("c", []),
    ]
    assert done.report.codes["loss.extra-parent"] == 1
    assert load(tmp_path / "out.json").trees[0].edges[1]["sources"] == [{"nodeId": "c"}]


def test_edge_order_is_sibling_order_in_every_output(tmp_path: Path) -> None:
    """OL2-4.2-meaning, OL2-4.2-emit."""
    source = FIXTURES / "openloom-2" / "equal-times.openloom"
    wanted = load(source).trees[0]
    for name in ("openloom-1", "socketteer", "openloom-2"):
        convert(source, tmp_path / "out.json", target_format=name)
        graph = load(tmp_path / "out.json").trees[0].graph
        for node_id in wanted.nodes:
            assert graph.children_of(node_id) == wanted.graph.children_of(node_id)


def test_blocks_become_text_where_there_is_only_text(tmp_path: Path) -> None:
    """OL2-4.3-textonly, OL2-4.3-unknownblock-render, A24."""
    value = base()
    place(value, "node")["content"] = [
        {"type": "image", "ref": PNG, "mimeType": "image/png", "altText": "a dot"},
        {"type": "audio", "ref": "x", "mimeType": "audio/mpeg", "transcript": "hum"},
        {"type": "poll"},
    ]
    source = tmp_path / "in.openloom"
    source.write_text(json.dumps(value), "utf-8")
    done = convert(source, tmp_path / "out.openloom.json", options=ConversionOptions(residue="none"))
    text = json.loads((tmp_path / "out.openloom.json").read_text("utf-8"))["nodes"]["b"]["text"]
    assert text == "a dot\n\nhum\n\n[unsupported block: poll]"
    assert done.report.codes["loss.block"] == 3
    assert all(each.severity == "warning" for each in done.report.findings if each.code == "loss.block")


def test_a_bundle_is_read_with_its_media(tmp_path: Path) -> None:
    """OL2-4.3-bundle, OL2-4.3-ref, A26: only the tree at its root is read; media come along inside the document."""
    value = base()
    place(value, "node")["content"] = [{"type": "image", "ref": "media/dot.png", "mimeType": "image/png"}]
    import base64

    with zipfile.ZipFile(tmp_path / "b.zip", "w") as bundle:
        bundle.writestr("tree.openloom", json.dumps(value))
        bundle.writestr("media/dot.png", base64.b64decode(PNG.partition(",")[2]))
        bundle.writestr("../out.png", b"x")
    done = convert(tmp_path / "b.zip", tmp_path / "out.openloom")
    written = json.loads((tmp_path / "out.openloom").read_text("utf-8"))
    assert written["trees"][0]["nodes"]["b"]["content"][0]["ref"] == PNG
    assert done.report.codes["media.unsafe-path"] == 1
    assert not (tmp_path.parent / "out.png").exists()


def test_types_of_media_are_checked() -> None:
    """OL2-9-mimecheck, A27."""
    value = base()
    place(value, "node")["content"] = [{"type": "image", "ref": PNG, "mimeType": "image/gif"}]
    report = Report()
    document = load(json.dumps(value).encode(), report=report)
    assert report.codes["media.mime-mismatch"] == 1
    assert document.trees[0].nodes["b"]["content"][0]["ref"] == PNG


def test_nothing_is_run_and_sizes_are_limited() -> None:
    """OL2-9-untrusted, OL2-9-limits."""
    value = base()
    place(value, "block")["text"] = "{__import__('os').abort()} <script>"
    assert plain_text(load(json.dumps(value).encode()).trees[0].nodes["b"]) == "{__import__('os').abort()} <script>"
    with pytest.raises(LoomconvError, match="document-bytes"):
        load(json.dumps(value).encode(), options=ConversionOptions(limits=Limits(document_bytes=100)))


def test_a_wrong_hash_is_no_error(tmp_path: Path) -> None:
    """OL2-9-hashinfo, OL2-5-t2-verify, A44: hashes are carried, never judged on conversion, never written anew."""
    value = base()
    place(value, "node")["generation"] = {"contentHash": "sha256:" + "0" * 64}
    written, report = rewritten(value, tmp_path)
    assert written == value
    assert not report.severities["error"] and not report.severities["warning"]


def test_our_own_things_stand_in_a_namespace(tmp_path: Path) -> None:
    """OL2-7-namespace, OL2-7-nosemantics, OL2-7-uistate, OL2-8.4-unmapped: without extensions the tree is the same."""
    convert(FIXTURES / "socketteer" / "full.json", tmp_path / "out.openloom")
    value = json.loads((tmp_path / "out.openloom").read_text("utf-8"))
    tree = value["trees"][0]
    assert set(tree["extensions"]) == {"socketteer-loom"}
    state = json.dumps({key: item for key, item in tree.items() if key not in ("extensions", "nodes")})
    assert "visited" not in state and "open" not in json.dumps(list(tree))
    for node in tree["nodes"].values():
        assert not {"open", "visited", "mutable"} & set(node)
        assert set(node.get("extensions", {})) <= {"socketteer-loom"}
        node.pop("extensions", None)
    whole = load(tmp_path / "out.openloom").trees[0]
    tree.pop("extensions")
    bare = load(json.dumps(value).encode()).trees[0]
    assert bare.nodes.ids == whole.nodes.ids and bare.roots == whole.roots
    assert [bare.graph.children_of(each) for each in bare.nodes] == [
        whole.graph.children_of(each) for each in whole.nodes
    ]


def test_openloom_1_is_read_by_the_older_chapter(tmp_path: Path) -> None:
    """OL2-8.0-detect, -topology, -author, -model, -current, -bookmark, -dates.

    OL2-8.0-topology OL2-8.0-author OL2-8.0-model OL2-8.0-current OL2-8.0-bookmark OL2-8.0-dates
    """
    source = FIXTURES / "openloom-1" / "swift-layout.openloom.json"
    assert detect(source).format == "openloom-1"
    raw = json.loads(source.read_text("utf-8"))
    tree = load(source).trees[0]
    roles = {"user": "human", "assistant": "model", "system": "system"}
    for node_id, node in raw["nodes"].items():
        made = tree.nodes[node_id]
        assert tree.graph.children_of(node_id) == node["childrenIds"]
        assert made["author"]["role"] == roles[node["author"]]
        assert bool(made.get("meta", {}).get("bookmarked")) == node["isBookmarked"]
        if node["author"] == "assistant" and node["modelId"]:
            assert made["generation"] == {"model": node["modelId"]}
        assert made["createdAt"].startswith("20")
    assert tree.fields.get("currentNodeId") == raw["currentNodeId"]


def test_socketteer_is_read_by_its_chapter() -> None:
    """OL2-8.1-detect, OL2-8.1-topology, OL2-8.1-author, OL2-8.1-time, OL2-8.1-generation, OL2-8.1-tags, OL2-8.1-ext,
    OL2-8.1-current, OL2-8.4-noinvent."""
    source = FIXTURES / "socketteer" / "full.json"
    assert detect(source).format == "socketteer"
    raw = json.loads(source.read_text("utf-8"))
    tree = load(source).trees[0]
    roles = {"AI": "model", "prompt": "human", "mixed": "mixed"}
    waiting = list(raw["root"]["children"])
    assert tree.roots == [child["id"] for child in waiting]
    assert tree.fields["currentNodeId"] == raw["selected_node_id"]
    seen = set()
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        made = tree.nodes[node["id"]]
        seen.add(node["id"])
        assert tree.graph.children_of(node["id"]) == [child["id"] for child in node["children"]]
        source_mark = (node.get("meta") or {}).get("source")
        if source_mark:
            assert made["author"]["role"] == roles[source_mark]
        reference = node.get("generation")
        if reference:
            assert made["generation"]["completionIndex"] == reference["index"]
        elif not (node.get("meta") or {}).get("generation"):
            assert "generation" not in made
        assert bool((made.get("meta") or {}).get("bookmarked")) == ("bookmark" in (node.get("tags") or []))
    assert seen == set(tree.nodes)
    assert "chapters" in tree.fields["extensions"]["socketteer-loom"]
