"""Where outputs may go: never among the sources, and never over a file that the batch did not write."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from loomconv.batch.items import Item, Settings, is_unchanged
from loomconv.batch.ledger import Former
from loomconv.batch.local import is_file, is_there
from loomconv.errors import InTheWay, UsageFault

__all__ = [
    "Guarded",
    "Territory",
    "check_places",
    "endangered",
    "is_another",
    "is_url",
    "local_path",
    "obstacle",
    "without_password",
]

_EDITED: Final = "it was changed since it was written"
_STRANGE: Final = "no run of this batch has written it"


def is_url(where: str) -> bool:
    """Whether this is the address of a store, such as `s3://bucket/looms`, and no path."""
    scheme, mark, _ = where.partition("://")
    return bool(mark) and len(scheme) > 1 and "/" not in scheme


def local_path(where: str) -> str:
    """A path as it is, and that of an address which leads to this machine's own files (`file:///looms`)."""
    for scheme in ("file://", "local://"):
        if where.startswith(scheme):
            return unquote(urlsplit(where).path) if scheme == "file://" else where.removeprefix(scheme)
    return where


def without_password(where: str) -> str:
    """An address as it may be shown: without the name and password that may stand in it."""
    scheme, mark, rest = where.partition("://")
    host, slash, path = rest.partition("/")
    if not is_url(where) or "@" not in host:
        return where
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


class Territory:
    """What belongs to the sources. The deepest of all folders that a place lies in says whose it is."""

    def __init__(self, sources: Iterable[str], target_root: str) -> None:
        self._sources = {_key(_fixed(each)) for each in sources}
        self._target = _key(target_root)

    def is_source(self, place: str) -> bool:
        """Whether a place (a path without links, or an address) is a source, or lies in one and not in the target."""
        key = _key(place)
        while True:
            if key == self._target:
                return False
            if key in self._sources:
                return True
            if not key:
                return False
            key = key.rpartition("/")[0]

    def is_target(self, place: str) -> bool:
        """Whether a place is the target or lies in it, the target itself lying in a source."""
        key = _key(place)
        return any(self._target.startswith(f"{each}/") for each in self._sources) and (
            key == self._target or key.startswith(f"{self._target}/")
        )


def _fixed(source: str) -> str:
    """The last folder of a pattern that is none; what is no pattern as it is."""
    if not glob.has_magic(source) or (not is_url(source) and os.path.lexists(source)):
        return source
    return glob.escape(source).partition("[")[0].rpartition("/")[0] or "."


def _key(place: str) -> str:
    if is_url(place):
        scheme, _, path = place.partition("://")
        return f"{scheme}://{path.strip('/')}"
    return os.path.realpath(place).replace(os.sep, "/").rstrip("/")


@functools.lru_cache(maxsize=2)
def _territory(sources: tuple[str, ...], target_root: str) -> Territory:
    return Territory(sources, target_root)


def is_another(known: str, source: str) -> bool:
    """Whether a source is another one than that which is known, and the known one is there still, as far as is seen."""
    if known == source:
        return False
    if is_url(known) or is_url(source):
        return is_url(known) and is_url(source)
    try:
        return not Path(known).samefile(source)
    except (OSError, ValueError):
        return False  # it was moved


def endangered(sources: Iterable[str], target_root: str) -> tuple[str, ...]:
    """Those of the sources that outputs could come upon: all but single files that are elsewhere."""
    target = f"{_key(target_root)}/"
    return tuple(each for each in sources if is_url(each) or not is_file(each) or _key(each).startswith(target))


class Guarded:
    """Forbids an item's outputs places where nothing may be written (see `loomconv.storage.Guard`)."""

    def __init__(self, item: Item, settings: Settings) -> None:
        self._territory = _territory(settings.sources, settings.target_root)
        self._source = os.path.realpath(item.source)
        self._own = {os.path.realpath(Path(settings.target_root, path)): stamp for path, stamp in item.own}
        self._bold = item.bold
        self._name = item.name
        self._settings = settings

    def __call__(self, place: Path) -> None:
        """Raise InTheWay for such a place."""
        self.spare_sources(place)
        try:
            status = place.stat()
        except OSError:
            return
        stamp = self._own.get(os.fspath(place))
        if stamp is None:
            stamp = self._given_up(place, status)
        if not self._bold and not self._settings.overwrite and not is_unchanged(status, stamp):
            raise _in_the_way(place, _EDITED)

    def _given_up(self, place: Path, status: os.stat_result) -> str:
        """The stamp of an output of a source that is there no more; empty where whatever is there may be replaced.

        Raises InTheWay for what is another source's, whatever was asked for, and for a stranger's file.
        """
        found = _owner(place, self._settings)
        if found is not None and found[2] and found[0] != self._name:
            raise _of_another(place, found[0])
        if found is not None:
            return found[1]
        if self._bold:
            return ""
        if self._settings.overwrite:
            if status.st_mtime_ns >= self._settings.began > 0:
                raise _of_another(place, "another file")  # which has just been written
            return ""
        raise _in_the_way(place, _STRANGE)

    def spare_sources(self, place: Path) -> None:
        """Raise InTheWay for a place among the sources."""
        if os.fspath(place) == self._source or self._territory.is_source(os.fspath(place)):
            raise _among_sources(place)


def obstacle(item: Item, settings: Settings) -> str:
    """What stands against writing an item's output, as a message; empty if nothing does."""
    place = Path(os.path.realpath(Path(settings.target_root, item.target)))
    guard = Guarded(item, settings)
    try:
        # Where trees are split, only the conversion tells which files there will be.
        guard.spare_sources(place) if settings.split else guard(place)
    except InTheWay as error:
        return f"{error.message[:1].upper()}{error.message[1:]}. {error.next_step}"
    return ""


def _owner(place: Path, settings: Settings) -> tuple[str, str, bool] | None:
    """Whose output a file is by the ledger; workers of other machines do not see that."""
    root = os.path.realpath(settings.target_root)
    if not settings.ledger or not place.is_relative_to(root):
        return None
    with Former(Path(settings.ledger)) as former:
        return former.owner(place.relative_to(root).as_posix())


def _of_another(place: Path, owner: str) -> InTheWay:
    return InTheWay(
        f"a file is in the way: {place.name}, which is what became of {owner}",
        source=str(place),
        next_step="Rename one of the two sources, or use --split.",
    )


def _in_the_way(place: Path, reason: str) -> InTheWay:
    return InTheWay(
        f"a file is in the way: {place.name}, and {reason}",
        source=str(place),
        next_step="Move it away, or replace it with --overwrite.",
    )


def _among_sources(place: Path) -> InTheWay:
    return InTheWay(
        f"the output {place.name} would come among the sources, which are never touched",
        source=str(place),
        next_step="Choose another target folder.",
    )


def check_places(sources: Sequence[str], target_root: str) -> None:
    """The sources are there, and the target is none of them. Raises UsageFault."""
    for where in sources:
        if not is_url(where) and not glob.has_magic(where) and not is_there(where):
            raise UsageFault("there is no such file or folder", source=where, next_step="Check the path.")
        if _key(where) == _key(target_root) or _is_same(where, target_root):
            raise UsageFault(
                "source and target are the same",
                source=without_password(target_root),
                next_step="Choose another target folder.",
            )


def _is_same(one: str, other: str) -> bool:
    try:
        return not is_url(one) and not is_url(other) and Path(one).samefile(other)
    except (OSError, ValueError):
        return False
