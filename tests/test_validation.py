from __future__ import annotations

import json
from pathlib import Path

import pytest

from loomconv.errors import UsageFault
from loomconv.format import Confidence, Format, Probe, ReadContext, hookimpl
from loomconv.model import Document
from loomconv.registry import Registry
from loomconv.storage import Source, open_source
from loomconv.validation import validate_file

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openloom-2"


class Strict(Format):
    """A format whose schema finds fault with everything, and whose files have no trees."""

    name = "strict"
    title = "Strict"
    namespace = "strict"
    writes = False

    def detect(self, probe: Probe) -> Confidence | None:
        return Confidence(100, "anything")

    def validate(self, source: Source, context: ReadContext) -> None:
        context.report.add("validate.schema", "The value must be text.", pointer="/a")

    def read(self, source: Source, context: ReadContext) -> Document:
        return Document()


class Strictness:
    @hookimpl
    def loomconv_register_formats(self, register: object) -> None:
        assert callable(register)
        register(Strict())


def test_a_sound_file_is_valid() -> None:
    found = validate_file(FIXTURES / "minimal.openloom")
    assert found.valid
    assert found.to_json()["valid"] is True
    assert found.report.source == {"name": "minimal.openloom", "format": "openloom-2", "container": "plain"}


def test_notices_do_not_count() -> None:
    found = validate_file(FIXTURES / "full.openloom")
    assert found.report.severities["notice"] > 0
    assert found.valid


def test_keys_in_the_file_do_not_count() -> None:
    found = validate_file(FIXTURES / "secrets.openloom")
    assert found.report.codes["privacy.secret-dropped"] == 2
    assert found.valid


def test_repairs_count() -> None:
    found = validate_file(FIXTURES / "repair-dangling-edges.openloom")
    assert not found.valid
    assert found.report.codes["repair.missing-source"] == 2


def test_the_schema_counts() -> None:
    found = validate_file(b"{}", registry=Registry([("strict", Strictness())]))
    assert not found.valid
    assert [(each.code, each.pointer) for each in found.report.findings] == [("validate.schema", "/a")]


def test_faults_of_the_schema_have_places_in_the_order_of_the_text() -> None:
    found = validate_file(FIXTURES / "repair-wrong-types.openloom")
    faults = [each for each in found.report.findings if each.code == "validate.schema"]
    assert [(each.pointer, each.place.line, each.place.column) for each in faults if each.place][:2] == [
        ("/trees/0/title", 7, 16),
        ("/trees/0/nodes/a/meta", 24, 19),
    ]
    assert [each.place.byte for each in faults if each.place] == sorted(
        each.place.byte for each in faults if each.place
    )
    assert len(faults) == 7


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"format": "open-loom",,', "read.syntax"),
        (b'{"neither": "this"}', "detect.unknown-format"),
        (b"", "read.unreadable"),
        (b'{"format": "open-loom", "version": "2.0", "trees": []}', "read.invalid"),
        (b"\x1f\x8b\x08\x00broken", "read.unreadable"),
    ],
)
def test_what_cannot_be_read_is_not_valid(data: bytes, code: str) -> None:
    found = validate_file(data)
    assert not found.valid
    (failure,) = found.report.of_severity("error")
    assert failure.code == code


def test_syntax_faults_have_a_place() -> None:
    found = validate_file(FIXTURES / "broken-trailing-comma.openloom").to_json()
    (fault,) = found["findings"]
    assert fault["code"] == "read.syntax"
    assert fault["place"]["line"] == 74
    assert fault["place"]["column"] == 8
    assert json.dumps(found)


def test_an_unknown_format_is_wrong_usage() -> None:
    with pytest.raises(UsageFault):
        validate_file(FIXTURES / "minimal.openloom", format="nope")


def test_an_open_source_stays_open() -> None:
    with open_source(FIXTURES / "minimal.openloom") as source:
        assert validate_file(source).valid
        assert len(source.data) == source.size
