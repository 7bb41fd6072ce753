"""Reads TAR archives, packed or not, without ever unpacking one to disk under the names in it.

The whole is unpacked once, bounded, to a temporary file without a name; members are then read from there by position.
Headers are claims by a stranger: checksums are verified, sizes compared with what is there, and names judged.
"""

from __future__ import annotations

import bz2
import lzma
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO, Final, NamedTuple

from loomconv.errors import LimitExceeded, UnreadableFile
from loomconv.storage.incident import Incident
from loomconv.storage.inflate import GZIP_MAGIC
from loomconv.storage.limits import Limits
from loomconv.storage.member_names import collision_key, shown_name, unsafe_reason

__all__ = ["TarArchive", "TarMember", "is_tar"]

_BLOCK: Final = 512
_READ: Final = 256 * 1024
_STEP: Final = 1024 * 1024
# Up to this size the unpacked archive stays in memory.
_IN_MEMORY: Final = 8 * 1024 * 1024
# A pax header or a long name; real ones have some hundred bytes.
_LONGEST_HEADER: Final = 64 * 1024
# What the settings of `xz -9` need; a stranger's file may claim much more.
_XZ_MEMORY: Final = 128 * 1024 * 1024
_BZIP_MAGIC: Final = b"BZh"
_XZ_MAGIC: Final = b"\xfd7zXZ\0"
_REGULAR: Final = (b"0", b"\0", b"7")
_FOLDER: Final = b"5"
_LONG_NAME: Final = b"L"
_PAX: Final = b"x"
# Long names of links, and what holds for the whole archive.
_IGNORED: Final = (b"K", b"g")
_UNPACKING: Final = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


class TarMember(NamedTuple):
    """A member: where its bytes are in the unpacked archive, how many, and when it was changed, as it is written."""

    offset: int
    size: int
    changed: str


def is_tar(stream: BinaryIO, name: str) -> bool:
    """Whether the stream, which stands at its start and is left there, is a TAR archive, packed or not.

    The first header is looked at; old archives, which have no mark in it, need a name that says so.
    """
    head = stream.read(_BLOCK)
    unpacker = _unpacker(head)
    if unpacker is not None:
        try:
            # Even the first byte of a bzip2 file stands behind a whole block of it.
            head = unpacker().decompress(head + stream.read(4 * _READ), _BLOCK)
        except (*_UNPACKING, MemoryError):
            head = b""
    stream.seek(0)
    if len(head) < _BLOCK or not _is_header(head):
        return False
    return head[257:262] == b"ustar" or ".tar" in name.lower() or name.lower().endswith(".tgz")


def _unpacker(head: bytes) -> Callable[[], Any] | None:
    if head.startswith(GZIP_MAGIC):
        return lambda: zlib.decompressobj(wbits=31)
    if head.startswith(_BZIP_MAGIC):
        return bz2.BZ2Decompressor
    if head.startswith(_XZ_MAGIC):
        return lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
    return None


