"""Broken and hostile input: an error of ours or a document, never anything else, and never for long."""

from __future__ import annotations

import base64
import io
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import jsontext
from loomconv.errors import LoomconvError, PluginFault, TruncatedInput
from loomconv.model import plain_text
from loomconv.storage import Limits
from tests.made import as_json, document_from, examples, node, spelled
from tests.plugins.openloom_2.harness import FIXTURES, dump, faults, load, minimal, rewritten, value_of

READABLE = sorted(
    path.name for path in FIXTURES.glob("*.openloom") if not path.name.startswith(("broken", "gap-a40", "major"))
)


def everything(data: bytes, **options: Any) -> None:
    """Read, look at everything, and write to every format; only errors of ours may come."""
    try:
        document, _ = load(data, **options)
    except PluginFault:
        raise
    except LoomconvError as error:
        assert str(error)
        return
    as_json(document)
    for tree in document.trees:
        list(tree.graph.walk(tree.root_ordinals))
    for target in ("openloom-2", "openloom-1", "socketteer"):
        if len(document.trees) == 1 or target == "openloom-2":
            dump(document, target)
    load(rewritten(document))


# -- the file ends too early -------------------------------------------------------------------------------------------


def test_every_prefix_gives_what_stands_before_the_cut() -> None:
    source = (FIXTURES / "full.openloom").read_bytes()
    whole, _ = load(source)
    texts = {tree.id: {each: plain_text(tree.nodes[each]) for each in tree.nodes} for tree in whole.trees}
    seen = 0
    for cut in range(1, len(source) - 1, 61):
        try:
            document, report = load(source[:cut])
        except PluginFault:
            raise
        except LoomconvError:
            continue
        assert report.codes["read.truncated"] == 1
        assert document.touched
        found = {tree.id: tree for tree in document.trees if tree.id in texts}
        for tree_id, tree in found.items():
            complete = [each for each in tree.nodes if each in texts[tree_id]]
            for each in complete[:-1]:
                assert plain_text(tree.nodes[each]) == texts[tree_id][each]
        number = sum(len(tree.nodes) for tree in document.trees)
        assert number >= seen, "more text gives no fewer nodes"
        seen = number
        assert not load(rewritten(document))[1].codes["read.truncated"]
    assert seen >= sum(len(tree.nodes) for tree in whole.trees) - 1


def test_a_cut_in_the_last_brackets_loses_nothing() -> None:
    source = jsontext.encode(minimal())
    whole, _ = load(source)
    for cut in range(1, 4):
        document, report = load(source[:-cut])
        assert report.codes["read.truncated"] == 1
        assert spelled(as_json(document)) == spelled(as_json(whole))


def test_nothing_to_salvage_is_an_error() -> None:
    with pytest.raises(LoomconvError):
        load(b'{"format":"open-loom","version":"2.0"')
    with pytest.raises(TruncatedInput):
        load(b'"open-lo')


