"""The documentation's own programs (`docs/generate.py`, `docs/shown.py`) as modules."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"

# They are run as scripts, from their own folder.
sys.path.insert(0, str(DOCS))
