"""The spider of Scrapy's tutorial, quotes and their authors with pagination, as ours."""

import ast
from pathlib import Path

import whimbrel
from tests.job.site import served
from tests.sim.crawl import whimbrel as command
from whimbrel.bench.peers.quote import QuoteWriter
from whimbrel.bench.peers.runner.program import script

SPIDER = Path(script("quotes.py"))
PAGES = 20
WRITER = QuoteWriter(PAGES)
HTML = {"content-type": "text/html"}


def test_it_has_less_than_twenty_lines() -> None:
    tree = ast.parse(SPIDER.read_text())
    about = tree.body[0].end_lineno or 0
    lines = [line for line in SPIDER.read_text().splitlines()[about:] if line.strip()]
    assert len(lines) < 20


def test_it_finds_every_quote_and_author_once(tmp_path: Path) -> None:
    pages = {WRITER.path(page): (200, HTML, WRITER.body(0, page).decode()) for page in range(PAGES)}
    with served({"/robots.txt": (404, {}, ""), **pages}) as port:
        done = command(
            *("crawl", f"http://127.0.0.1:{port}/", "--into", str(tmp_path / "out"), "--with", str(SPIDER)),
            *("--follow", "handlers", "--delay", "0s", "--allow-network", "127.0.0.0/8", "--json"),
        )
    assert done.returncode == 0, done.stderr
    crawl = whimbrel.open(tmp_path / "out")
    expected = [quote for page in range(12) for quote in WRITER.quotes(0, page)]
    quotes = crawl.sql("select text, author, tags from quote").dicts()
    assert sorted(map(str, quotes)) == sorted(
        str({"text": quote.text, "author": WRITER.name(0, quote.author), "tags": quote.tags}) for quote in expected
    )
    authors = crawl.sql("select name, born, length(bio) as bio from author").dicts()
    assert {author["name"] for author in authors} == {WRITER.name(0, number) for number in range(8)}
    assert all(author["born"].startswith("March ") and author["bio"] > 1_000 for author in authors)
    assert crawl.sql("select count(*) as n from fetches where status > 0").dicts() == [{"n": PAGES}]
