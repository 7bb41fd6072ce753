"""Checks of detection: own files are recognised, other formats' files are left to them, and nothing makes it fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loomconv.errors import LoomconvError
from loomconv.format import Confidence, Format, Probe
from loomconv.storage import open_source
from loomconv.testing.features import FEATURES
from loomconv.testing.problems import Problem
from loomconv.testing.sample_files import samples
from loomconv.testing.subject import Subject

__all__ = ["anything_can_be_probed", "fixture_is_recognised", "others_are_left_alone", "written_is_recognised"]

_SCORES = (
    "100 for a mark that only this format has, 70 to 90 for keys that hardly occur elsewhere, 30 to 60 for a shape"
)


def fixture_is_recognised(subject: Subject, fixture: Path, folder: Path) -> Iterator[Problem]:
    """A file of the app is recognised by its content alone."""
    yield from _recognised(subject, fixture, fixture.name)


def written_is_recognised(subject: Subject, folder: Path) -> Iterator[Problem]:
    """A file that was written is recognised."""
    for number, feature in enumerate(FEATURES[:3]):
        path = subject.write(feature.document, folder, stem=f"detected-{number}")
        yield from _recognised(subject, path, f"a written file with {feature.name}")


def _recognised(subject: Subject, path: Path, where: str) -> Iterator[Problem]:
    try:
        with open_source(path) as source:
            # The name is nothing to go by: people rename files.
            found = subject.registry.scores(Probe(source.data, "renamed", source=source))
    except LoomconvError as error:
        yield Problem(f"the file cannot be opened: {error.message}", where, "fixtures are files as the app writes them")
        return
    own = [confidence for each, confidence in found if each is subject.format]
    if not own:
        yield Problem("the file is not recognised", where, "`detect` has to go by the content, not by the name")
        return
    for each, confidence in found:
        if each is not subject.format and confidence.score >= own[0].score:
            yield Problem(
                f"{each.name} is {confidence.score} % sure of it ({confidence.reason}), and you are {own[0].score} %",
                where,
                f"ask for something that {each.name} has not, and score higher: {_SCORES}",
            )


def others_are_left_alone(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Files that every other installed format writes are claimed less surely than their own format claims them."""
    for name, path in samples(subject.registry, subject.pivot, folder, without=subject.format.name):
        with open_source(path) as source:
            probe = Probe(source.data, path.name, source=source)
            mine, theirs = _ask(subject.format, probe), _ask(subject.registry.formats[name], probe)
        # A format that lets another one write may give a file of that one.
        if mine is not None and theirs is not None and mine.score >= theirs.score:
            yield Problem(
                f"a file of {name} is claimed with {mine.score} % ({mine.reason})",
                f"{path.name}, which {name} is {theirs.score} % sure of",
                f"look for a mark that {name} has not: {_SCORES}",
            )


def _ask(chosen: Format, probe: Probe) -> Confidence | None:
    return chosen.detect(probe) if chosen.reads else None


_ODD_HEADS: tuple[bytes, ...] = (
    *(b"{", b"[", b"{}", b"[]", b"null", b"0", b'""', b'"', b"[[[[", b'{"a":', b'[{"a":1},{"a":null}]', b"\x00" * 64),
    *(
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
        b"\xd8\x00",
        b'{"a":"\\ud83e"}',
        b'{"a":1e999}',
        b"\n\n\n",
        b"# Title\n",
    ),
    *(b'{"format":5,"version":[],"trees":null,"nodes":{},"root":0,"app":{},"id":false,"name":null}',),
    *(
        b'{"a":1}\n{"b":2}\n',
        b"SQLite format 3\x00" + b"\x00" * 84,
        b"PK\x03\x04",
        b"[" * 2000,
        b"<html>",
        b"id,text\n1,a\n",
    ),
)


_ODD_VALUES: tuple[Any, ...] = (None, 5, "x", [], {}, [None], True)


def anything_can_be_probed(subject: Subject, folder: Path) -> Iterator[Problem]:
    """Heads of all sorts, and the head of every fixture with each top-level value replaced, raise nothing."""
    for head in _ODD_HEADS:
        yield from _probed(subject, Probe(head, "any"), f"a file that begins with {head[:30]!r}")
    for fixture in subject.fixtures:
        with open_source(fixture) as source:
            probe = Probe(source.data, fixture.name, source=source)
        keys = sorted(probe.keys)
        for key in keys:
            for value in _ODD_VALUES:
                spoilt = Probe(probe.head, fixture.name)
                spoilt.value = {**probe.value, key: value}
                yield from _probed(subject, spoilt, f"{fixture.name} with {key!r} as {value!r}")


def _probed(subject: Subject, probe: Probe, where: str) -> Iterator[Problem]:
    try:
        answer = subject.format.detect(probe)
    except Exception as error:  # whatever it raises is the finding
        yield Problem(
            f"`detect` raises {type(error).__name__}: {error}",
            where,
            "ask with isinstance before you look into a value; the file may be anybody's",
        )
        return
    if answer is not None and not isinstance(answer, Confidence):
        yield Problem(f"`detect` answers {type(answer).__name__}", where, "answer with a Confidence, or None")
