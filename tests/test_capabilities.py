"""What a format declares is what it does: what it claims comes back by itself, what it does not is reported as lost."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from loomconv.api import convert, load
from loomconv.model.document import document_json
from loomconv.options import ConversionOptions
from loomconv.registry import default_registry
from loomconv.testing import FEATURES, Feature, Subject, link, loom, node
from loomconv.testing.fidelity import feature_outcome

FORMATS = sorted(default_registry().formats)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("feature", FEATURES, ids=[each.name for each in FEATURES])
def test_claims_are_kept_and_the_rest_is_reported(name: str, feature: Feature, tmp_path: Path) -> None:
    outcome, seen = feature_outcome(Subject.of(default_registry().format(name)), feature, tmp_path, "a")
    assert outcome in ("held", "reported"), seen


def _database_ids(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM nodes")]


# Where the ids stand in files of the formats that cannot have any id.
IDS_IN_FILE: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "aspen-grove": ("b.db", _database_ids),
    "miniloom": ("b.json", lambda path: list(json.loads(path.read_bytes())["loomTree"]["nodeStore"])),
}


@pytest.mark.parametrize("name", FORMATS)
def test_ids_are_as_declared(name: str, tmp_path: Path) -> None:
    ids = ["a", "ä/ö~", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "12", "c9b1e6a0-0000-4000-8000-000000000001", " ", "x" * 300]
    edges = [link(one, other) for one, other in itertools.pairwise(ids)]
    source = tmp_path / "a.openloom"
    source.write_text(json.dumps(loom(*(node(each, each) for each in ids), edges=edges)), encoding="utf-8")
    target = tmp_path / IDS_IN_FILE.get(name, ("b.x",))[0]
    convert(source, target, target_format=name, options=ConversionOptions(residue="none"))
    alphabet = default_registry().format(name).capabilities_for(target.name, {}).ids
    if alphabet == "any":
        assert list(document_json(load(target, format=name))["trees"][0]["nodes"]) == ids
    else:
        written = IDS_IN_FILE[name][1](target)
        assert len(set(written)) == len(written) >= len(ids)
        assert [each for each in written if not re.fullmatch(alphabet, each)] == []
