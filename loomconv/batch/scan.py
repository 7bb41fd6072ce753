"""Finds the sources of a batch: in folders, archives, by patterns, and in object stores."""

from __future__ import annotations

import fnmatch
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from loomconv.batch.items import Item
from loomconv.batch.ledger import Ledger
from loomconv.batch.names import DirectoryNames, output_stem
from loomconv.errors import LoomconvError, UsageFault
from loomconv.format import Format
from loomconv.storage.archive import Archive
from loomconv.storage.companions import RESIDUE_SUFFIX
from loomconv.storage.limits import Limits

__all__ = ["BATCH_FOLDER", "Scan", "is_url"]

# Where a batch keeps its ledger and its report, in the target folder.
BATCH_FOLDER: Final = "loomconv-batch"

_ZIP: Final = b"PK\x03\x04"
# What databases and this program leave beside a file.
_BESIDE: Final = (
    (f"*{RESIDUE_SUFFIX}", "what was set aside beside a loom"),
    ("*-wal", "part of a database"),
    ("*-shm", "part of a database"),
    ("*-journal", "part of a database"),
    (".*", "hidden"),
    ("*.tmp", "temporary"),
)


def is_url(where: str) -> bool:
    """Whether this is the address of a store, such as `s3://bucket/looms`, and no path."""
    scheme, mark, _ = where.partition("://")
    return bool(mark) and len(scheme) > 1


