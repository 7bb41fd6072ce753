from __future__ import annotations

import base64
import time
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomconv.errors import InvalidDocument, LimitExceeded
from loomconv.media.data_uri import DataUri, parse_data_uri
from loomconv.storage.limits import Limits


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_both_forms_give_the_bytes_back(data: bytes, padded: bool) -> None:
    text = base64.b64encode(data).decode()
    assert parse_data_uri(f"data:;base64,{text if padded else text.rstrip('=')}").data == data
    assert parse_data_uri(f"data:,{quote_from_bytes(data)}").data == data
    assert parse_data_uri(f"data:;base64,{quote_from_bytes(text.encode(), safe='')}").data == data


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("data:image/png;base64,AQID", DataUri("image/png", b"\1\2\3")),
        ("DATA:Image/PNG;BASE64,AQID", DataUri("image/png", b"\1\2\3")),
        ("data:image/png;base64,AQ\r\n ID\t", DataUri("image/png", b"\1\2\3")),
        ("data:image/png; base64,AQID", DataUri("image/png", b"\1\2\3")),
        ("data:;base64,", DataUri(None, b"")),
        ("data:,", DataUri(None, b"")),
        ("data:,a%20b,c", DataUri(None, b"a b,c")),
        ("data:text/plain;Charset=UTF-8;base64,YQ==", DataUri("text/plain", b"a", {"charset": "UTF-8"})),
        ("data:image/svg+xml;utf8,<svg>ü</svg>", DataUri("image/svg+xml", "<svg>ü</svg>".encode(), {"utf8": ""})),
        ("data:base64,AQID", DataUri("base64", b"AQID")),
        ("data:a/b,%00%ff", DataUri("a/b", b"\0\xff")),
    ],
)
def test_forms(ref: str, found: DataUri) -> None:
    assert parse_data_uri(ref) == found


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "media/a.png",
        "data:image/png;base64",
        "data:" + "x" * 2000 + ",",
        "data:;base64,A",
        "data:;base64,AQIDB",
        "data:;base64,=",
        "data:;base64,AQI==",
        "data:;base64,AQID=",
        "data:;base64,A=I=",
        "data:;base64,AQ=",
        "data:;base64,A===",
        "data:;base64,AQ==AQID",
        "data:;base64,=AQI",
        "data:;base64,AQID====",
        "data:;base64,AQ-_",
        "data:;base64,AQ!D",
        "data:;base64,AQü=",
        "data:,100%",
        "data:,%4",
        "data:,%zz",
        "data:,\ud83e",
    ],
)
def test_broken_ones_are_refused_without_being_quoted(ref: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        parse_data_uri(ref)
    assert caught.value.next_step
    assert "AQ" not in str(caught.value)


@pytest.mark.parametrize(
    "ref", ["data:;base64,AQIDBA==", "data:;base64,AQIDBA", "data:;base64,A Q I D BA", "data:,%41%42%43D"]
)
def test_the_size_is_exact(ref: str) -> None:
    assert len(parse_data_uri(ref, Limits(medium_bytes=4)).data) == 4
    with pytest.raises(LimitExceeded, match="--limit medium-bytes="):
        parse_data_uri(ref, Limits(medium_bytes=3))


def test_an_escape_on_the_edge_of_a_piece_stays_whole() -> None:
    for shift in range(4):
        text = "x" * (64 * 1024 - shift) + "%41%42" + "y" * 70_000 + "%43"
        expected = "x" * (64 * 1024 - shift) + "AB" + "y" * 70_000 + "C"
        assert parse_data_uri(f"data:,{text}").data == expected.encode()


def test_long_ones_take_linear_time() -> None:
    start = time.perf_counter()
    for ref in ("data:,%41" + "%41" * 300_000, "data:;base64," + "QUFB" * 300_000, "data:" + ";" * 5_000_000):
        try:
            parse_data_uri(ref)
        except InvalidDocument:
            assert ";;" in ref
    assert time.perf_counter() - start < 3
