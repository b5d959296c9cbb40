"""Answers, refusals and limits."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.facts import sample
from tests.facts.crawl import NOTHING, commit, commit_nothing, open_facts, wait
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.sql import Query, QueryConfig, QueryFailed, QueryRefused


def snapshot_in(directory: Path) -> Snapshot:
    """Commits 1 and 2 in Parquet, 3 in the tail."""
    facts = open_facts(directory)
    last = NOTHING
    for number in (1, 2, 3):
        facts.append(number, {"hosts": [sample.host(f"only-{number}", number)]})
        last = commit(facts, number)
        if number < 3:
            facts.rotate()
            wait(facts)
    facts.rotate()
    wait(facts)
    last = commit_nothing(facts, 4)
    facts.close()
    assert last.lengths
    assert last.parquet
    return Snapshot(directory, last.lengths, last.parquet)


def ask(query: Query, sql: str) -> list[tuple[object, ...]]:
    with query.run(sql) as answer:
        return [tuple(row.values()) for batch in answer for row in batch.to_pylist()]


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    with Query([snapshot_in(tmp_path_factory.mktemp("crawl"))], QueryConfig(time_limit_s=20)) as opened:
        yield opened


def test_parquet_and_tail_are_one_table(query: Query) -> None:
    assert ask(query, "SELECT id FROM pages ORDER BY id") == [(1,), (2,), (3,)]
    assert ask(query, "SELECT count(*), count(DISTINCT source) FROM links") == [(9, 3)]
    assert ask(query, "SELECT * FROM events UNION ALL BY NAME SELECT * FROM fetches") == []
    assert ask(query, "FROM pages SELECT year(fetched_at), typeof(fetched_at), typeof(id) LIMIT 1") == [
        (2023, "TIMESTAMP WITH TIME ZONE", "UBIGINT")
    ]


def test_hosts_shows_the_latest_row_of_each(query: Query) -> None:
    rows = ask(query, "SELECT host, fetched FROM hosts ORDER BY host")
    assert rows == [("a", 3), ("only-1", 1), ("only-2", 2), ("only-3", 3)]


@pytest.mark.parametrize("name", ["a=b", "it's", "what*[x]?", "[::1]-2026", "é ü", "{a,b}"])
def test_a_crawl_may_be_in_a_directory_of_any_name(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir()
    with Query([snapshot_in(directory)], QueryConfig()) as query:
        assert ask(query, "SELECT id FROM pages ORDER BY id") == [(1,), (2,), (3,)]
        assert ask(query, "SELECT count(*), max(fetched) FROM hosts") == [(4, 3)]
        assert "a" not in [row[0] for row in ask(query, "SELECT column_name FROM (DESCRIBE pages)")]


def test_an_empty_crawl_has_empty_tables(tmp_path: Path) -> None:
    with Query([Snapshot(tmp_path, {}, [])], QueryConfig()) as query:
        assert ask(query, "SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM hosts)") == [(0, 0)]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY pages TO '/tmp/stolen.csv'", "COPY (SELECT 1) TO '/tmp/stolen.csv'", "ATTACH '/tmp/other.db'",
        "INSTALL httpfs", "LOAD httpfs", "PRAGMA version", "PRAGMA database_list", "SET threads = 8",
        "RESET threads", "CREATE TABLE t (a INT)", "CREATE VIEW v AS SELECT 1", "CREATE MACRO m() AS 1",
        "INSERT INTO pages (id) VALUES (1)", "DELETE FROM pages", "UPDATE pages SET id = 1", "DROP VIEW pages",
        "SELECT 1; SELECT 2", "SELECT 1; COPY pages TO '/tmp/stolen.csv'", "EXPORT DATABASE '/tmp/stolen'",
        "CALL pragma_version()", "CHECKPOINT", "BEGIN", "PREPARE p AS SELECT 1", "EXPLAIN ANALYZE SELECT 1",
        "USE memory", "DETACH memory", "VACUUM", "", "-- nothing",
    ],
)  # fmt: skip
def test_all_but_one_select_is_refused(query: Query, sql: str) -> None:
    with pytest.raises(QueryRefused, match="one SELECT is answered"):
        ask(query, sql)


NO_ACCESS = "file system operations are disabled|does not exist"


@pytest.mark.parametrize(
    "call",
    [
        "read_csv('{other}')", "read_text('/etc/passwd')", "read_blob('/etc/passwd')", "glob('/etc/*')",
        "read_parquet('{other}')", "read_json('{other}')", "'{other}'", "read_text('{folder}/*')",
        "glob('{folder}/*')", "read_csv('http://127.0.0.1/x')", "read_parquet('s3://a/b')",
        "sniff_csv('/etc/passwd')", "parquet_metadata('{other}')", "read_text('{folder}/../secret.csv')",
        "read_text('/proc/self/environ')", "query('SELECT * FROM read_text(''/etc/passwd'')')",
    ],
)  # fmt: skip
def test_no_other_file_can_be_read(tmp_path: Path, call: str) -> None:
    other = tmp_path / "secret.csv"
    other.write_text("a\n1\n")
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    with Query([snapshot_in(crawl)], QueryConfig()) as query, pytest.raises(QueryFailed, match=NO_ACCESS):
        ask(query, "FROM " + call.format(other=other, folder=crawl / "facts"))


def test_a_select_cannot_write(query: Query) -> None:
    for sql in ("WITH x AS (INSERT INTO tail_pages (id) VALUES (9) RETURNING *) SELECT * FROM x", "SELECT 1 INTO t"):
        with pytest.raises(QueryFailed):
            ask(query, sql)


def test_variables_of_the_program_are_not_tables(query: Query) -> None:
    import pyarrow as pa

    secret = pa.table({"a": [1]})
    with pytest.raises(QueryFailed, match="secret"):
        ask(query, "SELECT * FROM secret")
    assert secret.num_rows == 1


def test_settings_and_limits_cannot_be_changed_by_a_select(query: Query) -> None:
    settings = {row[0]: row[1] for row in ask(query, "SELECT name, value FROM duckdb_settings()")}
    assert settings["enable_external_access"] == "false"
    assert settings["lock_configuration"] == "true"
    assert settings["threads"] == "1"


def test_mistakes_are_told(query: Query) -> None:
    with pytest.raises(QueryFailed, match="nonsense"):
        ask(query, "SELECT nonsense FROM pages")
    with pytest.raises(QueryFailed, match="syntax error"):
        ask(query, "SELEC 1")
    with pytest.raises(QueryFailed, match="Conversion"):
        ask(query, "SELECT CAST(url AS INT) FROM pages")


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


@pytest.mark.parametrize("sql", [ENDLESS, "SELECT i FROM range(1_000_000_000_000) t(i)"])
def test_endless_questions_hit_the_time_limit(tmp_path: Path, sql: str) -> None:
    begun = time.monotonic()
    with Query([Snapshot(tmp_path, {}, [])], QueryConfig(time_limit_s=0.3)) as query:
        with pytest.raises(QueryFailed, match=r"not answered within 0\.3 s"):
            ask_and_drop(query, sql)
        assert ask(query, "SELECT 1") == [(1,)]
    assert time.monotonic() - begun < 10


def ask_and_drop(query: Query, sql: str) -> None:
    with query.run(sql) as answer:
        for _ in answer:
            pass


def test_a_question_that_needs_too_much_memory_fails(tmp_path: Path) -> None:
    config = QueryConfig(memory_bytes=30_000_000, spill_bytes=1_000_000)
    with Query([Snapshot(tmp_path, {}, [])], config) as query, pytest.raises(QueryFailed, match="Out of Memory"):
        ask_and_drop(query, "SELECT list(repeat('x', 100) || i) FROM range(10_000_000) t(i)")


def test_an_answer_can_be_left_early(query: Query) -> None:
    with query.run("SELECT i FROM range(100_000_000) t(i)") as answer:
        assert next(iter(answer)).num_rows > 0
    assert ask(query, "SELECT 1") == [(1,)]
