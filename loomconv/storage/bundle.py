"""Writes ZIP bundles (`OL2-4.3-bundle`, A26): the same members give the same bytes, and nothing is packed twice."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Final, Protocol, cast

from loomconv.storage.archive import TREE_MEMBER, PackedMember

__all__ = ["BundleWriter", "stored_member"]

# The earliest time that a ZIP can state; any other would differ from one conversion to the next.
_TIME: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
_MODE: Final = 0o100644
_LEVEL: Final = 1
_PIECE: Final = 1 << 20
# From this size on a member needs the ZIP64 form, with room for the little that packing may add.
_LARGE: Final = (1 << 32) - (1 << 20)


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class _Counted:
    """A sink that knows how much it got, and forgets to whom a view belongs."""

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink
        self._size = 0

    def write(self, data: bytes) -> int:
        self._sink.write(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def seekable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is held back here."""


class BundleWriter:
    """A bundle being written to a sink: the tree first, then its media in the order in which they are added.

    Use it as a context manager; leaving it without an error writes the directory.
    """

    def __init__(self, sink: _Sink) -> None:
        self._out = _Counted(sink)
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._out), "w", allowZip64=True)

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._zip.close()
        else:
            self._zip.fp = None  # a directory behind half a member would make it look whole

    @contextmanager
    def tree(self, *, large: bool = False) -> Iterator[IO[bytes]]:
        """A sink for the text of `tree.openloom`, which is deflated; `large` if it may be 4 GiB or more."""
        info = _info(TREE_MEMBER, zipfile.ZIP_DEFLATED)
        info._compresslevel = _LEVEL  # type: ignore[attr-defined]  # zipfile has no other way for one member
        with self._zip.open(info, "w", force_zip64=large) as sink:
            yield sink

    def add(self, name: str, member: PackedMember) -> None:
        """Add a medium as it is packed."""
        info = _info(name, member.method)
        info.CRC, info.file_size, info.compress_size = member.crc, member.size, member.packed_size
        info.header_offset = self._out.tell()
        self._out.write(info.FileHeader(zip64=max(member.size, member.packed_size) >= _LARGE))
        for piece in member.pieces:
            self._out.write(piece)
        # The module has no way to copy a packed member; this is what its own writing ends with.
        self._zip.filelist.append(info)
        self._zip.NameToInfo[name] = info
        self._zip.start_dir = self._out.tell()
        self._zip._didModify = True  # type: ignore[attr-defined]


def stored_member(data: bytes) -> PackedMember:
    """Bytes as a member that is not packed: media are packed already."""
    pieces = (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
    return PackedMember(zipfile.ZIP_STORED, zlib.crc32(data), len(data), len(data), pieces)


def _info(name: str, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=_TIME)
    info.compress_type = method
    info.create_system = _UNIX
    info.external_attr = _MODE << 16
    return info
