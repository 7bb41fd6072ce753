"""A file to other formats and back, through real files, and what is different then."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from loomconv import api
from loomconv.compare import Comparison, Difference, Grade, compare_files, compare_values
from loomconv.difference import Change
from loomconv.edits import Edit, edit_file, unexpected_changes
from loomconv.errors import LoomconvError, UsageFault
from loomconv.format import Format
from loomconv.media.store import MediaStore
from loomconv.model.document import document_json
from loomconv.options import ConversionOptions
from loomconv.registry import Registry, default_registry
from loomconv.report import Report
from loomconv.storage import Source, companion_path, open_source
from loomconv.storage.member_names import shown_name

__all__ = ["RoundTrip", "round_trip"]

_GRADES: Final[tuple[Grade, ...]] = ("bytes", "values", "none")
_DEFAULT_CAP: Final = 1000


@dataclass(slots=True)
class RoundTrip:
    """What became of a file on its way `formats[0]` → … → `formats[-1]`, which is the first format again.

    `comparison` compares the source with what came back (of several files that belong together: all of them).
    `steps` are the reports of the conversions, `files` the names of the files that each one wrote, which are gone.
    """

    source: str
    formats: tuple[str, ...]
    comparison: Comparison
    steps: list[Report] = field(default_factory=list)
    files: list[list[str]] = field(default_factory=list)
    # Edits that were made on the way, and what became otherwise than they say; None unless they were asked for.
    edits: list[Edit] | None = None
    unexpected: list[Change] = field(default_factory=list)

    @property
    def as_expected(self) -> bool:
        """Whether nothing is different, or with edits on the way exactly those are."""
        return self.comparison.equal if self.edits is None else not self.unexpected

    @property
    def grade(self) -> Grade:
        """The same `bytes`, the same `values`, or `none` of it."""
        return self.comparison.grade

    @property
    def differences(self) -> list[Difference]:
        """The differences that were kept; `comparison.total` counts all."""
        return self.comparison.differences

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object, for `loomconv roundtrip --json`."""
        return {
            "source": self.source,
            "formats": list(self.formats),
            "grade": self.grade,
            "total": self.comparison.total,
            "differences": [each.to_json() for each in self.differences],
            "key_order_differs": self.comparison.key_order_differs,
            "steps": [report.to_json() for report in self.steps],
            **(
                {}
                if self.edits is None
                else {
                    "edits": [edit.to_json() for edit in self.edits],
                    "unexpected": [change.to_json() for change in self.unexpected],
                }
            ),
        }


def round_trip(
    path: str | os.PathLike[str],
    via: Sequence[str],
    *,
    source_format: str | None = None,
    options: ConversionOptions | None = None,
    registry: Registry | None = None,
    cap: int | None = _DEFAULT_CAP,
    edit: int | None = None,
) -> RoundTrip:
    """Convert a file (`-`: standard input) to each format of `via` in turn and back, and compare with the source.

    Every step writes real files, in a folder that is removed afterwards, and the next one reads them, so that nothing
    is carried over in memory. Compared is what the containers hold, not their packing. At most `cap` differences are
    kept. With `edit`, a seed, the file of the last format of `via` is edited before it goes home, and what comes back
    is compared by meaning: exactly the edits must be there. Raises what `convert` raises; the error names the step.
    """
    registry = registry or default_registry()
    options = options or ConversionOptions()
    if not via:
        raise UsageFault("there is no format to go through", next_step="Name one, such as `--via openloom-2`.")
    through = [registry.format(name) for name in via]
    with (
        open_source(path, options.limits) as source,
        tempfile.TemporaryDirectory(prefix="loomconv-") as folder,
    ):
        home = registry.format(source_format or api.detect(source, options=options, registry=registry).format)
        if not home.writes:
            raise UsageFault(f"{home.name} can be read, but not written", source=source.name)
        journey = _Journey(Path(folder), options, registry, edit)
        back = journey.run(source, home, [*through, home])
        if home.compared_by == "document":
            loading = replace(options, keep_secrets=True, without=frozenset())
            comparison = _compare_documents(source, back, home, loading, registry, cap)
        else:
            comparison = _compare(source, back, cap)
        unexpected: list[Change] = []
        if journey.edits is not None:
            loading = replace(options, keep_secrets=True)
            before = api.load(source, format=home.name, options=loading, registry=registry)
            after = api.load(str(back[0]), format=home.name, options=loading, registry=registry)
            unexpected = unexpected_changes(before, after, journey.edits)
    formats = (home.name, *(each.name for each in through), home.name)
    return RoundTrip(source.shown_name, formats, comparison, journey.steps, journey.files, journey.edits, unexpected)


