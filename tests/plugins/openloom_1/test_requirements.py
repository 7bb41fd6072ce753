"""Every requirement of the openloom-1 dossier has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

READING = (
    "detect key-id missing-null parent order dangling root orphans cycle author date-number date-plausible date-string"
)
READING += " current bookmarks text unknown"
WRITING = "keys date nodate modelId author remember current bookmarks file ids"
IDS = [*(f"OL1-{name}" for name in READING.split()), *(f"OL1-w-{name}" for name in WRITING.split())]


@pytest.fixture(scope="module")
def text() -> str:
    files = sorted(path for path in Path(__file__).parent.glob("test_*.py") if path.name != Path(__file__).name)
    return "\n".join(path.read_text("utf-8") for path in files)


@pytest.mark.parametrize("requirement", IDS)
def test_a_requirement_has_a_test(requirement: str, text: str) -> None:
    assert re.search(rf"{requirement}(?![\w-])", text)
