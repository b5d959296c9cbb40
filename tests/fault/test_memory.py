"""What servers and handlers may send to take memory, against the bound of docs/memory.md: the crawler's process and its
workers together."""

import gzip
from pathlib import Path
from random import Random

import pytest

from tests.cli.command import run
from tests.fault.hostile_server import NOT_FOUND, Answer, answer, hostile_server, html
from tests.fault.memory_use import MemoryUse, measured

MOST_BYTES = 600_000_000
"""Of docs/memory.md."""
OPTIONS = ("--allow-network", "127.0.0.0/8", "--contact", "a@b.test", "--delay", "0s", "--max-depth", "1000")


def crawl(
    folder: Path, pages: Answer, *options: str, seeds: tuple[str, ...] = ("127.0.0.1",), timeout_s: float = 200
) -> MemoryUse:
    """Crawl a site whose page `/K` is what `pages` says."""
    with hostile_server(pages) as port:
        (folder / "seeds").write_text("".join(f"http://{seed}:{port}/0\n" for seed in seeds))
        into = ("--seeds", str(folder / "seeds"), "--into", str(folder / "crawl"))
        return measured("crawl", *into, *OPTIONS, *options, timeout_s=timeout_s)


def packed(body: bytes, noise_bytes: int) -> bytes:
    """Gzipped, with so much noise in it that no limit on the ratio stops it."""
    noise = Random(1).randbytes(noise_bytes).hex().encode()  # noqa: S311
    return html(gzip.compress(b"<!--" + noise + b"-->" + body, 1), "Content-Encoding: gzip")


def number_of(path: str) -> int | None:
    return int(path[1:]) if path[1:].isdigit() else None


def link_to(number: int) -> bytes:
    return b'<a href="/%d">next</a>' % number


def rows(folder: Path, sql: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = run("query", str(folder / "crawl"), sql, "--format", "json").json()
    return found


def test_links_of_a_megabyte_and_a_half(tmp_path: Path) -> None:
    def page(_: str, path: str) -> bytes:
        number = number_of(path)
        if number is None:
            return NOT_FOUND
        links = (b'<a href="/%d-%d-%s">long</a>' % (number, at, b"a" * 1_500_000) for at in range(20))
        return packed(link_to(number + 1) + b"".join(links), 70_000)

    use = crawl(tmp_path, page, "--max-pages", "15")
    assert use.code == 0, use.said
    assert use.peak_bytes < MOST_BYTES
    assert rows(tmp_path, "select count(*) n from pages") == [{"n": 15}]


def test_links_that_are_as_long_as_a_link_may_be(tmp_path: Path) -> None:
    """They are longer than a URL may be, so that each is dropped, with a row that says so."""

    def page(_: str, path: str) -> bytes:
        number = number_of(path)
        if number is None:
            return NOT_FOUND
        links = (b'<a href="/%d-%d-%s">long</a>' % (number, at, b"a" * 16_000) for at in range(480))
        return packed(link_to(number + 1) + b"".join(links), 20_000)

    use = crawl(tmp_path, page, "--max-pages", "25")
    assert use.code == 0, use.said
    assert use.peak_bytes < MOST_BYTES
    assert rows(tmp_path, "select count(*) > 5000 as n from fetches where reason = 'too-long'") == [{"n": True}]


def test_answers_with_as_many_headers_as_they_may_have_and_with_more(tmp_path: Path) -> None:
    def page(_: str, path: str) -> bytes:
        number = number_of(path)
        if number is None:
            return NOT_FOUND
        count = 100_000 if number == 60 else 4_900
        return answer(link_to(number + 1), "Content-Type: text/html", *(f"x{at}-{number}: y" for at in range(count)))

    use = crawl(tmp_path, page)
    assert use.code == 0, use.said
    assert use.peak_bytes < MOST_BYTES
    assert rows(tmp_path, "select outcome, reason, count(*) n from fetches group by all order by n") == [
        {"outcome": "failed", "reason": "header-too-large", "n": 1},
        {"outcome": "stored", "reason": "new", "n": 60},
    ]


def test_fifty_megabytes_of_one_attribute(tmp_path: Path) -> None:
    def page(_: str, path: str) -> bytes:
        number = number_of(path)
        if number is None:
            return NOT_FOUND
        return packed(link_to(number + 1) + b'<p title="' + b"a" * 50_000_000 + b'">', 130_000)

    use = crawl(tmp_path, page, "--max-pages", "4")
    assert use.code == 0, use.said
    assert use.peak_bytes < MOST_BYTES
    assert rows(tmp_path, "select count(*) n from fetches where reason = 'decoded-cut'") == [{"n": 4}]


HANDLERS = """
import whimbrel as w

class Thing(w.Item):
    number: int
    text: str

@w.handler
def things(page):
    for number in range({count}):
        yield Thing(number, f"{{number:08}}" + "x" * {size})
"""


@pytest.mark.parametrize(
    ("count", "size", "kept"),
    [
        (1_000_000, 0, 0),
        (99_000, 1_500, 0),
        (27_000, 1_500, 54_000),
        pytest.param(100_000, 0, 200_000, marks=pytest.mark.long),
    ],
)
def test_items_of_one_page(tmp_path: Path, count: int, size: int, kept: int) -> None:
    (tmp_path / "handlers.py").write_text(HANDLERS.format(count=count, size=size))

    def page(_: str, path: str) -> bytes:
        number = number_of(path)
        return NOT_FOUND if number is None else html(b"<title>%d</title>" % number + link_to(number + 1))

    use = crawl(tmp_path, page, "--max-pages", "2", "--with", str(tmp_path / "handlers.py"))
    assert use.peak_bytes < MOST_BYTES, use.said
    assert rows(tmp_path, "select count(*) n from thing") == [{"n": kept}]
    assert ("more than 64 MB of items and links were made of one page" in use.said) is (kept == 0)
    assert ("--set handler-pool.max_items_bytes=256000000" in use.said) is (kept == 0), "it says what to do"


@pytest.mark.long
@pytest.mark.timeout(5400)
def test_ten_million_queued_urls(tmp_path: Path) -> None:
    """Two hundred sitemaps of fifty thousand URLs each, which robots.txt names."""

    def page(host: str, path: str) -> bytes:
        site = f"http://{host}"
        if path == "/robots.txt":
            return answer("".join(f"Sitemap: {site}/{at}.xml\n" for at in range(200)).encode())
        name, _, kind = path[1:].partition(".")
        if kind != "xml":
            return html(b"<title>a page</title>")
        entries = "".join(
            f"<url><loc>{site}/{name}-{at:05}-a-page-of-the-usual-length</loc></url>" for at in range(50_000)
        )
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()
        return answer(gzip.compress(body, 1), "Content-Type: application/xml", "Content-Encoding: gzip")

    use = crawl(tmp_path, page, "--max-pages", "201", timeout_s=5000)
    assert use.code == 0, use.said
    assert use.peak_bytes < MOST_BYTES
    assert "10,000,000 URLs" in use.said
