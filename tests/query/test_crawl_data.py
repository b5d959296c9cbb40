"""Crawls opened from Python and by `get`: functions of SQL, documents, several crawls."""

import gzip
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import whimbrel
from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.archive.read import SegmentDamaged
from whimbrel.commit.committed import NotACrawl
from whimbrel.query.crawl_data import CrawlData
from whimbrel.query.sql import QueryConfig, QueryFailed, QueryRefused

LONG = "words and words " * 100
PACKED = f"<title>packed</title><p>{LONG}</p>"
TWIN = f"<title>twin</title><p>{LONG}</p>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page("/packed", "/first", "/second/", "/second/deep/er?q=/x", "/gone", title="home"),
    "/packed": (200, {**HTML, "Content-Encoding": "gzip", "X-Twice": "one"}, gzip.compress(PACKED.encode())),
    "/first": (200, HTML, TWIN),
    "/second/": (200, {**HTML, "ETag": '"second"'}, TWIN),
    "/second/deep/er?q=/x": page("/", title="deep"),
}


@dataclass(frozen=True)
class Crawl:
    directory: Path
    site: str

    @property
    def opened(self) -> CrawlData:
        return whimbrel.open(self.directory)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    directory = tmp_path_factory.mktemp("opened") / "out"
    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}"
        done = run("crawl", site, "--into", str(directory), "--delay", "0s", "--allow-network", "127.0.0.0/8")
        assert done.code == 0, done.words
        yield Crawl(directory, site)


def test_an_answer_comes_in_every_shape(crawl: Crawl, tmp_path: Path) -> None:
    rows = crawl.opened.sql("SELECT url, status FROM pages ORDER BY url")
    assert len(rows) == 5
    assert rows.columns == ["url", "status"]
    assert next(iter(rows)) == (f"{crawl.site}/", 200)
    assert rows.dicts()[1] == {"url": f"{crawl.site}/first", "status": 200}
    assert rows.arrow().num_rows == 5
    assert isinstance(rows.pl(), pl.DataFrame)
    assert isinstance(rows.df(), pd.DataFrame)
    assert rows.pl()["url"].to_list() == rows.df()["url"].tolist() == [url for url, _ in rows]
    assert f"{crawl.site}/first" in repr(rows)
    for ending in ("csv", "json", "parquet"):
        rows.write(tmp_path / f"answer.{ending}")
        assert (tmp_path / f"answer.{ending}").stat().st_size > 100
    assert pl.read_parquet(tmp_path / "answer.parquet")["url"].to_list() == [url for url, _ in rows]
    with pytest.raises(ValueError, match="'xls' is none of json, jsonl, csv, parquet"):
        rows.write(tmp_path / "answer.xls")
    assert sum(batch.num_rows for batch in crawl.opened.stream("SELECT * FROM links")) == 6


def test_an_answer_with_hostile_text_is_inert_on_a_terminal(crawl: Crawl) -> None:
    assert "\x1b" not in repr(crawl.opened.sql("SELECT chr(27) || '[2J' AS a"))
    assert "\\x1b[2J" in repr(crawl.opened.sql("SELECT chr(27) || '[2J' AS a"))


def test_functions_of_urls(crawl: Crawl) -> None:
    ask = crawl.opened.sql
    assert list(ask("SELECT host(url), path_depth(url) FROM pages WHERE title = 'deep'")) == [("127.0.0.1", 3)]
    cases = {
        "https://a.b.eg.co.uk:8080/x//y?z=/1/2": ("a.b.eg.co.uk", 2, "eg.co.uk", "uk,co,eg,b,a:8080)/x/y?z=/1/2"),
        "http://[::1]:80/": ("[::1]", 0, "[::1]", "::1)/"),
        "http://who.github.io": ("who.github.io", 0, "who.github.io", "io,github,who)/"),
    }  # fmt: skip
    for url, expected in cases.items():
        sql = f"SELECT host(u), path_depth(u), registered_domain(u), surt(u) FROM (SELECT '{url}' AS u)"  # noqa: S608
        assert list(ask(sql)) == [expected]
    assert list(ask("SELECT registered_domain('www.example.com'), surt(NULL), host(NULL), body(NULL)")) == [
        ("example.com", None, None, None)
    ]


def test_functions_of_documents(crawl: Crawl) -> None:
    ask = crawl.opened.sql
    assert list(ask("SELECT url FROM pages WHERE octet_length(body(url)) <> length")) == []
    assert list(ask("SELECT url FROM pages WHERE headers(url)['etag'] <> etag")) == []
    assert list(ask("SELECT decode(body(url)), headers(url)['x-twice'] FROM pages WHERE title = 'packed'")) == [
        (PACKED, "one")
    ]
    # A duplicate has headers of its own and the body of the other.
    twins = list(
        ask("SELECT u, decode(body(u)), headers(u)['etag'] FROM (SELECT url u FROM pages WHERE title = 'twin')")
    )
    assert {body for _, body, _ in twins} == {TWIN}
    assert {tag for url, _, tag in twins} == {None, '"second"'}
    assert list(ask("SELECT body('http://nowhere.test/'), headers('http://nowhere.test/')")) == [(None, None)]
    assert list(ask(f"SELECT octet_length(body('{crawl.site}/first'))")) == [(len(TWIN),)]


