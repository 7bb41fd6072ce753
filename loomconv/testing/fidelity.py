"""Checks of faithfulness: the two laws of a lens, the capabilities, and the journeys to other formats and back."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from loomconv import api, jsontext
from loomconv.compare import Comparison, Difference, compare_files, compare_values
from loomconv.errors import LoomconvError
from loomconv.options import ConversionOptions
from loomconv.report import Report
from loomconv.roundtrip import RoundTrip, round_trip
from loomconv.storage import open_source, residue_path
from loomconv.testing.declaration import is_sound
from loomconv.testing.features import FEATURES, Feature
from loomconv.testing.looms import link, loom, node
from loomconv.testing.problems import Problem, problems_of
from loomconv.testing.sample_files import samples
from loomconv.testing.subject import Subject

__all__ = [
    "capabilities_are_true",
    "edits_win",
    "extensions_travel",
    "feature_outcome",
    "features_come_home",
    "fixture_comes_home",
    "generated_come_home",
    "generated_files_come_home",
    "get_put",
    "options_work",
    "others_come_home",
    "put_get",
]

_LOST: Final = ConversionOptions(residue="none")
_EXAMPLES: Final = 30
_UNMEANT: Final = re.compile(r"/loomconv/nodes/\d+/position$|/json$")


# -- capabilities ----------------------------------------------------------------------------------------------------


def capabilities_are_true(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Without residue a claimed feature is there when the file is read again, and another one is reported as lost."""
    for number, feature in enumerate(FEATURES):
        outcome, seen = feature_outcome(subject, feature, folder, f"feature-{number}")
        where = f"a document with {feature.name}: {seen}"
        if outcome == "claimed and lost":
            yield Problem(
                f"{feature.name}: `{feature.capability}` claims it, and it does not come back",
                where,
                f"write and read it, or take it out of `{feature.capability}`, so that the hub keeps it aside",
            )
        elif outcome == "lost in silence":
            yield Problem(
                f"{feature.name} is lost in silence: `{feature.capability}` does not claim it, nothing was reported",
                where,
                "the hub reports what the capabilities do not list; what they list has to be written",
            )


def feature_outcome(subject: Subject, feature: Feature, folder: Path, stem: str) -> tuple[str, str]:
    """What becomes of a feature in a file without residue, and in words what was there before and after.

    "held", "reported" (not held, and said so), "claimed and lost" or "lost in silence".
    """
    report = Report()
    path = subject.write(feature.document, folder, stem=stem, options=_LOST, report=report)
    try:
        before = feature.found(feature.document)
        after = feature.found(subject.read(path))
    except (LookupError, StopIteration):
        after = "nothing of the kind"
    seen = f"{before!r} before, {after!r} after"
    claimed = feature.claimed(subject.format.capabilities_for(path.name, _defaults(subject)))
    if jsontext.encode(after) == jsontext.encode(before):
        return "held", seen
    if claimed:
        return "claimed and lost", seen
    return ("reported" if report.losses() or report.codes["loss.extra-tree"] else "lost in silence"), seen


def _defaults(subject: Subject) -> Mapping[str, str]:
    return ConversionOptions().of_format(subject.format, "write")


def extensions_travel(subject: Subject, folder: Path) -> Iterator[Problem]:
    """What another app keeps at a level of `unknown_keys` is in the file itself."""
    kept: dict[str, Any] = {"other-app": {"k": [1, "é"], "extensions": {}}}
    edge = link("a", "b", id="e", extensions=kept)
    value = loom(node("a", "x", extensions=kept), node("b", "y"), edges=[edge], extensions=kept)
    path = subject.write({**value, "extensions": kept}, folder, stem="extensions")
    residue_path(path).unlink(missing_ok=True)
    back = subject.read(path)
    (tree,) = back["trees"]
    nodes = [each for each in tree["nodes"].values() if any(block.get("text") == "x" for block in each["content"])]
    places = {"document": [back], "tree": [tree], "node": nodes, "edge": tree["edges"]}
    held = subject.format.capabilities_for(path.name, _defaults(subject)).unknown_keys
    for level in held:
        if not any((each.get("extensions") or {}).get("other-app") == kept["other-app"] for each in places[level]):
            yield Problem(
                f"what another app keeps for a {level} is lost",
                f"extensions of the {level}",
                f"write `extensions` of the {level} under a key of the file (`Lens` has a `carrier`), or take "
                f"{level!r} out of `unknown_keys`: then it goes to a file beside",
            )


