"""`near_duplicates` and `hamming` of crawls made from Python."""

from pathlib import Path
from random import Random

import pytest

import whimbrel
from tests.job.site import Answer, page, served

WORDS = [f"{a}{b}{c}" for a in ("st", "pl", "c", "m") for b in ("ea", "o", "i", "u") for c in ("ng", "te", "ss", "m")]


def article(seed: int, more: str) -> Answer:
    status, headers, _ = page()
    return status, headers, f"<title>{more}</title><p>{' '.join(Random(seed).choices(WORDS, k=900))}</p>"  # noqa: S311


PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page("/a", "/b", "/c", "/short"),
    "/a": article(1, "one"),
    "/b": article(1, "two"),
    "/c": article(2, "three"),
    "/short": page(title="short"),
}


def crawled(into: Path, port: int, *seeds: str, **options: object) -> whimbrel.CrawlResult:
    urls = [f"http://127.0.0.1:{port}{seed}" for seed in seeds]
    crawl = whimbrel.Crawl(*urls, delay=0.0, connections=1, allow_network=["127.0.0.0/8"], **options)  # type: ignore[arg-type]
    return crawl.run(into)


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    one, two = tmp_path_factory.mktemp("one") / "one", tmp_path_factory.mktemp("two") / "two"
    with served(PAGES) as port:
        crawled(one, port, "/")
        crawled(two, port, "/b", scope="page")
    return one, two, f"http://127.0.0.1:{port}"


def test_a_copy_is_found_with_the_page_that_was_there_first(crawls: tuple[Path, Path, str]) -> None:
    one, _, site = crawls
    found = whimbrel.open(one).sql("select url, original, distance from near_duplicates").dicts()
    assert [(row["url"], row["original"]) for row in found] == [(f"{site}/b", f"{site}/a")]
    assert found[0]["distance"] <= 3


def test_short_texts_have_no_hash(crawls: tuple[Path, Path, str]) -> None:
    one, _, site = crawls
    rows = whimbrel.open(one).sql("select url from pages where simhash is null order by url").dicts()
    assert [row["url"] for row in rows] == [f"{site}/", f"{site}/short"]


def test_hamming_compares_with_any_bound(crawls: tuple[Path, Path, str]) -> None:
    one, _, site = crawls
    sql = f"""
        select url, hamming(simhash, (select simhash from pages where url = '{site}/a')) as bits
        from pages where simhash is not null order by url"""  # noqa: S608
    bits = {row["url"]: row["bits"] for row in whimbrel.open(one).sql(sql).dicts()}
    assert bits[f"{site}/a"] == 0
    assert bits[f"{site}/b"] <= 3 < bits[f"{site}/c"]


def test_across_crawls_it_says_which(crawls: tuple[Path, Path, str]) -> None:
    one, two, site = crawls
    rows = whimbrel.open(one, two).sql("select * exclude distance from near_duplicates order by crawl").dicts()
    first = {"url": f"{site}/b", "original": f"{site}/a", "original_crawl": "one"}
    assert rows == [{**first, "crawl": "one"}, {**first, "crawl": "two"}]


def test_the_crawl_can_compute_it_itself_and_then_needs_no_text(tmp_path: Path) -> None:
    options = {"journal": {"simhash": True, "text": False}}
    with served(PAGES) as port:
        done = crawled(tmp_path / "out", port, "/", set=options)
        without = crawled(tmp_path / "without", port, "/", set={"journal": {"text": False}})
    urls = [row["url"] for row in done.sql("select url from near_duplicates").dicts()]
    assert urls == [f"http://127.0.0.1:{port}/b"]
    assert done.sql("select max(length(text)) as n from pages").dicts() == [{"n": 0}]
    assert without.sql("select count(simhash) as n from pages").dicts() == [{"n": 0}]


def test_it_is_the_same_whoever_computes_it(crawls: tuple[Path, Path, str], tmp_path: Path) -> None:
    one, _, site = crawls
    port = int(site.rpartition(":")[2])
    with served(PAGES, port=port):
        done = crawled(tmp_path / "out", port, "/", set={"journal": {"simhash": True}})
    question = "select url, simhash from pages order by url"
    assert done.sql(question).dicts() == whimbrel.open(one).sql(question).dicts()
