"""Shared by all tests: where the fixtures are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, so that a change is what makes a test fail; HYPOTHESIS_EXPLORE=1 looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("HYPOTHESIS_EXPLORE") else "steady")

ROOT = Path(__file__).parents[1]


@pytest.fixture
def fixtures() -> Path:
    """The folder of our own example files, one folder a format."""
    return ROOT / "fixtures"
