"""Removes what processes that were killed have left half-written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from loomconv.batch.items import Settings
from loomconv.batch.places import is_url
from loomconv.storage import media_folder

__all__ = ["remove_leftovers"]


def remove_leftovers(targets: Iterable[str], settings: Settings) -> None:
    """Remove temporary files of processes that live no more, where outputs with these paths were being written."""
    if is_url(settings.target_root):
        return
    folders = set()
    for target in (Path(settings.target_root) / each for each in targets):
        folders |= {target.parent, target.with_name(media_folder(target))}
        if settings.split:
            folders.add(target.with_name(target.name.removesuffix(settings.suffix)))
    for folder in folders:
        for path in folder.glob(".loomconv-*.tmp"):
            process = path.name.split("-")[1]
            if process.isdecimal() and not _is_alive(int(process)):
                with suppress(OSError):
                    path.unlink()


def _is_alive(process: int) -> bool:
    """Whether the process still runs; on Windows, where its open files cannot be removed anyway, always no."""
    if os.name == "nt":
        return False
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        # Killed, but not yet fetched by its parent.
        return not (status.exists() and status.read_text("utf-8").rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
