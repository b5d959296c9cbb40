"""What went wrong with an exchange, in the words of docs/outcomes.md, and whose fault it is."""

import errno
from enum import Enum, StrEnum
from typing import Final, Self

import pycurl

from whimbrel.shortage import Shortage, shortage_of


class Fault(Enum):
    """Whose fault trouble is. This decides what becomes of the visit."""

    SERVER = "server"
    """It would be the same next time: the fate of the URL."""
    NETWORK = "network"
    """On the way, or for the moment: it is tried again."""
    LOCAL = "local"
    """Ours. The visit did not happen: no try is counted, and nothing is recorded."""


class Trouble(StrEnum):
    """A word, and whose fault it stands for."""

    fault: Fault

    def __new__(cls, word: str, fault: Fault) -> Self:
        made = str.__new__(cls, word)
        made._value_ = word
        made.fault = fault
        return made

    NONE = "", Fault.SERVER
    """There was none."""
    REFUSED = "refused", Fault.NETWORK
    UNREACHABLE = "unreachable", Fault.NETWORK
    TIMEOUT = "timeout", Fault.NETWORK
    TOO_SLOW = "too-slow", Fault.NETWORK
    RESET = "reset", Fault.NETWORK
    CLOSED = "closed", Fault.NETWORK
    CUT = "cut", Fault.NETWORK
    BAD_HTTP = "bad-http", Fault.NETWORK
    TLS = "tls", Fault.NETWORK
    PROXY = "proxy", Fault.NETWORK
    NO_EXCHANGE = "no-exchange", Fault.NETWORK
    """libcurl says something that has no word here."""
    HEADER_TOO_LARGE = "header-too-large", Fault.SERVER
    PRIVATE_ADDRESS = "private-address", Fault.SERVER
    BAD_URL = "bad-url", Fault.SERVER
    """libcurl cannot read the URL, and never will."""
    ABANDONED = "abandoned", Fault.LOCAL
    """We ended the exchange ourselves, or this machine could not carry it."""


_HTTP2_STREAM: Final = 92
"""CURLE_HTTP2_STREAM, which pycurl has no name for."""

_TROUBLES: Final = {
    pycurl.E_UNSUPPORTED_PROTOCOL: Trouble.BAD_HTTP,  # HTTP/0.9, that is, no HTTP at all
    pycurl.E_FTP_WEIRD_SERVER_REPLY: Trouble.BAD_HTTP,  # 8: CURLE_WEIRD_SERVER_REPLY, in spite of pycurl's name
    pycurl.E_BAD_CONTENT_ENCODING: Trouble.BAD_HTTP,  # a transfer coding that is broken
    pycurl.E_URL_MALFORMAT: Trouble.BAD_URL,
    pycurl.E_COULDNT_RESOLVE_PROXY: Trouble.PROXY,
    97: Trouble.PROXY,  # CURLE_PROXY
    pycurl.E_OPERATION_TIMEDOUT: Trouble.TIMEOUT,
    pycurl.E_GOT_NOTHING: Trouble.CLOSED,
    pycurl.E_PARTIAL_FILE: Trouble.CUT,
    100: Trouble.HEADER_TOO_LARGE,  # CURLE_TOO_LARGE
    pycurl.E_SSL_CONNECT_ERROR: Trouble.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Trouble.TLS,
    51: Trouble.TLS,  # the number of the one above in old versions
    pycurl.E_SSL_CERTPROBLEM: Trouble.TLS,
    pycurl.E_SSL_CIPHER: Trouble.TLS,
    pycurl.E_SSL_ISSUER_ERROR: Trouble.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: Trouble.TLS,
}
"""What needs no second look. What is nowhere here is `no-exchange`."""

