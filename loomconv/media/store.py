"""Where the media of a document are: in its bundle, or in folders that the user allows. Nothing else is ever read."""

from __future__ import annotations

import hashlib
import io
import re
import stat
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from loomconv.errors import LoomconvError, UnreadableFile, UsageFault
from loomconv.storage.limits import Limits
from loomconv.storage.member_names import is_elsewhere, unsafe_reason

if TYPE_CHECKING:
    from loomconv.storage.archive import Archive, PackedMember
    from loomconv.storage.source import Source

__all__ = ["InlineMedium", "MediaStore", "Medium", "spare_others"]

_HEAD: Final = 64 * 1024
_READ: Final = 1 << 20
# Pointers of chat exports to files that lie in the archive, or beside the JSON, under a name that begins with the id.
_POINTER: Final = re.compile(r"(?:file-service|sediment)://([A-Za-z0-9_-]{4,128})(?:[?#].*)?", re.DOTALL)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ZIP: Final = ".zip"


Where = Literal["inline", "member", "file"]


class Medium(Protocol):
    """Bytes that a block refers to. `where` says where they are, `name` under which name (empty for inline ones)."""

    where: Where
    name: str
    size: int

    def head(self) -> bytes:
        """The first 64 KiB. Raises LimitExceeded, UnreadableFile."""

    def data(self) -> bytes:
        """All bytes. Raises LimitExceeded, UnreadableFile."""

    def sha256(self) -> str:
        """The digest of the bytes, in hexadecimal. Raises LimitExceeded, UnreadableFile."""

    def packed(self) -> PackedMember:
        """The bytes as a member for another bundle. Raises LimitExceeded, UnreadableFile."""


class InlineMedium:
    """Bytes of a `data:` URI."""

    where: Where = "inline"
    name = ""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def head(self) -> bytes:
        """See `Medium.head`."""
        return self._data[:_HEAD]

    def data(self) -> bytes:
        """See `Medium.data`."""
        return self._data

    def sha256(self) -> str:
        """See `Medium.sha256`."""
        return hashlib.sha256(self._data).hexdigest()

    def packed(self) -> PackedMember:
        """See `Medium.packed`."""
        return _stored(self._data)


class _Member:
    where: Where = "member"

    def __init__(self, archive: Archive, name: str) -> None:
        self._archive = archive
        self._digest: str | None = None
        self.name = name
        self.size = archive.members[name].file_size

    def head(self) -> bytes:
        return self._archive.head(self.name)

    def data(self) -> bytes:
        data = self._archive.read(self.name)
        assert data is not None
        return data

    def sha256(self) -> str:
        if self._digest is None:
            self._digest = _digest(self._archive.pieces(self.name))
        return self._digest

    def packed(self) -> PackedMember:
        return self._archive.packed(self.name)


