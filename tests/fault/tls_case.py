"""What a server may do wrong with TLS: each case treats one connection."""

import socket
import ssl
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache, partial

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID, ObjectIdentifier

from tests.fault.hostile_certificate import (
    DAY,
    HTTP2,
    MIDDLE,
    NOW,
    ROOT,
    STRANGER,
    Signer,
    context,
    good_context,
    leaf,
    self_signed,
    sha1_signed,
)
from tests.fault.hostile_port import Case, Peer, flood, hold
from tests.fault.openssl_server import TLS_1_2, TLS_1_3, Connection, accepted

PAGE = b"<!DOCTYPE html><title>a page</title>"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE
_ESTABLISHED = 1
"""Of TCP."""
TOO_LONG = OK.replace(b"Length: ", b"Length: 1")


def path_of(peer: Peer, read: Callable[[int], bytes]) -> str:
    """The path of the next request; empty when the client has gone."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = read(65_536)
        if not piece:
            return ""
        head += piece
    path = head.split()[1].decode()
    peer.asked(path)
    return path


def good(peer: Peer) -> None:
    """A page for every path, and no robots.txt."""
    with good_context(peer.address).wrap_socket(peer.socket, server_side=True) as stream:
        while path := path_of(peer, stream.recv):
            stream.sendall(NOT_FOUND if path == "/robots.txt" else OK)


def presenting(make: Callable[[str], bytes], version: ssl.TLSVersion | None = None) -> Case:
    """A good server, but for its certificate or its version of TLS."""

    @lru_cache(maxsize=8)
    def own(address: str) -> ssl.SSLContext:
        made = context(make(address))
        if version is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                made.minimum_version, made.maximum_version = ssl.TLSVersion.TLSv1, version
        return made

    def case(peer: Peer) -> None:
        with own(peer.address).wrap_socket(peer.socket, server_side=True) as stream:
            while path_of(peer, stream.recv):
                stream.sendall(OK)

    return case


def raw(answer: bytes, then: Callable[[Callable[[int], bytes]], None] | None = None) -> Case:
    """Whatever the client says, these bytes, and then perhaps silence."""

    def case(peer: Peer) -> None:
        peer.socket.recv(65_536)
        peer.socket.sendall(answer)
        if then is not None:
            then(peer.socket.recv)

    return case


def flooding(piece: bytes) -> Case:
    def case(peer: Peer) -> None:
        peer.socket.recv(65_536)
        flood(peer.socket.sendall, piece)

    return case


def half_a_handshake(peer: Peer) -> None:
    """The first half of what a good server would say, then the end."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    spoken = good_context(peer.address).wrap_bio(incoming, outgoing, server_side=True)
    incoming.write(peer.socket.recv(65_536))
    try:
        spoken.do_handshake()
    except ssl.SSLWantReadError:
        said = outgoing.read()
        peer.socket.sendall(said[: len(said) // 2])


def answering(answer: bytes, alpn: tuple[str, ...] = ("http/1.1",), *, notify: bool = False) -> Case:
    """robots.txt is not there; all else is answered with these bytes and the end, with TLS's good-bye or without."""

    def case(peer: Peer) -> None:
        with good_context(peer.address, alpn).wrap_socket(peer.socket, server_side=True) as stream:
            while path := path_of(peer, stream.recv):
                stream.sendall(NOT_FOUND if path == "/robots.txt" else answer)
                if path != "/robots.txt":
                    if notify:
                        stream.unwrap()
                    return

    return case


def resetting(peer: Peer) -> None:
    """A reset within the body."""
    with good_context(peer.address).wrap_socket(peer.socket, server_side=True) as stream:
        while path := path_of(peer, stream.recv):
            stream.sendall(NOT_FOUND if path == "/robots.txt" else TOO_LONG)
            if path != "/robots.txt":
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                return


def repeating(act: Callable[[Connection], None], version: int, answer: bytes = b"") -> Case:
    """After the request for a page TLS is kept busy without end, perhaps behind an answer that was good."""

    def case(peer: Peer) -> None:
        with accepted(peer.socket, leaf(peer.address), version) as stream:
            while path_of(peer, stream.read) == "/robots.txt":
                stream.write(NOT_FOUND)
            if answer:
                stream.write(answer)
            # OpenSSL takes no notice when tickets cannot be sent.
            while peer.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED:
                act(stream)

    return case


def prepared(ready: threading.Event) -> Case:
    """So many KeyUpdates at once that to read them takes seconds. They are sent once it says that it is ready."""

    def case(peer: Peer) -> None:
        with accepted(peer.socket, leaf(peer.address)) as stream:
            path_of(peer, stream.read)
            said = stream.recorded(Connection.update_key, 350_000)
            ready.set()
            peer.socket.sendall(said)

    return case


def endless_tickets(peer: Peer) -> None:
    own = context(leaf(peer.address))
    own.num_tickets = 2**31 - 1
    with own.wrap_socket(peer.socket, server_side=True) as stream:
        hold(stream.recv)


def _middle(address: str) -> bytes:
    """Whoever signed it is not shown."""
    return leaf(address, MIDDLE)


def _long_chain(address: str) -> bytes:
    """Ten megabytes of certificates."""
    comment = x509.UnrecognizedExtension(ObjectIdentifier("2.16.840.1.113730.1.13"), b"c" * 60_000)
    return leaf(address, MIDDLE) + 170 * MIDDLE.certificate(ROOT, comment)


def _no_authority(address: str) -> bytes:
    """Signed by somebody who has a good certificate, but not one that allows to sign."""
    other = Signer("no authority")
    own = leaf("127.9.9.9", key=other.key, name=other.name)
    return leaf(address, other) + own[own.index(b"-----BEGIN CERT") :]


def _small_key(address: str) -> bytes:
    return leaf(address, key=rsa.generate_private_key(65_537, 1024))  # noqa: S505


def _odd_name(address: str) -> bytes:
    """No alternative names, and a common name with a zero in it."""
    return leaf(address, name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{address}\0.test")]), named=False)


CERTIFICATES: dict[str, Case] = {
    "expired": presenting(partial(leaf, begin=NOW - 9 * DAY, end=NOW - 2 * DAY)),
    "not-yet-valid": presenting(partial(leaf, begin=NOW + 2 * DAY, end=NOW + 9 * DAY)),
    "self-signed": presenting(self_signed),
    "wrong-name": presenting(lambda _: leaf("127.9.9.9")),
    "name-in-cn-only": presenting(partial(leaf, named=False)),
    "odd-name": presenting(_odd_name),
    "unknown-authority": presenting(lambda address: leaf(address, STRANGER) + STRANGER.certificate(STRANGER)),
    "broken-chain": presenting(_middle),
    "signed-by-no-authority": presenting(_no_authority),
    "endless-chain": presenting(_long_chain),
    "small-key": presenting(_small_key),
    "sha1-signature": presenting(sha1_signed),
    "tls-1.0": presenting(leaf, ssl.TLSVersion.TLSv1),
    "tls-1.1": presenting(leaf, ssl.TLSVersion.TLSv1_1),
}
HANDSHAKES: dict[str, Case] = {
    "garbage": raw(bytes(range(256)) * 64),
    "plain-http": raw(OK),
    "silent": raw(b"", hold),
    "closed-at-once": raw(b""),
    "half-a-handshake": half_a_handshake,
    "fatal-alert": raw(b"\x15\x03\x03\0\2\2\x28"),
    "long-record": raw(b"\x16\x03\x03\xff\xff" + b"\0" * 70_000, hold),
    "long-message": raw(b"\x16\x03\x03\x40\0\2\xff\xff\xff" + b"\0" * 16_380, hold),
    "alert-flood": flooding(b"\x15\x03\x03\0\2\1\x5a" * 9_000),
    "hello-request-flood": flooding((b"\x16\x03\x03\x40\0" + b"\0" * 16_384) * 64),
    "empty-record-flood": flooding(b"\x16\x03\x03\0\0" * 9_000),
    "change-cipher-flood": flooding(b"\x14\x03\x03\0\1\1" * 9_000),
    "ticket-flood": endless_tickets,
}
"""None of these gets as far as a request."""
ANSWERS: dict[str, Case] = {
    "cut-with-length": answering(TOO_LONG),
    "cut-with-length-and-notify": answering(TOO_LONG, notify=True),
    "cut-chunked": answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
    "cut-without-length": answering(UNTIL_CLOSE),
    "ended-without-length": answering(UNTIL_CLOSE, notify=True),
    "reset-in-body": resetting,
    "no-answer-at-all": answering(b""),
    "frames-for-http1": answering(b"\0\0\0\4\0\0\0\0\0" * 3 + b"\0\0\2\7\0\0\0\0\0ab"),
}
"""robots.txt is answered."""
BUSY: dict[str, Case] = {
    "key-update-flood": repeating(Connection.update_key, TLS_1_3),
    "more-tickets-flood": repeating(Connection.send_ticket, TLS_1_3),
    "renegotiation-flood": repeating(Connection.renegotiate, TLS_1_2),
    "key-updates-after-answer": repeating(Connection.update_key, TLS_1_3, OK),
    "tickets-after-answer": repeating(Connection.send_ticket, TLS_1_3, OK),
}
"""Nothing but TLS's own messages, as fast as they can be made."""
HTTP1_FOR_HTTP2 = answering(OK, HTTP2)
