"""The way out: a document becomes a file of any format, and files beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from loomconv import jsontext
from loomconv.errors import ConversionRefused, InvalidDocument, LoomconvError, UsageFault
from loomconv.format import Format, WriteContext
from loomconv.jsontext import Layout
from loomconv.media.store import MediaStore, Medium, spare_others
from loomconv.model.document import Document
from loomconv.model.record import NAMESPACE, extensions_of, own_record
from loomconv.options import ConversionOptions
from loomconv.project import project_document
from loomconv.project.beside import (
    LEVELS,
    RESIDUE_FORMAT,
    make_residue_file,
    without_extensions,
)
from loomconv.reading import collector_paused, others_of
from loomconv.registry import Registry, default_registry
from loomconv.report import Report
from loomconv.storage import AtomicGroup, Guard, companion_path, media_folder, residue_path

if TYPE_CHECKING:
    from loomconv.media.placement import MediaMode

__all__ = ["BUNDLE_FROM", "dump"]

# From so many bytes of media on the specification prefers a bundle (OL2-4.3-bundle-size).
BUNDLE_FROM: Final = 1_000_000

_SHOWN: Final = 20
_RECORDED: Final = "media"
# `data:image` or `data:audio`; that it begins with one certain byte makes the search ten times faster.
_EMBEDDED: Final = re.compile(rb":(?<=[Dd][Aa][Tt][Aa]:)(?i:image|audio)")
_LARGE_TEXT: Final = 1 << 30


def dump(
    document: Document,
    where: str | os.PathLike[str],
    *,
    format: str | None = None,
    options: ConversionOptions | None = None,
    report: Report | None = None,
    registry: Registry | None = None,
    stdout: BinaryIO | None = None,
    guard: Guard | None = None,
) -> list[str]:
    """Write a document as any format, to a path or to `-`; gives the names of the files written.

    All files appear when every one is complete, or none does. A target that holds one tree a file gets the further
    trees in numbered files beside the first. A `guard` may forbid places (see `AtomicGroup`). Raises ConversionRefused
    with `options.strict` when anything would be lost.
    """
    options, report, registry = options or ConversionOptions(), report or Report(), registry or default_registry()
    target = registry.format(format) if format else registry.format_for_name(os.fspath(where))
    if not target.writes:
        raise UsageFault(f"{target.name} can be read, but not written")
    report.declare(target.finding_codes)
    with collector_paused():
        return _Writing(os.fspath(where), target, options, report, registry).run(document, stdout, guard)


class _Writing:
    """One document on its way out."""

    def __init__(
        self, name: str, target: Format, options: ConversionOptions, report: Report, registry: Registry
    ) -> None:
        self.name = name
        self.target = target
        self.options = options
        self.report = report
        self.registry = registry
        self.format_options = options.of_format(target, "write")
        self.file_name = "" if name == "-" else Path(name).name
        self.capabilities = target.capabilities_for(self.file_name, self.format_options)
        self.levels_beside = self._levels_beside()
        # Media to write, by name: members of the bundle if one is written, else files beside the output.
        self.media: dict[str, Medium] = {}
        self.is_bundle = False
        # Bytes of media in a document that is to be a bundle because of them.
        self.inline_size = 0

    def run(self, document: Document, stdout: BinaryIO | None, guard: Guard | None = None) -> list[str]:
        """Write all files, or none; gives their names."""
        document = self._with_media_placed(document)
        parts, layout = self._prepared(document)
        if len(parts) > 1 and self.name == "-":
            raise UsageFault(
                f"{self.target.name} holds one tree a file, and the document has {len(parts)}",
                next_step="Choose one with --tree, or name an output file.",
            )
        if not parts:
            raise InvalidDocument("the document has no trees", next_step="There is nothing to convert in it.")
        files = [self.name, *(str(companion_path(Path(self.name), number + 1)) for number in range(1, len(parts)))]
        if guard is None:
            _spare_strangers(files)
        names = [Path(file).name for file in files]
        self.report.target = {"name": names[0], "format": self.target.name, "files": names}
        residues: dict[str, bytes | None] = {}
        folder = _MediaFolder(Path(self.name), () if self.is_bundle else self.media)
        with folder, AtomicGroup(fsync=self.options.fsync, stdout=stdout, guard=guard) as group:
            for path, part in zip(files, parts, strict=True):
                residues[path] = self._write(part, path, layout, group)
            self._write_residues(residues, group)
            if not self.is_bundle:
                self._write_media(group)
            if self.options.strict and self.report.losses():
                raise ConversionRefused(
                    f"{self.target.name} cannot hold everything ({self.report.losses()} losses)",
                    source=self.report.source["name"] if self.report.source else None,
                    next_step=f"See the report; without --strict what does not fit is {self._fate()}.",
                )
        _remove_stale_residues(residues)
        return files

    def _fate(self) -> str:
        return "lost" if self.options.residue == "none" else "kept aside"

    def _with_media_placed(self, document: Document) -> Document:
        """The document with its references as the target has them; notes what has to be written of media."""
        options, store = self.options, document.media or MediaStore(limits=self.options.limits)
        mode = self._media_mode(document, store)
        zipped = "bundle" in self.capabilities.media and self.file_name.lower().endswith(".zip")
        self.is_bundle = mode == "bundle" or zipped
        holds_files = "file" in self.capabilities.media
        near = self._near()
        has_work = bool(store.members) or _RECORDED in own_record(document.fields) or options.fill_image_sizes
        if mode is None or (mode == "keep" and not has_work):
            self._tell_of_media(document, store, near, placed=False)
            return document
        from loomconv.media.placement import place_media  # documents without media do without

        placed = place_media(
            document,
            store,
            mode,
            self.report,
            folder=f"{media_folder(Path(self.name))}/" if self.name != "-" else "",
            remember=options.residue != "none" and "extensions" not in options.without,
            fill_sizes=options.fill_image_sizes,
            limits=options.limits,
            near=near,
            shows_files=holds_files,
        )
        self._tell_of_media(placed.document, store, near, placed=mode != "keep")
        self.media = placed.files
        if self.inline_size:
            self.is_bundle = bool(placed.files)  # media that are not what they say stay in the document
            if self.is_bundle:
                size = f"{self.inline_size / 1e6:.1f} MB"
                self.report.add(
                    "media.bundle-by-size",
                    f"There are {size} of media, so a bundle (a ZIP file) was written; --media inline forbids it.",
                    value=self.inline_size,
                )
        return placed.document

    def _near(self) -> MediaStore:
        """Where files that the output names will be looked for."""
        folders = [] if self.name == "-" else [Path(self.name).parent]
        if self.options.media_root is not None:
            folders.append(self.options.media_root)
        return MediaStore(None, folders, self.options.limits)

    def _tell_of_media(self, document: Document, store: MediaStore, near: MediaStore, *, placed: bool) -> None:
        """Files that the output names and that are not found from where it is; media that the app does not show."""
        at_home = document.origin is not None and document.origin.format == self.target.name
        lost = [] if placed or self.name == "-" else [name for name in store.files if not _is_near(name, store, near)]
        if lost:
            self.report.add(
                "media.out-of-reach",
                f"{len(lost)} of the files that the loom names lie beside the input, and are not found from the "
                "output; --media beside takes them along.",
                value=lost[:_SHOWN],
            )
        if "file" in self.capabilities.media and "inline" not in self.capabilities.media and not at_home:
            origin = document.origin
            embedded = placed or (origin is not None and _EMBEDDED.search(origin.data) is not None)
            hidden = _inline_count(document) if embedded else 0
            if hidden:
                self.report.add(
                    "media.hidden",
                    f"{hidden} pictures or sounds are kept in the file, and {self.target.title} shows files only; "
                    "--media beside writes them as files.",
                    value=hidden,
                )

    def _media_mode(self, document: Document, store: MediaStore) -> MediaMode | None:
        """What `auto` means here; None when nothing has to be done.

        A name that ends with `.zip` asks for a bundle. What was in a bundle comes along inside the document. A document
        that comes from elsewhere and holds more than `BUNDLE_FROM` bytes of media becomes a bundle
        (OL2-4.3-bundle-size); one that is at home keeps its form.
        """
        held, asked = self.capabilities.media, self.options.media
        zipped = "bundle" in held and self.file_name.lower().endswith(".zip")
        if self.file_name.lower().endswith(".zip") and "bundle" not in held:
            raise UsageFault(
                f"the name asks for a bundle, and {self.target.name} has none",
                source=self.name,
                next_step="Leave `.zip` off the name, or choose a format that has bundles.",
            )
        if asked == "bundle" and "bundle" not in held:
            raise UsageFault(
                f"{self.target.name} has no bundles", next_step="Use --media beside, inline, keep or drop instead."
            )
        if asked == "beside" and self.name == "-":
            raise UsageFault("standard output has no files beside it", next_step="Name an output file.")
        if zipped and asked not in ("auto", "bundle", "drop"):
            raise UsageFault(
                f"the name asks for a bundle, and --media {asked} for none",
                source=self.name,
                next_step="Leave --media out, or `.zip` off the name.",
            )
        if asked != "auto":
            return asked
        if zipped:
            return "bundle"
        if store.members:
            return "inline"
        if "bundle" in held and self._is_large(document):
            return "bundle"
        return "keep" if document.media is not None else None

    def _is_large(self, document: Document) -> bool:
        """Whether a document from elsewhere holds so much media that the specification wants a bundle."""
        origin = document.origin
        if origin is None or origin.format == self.target.name or len(origin.data) < BUNDLE_FROM:
            return False
        if document.key_order or _EMBEDDED.search(origin.data) is None:
            return False  # the document was of this format before its journey; or nothing is embedded
        from loomconv.media.placement import inline_size

        size = inline_size(document)
        self.inline_size = size if size > BUNDLE_FROM else 0
        return self.inline_size > 0

    def _levels_beside(self) -> tuple[str, ...]:
        """The levels whose extensions go to a file beside: all if asked for, else those that the app does not keep."""
        if self.capabilities.holds_everything:
            return ()
        if self.options.residue == "beside":
            if self.name == "-":
                raise UsageFault(
                    "standard output has no file beside it", next_step="Name an output file, or use --residue embed."
                )
            return LEVELS
        if self.options.residue == "none" or self.name == "-":
            return ()
        kept = set(self.capabilities.unknown_keys)
        if self.capabilities.trees == "one" and "tree" in kept:
            kept.add("document")  # a file of one tree keeps with it what is the document's
        return tuple(level for level in LEVELS if level not in kept)

    def _prepared(self, document: Document) -> tuple[list[Document], Layout | None]:
        """The documents to write, one a file, and the layout that the target's file had before its journey."""
        origin, target, options = document.origin, self.target, self.options
        at_home = origin is not None and origin.format == target.name
        if origin is not None and at_home:
            rewritten = target.is_rewritten(origin, self.file_name, self.format_options)
            if rewritten or options.exported_at is not None or options.asks(target):
                document.touched = True
            if document.pristine:
                return [document], None
        document, layout = _with_layouts(document, target, options, self.report, self.registry)
        capabilities = self.capabilities
        if self.levels_beside:
            levels: Any = tuple(dict.fromkeys((*capabilities.unknown_keys, *self.levels_beside)))
            capabilities = replace(capabilities, unknown_keys=levels)
        keep = options.residue != "none"
        parts = project_document(document, capabilities, self.report, keep=keep, derived=target.derived_fields)
        return parts, origin.layout if origin is not None and at_home else layout

    def _write(self, part: Document, path: str, layout: Layout | None, group: AtomicGroup) -> bytes | None:
        """Write one file; gives the bytes of the residue file that belongs to it, or None."""
        origin, target = part.origin, self.target
        at_home = part.pristine and origin is not None and origin.format == target.name
        residue = None
        if not at_home:
            residue = make_residue_file(part, self.levels_beside, target.namespace, format=target.name)
            if residue is not None:
                part = without_extensions(part, self.levels_beside, target.namespace)
        context = WriteContext(
            report=self.report,
            layout=layout or target.layout,
            layout_is_original=layout is not None,
            options=self.format_options,
            name="" if path == "-" else Path(path).name,
            exported_at=self.options.exported_at,
            others=others_of(self.registry, self.options),
        )
        with group.open(path) as file, self._opened(file, part) as sink:
            if at_home and origin is not None:
                _copy(origin.data, sink)
            else:
                shown = self.report.source["name"] if self.report.source else None
                with self.registry.at_work(target, "writing", shown):
                    target.write(part, sink, context)
        if at_home and origin is not None:
            return origin.residue if self.options.residue != "none" and path != "-" else None
        return None if residue is None else jsontext.dump(residue, jsontext.COMPACT)

    @contextmanager
    def _opened(self, file: Any, part: Document) -> Iterator[Any]:
        """Where the text goes: the file itself, or the tree of a bundle, whose media follow."""
        if not self.is_bundle:
            yield file
            return
        from loomconv.storage.bundle import BundleWriter

        large = part.origin is not None and len(part.origin.data) > _LARGE_TEXT
        with BundleWriter(file) as bundle:
            with bundle.tree(large=large) as sink:
                yield sink
            for name, medium in self.media.items():
                try:
                    packed = medium.packed()
                except LoomconvError as error:
                    self.report.add("media.left-behind", f"A member did not come along: {error.message}.", value=name)
                else:
                    bundle.add(name, packed)

    def _write_media(self, group: AtomicGroup) -> None:
        """The media that go to files beside the output."""
        parent = Path(self.name).parent
        for name, medium in self.media.items():
            spare_others(parent / name, medium)
            with group.open(parent / name) as sink:
                for piece in medium.packed().pieces if medium.where == "inline" else (medium.data(),):
                    sink.write(piece)
        if self.media and self.report.target is not None:
            self.report.target["media"] = list(self.media)

    def _write_residues(self, residues: dict[str, bytes | None], group: AtomicGroup) -> None:
        written = []
        for path, data in residues.items():
            if data is not None:
                beside = residue_path(Path(path))
                with group.open(beside) as sink:
                    sink.write(data)
                written.append(beside.name)
        if written and self.report.target is not None:
            self.report.target["residue"] = written


