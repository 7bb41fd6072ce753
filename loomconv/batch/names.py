"""Names of output files: unique and possible on every file system."""

from __future__ import annotations

import re
from typing import Final

from loomconv.storage.companions import RESIDUE_SUFFIX, stem_of
from loomconv.storage.member_names import collision_key, unsafe_reason

__all__ = ["DirectoryNames", "output_stem", "portable", "readable", "safe_name"]

_BAD: Final = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]+')
# What turns the direction of writing, and can make a name look like another.
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BLANK: Final = re.compile(r"\s+")
# Leaves room for a number and a suffix below 255 bytes.
_LONGEST: Final = 120
# What file systems take is 255 bytes; a residue file beside the output has a longer name than the output.
_LONGEST_NAME: Final = 255 - len(RESIDUE_SUFFIX)
_UNTITLED: Final = "untitled"
_DEVICE: Final = "its name is that of a device"
_HALVES: Final = re.compile("[\ud800-\udfff]")


def safe_name(title: str) -> str:
    """A title as a file's name without a suffix, for every system: no separators, devices, or trailing dots."""
    name = _BLANK.sub(" ", _BAD.sub(" ", _TURNING.sub("", title))).strip(" .")
    while len(name.encode()) > _LONGEST:
        name = name[: max(1, len(name) * _LONGEST // len(name.encode()) - 1)].rstrip(" .")
    if not name:
        return _UNTITLED
    return f"{name}_" if unsafe_reason(name) else name


def portable(name: str) -> str:
    """A name of one file or folder as every system can have it; from an archive or a store it may be anything."""
    if name in ("", ".", ".."):
        return "_"
    name = _BAD.sub("_", name)
    name = name.rstrip(" .") or "_"
    return f"{name}_" if unsafe_reason(name) == _DEVICE else name


def readable(name: str) -> str:
    """A name without bytes that are no Unicode, which not every system takes: `%FF` stands for one."""
    return _HALVES.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", name)


class DirectoryNames:
    """Hands out the names of one folder's outputs; two that some file system takes for one are told apart.

    With `splitting` an output may become a folder of its name without the suffix, which must be free, too.
    """

    def __init__(self, splitting: bool = False) -> None:
        self._taken: set[str] = set()
        self._splitting = splitting
        self._next: dict[str, int] = {}

    def take(self, wanted: str, suffix: str, otherwise: str = "") -> str:
        """A free name: `wanted` with the suffix, else `otherwise` (the source's whole name), else with a number."""
        room = _LONGEST_NAME - len(suffix.encode())
        for stem in filter(None, (wanted, otherwise)):
            short = _cut(stem, room)
            if self._claim(short, suffix):
                return short + suffix
        short = _cut(wanted, room - 8)
        number = self._next.get(short, 2)  # where many have one name, each search goes on where the last one ended
        while not self._claim(f"{short}-{number}", suffix):
            number += 1
        self._next[short] = number + 1
        return f"{short}-{number}{suffix}"

    def reserve(self, name: str, suffix: str = "") -> None:
        """Say that a name was given before."""
        self._taken |= self._keys(name.removesuffix(suffix), suffix)

    def _claim(self, stem: str, suffix: str) -> bool:
        keys = self._keys(stem, suffix)
        if keys & self._taken:
            return False
        self._taken |= keys
        return True

    def _keys(self, stem: str, suffix: str) -> set[str]:
        keys = {collision_key(stem + suffix)}
        return {*keys, collision_key(stem)} if self._splitting and suffix else keys


def _cut(stem: str, room: int) -> str:
    """As much of a name as has room, in bytes, without cutting a character."""
    data = stem.encode("utf-8", "surrogatepass")
    if len(data) <= room:
        return stem
    return data[:room].decode("utf-8", "ignore").rstrip(" .")


def output_stem(name: str) -> str:
    """The name of a source without its suffixes: `story.openloom.json.gz` gives `story`."""
    return stem_of(name.removesuffix(".gz").removesuffix(".zip")) or name
