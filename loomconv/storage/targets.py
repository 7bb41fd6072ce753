"""Where output goes: a regular file, replaced in one step, or a stream that gets everything at the end."""

from __future__ import annotations

import errno
import io
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from loomconv.errors import DiskFull, InTheWay, UsageFault

if TYPE_CHECKING:
    from tempfile import SpooledTemporaryFile

__all__ = ["Target", "choose_target", "in_the_way"]

_BUFFER = 1024 * 1024
# A stream's output waits in memory up to this size, above it in a temporary file.
_SPOOL = 8 * 1024 * 1024


class Target(Protocol):
    """The steps of an output: open, write…, finish, commit; discard at any time, undo after a commit."""

    name: str
    place: object
    is_stream: bool
    broken_pipe: bool

    def open(self) -> None:
        """Make ready for writing."""

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        """Take all of `data`."""

    def finish(self) -> None:
        """All is written: hold no file descriptor longer than needed."""

    def ask(self, guard: Callable[[Path], None]) -> None:
        """Show the guard where the output goes; what is not there now is not replaced by `commit` either."""

    def keep_old(self) -> None:
        """Prepare for `undo`."""

    def commit(self) -> None:
        """Make the output appear."""

    def undo(self) -> bool:
        """Take a commit back; False if that is not possible."""

    def discard(self) -> None:
        """Remove whatever is temporary. Harmless after a commit, and when called again."""


def choose_target(name: str, *, fsync: bool, stdout: BinaryIO | None) -> Target:
    """The target for a path or `-`. Raises UsageFault if nothing can be written there; opens nothing."""
    if name == "-":
        return _StreamTarget(name, stdout or _standard_output())
    try:
        status = Path(name).stat()
    except (FileNotFoundError, NotADirectoryError):
        status = None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a possible path"
        raise UsageFault(f"the output cannot be written ({reason})", source=name, next_step="Check the path.") from None
    if (status is not None and stat.S_ISDIR(status.st_mode)) or name.endswith(("/", os.sep)):
        raise UsageFault("the output is a folder", source=name, next_step="Name a file in it.")
    if status is not None and not stat.S_ISREG(status.st_mode):
        return _StreamTarget(name, None)
    if status is not None and not os.access(name, os.W_OK):
        if _is_read_only(name):
            raise _unwritable(name, OSError(errno.EROFS, os.strerror(errno.EROFS)))
        raise UsageFault("the output file is write-protected", source=name, next_step="Change its permissions.")
    path = Path(name).resolve()
    if not path.parent.is_dir():
        raise UsageFault("the folder of the output does not exist", source=name, next_step="Make the folder first.")
    return _FileTarget(name, path, None if status is None else stat.S_IMODE(status.st_mode) & 0o777, fsync)


def _is_read_only(name: str) -> bool:
    """Whether the whole file system is, so that no other file can be written either."""
    try:
        return bool(os.statvfs(name).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):
        return False  # Windows tells it when it is tried


class _FileTarget:
    is_stream = False
    broken_pipe = False

    def __init__(self, name: str, path: Path, mode: int | None, fsync: bool) -> None:
        self.name = name
        self.place: object = path
        self._path = path
        self._mode = mode
        self._fsync = fsync
        self._stream: BinaryIO | None = None
        self._temporary: Path | None = None
        self._backup: Path | None = None
        self._was_there = False
        self._only_new = False
        self._committed = False

    def open(self) -> None:
        with _as_usage_fault(self.name):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            # Not readable for others before the bits of the replaced file are set.
            mode = 0o666 if self._mode is None else 0o600
            for candidate in _temporary_names(self._path):
                try:
                    descriptor = os.open(candidate, flags, mode)
                except FileExistsError:
                    continue
                self._temporary = candidate
                break
            self._stream = os.fdopen(descriptor, "wb", buffering=_BUFFER)
            if self._mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, self._mode)

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        assert self._stream is not None
        try:
            self._stream.write(data)
        except OSError as error:
            raise _unwritable(self.name, error) from None

    def finish(self) -> None:
        if self._stream is None:
            return
        with _as_usage_fault(self.name):
            self._stream.flush()
            if self._fsync:
                os.fsync(self._stream.fileno())
            self._stream.close()
        self._stream = None

    def ask(self, guard: Callable[[Path], None]) -> None:
        self._only_new = not self._path.exists()
        guard(self._path)

    def keep_old(self) -> None:
        self._was_there = self._path.exists()
        if not self._was_there:
            return
        for candidate in _temporary_names(self._path):
            try:
                candidate.hardlink_to(self._path)
            except FileExistsError:
                continue
            except OSError:
                # No hard links here: `undo` will say that it cannot bring the old file back.
                return
            self._backup = candidate
            return

    def commit(self) -> None:
        if self._temporary is None:
            return
        with _as_usage_fault(self.name):
            if not (self._only_new and self._appear(self._temporary)):
                self._temporary.replace(self._path)
            self._temporary = None
            self._committed = True
            if self._fsync:
                _sync_folder(self._path.parent)

    def _appear(self, temporary: Path) -> bool:
        """Give the file its name only if that is free; False on a file system without hard links."""
        try:
            self._path.hardlink_to(temporary)
        except FileExistsError:
            raise in_the_way(self.name) from None
        except OSError:
            return False
        temporary.unlink()
        return True

    def undo(self) -> bool:
        if not self._committed:
            return True
        try:
            if self._backup is not None:
                self._backup.replace(self._path)
                self._backup = None
            elif self._was_there:
                return False
            else:
                self._path.unlink()
        except OSError:
            return False
        return True

    def discard(self) -> None:
        if self._stream is not None:
            # Closing writes what is buffered, which fails again where writing has just failed.
            with suppress(OSError):
                self._stream.close()
            self._stream = None
        for path in (self._temporary, self._backup):
            if path is not None:
                path.unlink(missing_ok=True)
        self._temporary = self._backup = None