class _MediaFolder:
    """The folder for media beside the output: made if it has to be, and removed again if nothing came into it."""

    def __init__(self, output: Path, names: Collection[str]) -> None:
        self._folder = output.parent / media_folder(output) if names else None
        self._made = False

    def __enter__(self) -> None:
        if self._folder is None:
            return
        if self._folder.is_symlink():
            raise UsageFault("the folder for media is a link", source=str(self._folder), next_step="Move it away.")
        if self._folder.is_dir():
            return
        try:
            self._folder.mkdir()
        except OSError as error:
            raise UsageFault(
                f"the folder for media cannot be made ({error.strerror})",
                source=str(self._folder),
                next_step="Choose another output name, or --media inline.",
            ) from None
        self._made = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._made and self._folder is not None:
            with suppress(OSError):  # somebody else put something into it, which stays
                self._folder.rmdir()


def _remove_stale_residues(residues: dict[str, bytes | None]) -> None:
    """The residue file of a file that was replaced says nothing of the new one."""
    mark = f'"format":"{RESIDUE_FORMAT}"'.encode()
    for path, data in residues.items():
        if data is None and path != "-":
            stale = residue_path(Path(path))
            # A name that is too long for the system is that of no file.
            with suppress(OSError):
                if stale.is_file() and mark in stale.read_bytes()[:64]:
                    stale.unlink()


