"""Opens an input: a file, a stream or bytes, with its container (gzip, ZIP) taken off and every limit enforced."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Literal

from loomconv.errors import UnreadableFile
from loomconv.storage.incident import Incident
from loomconv.storage.inflate import GZIP_MAGIC, inflate
from loomconv.storage.limits import Limits
from loomconv.storage.siblings import find_siblings, read_sibling

if TYPE_CHECKING:
    from zipfile import ZipInfo

    from loomconv.storage.archive import Archive

__all__ = ["MMAP_FROM", "SQLITE_MAGIC", "Container", "Source", "open_source"]

Container = Literal["plain", "gzip", "zip"]

# What SQLite databases begin with.
SQLITE_MAGIC = b"SQLite format 3\0"

# From this size on a plain file is mapped instead of read.
MMAP_FROM = 8 * 1024 * 1024

_READ = 1024 * 1024
_HEAD = 4
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_ZIP_END = b"PK\x05\x06"
# The end record is 22 bytes, and its comment at most 65,535.
_ZIP_TAIL = 22 + 65_535
_NO_MEMBERS: Mapping[str, ZipInfo] = MappingProxyType({})


class Source:
    """An opened input. Use it as a context manager, or call `close`.

    `name` is the input as the user named it (`<stdin>` for `-`); `path` its path, None unless it is a regular file.
    `data` is the text of the one document in it, unpacked: bytes, or a read-only map for plain files from 8 MiB on.
    (Cutting a mapped file short from outside while it is read kills the process, as for every map; replacing it, as
    `AtomicFile` does, is safe.) `size` is its length. `container` says what was taken off, `truncated` that a gzip
    stream ends too early, `incidents` what was skipped. `members` are the safe media members of a ZIP, which `archive`
    gives the bytes of.
    """

    def __init__(
        self,
        name: str,
        data: bytes | mmap.mmap,
        limits: Limits,
        *,
        path: Path | None = None,
        container: Container = "plain",
        truncated: bool = False,
        incidents: list[Incident] | None = None,
        archive: Archive | None = None,
        stream: BinaryIO | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.data = data
        self.size = len(data)
        self.limits = limits
        self.container: Container = container
        self.truncated = truncated
        self.incidents = tuple(incidents or ())
        self.members: Mapping[str, ZipInfo] = _NO_MEMBERS if archive is None else archive.members
        self.archive = archive
        self._stream = stream

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def shown_name(self) -> str:
        """The name for reports: without folders, so that they do not depend on the machine; `-` for standard input."""
        return "-" if self.name == "<stdin>" else Path(self.name).name

    def close(self) -> None:
        """Release the file and, if nobody holds a view on it, the map. May be called twice."""
        self.detach()
        if isinstance(self.data, mmap.mmap):
            try:
                self.data.close()
            except BufferError:
                # Somebody still holds a memoryview; the map goes when the last one does.
                return

    def detach(self) -> None:
        """Release the files behind the source, but not `data`: members of a ZIP cannot be read any more."""
        if self.archive is not None:
            self.archive.close()
        if self._stream is not None:
            self._stream.close()

    def digest(self) -> str:
        """The SHA-256 of `data` in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    def read_member(self, name: str, limit: int | None = None) -> bytes | None:
        """The bytes of a media member of the ZIP, by its exact name; None if there is no such safe member, or no ZIP.

        `limit` replaces `medium_bytes`. Raises LimitExceeded, UnreadableFile (a damaged member).
        """
        return None if self.archive is None else self.archive.read(name, limit)

    def beside(self, pattern: str) -> list[Path]:
        """The regular files in the source's folder that match `pattern`, sorted; [] for streams.

        See `find_siblings` for the patterns.
        """
        return [] if self.path is None else find_siblings(self.path, pattern)

    def read_beside(self, path: Path, limit: int | None = None) -> bytes:
        """The bytes of a file that `beside` gave; `limit` replaces `medium_bytes`.

        Raises UnreadableFile (also for a path outside the folder), LimitExceeded.
        """
        if self.path is None:
            raise UnreadableFile("a stream has no files beside it", source=self.name, next_step="Name a file instead.")
        return read_sibling(self.path, path, limit, self.limits)


def open_source(
    where: str | os.PathLike[str] | bytes,
    limits: Limits | None = None,
    *,
    stdin: BinaryIO | None = None,
    name: str | None = None,
) -> Source:
    """Open a path, `-` (standard input, or `stdin`), or bytes; `name` replaces the name shown in messages.

    gzip and ZIP are recognised by content, a ZIP also behind other bytes (`zip-prefix`). One level is taken off: an
    archive inside a gzip file, or the other way round, is refused with the advice to unpack it. Raises UnreadableFile
    (missing, folder, empty, damaged, no permission), UnsafeArchive, LimitExceeded. Cost: one pass over the input; for
    a mapped file nothing but its first and last bytes.
    """
    limits = limits or Limits()
    if isinstance(where, bytes):
        return _from_bytes(where, name or "<bytes>", limits)
    written = os.fspath(where)
    if written == "-":
        name = name or "<stdin>"
        stream = stdin or getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise UnreadableFile("standard input is closed", source=name, next_step="Name a file instead of `-`.")
        return _from_bytes(_read_stream(stream, name, limits), name, limits)
    return _from_path(Path(written), name or written, limits)


