"""The lens of the plugin API keeps both laws, whatever the object holds and whatever was edited."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loomconv.model.times import format_ms, to_ms
from loomconv.plugin import Lens, same_json
from tests.made import VALUES, examples

Raw = dict[str, Any]


def core_of(raw: Raw) -> Raw:
    """A role from two keys that count only together, a time, and a mark."""
    core: Raw = {"role": "model" if raw.get("kind") == "ai" and raw.get("mode") != "off" else "human"}
    made = raw.get("made")
    if type(made) is int and (moment := format_ms(made * 1000)) is not None:
        core["createdAt"] = moment
    if raw.get("starred") is True:
        core["meta"] = {"bookmarked": True}
    return core


def base_of(core: Raw) -> Raw:
    base: Raw = {"kind": "ai" if core["role"] == "model" else "me"}
    if core.get("createdAt"):
        base["made"] = (to_ms(core["createdAt"]) or 0) // 1000
    if (core.get("meta") or {}).get("bookmarked"):
        base["starred"] = True
    return {**base, "below": []}


LENS = Lens("mine", core=core_of, base=base_of, inner=("below",))
MEMBERS = {
    "kind": st.one_of(st.sampled_from(["ai", "me"]), VALUES),
    "mode": st.one_of(st.sampled_from(["on", "off"]), VALUES),
    "made": st.one_of(st.integers(-(10**13), 10**13), VALUES),
    "starred": st.one_of(st.booleans(), VALUES),
    "below": st.one_of(st.just([]), st.none(), st.text(max_size=3)),
    "other": VALUES,
    "set": VALUES,
}
RAWS = st.lists(st.sampled_from(sorted(MEMBERS)), unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: MEMBERS[key] for key in keys})
)
CORES = st.builds(
    lambda role, made, marked: {
        "role": role,
        **({} if made is None else {"createdAt": format_ms(made * 1000)}),
        **({"meta": {"bookmarked": True}} if marked else {}),
    },
    st.sampled_from(["human", "model"]),
    st.one_of(st.none(), st.integers(0, 2**31)),
    st.booleans(),
)


@given(RAWS)
@examples(300)
def test_writing_what_was_read_gives_the_same_object_in_the_same_order(raw: Raw) -> None:
    assert same_json(LENS.write(LENS.read(raw)), raw)


@given(RAWS, CORES)
@examples(300)
def test_reading_what_was_written_gives_the_core_whatever_was_there_before(raw: Raw, core: Raw) -> None:
    extensions = LENS.read(raw).get("extensions")
    edited = {**core, "extensions": extensions} if extensions else core
    found = LENS.read(LENS.write(edited))
    assert same_json(
        {key: found[key] for key in sorted(found) if key != "extensions"}, {key: core[key] for key in sorted(core)}
    )


@given(CORES)
@examples(50)
def test_what_was_never_in_the_format_carries_nothing_of_it(core: Raw) -> None:
    assert LENS.read(LENS.write(core)) == core


def test_extensions_of_others_travel_under_the_carrier() -> None:
    holder = {"role": "human", "extensions": {"other": {"k": 1}}}
    raw = LENS.write(holder)
    assert raw["extensions"] == {"other": {"k": 1}}
    assert LENS.read(raw) == holder
    closed = Lens("mine", core=core_of, base=base_of, inner=("below",), carrier=None)
    assert "extensions" not in closed.write(holder)


def test_a_carrier_that_holds_something_else_is_an_unknown_key() -> None:
    for value in (5, None, [1]):
        assert LENS.write(LENS.read({"kind": "me", "below": [], "extensions": value}))["extensions"] == value


def test_what_stands_in_the_file_where_the_stash_would_comes_back() -> None:
    for own in ({"set": {"kind": "ai"}}, 5, None):
        raw = {"kind": "me", "below": [], "extensions": {"other": 1, "mine": own}}
        assert same_json(LENS.write(LENS.read(raw))["extensions"]["mine"], own)


def test_a_stash_of_an_unknown_shape_is_passed_over() -> None:
    for stash in (5, {"set": 5, "absent": 7, "order": "x"}, {"absent": [5, "kind", {}], "order": [1, "below"]}):
        raw = LENS.write({"role": "model", "extensions": {"mine": stash}})
        assert core_of(raw) == {"role": "model"}


def test_inner_lists_are_left_to_whoever_reads_them() -> None:
    raw = {"kind": "me", "below": [{"kind": "ai"}]}
    assert LENS.read(raw) == {"role": "human"}