# -- journeys --------------------------------------------------------------------------------------------------------


def features_come_home(subject: Subject, folder: Path) -> Iterator[Problem]:
    """With residue everything returns, whatever the format holds."""
    for number, feature in enumerate(FEATURES):
        path = _pivot_file(subject, feature.document, folder, f"home-{number}")
        trip = round_trip(path, [subject.format.name], source_format=subject.pivot.name, registry=subject.registry)
        yield from problems_of(
            trip.differences, f"{feature.name}: {subject.pivot.name} -> {subject.format.name} -> {subject.pivot.name}"
        )


def fixture_comes_home(subject: Subject, fixture: Path, folder: Path) -> Iterator[Problem]:
    """A sound file returns from every installed format that reads and writes."""
    if not is_sound(subject, fixture, odd_values=True):
        return
    for name, other in sorted(subject.registry.formats.items()):
        if other is subject.format or not (other.reads and other.writes):
            continue
        yield from _trip(subject, fixture, name).problems


def others_come_home(subject: Subject, folder: Path) -> Iterator[Problem]:
    """A small file of every other format returns from this one."""
    for name, path in samples(subject.registry, subject.pivot, folder, without=subject.format.name):
        other = subject.registry.formats[name]
        if not other.reads:
            continue
        journey = f"{path.name}: {name} -> {subject.format.name} -> {name}"
        try:
            trip = round_trip(path, [subject.format.name], source_format=name, registry=subject.registry)
        except LoomconvError as error:
            yield Problem(f"the journey ends early: {error.message}", journey, error.next_step)
            continue
        yield from problems_of(_meant(trip), journey)


class _Journey:
    """A journey and what came of it; an error on the way is a problem, too."""

    def __init__(self, trip: RoundTrip | None, problems: list[Problem]) -> None:
        self.trip = trip
        self.problems = problems


def _trip(subject: Subject, path: Path, via: str) -> _Journey:
    journey = f"{path.name}: {subject.format.name} -> {via} -> {subject.format.name}"
    try:
        trip = round_trip(path, [via], source_format=subject.format.name, registry=subject.registry)
    except LoomconvError as error:
        return _Journey(None, [Problem(f"the journey ends early: {error.message}", journey, error.next_step)])
    return _Journey(trip, list(problems_of(_meant(trip), journey)))


def _meant(trip: RoundTrip) -> list[Difference]:
    """The differences but for two in what the hub keeps for itself: residue that had to go into a file as text may have
    its keys in another order, and the place of a note among the nodes means nothing."""
    return [each for each in trip.differences if not _UNMEANT.search(each.pointer)]


def _pivot_file(subject: Subject, value: Mapping[str, Any], folder: Path, stem: str) -> Path:
    path = folder / f"{stem}{subject.suffix_of(subject.pivot)}"
    path.write_bytes(jsontext.dump(dict(value), jsontext.TWO_SPACES))
    return path


