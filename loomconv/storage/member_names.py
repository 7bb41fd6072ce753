"""Which names an archive member or a media reference may have (A26 and the ZIP policy of `OL2-4.3-bundle`).

Nothing is ever unpacked under a name that this module refuses, on any operating system: a bundle made on one machine
must be safe to unpack on every other.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["collision_key", "is_elsewhere", "shown_name", "unsafe_reason"]

# File systems stop at 255 per component. The bound also keeps Unicode normalisation, which is quadratic in a run of
# combining marks, harmless.
_LONGEST_COMPONENT = 255
_LONGEST_NAME = 1024

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(?:\.|$)", re.IGNORECASE)


def unsafe_reason(name: str) -> str | None:
    """Why `name` must not be followed, as a clause that fits after "it is skipped: "; None for a safe relative name."""
    if not name:
        return "it has no name"
    if len(name) > _LONGEST_NAME:
        return "its name is too long"
    if _CONTROL.search(name):
        return "its name holds control characters"
    if "\\" in name:
        return "its name holds a backslash"
    if name.startswith("/"):
        return "its name is absolute"
    if _DRIVE.match(name):
        return "its name starts with a drive letter"
    for component in name.split("/"):
        # Windows drops trailing dots and spaces, so that ".. " would be ".." there.
        if ".." in component and not component.strip(". "):
            return "its name leaves the folder"
        if len(component) > _LONGEST_COMPONENT:
            return "its name is too long"
        if _DEVICE.match(component):
            return "its name is that of a device"
    return None


def is_elsewhere(name: str) -> bool:
    """Whether the name is a path of another machine: absolute, of a home folder, or with backslashes."""
    return name.startswith(("/", "~/")) or "\\" in name or _DRIVE.match(name) is not None


def collision_key(name: str) -> str:
    """Equal for two names that some file system takes for the same file: letter case, NFC or NFD, `./`, trailing dots.

    Only for names that `unsafe_reason` lets pass, which bounds the cost.
    """
    parts = (part.rstrip(" .") for part in name.split("/") if part not in ("", "."))
    # Folding can undo composition and the other way round, hence composed on both sides of it.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", "/".join(parts)).casefold())


def shown_name(name: str) -> str:
    """`name` as it may stand in a message: one line, printable, at most 80 characters."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name[:81])
    return text if len(name) <= 80 else f"{text[:79]}…"
