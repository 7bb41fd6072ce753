"""The preference that makes the app keep responses in the tree's file when it saves (dossier §2.2, §2.3.7).

It stands in the top-level frame. A mark says how much of that frame was added for it, so that it can be taken out.
"""

from __future__ import annotations

from typing import Any, Final

from loomconv_plugins.socketteer.facts import Raw

__all__ = ["FRAME", "PREFERENCE", "PREFERENCES", "with_switch", "without_switch"]

# What was added, outermost first.
FRAME: Final = "frame"
PREFERENCES: Final = "frame.preferences"
PREFERENCE: Final = "frame.preferences.model_response"
_SAVE: Final = {"model_response": "save"}


def with_switch(top: Raw) -> tuple[Raw, str | None]:
    """`top` with the preference in its frame, and what was added; the same and None where there is a word on it."""
    if "frame" not in top:
        return {**top, "frame": {"preferences": dict(_SAVE)}}, FRAME
    frame = top["frame"]
    if not isinstance(frame, dict):
        return top, None
    if "preferences" not in frame:
        return {**top, "frame": {**frame, "preferences": dict(_SAVE)}}, PREFERENCES
    preferences: Any = frame["preferences"]
    if not isinstance(preferences, dict) or "model_response" in preferences:
        return top, None
    return {**top, "frame": {**frame, "preferences": {**preferences, **_SAVE}}}, PREFERENCE


def without_switch(top: Raw, added: Any) -> Raw | None:
    """`top` as it was before `with_switch` added what it says; None when it cannot have been so.

    Where somebody has added to the frame since, only the preference goes.
    """
    frame = top.get("frame")
    preferences = frame.get("preferences") if isinstance(frame, dict) else None
    if not isinstance(preferences, dict) or preferences.get("model_response") != "save":
        return top if added is None and with_switch(top)[1] is None else None
    if added is None:
        return top
    if added not in (FRAME, PREFERENCES, PREFERENCE) or not isinstance(frame, dict):
        return None
    kept = {key: value for key, value in preferences.items() if key != "model_response"}
    if kept or added == PREFERENCE:
        return {**top, "frame": {**frame, "preferences": kept}}
    rest = {key: value for key, value in frame.items() if key != "preferences"}
    if rest or added == PREFERENCES:
        return {**top, "frame": rest}
    return {key: value for key, value in top.items() if key != "frame"}
