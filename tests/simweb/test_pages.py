"""Ordinary pages: the same everywhere, shaped like a web, and served as HTTP wants it."""

import gzip
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from urllib.parse import urljoin, urlsplit

import brotli
import pytest
import zstandard

from tests.simweb.conftest import Served, served
from tests.simweb.observation import Links, links
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.page import path
from whimbrel.simweb.server.control import ask
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions
from whimbrel.simweb.web import Web

DIGEST = """
import hashlib
from whimbrel.simweb.exhibit import PAGE_EXHIBITS, TROUBLES
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Truth
from whimbrel.simweb.web import Web
few = lambda names: {name: 0.02 for name in names}
catalogue = {'exhibits': few(PAGE_EXHIBITS), 'robots': few(VARIANTS), 'trouble': few(TROUBLES)}
web = Web(WebSpec(seed=7, hosts=30, https=0.3, **catalogue))
digest = hashlib.sha256()
for number in range(30):
    host = web.hosts.get(number)
    digest.update(repr(host).encode())
    for page in range(20):
        digest.update(web.writer.reply(host, page, web.spec.epoch_s + 1e6).body)
for row in Truth(web, web.seed_urls(30)).rows():
    digest.update(repr(row).encode())
print(digest.hexdigest())
"""


def pages(web: Web, numbers: range | None = None) -> Iterator[tuple[str, bytes]]:
    """URL and body of every page, or of those numbers, of every host."""
    for host in map(web.hosts.get, range(web.spec.hosts)):
        for number in numbers or range(host.pages):
            yield host.origin + path(number), web.writer.reply(host, number, web.spec.epoch_s).body


@contextmanager
def connected(host: SimHost) -> Iterator[socket.socket]:
    with socket.create_connection((host.addresses[0], host.port), 10) as client:
        yield client


def everything(client: socket.socket) -> bytes:
    """What the server sends until it closes."""
    with client.makefile("rb") as stream:
        return stream.read()


def locations(sitemap: bytes) -> list[str]:
    return re.findall(r"<loc>(.*?)</loc>", sitemap.decode())


def test_the_same_seed_gives_the_same_bytes_and_truth_in_every_process() -> None:
    digests = set()
    for hash_seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_another_seed_gives_another_web() -> None:
    first, second = (dict(pages(Web(WebSpec(seed=seed, hosts=2)))) for seed in (1, 2))
    assert set(first) == set(second)
    assert not set(first.values()) & set(second.values())


def test_the_server_sends_the_bytes_that_the_web_computes(small: Served) -> None:
    for number in range(12):
        host = small.web.hosts.get(number)
        seen = small.curl(host.origin + path(number))
        assert seen.body == small.web.writer.reply(host, number, small.web.spec.epoch_s).body


def test_a_page_has_about_28_kilobytes_and_50_links() -> None:
    bodies = [body for _, body in pages(Web(WebSpec(hosts=20)))]
    assert 26_000 < median(map(len, bodies)) < 30_000
    assert max(map(len, bodies)) < 35_000
    assert {body.count(b"<a href=") for body in bodies} == {50}


def test_page_bytes_and_links_are_what_the_specification_says() -> None:
    bodies = [body for _, body in pages(Web(WebSpec(hosts=5, page_bytes=100_000, links=200)))]
    assert 95_000 < median(map(len, bodies)) < 105_000
    assert {body.count(b"<a href=") for body in bodies} == {200}


def test_nine_of_ten_links_stay_on_their_site(small: Served) -> None:
    stays = Counter[bool]()
    for number in range(12):
        host = small.web.hosts.get(number)
        page = small.curl(host.origin + "/")
        stays.update(urlsplit(urljoin(host.origin, href)).hostname == host.name for href in links(page))
    assert 0.85 < stays[True] / stays.total() < 0.95


def test_a_few_pages_of_a_host_get_most_of_the_links() -> None:
    web = Web(WebSpec(hosts=1, pages=2_000, external=0.0))
    host = web.hosts.get(0)
    degrees = Counter[int]()
    for number in range(2_000):
        degrees.update(web.pages.get(host, number).inner)
    assert len(degrees) == 2_000
    top = sum(count for _, count in degrees.most_common(20))
    assert top / degrees.total() > 0.1
    assert median(degrees.values()) < degrees.total() / 2_000


