"""What a plugin gives: a `Format` object that describes, detects, reads and writes one kind of file.

A third party's format and the built-in ones are the same to the hub. Minimal plugin:

    from loomconv.plugin import Format, hookimpl

    class MyFormat(Format):
        name = "my-loom"
        ...

    @hookimpl
    def loomconv_register_formats(register):
        register(MyFormat())

with an entry point in the group `loomconv` that names the module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, ClassVar, Literal, Protocol

import pluggy

from loomconv import jsontext
from loomconv.capabilities import ANY, EVERYTHING, Capabilities
from loomconv.errors import LoomconvError, Place, PluginFault, TruncatedInput
from loomconv.jsontext import Layout, Oddity
from loomconv.model.builder import TreeBuilder
from loomconv.model.document import Document, Origin, Tree
from loomconv.model.nodes import NodeDecoder
from loomconv.model.types import Node
from loomconv.report import Code, Report
from loomconv.storage.limits import Limits
from loomconv.storage.source import SQLITE_MAGIC, Source

__all__ = [
    "ANY",
    "API_VERSION",
    "EVERYTHING",
    "Capabilities",
    "Confidence",
    "Format",
    "Option",
    "Others",
    "Probe",
    "ReadContext",
    "Sink",
    "WriteContext",
    "hookimpl",
]

hookimpl = pluggy.HookimplMarker("loomconv")

# Version of what `loomconv.plugin` offers. The first number changes when something goes or means something else, the
# second when something is added.
API_VERSION = (1, 0)

_HEAD = 1 << 16

# A format by name, with the user's options for it.
Others = Callable[[str, Literal["read", "write"]], tuple["Format", Mapping[str, str]]]


def _no_others(name: str, applies_to: Literal["read", "write"]) -> tuple[Format, Mapping[str, str]]:
    raise PluginFault(f"the format {name} is needed, and there are no other formats here")


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure a format is that a file is its own, 1 to 100, and why (shown to people).

    100: a mark that only this format has. 70 to 90: keys that together hardly occur elsewhere. 30 to 60: a shape that
    other formats share. None instead of a `Confidence`: not this format.
    """

    score: int
    reason: str

    def __post_init__(self) -> None:
        if not 1 <= self.score <= 100:
            raise PluginFault(f"a confidence is a number from 1 to 100, and not {self.score!r}")


class Probe:
    """The start of a file, for detection: nothing but `tables` reads more than 64 KiB.

    `value` is what the first 64 KiB hold as plain JSON values (containers may be cut off, the last text may be short),
    or `jsontext.NOTHING` when they hold no JSON. For JSON Lines it is the first line's value, and `lines` has the
    values of the first lines.
    """

    __slots__ = ("_source", "_tables", "head", "lines", "name", "truncated", "value")

    def __init__(self, data: Any, name: str, *, source: Source | None = None) -> None:
        self._source = source
        self._tables: frozenset[str] | None = None
        self.head = bytes(data[:_HEAD])
        self.name = name
        self.truncated = len(data) > _HEAD
        self.value: Any = jsontext.parse_prefix(self.head)
        self.lines: list[Any] = []
        if isinstance(self.value, dict):
            self.lines = _first_lines(self.head)

    @property
    def suffixes(self) -> str:
        """All suffixes of the file name in lower case, such as `.openloom.json`."""
        return "".join(PurePath(self.name).suffixes).lower()

    @property
    def keys(self) -> frozenset[str]:
        """Top-level keys of an object, as far as the head shows them; empty for anything else."""
        return frozenset(self.value) if isinstance(self.value, dict) else frozenset()

    @property
    def tables(self) -> frozenset[str]:
        """Names of the tables when the file is a SQLite database that can be opened; empty for anything else."""
        if self._tables is None:
            self._tables = frozenset()
            if self._source is not None and self.head.startswith(SQLITE_MAGIC):
                self._tables = _tables_of(self._source)
        return self._tables


def _tables_of(source: Source) -> frozenset[str]:
    from loomconv.storage.database import open_database, table_names

    try:
        with open_database(source) as connection:
            return table_names(connection)
    except LoomconvError:
        return frozenset()  # the format that is chosen by name will say what is wrong


