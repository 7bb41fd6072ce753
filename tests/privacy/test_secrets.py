"""Keys and passwords: found by name and by shape, and shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv import api, jsontext, load
from loomconv.model.document import document_json
from loomconv.options import ConversionOptions
from loomconv.privacy import drop_secrets
from loomconv.report import Report
from loomconv.report.shown import looks_secret, shown_value
from loomconv.testing.looms import loom
from tests.made import VALUES, examples, link, node

# Made up, in the shapes that providers use.
SHAPES = [
    "sk-FAKE-not-a-real-key-0000",
    "sk-proj-" + "x" * 40,
    "Bearer sk-ant-" + "y" * 30,
    "sk_live_" + "1" * 20,
    "ghp_" + "a" * 36,
    "github_pat_" + "b" * 40,
    "AIza" + "c" * 35,
    "xoxb-123456789012",
    "hf_" + "d" * 34,
    "gsk_" + "e" * 40,
    "pplx-" + "f" * 40,
    "AKIA" + "Z" * 16,
]
NAMES = [
    "apiKey",
    "api_key",
    "API-KEY",
    "OPENAI_API_KEY",
    "openai.apikey",
    "password",
    "dbPassword",
    "passwd",
    "passphrase",
    "secret",
    "clientSecret",
    "client_secret",
    "secretKey",
    "private key",
    "accessToken",
    "refresh_token",
    "Authorization",
    "Cookie",
    "set-cookie",
    "x-api-key",
    "apiKeys",
]
INNOCENT = [
    "maxTokens",
    "token",
    "tokens",
    "key",
    "keys",
    "title",
    "promptTokens",
    "passage",
    "secretary",
    "cookies_eaten",
]


@pytest.mark.parametrize("text", SHAPES)
def test_by_shape(text: str) -> None:
    assert looks_secret(text)
    assert drop_secrets({"a": {"whatever": text, "b": 1}}) == ({"a": {"b": 1}}, ["/a/whatever"])
    assert drop_secrets({"list": ["x", text]}) == ({"list": ["x"]}, ["/list/1"])
    assert shown_value(text) is None


@pytest.mark.parametrize("name", NAMES)
def test_by_name(name: str) -> None:
    place = "/" + name.replace("~", "~0").replace("/", "~1")
    assert drop_secrets({name: "hunter2", "b": 1}) == ({"b": 1}, [place])
    assert drop_secrets({"deep": [{name: "hunter2"}]}) == ({"deep": [{}]}, [f"/deep/0{place}"])
    assert drop_secrets({name: ["one", "two"], "b": 1}) == ({name: [], "b": 1}, [f"{place}/0", f"{place}/1"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [None, "", "  ", 5, True, {}, []])
def test_a_name_without_a_value_is_no_secret(name: str, value: Any) -> None:
    held = {name: value}
    assert drop_secrets(held) == (held, [])
    assert drop_secrets(held)[0] is held


@pytest.mark.parametrize("name", INNOCENT)
def test_other_names_are_left_alone(name: str) -> None:
    held = {name: "words"}
    assert drop_secrets(held)[0] is held


def test_prose_that_speaks_of_a_key_is_left_alone() -> None:
    held = {"note": "my key is sk-FAKE-not-a-real-key-0000, keep it"}
    assert drop_secrets(held)[0] is held


def test_evidence_of_a_generation_is_passed_over() -> None:
    """OL2-5-verbatim: leaving it out is a switch of its own."""
    evidence = {"rawResponse": {"headers": {"authorization": "Bearer x"}}}
    for holder in ("residue", "node", "original"):
        held = {holder: {"generation": evidence}}
        assert drop_secrets(held)[0] is held
    assert drop_secrets({"my-app": {"generation": {"apiKey": "x"}}})[0] == {"my-app": {"generation": {}}}


def test_the_given_value_stays_as_it_was() -> None:
    held = {"a": [{"password": "x"}, {"b": 1}], "c": {"d": {}}}
    before = jsontext.encode(held)
    cleaned, places = drop_secrets(held)
    assert cleaned == {"a": [{}, {"b": 1}], "c": {"d": {}}}
    assert places == ["/a/0/password"]
    assert jsontext.encode(held) == before
    assert cleaned["c"] is held["c"], "what holds none is shared"
    assert drop_secrets(held, keep=True) == (held, places)


def test_many_at_once() -> None:
    held = {"list": [SHAPES[0] if number % 2 else f"{number}" for number in range(30)], "a": {"secret": "x"}}
    cleaned, places = drop_secrets(held)
    assert cleaned == {"list": [f"{number}" for number in range(0, 30, 2)], "a": {}}
    assert len(places) == 16


def test_depth_is_no_matter() -> None:
    held: Any = {"password": "x"}
    for _ in range(50_000):
        held = [held]
    cleaned, places = drop_secrets(held)
    assert len(places) == 1
    while isinstance(cleaned, list):
        cleaned = cleaned[0]
    assert cleaned == {}


@examples(60)
@given(VALUES, st.sampled_from(SHAPES))
def test_a_planted_key_is_always_found(value: Any, secret: str) -> None:
    cleaned, _ = drop_secrets({"app": [value, {"k": secret, "rest": value}]})
    assert secret.encode() not in jsontext.encode(cleaned)
    assert cleaned["app"][0] == value


SECRET = "sk-FAKE-not-a-real-key-0000"


def planted() -> dict[str, Any]:
    """A document with a key in every place where an app may have put one."""
    return {
        "format": "open-loom",
        "version": "2.0",
        "generator": {"name": "x", "apiKey": SECRET},
        "agents": {"m": {"name": "M", "type": "model", "configuration": {"api_key": SECRET, "temperature": 1}}},
        "extensions": {"app": {"OPENAI_API_KEY": SECRET, "theme": "dark"}},
        "mystery": {"list": [SECRET]},
        "trees": [
            {
                "id": "t",
                "title": "",
                "rootNodeIds": ["a"],
                "extensions": {"app": {"headers": [{"Authorization": f"Bearer {SECRET}"}]}},
                "tags": [{"name": "x", "password": SECRET}],
                "nodes": {
                    "a": {
                        **node("a", "words"),
                        "author": {"role": "human", "apiKey": SECRET},
                        "meta": {"note": "n", "sessionToken": SECRET},
                        "apiKey": SECRET,
                        "createdAt": SECRET,
                        "extensions": {"app": {"k": SECRET, "v": 1}},
                    },
                    "b": {**node("b"), "createdAt": {"apiKey": SECRET}, "editedFrom": [SECRET], "extensions": SECRET},
                    "c": SECRET,
                },
                "edges": [
                    {**link("a", "b"), "extensions": {"app": {"secret": SECRET, "w": 1}}},
                    {**link("a", "c"), "id": "e", "token": SECRET},
                    {"type": "continuation", "apiKey": SECRET},
                ],
            }
        ],
    }


@pytest.mark.parametrize("target", ["openloom-2", "openloom-1", "socketteer"])
def test_no_key_leaves_unasked(target: str, tmp_path: Path) -> None:
    out, report = tmp_path / "out", Report(limit=None)
    source = jsontext.encode(planted())
    api.dump(api.load(source, report=report), out, format=target, report=report)
    assert SECRET.encode() not in out.read_bytes()
    assert SECRET.encode() not in jsontext.encode(report.to_json())
    assert report.codes["privacy.secret-dropped"] >= 14
    assert all(finding.severity == "warning" for finding in report.findings if "secret" in finding.code)


def test_what_is_no_key_stays() -> None:
    document = api.load(jsontext.encode(planted()))
    tree = document.trees[0]
    assert document.fields["extensions"]["app"] == {"theme": "dark"}
    assert document.fields["agents"]["m"]["configuration"] == {"temperature": 1}
    assert tree.nodes["a"]["extensions"]["app"] == {"v": 1}
    assert tree.nodes["a"]["meta"] == {"note": "n"}
    assert tree.nodes["a"]["author"] == {"role": "human"}
    assert "apiKey" not in tree.nodes["a"]
    assert next(edge.get("extensions") for edge in tree.edges) == {"app": {"w": 1}}
    assert document.touched, "the source's own bytes hold the keys"


def test_keys_stay_when_asked_for() -> None:
    report = Report()
    value = planted()
    document = api.load(jsontext.encode(value), options=ConversionOptions(keep_secrets=True), report=report)
    assert document.fields["extensions"]["app"]["OPENAI_API_KEY"] == SECRET
    assert document.trees[0].nodes["a"]["apiKey"] == SECRET  # type: ignore[typeddict-item]
    assert report.codes["privacy.secret-kept"] >= 14
    assert not report.codes["privacy.secret-dropped"]
    assert SECRET.encode() not in jsontext.encode(report.to_json()), "the report is passed around more freely"


def test_a_story_about_keys_is_a_story() -> None:
    """Texts are never touched, whatever they look like."""
    text = node("a", SECRET)
    value = {
        "format": "open-loom",
        "version": "2.0",
        "trees": [
            {"id": "t", "title": SECRET[:10], "rootNodeIds": ["a"], "nodes": {"a": {**text, "mystery": 1}}, "edges": []}
        ],
    }
    document = api.load(jsontext.encode(value))
    assert document.trees[0].nodes["a"]["content"] == text["content"]
    assert document.pristine


def test_shown_values_are_short_and_plain() -> None:
    assert shown_value("short") == "short"
    assert shown_value("x" * 101) is None
    assert shown_value({"a": 1}) is None
    assert shown_value([1]) is None
    assert shown_value(5) == 5 and shown_value(None) is None and shown_value(False) is False


def test_a_container_that_stands_in_two_places_is_cleaned_in_both() -> None:
    for shared in ({"apiKey": "k", "other": 1}, {"apiKey": ["a", "b"], "other": 1}):
        value = {"a": {"deep": shared}, "b": shared, "c": [shared, shared]}
        cleaned, places = drop_secrets(value)
        assert len(places) >= 4
        assert "apiKey" in shared
        assert "apiKey" not in str(cleaned) or cleaned["b"]["apiKey"] == []
        assert cleaned["b"]["other"] == cleaned["a"]["deep"]["other"] == 1


def test_a_secret_in_what_had_to_be_mended_is_left_out_there_too() -> None:
    author = {"name": "Helper", "configuration": {"apiKey": "sk-FAKE-not-a-real-key-0001"}}
    value = loom({"id": "a", "content": [{"type": "text", "text": "x"}], "author": author})
    report = Report()
    document = load(jsontext.encode(value), report=report)
    assert "FAKE" not in str(document_json(document))
    assert report.codes["privacy.secret-dropped"] == 2
