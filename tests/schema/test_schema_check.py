"""Both engines: the same verdicts, pointers and words; any depth; nothing of the file in a message."""

from __future__ import annotations

import pytest

from loomconv.errors import LimitExceeded, PluginFault, UsageFault
from loomconv.schema import Steps, engines, load_schema, schema_text, validate, validate_nodes, walk_nested
from loomconv.schema.check import SAMPLE_EVERY

SOCKETTEER = load_schema("loomconv_schemas", "socketteer.schema.json")
OPENLOOM_2 = load_schema("loomconv_schemas", "openloom-2.schema.json")

SMALL = {
    "$id": "urn:test:small",
    "type": "object",
    "required": ["id", "kind"],
    "properties": {
        "id": {"$ref": "#/$defs/id"},
        "kind": {"enum": ["a", "b"]},
        "when": {"type": "string", "pattern": "^[0-9]+$"},
        "day": {"pattern": "^[0-9]+$", "examples": ["12"]},
        "map": {"propertyNames": {"minLength": 2}, "additionalProperties": {"type": ["integer", "null"]}},
        "list": {"minItems": 1, "items": {"type": "number"}},
        "not": {"not": {"const": "x"}},
        "one": {"const": 1},
    },
    "$defs": {"id": {"type": "string", "minLength": 1}},
}


def say(value, schema=SMALL, **options):
    """Faults as pairs, after making sure that the fast engine, where there is one, says the same."""
    reference = validate(value, schema, bulk="reference", **options)
    if engines._fast_library() is not None:
        assert validate(value, schema, bulk="fast", **options) == reference
    return [(fault.pointer, fault.message) for fault in reference]


def test_a_valid_value_has_no_faults():
    assert say({"id": "x", "kind": "a", "list": [1, 2.5], "map": {"aa": None}, "unknown": [{}]}) == []


def test_faults_come_in_document_order_with_pointers():
    value = {"kind": "c", "list": [1, "no", 2, None], "map": {"a/b~": "x"}}
    assert say(value) == [
        ("", "lacks the key 'id'"),
        ("/kind", "must be one of 'a', 'b'"),
        ("/list/1", "must be a number"),
        ("/list/3", "must be a number"),
        ("/map/a~1b~0", "must be a whole number or null"),
    ]
    assert say(value, cap=2) == say(value)[:2]


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"id": ""}, ("/id", "must not be empty")),
        ({"list": []}, ("/list", "must not be empty")),
        ({"when": "1x"}, ("/when", "must have the form ^[0-9]+$")),
        ({"when": "1\n"}, ("/when", "must have the form ^[0-9]+$")),
        ({"day": "x"}, ("/day", "must have a form such as 12")),
        ({"map": {"x": 1}}, ("/map", "has a key that is not allowed")),
        ({"map": {"xx": True}}, ("/map/xx", "must be a whole number or null")),
        ({"not": "x"}, ("/not", "must not be 'x'")),
        ({"one": True}, ("/one", "must be 1")),
    ],
)
def test_words_for_each_keyword(more, fault):
    assert say({"id": "i", "kind": "a", **more}) == [fault]


@pytest.mark.parametrize("key", ["", "0", "01", "+1", "1", "a/b", "~", "é"])
def test_pointers_are_right_for_odd_keys(key):
    schema = {"additionalProperties": {"additionalProperties": {"type": "string"}}}
    escaped = key.replace("~", "~0").replace("/", "~1")
    assert say({key: {"x": 1}, "other": {}}, schema) == [(f"/{escaped}/x", "must be text")]


@pytest.mark.parametrize("odd", ["\ud83e", 2**70, -(10**400), 1e308])
def test_values_that_the_fast_engine_may_refuse_are_checked_all_the_same(odd):
    assert say({"id": 1, "kind": "a", "unknown": odd}) == [("/id", "must be text")]
    assert say({"id": "x", "kind": odd}) == [("/kind", "must be one of 'a', 'b'")]


def test_messages_never_quote_the_value():
    secret = "sk-FAKE-not-a-real-key"
    value = {"id": 7, "kind": secret, "when": secret, "list": [secret], "one": secret, "map": {"aa": secret}}
    assert not any(secret in message for _, message in say(value))


def test_a_fault_in_a_huge_or_deep_value_does_not_print_it():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    assert say({"id": deep, "kind": "a"}) == [("/id", "must be text")]
    assert say({"id": "x", "kind": "a", "unknown": deep}) == []


def test_a_schema_is_compiled_once_and_again_when_another_has_its_id():
    schema = {"$id": "urn:test:twice", "type": "string"}
    assert say(1, schema) == [("", "must be text")]
    assert say("x", {"$id": "urn:test:twice", "type": "integer"}) == [("", "must be a whole number")]


