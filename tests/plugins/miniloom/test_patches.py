"""Patches: made and applied in UTF-16 units, alone and along ropes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv_plugins.miniloom.patches import append_patch, apply_exact, make_patch, parse_patch
from loomconv_plugins.miniloom.recovery import apply_fuzzy
from loomconv_plugins.miniloom.texts import ROOT, TextRopes
from loomconv_plugins.miniloom.utf16 import from_units, has_lone_half, to_units
from tests.made import examples

TEXTS = st.text(st.sampled_from("ab \n\r事e\u0301🧵🦊👍🏽\ud83e\udd8a"), max_size=14)


def hunk(*diffs: list[Any], start: int = 0, **more: Any) -> dict[str, Any]:
    before = sum(len(to_units(text)) for op, text in diffs if op != 1)
    after = sum(len(to_units(text)) for op, text in diffs if op != -1)
    return {"diffs": list(diffs), "start1": start, "start2": start, "length1": before, "length2": after, **more}


@given(TEXTS, TEXTS)
@examples(300)
def test_a_patch_applies_exactly_and_cuts_no_character(parent: str, child: str) -> None:
    patch = make_patch(to_units(parent), to_units(child))
    hunks = parse_patch(patch)
    assert hunks is not None
    assert from_units(apply_exact(hunks, to_units(parent)) or "") == from_units(to_units(child))
    if not has_lone_half(parent) and not has_lone_half(child):
        assert not any(has_lone_half(text) for each in patch for _, text in each["diffs"])


@given(TEXTS, TEXTS)
@examples(200)
def test_an_append_is_the_same_from_the_end_alone(parent: str, more: str) -> None:
    units, added = to_units(parent), to_units(more)
    assert append_patch(units[-5:], len(units), added) == make_patch(units, units + added)


@given(st.lists(st.tuples(st.integers(0, 3), TEXTS, st.integers(0, 9), st.integers(0, 9)), max_size=9))
@examples(200)
def test_ropes_find_the_deepest_beginning(steps: list[tuple[int, str, int, int]]) -> None:
    ropes, texts, above, keys = TextRopes(), {ROOT: ""}, {ROOT: ROOT}, [ROOT]
    for number, (back, piece, start, length) in enumerate(steps, 2):
        key, parent = str(number), keys[max(0, len(keys) - 1 - back)]
        old, units = texts[parent], to_units(piece)
        at = min(start, len(old))
        new = old + units if start > 6 else old[:at] + units + old[at + length :]
        hunks = parse_patch(make_patch(old, new)) or []
        appended = ropes.appended(parent, hunks)
        if appended is not None:
            ropes.put(key, parent, parent, appended)
        else:
            assert ropes.after(parent, hunks) == new
            ropes.put_text(key, parent, new)
        assert ropes.text(key) == new
        assert ropes.length(key) == len(new)
        deepest = parent
        while not new.startswith(texts[deepest]):
            deepest = above[deepest]
        assert ropes.base(key) == deepest
        texts[key], above[key] = new, parent
        keys.append(key)


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ([hunk([0, "abc"], [1, "X"], start=1)], "0abcd"),  # little context in front, not at the start
        ([hunk([0, "abcd"], [1, "X"], [0, "e"], start=0)], "abcdef"),  # little behind, not at the end
        ([hunk([0, "abcd"], [1, "X"], start=0)], "abcde"),
        ([hunk([-1, "b"], [1, "c"], start=0)], "a"),
        ([hunk([1, "c"], start=3)], "a"),
    ],
)
def test_what_does_not_fit_exactly_is_refused(patch: list[Any], text: str) -> None:
    hunks = parse_patch(patch)
    assert hunks is not None
    assert apply_exact(hunks, text) is None


@pytest.mark.parametrize(
    "raw",
    [
        None, {}, "text", 5, [None], [{}], [{"diffs": []}], [{**hunk([0, "a"]), "start1": "0"}],
        [{**hunk([0, "a"]), "diffs": [[2, "a"]]}], [{**hunk([0, "a"]), "diffs": [[0, 5]]}],
        [{**hunk([0, "a"]), "diffs": [[True, "a"]]}], [{**hunk([0, "a"]), "length1": -1}],
    ],
)  # fmt: skip
def test_what_the_app_cannot_load_is_no_patch(raw: Any) -> None:
    assert parse_patch(raw) is None


def test_other_spellings_of_a_patch() -> None:
    assert parse_patch("") == parse_patch([]) == []
    assert parse_patch([hunk(start=0, stash={"a": 1})]) == []
    objects = [{**hunk([0, "a"], [1, "b"]), "diffs": [{"0": 0, "1": "a"}, {"0": 1, "1": "b"}]}]
    assert parse_patch(objects) == parse_patch([hunk([0, "a"], [1, "b"])])


def test_the_search_finds_the_nearest_place_and_counts_what_it_drops() -> None:
    hunks = parse_patch([hunk([0, "the big "], [-1, "world"], [1, "sea"], [0, " and"], start=6)]) or []
    assert apply_fuzzy(hunks, "xx hello the big world and more") == ("xx hello the big sea and more", 0)
    assert apply_fuzzy(hunks, "nothing of it") == ("nothing of it", 1)
    huge = parse_patch([hunk([-1, "a" * 5000], [1, "b"], start=9)]) or []
    assert apply_fuzzy(huge, "b" * 9000) == ("b" * 9000, 1)
