"""Files that lie beside a source (the media of a chat export): found by pattern, read bounded, never elsewhere."""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath

from loomconv.errors import UnreadableFile
from loomconv.storage.limits import Limits

__all__ = ["find_siblings", "read_sibling"]


def find_siblings(source: Path, pattern: str) -> list[Path]:
    """The regular files that match `pattern` relative to the source's folder, sorted, without the source itself.

    Patterns use `/`, `*`, `?` and `[…]`; a name which comes from a file's content must go through `glob.escape`. A
    pattern that is absolute, has `..`, `**`, a backslash or a NUL matches nothing. Neither does a link that leads out
    of the folder. The paths start with the folder as the source names it.
    """
    parts = PurePosixPath(pattern).parts
    if not parts or pattern.startswith("/") or "\\" in pattern or "\0" in pattern:
        return []
    if any(part == ".." or "**" in part for part in parts):
        return []
    folder = source.parent
    own = source.resolve()
    try:
        found = list(folder.glob(pattern))
    except OSError:
        return []  # a name that is too long for the system is that of no file
    return sorted(path for path in found if _is_inside(path, folder) and path.resolve() != own)


def read_sibling(source: Path, path: Path, limit: int | None, limits: Limits) -> bytes:
    """The bytes of a file from `find_siblings`; `limit` replaces `medium_bytes` (None: keep it).

    Raises UnreadableFile if the path is not a regular file inside the source's folder, LimitExceeded.
    """
    limits = limits if limit is None else limits.with_(medium_bytes=limit)
    bound = limits.medium_bytes
    if not _is_inside(path, source.parent):
        raise UnreadableFile(
            "the file is not a regular file inside the folder of the source",
            source=str(path),
            next_step="Put it into that folder.",
        )
    try:
        with path.open("rb") as stream:
            data = stream.read() if bound is None else stream.read(bound + 1)
    except OSError as error:
        raise UnreadableFile(
            f"the file cannot be read ({error.strerror})", source=str(path), next_step="Check its permissions."
        ) from None
    if bound is not None and len(data) > bound:
        raise limits.exceeded("medium_bytes", "the size of the file", source=str(path))
    return data


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        real = path.resolve(strict=True)
        return real.is_relative_to(folder.resolve()) and stat.S_ISREG(real.stat().st_mode)
    except (OSError, RuntimeError, ValueError):
        # A dangling link, a ring of links, or a file that went away: it is not there.
        return False
