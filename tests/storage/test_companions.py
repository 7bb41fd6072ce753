from __future__ import annotations

from pathlib import Path

import pytest

from loomconv.errors import UsageFault
from loomconv.storage.companions import companion_path, residue_path


@pytest.mark.parametrize(
    ("name", "second"),
    [
        ("x.json", "x-2.json"),
        ("story.openloom.json", "story-2.openloom.json"),
        ("story.openloom", "story-2.openloom"),
        ("a.loom.jsonl", "a-2.loom.jsonl"),
        ("v1.2.json", "v1.2-2.json"),
        ("Dr. Who.json", "Dr. Who-2.json"),
        ("plain", "plain-2"),
        (".json", ".json-2"),
        ("a b.c d", "a b.c d-2"),
        ("line\nfeed.json", "line\nfeed-2.json"),
    ],
)
def test_companions_are_numbered_before_the_suffix(name: str, second: str) -> None:
    assert companion_path(Path("dir.x/y") / name, 2) == Path("dir.x/y") / second
    assert companion_path(Path(name), 1) == Path(name)


def test_the_residue_stands_beside_the_file() -> None:
    assert residue_path(Path("out/x.json")) == Path("out/x.json.loomconv-residue.json")


def test_standard_output_has_no_companions() -> None:
    for name_of in (residue_path, lambda path: companion_path(path, 2)):
        with pytest.raises(UsageFault, match="standard output"):
            name_of(Path("-"))
