"""Finds the sources of a batch: in folders, archives, by patterns, and in object stores."""

from __future__ import annotations

import errno
import fnmatch
import glob
import itertools
import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from loomconv.batch.contents import Members, members_of
from loomconv.batch.items import Item, stamp_of
from loomconv.batch.ledger import Former
from loomconv.batch.local import is_folder, is_there
from loomconv.batch.names import DirectoryNames, output_stem, portable, readable
from loomconv.batch.places import Territory, is_url, without_password
from loomconv.batch.stores import canonical, open_store
from loomconv.errors import LoomconvError, UsageFault
from loomconv.format import Format
from loomconv.storage.companions import RESIDUE_SUFFIX, media_folder
from loomconv.storage.limits import Limits
from loomconv.storage.member_names import collision_key

__all__ = ["BATCH_FOLDER", "Scan"]

# Where a batch keeps its ledger and its report, in the target folder.
BATCH_FOLDER: Final = "loomconv-batch"

_MEDIA: Final = ".media"
# What files are looked into that are not asked for themselves.
_PACKED: Final = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz")
# A file went away, or is a link to nowhere or to itself.
_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_NOT_ASKED: Final = "not asked for"
# What databases and this program leave beside a file.
_BESIDE: Final = (
    (f"*{RESIDUE_SUFFIX}", "what was set aside beside a loom"),
    ("*-wal", "part of a database"),
    ("*-shm", "part of a database"),
    ("*-journal", "part of a database"),
    (".*", "hidden"),
    ("*.tmp", "temporary"),
)