class _File:
    where: Where = "file"

    def __init__(self, path: Path, name: str, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._digest: str | None = None
        self.name = name
        self.size = path.stat().st_size

    def head(self) -> bytes:
        if self._limits.medium_bytes is not None and self.size > self._limits.medium_bytes:
            raise self._limits.exceeded("medium_bytes", "the size of the file", source=self.name, needed=self.size)
        return self._read(_HEAD)

    def data(self) -> bytes:
        limit = self._limits.medium_bytes
        data = self._read(-1 if limit is None else limit + 1)
        if limit is not None and len(data) > limit:
            raise self._limits.exceeded("medium_bytes", "the size of the file", source=self.name)
        return data

    def _read(self, size: int) -> bytes:
        try:
            with self._path.open("rb") as stream:
                return stream.read(size)
        except OSError as error:
            raise UnreadableFile(
                f"the file cannot be read ({error.strerror})", source=self.name, next_step="Check its permissions."
            ) from None

    def sha256(self) -> str:
        if self._digest is None:
            self._digest = hashlib.sha256(self.data()).hexdigest()
        return self._digest

    def packed(self) -> PackedMember:
        return _stored(self.data())


def _stored(data: bytes) -> PackedMember:
    from loomconv.storage.bundle import stored_member  # it needs zipfile, which most conversions do not

    return stored_member(data)


def _digest(pieces: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


class MediaStore:
    """Resolves the references of one document.

    A reference is looked up as a member of the bundle by its exact name, then below the folders in turn: a relative one
    by its path, one of another machine (`/home/me/a.png`, `pictures\\a.png`) by its last part alone, in the folder
    or in a `media` folder there; a pointer of a chat export (`file-service://file-…`, `sediment://file_…`) by the id
    with which the file's name begins, also in a ZIP that is a member. Links that lead out of a folder are not followed.
    Whether what was found may be called what the block says is for `MediaChecker` to tell. A store that `closes` its
    source does so at the latest when nobody holds it any more.
    """

    def __init__(
        self,
        source: Source | None = None,
        folders: Sequence[Path] = (),
        limits: Limits | None = None,
        *,
        closes: bool = False,
    ) -> None:
        self._source = source
        if closes and source is not None:
            weakref.finalize(self, source.detach)
        self._archive = None if source is None else source.archive
        self._limits = limits or Limits()
        self._folders = [folder for each in folders if (folder := _real(each)) is not None]
        self._found: dict[str, Medium | None] = {}
        self._nested: list[Archive] | None = None

    @property
    def members(self) -> Mapping[str, object]:
        """The safe members of the bundle, by name; empty when there is no bundle."""
        return {} if self._archive is None else self._archive.members

    @property
    def files(self) -> list[str]:
        """The references so far that lead to files in folders."""
        return [name for name, medium in self._found.items() if medium is not None and medium.where == "file"]

    def close(self) -> None:
        """Release the bundle; its members cannot be read any more."""
        if self._source is not None:
            self._source.detach()

    def find(self, reference: str) -> Medium | None:
        """The medium that a reference leads to, None when it leads to nothing that may be read. Never the network."""
        if reference not in self._found:
            self._found[reference] = self._find(reference)
        return self._found[reference]

    def head(self, reference: str) -> bytes | None:
        """The first 64 KiB of what a reference leads to. Raises LimitExceeded, UnreadableFile."""
        medium = self.find(reference)
        return None if medium is None else medium.head()

    def _find(self, reference: str) -> Medium | None:
        if self._archive is not None and reference in self._archive.members:
            return _Member(self._archive, reference)
        pointer = _POINTER.fullmatch(reference)
        if pointer is not None:
            return self._by_id(pointer[1])
        if _SCHEME.match(reference):
            return None
        return self._in_folders(reference)

    def _by_id(self, file_id: str) -> Medium | None:
        archives = [] if self._archive is None else [self._archive, *self._inner_archives()]
        for archive in archives:
            for name in archive.members:
                if _begins_with(name.rpartition("/")[2], file_id):
                    return _Member(archive, name)
        for folder in self._folders:
            for name in sorted(_names(folder)):
                if _begins_with(name, file_id) and (path := _inside(folder, name)) is not None:
                    return _File(path, name, self._limits)
        return None

    def _inner_archives(self) -> list[Archive]:
        """ZIP archives that are members of the bundle, one level deep; those that cannot be read hold nothing."""
        from loomconv.storage.archive import Archive

        if self._nested is None:
            self._nested = []
            outer = self._archive
            names = [] if outer is None else [name for name in outer.members if name.lower().endswith(_ZIP)]
            limits, room = self._limits, self._limits.bundle_bytes
            if room is not None and names:
                limits = limits.with_(bundle_bytes=max(1, room // len(names)))  # together no more than one archive
            for name in names:
                assert outer is not None
                try:
                    data = outer.read(name, room)
                    self._nested.append(Archive(io.BytesIO(data or b""), name, limits, with_tree=False))
                except LoomconvError:
                    continue  # what is looked for is reported as missing
        return self._nested

    def _in_folders(self, reference: str) -> Medium | None:
        names = [reference]
        if is_elsewhere(reference):
            last = re.split(r"[/\\]", reference)[-1]
            names = [last, f"media/{last}"]
        for folder in self._folders:
            for name in names:
                if unsafe_reason(name) is None and (path := _inside(folder, name)) is not None:
                    return _File(path, name, self._limits)
        return None


def spare_others(path: Path, medium: Medium) -> None:
    """Raise UsageFault if a medium would be written over another file, or through a link."""
    if not path.is_symlink() and not path.exists():
        return
    if (
        path.is_symlink()
        or not path.is_file()
        or path.stat().st_size != medium.size
        or path.read_bytes() != medium.data()
    ):
        raise UsageFault("something else is where a medium has to go", source=str(path), next_step="Move it away.")


def _begins_with(name: str, file_id: str) -> bool:
    """Whether the file's name is the id, or the id with something set off behind it."""
    return name.startswith(file_id) and not name[len(file_id) : len(file_id) + 1].isalnum()


def _real(folder: Path) -> Path | None:
    try:
        return folder.resolve(strict=True)
    except OSError:
        return None


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _inside(folder: Path, name: str) -> Path | None:
    """The regular file of this name below the folder, None when there is none or a link leads out of the folder."""
    try:
        real = (folder / name).resolve(strict=True)
        return real if real.is_relative_to(folder) and stat.S_ISREG(real.stat().st_mode) else None
    except (OSError, RuntimeError, ValueError):
        return None
