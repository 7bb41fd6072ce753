"""Names, orders and defaults of socketteer's loom (dossier §1.3 to §1.8, §2.1), as tables."""

from __future__ import annotations

from typing import Any, Final

from loomconv.model.ids import mint_ulid

__all__ = [
    "CARRIER",
    "DEFAULT_TAGS",
    "EMPTY_EXTENSIONS",
    "EMPTY_ID",
    "IMAGE_TYPES",
    "KIDS",
    "LEGACY_FLAGS",
    "NAMESPACE",
    "OWN_KEYS",
    "PLACEHOLDER",
    "ROLE_OF_SOURCE",
    "SOURCE_OF_ROLE",
    "TAG_OF_FLAG",
    "Raw",
    "image_type",
    "tag_definition",
]

# A JSON object as the file has it.
Raw = dict[str, Any]

# Key of this format's own things under the pivot's `extensions`.
NAMESPACE: Final = "socketteer-loom"
# Key, in the app's files, that holds the pivot's `extensions`: at top level and on nodes (dossier §4.3).
CARRIER: Final = "openloom"
# Key of a mark that says that the pivot's `extensions` were there and empty.
EMPTY_EXTENSIONS: Final = "emptyExtensions"

# What an empty id, on which the app fails (dossier §2.1), is written as.
EMPTY_ID: Final = mint_ulid(NAMESPACE, "empty")
# Stands for the children in an entry that is not yet written.
KIDS: Final = object()

# Text and shape of a node whose generation has not come back (dossier §5.4).
PLACEHOLDER: Final = "\n\n** Generating **"

ROLE_OF_SOURCE: Final = {"AI": "model", "prompt": "human", "mixed": "mixed"}
SOURCE_OF_ROLE: Final = {role: source for source, role in ROLE_OF_SOURCE.items()}

# Flags of the pivot that the app has as tags (dossier §3.6).
TAG_OF_FLAG: Final = {"bookmarked": "bookmark", "pruned": "archived"}
# Flags of 2021 that tags have replaced; only a true one means anything (dossier §1.4, §5.8).
LEGACY_FLAGS: Final = ("bookmark", "archived", "canonical")


# Keys of a stash that are ours; a key of the file with such a name goes under "unknown".
OWN_KEYS: Final = frozenset(
    {
        *("absent", "order", "orders", "unknown", "mark", "originalId", "strays", "maskedHead"),
        *("shape", "flat", "link", "nodesLack", "rootIsNode", "empty", "folds", "zone", "assumedZone"),
        *("undefinedTags", "sidecarResponses"),
    }
)


def tag_definition(
    name: str, scope: str = "node", *, hide: bool = False, toggle_key: str = "None", icon: str = "None"
) -> Raw:
    """A definition with all six fields: the app fails on less (dossier §2.1)."""
    return {
        "name": name,
        "scope": scope,
        "hide": hide,
        "show_only": False,
        "toggle_key": toggle_key,
        "icon": icon,
    }


# Merged under a file's own definitions when the app opens it.
DEFAULT_TAGS: Final[dict[str, Raw]] = {
    "bookmark": tag_definition("bookmark", toggle_key="b", icon="bookmark-black"),
    "canonical": tag_definition("canonical", "ancestry", toggle_key="*", icon="book-white"),
    "archived": tag_definition("archived", hide=True, toggle_key="!", icon="archive-yellow"),
    "note": tag_definition("note", hide=True, toggle_key="#", icon="note-black"),
    "pinned": tag_definition("pinned", toggle_key="^", icon="pin-red"),
}

IMAGE_TYPES: Final = {
    "avif": "image/avif",
    "bmp": "image/bmp",
    "gif": "image/gif",
    "heic": "image/heic",
    "ico": "image/x-icon",
    "jfif": "image/jpeg",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "pgm": "image/x-portable-graymap",
    "png": "image/png",
    "pnm": "image/x-portable-anymap",
    "ppm": "image/x-portable-pixmap",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "webp": "image/webp",
}


def image_type(file: str) -> str | None:
    """The media type by the name's suffix, None when it is no picture's. Works for paths of any system."""
    return IMAGE_TYPES.get(file.rpartition(".")[2].lower()) if "." in file else None
