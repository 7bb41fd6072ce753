"""Questions about places of this machine, for any text that a user or an archive gives.

`Path` raises for a name that is too long, and takes an empty text for the current folder; these answer no.
"""

from __future__ import annotations

import os

__all__ = ["is_file", "is_folder", "is_there"]


def is_file(where: str | os.PathLike[str]) -> bool:
    """Whether a regular file is there, or a link to one."""
    return os.path.isfile(where)  # noqa: PTH113


def is_folder(where: str | os.PathLike[str]) -> bool:
    """Whether a folder is there, or a link to one."""
    return os.path.isdir(where)  # noqa: PTH112


def is_there(where: str | os.PathLike[str]) -> bool:
    """Whether anything is there."""
    return os.path.exists(where)  # noqa: PTH110
