"""Blocks that refer to media, and the text that stands for one where there are no media."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

__all__ = ["MEDIA_TYPES", "stand_in"]

MEDIA_TYPES: Final = frozenset({"image", "audio"})


def stand_in(block: Mapping[str, Any]) -> str:
    """Alternative text, else transcript, else a placeholder (OL2-4.3-textonly, OL2-4.3-unknownblock-render, A24)."""
    for key in ("altText", "transcript"):
        if isinstance(block.get(key), str) and block[key]:
            return cast(str, block[key])
    return f"[unsupported block: {block['type']}]"