@pytest.mark.parametrize("schema", [{"type": "nope"}, {"$ref": "https://example.invalid/s"}, {"$ref": "#/$defs/none"}])
def test_a_bad_schema_is_the_plugin_s_fault_and_nothing_is_fetched(schema):
    for bulk in ("reference", "auto"):
        with pytest.raises(PluginFault):
            validate(1, schema, bulk=bulk)
    with pytest.raises(PluginFault, match="no definition 'node'"):
        validate_nodes([("", 1)], schema, "node")


def test_loading():
    assert schema_text("loomconv_schemas", "report.schema.json").startswith("{")
    for package, name in (("loomconv_schemas", "none.json"), ("no_such_package_here", "x.json")):
        with pytest.raises(PluginFault):
            schema_text(package, name)


def test_fast_only_is_an_error_without_the_library(monkeypatch):
    monkeypatch.setattr(engines, "_fast_library", lambda: None)
    with pytest.raises(UsageFault, match="not installed"):
        validate({}, SMALL, bulk="fast")
    assert validate({}, SMALL) != []


# -- pieces ---------------------------------------------------------------------------------------------------------


def chain(length):
    """A socketteer chain; the deepest node's text is a number."""
    root = {"text": "", "children": []}
    at = root
    for number in range(1, length):
        at["children"].append({"text": str(number), "children": []})
        at = at["children"][0]
    at["text"] = 5
    return root


def test_a_chain_is_checked_node_by_node():
    root = chain(5)
    check = validate_nodes(walk_nested(root, "/root"), SOCKETTEER, "flatNode")
    assert [(f.pointer, f.message) for f in check.faults] == [("/root" + "/children/0" * 4 + "/text", "must be text")]
    assert (check.total, check.seen, check.checked) == (1, 5, 5)
    assert root == chain(5)


def test_a_chain_of_100_000_nodes_is_no_problem():
    root = chain(100_000)
    check = validate_nodes(walk_nested(root), SOCKETTEER, "flatNode", cap=100)
    assert check.seen == 100_000
    if engines._fast_library() is None:
        assert check.checked == 100 + (100_000 - 100) // SAMPLE_EVERY
    else:
        assert check.checked == 100_000
    assert len(str(list(walk_nested(root))[-1][0])) < 20_000


@pytest.mark.parametrize("bulk", ["reference", "auto"])
def test_whole_values_that_are_too_deep_are_refused_with_a_way_out(bulk):
    assert len(validate({"root": chain(45)}, SOCKETTEER, bulk=bulk)) == 1
    for length in (60, 1000, 20_000):
        with pytest.raises(LimitExceeded, match="one by one"):
            validate({"root": chain(length)}, SOCKETTEER, bulk=bulk)


def test_walking_gives_parents_first_and_what_is_no_node_as_it_is():
    node = {
        "id": "a",
        "masked_head": {"id": "m", "children": [{"id": "n"}]},
        "children": ["s", {"id": "b", "children": None}],
    }
    pieces = [(str(at), piece) for at, piece in walk_nested(node, "/root", singles=("masked_head",))]
    assert pieces == [
        ("/root", {"id": "a", "children": []}),
        ("/root/masked_head", {"id": "m", "children": []}),
        ("/root/masked_head/children/0", {"id": "n"}),
        ("/root/children/0", "s"),
        ("/root/children/1", {"id": "b", "children": None}),
    ]


def test_a_wide_node_and_the_fault_cap():
    root = {"text": "", "children": [{"text": number, "children": []} for number in range(1000)]}
    check = validate_nodes(walk_nested(root), SOCKETTEER, "flatNode", fault_cap=3)
    assert [fault.pointer for fault in check.faults] == [f"/children/{number}/text" for number in range(3)]
    assert check.total == 1000


def test_the_cap_bounds_the_slow_engine_and_says_so():
    check = validate_nodes([("", 1)] * 1000, SOCKETTEER, "flatNode", cap=50, bulk="reference")
    assert (check.seen, check.checked, check.total) == (1000, 60, 60)


def test_envelope_and_pieces_find_what_the_whole_finds():
    node = {"id": "a", "content": [{"type": "image"}], "author": {}}
    tree = {"id": "t", "title": 1, "rootNodeIds": ["a"], "nodes": {"a": node}, "edges": [{}]}
    document = {"format": "open-loom", "version": "2.0", "trees": [tree]}
    whole = {(fault.pointer, fault.message) for fault in validate(document, OPENLOOM_2)}
    pieces = [
        *validate_nodes([("", {**document, "trees": [{}]})], OPENLOOM_2, "documentShell").faults,
        *validate_nodes([("/trees/0", {**tree, "nodes": {}, "edges": []})], OPENLOOM_2, "treeShell").faults,
        *validate_nodes([("/trees/0/nodes/a", node)], OPENLOOM_2, "node").faults,
        *validate_nodes([("/trees/0/edges/0", {})], OPENLOOM_2, "edge").faults,
    ]
    assert {(fault.pointer, fault.message) for fault in pieces} == whole
    assert len(whole) == 7


def test_steps():
    assert str(Steps(None, "/x") / "a/b" / 0 / "~") == "/x/a~1b/0/~0"
    assert str(Steps()) == ""
