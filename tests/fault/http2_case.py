"""What a server may do wrong with HTTP/2: each case answers one request."""

import struct
from itertools import count

from tests.fault.hostile_port import flood
from tests.fault.http2_frame import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PAGE,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Act,
    Session,
    blocks,
    field,
    frame,
    head,
    integer,
    page,
)

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED, CANCEL, CALM, HTTP_1_1 = 0, 1, 2, 7, 8, 11, 13
HALF = PAGE[: len(PAGE) // 2]


def number(value: int) -> bytes:
    return struct.pack(">I", value)


def goaway(last: int, code: int = NO_ERROR) -> bytes:
    return frame(GOAWAY, 0, 0, number(last) + number(code))


def reset(stream: int, code: int = CANCEL) -> bytes:
    return frame(RST_STREAM, 0, stream, number(code))


def setting(key: int, value: int) -> bytes:
    return frame(SETTINGS, 0, 0, struct.pack(">HI", key, value))


def begun(stream: int, *fields: tuple[bytes, bytes], status: int = 200) -> bytes:
    """A head, after which something is to come."""
    return frame(HEADERS, END_HEADERS, stream, head((b"content-type", b"text/html"), *fields, status=status))


def sending(*makes: bytes, close: bool = False) -> Act:
    """Frames for stream 0 are taken as they are; those made for stream 1 are for the stream of the request."""

    def act(session: Session, stream: int) -> None:
        mine = number(stream)
        session.send(*(_moved(one, mine) for one in makes))
        if close:
            raise EOFError

    return act


def _moved(frames: bytes, mine: bytes) -> bytes:
    """The same frames, with those of stream 1 on another stream."""
    made, at = bytearray(frames), 0
    while at < len(made):
        if made[at + 5 : at + 9] == number(1):
            made[at + 5 : at + 9] = mine
        at += 9 + int.from_bytes(made[at : at + 3], "big")
    return bytes(made)


def flooding(piece: bytes, before: bytes = b"") -> Act:
    def act(session: Session, stream: int) -> None:
        mine = number(stream)
        session.send(_moved(before, mine))
        flood(session.send, _moved(piece, mine))
        raise EOFError

    return act


def silent(session: Session, _stream: int) -> None:
    session.until_gone()


def goaway_then_page(session: Session, stream: int) -> None:
    """As a server does that is about to stop."""
    session.send(goaway(2**31 - 1), goaway(stream), page(stream))


def goaway_with_less(session: Session, stream: int) -> None:
    """Twice, and the second time it says that fewer streams were heard."""
    session.send(goaway(2**31 - 1), begun(stream), goaway(stream), goaway(0, CALM), frame(DATA, 0, stream, HALF))
    session.until_gone()


def priority_loop(session: Session, stream: int) -> None:
    """A stream that depends on itself, and others on each other."""
    others = (frame(PRIORITY, 0, one, number(other) + b"\x10") for one, other in ((3, 5), (5, 3), (7, 9), (9, 7)))
    session.send(*others, frame(PRIORITY, 0, stream, number(stream) + b"\x10"), page(stream))


def new_streams(session: Session, stream: int) -> None:
    """Answers to requests that nobody made."""
    session.send(*(begun(stream + 2 * at) for at in range(1, 200)))
    session.until_gone()


def even_stream(session: Session, stream: int) -> None:
    session.send(begun(2), frame(DATA, END_STREAM, 2, PAGE), page(stream))


def interim(session: Session, stream: int) -> None:
    hint = frame(HEADERS, END_HEADERS, stream, head((b"link", b"</a>"), status=103))
    flood(session.send, hint * 500)
    raise EOFError


def endless_fields(session: Session, stream: int) -> None:
    """CONTINUATION without end: each is another name."""
    session.send(frame(HEADERS, 0, stream, head()))
    for at in count():
        block = b"".join(field(b"x%d-%d" % (at, one), b"y") for one in range(500))
        session.send(frame(CONTINUATION, 0, stream, block))


def endless_trailers(session: Session, stream: int) -> None:
    session.send(begun(stream), frame(DATA, 0, stream, PAGE), frame(HEADERS, END_STREAM, stream, field(b"t", b"")))
    for at in count():
        session.send(frame(CONTINUATION, 0, stream, b"".join(field(b"t%d-%d" % (at, one), b"y") for one in range(500))))


BOMB = head() + b"\x40" + integer(1, 7) + b"b" + integer(4_000, 7) + b"b" * 4_000 + integer(62, 7, 0x80) * 10_000
SMALL = head() + b"".join(field(b"h%d" % at, b"v") for at in range(100_000))
LONG_TRAILER = begun(1) + frame(DATA, 0, 1, PAGE) + blocks(1, field(b"trailer", b"t" * 60_000), END_STREAM)

RESETS: dict[str, Act] = {
    "reset-at-once": sending(reset(1)),
    "reset-no-error": sending(reset(1, NO_ERROR)),
    "reset-internal-error": sending(reset(1, INTERNAL_ERROR)),
    "reset-refused": sending(reset(1, REFUSED)),
    "reset-calm": sending(reset(1, CALM)),
    "reset-http-1.1-required": sending(reset(1, HTTP_1_1)),
    "reset-unknown-code": sending(reset(1, 0xFFFFFFFF)),
    "reset-after-head": sending(begun(1), reset(1)),
    "reset-in-body": sending(begun(1), frame(DATA, 0, 1, HALF), reset(1)),
    "reset-calm-in-body": sending(begun(1), frame(DATA, 0, 1, HALF), reset(1, CALM)),
    "reset-flood": flooding(reset(1) * 1_000),
    "goaway-at-once": sending(goaway(2**31 - 1), close=True),
    "goaway-heard-nothing": sending(goaway(0), close=True),
    "goaway-heard-nothing-and-open": sending(goaway(0)),
    "goaway-calm": sending(goaway(0, CALM)),
    "goaway-then-page": goaway_then_page,
    "goaway-with-less": goaway_with_less,
    "goaway-in-body": sending(begun(1), frame(DATA, 0, 1, HALF), goaway(1), close=True),
    "goaway-flood": flooding(goaway(2**31 - 1) * 1_000),
    "closed-at-once": sending(close=True),
    "closed-in-body": sending(begun(1), frame(DATA, 0, 1, HALF), close=True),
    "no-answer": silent,
}
FLOODS: dict[str, Act] = {
    "settings-flood": flooding(setting(3, 100) * 1_000),
    "settings-ack-flood": flooding(frame(SETTINGS, ACK) * 1_000),
    "ping-flood": flooding(frame(PING, 0, 0, b"12345678") * 1_000),
    "ping-ack-flood": flooding(frame(PING, ACK, 0, b"12345678") * 1_000),
    "window-flood": flooding(frame(WINDOW_UPDATE, 0, 0, number(1)) * 1_000),
    "unknown-frame-flood": flooding(frame(200, 0, 0, b"u" * 100) * 1_000),
    "priority-flood": flooding(frame(PRIORITY, 0, 3, number(5) + b"\x10") * 1_000),
    "empty-data-flood": flooding(frame(DATA, 0, 1) * 1_000, begun(1)),
    "padding-flood": flooding(frame(DATA, PADDED, 1, b"\xff" + b"\0" * 255) * 200, begun(1)),
    "empty-continuation-flood": flooding(frame(CONTINUATION, 0, 1) * 1_000, frame(HEADERS, 0, 1, head())),
    "interim-flood": interim,
    "field-flood": endless_fields,
    "trailer-flood": endless_trailers,
    "data-flood": flooding(frame(DATA, 0, 1, b"d" * 16_384) * 4, begun(1)),
}
HEADS: dict[str, Act] = {
    "hpack-bomb": sending(blocks(1, BOMB, END_STREAM)),
    "hpack-nonsense": sending(frame(HEADERS, END_HEADERS, 1, b"\xff" * 40)),
    "hpack-far-index": sending(frame(HEADERS, END_HEADERS, 1, integer(2**40, 7, 0x80))),
    "hpack-giant-table": sending(frame(HEADERS, END_HEADERS | END_STREAM, 1, integer(2**31, 5, 0x20) + head())),
    "giant-table-allowed": sending(setting(1, 2**32 - 1), page(1)),
    "hundred-thousand-fields": sending(blocks(1, SMALL, END_STREAM)),
    "long-trailer": sending(LONG_TRAILER),
    "pseudo-field-twice": sending(frame(HEADERS, END_HEADERS | END_STREAM, 1, head() + b"\x88")),
    "no-status": sending(frame(HEADERS, END_HEADERS | END_STREAM, 1, field(b"a", b"b"))),
    "status-of-letters": sending(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x08\x03abc")),
    "status-999": sending(begun(1, status=999), frame(DATA, END_STREAM, 1, PAGE)),
    "status-101": sending(begun(1, status=101), frame(DATA, END_STREAM, 1, PAGE)),
    "field-with-line-end": sending(frame(HEADERS, END_HEADERS, 1, head((b"a", b"b\r\nc: d"))), page(1)),
    "upper-case-field": sending(frame(HEADERS, END_HEADERS, 1, head((b"Upper", b"b"))), page(1)),
}
FRAMES: dict[str, Act] = {
    "zero-window-setting": sending(setting(4, 0), page(1)),
    "huge-window-setting": sending(setting(4, 2**32 - 1), page(1)),
    "window-overflow": sending(frame(WINDOW_UPDATE, 0, 0, number(2**31 - 1)), page(1)),
    "stream-window-overflow": sending(frame(WINDOW_UPDATE, 0, 1, number(2**31 - 1)), page(1)),
    "window-of-zero": sending(frame(WINDOW_UPDATE, 0, 0, number(0)), page(1)),
    "push-promise": sending(frame(PUSH_PROMISE, END_HEADERS, 1, number(2) + head()), page(1)),
    "frame-too-large": sending(begun(1), frame(DATA, 0, 1, b"d" * 20_000)),
    "setting-frame-size-0": sending(setting(5, 0), page(1)),
    "settings-of-five-bytes": sending(frame(SETTINGS, 0, 0, b"12345"), page(1)),
    "no-streams-allowed": sending(setting(3, 0), page(1)),
    "data-before-head": sending(frame(DATA, END_STREAM, 1, PAGE)),
    "data-longer-than-length": sending(begun(1, (b"content-length", b"5")), frame(DATA, END_STREAM, 1, PAGE)),
    "data-shorter-than-length": sending(begun(1, (b"content-length", b"500")), frame(DATA, END_STREAM, 1, PAGE)),
    "two-lengths": sending(
        begun(1, (b"content-length", b"5"), (b"content-length", b"6")), frame(DATA, END_STREAM, 1, PAGE)
    ),
    "page-twice": sending(page(1), page(1)),
    "padding-over-frame": sending(begun(1), frame(DATA, PADDED, 1, b"\xff123")),
    "data-on-stream-0": sending(begun(1), frame(DATA, 0, 0, PAGE)),
    "answers-nobody-asked-for": new_streams,
    "even-stream": even_stream,
    "priority-loop": priority_loop,
    "continuation-alone": sending(frame(CONTINUATION, END_HEADERS, 1, head())),
}
FRAMES["not-http2"] = lambda session, _stream: session.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
FRAMES["frame-of-16-megabytes"] = lambda session, stream: session.send(
    begun(stream), b"\xff\xff\xff\0\0" + number(stream), b"d" * 65_536
)
CASES = RESETS | FLOODS | HEADS | FRAMES