_SHORTAGES: Final = {
    pycurl.E_WRITE_ERROR: Shortage("directory", "a page could not be written"),
    pycurl.E_OUT_OF_MEMORY: Shortage("memory", "libcurl has no memory"),
    pycurl.E_FAILED_INIT: Shortage("memory", "libcurl cannot begin"),
    pycurl.E_READ_ERROR: Shortage("memory", "libcurl cannot read the request"),
    pycurl.E_SSL_CACERT_BADFILE: Shortage("certificates", "the file of trusted certificates cannot be read"),
    pycurl.E_SSL_ENGINE_NOTFOUND: Shortage("certificates", "the TLS library is not complete"),
    pycurl.E_SSL_ENGINE_SETFAILED: Shortage("certificates", "the TLS library is not complete"),
    pycurl.E_SSL_ENGINE_INITFAILED: Shortage("certificates", "the TLS library is not complete"),
}
"""Errors that are never a server's."""
_LOCAL_ERRORS: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""Of the system, when a connection is made."""

_CONNECT_ERRORS: Final = {
    errno.ETIMEDOUT: Trouble.TIMEOUT,
    errno.ECONNRESET: Trouble.RESET,
    **dict.fromkeys(
        (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL),
        Trouble.UNREACHABLE,
    ),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EINVAL, errno.EAFNOSUPPORT), Trouble.UNREACHABLE),
}

_RECEIVE_WORDS: Final = (
    ("too large", Trouble.HEADER_TOO_LARGE),
    ("too many response headers", Trouble.HEADER_TOO_LARGE),
    ("too many continuation", Trouble.HEADER_TOO_LARGE),
    ("tunnel failed", Trouble.PROXY),
    ("reset", Trouble.RESET),
    ("errno 104", Trouble.RESET),
    ("broken pipe", Trouble.RESET),
    ("timed out", Trouble.TIMEOUT),
    ("unexpected eof", Trouble.CLOSED),
    ("ssl_read", Trouble.RESET),
)
"""Error 56 is a reset, a broken frame or an end without TLS's good-bye: only the message tells. The first that is
found counts; a message with none of these is about chunks that make no sense. No message at all is an HTTP/2
connection that the server ended."""

_SEND_WORDS: Final = (("expected settings frame", Trouble.BAD_HTTP),)
"""Error 55 is a reset, or a server that has promised HTTP/2 and does not speak it."""

_STREAM_WORDS: Final = (
    ("protocol_error", Trouble.BAD_HTTP),
    ("invalid http", Trouble.BAD_HTTP),
    ("before getting all", Trouble.BAD_HTTP),
    ("violation in http messaging", Trouble.CLOSED),
    ("invalid frame", Trouble.BAD_HTTP),
    ("cancel", Trouble.CLOSED),
    ("no_error", Trouble.CLOSED),
)
"""Error 92 is an HTTP/2 stream that the server reset, whose code stands in the message, or that breaks the rules: the
violation is a body that ended before its Content-Length. All others are a reset. ENHANCE_YOUR_CALM, too: with it a
server says that we ask too much, and another time it may answer."""


def trouble_of(code: int, message: str, system_error: int, *, has_head: bool, used: bool = False) -> Trouble | Shortage:
    """What an error of libcurl means: trouble of a server or the network, or something that this machine lacks.
    `has_head`: a status line had come, so that an end is a cut. `used`: the connection had carried other exchanges, and
    what one of them left behind says nothing about this one."""
    if code in _SHORTAGES:
        return _SHORTAGES[code]
    if code == pycurl.E_COULDNT_CONNECT:
        if system_error in _LOCAL_ERRORS:
            return shortage_of(OSError(system_error, "no socket"))
        return _CONNECT_ERRORS.get(system_error, Trouble.REFUSED)
    if code == pycurl.E_RECV_ERROR:
        word = _find(_RECEIVE_WORDS, message, Trouble.BAD_HTTP) if message else Trouble.CLOSED
    elif code == _HTTP2_STREAM:
        word = _find(_STREAM_WORDS, message, Trouble.RESET)
    elif code == pycurl.E_SEND_ERROR:
        word = _find(_SEND_WORDS, message, Trouble.RESET)
    elif code == pycurl.E_HTTP2:
        word = Trouble.BAD_HTTP
        if "COMPRESSION_ERROR" in message:
            # What nghttp2 says of a head that is too large for it, and of each head after one that libcurl gave up.
            word = Trouble.RESET if used else Trouble.HEADER_TOO_LARGE
    else:
        word = _TROUBLES.get(code, Trouble.NO_EXCHANGE)
    return Trouble.CUT if word is Trouble.CLOSED and has_head else word


def socket_shortage(error: OSError) -> Shortage | None:
    """What this machine lacks when it cannot make a socket; None when the socket is of a kind that it does not have."""
    return shortage_of(error) if error.errno in _LOCAL_ERRORS else None


def _find(words: tuple[tuple[str, Trouble], ...], message: str, otherwise: Trouble) -> Trouble:
    message = message.lower()
    return next((word for part, word in words if part in message), otherwise)