@dataclass
class Scan:
    """Looks for sources, and gives each its name and its target.

    `include` and `exclude` are patterns for names below the source folder (`*.json`, `old/*`), also of folders and
    archives, which then stand for all that is in them. `passed_over` counts what was not taken, by reason; `listed` has
    the names with their reasons if `keep_list`.
    """

    sources: Sequence[str]
    target_root: str
    formats: Sequence[Format]
    suffix: str
    former: Former | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    backups: bool = False
    keep_list: bool = False
    limits: Limits = field(default_factory=Limits)
    splitting: bool = False
    # Files that were written to in the last so many seconds may be half of what they will be, and are not taken yet.
    settle: float = 0.0
    unsettled: int = 0
    # What is in archives, by path, with the archives' stamps: who looks again and again unpacks none twice.
    looked_into: dict[str, tuple[str, Members | None]] | None = None
    passed_over: Counter[str] = field(default_factory=Counter)
    listed: list[tuple[str, str]] = field(default_factory=list)

    def items(self) -> Iterator[Item]:
        """All sources, folder by folder in order. Raises UsageFault for one that is not there."""
        seen: set[str] = set()
        files: set[str] = set()
        among_files = self._names()
        for number, where in enumerate(self.sources):
            place = where if is_url(where) else os.path.realpath(where)
            if place in seen:
                continue  # named twice
            seen.add(place)
            if is_url(where):
                yield from self._store(where, self._prefix(number, where))
            elif is_folder(where):
                yield from self._folder(Path(where), self._prefix(number, where))
            elif is_there(where):
                path = Path(where)
                first = collision_key(path.name) not in files
                files.add(collision_key(path.name))
                prefix = "" if first else self._prefix(number, str(path.absolute().parent))
                yield from self._files(
                    path.parent, [path.name], prefix, prefix, among_files if first else self._names()
                )
            elif glob.has_magic(where):
                yield from self._pattern(where, number)
            else:
                raise UsageFault("there is no such file or folder", source=where, next_step="Check the path.")

    def _pattern(self, where: str, number: int) -> Iterator[Item]:
        """What fits a pattern, named from the last folder that is no pattern."""
        parts = Path(where).parts
        fixed = next(index for index, part in enumerate(parts) if glob.has_magic(part))
        base = Path(*parts[:fixed])
        prefix = self._prefix(number, str(base.absolute()))
        if "**" in where:  # which would follow links in circles
            raise UsageFault(
                "a pattern cannot reach into folders of any depth",
                source=where,
                next_step="Name the folder itself, and choose with --include.",
            )
        found = sorted(map(Path, glob.iglob(where)), key=lambda path: (path.parent, path.name))  # noqa: PTH207 - may be absolute
        inside = Territory([str(base)], self.target_root)
        found = [path for path in found if not inside.is_target(str(path))]
        if not found:
            raise UsageFault("nothing fits the pattern", source=where, next_step="Check the pattern.")
        target = self._local_target()
        for folder, group in itertools.groupby(found, key=lambda path: path.parent):
            paths = list(group)
            relative = folder.relative_to(base).as_posix()
            above = prefix if relative == "." else f"{prefix}{relative}/"
            taken = self._names()
            files = [path.name for path in paths if not path.is_dir()]
            for path in paths:
                if path.is_dir() and self._enters(path, above + path.name, target, files):
                    into = f"{readable(above)}{taken.take(readable(path.name), '')}/"
                    yield from self._folder(path, f"{above}{path.name}/", into)
            yield from self._files(folder, files, above, readable(above), taken)

    def _local_target(self) -> str | None:
        return None if is_url(self.target_root) else os.path.realpath(self.target_root)

    def _prefix(self, number: int, where: str) -> str:
        """What names of a source begin with where there are several."""
        return f"{number + 1}-{_last_part(where)}/" if len(self.sources) > 1 else ""

    def _names(self) -> DirectoryNames:
        return DirectoryNames(self.splitting)

    # -- folders ---------------------------------------------------------------------------------------------------

    def _folder(self, root: Path, prefix: str, into: str = "") -> Iterator[Item]:
        target = self._local_target()
        closed: list[OSError] = []
        # The folders to come: each by the target's folder that it becomes.
        targets = {os.fspath(root): into or readable(prefix)}
        for folder, below, names in os.walk(root, onerror=closed.append):
            yield from self._closed(closed, root, prefix)
            here = Path(folder)
            relative = here.relative_to(root).as_posix()
            above = prefix if relative == "." else f"{prefix}{relative}/"
            into = targets.pop(folder)
            taken = self._names()
            below[:] = sorted(each for each in below if self._enters(here / each, above + each, target, names))
            for each in below:
                targets[os.path.join(folder, each)] = f"{into}{taken.take(readable(each), '')}/"  # noqa: PTH118 - as os.walk spells it
            yield from self._files(here, sorted(names), above, into, taken)
        yield from self._closed(closed, root, prefix)

    def _closed(self, errors: list[OSError], root: Path, prefix: str) -> Iterator[Item]:
        """Folders that cannot be looked into: what is in them is missing, which is told like a file that failed."""
        for error in errors:
            if isinstance(error, FileNotFoundError) and is_folder(root):
                continue  # it went away
            folder = Path(os.fsdecode(error.filename or root))
            if folder == root:
                raise UsageFault(
                    f"the folder cannot be read ({error.strerror})",
                    source=str(root),
                    next_step="Check that it is there, and its permissions.",
                )
            name = f"{prefix}{folder.relative_to(root).as_posix()}/"
            message = (
                f"The folder cannot be read ({error.strerror}). Change its permissions, or leave it out with --exclude."
            )
            yield Item(name, str(folder), name, 0, "", trouble=message)
        errors.clear()

    def _enters(self, folder: Path, name: str, target: str | None, files: Iterable[str]) -> bool:
        if folder.name == BATCH_FOLDER or (self.former is not None and _is_same(folder, self.former.folder)):
            return False
        if folder.name.startswith("."):
            self._pass_over(f"{name}/", "hidden")
        elif folder.is_symlink():
            self._pass_over(f"{name}/", "a link to a folder")
        elif self._is_excluded(name):
            self._pass_over(f"{name}/", _NOT_ASKED)
        elif target and os.path.realpath(folder) == target:
            return False
        elif folder.name.endswith(_MEDIA) and any(media_folder(Path(each)) == folder.name for each in files):
            self._pass_over(f"{name}/", "media beside a loom")
        else:
            return True
        return False

    def _files(
        self, folder: Path, files: Sequence[str], prefix: str, into: str, taken: DirectoryNames
    ) -> Iterator[Item]:
        """The files of a folder: their names begin with `prefix`, and their outputs' paths with `into`."""
        wanted = []
        archives: dict[str, Members | None] = {}
        for name in files:
            reason = self._reason(prefix + name)
            # What is in an archive may be asked for where the archive itself is not.
            if reason == _NOT_ASKED and not self._is_excluded(prefix + name):
                archives[name] = _looked_into(folder / name, self.limits)
                reason = "" if archives[name] is not None else reason
            if reason:
                self._pass_over(prefix + name, reason)
            else:
                wanted.append(name)
        for name in wanted:
            known = self._known(prefix + name)
            if known is not None:
                taken.reserve(PurePosixPath(known).name, self.suffix)
        for name in wanted:
            yield from self._file(folder / name, name, prefix, into, taken, archives.get(name))

    def _file(
        self, path: Path, name: str, prefix: str, into: str, taken: DirectoryNames, members: Members | None
    ) -> Iterator[Item]:
        status = os.stat_result((0,) * 10)
        trouble = ""
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                self._pass_over(prefix + name, "no regular file")
                return
            if self.settle and 0 <= time.time() - status.st_mtime < self.settle:
                self.unsettled += 1
                return
            members = members or self._members(path, stamp_of(status))
        except LoomconvError as error:
            trouble = f"{error.message[:1].upper()}{error.message[1:]}. {error.next_step}"
        except OSError as error:
            if error.errno in _GONE:
                self._pass_over(prefix + name, f"cannot be looked at ({error.strerror})")
                return
            # Whatever else the system has against it, trying to convert it will say so.
        if members is not None:
            yield from self._archive(path, members, f"{prefix}{name}/", f"{into}{readable(name)}/")
        else:
            target = self._target(prefix + name, into, name, taken)
            place = str(path.absolute())
            yield Item(prefix + name, place, target, status.st_size, stamp_of(status), trouble=trouble)

    def _members(self, path: Path, stamp: str) -> Members | None:
        if self.looked_into is None:
            return members_of(path, self.limits)
        known = self.looked_into.get(str(path))
        if known is None or known[0] != stamp:
            known = stamp, members_of(path, self.limits)
            self.looked_into[str(path)] = known
        return known[1]

    def _reason(self, name: str) -> str:
        """Why a name is not taken: it is that of something that belongs to a loom, or not asked for; else empty."""
        base = name.rpartition("/")[2]
        for pattern, reason in _BESIDE:
            if fnmatch.fnmatchcase(base, pattern):
                return reason
        if self._is_excluded(name) or (self.include and not _fits(name, self.include)):
            return _NOT_ASKED
        if not self.backups:
            for chosen in self.formats:
                for pattern, reason in chosen.by_products.items():
                    if _matches(name, pattern):
                        return reason
        return ""

    def _is_excluded(self, name: str) -> bool:
        return bool(self.exclude) and _fits(name, self.exclude)

    def _pass_over(self, name: str, reason: str) -> None:
        self.passed_over[reason] += 1
        if self.keep_list:
            self.listed.append((name, reason))

    def _known(self, name: str) -> str | None:
        """The output's path that the source had in an earlier run, if it fits this one."""
        known = None if self.former is None else self.former.known_target(name)
        return known if known is not None and known.endswith(self.suffix) else None

    def _target(self, name: str, into: str, base: str, taken: DirectoryNames) -> str:
        return self._known(name) or into + taken.take(readable(output_stem(base)), self.suffix, readable(base))

    # -- archives and stores ---------------------------------------------------------------------------------------

    def _archive(self, path: Path, members: Members, prefix: str, into: str) -> Iterator[Item]:
        for name, reason in members.passed_over:
            self._pass_over(prefix + name, reason)
        for name, trouble in members.troubles:
            if self._takes(prefix + name):
                yield Item(prefix + name, str(path.absolute()), into + name, 0, "", name, trouble=trouble)
        folders = _Folders(self, into)
        for member, size, stamp in sorted(members.found):
            if self._takes(prefix + member):
                target = folders.target(prefix + member, member)
                yield Item(prefix + member, str(path.absolute()), target, size, stamp, member=member)

    def _takes(self, name: str) -> bool:
        """Whether a member or an object is taken."""
        reason = self._reason(name)
        if reason:
            self._pass_over(name, reason)
        return not reason

    def _store(self, url: str, prefix: str) -> Iterator[Item]:
        """All objects below an address, or those that fit its pattern."""
        system, root = open_store(url)
        try:
            found: dict[str, Any] = system.glob(root, detail=True) if "*" in root else system.find(root, detail=True)
        except Exception as error:  # every store has errors of its own
            raise UsageFault(
                f"the store cannot be listed ({type(error).__name__})",
                source=without_password(url),
                next_step="Check the address and your rights there.",
            ) from None
        if not found and "*" not in root and not system.exists(root):
            raise UsageFault("there is nothing", source=without_password(url), next_step="Check the address.")
        base = root.split("*", 1)[0].rpartition("/")[0] if "*" in root else root
        outside = Territory([canonical(url)], canonical(self.target_root))
        folders = _Folders(self, readable(prefix))
        for path in sorted(found):
            about = found[path]
            if about.get("type") == "directory":
                continue
            relative = path[len(base) :].lstrip("/") or path.rpartition("/")[2]
            address = system.unstrip_protocol(path)
            if f"/{BATCH_FOLDER}/" in f"/{relative}" or outside.is_target(address):
                continue  # what this batch has written
            if self._takes(prefix + relative):
                size = int(about.get("size") or 0)
                mark = about.get("ETag") or about.get("etag") or about.get("mtime") or about.get("created") or ""
                target = folders.target(prefix + relative, relative)
                yield Item(prefix + relative, address, target, size, f"{size}:{mark}")