def test_links_in_the_html_are_the_links_of_the_truth() -> None:
    web = Web(WebSpec(hosts=6, pages=30, https=0.5, exhibits={"copy": 0.5, "odd-urls": 0.5}))
    truth = Truth(web, web.seed_urls())
    for host in map(web.hosts.get, range(6)):
        for number in range(30):
            body = web.writer.reply(host, number, web.spec.epoch_s).body.decode()
            found = [urljoin(host.origin + path(number), href) for href in Links(body).hrefs]
            assert found == list(truth._page_links(host, number))


def test_the_truth_one_hop_from_a_page_is_what_a_client_finds_there(small: Served) -> None:
    url = small.web.seed_urls()[0]
    rows = Truth(small.web, [url], TruthOptions(limits=TruthLimits(hops=1))).rows()
    reached = {row.url for row in rows if row.depth == 1}
    assert reached == {urljoin(url, href) for href in links(small.curl(url))} - {url}


def test_a_tail_of_sizes_reaches_far_beyond_the_median() -> None:
    sizes = [len(body) for _, body in pages(Web(WebSpec(hosts=100, pages=10, bytes_tail=True)))]
    assert 24_000 < median(sizes) < 32_000
    assert 500_000 < max(sizes) <= 4_200_000


def test_a_tail_of_page_counts_reaches_far_beyond_the_mean() -> None:
    web = Web(WebSpec(hosts=1_000, pages=30, pages_tail=True))
    counts = [web.hosts.get(number).pages for number in range(1_000)]
    assert 15 < sum(counts) / 1_000 < 60
    assert max(counts) > 300


@pytest.mark.parametrize(
    ("accepted", "coding", "decode"),
    [
        ("gzip", "gzip", gzip.decompress),
        ("br", "br", brotli.decompress),
        ("zstd", "zstd", zstandard.decompress),
        ("snappy, br;q=0, zstd, gzip", "zstd", zstandard.decompress),
        ("identity", None, bytes),
        ("", None, bytes),
    ],
)
def test_a_coding_that_the_client_accepts_is_used(
    small: Served, accepted: str, coding: str | None, decode: Callable[[bytes], bytes]
) -> None:
    plain = small.curl(small.plain.origin + "/")
    seen = small.curl(small.plain.origin + "/", "-H", f"Accept-Encoding: {accepted}")
    assert (plain.header("Content-Encoding"), seen.header("Content-Encoding")) == (None, coding)
    assert seen.header("Content-Length") == str(len(seen.body))
    assert decode(seen.body) == plain.body


def test_head_has_the_headers_of_get_and_no_body(small: Served) -> None:
    url = small.plain.origin + "/"
    got, headed = small.curl(url), small.curl(url, "--head")
    # `--head` makes curl write the headers where the body goes.
    assert (headed.exit_code, headed.status, headed.headers) == (0, 200, got.headers)
    with connected(small.plain) as client:
        client.sendall(f"HEAD / HTTP/1.1\r\nHost: {small.plain.name}\r\nConnection: close\r\n\r\n".encode())
        assert everything(client).endswith(b"\r\n\r\n")


