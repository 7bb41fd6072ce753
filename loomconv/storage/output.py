"""Output that is complete or absent: one file, a stream, or several files together."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol

from loomconv.errors import PluginFault, UsageFault
from loomconv.storage.targets import choose_target

__all__ = ["AtomicFile", "AtomicGroup", "Guard", "Sink"]

# Is shown each place where an output goes, links resolved, before any of them appears; raises InTheWay to forbid it.
Guard = Callable[[Path], None]


class Sink(Protocol):
    """What a writer writes to: takes all the bytes it is given, in pieces of any size."""

    def write(self, data: bytes, /) -> object:
        """Take `data`; what is returned says nothing."""


class AtomicFile:
    """A file being written, a `Sink`: it appears at `path` when the `with` block ends, and not at all if that fails.

    The bytes go to a temporary file in the same folder, which replaces the target in one step; readers see the old
    file or the new one. A replaced file keeps its permission bits, a new one gets those of the umask; a link is
    followed, and stays. The file that is being read may be the target. `-` is standard output (or `stdout`): it, a
    pipe and a device get the bytes at the end, or none; a reader that went away is no error (`broken_pipe`). With
    `fsync` the bytes are on the disk when the block ends.

    Raises UsageFault for a target that is not possible: a folder, a missing folder, no permission, a full disk.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = False, stdout: BinaryIO | None = None) -> None:
        self.name = os.fspath(path)
        self._target = choose_target(self.name, fsync=fsync, stdout=stdout)
        self._group: AtomicGroup | None = None
        self._complete = False

    def __enter__(self) -> AtomicFile:
        self._target.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._target.discard()
            return
        try:
            self._target.finish()
            self._complete = True
            if self._group is None:
                self._target.commit()
        except BaseException:
            self._target.discard()
            raise

    @property
    def broken_pipe(self) -> bool:
        """Whether the reader of standard output, or of a pipe, went away before it had everything."""
        return self._target.broken_pipe

    def write(self, data: bytes | bytearray | memoryview | str, /) -> None:
        """Add bytes, or text as UTF-8; small pieces are collected in one buffer.

        Raises UsageFault if the disk is full, PluginFault for text with a lone surrogate, which is the writer's to
        escape or to replace.
        """
        if isinstance(data, str):
            try:
                data = data.encode()
            except UnicodeEncodeError:
                raise PluginFault(
                    "the writer gave out text with a lone surrogate, which UTF-8 cannot hold",
                    source=self.name,
                    next_step="Report it to the author of the format's plugin.",
                ) from None
        self._target.write(data)


class AtomicGroup:
    """Several outputs, all or none: `with AtomicGroup() as group: with group.open(path) as file: …`

    Each file is complete, but still under its temporary name, when its own block ends; when the group's block ends all
    are moved into place, streams last. If one move fails, those made are undone (on a file system without hard links a
    replaced file cannot be brought back; the error says so). If anything fails before, nothing changes, even if the
    failure of a file was caught within the group's block: leaving that raises UsageFault then.

    A `guard` may forbid places. What it let pass because nothing was there is not replaced either when something has
    come in between: that raises InTheWay.
    """

    def __init__(self, *, fsync: bool = False, stdout: BinaryIO | None = None, guard: Guard | None = None) -> None:
        self._guard = guard
        self._fsync = fsync
        self._stdout = stdout
        self._files: list[AtomicFile] = []

    def __enter__(self) -> AtomicGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for file in self._files:
                file._target.discard()

    def open(self, path: str | os.PathLike[str]) -> AtomicFile:
        """One more output, to be entered with `with`. Raises UsageFault if the group has that target already."""
        file = AtomicFile(path, fsync=self._fsync, stdout=self._stdout)
        place = file._target.place
        if any(other._target.place == place for other in self._files):
            raise UsageFault(
                "two outputs would go to the same place", source=file.name, next_step="Give each a name of its own."
            )
        file._group = self
        self._files.append(file)
        return file

    def _commit(self) -> None:
        for file in self._files:
            if not file._complete:
                raise UsageFault(
                    "the output was not completed, so that none of its group was written",
                    source=file.name,
                    next_step="See what failed before.",
                )
        if self._guard is not None:
            for file in self._files:
                file._target.ask(self._guard)
        targets = sorted((file._target for file in self._files), key=lambda target: target.is_stream)
        done = []
        try:
            for target in targets:
                target.keep_old()
                done.append(target)
                target.commit()
        except BaseException as error:
            lost = [target.name for target in reversed(done) if not target.undo()]
            if lost and isinstance(error, UsageFault):
                error.message += f" (already replaced, and not brought back: {', '.join(sorted(lost))})"
            raise
