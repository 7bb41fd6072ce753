"""A folder of looms of several formats, with broken ones and other files in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.harness import FIXTURES, loom


@pytest.fixture
def looms(tmp_path: Path) -> Path:
    root = tmp_path / "looms"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "one.openloom").write_bytes(loom("One"))
    (root / "deep" / "two.json").write_bytes((FIXTURES / "socketteer" / "minimal.json").read_bytes())
    (root / "deep" / "er" / "three.json").write_bytes((FIXTURES / "miniloom" / "chat.json").read_bytes())
    (root / "broken.json").write_bytes(b'{"root": {"text": "x",, }')
    (root / "cut.openloom").write_bytes(loom("Cut" * 50)[:150])
    (root / "package.json").write_bytes(b'{"name": "x"}')
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return root
