"""Patches that do not fit exactly: the library's own search for the nearest place (dossier §2.3)."""

from __future__ import annotations

from typing import Final

from loomconv_plugins.miniloom.patches import Hunk

__all__ = ["apply_fuzzy"]

# Beyond these sizes the search costs too much (it grows with the square of a hunk, and with hunks times text); the
# hunks then count as dropped. Files of the app need no search at all.
_MOST_HUNKS: Final = 1000
_LONGEST_HUNK: Final = 4000
_LONGEST_TEXT: Final = 4_000_000


def apply_fuzzy(hunks: list[Hunk], text: str) -> tuple[str, int]:
    """The text as the library makes it, and how many hunks it dropped. Texts are unit strings.

    Deterministic: the library's time limit is off. Hunks of a patch that is too large for the search are all dropped.
    """
    sizes = [sum(len(piece) for _, piece in hunk.diffs) for hunk in hunks]
    if len(hunks) > _MOST_HUNKS or max(sizes, default=0) > _LONGEST_HUNK or len(text) > _LONGEST_TEXT:
        return text, len(hunks)
    from diff_match_patch import diff_match_patch
    from diff_match_patch.diff_match_patch import patch_obj

    library = diff_match_patch()
    library.Diff_Timeout = 0
    patches = []
    for hunk in hunks:
        patch = patch_obj()
        patch.diffs = [*hunk.diffs]
        patch.start1, patch.start2 = hunk.start1, hunk.start2
        patch.length1, patch.length2 = hunk.length1, hunk.length2
        patches.append(patch)
    result, applied = library.patch_apply(patches, text)
    return result, sum(not each for each in applied)
