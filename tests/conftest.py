"""Shared by all tests: where the fixtures are."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def fixtures() -> Path:
    """The folder of our own example files, one folder a format."""
    return ROOT / "fixtures"