class _Folders:
    """Gives what comes from an archive or a store its output's path; names there may be any text.

    In the target folder of this machine they become names that every system can have; one store gets those of another.
    """

    def __init__(self, scan: Scan, into: str) -> None:
        self._scan = scan
        self._into = into
        self._by_folder: dict[str, DirectoryNames] = {}
        self._is_local = not is_url(scan.target_root)

    def target(self, name: str, relative: str) -> str:
        *above, base = (self._possible(part) for part in relative.split("/"))
        folder = self._into + "".join(f"{part}/" for part in above)
        taken = self._by_folder.setdefault(collision_key(folder), self._scan._names())
        return self._scan._target(name, folder, base, taken)

    def _possible(self, part: str) -> str:
        return portable(part) if self._is_local or part in ("", ".", "..") else readable(part)


def _is_same(one: Path, other: Path) -> bool:
    return one.name == other.name and os.path.realpath(one) == os.path.realpath(other)


def _looked_into(path: Path, limits: Limits) -> Members | None:
    if not path.name.lower().endswith(_PACKED):
        return None
    try:
        return members_of(path, limits) if path.is_file() else None
    except (LoomconvError, OSError):
        return None


def _fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name, or a folder or an archive that it is in, fits one of the patterns."""
    while name:
        if any(_matches(name, each.rstrip("/")) for each in patterns):
            return True
        name = name.rpartition("/")[0]
    return False


def _matches(name: str, pattern: str) -> bool:
    """Whether the whole name, or its end after a slash, fits the pattern."""
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"*/{pattern}")


def _last_part(where: str) -> str:
    return where.rstrip("/").replace("\\", "/").rpartition("/")[2]
