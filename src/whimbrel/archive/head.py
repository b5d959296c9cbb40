"""The heads of HTTP messages, as servers really send them.

A reader of the archive finds the payload behind the first empty line of the block. Readers differ in what they call
empty: warcio decodes a line and strips it, so that a line of blanks, of NBSP or of 0x1F ends the head. We do what it
does, and store no head with such a line inside: then all readers agree where the payload begins.
"""

import re
from typing import NamedTuple

_MAYBE_EMPTY = re.compile(rb"\n[^!-~]")
"""A line that begins with no visible character: only heads with one are looked at closely. It costs 0.3 µs; a pattern
that finds empty lines and nothing else costs ten times that."""

_EMPTY_LINE = re.compile(rb"\n([^!-~\n]*)(?=\n)")
_NEW_VERSION = re.compile(rb"HTTP/[23][.0-9]*(?=[ \r\n]|\Z)")
_TRANSFER_ENCODING = re.compile(rb"(?i)\ntransfer-encoding(?=[ \t]*:)")


class HttpHead(NamedTuple):
    """`status` is what follows the first word of the first line. Both are empty where there is no head."""

    status: str
    fields: list[tuple[str, str]]

    def field(self, name: str) -> str | None:
        """The first field of this name, in small letters."""
        return next((value for key, value in self.fields if key.lower() == name), None)


def stored_head(head: bytes) -> bytes:
    """A head as it is kept, with the empty line at its end.

    Changed are only: empty lines, which go; the version HTTP/2 or HTTP/3, which readers do not know; and the name of
    Transfer-Encoding, since the payload is kept without it.
    """
    text = head.rstrip(b"\r\n")
    if text[:1] <= b" " or text[:1] > b"~" or _MAYBE_EMPTY.search(text):
        text = b"\n".join(line for line in text.split(b"\n") if not _is_empty(line)).rstrip(b"\r\n")
    if not text:
        return b"\r\n"
    if version := _NEW_VERSION.match(text):
        text = b"HTTP/1.1" + text[version.end() :]
    return _TRANSFER_ENCODING.sub(b"\nX-Archive-Orig-Transfer-Encoding", text) + b"\r\n\r\n"


def stored_request(head: bytes) -> bytes:
    """A request's head as it is kept: the version in its first line is one that readers know."""
    line, end, rest = head.partition(b"\r\n")
    if line.endswith((b" HTTP/2", b" HTTP/3")):
        line = line[:-1] + b"1.1"
    return stored_head(line + end + rest)


def end_of_head(block: bytes) -> int:
    """Where the payload begins; -1 while the head has no end yet."""
    if _is_empty(block[: block.find(b"\n") + 1]) and b"\n" in block:
        return block.find(b"\n") + 1
    return next((match.end() + 1 for match in _EMPTY_LINE.finditer(block) if _is_empty(match[1])), -1)


def end_of_plain_head(block: bytes, begin: int) -> int:
    """Where the payload begins behind a head that all readers agree on; -1 when it has to be looked at closely."""
    end = block.find(b"\r\n\r\n", begin)
    plain = begin < end and b" " < block[begin : begin + 1] <= b"~" and not _MAYBE_EMPTY.search(block, begin, end + 2)
    return end + 4 if plain else -1


def parse_head(head: bytes) -> HttpHead:
    """Read a head as warcio does, since the index must say what cdxj-indexer says."""
    lines = [_text(line) for line in head.split(b"\n")]
    first = lines[0]
    if not first:
        return HttpHead("", [])
    fields: list[tuple[str, str]] = []
    colon = ""
    for at, line in enumerate(lines[1:]):
        if not line:
            break
        if at and line.startswith((" ", "\t")):
            # A line that continues one without a colon continues nothing.
            if colon:
                fields[-1] = (fields[-1][0], fields[-1][1] + line)
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields.append((name.rstrip(" \t"), value.lstrip()))
    return HttpHead(first.partition(" ")[2].strip(), fields)


def _is_empty(line: bytes) -> bool:
    return not _text(line)


def _text(line: bytes) -> str:
    try:
        return line.decode().rstrip()
    except UnicodeDecodeError:
        return line.decode("latin-1").rstrip()


def head_fields(http_head: bytes) -> dict[str, str]:
    """The fields of a head that the archive holds, whoever wrote it."""
    found: dict[str, str] = {}
    for line in http_head.decode("latin-1").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if colon:
            name, value = name.strip().lower(), value.strip()
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found
