"""Local times: the zone by ids, by a mark, by the user's word, or none (dossier §1.5)."""

from __future__ import annotations

from typing import Any

import pytest

from loomconv.model.times import to_ms
from loomconv_plugins.socketteer.stamps import created_at, evidence, parse_stamp, parse_zone, stamp_of, zone_text
from tests.plugins.socketteer.harness import (
    OWN,
    back,
    codes,
    document,
    entry,
    file,
    node,
    nodes_of,
    read,
    tree_of,
    uuid1,
    write,
    written,
)

NOON = to_ms("2021-09-15T12:00:00Z") // 1000  # type: ignore[operator]


def stamped(node_id: str, stamp: Any) -> dict[str, Any]:
    return entry(node_id, meta={"creation_timestamp": stamp, "source": "AI", "modified": False})


@pytest.mark.parametrize(
    ("ahead", "offset"),
    [
        (0, 0),
        (-7 * 3600 + 18, -420),
        (19800 - 1, 330),
        (300, 0),
        (301, None),
        (-3, None),
        (14 * 3600, 840),
        (15 * 3600, None),
    ],
)
def test_what_an_id_proves(ahead: int, offset: int | None) -> None:
    assert evidence(NOON + ahead, uuid1(1, NOON)) == offset


def test_other_ids_prove_nothing() -> None:
    assert evidence(NOON, uuid1(1, NOON).replace("-11", "-41")) is None
    assert evidence(NOON, "n1") is None


@pytest.mark.parametrize("text", ["2021-09-15-13.02.19", "2021-09-15 13:02:19"])
def test_both_spellings(text: str) -> None:
    stamp = parse_stamp(text)
    assert stamp is not None
    assert created_at(stamp, -420) == "2021-09-15T20:02:19Z"
    assert stamp_of("2021-09-15T20:02:19.999Z", -420) == "2021-09-15-13.02.19"


@pytest.mark.parametrize(
    "text", ["2021-13-45-99.99.99", "2021-09-15", "", None, 5, "2021-09-15-24.00.00", "0000-01-01-00.00.00"]
)
def test_what_is_no_time(text: Any) -> None:
    assert parse_stamp(text) is None


def test_ends_of_the_calendar() -> None:
    assert created_at(parse_stamp("0001-01-01-00.00.00"), 60) is None  # type: ignore[arg-type]
    assert stamp_of("9999-12-31T23:59:59Z", 1) is None
    assert stamp_of("0001-01-01T00:00:00Z", 0) == "0001-01-01-00.00.00"


def test_zones_as_text() -> None:
    assert [zone_text(offset) for offset in (0, -420, 330)] == ["+00:00", "-07:00", "+05:30"]
    assert [parse_zone(text) for text in ("Z", "-07:00", "+05:30", "+5", None)] == [0, -420, 330, None, None]


def test_ids_give_the_zone_of_each_node_and_of_the_others() -> None:
    seven = [stamped(uuid1(number, NOON), "2021-09-15-05.00.01") for number in range(3)]
    value = file(*seven, stamped(uuid1(9, NOON), "2021-09-15-08.00.00"), stamped("plain", "2021-09-15-05.00.00"))
    nodes = nodes_of(value)
    assert [each.get("createdAt") for each in nodes.values()] == ["2021-09-15T12:00:01Z"] * 3 + [
        "2021-09-15T12:00:00Z"
    ] * 2
    assert tree_of(value).fields["extensions"][OWN]["zone"] == "-07:00"
    assert codes(value) == {}
    assert back(value) == value
    # The stamp of the commonest zone needs no stash.
    assert "creation_timestamp" not in nodes["plain"].get("extensions", {}).get(OWN, {}).get("meta", {})


def test_without_a_zone_there_is_no_time() -> None:
    value = file(stamped("a", "2021-09-15-13.02.00"), stamped("b", "2021-13-45-99.99.99"))
    assert all("createdAt" not in each for each in nodes_of(value).values())
    assert codes(value) == {"read.time-without-zone": 1, "read.bad-time": 1}
    assert back(value) == value


def test_the_user_may_state_the_zone() -> None:
    value = file(stamped("a", "2021-09-15-13.02.00"))
    document_, context = read(value, assume_timezone="+02:00")
    assert document_.trees[0].nodes["a"]["createdAt"] == "2021-09-15T11:02:00Z"
    assert not context.report.codes["read.time-without-zone"]
    assert written(document_) == value
    # What ids prove is stronger.
    proven = file(stamped(uuid1(1, NOON), "2021-09-15-12.00.00"), stamped("b", "2021-09-15-12.00.00"))
    assert nodes_of(proven, assume_timezone="+02:00")["b"]["createdAt"] == "2021-09-15T12:00:00Z"


def test_foreign_times_are_written_in_utc_and_marked() -> None:
    text, _ = write(document(node("a", createdAt="2024-01-02T03:04:05Z")))
    value = written(document(node("a", createdAt="2024-01-02T03:04:05Z")))
    assert value["root"]["children"][0]["meta"]["creation_timestamp"] == "2024-01-02-03.04.05"
    assert value["openloom"] == {OWN: {"zone": "+00:00"}}
    tree = tree_of(text)
    assert tree.nodes["a"]["createdAt"] == "2024-01-02T03:04:05Z"
    assert "extensions" not in tree.fields


def test_a_foreign_node_takes_the_zone_of_the_file() -> None:
    document_, _ = read(file(stamped(uuid1(1, NOON), "2021-09-15-05.00.00")))
    tree = document_.trees[0]
    tree.nodes["new"] = node("new", createdAt="2024-01-01T00:00:00Z")  # type: ignore[assignment]
    tree.fields["rootNodeIds"].append("new")
    text, _ = write(document_)
    assert b"2023-12-31-17.00.00" in text
    assert tree_of(text).nodes["new"]["createdAt"] == "2024-01-01T00:00:00Z"


def test_a_time_that_an_id_would_contradict_is_marked() -> None:
    node_id = uuid1(1, NOON)
    text, _ = write(document(node(node_id, createdAt="2021-09-15T14:00:00Z")))
    assert tree_of(text).nodes[node_id]["createdAt"] == "2021-09-15T14:00:00Z"


def test_new_nodes_do_not_give_zoneless_ones_a_zone() -> None:
    document_, _ = read(file(stamped("a", "2021-09-15-13.02.00")))
    tree = document_.trees[0]
    for new in ("new", uuid1(5, NOON)):
        tree.nodes[new] = node(new, createdAt="2021-09-15T12:00:00Z")  # type: ignore[assignment]
        tree.fields["rootNodeIds"].append(new)
    again = tree_of(write(document_)[0])
    assert "createdAt" not in again.nodes["a"]
    assert again.nodes["new"]["createdAt"] == again.nodes[uuid1(5, NOON)]["createdAt"] == "2021-09-15T12:00:00Z"
