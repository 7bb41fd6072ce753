"""The media of a loom by themselves: which there are, whether they are what they say, and copies of them as files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loomconv import jsontext
from loomconv.errors import LimitExceeded, LoomconvError, UsageFault
from loomconv.media.blocks import MEDIA_TYPES
from loomconv.media.check import MediaChecker, shown_reference
from loomconv.media.data_uri import is_data_uri, parse_data_uri
from loomconv.media.images import image_fault, image_size
from loomconv.media.sniff import file_suffix, is_of_kind, sniff
from loomconv.media.store import InlineMedium, MediaStore, Medium, spare_others
from loomconv.model.document import Document
from loomconv.report import Report
from loomconv.storage import AtomicFile, Limits

__all__ = ["INDEX", "ListedMedium", "extract_media", "list_media", "report_problems"]

# The list of what was extracted, in the folder with the files.
INDEX: Final = "index.json"
_INDEX_FORMAT: Final = "loomconv-media"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 60
_DIGEST_SHOWN: Final = 16


@dataclass(slots=True)
class ListedMedium:
    """A block that refers to a medium.

    `where` is `inline`, `member` (of the bundle), `file` (beside the loom, or below a folder that was named) or
    `nowhere`; `reference` is the block's, but for a `data:` URI. `declared` and `real` are MIME types, `size` bytes,
    `width` and `height` pixels; None is what is not known. `problems` are pairs of a finding code's second half and a
    sentence. `file` is the name of the copy that was made.
    """

    tree: str
    node: str
    position: int
    kind: str
    where: str
    reference: str | None = None
    declared: str | None = None
    real: str | None = None
    size: int | None = None
    width: int | None = None
    height: int | None = None
    sha256: str | None = None
    problems: list[tuple[str, str]] = field(default_factory=list)
    file: str | None = None
    medium: Medium | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the bytes are there and what the block says."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The entry as a JSON object, without what is not known."""
        found: dict[str, Any] = {
            name: value
            for name in self.__slots__
            if name not in ("medium", "problems") and (value := getattr(self, name)) is not None
        }
        if self.problems:
            found["problems"] = [{"code": f"media.{code}", "message": message} for code, message in self.problems]
        return found


def list_media(document: Document, limits: Limits | None = None) -> Iterator[ListedMedium]:
    """Every image and sound of a document, in the order of its trees and nodes; one at a time is looked at."""
    limits = limits or Limits()
    store = document.media or MediaStore(limits=limits)
    checker = MediaChecker(store.head, limits)
    for tree in document.trees:
        for node_id, node in tree.nodes.items():
            for position, block in enumerate(node["content"]):
                if block["type"] in MEDIA_TYPES:
                    listed = ListedMedium(tree.id, node_id, position, block["type"], "nowhere")
                    yield _looked_at(listed, block, store, checker, limits)


def _looked_at(
    listed: ListedMedium, block: dict[str, Any], store: MediaStore, checker: MediaChecker, limits: Limits
) -> ListedMedium:
    reference, declared = block.get("ref"), block.get("mimeType")
    listed.declared = declared if isinstance(declared, str) else None
    listed.problems += [(each.kind, each.message) for each in checker.check(block)]
    if not isinstance(reference, str):
        return listed
    listed.reference = shown_reference(reference)
    try:
        if is_data_uri(reference):
            listed.medium = InlineMedium(parse_data_uri(reference, limits).data)
        else:
            listed.medium = store.find(reference)
        if listed.medium is not None:
            listed.where, listed.size = listed.medium.where, listed.medium.size
            listed.real = sniff(listed.medium.head())
            if listed.medium.where == "file" and not is_of_kind(listed.kind, listed.real) and not listed.problems:
                listed.problems.append(("mime-mismatch", f"the file is no {listed.kind}"))
            _look_inside(listed, listed.medium, limits)
    except LoomconvError as error:
        kind = "media-too-large" if isinstance(error, LimitExceeded) else "broken-medium"
        if not listed.problems:
            listed.problems.append((kind, error.message))
    return listed


def _look_inside(listed: ListedMedium, medium: Medium, limits: Limits) -> None:
    listed.sha256 = medium.sha256()
    if listed.kind == "image" and listed.is_sound:
        data = medium.data()
        size = image_size(data, limits)
        if size is not None:
            listed.width, listed.height = size
        fault = image_fault(data)
        if fault is not None:
            listed.problems.append(("broken-medium", fault))


def report_problems(listed: ListedMedium, report: Report) -> None:
    """Add a finding for each problem of a medium."""
    for code, message in listed.problems:
        report.add(
            f"media.{code}",
            f"{message[:1].upper()}{message[1:]}.",
            tree=listed.tree,
            node=listed.node,
            pointer=f"/content/{listed.position}",
            value=listed.reference,
            severity="warning",
        )


def extract_media(document: Document, folder: Path, limits: Limits | None = None) -> list[ListedMedium]:
    """Copy every medium that is what it says to a file in `folder`, named by its node and digest, with an index.

    The folder is made if there are any; it may hold what an earlier extraction left. Nothing is written under a type
    that the bytes are not of. Raises UsageFault when the folder cannot be used.
    """
    found = list_media(document, limits)
    first = next(found, None)
    if first is None:
        return []
    limits = limits or Limits()
    _make_folder(folder)
    done = []
    written = 0
    _write_index(folder, [])  # whoever is interrupted can begin again
    for listed in itertools.chain([first], found):
        if listed.is_sound and listed.medium is not None and listed.sha256 is not None:
            name = _UNSAFE.sub("_", listed.node)[:_LONGEST_NAME]
            listed.file = f"{name}-{listed.sha256[:_DIGEST_SHOWN]}.{file_suffix(listed.real)}"
            path = folder / listed.file
            spare_others(path, listed.medium)
            written += listed.medium.size
            if limits.bundle_bytes is not None and written > limits.bundle_bytes:
                raise limits.exceeded("bundle_bytes", "the size of all copies", needed=written)
            with AtomicFile(path) as out:
                out.write(listed.medium.data())
        listed.medium = None
        done.append(listed)
    _write_index(folder, [listed.to_json() for listed in done])
    return done


def _write_index(folder: Path, entries: list[dict[str, Any]]) -> None:
    if (folder / INDEX).is_symlink():
        raise UsageFault("the index is a link", source=str(folder / INDEX), next_step="Name another folder.")
    with AtomicFile(folder / INDEX) as out:
        out.write(jsontext.dump({"format": _INDEX_FORMAT, "media": entries}, jsontext.TWO_SPACES) + b"\n")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
        names = {path.name for path in folder.iterdir()}
        is_ours = not names or (
            INDEX in names and f'"format": "{_INDEX_FORMAT}"'.encode() in (folder / INDEX).read_bytes()[:200]
        )
    except OSError as error:
        raise UsageFault(
            f"the folder cannot be used ({error.strerror})", source=str(folder), next_step="Name another folder."
        ) from None
    if not is_ours:
        raise UsageFault("the folder holds other things", source=str(folder), next_step="Name an empty or a new one.")