def _inline_count(document: Document) -> int:
    from loomconv.media.placement import inline_count

    return inline_count(document)


def _is_near(name: str, store: MediaStore, near: MediaStore) -> bool:
    from loomconv.media.placement import leads_to

    medium = store.find(name)
    return medium is not None and leads_to(near, name, medium)


def _spare_strangers(files: list[str]) -> None:
    """Further trees go to files that the user never named: never over one that this output did not write before."""
    if len(files) > 1 and not Path(files[0]).exists():
        for path in files[1:]:
            if Path(path).exists():
                raise UsageFault(
                    f"a further tree would go to {path!r}, where a file is already",
                    next_step="Move that file away, choose another output name, or choose one tree with --tree.",
                )


def _with_layouts(
    document: Document, target: Format, options: ConversionOptions, report: Report, registry: Registry
) -> tuple[Document, Layout | None]:
    """Note how the source was laid out, for its way home, and take out how the target's file was."""
    extensions = dict(extensions_of(document.fields))
    record = own_record(document.fields)
    known = record.get("layouts")
    layouts = dict(known) if isinstance(known, dict) else {}
    own = _known_layout(layouts.pop(target.name, None), report)
    origin = document.origin
    if origin is not None and origin.format != target.name and options.residue != "none":
        usual = registry.formats.get(origin.format)
        if usual is None or origin.layout not in (usual.layout, *usual.further_layouts):
            layouts[origin.format] = origin.layout.to_json()
    record = {key: value for key, value in record.items() if key != "layouts"}
    fields = dict(document.fields)
    if layouts:
        record["layouts"] = layouts
        if "extensions" in fields and not fields["extensions"]:
            record["bareExtensions"] = fields["extensions"]  # null or empty: they give way to the record
    if record or NAMESPACE in extensions:
        extensions.pop(NAMESPACE, None)
        fields.pop("extensions", None)
        if record.keys() - {"bareExtensions"}:
            extensions[NAMESPACE] = record
        if extensions:
            fields["extensions"] = extensions
        elif "bareExtensions" in record:
            fields["extensions"] = record["bareExtensions"]
    return Document(fields, document.trees, document.key_order, origin, document.touched), own


def _known_layout(value: Any, report: Report) -> Layout | None:
    """A layout that was set aside; one that cannot be read, of a later version perhaps, is passed over."""
    try:
        return None if value is None else Layout.from_json(value)
    except LoomconvError:
        report.add("restore.foreign", "How the file was laid out cannot be read; the usual layout was used.")
        return None


def _copy(data: Any, sink: Any) -> None:
    """The source's own bytes."""
    view = memoryview(data)
    for start in range(0, len(view), 1 << 20):
        sink.write(view[start : start + (1 << 20)])
