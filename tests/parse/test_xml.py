"""Sitemaps, feeds and lists of URLs; and XML that means harm."""

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import fetched, page_of, response, settle, targets

SITEMAP = b"""  <?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="urn:i" xmlns:xhtml="urn:x">
<url><loc> http://a.test/1?a=1&amp;b=2
</loc><image:image><image:loc>http://a.test/no.png</image:loc></image:image></url>
<url><loc><![CDATA[http://a.test/2]]></loc><xhtml:link rel="alternate" hreflang="de" href="http://a.test/de/2"/></url>
<url><loc>http://a.test/1?a=1&amp;b=2</loc></url><url><loc>mailto:a@b</loc></url></urlset>"""
RSS = b"""<?xml version="1.0" encoding="iso-8859-1"?><rss version="2.0"><channel><title>Caf\xe9 news</title>
<link>/</link>
<item><title>One</title><link>http://a.test/one</link><guid>no</guid></item>
<item><link>two</link></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><link rel="self" href="/no"/><link href="/"/>
<entry><title>One</title><link rel="alternate" href="http://a.test/one"/><link rel="edit" href="/no"/></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="urn:r" xmlns="urn:rss"><channel><link>/</link></channel>
<item><link>/one</link></item></rdf:RDF>"""


def test_a_sitemap_leads_to_its_pages() -> None:
    page = page_of(SITEMAP, content_type="text/xml")
    assert targets(page, "sitemap") == ["http://a.test/1?a=1&b=2", "http://a.test/2", "http://a.test/de/2"]


@pytest.mark.parametrize("mime", ["application/gzip", "application/x-gzip", "application/octet-stream"])
def test_a_packed_sitemap_is_unpacked_where_its_name_says_so(mime: str) -> None:
    packed = response(200, gzip.compress(SITEMAP), content_type=mime)
    page = settle(fetched(packed, "http://a.test/s.XML.gz?v=1")).page
    assert page is not None
    assert (len(page.links), page.mime) == (3, mime)
    other = settle(fetched(packed, "http://a.test/backup.tar.gz")).page
    assert other is not None
    assert other.links == ()


@pytest.mark.parametrize("mime", ["application/rss+xml", "application/xml", "text/xml; charset=iso-8859-1", ""])
def test_an_rss_feed_leads_to_its_entries(mime: str) -> None:
    page = page_of(RSS, content_type=mime)
    assert targets(page, "feed") == ["http://a.test/", "http://a.test/one", "http://a.test/dir/two"]
    assert page.title == "Café news"


def test_atom_and_rdf_feeds_are_read() -> None:
    assert targets(page_of(ATOM, content_type="application/atom+xml")) == ["http://a.test/", "http://a.test/one"]
    assert targets(page_of(RDF, content_type="application/rdf+xml")) == ["http://a.test/", "http://a.test/one"]


def test_other_xml_has_no_links() -> None:
    assert page_of(b"<svg><a href='/x'/></svg>", content_type="image/svg+xml").links == ()


def test_what_was_read_before_a_mistake_is_kept() -> None:
    page = page_of(SITEMAP.replace(b"</loc><xhtml", b"<xhtml"), content_type="text/xml")
    assert targets(page)[0] == "http://a.test/1?a=1&b=2"


def test_entities_are_refused() -> None:
    laughs = b"".join(b'<!ENTITY l%d "%b">' % (at, b"&l%d;" % (at - 1) * 10) for at in range(1, 12))
    body = (
        b'<!DOCTYPE urlset [<!ENTITY l0 "http://a.test/">' + laughs + b"]><urlset><url><loc>&l11;</loc></url></urlset>"
    )
    began = time.process_time()
    assert page_of(body, content_type="text/xml").links == ()
    outside = b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>/&x;</loc></url></urlset>'
    assert page_of(outside, content_type="text/xml").links == ()
    assert time.process_time() - began < 0.5


def test_a_sitemap_of_more_than_50000_urls_is_cut_there() -> None:
    body = b"<urlset>" + b"".join(b"<url><loc>/%d</loc></url>" % at for at in range(50_010)) + b"</urlset>"
    page = page_of(body, content_type="text/xml")
    assert (len(page.links), page.trouble) == (50_000, "too-many-links")


def test_a_megabyte_of_blanks_is_read_in_no_time() -> None:
    began = time.process_time()
    blanks = b"\n" * 1_000_000
    page = page_of(b"<urlset>" + blanks + b"<url><loc>/1</loc></url></urlset>", content_type="text/xml")
    assert targets(page) == ["http://a.test/1"]
    packed = page_of(blanks + SITEMAP, content_type="text/xml")
    assert len(packed.links) == 3
    assert time.process_time() - began < 2.0


def test_deep_xml_is_given_up() -> None:
    assert page_of(b"<rss>" + b"<a>" * 500_000, content_type="text/xml").links == ()


def test_a_list_of_urls_is_a_sitemap_and_prose_is_not() -> None:
    page = page_of(
        b"\xef\xbb\xbfhttp://a.test/1\r\n\r\nHTTPS://a.test/2#x\nhttp://a.test/1\n", content_type="text/plain"
    )
    assert targets(page, "text") == ["http://a.test/1", "https://a.test/2"]
    prose = page_of(b"http://a.test/1 is a page\nand so on", content_type="text/plain")
    assert (len(prose.links), prose.text) == (0, "http://a.test/1 is a page and so on")


@given(st.binary(max_size=500))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    for mime in ("text/xml", "text/plain", "", ";;=", "application/gzip"):
        page_of(body, content_type=mime)
        page_of(b"<urlset><url><loc>" + body, content_type=mime)