def _first_lines(head: bytes) -> list[Any]:
    """Values of the first lines when each is an object of its own; empty when the text is not JSON Lines."""
    lines = [line for line in head.split(b"\n")[:20] if line.strip()]
    if len(lines) < 2:
        return []
    values = []
    for line in lines[:-1]:
        try:
            values.append(jsontext.decode(line))
        except LoomconvError:
            return []
    return values if all(isinstance(value, dict) for value in values) else []


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of one format; on the command line it is `--<format>-<name>`."""

    name: str
    help: str
    choices: tuple[str, ...]
    default: str
    applies_to: Literal["read", "write"] = "read"


class Sink(Protocol):
    """Where a writer's bytes go."""

    def write(self, data: bytes, /) -> object:
        """Append bytes."""


@dataclass(slots=True)
class ReadContext:
    """Everything a reader may use besides the source: the report, the limits, and the user's choices."""

    report: Report
    limits: Limits = field(default_factory=Limits)
    # The zone that the user states for times without one, as `+HH:MM` or `-HH:MM`.
    assume_timezone: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    # Called for each node that a builder takes; gives back the node to keep (secrets out, odd texts reported).
    examine: Callable[[str, Node, bool], Node] | None = None
    # Set by whoever changed what the file said, so that its own bytes can no longer stand for it.
    touched: bool = False
    truncated: bool = False
    others: Others = _no_others

    def builder(self, fields: dict[str, Any] | None = None, *, decoder: NodeDecoder | None = None) -> TreeBuilder:
        """A builder for one tree whose nodes go through the hub's examination."""
        return TreeBuilder(fields, decoder=decoder, examine=self.examine)

    def load_json(
        self, source: Source, *, non_finite: Literal["null", "error"] = "error", max_depth: int | None = None
    ) -> Any:
        """The whole source as plain values; oddities become findings, a text that ends too early what stands before.

        `non_finite` says what NaN and the infinities become. `max_depth` is for formats that are flat by nature.
        Raises UnreadableFile with line, column and byte.
        """
        try:
            loaded = jsontext.load(source.data, non_finite=non_finite, max_depth=max_depth)
        except TruncatedInput:
            loaded = jsontext.load(source.data, non_finite=non_finite, max_depth=max_depth, salvage=True)
        if loaded.rung != "fast":
            self.report.add("read.exact", f"The exact reader was used: {loaded.reason}.")
        self.note(loaded.oddities)
        return loaded.value

    def load_text(self, source: Source) -> str:
        """The whole source as text, from UTF-8; a byte order mark is passed over, and both that and bytes that are no
        UTF-8 become findings. Such bytes are kept as lone surrogates, which `encode_text` makes bytes of again.
        """
        data = bytes(source.data)
        if data.startswith(b"\xef\xbb\xbf"):
            self.report.add("read.bom")
            self.touched, data = True, data[3:]
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            place = Place(
                data.count(b"\n", 0, error.start) + 1, error.start - data.rfind(b"\n", 0, error.start), error.start
            )
            self.report.add("read.bad-encoding", place=place)
            self.touched = True
            return data.decode("utf-8", "surrogateescape")

    def read_as(self, name: str, source: Source) -> Document:
        """What another installed format makes of the source, for a format that is a dialect of that one.

        Raises UsageFault when the format is not installed, and whatever its reader raises.
        """
        chosen, options = self.others(name, "read")
        self.report.declare(chosen.finding_codes)
        inner = replace(self, options=options)
        document = chosen.read(source, inner)
        self.touched |= inner.touched
        self.truncated |= inner.truncated
        return document

    def note(self, oddities: list[Oddity]) -> None:
        """Turn what the JSON reader saw into findings."""
        for oddity in oddities:
            if oddity.kind in ("bom", "non-finite-number", "bad-encoding"):
                self.touched = True
            if oddity.kind == "truncated":
                self.truncated = True
            if oddity.kind != "lone-surrogate":  # reported by node, see `examine`
                self.report.add(
                    f"read.{oddity.kind}",
                    oddity.message,
                    pointer=oddity.pointer or None,
                    value=oddity.value,
                    place=oddity.place,
                )


@dataclass(slots=True)
class WriteContext:
    """Everything a writer may use besides the document."""

    report: Report
    # How to lay out the file. `layout_is_original` says that the file had this layout before its journey.
    layout: Layout
    layout_is_original: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    # Name of the file to be written, without a folder; empty for a stream.
    name: str = ""
    # Time to record as that of the export; None leaves it out, so that output is reproducible.
    exported_at: str | None = None
    others: Others = _no_others

    def write_as(self, name: str, document: Document, sink: Sink, *, layout: Layout | None = None) -> None:
        """Let another installed format write the document, in its own layout unless one is given.

        Raises UsageFault when the format is not installed, and whatever its writer raises.
        """
        chosen, options = self.others(name, "write")
        self.report.declare(chosen.finding_codes)
        inner = replace(self, options=options, layout=layout or chosen.layout, layout_is_original=layout is not None)
        chosen.write(document, sink, inner)


