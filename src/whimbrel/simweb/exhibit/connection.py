"""Trouble on the connection: resets, stalls, wrong lengths, broken framing, endless headers and bodies."""

from typing import Final

from whimbrel.simweb.answer import Answer, Close, Repeat, Reset, Script, Send, SimRequest, Wait
from whimbrel.simweb.exhibit.api import Exhibit, ExhibitPlace, Finding, always, serve_page

FAMILY: Final = "connection"
_FOR_EVER_S: Final = 3_600.0
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"


def _reset(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Reset(),))


def _reset_reused(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Reset(),)) if request.reused else place.page()


def _close_early(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Close(),))


def _stall(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Wait(_FOR_EVER_S), Close()))


def _stall_body(place: ExhibitPlace, request: SimRequest) -> Answer:
    body = place.document().encode()
    head = _HEAD + b"Content-Length: %d\r\n\r\n" % (2 * len(body))
    return Script((Send(head + body), Wait(_FOR_EVER_S), Close()), 200)


def _drip(place: ExhibitPlace, request: SimRequest) -> Answer:
    head = _HEAD + b"Content-Length: 1000000\r\n\r\n<!DOCTYPE html><p>"
    return Script((Send(head), Repeat(b"drop ", every_s=1.0)), 200)


def _slow_start(place: ExhibitPlace, request: SimRequest) -> Answer:
    body = place.document().encode()
    head = _HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return Script((Wait(2.0), Send(head + body), Close()), 200)


def _truncated(place: ExhibitPlace, request: SimRequest) -> Answer:
    body = place.document().encode()
    return Script((Send(_HEAD + b"Content-Length: %d\r\n\r\n" % (2 * len(body)) + body), Close()), 200)


def _length_short(place: ExhibitPlace, request: SimRequest) -> Answer:
    body = place.document().encode()
    head = _HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return Script((Send(head + body + b"<p>bytes beyond the length</p>"), Close()), 200)


def _length_invalid(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Send(_HEAD + b"Content-Length: banana\r\n\r\n" + place.document().encode()), Close()), 200)


def _chunked(body: bytes) -> bytes:
    half = len(body) // 2
    chunks = (body[:half], body[half:])
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


def _chunked_good(place: ExhibitPlace, request: SimRequest) -> Answer:
    data = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(place.document().encode()) + b"0\r\n\r\n"
    return Script((Send(data),), 200)


def _chunk_broken(place: ExhibitPlace, request: SimRequest) -> Answer:
    data = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(place.document().encode()) + b"zz\r\nno size\r\n"
    return Script((Send(data), Close()), 200)


def _chunk_cut(place: ExhibitPlace, request: SimRequest) -> Answer:
    data = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(place.document().encode())
    return Script((Send(data), Close()), 200)


def _garbage(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Send(bytes((at * 73 + 19) % 256 for at in range(2048))), Close()))


def _header_endless(place: ExhibitPlace, request: SimRequest) -> Answer:
    line = b"X-Padding: " + b"p" * 1000 + b"\r\n"
    return Script((Send(_HEAD), Repeat(line * 16)), 200)


def _header_huge(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Send(_HEAD + b"X-Huge: " + b"h" * 2_000_000 + b"\r\n\r\n"), Close()), 200)


def _body_endless(place: ExhibitPlace, request: SimRequest) -> Answer:
    head = _HEAD + b"\r\n" + place.document().encode()
    return Script((Send(head), Repeat(b"<p>and so on and so on</p>\n" * 2400)), 200)


def _no_length(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Send(_HEAD + b"\r\n" + place.document().encode()), Close()), 200)


def _http10(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script(
        (Send(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + place.document().encode()), Close()), 200
    )


def _interim(place: ExhibitPlace, request: SimRequest) -> Answer:
    body = place.document().encode()
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </static/0.css>; rel=preload\r\n\r\n"
    return Script((Send(early + _HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body),), 200)


def _stored(place: ExhibitPlace) -> Finding:
    return Finding("stored", "new", payload=_payload(place))


def _cut_at_the_limit(place: ExhibitPlace) -> Finding:
    return Finding("stored", "truncated-length", payload=_payload(place))


def _payload(place: ExhibitPlace) -> str:
    """Bodies of scripts cannot be compared; those of a mirror are equal to the original's."""
    return f"{place.name} {place.rest} {place.query} of {place.host.content}"


EXHIBITS: Final = (
    Exhibit("reset", FAMILY, "resets the connection instead of answering", _reset, always("failed", "reset")),
    Exhibit(
        "reset-reused", FAMILY, "resets a connection that was used before; answers on a new one", _reset_reused, _stored
    ),
    Exhibit("close-early", FAMILY, "closes the connection without a byte", _close_early, always("failed", "closed")),
    Exhibit("stall", FAMILY, "accepts the request and never answers", _stall, always("failed", "timeout")),
    Exhibit("stall-body", FAMILY, "stops in the middle of the body", _stall_body, always("failed", "timeout")),
    Exhibit("slow-start", FAMILY, "answers after two seconds", _slow_start, _stored),
    Exhibit("drip", FAMILY, "sends five bytes a second, for ever", _drip, always("failed", "too-slow")),
    Exhibit("truncated", FAMILY, "closes half way through the announced length", _truncated, always("failed", "cut")),
    Exhibit("length-short", FAMILY, "sends more bytes than it announced", _length_short, _stored),
    Exhibit(
        "length-invalid", FAMILY, "announces a length that is no number", _length_invalid, always("failed", "bad-http")
    ),
    Exhibit("chunked", FAMILY, "a correct body in chunks", _chunked_good, _stored),
    Exhibit("chunk-broken", FAMILY, "a chunk whose size is no number", _chunk_broken, always("failed", "bad-http")),
    Exhibit("chunk-cut", FAMILY, "chunks without the last one", _chunk_cut, always("failed", "cut")),
    Exhibit("garbage", FAMILY, "bytes that are not HTTP", _garbage, always("failed", "bad-http")),
    Exhibit(
        "header-endless", FAMILY, "a header that never ends", _header_endless, always("failed", "header-too-large")
    ),
    Exhibit("header-huge", FAMILY, "one header line of 2 MB", _header_huge, always("failed", "header-too-large")),
    Exhibit("body-endless", FAMILY, "a body that never ends", _body_endless, _cut_at_the_limit),
    Exhibit("no-length", FAMILY, "a body that ends where the connection does", _no_length, _stored),
    Exhibit("http10", FAMILY, "answers with HTTP/1.0 and closes", _http10, _stored),
    Exhibit("interim", FAMILY, "sends 103 Early Hints before the answer", _interim, _stored),
    Exhibit("found", "leaf", "a plain page that other exhibits link to", serve_page, _stored),
)