class _Journey:
    """The conversions, one after the other, in one folder."""

    def __init__(self, folder: Path, options: ConversionOptions, registry: Registry, edit: int | None = None) -> None:
        self.edit = edit
        self.edits: list[Edit] | None = None
        self.folder = folder
        self.options = options
        self.registry = registry
        self.steps: list[Report] = []
        self.files: list[list[str]] = []

    def run(self, source: Source, home: Format, stops: list[Format]) -> list[Path]:
        """The files of the last step, first one first."""
        current: api.Where = source
        read_as, options = home, self.options
        for number, stop in enumerate(stops, 1):
            last = number == len(stops)
            if last:
                options = replace(options, media="auto")  # the way home is the file's own
            target = self.folder / f"step-{number}{_suffix(stop, source.name if last else '')}"
            try:
                done = api.convert(
                    current,
                    target,
                    source_format=read_as.name,
                    target_format=stop.name,
                    options=options,
                    registry=self.registry,
                )
            except LoomconvError as error:
                if number > 1:
                    error.source = f"{source.name}, step {number} ({read_as.name} to {stop.name})"
                raise
            if self.edit is not None and number == len(stops) - 1:
                self.edits = edit_file(target, stop, self.edit, options, self.registry)
            self.steps.append(done.report)
            self.files.append([Path(name).name for name in done.files])
            current, read_as = target, stop
            # What is chosen and left out is so from the first step on.
            options = replace(options, tree=None, without=frozenset())
        return [self.folder / name for name in self.files[-1]]


def _suffix(chosen: Format, name: str) -> str:
    """The suffix that the name has of the format's, else the format's usual one."""
    lowered = name.lower()
    packed = ".zip" if lowered.endswith(".zip") and "bundle" in chosen.capabilities.media else ""
    own = [suffix for suffix in chosen.suffixes if lowered.removesuffix(".zip").endswith(suffix)]
    return max(own, key=len, default=chosen.suffixes[0] if chosen.suffixes else ".json") + packed


def _compare_documents(
    source: Source, back: list[Path], home: Format, options: ConversionOptions, registry: Registry, cap: int | None
) -> Comparison:
    """The documents that the source and the file that came back give."""
    if len(back) == 1 and bytes(source.data) == back[0].read_bytes():
        return Comparison("bytes")
    before, after = (
        document_json(api.load(where, format=home.name, options=options, registry=registry))
        for where in (source, str(back[0]))
    )
    found = compare_values(before, after, cap=cap)
    return Comparison("none" if found.total else "values", list(found), found.total, found.key_order_differs)


def _compare(source: Source, back: list[Path], cap: int | None) -> Comparison:
    """The source with the first file that came back, and the files beside the source with the further ones."""
    with open_source(back[0], source.limits) as first:
        result = compare_files(bytes(source.data), bytes(first.data), cap=cap)
        _merge(result, _compare_members(source, first), cap)
    for number, path in enumerate(back[1:], 2):
        beside = None if source.path is None else companion_path(source.path, number)
        if beside is None or not beside.is_file():
            missing = Difference("", "missing", f"a further file, {path.name}")
            _merge(result, Comparison("none", [missing], 1), cap)
        else:
            _merge(result, compare_files(beside.read_bytes(), path.read_bytes(), cap=cap), cap)
    return result


def _compare_members(source: Source, back: Source) -> Comparison:
    """The media of two bundles, by name; a document that is no bundle has none."""
    if source.archive is None or back.archive is None:
        return Comparison("bytes")
    differences = []
    left, right = MediaStore(source), MediaStore(back)
    for name in dict.fromkeys([*left.members, *right.members]):
        before, after = left.find(name), right.find(name)
        shown = ["missing" if each is None else f"{each.size} bytes" for each in (before, after)]
        if before is None or after is None or before.sha256() != after.sha256():
            differences.append(Difference(f"member {shown_name(name)}", *shown))
    return Comparison("none" if differences else "bytes", differences, len(differences))


def _merge(result: Comparison, more: Comparison, cap: int | None) -> None:
    result.grade = max(result.grade, more.grade, key=_GRADES.index)
    result.total += more.total
    result.key_order_differs |= more.key_order_differs
    room = None if cap is None else max(0, cap - len(result.differences))
    result.differences = [*result.differences, *more.differences[:room]]
