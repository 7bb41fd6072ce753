"""The formats that come along pass the suite that strangers' formats have to pass."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from loomconv.registry import default_registry
from loomconv.testing import FormatConformance

FIXTURES = Path(__file__).parents[2] / "fixtures"
FORMATS = default_registry().formats

# Another format may claim these, by design.
DOUBLED = "only the file's own bytes can have a key twice; reported"
HALF = "the app cannot open half a character; reported"
PLAIN_LINES = "plain export lines are socketteer's own, and read here only when asked for"


@pytest.mark.slow
class TestOpenLoom2(FormatConformance):
    format = FORMATS["openloom-2"]
    fixtures = (FIXTURES / "openloom-2",)
    exceptions: ClassVar = {
        "fixture-valid:gap-a09-null.openloom": "null stands for what is not there (A9), against the schema's word",
        "get-put:gap-a02-duplicate-key.openloom": DOUBLED,
        "comes-home:gap-a02-duplicate-key.openloom": DOUBLED,
    }


@pytest.mark.slow
class TestOpenLoom1(FormatConformance):
    format = FORMATS["openloom-1"]
    fixtures = (FIXTURES / "openloom-1",)


@pytest.mark.slow
class TestSocketteer(FormatConformance):
    format = FORMATS["socketteer"]
    fixtures = (FIXTURES / "socketteer",)
    exceptions: ClassVar = {
        "fixture-detected:empty-array.json": "an empty list could be anybody's",
        "fixture-detected:model_responses-2023-02-14-18.46.35.json": "it lies beside a loom and is none",
        "get-put:lone-surrogate.json": HALF,
        "comes-home:lone-surrogate.json": HALF,
        "fixture-valid:missing-ids.json": "the app gives ids itself, and the schema says what it then has",
    }


@pytest.mark.slow
class TestMiniLoom(FormatConformance):
    format = FORMATS["miniloom"]
    fixtures = (FIXTURES / "miniloom",)


@pytest.mark.slow
class TestAspenGrove(FormatConformance):
    format = FORMATS["aspen-grove"]
    fixtures = (FIXTURES / "aspen-grove",)


@pytest.mark.slow
class TestLoomWriteLog(FormatConformance):
    format = FORMATS["loom-write-log"]
    fixtures = (FIXTURES / "loom-write-log",)
    exceptions: ClassVar = {
        "fixture-detected:plain-export.jsonl": PLAIN_LINES,
        "fixture-valid:plain-export.jsonl": PLAIN_LINES,
    }
