"""Which characters the bytes of a document mean (WHATWG Encoding, and HTML §13.2.3 for the order of the sources)."""

import codecs
import re
from functools import lru_cache
from typing import Final

import webencodings  # type: ignore[import-untyped]

_PRESCAN: Final = 1024
"""HTML §13.2.3.2: a meta tag counts when it stands in the first 1024 bytes."""
_LABEL_CHARS: Final = 64
"""More than any label has, blanks around it included."""
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META: Final = re.compile(rb"<meta[\s/]([^>]*)", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(rb"([^\s/>=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]*)))?")
_IN_CONTENT: Final = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_SINGLE_BYTE: Final = ("ibm866", "iso-8859-", "koi8-", "macintosh", "windows-", "x-mac-", "x-user-defined")
_XML: Final = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)")


def name(label: str) -> str:
    """The standard's name of an encoding, by any of its labels; empty when there is no such encoding."""
    return _name(label) if len(label) <= _LABEL_CHARS else ""


@lru_cache(maxsize=256)
def _name(label: str) -> str:
    found = webencodings.lookup(label)
    return str(found.name) if found is not None else ""


def decoded(body: bytes, header: str) -> tuple[str, str]:
    """The document as text, without a byte order mark, and the name of the encoding that it was in. What means nothing
    there is U+FFFD."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return _decode(body[len(bom) :], encoding), encoding
    found = name(header) if header else ""
    found = found or _declared(body[:_PRESCAN])
    return (_decode(body, found), found) if found else _guessed(body)


def to_utf8(body: bytes, header: str) -> tuple[bytes, str]:
    """The same in UTF-8."""
    text, found = decoded(body, header)
    return text.encode("utf-8", "replace"), found


def _decode(body: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return body.decode("utf-8", "replace")
    letters = _letters(encoding)
    if letters:
        return codecs.charmap_decode(body, "strict", letters)[0]
    return str(webencodings.lookup(encoding).codec_info.decode(body, "replace")[0])


@lru_cache(maxsize=64)
def _letters(encoding: str) -> str:
    """The 256 characters of an encoding that has one for each byte; empty for others. A codec that has to ask what to
    do with a byte that means nothing takes a hundred times as long."""
    if not encoding.startswith(_SINGLE_BYTE):
        return ""
    return str(webencodings.lookup(encoding).codec_info.decode(bytes(range(256)), "replace")[0])


def _guessed(body: bytes) -> tuple[str, str]:
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # A limit may have cut the last character in two; that does not make the rest Latin.
        is_cut = error.end == len(body) and error.reason == "unexpected end of data"
    found = "utf-8" if is_cut else "windows-1252"
    return _decode(body, found), found


def _declared(head: bytes) -> str:
    """What a meta tag or an XML declaration says; empty when none does, or names nothing that exists."""
    xml = _XML.match(head.lstrip())
    found = _label(xml[1]) if xml else ""
    if not found and b"<" in head:
        for meta in _META.finditer(_COMMENT.sub(b"", head) if b"<!--" in head else head):
            found = _of_meta(meta[1])
            if found:
                break
    # Such a declaration could be read, so it is not in UTF-16 (HTML §13.2.3.2, last steps).
    return "utf-8" if found.startswith("utf-16") else found


def _of_meta(attributes: bytes) -> str:
    values: dict[bytes, bytes] = {}
    for key, double, single, bare in _ATTRIBUTE.findall(attributes):
        values.setdefault(key.lower(), double or single or bare)
    label = values.get(b"charset", b"")
    if not label and values.get(b"http-equiv", b"").strip().lower() == b"content-type":
        said = _IN_CONTENT.search(values.get(b"content", b""))
        label = (said[1] or said[2] or said[3] or b"") if said else b""
    return _label(label)


def _label(label: bytes) -> str:
    return name(label.decode("ascii", "replace")) if label else ""
