"""libcurl's errors in the words of docs/outcomes.md."""

import errno
from typing import Final

import pycurl

_BAD_HTTP: Final = "bad-http"
_TOO_LARGE: Final = "header-too-large"
_HTTP2_STREAM: Final = 92
"""CURLE_HTTP2_STREAM, which pycurl has no name for."""

_TROUBLES: Final = {
    pycurl.E_UNSUPPORTED_PROTOCOL: _BAD_HTTP,  # HTTP/0.9, that is, no HTTP at all
    pycurl.E_FTP_WEIRD_SERVER_REPLY: _BAD_HTTP,  # 8: CURLE_WEIRD_SERVER_REPLY, in spite of pycurl's name
    pycurl.E_BAD_CONTENT_ENCODING: _BAD_HTTP,  # a transfer coding that is broken
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_GOT_NOTHING: "closed",
    pycurl.E_SEND_ERROR: "reset",
    pycurl.E_PARTIAL_FILE: "cut",
    100: _TOO_LARGE,  # CURLE_TOO_LARGE
    pycurl.E_SSL_CONNECT_ERROR: "tls",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls",
    51: "tls",  # the number of the one above in old versions
    pycurl.E_SSL_CERTPROBLEM: "tls",
    pycurl.E_SSL_CIPHER: "tls",
    pycurl.E_SSL_CACERT_BADFILE: "tls",
    pycurl.E_SSL_ISSUER_ERROR: "tls",
    pycurl.E_SSL_INVALIDCERTSTATUS: "tls",
}
"""What needs no second look. What is nowhere here is `error-NUMBER`."""

_CONNECT_ERRORS: Final = {
    errno.ETIMEDOUT: "timeout",
    errno.ECONNRESET: "reset",
    **dict.fromkeys(
        (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL), "unreachable"
    ),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EINVAL, errno.EAFNOSUPPORT), "unreachable"),
}

_RECEIVE_WORDS: Final = (
    ("too large", _TOO_LARGE),
    ("tunnel failed", "error-56"),
    ("reset", "reset"),
    ("errno 104", "reset"),
    ("timed out", "timeout"),
    ("unexpected eof", "closed"),
    ("ssl_read", "reset"),
)
"""Error 56 is a reset, a broken frame or an end without TLS's good-bye: only the message tells. The first that is
found counts; a message with none of these is about chunks that make no sense."""

_STREAM_WORDS: Final = (
    ("protocol_error", _BAD_HTTP),
    ("invalid http", _BAD_HTTP),
    ("before getting all", _BAD_HTTP),
    ("enhance_your_calm", _TOO_LARGE),
    ("cancel", "closed"),
    ("no_error", "closed"),
)
"""Error 92 is an HTTP/2 stream that the server reset; its code stands in the message. All others are a reset."""


def trouble_of(code: int, message: str, system_error: int, *, has_head: bool) -> str:
    """One word for an error of libcurl. `has_head`: a status line had come, so that an end is a cut."""
    if code == pycurl.E_COULDNT_CONNECT:
        return _CONNECT_ERRORS.get(system_error, "refused")
    if code == pycurl.E_RECV_ERROR:
        word = _find(_RECEIVE_WORDS, message, _BAD_HTTP)
    elif code == _HTTP2_STREAM:
        word = _find(_STREAM_WORDS, message, "reset")
    elif code == pycurl.E_HTTP2:
        # What nghttp2 says of a head that is too large for it. All else is a server that does not speak HTTP/2.
        word = _TOO_LARGE if "COMPRESSION_ERROR" in message else _BAD_HTTP
    else:
        word = _TROUBLES.get(code) or f"error-{code}"
    return "cut" if word == "closed" and has_head else word


def _find(words: tuple[tuple[str, str], ...], message: str, otherwise: str) -> str:
    message = message.lower()
    return next((word for part, word in words if part in message), otherwise)
