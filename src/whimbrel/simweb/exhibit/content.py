"""Bodies that are hard to read: charsets, broken HTML, wrong types, far too many links."""

from typing import Final

from whimbrel.simweb.answer import Answer, Reply, SimRequest, html
from whimbrel.simweb.exhibit.api import (
    Exhibit,
    ExhibitPlace,
    Finding,
    Respond,
    always,
    stored_with_link,
)

FAMILY: Final = "content"
MANY_LINKS: Final = 50_000
_DISTINCT: Final = 40
_NESTING: Final = 100_000
_PNG: Final = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
    b"\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82"
)


def _text(place: ExhibitPlace) -> str:
    link = f'<p><a href="{place.found_path()}">café, naïve, Ærøskøbing</a></p>'
    return place.document(link)


def _charset(encoding: str, content_type: str, head: str = "", bom: bytes = b"") -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        text = _text(place).replace("<head>", f"<head>{head}", 1)
        return Reply(200, (("Content-Type", content_type),), bom + text.encode(encoding))

    return respond


def _broken(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(
        f"<html><title>{place.name} {place.rest} of {place.host.content}</title><b><i></b><p <p>><table><tr><div>"
        f"<a href='{place.found_path()}' class=\"x'\">text</a href></div><!-- <a href='/x/found/hidden'> --!>"
        f"<ul><li><li></p></br><a><a name=n></a><img src=></table></body></html></html><p>tail "
        + "loose ends &amp &unknown; &#x110000; "
        * 12
    )


def _nested(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(place.document(f'<a href="{place.found_path()}">found</a>' + "<div>" * _NESTING))


def _unclosed(place: ExhibitPlace, request: SimRequest) -> Answer:
    filler = "<!-- " + "never closed " * 50
    return html(
        f"<title>{place.name} {place.rest} {place.host.content}</title><a href='{place.found_path()}'>a{filler}"
    )


def _nul(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(_text(place).replace("<p>", "<p>\0\0", 3))


def _many(place: ExhibitPlace) -> list[str]:
    return [place.path(f"{place.rest}/{at}", name="found") for at in range(_DISTINCT)]


def _many_links(place: ExhibitPlace, request: SimRequest) -> Answer:
    targets = _many(place)
    lines = [f'<a href="{targets[at % _DISTINCT]}#{at}">{at}</a>\n' for at in range(MANY_LINKS)]
    return html(place.document("".join(lines)))


def _judge_many(place: ExhibitPlace) -> Finding:
    return Finding("stored", "new", tuple(place.host.origin + path for path in _many(place)))


def _typed(content_type: str) -> Respond:
    headers = (("Content-Type", content_type),) if content_type else ()
    return lambda place, request: Reply(200, headers, place.document().encode())


def _png(place: ExhibitPlace, request: SimRequest) -> Answer:
    body = _PNG + f"{place.rest} of {place.host.content}".encode() * 40
    return Reply(200, (("Content-Type", "text/html"),), body)


def _empty(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html("")


_STORED: Final = always("stored", "new")
EXHIBITS: Final = (
    Exhibit(
        *("charset-wrong", FAMILY, "says UTF-8, is Latin-1"),
        *(_charset("latin-1", "text/html; charset=utf-8"), stored_with_link),
    ),
    Exhibit(
        *("charset-missing", FAMILY, "Latin-1 and nothing says so"),
        *(_charset("latin-1", "text/html"), stored_with_link),
    ),
    Exhibit(
        *("charset-meta", FAMILY, "the charset stands in a meta tag only"),
        *(_charset("latin-1", "text/html", '<meta charset="iso-8859-1">'), stored_with_link),
    ),
    Exhibit(
        *("charset-unknown", FAMILY, "a charset that does not exist"),
        *(_charset("utf-8", "text/html; charset=klingon"), stored_with_link),
    ),
    Exhibit(
        *("charset-utf16", FAMILY, "UTF-16 with a byte order mark, against a header that says UTF-8"),
        *(_charset("utf-16-le", "text/html; charset=utf-8", bom=b"\xff\xfe"), stored_with_link),
    ),
    Exhibit("html-broken", FAMILY, "tags that cross, hang and lie", _broken, stored_with_link),
    Exhibit("html-nested", FAMILY, "100,000 elements inside each other", _nested, stored_with_link),
    Exhibit("html-unclosed", FAMILY, "a comment that never ends", _unclosed, stored_with_link),
    Exhibit("html-nul", FAMILY, "NUL bytes in the text", _nul, stored_with_link),
    Exhibit("links-50000", FAMILY, "50,000 links to 40 pages", _many_links, _judge_many),
    Exhibit("mime-wrong", FAMILY, "HTML that says it is an image", _typed("image/png"), _STORED),
    Exhibit("mime-missing", FAMILY, "no Content-Type at all", _typed(""), _STORED),
    Exhibit("mime-malformed", FAMILY, "a Content-Type that cannot be parsed", _typed(";;=html/;text"), _STORED),
    Exhibit("mime-png-as-html", FAMILY, "an image that says it is HTML", _png, _STORED),
    Exhibit("empty", FAMILY, "200 with no body", _empty, _STORED),
)
