"""Crawls whose tables were written by format 1 are read as if they were new, also where both are mixed."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import whimbrel
from tests.cli.command import run
from tests.facts import format_1, sample
from tests.facts.crawl import open_facts, wait
from tests.facts.format_1 import PAGE, TWIN
from tests.query.test_sql import ask
from whimbrel.commit.committed import publish, read_committed
from whimbrel.durable_file import Disk
from whimbrel.facts.api import TABLES
from whimbrel.facts.identity import url_id
from whimbrel.facts.payload import arrow_table
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.sql import Query, QueryConfig

KEPT = Path(__file__).parents[1] / "data" / "crawl-0.1.tar.gz"


def in_a_tail(directory: Path) -> Snapshot:
    facts = open_facts(directory)
    facts.append(1, format_1.rows())
    facts.sync()
    facts.close()
    return Snapshot(directory, facts.lengths(), [])


def in_parquet(directory: Path) -> Snapshot:
    """As format 1 wrote it."""
    (directory / "facts").mkdir()
    names = []
    for table, rows in format_1.rows().items():
        names.append(f"facts/{table}-1.parquet")
        pq.write_table(arrow_table(table, rows), directory / names[-1], store_schema=False)
    return Snapshot(directory, {}, names)


def in_a_tail_that_was_converted_since(directory: Path) -> Snapshot:
    facts = open_facts(directory)
    facts.append(1, format_1.rows())
    facts.sync()
    facts.rotate()
    wait(facts)
    facts.rotate()
    facts.sync()
    facts.close()
    assert "facts/captures-1.parquet" in facts.parquet()
    return Snapshot(directory, facts.lengths(), facts.parquet())


@pytest.fixture(params=["out", "[odd]"])
def directory(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return tmp_path / str(request.param)


@pytest.mark.parametrize("made", [in_a_tail, in_parquet, in_a_tail_that_was_converted_since])
def test_old_rows_have_todays_columns_wherever_they_are(made: Callable[[Path], Snapshot], directory: Path) -> None:
    directory.mkdir()
    page, twin = url_id(PAGE), url_id(TWIN)
    with Query([made(directory)], QueryConfig()) as query:
        assert ask(query, "SELECT capture_id, id, url, outcome, via, duplicate_of_id FROM captures ORDER BY url") == [
            (twin, twin, TWIN, "duplicate", "fetch", page), (page, page, PAGE, "stored", "fetch", None),
        ]  # fmt: skip
        assert ask(query, "SELECT site, host, title, gone_at FROM pages WHERE checked_at IS NOT NULL ORDER BY 1") == [
            ("http://[::1]:8080", "[::1]", "two", None), ("https://a.test:443", "a.test", "one", None),
        ]  # fmt: skip
        assert ask(query, "SELECT p.url, h.host, h.queued FROM pages p JOIN hosts h USING (site) ORDER BY p.url") == [
            (TWIN, "[::1]", 1), (PAGE, "a.test", 4),
        ]  # fmt: skip
        assert ask(query, "SELECT p.url, l.target FROM links l JOIN pages p USING (capture_id)") == [(PAGE, TWIN)]
        assert ask(query, "SELECT p.title, h.version FROM handled h JOIN pages p USING (capture_id)") == [("one", "v1")]
        assert ask(query, "SELECT title FROM title") == [("one",)]
        assert ask(query, "SELECT title, _page, _capture_id, _version FROM title_history") == [
            ("one", PAGE, page, "v1"),
        ]  # fmt: skip
        for table, columns in TABLES.items():
            shown = {name for (name,) in ask(query, f"SELECT column_name FROM (DESCRIBE {table})")}  # noqa: S608
            assert shown == {name for name, _ in columns} | ({"site"} if table in ("captures", "fetches") else set())


def kept(tmp_path: Path) -> Path:
    subprocess.run(["tar", "-xf", str(KEPT), "-C", str(tmp_path)], check=True)  # Python knows `filter` from 3.11.4 on.
    return tmp_path / "crawl-0.1"


def test_every_command_reads_a_crawl_of_an_earlier_version(tmp_path: Path) -> None:
    directory = kept(tmp_path)
    opened = whimbrel.open(directory)
    (row, *_) = opened.sql(
        "SELECT p.url, p.title, octet_length(body(p.url)) AS n FROM pages p JOIN hosts USING (site)"
    ).dicts()
    assert row["n"] > 100
    page = opened.get(row["url"])
    assert page is not None
    assert len(page.body) == row["n"]
    assert len(list(opened.documents())) == 15
    for command in (("verify", directory), ("status", directory), ("get", directory, row["url"])):
        done = run(*map(str, command))
        assert done.code == 0, done.words
    assert "capture kept in archive/whimbrel-00001.warc.gz" in run("why", str(directory), row["url"]).words


def test_a_new_duplicate_finds_the_body_of_an_old_page(tmp_path: Path) -> None:
    directory = kept(tmp_path)
    old = (
        whimbrel.open(directory)
        .sql("SELECT * EXCLUDE (text, site) FROM captures ORDER BY fetched_at LIMIT 1")
        .dicts()[0]
    )
    committed = read_committed(directory)
    facts = ParquetFacts(directory, FactsConfig(), Disk())
    facts.cut(committed.number, committed.facts(), committed.parquet)
    blank = dict(zip((name for name, _ in TABLES["captures"]), sample.capture(1), strict=True))
    place = {"warc_file": old["warc_file"], "warc_offset": old["warc_offset"], "warc_length": old["warc_length"]}
    of = {"outcome": "duplicate", "duplicate_of": old["url"], "duplicate_of_id": url_id(old["url"])}
    new = {**blank, **place, **of, "url": "http://new.test/", "id": 2, "capture_id": 1}
    again = {**new, "url": "http://newer.test/", "id": 4, "capture_id": 3}
    own = {**new, "url": "http://own.test/", "id": 6, "capture_id": 5, "duplicate_of": "http://first.test/"}
    first = {**new, "url": "http://first.test/", "id": 8, "capture_id": 7, "duplicate_of": "", "duplicate_of_id": None}
    own["duplicate_of_id"] = 7
    rows = [tuple(row[name] for name, _ in TABLES["captures"]) for row in (new, again, own, first)]
    facts.append(committed.number + 1, {"captures": rows})
    facts.sync()
    files = {**committed.files, **facts.lengths()}
    listed = type(committed)(number=committed.number + 1, files=files, parquet=facts.parquet())
    facts.close()
    publish(directory, listed, Disk())
    opened = whimbrel.open(directory)
    ids = "SELECT url, duplicate_of_id FROM pages WHERE duplicate_of <> '' ORDER BY url"
    expected = [
        ("http://new.test/", url_id(old["url"])),
        ("http://newer.test/", url_id(old["url"])),
        ("http://own.test/", 7),
    ]
    assert list(opened.sql(ids)) == expected
    original = opened.get(old["url"])
    for url in ("http://new.test/", "http://own.test/"):
        found = opened.get(url)
        assert found is not None
        assert original is not None
        assert found.body == original.body
        assert list(opened.sql(f"SELECT body('{url}')")) == [(original.body,)]
    assert len(opened.sql("FROM pages")) == 19