def _from_path(path: Path, name: str, limits: Limits) -> Source:
    stream = _open_file(path, name)
    try:
        status = os.fstat(stream.fileno())
        # Files of /proc say that they are empty, and devices have no size: only reading tells.
        if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
            with stream:
                return _from_bytes(_read_stream(stream, name, limits), name, limits)
        return _open_container(stream, status.st_size, name, limits, path)
    except OSError as error:
        stream.close()
        raise UnreadableFile(
            f"the file cannot be read ({error.strerror})", source=name, next_step="Check the disk it is on."
        ) from None
    except BaseException:
        stream.close()
        raise


def _from_bytes(data: bytes, name: str, limits: Limits) -> Source:
    if not data:
        raise _empty(name)
    return _open_container(io.BytesIO(data), len(data), name, limits, None)


def _open_file(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        message, step = "there is no such file", "Check the spelling of the path."
    except IsADirectoryError:
        message, step = "this is a folder", "Name one of the files in it."
    except PermissionError:
        message, step = "there is no permission to read the file", "Change its permissions, or read it as its owner."
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a possible path"
        message, step = f"the file cannot be opened ({reason})", "Check the path."
    raise UnreadableFile(message, source=name, next_step=step) from None


def _read_stream(stream: BinaryIO, name: str, limits: Limits) -> bytes:
    """All of a stream. It may be an archive, so that the larger of two limits holds until that is known."""
    bound = None
    if limits.document_bytes is not None and limits.bundle_bytes is not None:
        bound = max(limits.document_bytes, limits.bundle_bytes)
    kept = io.BytesIO()
    while piece := stream.read(_READ):
        kept.write(piece)
        if bound is not None and kept.tell() > bound:
            raise limits.exceeded("document_bytes", "the size of the input", source=name)
    return kept.getvalue()


def _open_container(stream: BinaryIO, size: int, name: str, limits: Limits, path: Path | None) -> Source:
    """Take the container off; the stream is kept open by the source only if it is an archive's."""
    head = stream.read(_HEAD)
    stream.seek(0)
    if head.startswith(GZIP_MAGIC):
        with stream:
            inflated = inflate(stream, size, limits, name)
        _check_text(inflated.data, name)
        return Source(
            name,
            inflated.data,
            limits,
            path=path,
            container="gzip",
            truncated=inflated.truncated,
            incidents=inflated.incidents,
        )
    bundle = _open_archive(stream, size, head, name, limits, path)
    if bundle is not None:
        return bundle
    if limits.document_bytes is not None and size > limits.document_bytes:
        raise limits.exceeded("document_bytes", "the size of the document", source=name, needed=size)
    stream.seek(0)
    with stream:
        data = stream.getvalue() if isinstance(stream, io.BytesIO) else _map_or_read(stream, size)
    return Source(name, data, limits, path=path)


def _open_archive(
    stream: BinaryIO, size: int, head: bytes, name: str, limits: Limits, path: Path | None
) -> Source | None:
    prefixed = not head.startswith(_ZIP_MAGICS)
    if prefixed and (SQLITE_MAGIC.startswith(head) or not _ends_like_archive(stream, size)):
        return None
    from loomconv.storage.archive import Archive, is_archive

    if prefixed and not is_archive(stream, name, limits):
        return None
    incidents = []
    archive = Archive(stream, name, limits)
    try:
        if prefixed:
            message = "bytes before the ZIP archive were ignored"
            incidents.append(Incident("zip-prefix", message, f"{archive.start} bytes"))
        data = archive.read_tree()
        _check_text(data, name)
    except BaseException:
        archive.close()
        raise
    incidents += archive.incidents
    return Source(name, data, limits, path=path, container="zip", incidents=incidents, archive=archive, stream=stream)


def _ends_like_archive(stream: BinaryIO, size: int) -> bool:
    """Whether a ZIP's end record stands where it may stand; spares plain files the import of zipfile."""
    stream.seek(max(0, size - _ZIP_TAIL))
    return _ZIP_END in stream.read(_ZIP_TAIL)


def _map_or_read(stream: BinaryIO, size: int) -> bytes | mmap.mmap:
    if size >= MMAP_FROM:
        try:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError:
            # Some file systems have no maps; reading costs memory but gives the same.
            stream.seek(0)
    return stream.read(size)


def _check_text(data: bytes, name: str) -> None:
    """What came out of a container is one document: not empty, and not a container again."""
    if not data:
        raise _empty(name)
    if data.startswith((GZIP_MAGIC, *_ZIP_MAGICS)):
        raise UnreadableFile(
            "the container holds another container (gzip or ZIP)",
            source=name,
            next_step="Unpack the outer one and convert what is in it.",
        )


def _empty(name: str) -> UnreadableFile:
    return UnreadableFile("there is nothing in it", source=name, next_step="Check that the file was saved completely.")
