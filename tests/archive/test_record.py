"""What goes in comes out, with our reader and with warcio, whatever servers send."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from tests.archive.sample import AT_S, HEAD, capture, every_kind, resource, revisit, run
from whimbrel.archive.api import (
    Capture,
    ConversionCapture,
    MetadataCapture,
    RecordPlace,
    Reference,
    ResourceCapture,
    ResponseCapture,
    RevisitCapture,
)
from whimbrel.archive.head import end_of_head, stored_head
from whimbrel.archive.read import StoredCapture, read_capture, read_records
from whimbrel.archive.record import warc_date
from whimbrel.archive.warc import ArchiveConfig, WarcArchive

_LINE = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"", b" ", b"\t", b"\r", b"\x00", b"\x1c", b"\x85", b"\xa0", b"\xc2\xa0", b"\xe2\x80\xa8", b" folded",
            b"NoColon",
            b"Transfer-Encoding: chunked", b"transfer-encoding : chunked", b"X: Transfer-Encoding: chunked",
            b"Content-Encoding: gzip", b"Content-Type: text/html;charset=x", b"content-type:", b"Content-Length: 99999",
            b"WARC/1.1", b"HTTP/1.1 200 OK",
        ]
    ),
)  # fmt: skip
_FIRST = st.one_of(_LINE, st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/2 200 ", b"HTTP/1.0 404", b"ICY 200 OK"]))
_HEADS = st.builds(
    lambda first, lines, end, last: end.join([first, *lines]) + last,
    _FIRST,
    st.lists(_LINE, max_size=6),
    st.sampled_from([b"\r\n", b"\n", b"\r\r\n"]),
    st.sampled_from([b"", b"\r\n", b"\r\n\r\n", b"\n\n"]),
)
_BODIES = st.one_of(st.binary(max_size=300), st.sampled_from([b"\r\n\r\n", b"\n\nx", b"\x1f\x8b\x08broken", b" "]))


KINDS = {
    ResponseCapture: "response",
    RevisitCapture: "revisit",
    ResourceCapture: "resource",
    ConversionCapture: "conversion",
    MetadataCapture: "metadata",
}


def keep(directory: Path, *captures: Capture, **config: Any) -> list[RecordPlace]:
    archive = WarcArchive(directory, ArchiveConfig(**config))
    places = archive.append(list(captures))
    archive.close()
    return places


def kept(directory: Path, place: RecordPlace) -> StoredCapture:
    return read_capture(directory, place.file, place.offset, place.length)


def warcio(directory: Path, place: RecordPlace) -> list[tuple[Any, bytes]]:
    with (directory / place.file).open("rb") as file:
        return [(record, record.raw_stream.read()) for record in ArchiveIterator(file)]


def header(stored: StoredCapture, name: str) -> str | None:
    return dict(stored.headers).get(name)


@settings(deadline=None)
@given(head=_HEADS, body=_BODIES, request=_HEADS)
@example(head=b"HTTP/1.1 200 OK\r\n \r\nX: y\r\n\r\n", body=b"a", request=b"")
@example(head=b"", body=b"", request=b"")
def test_any_head_and_payload_come_back_from_both_readers(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, body: bytes, request: bytes
) -> None:
    directory = tmp_path_factory.mktemp("crawl")
    (place,) = keep(directory, capture(body, response_head=head, request_head=request))
    stored = kept(directory, place)
    assert stored.payload == body
    assert stored.http_head == stored_head(head)
    kinds = [record.rec_type for record, _ in warcio(directory, place)]
    assert kinds == ["warcinfo", "response", "request"][: 3 if request else 2]
    _, theirs = warcio(directory, place)[1]
    assert theirs == body
    checker = Checker(SimpleNamespace(inputs=[str(directory / place.file)], verbose=False))
    assert checker.process_all() == 0


@given(head=_HEADS)
def test_a_stored_head_has_one_empty_line_and_it_is_the_last(head: bytes) -> None:
    stored = stored_head(head)
    assert end_of_head(stored) == len(stored)
    assert stored_head(stored) == stored


def test_lines_as_received_stay_but_for_the_name_of_transfer_encoding(tmp_path: Path) -> None:
    head = (
        b"HTTP/1.1 200 Fine\r\nX: a\r\n folded\r\ntransfer-ENCODING: chunked\r\nY: Transfer-Encoding: z\nZ:\x00\r\n\r\n"
    )
    (place,) = keep(tmp_path, capture(response_head=head))
    assert kept(tmp_path, place).http_head == head.replace(b"transfer-ENCODING", b"X-Archive-Orig-Transfer-Encoding")


def test_http2_is_written_in_the_syntax_of_http1_and_named(tmp_path: Path) -> None:
    first = capture(
        http_version="2", response_head=b"HTTP/2 200 \r\na: b\r\n", request_head=b"GET / HTTP/2\r\nhost: a\r\n"
    )
    (place,) = keep(tmp_path, first)
    stored = kept(tmp_path, place)
    assert stored.http_head == b"HTTP/1.1 200 \r\na: b\r\n\r\n"
    assert header(stored, "WARC-Protocol") == "h2"
    assert warcio(tmp_path, place)[2][0].http_headers.to_str() == "GET / HTTP/1.1\r\nhost: a\r\n"


def test_a_response_says_where_when_and_what(tmp_path: Path) -> None:
    (place,) = keep(tmp_path, capture(b"hello", truncated="time"))
    stored = kept(tmp_path, place)
    names = [name for name, _ in stored.headers]
    assert dict(stored.headers) | {"WARC-Record-ID": ""} == {
        "WARC-Type": "response",
        "WARC-Record-ID": "",
        "WARC-Date": "2023-11-14T22:13:20.250000Z",
        "WARC-Target-URI": "https://a.test/page/0",
        "WARC-IP-Address": "127.0.0.1",
        "WARC-Protocol": "http/1.1",
        "WARC-Payload-Digest": "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
        "WARC-Truncated": "time",
        "Content-Type": "application/http;msgtype=response",
        "Content-Length": str(len(HEAD) + 2 + 5),
    }
    assert len(names) == len(set(names))


def test_request_and_metadata_name_the_response_they_belong_to(tmp_path: Path) -> None:
    (place,) = keep(tmp_path, capture(metadata=(("via", "https://a.test/\r\nx: y"), ("hopsFromSeed", "L"))))
    info, response, request, metadata = warcio(tmp_path, place)
    assert info[0].rec_type == "warcinfo"
    assert [record.rec_headers.get("WARC-Concurrent-To") for record, _ in (request, metadata)] == [
        response[0].rec_headers.get("WARC-Record-ID")
    ] * 2
    assert metadata[1] == b"via: https://a.test/ x: y\r\nhopsFromSeed: L\r\n"
    ids = {record.rec_headers.get("WARC-Record-ID") for record, _ in (info, response, request, metadata)}
    assert len(ids) == 4


def test_an_equal_payload_is_a_revisit_that_names_the_original(tmp_path: Path) -> None:
    (place,) = keep(tmp_path, revisit(refers_to=Reference("https://a.test/first", AT_S - 9)))
    stored = kept(tmp_path, place)
    assert header(stored, "WARC-Type") == "revisit"
    assert header(stored, "WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert header(stored, "WARC-Refers-To-Target-URI") == "https://a.test/first"
    assert header(stored, "WARC-Refers-To-Date") == warc_date(AT_S - 9)
    assert header(stored, "WARC-Payload-Digest") == "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
    assert stored.payload == b""
    assert run("warcio", "check", tmp_path / place.file) == ""


def test_not_modified_is_a_revisit_without_payload_digest(tmp_path: Path) -> None:
    (place,) = keep(tmp_path, revisit(0, Reference("https://a.test/page/0", 1.0), "server-not-modified"))
    stored = kept(tmp_path, place)
    assert header(stored, "WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert header(stored, "WARC-Refers-To-Date") == "1970-01-01T00:00:01.000000Z"
    assert header(stored, "WARC-Payload-Digest") is None


def test_every_kind_of_capture_passes_the_check_of_warcio_and_comes_back(tmp_path: Path) -> None:
    captures = every_kind()
    places = keep(tmp_path, *captures)
    assert run("warcio", "check", tmp_path / places[0].file) == ""
    for one, place in zip(captures, places, strict=True):
        stored = kept(tmp_path, place)
        assert header(stored, "WARC-Type") == KINDS[type(one)]
        assert (header(stored, "WARC-Target-URI") or "") == one.url
        if isinstance(one, RevisitCapture):
            assert (stored.payload, stored.http_head) == (b"", stored_head(one.response_head))
        else:
            assert stored.payload == one.payload.read()
    theirs = [record for record, _ in warcio(tmp_path, places[0])]
    first = [record for record in theirs if not record.rec_headers.get_header("WARC-Concurrent-To")]
    assert [record.rec_type for record in first] == ["warcinfo", *(KINDS[type(one)] for one in captures)]


def test_a_conversion_names_the_record_it_was_made_from_and_an_imported_record_keeps_its_id(tmp_path: Path) -> None:
    captures = every_kind()
    stored = [kept(tmp_path, place) for place in keep(tmp_path, *captures)]
    name = header(stored[0], "WARC-Record-ID")
    assert name == captures[0].record_id
    for one in (2, 3, 10, 12, 14):
        assert header(stored[one], "WARC-Refers-To") == name
        assert header(stored[one], "WARC-Refers-To-Target-URI") == "https://a.test/page/0"
    assert header(stored[11], "WARC-Refers-To") is None


def test_a_record_id_that_cannot_stand_in_a_header_is_computed_anew(tmp_path: Path) -> None:
    (place,) = keep(tmp_path, capture(record_id="<a>\r\nWARC-Type: x"))
    assert (header(kept(tmp_path, place), "WARC-Record-ID") or "").startswith("<urn:uuid:")


def test_a_response_whose_request_is_unknown_has_no_request_record(tmp_path: Path) -> None:
    (place,) = keep(tmp_path, capture(request_head=b""))
    assert [record.rec_type for record, _ in warcio(tmp_path, place)] == ["warcinfo", "response"]


def test_a_content_type_cannot_end_its_line_and_is_never_empty(tmp_path: Path) -> None:
    hostile = resource(content_type="text/html\r\nWARC-Type: request")
    for one, type_ in zip(
        keep(tmp_path, hostile, resource(content_type="")),
        ("text/html WARC-Type: request", "application/octet-stream"),
        strict=True,
    ):
        assert header(kept(tmp_path, one), "Content-Type") == type_


def test_a_url_or_a_field_cannot_end_its_line(tmp_path: Path) -> None:
    hostile = capture(url="https://a.test/ü x\r\nWARC-Type: request\r\n", metadata=(("a\r\nb", "c\r\n\r\nd"),))
    (place,) = keep(tmp_path, hostile)
    url = "https://a.test/%C3%BC%20x%0D%0AWARC-Type:%20request%0D%0A"
    assert header(kept(tmp_path, place), "WARC-Target-URI") == url
    assert warcio(tmp_path, place)[3][1] == b"a-b: c d\r\n"


@pytest.mark.parametrize(("library", "level"), [("isal", 0), ("isal", 1), ("isal", 3), ("zlib", 6)])
def test_large_payloads_are_compressed_in_slices_and_come_back(tmp_path: Path, library: str, level: int) -> None:
    body = bytes(range(256)) * 12_000
    (place,) = keep(tmp_path, capture(body), library=library, level=level)
    assert kept(tmp_path, place).payload == body
    assert run("warcio", "check", tmp_path / place.file) == ""


def test_an_unknown_compression_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="isal 0 to 3, zlib 0 to 9"):
        WarcArchive(tmp_path, ArchiveConfig(library="isal", level=9))


def test_the_same_captures_make_the_same_bytes_and_other_crawls_other_ids(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    (place,) = keep(tmp_path / "a", capture())
    keep(tmp_path / "b", capture())
    keep(tmp_path / "c", capture(at_s=AT_S + 1e-5))
    one, same, other = ((tmp_path / name / place.file).read_bytes() for name in ("a", "b", "c"))
    assert one == same
    ids = [{record.get("WARC-Record-ID") for record in read_records(tmp_path / name / place.file)} for name in "ac"]
    assert one != other
    assert not ids[0] & ids[1]


def test_a_coded_payload_is_kept_as_received_and_its_digest_is_that_of_the_coded_bytes(tmp_path: Path) -> None:
    coded = b"\x1f\x8b\x08not really gzip"
    (place,) = keep(tmp_path, capture(coded, response_head=HEAD + b"Content-Encoding: gzip\r\n"))
    assert kept(tmp_path, place).payload == coded
    assert run("warcio", "check", tmp_path / place.file) == ""
