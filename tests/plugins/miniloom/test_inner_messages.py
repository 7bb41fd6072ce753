"""Entries of several messages, and what a stranger may put where the carrier and the patches stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loomconv.api import convert, load
from loomconv.errors import LoomconvError, PluginFault
from loomconv.model.document import document_json

OWN = Path(__file__).parents[3] / "fixtures" / "miniloom"
PICTURE = {"type": "image", "mimeType": "image/png", "altText": "cat", "ref": "https://example.org/cat.png"}


@pytest.mark.parametrize(
    "more",
    [
        {"meta": {"bookmarked": True}},
        {"extensions": {"app": {"x": 1}}},
        {"createdAt": "2026-07-08T21:14:00.5Z"},
        {"generation": {"model": "tide", "rawResponse": {"body": "b"}}},
        {"author": {"role": "human", "name": "Ada"}},
        {"content": [{"type": "text", "text": "One"}, PICTURE]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_is_added_to_an_inner_message_comes_home(more: dict[str, Any], tmp_path: Path) -> None:
    convert(OWN / "chat-plain-start.json", tmp_path / "a.openloom")
    value = json.loads((tmp_path / "a.openloom").read_text("utf-8"))
    value["trees"][0]["nodes"]["4"].update(more)
    (tmp_path / "a.openloom").write_text(json.dumps(value), encoding="utf-8")
    convert(tmp_path / "a.openloom", tmp_path / "b.json", target_format="miniloom")
    home = document_json(load(tmp_path / "b.json"))["trees"][0]["nodes"]["4"]
    assert {key: home[key] for key in more} == more


@pytest.mark.parametrize("diffs", [None, 5, "x", [5], [None], [[1]], {}])
def test_patches_of_no_shape_are_no_fault(diffs: Any, tmp_path: Path) -> None:
    value = json.loads((OWN / "full.json").read_text("utf-8"))
    value["loomTree"]["nodeStore"]["2"]["patch"] = [{"diffs": diffs}]
    (tmp_path / "a.json").write_text(json.dumps(value), encoding="utf-8")
    try:
        convert(tmp_path / "a.json", tmp_path / "b.openloom")
    except PluginFault:
        raise
    except LoomconvError as error:
        assert str(error)
    else:
        assert load(tmp_path / "b.openloom").trees


@pytest.mark.parametrize("name", ["createdAt", "note", "rating", "model", "usage", "role"])
@pytest.mark.parametrize("forged", [False, 5, [], {"a": 1}])
def test_marks_of_wrong_types_are_passed_over(name: str, forged: Any, tmp_path: Path) -> None:
    source = tmp_path / "a.openloom"
    source.write_bytes((OWN.parent / "openloom-2" / "dialogue.openloom").read_bytes())
    convert(source, tmp_path / "b.json", target_format="miniloom")
    value = json.loads((tmp_path / "b.json").read_text("utf-8"))
    store = value["loomTree"]["nodeStore"]
    for key, carried in store["1"]["finishReason"]["openloom"]["nodes"].items():
        named = {"createdAt": "timestamp", "role": "type", "note": "summary"}.get(name, name)
        carried.setdefault("marks", {})[name] = {"for": store[key].get(named), "is": forged}
    (tmp_path / "b.json").write_text(json.dumps(value), encoding="utf-8")
    convert(tmp_path / "b.json", tmp_path / "c.openloom")
    assert len(load(tmp_path / "c.openloom").trees[0].nodes) == 6
