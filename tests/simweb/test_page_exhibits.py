"""Every page exhibit, as curl sees it: one observation for each name in the catalogue."""

import gzip
import zlib
from pathlib import Path
from urllib.parse import urljoin

import ada_url
import brotli
import pytest
import zstandard

from tests.simweb.conftest import Served, served
from tests.simweb.observation import (
    BRIEFLY,
    CUT,
    EMPTY,
    MB,
    RESET,
    TIMEOUT,
    TOO_LONG,
    WEIRD_REPLY,
    Check,
    bomb,
    chain,
    charset,
    coded,
    endless_redirects,
    exits,
    found,
    inflated,
    leads_to,
    links,
    marker,
    nothing,
    page,
    recovers,
    redirects,
    retry_after,
    says_robots,
    soup,
    status,
    unbrotlied,
    unzstded,
)
from whimbrel.simweb.exhibit import PAGE_EXHIBITS
from whimbrel.simweb.exhibit.api import ExhibitPlace
from whimbrel.simweb.exhibit.odd_url import odd_links
from whimbrel.simweb.spec import WebSpec


def undecodable(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert (seen.exit_code, seen.header("Content-Encoding")) == (0, "gzip")
    with pytest.raises((gzip.BadGzipFile, EOFError)):
        gzip.decompress(seen.body)
    if name == "coding-cut":
        assert seen.body.startswith(b"\x1f\x8b")
    else:
        assert marker(name) in seen.body


def no_location(web: Served, name: str, url: str) -> None:
    seen = web.curl(url, "-L")
    assert (seen.status, seen.header("Location"), seen.transfers[0].redirects) == (302, None, 0)


def redirects_to_other_host(web: Served, name: str, url: str) -> None:
    location = web.curl(url).header("Location") or ""
    assert web.plain.name not in location
    assert web.curl(location).status == 200


def many_links(web: Served, name: str, url: str) -> None:
    hrefs = links(web.curl(url))
    assert (len(hrefs), len(set(hrefs))) == (50_000, 50_000)
    assert len({href.partition("#")[0] for href in hrefs}) == 40


def nested(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert (seen.body.count(b"<div>"), seen.body.count(b"</div>")) == (100_000, 0)
    # Not with `soup`: the time Lexbor takes grows with the square of the depth.
    assert links(seen) == [found(name)]


def image(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert seen.header("Content-Type") == "text/html"
    assert seen.body.startswith(b"\x89PNG\r\n\x1a\n")


def new_sessions(web: Served, name: str, url: str) -> None:
    ids = []
    for _ in range(5):
        (href,) = links(web.curl(url))
        assert href.startswith("/x/session/0?sid=")
        ids.append(href)
        url = urljoin(url, href)
    assert len(set(ids)) == 5


def grows(web: Served, name: str, url: str) -> None:
    lengths = [len(url)]
    for _ in range(5):
        (href,) = links(web.curl(url))
        url = urljoin(url, href)
        lengths.append(len(url))
    assert lengths == sorted(set(lengths))


def lists(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert links(seen) == [f"/x/listing/0?item={at}" for at in range(1_200)]
    assert links(web.curl(urljoin(url, links(seen)[-1]))) == []


def copies(web: Served, name: str, url: str) -> None:
    bodies = [web.curl(urljoin(url, str(at))).body for at in range(5)]
    assert len(set(bodies[:4])) == 1
    assert bodies[4] != bodies[0]


def near_copies(web: Served, name: str, url: str) -> None:
    first, *others = (web.curl(urljoin(url, str(at))).body.splitlines() for at in range(4))
    for other in others:
        assert sum(a != b for a, b in zip(first, other, strict=True)) == 1


def aliases(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert len(set(links(seen))) == 4
    assert {web.curl(urljoin(url, href)).body for href in links(seen)} == {seen.body}


def odd_urls(web: Served, name: str, url: str) -> None:
    expected = odd_links(ExhibitPlace(web.web.hosts, web.plain, name))
    hrefs = links(web.curl(url))
    assert len(hrefs) == len(expected)
    for href, odd in zip(hrefs, expected, strict=True):
        # An independent WHATWG parser gives the URL that the catalogue declares, but for fragments and credentials.
        try:
            meant = ada_url.URL(href, url)
        except ValueError:
            assert odd.url == ""
            continue
        if meant.protocol in ("http:", "https:"):
            meant.hash = meant.username = meant.password = ""
            assert meant.href == odd.url
        else:
            assert odd.url == ""


def reset_when_reused(web: Served, name: str, url: str) -> None:
    assert web.curl(url).status == 200
    seen = web.curl(web.plain.origin + "/", "-v", url, "-o", "/dev/null")
    # curl tries once more on a connection of its own.
    assert [transfer.connects for transfer in seen.transfers] == [1, 1]
    assert "Connection reset by peer" in seen.errors
    first, on_the_same, on_a_new = web.log()[-3:]
    assert first.connection == on_the_same.connection != on_a_new.connection
    assert (on_the_same.status, on_a_new.status) == (0, 200)


def answers_late(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert seen.transfers[0].total_s >= 1.99
    assert marker(name) in seen.body


def beyond_length(web: Served, name: str, url: str) -> None:
    announced, all_bytes = web.curl(url), web.curl(url, "--ignore-content-length")
    assert str(len(announced.body)) == announced.header("Content-Length")
    assert all_bytes.body == announced.body + b"<p>bytes beyond the length</p>"


def not_http(web: Served, name: str, url: str) -> None:
    assert web.curl(url).exit_code == 1
    assert len(web.curl(url, "--http0.9").body) == 2048


def endless_header(web: Served, name: str, url: str) -> None:
    seen = web.curl(url, *BRIEFLY)
    # Newer versions of curl have a limit.
    assert seen.exit_code in (RESET, TIMEOUT)
    assert len(seen.head) > 250_000
    assert seen.body == b""


def huge_header(web: Served, name: str, url: str) -> None:
    # How curl calls its limit of 100 KB differs between versions.
    assert web.curl(url).exit_code in (TOO_LONG, RESET, 100)


def early_hints(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert seen.head.startswith("HTTP/1.1 103 Early Hints\r\nLink: </static/0.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK")
    assert marker(name) in seen.body


def speaks_http10(web: Served, name: str, url: str) -> None:
    seen = web.curl(url, url, "-o", "/dev/null")
    assert (seen.http, seen.header("Content-Length")) == ("HTTP/1.0", None)
    assert [transfer.connects for transfer in seen.transfers] == [1, 1]


def leaf(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert (seen.status, links(seen)) == (200, [])
    assert marker(name) in seen.body


def missing(web: Served, name: str, url: str) -> None:
    seen = web.curl(url)
    assert seen.status == 404
    assert web.curl(urljoin(url, "/no/such/page")).body == seen.body


CONNECTION: dict[str, Check] = {
    "reset": exits(RESET),
    "reset-reused": reset_when_reused,
    "close-early": exits(EMPTY),
    "stall": exits(TIMEOUT, *BRIEFLY),
    "stall-body": exits(TIMEOUT, *BRIEFLY, status=200, received=range(300, 500)),
    "slow-start": answers_late,
    "drip": exits(TIMEOUT, *BRIEFLY, status=200, received=range(20, 40)),
    "truncated": exits(CUT, status=200, received=range(300, 500)),
    "length-short": beyond_length,
    "length-invalid": exits(WEIRD_REPLY, status=200),
    "chunked": page(headers={"Transfer-Encoding": "chunked", "Content-Length": None}),
    "chunk-broken": exits(RESET, status=200, received=range(300, 500)),
    "chunk-cut": exits(CUT, status=200, received=range(300, 500)),
    "garbage": not_http,
    "header-endless": endless_header,
    "header-huge": huge_header,
    "body-endless": exits(TIMEOUT, *BRIEFLY, "--limit-rate", "8M", status=200, received=range(4 * MB, 64 * MB)),
    "no-length": page(headers={"Content-Length": None, "Transfer-Encoding": None}),
    "http10": speaks_http10,
    "interim": early_hints,
    "found": leaf,
}
CODES = (400, 401, 402, 403, 404, 405, 406, 410, 418, 451, 500, 501, 502, 503, 504)
STATUS: dict[str, Check] = {
    **{f"status-{code}": status(code) for code in CODES},
    "status-204": nothing(204),
    **{f"retry-seconds-{code}": retry_after(code, as_date=False) for code in (429, 503)},
    **{f"retry-date-{code}": retry_after(code, as_date=True) for code in (429, 503)},
    "recovers-1": recovers(500),
    "recovers-2": recovers(500, 500),
    "recovers-5": recovers(500, 500, 500, 500, 500),
    "recovers-retry-after": recovers(429),
}
REDIRECT: dict[str, Check] = {
    **{f"redirect-{code}": redirects(code) for code in (301, 302, 303, 307, 308)},
    "redirect-chain": chain(5),
    "redirect-long": chain(12),
    "redirect-loop": endless_redirects("/x/redirect-loop/0", "/x/redirect-loop/0/b"),
    "redirect-self": endless_redirects("/x/redirect-self/0"),
    "redirect-host": redirects_to_other_host,
    "redirect-private": redirects(302, "http://10.0.0.1/secret"),
    "redirect-metadata": redirects(302, "http://169.254.169.254/latest/meta-data/"),
    "redirect-decimal": redirects(302, "http://167772161/decimal"),
    "redirect-octal": redirects(302, "http://012.0.0.01/octal"),
    "redirect-ipv6": redirects(302, "http://[fd00::1]/ula"),
    "redirect-mapped": redirects(302, "http://[::ffff:10.0.0.1]/mapped"),
    "redirect-scheme": redirects(302, "file:///etc/passwd"),
    "redirect-nowhere": no_location,
    "redirect-relative": redirects(301, "../found/0?from=redirect-relative#part"),
}
CODING: dict[str, Check] = {
    "coding-gzip": coded("gzip", gzip.decompress),
    "coding-deflate": coded("deflate", zlib.decompress),
    "coding-deflate-raw": coded("deflate", lambda body: zlib.decompress(body, wbits=-15)),
    "coding-br": coded("br", brotli.decompress),
    "coding-zstd": coded("zstd", zstandard.decompress),
    "coding-double": coded("gzip, gzip", lambda body: gzip.decompress(gzip.decompress(body))),
    "coding-unknown": coded("snappy", bytes),
    "coding-wrong": undecodable,
    "coding-cut": undecodable,
    "bomb-gzip": bomb(inflated),
    "bomb-deflate": bomb(inflated),
    "bomb-br": bomb(unbrotlied),
    "bomb-zstd": bomb(unzstded),
}
UTF8 = "text/html; charset=utf-8"
CONTENT: dict[str, Check] = {
    "charset-wrong": charset(UTF8, "latin-1"),
    "charset-missing": charset("text/html", "latin-1"),
    "charset-meta": charset("text/html", "latin-1", has='<meta charset="iso-8859-1">'),
    "charset-unknown": charset("text/html; charset=klingon", "utf-8"),
    "charset-utf16": charset(UTF8, "utf-16", begins=b"\xff\xfe"),
    "html-broken": soup((b"<b><i></b>", 1), (b"</a href>", 1), (b"<p <p>", 1), (b"&#x110000;", 12)),
    "html-nested": nested,
    "html-unclosed": soup((b"<!--", 1), (b"-->", 0)),
    "html-nul": soup((b"<p>\0\0", 3)),
    "links-50000": many_links,
    "mime-wrong": page(headers={"Content-Type": "image/png"}),
    "mime-missing": page(headers={"Content-Type": None}),
    "mime-malformed": page(headers={"Content-Type": ";;=html/;text"}),
    "mime-png-as-html": image,
    "empty": nothing(200),
}
DIRECTIVE: dict[str, Check] = {
    "meta-nofollow": says_robots(meta='<meta name="robots" content="nofollow">'),
    "meta-noindex": says_robots(meta='<meta name="robots" content="noindex">'),
    "meta-noarchive": says_robots(meta='<meta name="robots" content="noarchive">'),
    "meta-none": says_robots(meta='<meta name="robots" content="none">'),
    "meta-case": says_robots(meta='<meta name="ROBOTS" content="NoIndex , NOFOLLOW">'),
    "meta-own-agent": says_robots(meta='<meta name="whimbrel" content="nofollow">'),
    "meta-other-agent": says_robots(meta='<meta name="googlebot" content="nofollow">'),
    "header-nofollow": says_robots("nofollow"),
    "header-noindex": says_robots("noindex"),
    "header-noarchive": says_robots("noarchive"),
    "header-several": says_robots("noindex", "nofollow"),
    "header-own-agent": says_robots("whimbrel: nofollow"),
    "header-other-agent": says_robots("googlebot: nofollow"),
}
ENDLESS: dict[str, Check] = {
    "calendar": leads_to(*(f"/x/calendar/0?y={2026 + at // 12}&m={1 + at % 12}" for at in range(14))),
    "session": new_sessions,
    "growing": grows,
    "repeating": leads_to(*("/x/repeating/0/" + "more/" * at for at in range(1, 6))),
    "repeating-run": leads_to(*("/x/repeating-run/0/" + "a/b/a/b/a/b/"[: 2 * at] for at in range(1, 6))),
    "tree": leads_to(*("/x/tree/0" + "".join(f"/level{n}" for n in range(1, at + 1)) for at in range(1, 25))),
    "listing": lists,
}
OTHER: dict[str, Check] = {
    "odd-urls": odd_urls,
    "copy": copies,
    "near": near_copies,
    "alias": aliases,
    "missing": missing,
}
CHECKS = CONNECTION | STATUS | REDIRECT | CODING | CONTENT | DIRECTIVE | ENDLESS | OTHER


def test_every_page_exhibit_of_the_catalogue_is_observed_here() -> None:
    assert set(CHECKS) == set(PAGE_EXHIBITS)


@pytest.mark.parametrize("name", CHECKS)
def test_curl_sees_what_the_catalogue_says(small: Served, name: str) -> None:
    CHECKS[name](small, name, small.url(small.plain.name, f"/x/{name}/0"))


def test_a_missing_page_is_a_page_like_any_other_on_a_host_with_soft_404(tmp_path: Path) -> None:
    with served(WebSpec(hosts=1, soft404=1.0), tmp_path) as lying:
        bodies = set()
        for path in ("/x/missing/0", "/x/missing/7", "/no/such/page"):
            seen = lying.curl(lying.plain.origin + path)
            assert seen.status == 200
            bodies.add(seen.body)
        assert len(bodies) == 1


def test_an_exhibit_that_does_not_exist_is_a_missing_page(small: Served) -> None:
    assert small.curl(small.plain.origin + "/x/no-such-exhibit/0").status == 404