class Format:
    """One kind of file. Subclass, set the class attributes, and implement what the format can do.

    Objects of this class hold no state: one object serves many files, also at the same time.
    """

    # Small letters, digits and hyphens: what `--to` and `--from` take.
    name: ClassVar[str]
    # The app's name, for people.
    title: ClassVar[str]
    # Version of the plugin API that the format is written for.
    api: ClassVar[tuple[int, int]] = (1, 0)
    # In small letters, longest first; used to choose a target format by name, never to detect.
    suffixes: ClassVar[tuple[str, ...]] = ()
    # For people only.
    media_type: ClassVar[str] = "application/json"
    # What it can do: a format that reads has `detect` and `read`, one that writes has `write`.
    reads: ClassVar[bool] = True
    writes: ClassVar[bool] = True
    # What comes back when the app's file is read again; the hub keeps aside what is not in here.
    capabilities: ClassVar[Capabilities] = Capabilities()
    # Key of the format's own things under `extensions`.
    namespace: ClassVar[str]
    # Files of the app that are no looms by themselves, or older states of one: pattern for the name or the end of the
    # path (`backups/*`) → what they are. Whoever converts whole folders passes them over.
    by_products: ClassVar[Mapping[str, str]] = {}
    # How the app itself lays out its files.
    layout: ClassVar[Layout] = jsontext.COMPACT
    # Other layouts that the writer chooses by itself, so that there is no need to remember them.
    further_layouts: ClassVar[tuple[Layout, ...]] = ()
    # Settings; each is `--<format>-<name>` on the command line. Every default should be the lossless one.
    options: ClassVar[tuple[Option, ...]] = ()
    # Codes of findings that the hub does not have: `<format>.<what>` → `Code(severity, meaning)`.
    finding_codes: ClassVar[Mapping[str, Code]] = {}
    # Whether two files are the same is seen from the JSON values in them, or from the documents that they give (for
    # databases, and for files with a history).
    compared_by: ClassVar[Literal["file", "document"]] = "file"

    def detect(self, probe: Probe) -> Confidence | None:
        """How sure it is that the file is of this format, from its content; None when it is not."""
        raise NotImplementedError

    def read(self, source: Source, context: ReadContext) -> Document:
        """The source as a document, without guessing: unknown keys kept, bad values reported.

        Raises UnreadableFile or InvalidDocument when there is no document to be had.
        """
        raise NotImplementedError

    def write(self, document: Document, sink: Sink, context: WriteContext) -> None:
        """Serialise a document that fits `capabilities`; the hub has seen to that."""
        raise NotImplementedError

    def capabilities_for(self, name: str, options: Mapping[str, str]) -> Capabilities:
        """What a file of this name (without folder, empty for a stream), written with these options, can hold.

        For formats that write files of several kinds; `capabilities` unless overridden.
        """
        return self.capabilities

    def is_rewritten(self, origin: Origin, name: str, options: Mapping[str, str]) -> bool:
        """Whether even an untouched document of this format has to be written anew to a file of this name.

        For formats that write files of several kinds: the bytes of one kind are no file of another. Options other than
        their defaults always make it so.
        """
        return False

    def derived_fields(self, tree: Tree) -> dict[str, Any]:
        """Fields of a tree that `read` makes up when the file says nothing of them, as far as it would for this tree.

        For a format without titles, for example, `{"title": ""}`. The hub keeps no residue of a field that has the
        derived value, and knows that a derived value which comes back was not in the original.
        """
        return {}

    def private_keys(self) -> Mapping[str, tuple[str, ...]]:
        """What of the format's own extensions is private: part of `loomconv.privacy.PARTS` → dotted key paths."""
        return {}

    def schema(self) -> dict[str, Any] | None:
        """JSON Schema of the format's files, None when it has none."""
        return None

    def validate(self, source: Source, context: ReadContext) -> None:
        """Check the source against the format's schema; each fault becomes a finding. By default nothing to check."""
        return

    def __repr__(self) -> str:
        return f"<Format {self.name}>"