class TarArchive:
    """An opened archive; `members` maps names to what is safe to read, in the archive's order.

    A member is left out, with an incident `unsafe-path`, if its name is not safe, is that of an earlier one (or differs
    only in letter case, Unicode form or trailing dots), or if it is a link, a device, or a file with holes. Of what
    follows a broken header nothing is known: then UnreadableFile is raised, as for an archive that is cut short.
    Raises LimitExceeded (`members`, `bundle_bytes`, `ratio`). The stream belongs to the caller, and is read once.
    """

    def __init__(self, stream: BinaryIO, source: str, limits: Limits, size: int) -> None:
        self._source = source
        self._limits = limits
        self.incidents: list[Incident] = []
        self.twins: list[str] = []
        self._text = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - lives until `close`
        try:
            self._unpack(stream, size)
            self._size = self._text.tell()
            self.members: Mapping[str, TarMember] = MappingProxyType(self._listed())
        except BaseException:
            self._text.close()
            raise

    def close(self) -> None:
        """Release the unpacked bytes."""
        self._text.close()

    def read(self, name: str, limit: int | None) -> bytes | None:
        """The bytes of a member, None if there is none of that name. Raises LimitExceeded (`document_bytes`)."""
        member = self.members.get(name)
        if member is None:
            return None
        if limit is not None and member.size > limit:
            what = f"the size of the member {shown_name(name)}"
            raise self._limits.exceeded("document_bytes", what, source=self._source, needed=member.size)
        self._text.seek(member.offset)
        return self._text.read(member.size)

    def _unpack(self, stream: BinaryIO, size: int) -> None:
        head = stream.read(_BLOCK)
        unpacker = _unpacker(head)
        allowed, option = self._limits.allowance(size, "bundle_bytes")
        if unpacker is None and option == "ratio":
            allowed, option = self._limits.bundle_bytes, "bundle_bytes"
        try:
            for piece in _plain(head, stream) if unpacker is None else _unpacked(head, stream, unpacker):
                self._keep(piece)
                if allowed is not None and self._text.tell() > allowed:
                    what = "the compression ratio" if option == "ratio" else "the unpacked size of the archive"
                    raise self._limits.exceeded(option, what, source=self._source)
        except (LimitExceeded, MemoryError):
            raise
        except _UNPACKING:
            raise self._broken("its packed data is damaged") from None

    def _keep(self, piece: bytes) -> None:
        try:
            self._text.write(piece)
        except OSError as error:
            raise UnreadableFile(
                f"the TAR archive cannot be unpacked to a temporary file ({error.strerror})",
                source=self._source,
                next_step="Make room in the folder for temporary files, or set TMPDIR to another one.",
            ) from None

    def _listed(self) -> dict[str, TarMember]:
        found: dict[str, TarMember] = {}
        holders: dict[str, str] = {}
        position, headers = 0, 0
        fields: dict[str, str] = {}
        while (block := self._block(position)) is not None:
            headers += 1
            if self._limits.members is not None and headers > 3 * self._limits.members:
                raise self._limits.exceeded("members", "the number of members", source=self._source)
            kind = block[156:157]
            size = _number(block[124:136])
            if "size" in fields and kind not in (_LONG_NAME, _PAX, *_IGNORED):
                size = int(fields["size"]) if fields["size"].isdecimal() and len(fields["size"]) < 19 else -1
            data = position + _BLOCK
            if size < 0 or data + size > self._size:
                raise self._broken("it ends in the middle of a member")
            position = data + -(-size // _BLOCK) * _BLOCK
            if kind in (_LONG_NAME, _PAX):
                fields |= self._more(kind, data, size)
                continue
            if kind in _IGNORED:
                continue
            name = fields.get("path") or _name(block)
            has_holes = any(key.startswith("GNU.sparse") for key in fields)
            changed = fields.get("mtime") or str(_number(block[136:148]))
            fields = {}
            self._take(name, kind, TarMember(data, size, changed[:40]), found, holders, has_holes=has_holes)
            if self._limits.members is not None and len(found) > self._limits.members:
                raise self._limits.exceeded("members", "the number of members", source=self._source)
        return found

    def _take(
        self,
        name: str,
        kind: bytes,
        member: TarMember,
        found: dict[str, TarMember],
        holders: dict[str, str],
        *,
        has_holes: bool,
    ) -> None:
        name = name.removeprefix("./")
        if kind == _FOLDER or not name or name.endswith("/"):
            return
        reason = unsafe_reason(name)
        if reason is None and (kind not in _REGULAR or has_holes):
            reason = "it is a link, a device or a file with holes"
        if reason is None and (name in found or holders.setdefault(collision_key(name), name) != name):
            reason = "its name is that of another member, or differs only in letter case or Unicode form"
            self.twins.append(name)
        if reason is None:
            found[name] = member
        else:
            self.incidents.append(Incident("unsafe-path", f"a member of the archive was skipped: {reason}", name))

    def _block(self, position: int) -> bytes | None:
        """The header at a position; None at the end."""
        self._text.seek(position)
        block = self._text.read(_BLOCK)
        if position and not block.strip(b"\0"):
            return None  # the end is marked by blocks of zeros, which some writers leave out
        if len(block) < _BLOCK or not _is_header(block):
            raise self._broken(f"there is no header where one must be, at byte {position}")
        return block

    def _more(self, kind: bytes, data: int, size: int) -> dict[str, str]:
        """What a header says of the member that follows: a long name, or fields by name."""
        if size > _LONGEST_HEADER:
            raise self._broken("it has a header of a size that no header has")
        self._text.seek(data)
        content = self._text.read(size)
        if kind == _LONG_NAME:
            return {"path": _text(content)}
        fields = {}
        start = 0
        while start < len(content):
            length, blank, _ = content[start : start + 8].partition(b" ")
            if not blank or not length.isdigit() or int(length) < len(length) + 3:
                raise self._broken("it has a header that cannot be read")
            record = content[start + len(length) + 1 : start + int(length)]
            key, _, value = record.removesuffix(b"\n").partition(b"=")
            fields[_text(key)] = _text(value)
            start += int(length)
        return fields

    def _broken(self, reason: str) -> UnreadableFile:
        return UnreadableFile(
            f"the TAR archive is broken: {reason}",
            source=self._source,
            next_step="Fetch or export the archive again.",
        )


def _plain(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    piece = head
    while piece:
        yield piece
        piece = stream.read(_READ)


def _unpacked(head: bytes, stream: BinaryIO, unpacker: Callable[[], Any]) -> Iterator[bytes]:
    """What comes out of packed streams that follow each other, in pieces of a bounded size."""
    rest = head
    magic = head[:2]
    while rest.startswith(magic):
        one = unpacker()
        is_zlib = not hasattr(one, "needs_input")
        while not one.eof:
            at_end = False
            if not rest and (is_zlib or one.needs_input):
                rest = stream.read(_READ)
                at_end = not rest
            piece = one.decompress(rest, _STEP)
            rest = one.unconsumed_tail if is_zlib else b""
            if piece:
                yield piece
            elif at_end and not one.eof:
                raise EOFError
        rest = one.unused_data
        if len(rest) < len(magic):
            rest += stream.read(_READ)


def _is_header(block: bytes) -> bool:
    """Whether the checksum is right, which is that of the block with blanks in its own place."""
    claimed = _number(block[148:156])
    return claimed > 0 and claimed == sum(block[:148]) + 8 * 32 + sum(block[156:])


def _number(field: bytes) -> int:
    """A number in octal digits, or of any size in binary; -1 for what is neither."""
    if field[0] & 0x80:
        return -1 if field[0] == 0xFF else int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if not digits:
        return 0
    return int(digits, 8) if digits.isdigit() and not set(digits) & set(b"89") else -1


def _name(block: bytes) -> str:
    name, prefix = block[:100].partition(b"\0")[0], block[345:500].partition(b"\0")[0]
    is_posix = block[257:263] == b"ustar\0"
    return _text(prefix + b"/" + name if is_posix and prefix else name)


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode("utf-8", "surrogateescape")
