"""Names of the files that a conversion writes beside the one it was asked for."""

from __future__ import annotations

import re
from pathlib import Path

from loomconv.errors import UsageFault
from loomconv.storage.member_names import unsafe_reason

__all__ = ["RESIDUE_SUFFIX", "companion_path", "is_companion", "media_folder", "residue_path", "stem_of"]

RESIDUE_SUFFIX = ".loomconv-residue.json"

# Letters before the last suffix belong to it (`.openloom.json`, `.loom.jsonl`); `v1.2.json` has one suffix only.
_SUFFIXES = re.compile(r"(?<=.)(?:\.[A-Za-z][A-Za-z-]{0,15})?\.[A-Za-z0-9]{1,16}\Z", re.DOTALL)

_MEANING = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*%#~\ud800-\udfff]')


def companion_path(dst: Path, n: int) -> Path:
    """The file for the `n`-th tree where a file holds one: `story.openloom.json` gives `story-2.openloom.json` for 2.

    The first tree goes to `dst` itself. Raises UsageFault for standard output, which has no companions.
    """
    _refuse_stream(dst)
    if n == 1:
        return dst
    stem, suffix = _stem_and_suffix(dst.name)
    return dst.with_name(f"{stem}-{n}{suffix}")


def _stem_and_suffix(name: str) -> tuple[str, str]:
    match = _SUFFIXES.search(name)
    cut = match.start() if match else len(name)
    return name[:cut], name[cut:]


def is_companion(path: Path, dst: Path) -> bool:
    """Whether `path` may be the file of a further tree of `dst`, whatever its number."""
    stem, suffix = _stem_and_suffix(dst.name)
    fits = re.fullmatch(f"{re.escape(stem)}-[0-9]+{re.escape(suffix)}", path.name) is not None
    return fits and path.resolve().parent == dst.resolve().parent


def residue_path(dst: Path) -> Path:
    """The file that holds what `dst` could not: its name with `.loomconv-residue.json` after it; UsageFault for `-`."""
    _refuse_stream(dst)
    return dst.with_name(dst.name + RESIDUE_SUFFIX)


def _refuse_stream(dst: Path) -> None:
    if str(dst) == "-":
        raise UsageFault("standard output has no files beside it", next_step="Name an output file instead of `-`.")


def stem_of(name: str) -> str:
    """A file's name without its suffixes: `story.openloom.json` gives `story`, `v1.2.json` gives `v1.2`."""
    return _SUFFIXES.sub("", name)


def media_folder(dst: Path) -> str:
    """The name of the folder beside `dst` for its media: `story.openloom.json` gives `story.media`.

    The file refers to what is in it, so that it has no characters which mean something in a reference.
    """
    name = f"{_MEANING.sub('_', stem_of(dst.name))}.media"
    return name if unsafe_reason(name) is None else f"_{name}"
