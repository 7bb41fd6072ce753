"""Every loss has a finding, and every finding a cause: without the fact there is no finding, without one no loss."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.api import convert, load
from loomconv.difference import Change, compare_looms
from loomconv.model.times import parse_iso, to_ms
from loomconv.options import ConversionOptions
from loomconv.registry import default_registry
from loomconv.report import CODES, Finding, Report
from loomconv.testing.features import FEATURES, Feature
from tests.made import documents, examples, link

FORMATS = sorted(default_registry().formats)
OF_ONE_TREE = [each for each in FEATURES if len(each.document["trees"]) == 1]
MOST_ROUNDS: Final = 8
Tree = dict[str, Any]


def _at(value: Any, pointer: str) -> tuple[Any, Any]:
    """The container that a JSON pointer ends in, and the key or index there."""
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in way:
        value = value[int(part) if isinstance(value, list) else part]
    return value, int(last) if isinstance(value, list) else last


def _delete(place: Any, finding: Finding) -> None:
    container, key = _at(place, finding.pointer or "")
    if key == "title":
        container[key] = ""
    elif isinstance(container, dict):
        container.pop(key, None)


def _put(value: Any) -> Callable[[Any, Finding], None]:
    def put(place: Any, finding: Finding) -> None:
        container, key = _at(place, finding.pointer or "")
        container[key] = copy.deepcopy(value)

    return put


def _clean(place: Any, finding: Finding) -> None:
    container, key = _at(place, finding.pointer or "")
    container[key] = "".join(each for each in container[key] if each != "\0" and not "\ud800" <= each <= "\udfff")


def _one_text(place: Any, finding: Finding) -> None:
    texts = [each["text"] for each in place["content"] if each["type"] == "text"]
    place["content"] = [{"type": "text", "text": "".join(texts)}]


def _one_root(tree: Tree, finding: Finding) -> None:
    first, *others = tree["rootNodeIds"]
    tree["rootNodeIds"] = [first]
    tree["edges"] += [link(first, other) for other in others]


def _one_parent(tree: Tree, finding: Finding) -> None:
    targets = set()
    kept = []
    for edge in tree["edges"]:
        if edge["type"] == "continuation":
            if edge["targetNodeId"] in targets:
                continue
            targets.add(edge["targetNodeId"])
            primary = [each for each in edge["sources"] if each.get("role") in (None, "primary")]
            edge = {**edge, "sources": [{**(primary or edge["sources"])[0], "role": "primary"}]}
        kept.append(edge)
    tree["edges"] = kept


def _only_continuations(tree: Tree, finding: Finding) -> None:
    tree["edges"] = [each for each in tree["edges"] if each["type"] == "continuation"]
    hanging = {each["targetNodeId"] for each in tree["edges"]}
    listed = tree["rootNodeIds"]
    listed += [each for each in tree["nodes"] if each not in hanging and each not in listed]


def _plain_edges(tree: Tree, finding: Finding) -> None:
    for edge in tree["edges"]:
        for key in set(edge) - {"type", "sources", "targetNodeId"}:
            del edge[key]
        sources = [(each["nodeId"], each.get("role") or "primary") for each in edge["sources"]]
        edge["sources"] = [{"nodeId": node_id, "role": role} for node_id, role in sources]


# How the fact behind a finding is taken out of the node, the tree, or the document that the finding is about.
REMOVERS: dict[str, Callable[[Any, Finding], None]] = {
    "loss.agent": _delete,
    "loss.annotation-edge": _only_continuations,
    "loss.author-name": _delete,
    "loss.author-role": _put("human"),
    "loss.block": _put({"type": "text", "text": "stand-in"}),
    "loss.block-boundary": _one_text,
    "loss.document-field": _delete,
    "loss.edge-detail": _plain_edges,
    "loss.edge-type": _only_continuations,
    "loss.edit-lineage": _delete,
    "loss.extension": _delete,
    "loss.extra-parent": _one_parent,
    "loss.extra-root": _one_root,
    "loss.extra-source": _one_parent,
    "loss.generation": _delete,
    "loss.lone-surrogate": _clean,
    "loss.loose-note": _only_continuations,
    "loss.meta": _delete,
    "loss.node-time": _delete,
    "loss.note-node": _only_continuations,
    "loss.nul": _clean,
    "loss.rating": _delete,
    "loss.time-precision": _put("2026-07-08T21:14:00Z"),
    "loss.tree-field": _delete,
    "loss.unknown-field": _delete,
}
OF_TREES: Final = (_one_parent, _one_root, _only_continuations, _plain_edges)
# Nothing in the document that could be taken out: it is the whole document, and what the app does.
WHOLE: Final = {"loss.extra-tree", "loss.depth", "loss.rewritten-text", "loss.node-id"}


def _losses(value: Any, name: str, folder: Path) -> list[Finding]:
    (folder / "a.openloom").write_bytes(jsontext.dump(value, jsontext.TWO_SPACES))
    report = Report(limit=None)
    options = ConversionOptions(residue="none")
    convert(folder / "a.openloom", folder / "b.x", target_format=name, options=options, report=report)
    return [each for each in report.findings if each.code.startswith("loss.")]


def _is_of_a_kind(finding: Finding) -> bool:
    """Whether the finding tells of a fact; that a tree of one file has no id there is not one."""
    return finding.code not in WHOLE and not (finding.code == "loss.tree-field" and finding.pointer == "/id")


def _without(value: Any, findings: list[Finding]) -> Any:
    """The document without the facts that the findings are about."""
    value = copy.deepcopy(value)
    for finding in findings:
        tree = value["trees"][0]
        place = tree["nodes"].get(finding.node)
        if place is None or REMOVERS[finding.code] in OF_TREES:
            place = value if finding.tree is None else tree
        REMOVERS[finding.code](place, finding)
    return value


def test_all_codes_are_covered() -> None:
    assert {code for code in CODES if code.startswith("loss.")} == REMOVERS.keys() | WHOLE


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("feature", OF_ONE_TREE, ids=[each.name for each in OF_ONE_TREE])
def test_without_the_fact_there_is_no_finding(name: str, feature: Feature, tmp_path: Path) -> None:
    value = copy.deepcopy(feature.document)
    found = [each for each in _losses(value, name, tmp_path) if _is_of_a_kind(each)]
    left = [each for each in _losses(_without(value, found), name, tmp_path) if _is_of_a_kind(each)]
    assert not {each.code for each in found} & {each.code for each in left}


@given(documents(max_trees=1), st.sampled_from(FORMATS))
@examples(60)
def test_without_findings_there_is_no_loss(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], name: str
) -> None:
    """Everything that is reported goes, in rounds, since one fact may hide another; then nothing is different."""
    folder = tmp_path_factory.mktemp("any")
    for _ in range(MOST_ROUNDS):
        found = [each for each in _losses(value, name, folder) if _is_of_a_kind(each)]
        if not found:
            break
        value = _without(value, found)
    assert found == []
    before, after = load(folder / "a.openloom"), load(folder / "b.x", format=name)
    assert [each for each in compare_looms(before, after).changes if not _is_default(each)] == []


def _is_default(change: Change) -> bool:
    """Whether a field that said nothing has the value now that the app takes it to have."""
    before, after = _said(change.before), _said(change.after)
    return change.kind == "changed" and (before is None or before == after)


def _said(value: Any) -> Any:
    """What a value says: without nulls, flags that are off, and what is empty, a time as the moment that it is."""
    if isinstance(value, str) and parse_iso(value) is not None:
        return to_ms(value)
    if isinstance(value, dict):
        value = {key: _said(item) for key, item in value.items() if _said(item) is not None}
    return None if value is False or value in ("", [], {}) else value