def generated_come_home(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Any document of one tree, through the format and back."""

    def check(value: dict[str, Any]) -> list[Problem]:
        path = _pivot_file(subject, value, folder, "any")
        try:
            trip = round_trip(path, [subject.format.name], source_format=subject.pivot.name, registry=subject.registry)
        except LoomconvError as error:
            return [Problem(f"the journey ends early: {error.message}", "a generated document", error.next_step)]
        journey = f"{subject.pivot.name} -> {subject.format.name} -> {subject.pivot.name}"
        return [*problems_of(_meant(trip), f"{journey} with the document {jsontext.encode(value).decode()}")]

    yield from _for_any_document(check, subject.effort)


def generated_files_come_home(subject: Subject, folder: Path) -> Iterator[Problem]:
    """A file of the format made of any document, through another format and back."""
    others = sorted(
        name for name, each in subject.registry.formats.items() if each.reads and each.writes and each != subject.format
    )

    def check(value: dict[str, Any]) -> list[Problem]:
        path = subject.write(value, folder, stem="any")
        said = jsontext.encode(value)
        # One of the others, always the same for the same document.
        found = _trip(subject, path, others[zlib.crc32(said) % len(others)]).problems
        shown = said.decode("utf-8", "surrogatepass")
        return [Problem(each.what, f"{each.where}, made of the document {shown}", each.advice) for each in found]

    yield from _for_any_document(check, subject.effort)


def _for_any_document(check: Callable[[dict[str, Any]], list[Problem]], effort: float) -> list[Problem]:
    """The problems of the simplest document that has any."""
    from hypothesis import HealthCheck, Phase, given, settings

    from loomconv.testing.problems import Nonconformance
    from loomconv.testing.strategies import documents

    @settings(
        max_examples=max(1, int(_EXAMPLES * effort)),
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(documents(max_trees=1))
    def look(value: dict[str, Any]) -> None:
        found = check(value)
        if found:
            raise Nonconformance("any document", found)

    try:
        look()
    except Nonconformance as error:
        return list(error.problems)
    return []


# -- the laws --------------------------------------------------------------------------------------------------------


def get_put(subject: Subject, fixture: Path, folder: Path) -> Iterator[Problem]:
    """A file that was read and is written by the writer, not copied, is the same."""
    if not is_sound(subject, fixture, odd_values=True):
        return
    document = api.load(fixture, format=subject.format.name, registry=subject.registry)
    document.touched = True  # else the hub copies the source's bytes
    target = folder / f"again{fixture.suffix}"
    api.dump(document, target, format=subject.format.name, registry=subject.registry)
    yield from problems_of(_compared(subject, fixture, target).differences, f"{fixture.name}, read and written")


def put_get(subject: Subject, folder: Path) -> Iterator[Problem]:
    """What a written file says is what a file says that was written from that."""
    for number, feature in enumerate(FEATURES):
        first = subject.write(feature.document, folder, stem=f"first-{number}")
        document = api.load(first, format=subject.format.name, registry=subject.registry)
        document.touched = True
        second = folder / f"second-{number}{subject.suffix}"
        api.dump(document, second, format=subject.format.name, registry=subject.registry)
        found = compare_values(subject.read(first), subject.read(second))
        yield from problems_of(found, f"{feature.name}: written, read, written and read again")


def _compared(subject: Subject, left: Path, right: Path) -> Comparison:
    if subject.format.compared_by == "file":
        with open_source(left) as ours, open_source(right) as theirs:  # what a container holds, not how it is packed
            return compare_files(bytes(ours.data), bytes(theirs.data))
    found = compare_values(subject.read(left), subject.read(right))
    return Comparison("none" if found.total else "values", found, found.total)


def edits_win(subject: Subject, folder: Path) -> Iterator[Problem]:
    """A file is edited in another format; when it is back, exactly the edits are different."""
    value = loom(
        *(node(f"n{number}", f"text {number}", "model" if number % 2 else "human") for number in range(12)),
        edges=[link(f"n{(number - 1) // 2}", f"n{number}") for number in range(1, 12)],
    )
    path = subject.write(value, folder, stem="edited")
    for seed in range(4):
        trip = round_trip(
            path, [subject.pivot.name], source_format=subject.format.name, registry=subject.registry, edit=seed
        )
        for change in trip.unexpected:
            yield Problem(
                f"after an edit elsewhere: {change.kind} {change.what}, {change.before!r} -> {change.after!r}",
                f"{subject.format.name} -> {subject.pivot.name}, edited -> {subject.format.name}, node {change.node}",
                "a kept raw form must give way when it does not say what the core says any more; `Lens` sees to that",
            )


def options_work(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Each value of each option is taken; the defaults are what everything else here is checked with."""
    value = loom(node("a", "x"), node("b", "y", "model"), edges=[link("a", "b")])
    for option in subject.format.options:
        for choice in option.choices:
            options = ConversionOptions(format_options={subject.format.name: {option.name: choice}})
            try:
                subject.read(
                    subject.write(value, folder, stem=f"{option.name}-{choice}", options=options), options=options
                )
            except LoomconvError as error:
                yield Problem(
                    f"with {option.name}={choice} a small document cannot be written and read: {error.message}",
                    f"option {option.name}",
                    "every choice that is offered has to work",
                )
