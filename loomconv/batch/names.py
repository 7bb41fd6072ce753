"""Names of output files: unique and possible on every file system."""

from __future__ import annotations

import re
from typing import Final

from loomconv.storage.companions import stem_of
from loomconv.storage.member_names import collision_key, unsafe_reason

__all__ = ["DirectoryNames", "output_stem", "safe_name"]

_BAD: Final = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]+')
_BLANK: Final = re.compile(r"\s+")
# Leaves room for a number and a suffix below 255 bytes.
_LONGEST: Final = 120
_UNTITLED: Final = "untitled"


def safe_name(title: str) -> str:
    """A title as a file's name without a suffix, for every system: no separators, devices, or trailing dots."""
    name = _BLANK.sub(" ", _BAD.sub(" ", title)).strip(" .")
    while len(name.encode()) > _LONGEST:
        name = name[: max(1, len(name) * _LONGEST // len(name.encode()) - 1)].rstrip(" .")
    if not name:
        return _UNTITLED
    return f"{name}_" if unsafe_reason(name) else name


class DirectoryNames:
    """Hands out the names of one folder's outputs; two that some file system takes for one are told apart."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str, suffix: str, otherwise: str = "") -> str:
        """A free name: `wanted` with the suffix, else `otherwise` (the source's whole name), else with a number."""
        for stem in filter(None, (wanted, otherwise)):
            if self._claim(stem + suffix):
                return stem + suffix
        number = 2
        while not self._claim(f"{wanted}-{number}{suffix}"):
            number += 1
        return f"{wanted}-{number}{suffix}"

    def reserve(self, name: str) -> None:
        """Say that a name was given before."""
        self._taken.add(collision_key(name))

    def _claim(self, name: str) -> bool:
        key = collision_key(name)
        if key in self._taken:
            return False
        self._taken.add(key)
        return True


def output_stem(name: str) -> str:
    """The name of a source without its suffixes: `story.openloom.json.gz` gives `story`."""
    return stem_of(name.removesuffix(".gz").removesuffix(".zip"))
