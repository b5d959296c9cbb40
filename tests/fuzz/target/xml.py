"""Sitemaps, feeds and lists of URLs, from a content type on."""

from typing import Final

from tests.fuzz.api import Target, plain
from tests.fuzz.target.document import check_page
from tests.parse.answers import fetched, fingerprinted, parser, response
from whimbrel.parse.sitemap import MAX_URLS

_PARSER: Final = parser()
_TYPES: Final = (
    "application/xml",
    "text/xml; charset=iso-8859-1",
    "",
    "application/rss+xml",
    "text/plain",
    "application/gzip",
)


def read(data: bytes) -> None:
    """The first byte chooses what the header says."""
    kind = _TYPES[data[0] % len(_TYPES)] if data else ""
    answer = response(200, data[1:], content_type=kind)
    (found,) = _PARSER.process(fingerprinted(fetched(answer, "http://a.test/sitemap.xml.gz")))
    assert found.page is not None
    check_page(found.page, MAX_URLS)


_WORDS: Final = (
    *(
        b"<urlset>",
        b"</urlset>",
        b"<url><loc>",
        b"</loc></url>",
        b"<sitemapindex>",
        b"<sitemap>",
        b"http://a.test/",
        b"<loc>",
    ),
    *(
        b"<?xml version='1.0' encoding='utf-16'?>",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
        b"&b;",
        b"&#0;",
        b"&#x10FFFF;",
        b"]]>",
    ),
    *(
        b"<rss><channel><item>",
        b"<link>",
        b"</link>",
        b"<feed>",
        b"<entry>",
        b"<link href='x' rel='next'/>",
        b"<title>",
    ),
    *(
        b"<![CDATA[",
        b"<!--",
        b"-->",
        b"<?",
        b"<a:b xmlns:a='c'>",
        b"xml:base='/x/'",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
    ),
    *(
        b"<xhtml:link rel='alternate' href='y'/>",
        b"<rdf:RDF>",
        b"<!ATTLIST link href CDATA 'z'>",
        b"<!ENTITY % d SYSTEM 'e'>",
    ),
)
SITEMAP: Final = Target("sitemap", plain(read), _WORDS, quick_inputs=4_000)
FEED: Final = Target("feed", plain(read), _WORDS, quick_inputs=8_000)
