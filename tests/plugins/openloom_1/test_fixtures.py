"""Every fixture goes through reading and writing without a difference; what is written once stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from loomconv import jsontext
from tests.plugins.openloom_1.harness import read, spelled, write

FOLDER = Path(__file__).parents[3] / "fixtures" / "openloom-1"
FILES = sorted(FOLDER.iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_fixture_comes_back(path: Path) -> None:
    data = path.read_bytes()
    document, context = read(data)
    output = write(document)
    if not context.truncated:
        assert spelled(jsontext.decode(output)) == spelled(jsontext.load(data).value)
    again, _ = read(output)
    assert write(again) == output


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_faulty_fixtures_have_warnings(path: Path) -> None:
    faults = jsontext.decode((FOLDER.parent / "faults.json").read_bytes()).get(f"openloom-1/{path.name}", [])
    found = {code.partition(".")[2] for code in read(path.read_bytes())[1].report.codes} - {"exact"}
    # These are for the hub to find.
    assert found >= set(faults) - {"cycle", "missing-parent"}
    if not faults:
        assert found <= {"missing-id"}


def test_a_cut_file_gives_what_stands_before_the_cut() -> None:
    document, context = read((FOLDER / "broken-truncated.openloom.json").read_bytes())
    assert list(document.trees[0].nodes) == ["r", "a"]
    assert context.truncated
    # The node in which the file ends has neither text nor author.
    assert context.report.counts == {"cutNodes": 1}


def test_the_apps_own_layout_is_the_default() -> None:
    data = (FOLDER / "swift-layout.openloom.json").read_bytes()
    output = write(read(data)[0])
    # The same bytes, but for the order of keys, which the app leaves to chance.
    assert sorted(output) == sorted(data)