# -- mutations ---------------------------------------------------------------------------------------------------------


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A fixture with some of its bytes changed, taken out, doubled or put elsewhere."""
    data = bytearray((FIXTURES / draw(st.sampled_from(READABLE))).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(0, len(data) - 1)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        way = draw(st.sampled_from(["drop", "double", "replace", "swap"]))
        piece = bytes(data[start:end])
        if way == "drop":
            del data[start:end]
        elif way == "double":
            data[start:start] = piece
        elif way == "replace":
            data[start:end] = draw(
                st.one_of(
                    st.binary(max_size=6),
                    st.sampled_from(
                        [b"null", b"{}", b"[]", b"1e999", b'"', b"\\", b"NaN", b"\xff", b'"a"', b",", b"}", b"[[[["]
                    ),
                )
            )
        else:
            other = draw(st.integers(0, max(0, len(data) - 1)))
            data[other : other + len(piece)] = piece
    return bytes(data)


@examples(150)
@given(mutated())
def test_mutated_fixtures(data: bytes) -> None:
    """OL2-9-untrusted."""
    everything(data)


@st.composite
def transplanted(draw: st.DrawFn) -> dict[str, Any]:
    """A fixture in which parts of other fixtures, or plain junk, stand where something else belongs."""
    first, second = (value_of((FIXTURES / draw(st.sampled_from(READABLE))).read_bytes()) for _ in range(2))
    for _ in range(draw(st.integers(1, 3))):
        holders = [each for each in _containers(first) if each]
        holder = draw(st.sampled_from(holders))
        part = draw(
            st.one_of(st.sampled_from(list(_containers(second))), st.none(), st.integers(), st.just(""), st.just("a"))
        )
        part = jsontext.decode(jsontext.encode(part))  # so that nothing is inside itself
        if isinstance(holder, dict):
            holder[draw(st.sampled_from(sorted(holder)))] = part
        else:
            holder[draw(st.integers(0, len(holder) - 1))] = part
        if len(list(_containers(first))) > 3000:
            break
    return first


def _containers(value: Any) -> list[Any]:
    found = [value]
    for each in found:
        items = each.values() if isinstance(each, dict) else each
        found.extend(item for item in items if isinstance(item, dict | list))
        if len(found) > 5000:
            break
    return found


@examples(150)
@given(transplanted())
def test_parts_in_wrong_places(value: dict[str, Any]) -> None:
    everything(jsontext.encode(value))


@examples(100)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    everything(data)
    everything(b'{"format":"open-loom","version":"2.0","trees":[' + data)


def test_all_edges_dangle_all_ids_clash_and_it_does_not_take_long() -> None:
    count = 20_000
    nodes = {str(number): node(str(number)) for number in range(count)}
    edges = [
        {
            "id": "e",
            "type": "continuation",
            "sources": [{"nodeId": "ghost"}, {"nodeId": str(number)}],
            "targetNodeId": str((number * 7 + 1) % count),
        }
        for number in range(count)
    ]
    document, report = load(minimal(nodes=nodes, edges=edges, rootNodeIds=["ghost"] * count))
    assert report.codes["repair.missing-source"] == count
    assert report.codes["repair.bad-root"] == count
    assert report.codes["repair.edge-id"] == count - 1
    assert document.trees[0].roots


# -- bundles -----------------------------------------------------------------------------------------------------------

# The smallest picture.
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4IScHAAK2AQUKW6YGAAAAAElFTkSuQmCC")


def bundle(value: Any, **members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("tree.openloom", jsontext.encode(value))
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_png", ".png"), data)
    return out.getvalue()


def picture(ref: str) -> dict[str, Any]:
    return {**node("a"), "content": [{"type": "image", "ref": ref, "mimeType": "image/png", "altText": "dot"}]}


def test_a_bundle_without_media_is_a_document() -> None:
    value = minimal()
    document, report = load(bundle(value))
    assert not report.codes
    assert document.pristine
    assert value_of(dump(document)) == value


def test_media_come_along_inside_the_document_a26() -> None:
    """OL2-4.3-bundle, OL2-4.3-ref."""
    value = minimal(nodes={"a": picture("media/dot.png"), "b": node("b")})
    document, report = load(bundle(value, media__dot_png=PNG))
    assert not report.codes
    assert document.trees[0].nodes["a"]["content"][0]["ref"] == "media/dot.png", "read when it is needed"
    again, _ = load(dump(document, report=report))
    assert dict(report.codes) == {"media.inlined": 1}
    assert again.trees[0].nodes["a"]["content"][0]["ref"].startswith("data:image/png;base64,")


def test_a_medium_of_another_type_stays_behind_a27() -> None:
    """OL2-9-mimecheck."""
    value = minimal(nodes={"a": picture("media/dot.png"), "b": node("b")})
    document, report = load(bundle(value, media__dot_png=b"GIF89a" + b"\0" * 20))
    assert dict(report.codes) == {"media.mime-mismatch": 1}
    dump(document, report=report)
    assert report.codes["media.kept-aside"] == 1, "its bytes are nobody's picture, but not lost"
    assert document.trees[0].nodes["a"]["content"][0]["ref"] == "media/dot.png"


def test_names_that_lead_out_are_not_followed_a26() -> None:
    value = minimal(nodes={"a": picture("../dot.png"), "b": picture("/etc/dot.png") | {"id": "b"}})
    document, report = load(bundle(value, **{"..__dot_png": PNG}))
    assert report.codes["media.unsafe-path"] == 3
    assert document.trees[0].nodes["a"]["content"][0]["ref"] == "../dot.png"


def test_limits_of_bundles_hold() -> None:
    """OL2-9-limits."""
    value = minimal(nodes={"a": picture("media/dot.png"), "b": node("b")})
    data = bundle(value, media__dot_png=PNG + b"\0" * 5000)
    document, report = load(data, limits=Limits(medium_bytes=1000))
    assert report.codes["media.media-too-large"] == 1
    assert document.trees[0].nodes["a"]["content"][0]["ref"] == "media/dot.png"


@examples(40)
@given(st.data())
def test_damaged_bundles(data: st.DataObject) -> None:
    whole = bytearray((FIXTURES / "bundle.openloom.zip").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    everything(bytes(whole[: data.draw(st.integers(len(whole) // 2, len(whole)))]))


def test_a_document_of_nothing_but_fields_goes_anywhere() -> None:
    document = document_from(minimal(description=None, tags=[], agents={}, extensions={}))
    for target in ("openloom-1", "socketteer"):
        assert dump(document, target)
    assert not faults(load(dump(document))[1])
