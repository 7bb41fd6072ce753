"""Opens what an item stands for: a file, a member of an archive, or an object of a store."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from loomconv.batch.items import Item, stamp_of
from loomconv.batch.places import is_url
from loomconv.batch.stores import open_store
from loomconv.errors import LoomconvError, UnreadableFile
from loomconv.storage import Source, open_source
from loomconv.storage.archive import TREE_MEMBER, Archive
from loomconv.storage.limits import Limits
from loomconv.storage.tar import TarArchive, is_tar

__all__ = ["Members", "close_archives", "members_of", "opened"]

_ZIP: Final = b"PK\x03\x04"


class Members(NamedTuple):
    """What is in an archive: names with size and stamp, and names with the reason why they cannot be read, or are not
    looked at.
    """

    found: list[tuple[str, int, str]]
    troubles: list[tuple[str, str]]
    passed_over: list[tuple[str, str]]


def members_of(path: Path, limits: Limits) -> Members | None:
    """The looms in an archive of several; None for a bundle, a broken ZIP file, and for anything else.

    Raises UnreadableFile and LimitExceeded for a TAR archive, which nothing else could read either.
    """
    with path.open("rb") as stream:
        if _is_zip(stream):
            try:
                return _in_zip(stream, path, limits)
            except LoomconvError:
                return None  # reading it will say what is wrong
        return _in_tar(stream, path, limits) if is_tar(stream, path.name) else None


def _is_zip(stream: BinaryIO) -> bool:
    head = stream.read(len(_ZIP))
    stream.seek(0)
    return head == _ZIP


def _in_zip(stream: BinaryIO, path: Path, limits: Limits) -> Members | None:
    archive = Archive(stream, str(path), limits, with_tree=False)
    archive.close()
    if len(archive.members) + len(archive.encrypted) < 2 or _is_bundle(archive):
        return None
    troubles = [(name, "It is encrypted. Extract it with its password.") for name in archive.encrypted]
    found = [(name, info.file_size, f"{info.file_size}:{info.CRC}") for name, info in archive.members.items()]
    return _members(found, troubles, archive)


def _is_bundle(archive: Archive) -> bool:
    """Whether this is one loom with its pictures and sounds, by the names."""
    if TREE_MEMBER in archive.members:
        return True
    trees = archive.possible_trees()
    rest = (name for name in archive.members if name not in trees)
    return len(trees) == 1 and not archive.encrypted and all(map(_is_medium, rest))


def _is_medium(name: str) -> bool:
    return (mimetypes.guess_type(name)[0] or "").startswith(("image/", "audio/", "video/"))


def _in_tar(stream: BinaryIO, path: Path, limits: Limits) -> Members:
    status = os.fstat(stream.fileno())
    archive = TarArchive(stream, str(path), limits, status.st_size)
    archive.close()
    whole = stamp_of(status)  # a TAR archive has no checksums of its members
    found = [(name, each.size, f"{each.size}:{each.changed}:{whole}") for name, each in archive.members.items()]
    return _members(found, [], archive)


def _members(found: list[tuple[str, int, str]], troubles: list[tuple[str, str]], archive: Any) -> Members:
    """With what was left out: a second file of the same name is a loss, a name that leads elsewhere a trick."""
    twins = dict.fromkeys(archive.twins, "Its name is that of another file in the archive. Extract it.")
    told = {*twins, *(name for name, _ in troubles)}
    names = {name for name, _, _ in found}
    left = [
        (str(each.value), "not safe to unpack")
        for each in archive.incidents
        if each.value not in told and not str(each.value).endswith("/")
    ]
    return Members(found, [*troubles, *(each for each in twins.items() if each[0] not in names)], left)


class _Open(NamedTuple):
    """The archive that was read from last: its members come one after the other."""

    path: str
    stamp: str
    stream: BinaryIO
    archive: Archive | TarArchive

    def close(self) -> None:
        self.archive.close()
        self.stream.close()


_last: list[_Open] = []


def _archive(path: str, limits: Limits) -> Archive | TarArchive:
    stamp = f"{stamp_of(Path(path).stat())}:{limits}"
    if _last and (_last[0].path, _last[0].stamp) == (path, stamp):
        return _last[0].archive
    while _last:
        _last.pop().close()
    stream = Path(path).open("rb")  # noqa: SIM115 - stays open for the next member
    try:
        if _is_zip(stream):
            # Members are converted one by one: what all of them hold together is no burden.
            archive: Archive | TarArchive = Archive(stream, path, limits.with_(bundle_bytes=None), with_tree=False)
        else:
            archive = TarArchive(stream, path, limits, os.fstat(stream.fileno()).st_size)
    except BaseException:
        stream.close()
        raise
    _last.append(_Open(path, stamp, stream, archive))
    return archive


def close_archives() -> None:
    """Close the archive that was read from last."""
    while _last:
        _last.pop().close()


@contextmanager
def opened(item: Item, limits: Limits) -> Iterator[Source]:
    """The item's content, unpacked. Raises UnreadableFile and its kin, and OSError."""
    if item.member is not None:
        data = _archive(item.source, limits).read(item.member, limits.document_bytes)
        if data is None:
            raise UnreadableFile("the archive does not hold it any more", source=item.name)
        source = open_source(data, limits, name=item.name)
    elif is_url(item.source):
        source = open_source(_fetched(item, limits), limits, name=item.name)
    else:
        source = open_source(item.source, limits)
    with source:
        yield source


def _fetched(item: Item, limits: Limits) -> bytes:
    system, path = open_store(item.source)
    bound = None
    if limits.document_bytes is not None and limits.bundle_bytes is not None:
        bound = max(limits.document_bytes, limits.bundle_bytes)
        if item.size > bound:
            raise limits.exceeded("document_bytes", "the size of the object", source=item.name, needed=item.size)
    try:
        data: bytes = system.cat_file(path)
    except Exception as error:  # every store has errors of its own
        raise UnreadableFile(
            f"it cannot be fetched ({type(error).__name__})", source=item.name, next_step="Run it again with --retry."
        ) from None
    return data