@dataclass
class Scan:
    """Looks for sources, and gives each its name and its target.

    `include` and `exclude` are patterns for names below the source folder (`*.json`, `old/*`). `passed_over` counts
    what was not taken, by reason; `listed` has the names with their reasons if `keep_list`.
    """

    sources: Sequence[str]
    target_root: str
    formats: Sequence[Format]
    suffix: str
    ledger: Ledger | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    backups: bool = False
    keep_list: bool = False
    limits: Limits = field(default_factory=Limits)
    # Files that were written to in the last so many seconds may be half of what they will be, and are not taken yet.
    settle: float = 0.0
    unsettled: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    listed: list[tuple[str, str]] = field(default_factory=list)

    def items(self) -> Iterator[Item]:
        """All sources, folder by folder in order. Raises UsageFault for one that is not there."""
        for number, where in enumerate(self.sources):
            prefix = f"{number + 1}-{_last_part(where)}/" if len(self.sources) > 1 and not _is_file(where) else ""
            if is_url(where):
                yield from self._store(where, prefix)
            elif Path(where).is_dir():
                yield from self._folder(Path(where), prefix)
            elif Path(where).is_file():
                path = Path(where)
                yield from self._files(path.parent, [path.name], prefix, DirectoryNames())
            else:
                raise UsageFault("there is no such file or folder", source=where, next_step="Check the path.")

    # -- folders ---------------------------------------------------------------------------------------------------

    def _folder(self, root: Path, prefix: str) -> Iterator[Item]:
        target = None if is_url(self.target_root) else Path(self.target_root).resolve()
        for folder, below, names in os.walk(root, onerror=_refuse):
            here = Path(folder)
            below[:] = sorted(each for each in below if self._enters(here / each, target))
            relative = here.relative_to(root).as_posix()
            yield from self._files(here, sorted(names), prefix if relative == "." else f"{prefix}{relative}/")

    def _enters(self, folder: Path, target: Path | None) -> bool:
        if folder.name.startswith(".") or folder.name == BATCH_FOLDER or (target and folder.resolve() == target):
            return False
        # Media that an earlier conversion put beside a loom.
        return not (folder.name.endswith(".media") and folder.with_name(folder.name[:-6]).name)

    def _files(
        self, folder: Path, files: Sequence[str], prefix: str, taken: DirectoryNames | None = None
    ) -> Iterator[Item]:
        taken = taken or DirectoryNames()
        wanted = [name for name in files if self._takes(prefix + name)]
        for name in wanted:
            known = None if self.ledger is None else self.ledger.known_target(prefix + name)
            if known is not None and PurePosixPath(known).name.endswith(self.suffix):
                taken.reserve(PurePosixPath(known).name)
        for name in wanted:
            path = folder / name
            try:
                status = path.stat()
                if not path.is_file():
                    self._pass_over(prefix + name, "no regular file")
                    continue
                members = self._members(path)
            except OSError as error:
                members, status = None, os.stat_result((0,) * 10)
                self._pass_over(prefix + name, f"cannot be looked at ({error.strerror})")
                continue
            if self.settle and time.time() - status.st_mtime < self.settle:
                self.unsettled += 1
                continue
            stamp = f"{status.st_size}:{status.st_mtime_ns}"
            if members is not None:
                yield from self._archive(path, members, f"{prefix}{name}/", stamp)
                continue
            yield Item(prefix + name, str(path), self._target(prefix, name, taken), status.st_size, stamp)

    def _takes(self, name: str) -> bool:
        """Whether the name is asked for and is not that of something that belongs to a loom."""
        base = name.rpartition("/")[2]
        for pattern, reason in _BESIDE:
            if fnmatch.fnmatchcase(base, pattern):
                self._pass_over(name, reason)
                return False
        if any(_matches(name, each) for each in self.exclude) or (
            self.include and not any(_matches(name, each) for each in self.include)
        ):
            self._pass_over(name, "not asked for")
            return False
        if not self.backups:
            for chosen in self.formats:
                for pattern, reason in chosen.by_products.items():
                    if _matches(name, pattern):
                        self._pass_over(name, reason)
                        return False
        return True

    def _pass_over(self, name: str, reason: str) -> None:
        self.passed_over[reason] += 1
        if self.keep_list:
            self.listed.append((name, reason))

    def _target(self, prefix: str, name: str, taken: DirectoryNames) -> str:
        known = None if self.ledger is None else self.ledger.known_target(prefix + name)
        if known is not None and known.endswith(self.suffix):
            return known
        return prefix + taken.take(output_stem(name), self.suffix, name)

    # -- archives --------------------------------------------------------------------------------------------------

    def _members(self, path: Path) -> list[tuple[str, int, int]] | None:
        """The looms in a ZIP file that holds several; None for a bundle, and for anything else."""
        with path.open("rb") as stream:
            if stream.read(4) != _ZIP:
                return None
            try:
                archive = Archive(stream, str(path), self.limits, with_tree=False)
            except LoomconvError:
                return None  # reading it will say what is wrong
            members = archive.members
            archive.close()
            if "tree.openloom" in members or len(members) < 2:
                return None
            return [(name, info.file_size, info.CRC) for name, info in members.items()]

    def _archive(self, path: Path, members: list[tuple[str, int, int]], prefix: str, stamp: str) -> Iterator[Item]:
        folders: dict[str, DirectoryNames] = {}
        for member, size, crc in sorted(members):
            name = prefix + member
            if not self._takes(name):
                continue
            folder = name.rpartition("/")[0]
            target = self._target(f"{folder}/", member.rpartition("/")[2], folders.setdefault(folder, DirectoryNames()))
            yield Item(name, str(path), target, size, f"{size}:{crc}", member=member)

    # -- object stores ---------------------------------------------------------------------------------------------

    def _store(self, url: str, prefix: str) -> Iterator[Item]:
        """All objects below an address, or those that fit its pattern."""
        system, root = open_store(url)
        found: dict[str, Any] = system.glob(root, detail=True) if "*" in root else system.find(root, detail=True)
        base = root.split("*", 1)[0].rpartition("/")[0] if "*" in root else root
        folders: dict[str, DirectoryNames] = {}
        for path in sorted(found):
            about = found[path]
            if about.get("type") == "directory":
                continue
            relative = path[len(base) :].lstrip("/") or path.rpartition("/")[2]
            name = prefix + relative
            if not self._takes(name):
                continue
            folder, _, last = name.rpartition("/")
            target = self._target(f"{folder}/" if folder else "", last, folders.setdefault(folder, DirectoryNames()))
            size = int(about.get("size") or 0)
            mark = about.get("ETag") or about.get("etag") or about.get("mtime") or about.get("created") or ""
            yield Item(name, system.unstrip_protocol(path), target, size, f"{size}:{mark}")


def open_store(url: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it. Raises UsageFault when it cannot be reached this way."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageFault(
            "addresses of stores need fsspec", source=url, next_step="Install it: `pip install loomconv[remote]`."
        ) from None
    try:
        found: tuple[Any, str] = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageFault(
            f"this kind of store cannot be reached ({error})",
            source=url,
            next_step="Install fsspec's driver for it (s3fs, gcsfs, …).",
        ) from None
    return found


def _matches(name: str, pattern: str) -> bool:
    """Whether the whole name, or its end after a slash, fits the pattern."""
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"*/{pattern}")


def _is_file(where: str) -> bool:
    return not is_url(where) and Path(where).is_file()


def _last_part(where: str) -> str:
    return where.rstrip("/").replace("\\", "/").rpartition("/")[2]


def _refuse(error: OSError) -> None:
    raise UsageFault(
        f"a folder cannot be read ({error.strerror})",
        source=str(error.filename),
        next_step="Change its permissions, or leave it out with --exclude.",
    )
