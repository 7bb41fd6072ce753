"""Reads ZIP bundles without ever unpacking one to disk (`OL2-4.3-bundle`, `OL2-9-limits`, A26).

The directory of an archive is a list of claims by a stranger. Names are judged before anything is read, sizes are
counted while reading, and two members that some file system would take for one are told apart by refusing the second.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from loomconv.errors import LimitExceeded, UnreadableFile, UnsafeArchive
from loomconv.storage.incident import Incident
from loomconv.storage.limits import Limits
from loomconv.storage.member_names import collision_key, shown_name, unsafe_reason

__all__ = ["TREE_MEMBER", "Archive", "PackedMember", "is_archive"]

TREE_MEMBER = "tree.openloom"
TREE_SUFFIXES = (".json", ".openloom", ".jsonl")

_DIRECTORY_RECORD = b"PK\x01\x02"
# Room for a directory record with its names and extra fields; bounds what is loaded to count the members.
_RECORD_ROOM = 4096
_READ = 256 * 1024
_HEAD = 64 * 1024
_LOCAL_HEADER = struct.Struct("<26x2H")
_ENCRYPTED = 0x1 | 0x40
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What the zipfile module raises for archives that are broken, cut, or not of its kind.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def is_archive(stream: BinaryIO, source: str, limits: Limits) -> bool:
    """Whether a directory with at least one member can be read, whatever stands before the archive."""
    try:
        _open_directory(stream, source, limits).close()
    except LimitExceeded:
        raise
    except UnreadableFile:
        return False
    return True


class PackedMember(NamedTuple):
    """A member as it is packed: method (stored or deflate), CRC-32 and size of its bytes, and the packed bytes."""

    method: int
    crc: int
    size: int
    packed_size: int
    pieces: Iterator[bytes]


class Archive:
    """An opened bundle: one tree, and the members which are safe to read.

    `members` maps names to ZipInfo, in the directory's order, without folders and without the tree. Names are compared
    exactly. A member is left out, with an incident `unsafe-path`, if its name is absolute, leaves the folder, has a
    drive letter, a backslash, control characters or a device's name, if it is a link or encrypted, or if its name is
    that of an earlier member or differs from it only in letter case, Unicode form or trailing dots. `encrypted` and
    `twins` name those of the last two kinds.

    The tree is the root member `tree.openloom`, or else the only member that ends with .json, .openloom or .jsonl;
    `__MACOSX/` is not looked at. Raises UnsafeArchive if there are several or if it is encrypted, UnreadableFile if
    there is none or the archive is broken, LimitExceeded for too many members.
    """

    def __init__(self, stream: BinaryIO, source: str, limits: Limits, *, with_tree: bool = True) -> None:
        self._source = source
        self._limits = limits
        self._stream = stream
        self._unpacked: dict[str, int] = {}
        self._unpacked_total = 0
        self.encrypted: list[str] = []
        self.twins: list[str] = []
        self.incidents: list[Incident] = []
        self._zip = _open_directory(stream, source, limits)
        try:
            safe = self._safe_members()
            self._tree = safe.pop(self._tree_name(safe)) if with_tree else None
        except BaseException:
            self._zip.close()
            raise
        self.members = MappingProxyType(safe)

    @property
    def start(self) -> int:
        """The byte at which the archive starts: above 0 if something stands before it."""
        return min(info.header_offset for info in self._zip.infolist())

    def possible_trees(self) -> list[str]:
        """The safe members that may be the tree, by their names."""
        return [name for name in self.members if _is_tree(name)]

    def read_tree(self) -> bytes:
        """The bytes of the tree. Raises LimitExceeded (`document_bytes`, `bundle_bytes`, `ratio`), UnreadableFile."""
        assert self._tree is not None
        return _gathered(self._pieces(self._tree, self._limits, "document_bytes"))

    def read(self, name: str, limit: int | None = None) -> bytes | None:
        """The bytes of a safe member, None if there is none of that name; `limit` replaces `medium_bytes`.

        Raises LimitExceeded (`medium_bytes`, `bundle_bytes`, `ratio`) and UnreadableFile (damaged, or a lying size).
        """
        if name not in self.members:
            return None
        limits = self._limits if limit is None else self._limits.with_(medium_bytes=limit)
        return _gathered(self._pieces(self.members[name], limits, "medium_bytes"))

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a safe member piece by piece, checked like those of `read` when the last one has come."""
        return self._pieces(self.members[name], self._limits, "medium_bytes")

    def head(self, name: str) -> bytes:
        """The first 64 KiB of a safe member. Raises UnreadableFile, and LimitExceeded by the size that it claims."""
        info = self.members[name]
        if self._limits.medium_bytes is not None and info.file_size > self._limits.medium_bytes:
            what = f"the size of the member {shown_name(name)}"
            raise self._limits.exceeded("medium_bytes", what, source=self._source, needed=info.file_size)
        self._check_method(info)
        try:
            with self._zip.open(info) as member:
                return member.read(_HEAD)
        except _BROKEN:
            raise self._damaged(info) from None

    def packed(self, name: str) -> PackedMember:
        """A safe member as it is packed, to be copied to another archive. Raises what `pieces` raises."""
        info = self.members[name]
        for _ in self.pieces(name):
            pass  # what is copied unseen is checked before
        return PackedMember(info.compress_type, info.CRC, info.file_size, info.compress_size, self._packed_pieces(info))

    def _packed_pieces(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        self._stream.seek(info.header_offset)
        header = self._stream.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size:
            raise self._damaged(info)
        *_, name_size, extra_size = _LOCAL_HEADER.unpack(header)
        position = info.header_offset + len(header) + name_size + extra_size
        left = info.compress_size
        while left:
            self._stream.seek(position)
            piece = self._stream.read(min(_READ, left))
            if not piece:
                raise self._damaged(info)
            position += len(piece)
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Release the directory; the stream belongs to the caller."""
        self._zip.close()

    def _safe_members(self) -> dict[str, zipfile.ZipInfo]:
        infos = self._zip.infolist()
        holders: dict[str, str] = {}
        trees = [info for info in infos if info.orig_filename == TREE_MEMBER]
        if len(trees) > 1:
            raise UnsafeArchive(
                f"the archive holds {len(trees)} members of the name {TREE_MEMBER}",
                source=self._source,
                next_step="Extract the one that you want and convert it.",
            )
        if trees:
            holders[collision_key(TREE_MEMBER)] = TREE_MEMBER
        safe: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            # The name as it is stored: `filename` depends on the system and on the version of Python.
            name = info.orig_filename
            reason = unsafe_reason(name) or self._unsafe_kind(info)
            if reason is None and not name.endswith("/"):
                if name in safe or holders.setdefault(collision_key(name), name) != name:
                    self.twins.append(name)
                    reason = "its name is that of another member, or differs only in letter case or Unicode form"
                else:
                    safe[name] = info
            if reason is not None:
                self.incidents.append(Incident("unsafe-path", f"a member of the archive was skipped: {reason}", name))
        return safe

    def _unsafe_kind(self, info: zipfile.ZipInfo) -> str | None:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            return "it is a link or a device, not a file"
        if info.flag_bits & _ENCRYPTED:
            self.encrypted.append(info.orig_filename)
            return "it is encrypted"
        return None

    def _tree_name(self, safe: dict[str, zipfile.ZipInfo]) -> str:
        if TREE_MEMBER in safe:
            return TREE_MEMBER
        if any(map(_is_tree, self.encrypted)):
            raise UnsafeArchive(
                "the tree in the archive is encrypted",
                source=self._source,
                next_step="Extract it with its password and convert the extracted file.",
            )
        names = [name for name in safe if _is_tree(name)]
        if len(names) == 1:
            return names[0]
        if not names:
            raise UnreadableFile(
                f"the archive holds no tree: no {TREE_MEMBER} at its root, and no {', '.join(TREE_SUFFIXES)} member",
                source=self._source,
                next_step="Extract the file that you want and convert it.",
            )
        listed = ", ".join(map(shown_name, names[:10]))
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        raise UnsafeArchive(
            f"the archive holds several files that may be the tree: {listed}{more}",
            source=self._source,
            next_step="Extract the one that you want and convert it.",
        )

    def _what(self, info: zipfile.ZipInfo) -> str:
        return "the tree in the archive" if info is self._tree else f"the member {shown_name(info.orig_filename)}"

    def _damaged(self, info: zipfile.ZipInfo) -> UnreadableFile:
        return UnreadableFile(
            f"{self._what(info)} is damaged: its bytes are cut short or do not match the archive's directory",
            source=self._source,
            next_step="Fetch or export the archive again.",
        )

    def _check_method(self, info: zipfile.ZipInfo) -> None:
        if info.compress_type not in _METHODS:
            raise UnreadableFile(
                f"{self._what(info)} is packed by a method that is not read (number {info.compress_type})",
                source=self._source,
                next_step="Pack it again with the usual method, deflate.",
            )

    def _pieces(self, info: zipfile.ZipInfo, limits: Limits, option: str) -> Iterator[bytes]:
        """What comes out of a member, until just above a bound. It counts, also if it turns out to be broken."""
        self._check_method(info)
        bound, exceeded = self._bound(info, limits, option)
        size = 0
        try:
            with self._zip.open(info) as member:
                while piece := member.read(_READ):
                    size += len(piece)
                    self._count(info, size)
                    if bound is not None and size > bound:
                        break
                    yield piece
        except _BROKEN:
            raise self._damaged(info) from None
        if bound is not None and size > bound:
            measure = "compression ratio" if exceeded == "ratio" else "size"
            raise limits.exceeded(exceeded, f"the {measure} of {self._what(info)}", source=self._source)
        if size != info.file_size:
            raise UnsafeArchive(
                f"{self._what(info)} has another size than the archive's directory says",
                source=self._source,
                next_step="Fetch or export the archive again.",
            )

    def _count(self, info: zipfile.ZipInfo, size: int) -> None:
        before = self._unpacked.get(info.orig_filename, 0)
        if size > before:
            self._unpacked[info.orig_filename] = size
            self._unpacked_total += size - before

    def _bound(self, info: zipfile.ZipInfo, limits: Limits, option: str) -> tuple[int | None, str]:
        """How many bytes may come out of the member, and which limit says so."""
        bounds = [limits.allowance(info.compress_size, option)]
        if limits.bundle_bytes is not None:
            others = self._unpacked_total - self._unpacked.get(info.orig_filename, 0)
            bounds.append((limits.bundle_bytes - others, "bundle_bytes"))
        return min(((b, o) for b, o in bounds if b is not None), default=(None, option))


def _gathered(pieces: Iterator[bytes]) -> bytes:
    out = io.BytesIO()
    for piece in pieces:
        out.write(piece)
    return out.getvalue()


def _is_tree(name: str) -> bool:
    folder, _, base = name.rpartition("/")
    # macOS adds a shadow of each file, with the same suffix.
    shadow = folder.split("/")[0] == "__MACOSX" or base.startswith("._")
    return base.lower().endswith(TREE_SUFFIXES) and not shadow


class _GuardedStream:
    """The archive's stream, which refuses to load a directory of too many members.

    The zipfile module loads the whole directory and makes an object for each record; the count that the end record
    states is a claim. Every record starts with a mark, so that there are at most as many records as marks.
    """

    def __init__(self, stream: BinaryIO, source: str, limits: Limits) -> None:
        self._stream = stream
        self._source = source
        self._limits = limits
        self.watching = True

    def read(self, size: int = -1, /) -> bytes:
        limit = self._limits.members
        if not self.watching or limit is None or size < 0:
            return self._stream.read(size)
        if size <= limit * _RECORD_ROOM:
            data = self._stream.read(size)
            if data.count(_DIRECTORY_RECORD) <= limit:
                return data
        raise self._limits.exceeded("members", "the number of members", source=self._source)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing: the stream belongs to the caller."""


def _open_directory(stream: BinaryIO, source: str, limits: Limits) -> zipfile.ZipFile:
    guard = _GuardedStream(stream, source, limits)
    try:
        directory = zipfile.ZipFile(guard)
    except _BROKEN:
        raise UnreadableFile(
            "the ZIP archive is broken: its directory, which stands at the end, is missing or damaged",
            source=source,
            next_step="Fetch or export the archive again.",
        ) from None
    guard.watching = False
    if not directory.infolist():
        raise UnreadableFile("the ZIP archive is empty", source=source, next_step="Check that it is the right file.")
    return directory