class _StreamTarget:
    is_stream = True

    def __init__(self, name: str, stream: BinaryIO | None) -> None:
        self.name = name
        # Two outputs must not be mixed on standard output; on /dev/null they may.
        self.place: object = name if name == "-" else object()
        self.broken_pipe = False
        self._stream = stream
        self._spool: SpooledTemporaryFile[bytes] | None = None

    def open(self) -> None:
        from tempfile import SpooledTemporaryFile

        self._spool = SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115 - lives until commit or discard

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        assert self._spool is not None
        try:
            self._spool.write(data)
        except OSError as error:
            raise _unwritable(self.name, error) from None

    def finish(self) -> None:
        """Nothing: the spool holds no descriptor while it is small."""

    def ask(self, guard: Callable[[Path], None]) -> None:
        """Nothing: a stream replaces nothing."""

    def keep_old(self) -> None:
        """Nothing: what a stream has taken cannot be called back, hence streams come last."""

    def commit(self) -> None:
        if self._spool is None:
            return
        self._spool.seek(0)
        with _as_usage_fault(self.name):
            try:
                if self._stream is not None:
                    self._deliver(self._spool, self._stream)
                else:
                    with Path(self.name).open("wb") as stream:
                        self._deliver(self._spool, stream)
            except BrokenPipeError:
                self.broken_pipe = True
        self.discard()

    def _deliver(self, spool: SpooledTemporaryFile[bytes], stream: BinaryIO) -> None:
        try:
            while piece := spool.read(_BUFFER):
                stream.write(piece)
            stream.flush()
        except BrokenPipeError:
            _point_at_null(stream)
            raise

    def undo(self) -> bool:
        return True

    def discard(self) -> None:
        if self._spool is not None:
            self._spool.close()
            self._spool = None


def in_the_way(name: str) -> InTheWay:
    """The error for an output where a file is that must not be replaced."""
    return InTheWay("a file is in the way", source=name, next_step="Move that file away, or choose another name.")


def _standard_output() -> BinaryIO:
    stream: BinaryIO | None = getattr(sys.stdout, "buffer", None)  # None, too, when it was closed at the start
    if stream is not None:
        sys.stdout.flush()
    else:
        raise UsageFault("standard output takes no bytes here", next_step="Name an output file instead of `-`.")
    return stream


def _point_at_null(stream: BinaryIO) -> None:
    """Let what is still buffered for a reader who went away go nowhere, instead of failing again at exit."""
    try:
        descriptor = stream.fileno()
    except (OSError, io.UnsupportedOperation):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, descriptor)
    finally:
        os.close(null)


def _temporary_names(path: Path) -> Iterator[Path]:
    # Short, since the target's own name may have the greatest length that there is. Whoever comes second counts on.
    return (path.with_name(f".loomconv-{os.getpid()}-{n}.tmp") for n in itertools.count())


@contextmanager
def _as_usage_fault(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(name, error) from None


def _unwritable(name: str, error: OSError) -> UsageFault:
    steps = {
        errno.ENOSPC: "Free some space, or write to another disk.",
        errno.EDQUOT: "Free some space, or write to another disk.",
        errno.EACCES: "Change the permissions of the folder, or write to another one.",
        errno.EPERM: "Change the permissions of the folder, or write to another one.",
        errno.EROFS: "Write to another folder.",
    }
    step = steps.get(error.errno or 0, "Check the folder, or write to another one.")
    fault = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS) else UsageFault
    return fault(f"the output cannot be written ({error.strerror})", source=name, next_step=step)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where a folder can be opened (not on Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
