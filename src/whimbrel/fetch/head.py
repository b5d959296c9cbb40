"""Heads of requests and responses."""

import re
from http import HTTPStatus
from typing import Final, NamedTuple

from whimbrel.url import Url
from whimbrel.visit import Request

_PHRASES: Final = {int(status): status.phrase for status in HTTPStatus}
_STATUS_LINE: Final = re.compile(rb"HTTP/([0-9](?:\.[0-9])?)[ \t]+([0-9]{3})")
"""No stricter than libcurl, which takes any number of blanks."""


class ResponseHead(NamedTuple):
    status: int
    head: bytes
    http_version: str
    headers: dict[str, str]


def read_head(lines: list[bytes]) -> ResponseHead | None:
    """The final head among the lines that libcurl handed out, as `api.Response` wants it; None when there is none.

    Interim heads (1xx) come before it and trailers after it.
    """
    block = _final_block(lines)
    found = _STATUS_LINE.match(block[0]) if block else None
    if found is None:
        return None
    version, status = found[1].decode(), int(found[2])
    if version == "2":
        # libcurl writes no reason, as HTTP/2 has none.
        block[0] = f"HTTP/2 {status} {_PHRASES.get(status, '')}\r\n".encode()
    head = b"".join(block)
    headers: dict[str, str] = {}
    # Latin-1 keeps every byte (RFC 9110 §5.5).
    for field in head.decode("latin-1").split("\r\n")[1:-1]:
        name, _, value = field.partition(":")
        name = name.strip().lower()
        value = value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return ResponseHead(status, head, version, headers)


def _final_block(lines: list[bytes]) -> list[bytes]:
    """The lines of the first head that is not interim, without the one that ends it, each ended by CR LF.

    A line that begins with CR or LF ends a head, whatever follows in it, as libcurl has it.
    """
    whole = b"".join(lines)
    plain = whole.find(b"\n\r") == len(whole) - 3 and whole.count(b"\r\n") == len(lines) == whole.count(b"\n")
    if plain and lines and not _is_interim(lines[0]):
        # Nearly all are like this.
        return lines[:-1]
    block: list[bytes] = []
    for line in lines:
        if line[:1] not in (b"\r", b"\n"):
            block.append(line if line.endswith(b"\r\n") else line.rstrip(b"\r\n") + b"\r\n")
        elif block and not _is_interim(block[0]):
            return block
        else:
            block = []
    return [] if block and _is_interim(block[0]) else block


def _is_interim(line: bytes) -> bool:
    found = _STATUS_LINE.match(line)
    return found is not None and found[2][:1] == b"1"


def host_header(url: Url) -> str:
    """As libcurl writes it: with the port unless that is the scheme's own."""
    return url.host if url.at_default_port else f"{url.host}:{url.port}"


def request_head(request: Request, fields: bytes) -> bytes:
    """The request as libcurl sends it; `fields` are its other header lines."""
    url = request.url
    return f"{request.method} {url.target} HTTP/1.1\r\nHost: {host_header(url)}\r\n".encode() + fields