@pytest.mark.parametrize(("known", "validator"), [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")])
def test_a_client_that_has_this_version_gets_304(small: Served, known: str, validator: str) -> None:
    url = small.plain.origin + "/"
    first = small.curl(url)
    again = small.curl(url, "-H", f"{validator}: {first.header(known)}")
    assert (again.exit_code, again.status, again.body, again.header(known)) == (0, 304, b"", first.header(known))
    other = '"other"' if known == "ETag" else "Thu, 01 Jan 2015 00:00:00 GMT"
    assert small.curl(url, "-H", f"{validator}: {other}").status == 200


def test_a_host_on_https_sends_http_clients_there(small: Served) -> None:
    host = next(host for host in map(small.web.hosts.get, range(12)) if host.scheme == "https")
    seen = small.curl(f"http://{host.name}:{small.running.http_port}/about/12.html")
    assert (seen.status, seen.header("Location")) == (301, f"{host.origin}/about/12.html")
    assert small.curl(seen.header("Location") or "").status == 200


def test_the_sitemap_index_leads_to_a_plain_and_a_packed_sitemap(small: Served) -> None:
    origin = small.plain.origin
    index = locations(small.curl(origin + "/sitemap.xml").body)
    assert index == [f"{origin}/sitemap-pages.xml", f"{origin}/sitemap-more.xml.gz"]
    assert locations(small.curl(index[0]).body) == [origin + path(number) for number in range(50)]
    orphans = locations(gzip.decompress(small.curl(index[1]).body))
    assert len(orphans) == 3
    assert {small.curl(url).status for url in orphans} == {200}


@pytest.mark.parametrize(("ending", "kind"), [("css", "text/css"), ("js", "text/javascript"), ("png", "image/png")])
def test_requisites_of_a_page_are_there(small: Served, ending: str, kind: str) -> None:
    seen = small.curl(f"{small.plain.origin}/static/3.{ending}")
    assert (seen.status, seen.header("Content-Type")) == (200, kind)
    assert f"/static/{small.plain.content % 8}.{ending}".encode() in small.curl(small.plain.origin + "/").body


def test_a_name_that_is_no_host_of_this_web_is_misdirected(small: Served) -> None:
    seen = small.curl(f"http://www.example.com:{small.running.http_port}/")
    assert (seen.status, seen.http) == (421, "HTTP/1.1")
    assert small.log()[-1].served == "unknown-host"


def test_the_clock_changes_pages_and_nothing_else_does(tmp_path: Path) -> None:
    with served(WebSpec(hosts=1, pages=60, change_s=10_000.0, volatile=0.0), tmp_path) as web:
        host = web.plain
        first = [web.curl(host.origin + path(number)) for number in range(12)]
        assert [web.curl(host.origin + path(number)).body for number in range(12)] == [seen.body for seen in first]
        ask(Path(web.running.control), {"do": "advance", "seconds": 5_000})
        changed = 0
        for number, before in enumerate(first):
            page = web.web.pages.get(host, number)
            due = web.web.pages.version(page, web.web.spec.epoch_s + 5_000)[0] > 0
            after = web.curl(host.origin + path(number), "-H", f"If-None-Match: {before.header('ETag')}")
            assert after.status == (200 if due else 304)
            assert after.body != before.body
            assert (after.header("Last-Modified") != before.header("Last-Modified")) is due
            changed += due
        assert 0 < changed < 12


def test_the_volatile_part_changes_while_the_rest_stays(tmp_path: Path) -> None:
    with served(WebSpec(hosts=1, volatile=1.0, volatile_s=60.0, change_s=1e9), tmp_path) as web:
        url = web.plain.origin + "/"
        first = web.curl(url)
        ask(Path(web.running.control), {"do": "advance", "seconds": 59})
        assert web.curl(url).body == first.body
        ask(Path(web.running.control), {"do": "advance", "seconds": 1})
        second = web.curl(url)
        assert second.header("ETag") != first.header("ETag")
        pairs = zip(first.body.splitlines(), second.body.splitlines(), strict=True)
        (differing,) = ((before, after) for before, after in pairs if before != after)
        assert all(line.startswith(b'<p class="volatile">') for line in differing)


def test_a_kept_connection_carries_the_next_request(small: Served) -> None:
    url = small.plain.origin + "/"
    seen = small.curl(url, url, "-o", "/dev/null")
    assert seen.header("Connection") == "keep-alive"
    assert [transfer.connects for transfer in seen.transfers] == [1, 0]
    first, second = small.log()[-2:]
    assert first.connection == second.connection
    assert small.curl(url, "-H", "Connection: close").header("Connection") == "close"
    assert small.log()[-1].connection != first.connection


def test_a_host_that_speaks_http10_closes_after_each_answer(tmp_path: Path) -> None:
    with served(WebSpec(hosts=1, http10=1.0), tmp_path) as web:
        url = web.plain.origin + "/"
        seen = web.curl(url, url, "-o", "/dev/null")
        assert (seen.http, seen.header("Connection")) == ("HTTP/1.0", "close")
        assert [transfer.connects for transfer in seen.transfers] == [1, 1]
        with connected(web.plain) as client:
            client.sendall(f"GET / HTTP/1.0\r\nHost: {web.plain.name}\r\n\r\n".encode())
            assert everything(client).endswith(b"</html>\n")


def test_an_idle_connection_is_closed_by_the_server(tmp_path: Path) -> None:
    with served(WebSpec(hosts=1, idle_s=0.2), tmp_path) as web, connected(web.plain) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {web.plain.name}\r\n\r\n".encode())
        assert everything(client).endswith(b"</html>\n")


def test_latency_and_bandwidth_are_those_of_the_host(tmp_path: Path) -> None:
    with served(WebSpec(hosts=4, latency_ms=100, bandwidth_kbps=200), tmp_path) as web:
        hosts = [web.web.hosts.get(number) for number in range(4)]
        assert len({host.latency_s for host in hosts}) == 4
        for host in hosts:
            seen = web.curl(host.origin + "/")
            # The last piece is sent without a wait after it.
            paced_s = len(seen.body) / host.bandwidth - 0.05
            assert seen.transfers[0].total_s >= host.latency_s + max(0.0, paced_s) * 0.95


def test_the_log_says_since_when_a_client_may_have_been_at_a_request(small: Served) -> None:
    """A client that opens a connection and waits, asks, waits, and asks again."""
    request = f"GET / HTTP/1.1\r\nHost: {small.plain.name}\r\n\r\n".encode()
    before = time.time()
    with socket.create_connection((small.plain.addresses[0], small.running.http_port), 10) as client:
        opened = time.time()
        for _ in range(2):
            time.sleep(0.4)
            asked = time.time()
            client.sendall(request)
            while not client.recv(100_000).rstrip().endswith(b"</html>"):
                pass
    first, second = small.log()[-2:]
    assert first.connection == second.connection
    assert before - 0.3 < first.since < opened < first.start
    assert asked - 0.3 < second.since < asked < second.start


def test_the_access_log_has_every_exchange(small: Served) -> None:
    before = len(small.log())
    for number in range(12):
        small.curl(small.web.hosts.get(number).origin + "/", "-A", "observer/1.0")
    small.curl(small.plain.origin + "/x/status-503/9", "-A", "tab\tand more")
    exchanges = small.log()[before:]
    assert len({exchange.connection for exchange in exchanges}) == len(exchanges) == 13
    for number, exchange in enumerate(exchanges[:12]):
        host = small.web.hosts.get(number)
        assert exchange.start <= exchange.end
        assert exchange.server in {f"{address}:{host.port}" for address in host.addresses}
        assert exchange.client.startswith("127.")
        said = (exchange.scheme, exchange.method, exchange.host, exchange.target, exchange.status, exchange.served)
        assert said == (host.scheme, "GET", host.name, "/", 200, "page")
        assert exchange.agent == "observer/1.0"
        assert exchange.bytes > 25_000
    assert exchanges[12][9:14] == ("/x/status-503/9", 503, exchanges[12].bytes, "status-503", "tab\\tand more")


HOSTILE = {
    "nothing": (b"", b""),
    "garbage": (bytes(range(256)) * 40, b"HTTP/1.1 400"),
    "garbage with an end": (b"\xff\xfe\x00 \r\n\r\n", b"HTTP/1.1 400"),
    "half a head": (b"GET / HTTP/1.1\r\nHost: ", b""),
    "no version": (b"GET /\r\n\r\n", b"HTTP/1.1 400"),
    "header without a colon": (b"GET / HTTP/1.1\r\nHost\r\n\r\n", b"HTTP/1.1 400"),
    "header of 100 KB": (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, b"HTTP/1.1 431"),
    "missing SimHost": (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
    "absolute form": (b"GET http://NAME/ HTTP/1.1\r\nHost: other\r\n\r\n", b"HTTP/1.1 200"),
    "POST": (b"POST / HTTP/1.1\r\nHost: NAME\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 405"),
    "unknown method": (b"BREW / HTTP/1.1\r\nHost: NAME\r\n\r\n", b"HTTP/1.1 405"),
    "odd target": (b"GET /\x00\x7f\xff%zz?#[ HTTP/1.1\r\nHost: NAME\r\n\r\n", b"HTTP/1.1 404"),
}
"""Requests to a host, and how the answer begins; empty when the connection is just closed."""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_does_not_stop_the_server(small: Served, name: str) -> None:
    request, answer = HOSTILE[name]
    with connected(small.plain) as client:
        client.sendall(request.replace(b"NAME", small.plain.name.encode()))
        client.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):  # What the server did not read makes the kernel reset.
            assert everything(client)[:12] == answer
    assert small.curl(small.plain.origin + "/").status == 200


@pytest.mark.parametrize(
    "line",
    [
        "GET /x/a\tb/ HTTP/1.1",
        "GET /x/a\nb/ HTTP/1.1",
        "G\tET / HTTP/1.1",
        "GET / HTTP/1.\t1",
    ],
)
def test_no_request_can_break_the_access_log(tmp_path: Path, line: str) -> None:
    with served(WebSpec(hosts=1), tmp_path) as web:
        with connected(web.plain) as client:
            client.sendall(f"{line}\r\nHost: {web.plain.name}\r\nConnection: close\r\n\r\n".encode())
            everything(client)
        try:
            exchanges = web.log()
        except (ValueError, IndexError, TypeError) as error:
            pytest.fail(f"the log cannot be read: {error}")
        assert len(exchanges) == 1