def test_no_other_place_can_be_read_through_the_archive(crawl: Crawl) -> None:
    for file in ("../../../etc/passwd", "/etc/passwd", "job.toml", "archive/../job.toml", "archive/none.warc.gz"):
        place = f"struct_pack(c := 0, f := '{file}', o := 0, l := 20)"
        with pytest.raises(SegmentDamaged, match="no commit lists 20 bytes there"):
            crawl.opened.sql(f"SELECT _body({place})")
    with pytest.raises(QueryFailed):
        crawl.opened.sql("SELECT _body(struct_pack(c := 7, f := 'archive/x', o := 0, l := 1))")
    with pytest.raises(QueryRefused):
        crawl.opened.sql("COPY pages TO '/tmp/stolen.csv'")


def test_documents_come_from_the_archive(crawl: Crawl) -> None:
    documents = list(crawl.opened.documents())
    assert len(documents) == 4  # one of the twins is a duplicate
    by_url = {document.url: document for document in documents}
    packed = by_url[f"{crawl.site}/packed"]
    assert packed.body.decode() == PACKED
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.row["title"] == "packed"
    assert packed.http_head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert [one.url for one in crawl.opened.documents("title = 'deep'")] == [f"{crawl.site}/second/deep/er?q=/x"]
    with pytest.raises(QueryFailed, match="nonsense"):
        next(crawl.opened.documents("nonsense = 1"))
    with pytest.raises(QueryFailed, match="syntax error"):
        next(crawl.opened.documents("true; SELECT 1"))


def test_one_document(crawl: Crawl) -> None:
    for path in ("/first", "/second/"):
        found = crawl.opened.get(crawl.site + path)
        assert found is not None
        assert found.body.decode() == TWIN
    assert crawl.opened.get(crawl.site + "/gone") is None
    assert crawl.opened.get("it's") is None


def test_get_prints_a_document(crawl: Crawl, tmp_path: Path) -> None:
    directory = str(crawl.directory)
    assert run("get", directory, f"{crawl.site}/packed").out == PACKED
    assert run("get", directory, f"{crawl.site}/packed", "--head").out.startswith("HTTP/1.1 200 OK\r\n")
    shown = run("get", directory, f"{crawl.site}/second/", "--json").json()
    assert (shown["title"], shown["headers"]["etag"], shown["body_bytes"]) == ("twin", '"second"', len(TWIN))
    file = tmp_path / "packed.html"
    assert run("get", directory, f"{crawl.site}/packed", "--out", str(file)).code == 0
    assert file.read_text() == PACKED
    gone = run("get", directory, f"{crawl.site}/gone")
    assert gone.code == 1
    assert "whimbrel why" in gone.err
    assert run("get", directory, "ftp://a.test/").code == 2
    assert run("get", str(tmp_path), "http://a.test/").code == 2


def test_damage_is_told(crawl: Crawl, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawl.directory, copy)
    segment = next((copy / "archive").glob("*.warc.gz"))
    row = whimbrel.open(copy).sql("SELECT url, warc_offset FROM pages WHERE title = 'packed'").dicts()[0]
    data = bytearray(segment.read_bytes())
    data[row["warc_offset"] + 40] ^= 0xFF
    segment.write_bytes(data)
    with pytest.raises(SegmentDamaged):
        whimbrel.open(copy).get(row["url"])
    done = run("get", str(copy), row["url"])
    assert done.code == 1
    assert "whimbrel verify" in done.err


def test_several_crawls_at_once(crawl: Crawl, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(crawl.directory, other)
    both = whimbrel.open(crawl.directory, other)
    assert list(both.sql("SELECT crawl, count(*) FROM pages GROUP BY ALL ORDER BY 1")) == [("other", 5), ("out", 5)]
    assert list(both.sql("SELECT count(*) FROM pages a JOIN pages b USING (url, digest) WHERE a.crawl < b.crawl")) == [
        (5,)
    ]
    assert list(both.sql("SELECT count(*) FROM (SELECT url FROM hosts, pages WHERE hosts.crawl = pages.crawl)")) == [
        (10,)
    ]
    assert len(list(both.documents())) == 8


def test_what_is_no_crawl_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotACrawl, match="holds no crawl"):
        whimbrel.open(tmp_path)
    with pytest.raises(TypeError, match="at least one"):
        whimbrel.open()


def test_a_question_to_a_crawl_has_limits(crawl: Crawl) -> None:
    with pytest.raises(QueryFailed, match="not answered within"):
        CrawlData([crawl.directory], QueryConfig(time_limit_s=0.2)).sql(
            "SELECT sum(i) FROM range(1_000_000_000_000) t(i)"
        )
