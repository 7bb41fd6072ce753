"""What of a file's values may be shown in a report: short, plain, and no key or password."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["looks_secret", "shown_value"]

_LONGEST = 100
# Shapes that providers give their keys; matched against a whole value, never searched for in prose.
_SHAPE = re.compile(
    r"(?:Bearer )?(?:sk-[\w-]{16,}|sk_live_\w{16,}|gh[opsur]_\w{30,}|github_pat_\w{30,}|AIza[\w-]{30,}"
    r"|xox[abposr]-[\w-]{10,}"
    r"|hf_\w{30,}|gsk_\w{30,}|pplx-\w{30,}|AKIA[0-9A-Z]{16})",
    re.ASCII,
)


def looks_secret(text: str) -> bool:
    """Whether the text has the shape of a provider's key."""
    return _SHAPE.fullmatch(text) is not None


def shown_value(value: Any) -> Any:
    """The value for a report; None when it is a container, long, or looks like a key."""
    if isinstance(value, str):
        return None if len(value) > _LONGEST or looks_secret(value) else value
    return None if isinstance(value, dict | list) else value
