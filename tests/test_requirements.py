"""Every requirement of the OpenLoom 2.0 dossier has a test that names it, or a line that says why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
IDS = (TESTS / "requirement_ids.txt").read_text("utf-8").split()

WITHOUT_A_TEST = {
    "OL2-1-goals": "an aim of the draft, not a rule",
    "OL2-1.1-answers": "explains the draft",
    "OL2-2-rfc2119": "explains words",
    "OL2-2-roles": "explains words",
    "OL2-4.5-map": "agents are kept as they are; there are no local agents to map them to",
    "OL2-8.2-detect": "Loomsidian is not built yet",
    "OL2-8.2-topology": "Loomsidian is not built yet",
    "OL2-8.2-bookmark": "Loomsidian is not built yet",
    "OL2-8.2-author": "Loomsidian is not built yet",
    "OL2-8.2-ext": "Loomsidian is not built yet",
    "OL2-8.2-current": "Loomsidian is not built yet",
    "A50": "a slip in the draft's cross-references",
}


def _tests() -> str:
    found = (path for path in sorted(TESTS.rglob("test_*.py")) if path.name != Path(__file__).name)
    return "\n".join(path.read_text("utf-8") for path in found)


@pytest.fixture(scope="module")
def text() -> str:
    return _tests()


@pytest.mark.parametrize("requirement", IDS)
def test_requirement_is_named_or_explained(requirement: str, text: str) -> None:
    named = re.search(rf"(?<![\w.-]){re.escape(requirement)}(?![\w-])", text) is not None
    assert named != (requirement in WITHOUT_A_TEST), "named in no test, or in a test and in the table"


def test_the_table_speaks_of_known_requirements() -> None:
    assert set(WITHOUT_A_TEST) <= set(IDS)
    assert len(IDS) == len(set(IDS)) > 200
