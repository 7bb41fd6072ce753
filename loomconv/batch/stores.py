"""Object stores, through fsspec."""

from __future__ import annotations

from typing import Any

from loomconv.batch.places import is_url, without_password
from loomconv.errors import UsageFault

__all__ = ["canonical", "in_store", "open_store"]


def open_store(url: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it. Raises UsageFault when it cannot be reached this way."""
    shown = without_password(url)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageFault(
            "addresses of stores need fsspec", source=shown, next_step="Install it: `pip install loomconv[remote]`."
        ) from None
    try:
        found: tuple[Any, str] = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageFault(
            f"this kind of store cannot be reached ({error})",
            source=shown,
            next_step="Install fsspec's driver for it (s3fs, gcsfs, …).",
        ) from None
    except Exception as error:  # every driver has errors of its own, and they may quote the address
        raise UsageFault(
            f"the store cannot be reached ({type(error).__name__})",
            source=shown,
            next_step="Check the address, and that the store can be reached from here.",
        ) from None
    return found


def in_store(root: str, name: str) -> str:
    """The path in the store of what has this name below a root."""
    return f"{open_store(root)[1].rstrip('/')}/{name}"


def canonical(where: str) -> str:
    """The one address of what may be named in several ways (`s3a://`, `gcs://`); a path as it is."""
    if not is_url(where):
        return where
    system, path = open_store(where)
    found: str = system.unstrip_protocol(path)
    return found
