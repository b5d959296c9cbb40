"""Seeds from a database."""

import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pytest

import whimbrel
from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.job.database import seeds_from
from whimbrel.job.options import OptionError

PAGES = {"/robots.txt": (404, {}, ""), "/a": page(), "/b": page(), "/c": page()}


def sqlite(path: Path, urls: list[str | None]) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE urls (url TEXT, n INT)")
        connection.executemany("INSERT INTO urls VALUES (?, 1)", [(url,) for url in urls])
        connection.commit()
    return f"sqlite:////{path}"


def test_a_crawl_begins_with_what_a_database_says(tmp_path: Path) -> None:
    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}"
        database = sqlite(tmp_path / "it's.db", [f"{site}/a", None, f"{site}/b"])
        own = ("--delay", "0s", "--allow-network", "127.0.0.0/8")
        sql = "SELECT url FROM urls ORDER BY url"
        done = run("crawl", f"{site}/c", "--seeds-from", database, sql, "--into", str(tmp_path / "out"), *own)
        assert done.code == 0, done.words
        with duckdb.connect(tmp_path / "u.duckdb") as connection:
            connection.execute(f"CREATE TABLE t AS SELECT '{site}/a' AS u")
        asked = (f"duckdb:////{tmp_path / 'u.duckdb'}", "SELECT u FROM t")
        other = whimbrel.Crawl(seeds_from=asked, delay=0.0, allow_network=["127.0.0.0/8"]).run(tmp_path / "other")
    urls = [url for (url,) in whimbrel.open(tmp_path / "out").sql("SELECT url FROM pages ORDER BY url")]
    assert urls == [f"{site}/{name}" for name in "abc"]
    assert list(other.sql("SELECT url FROM pages")) == [(f"{site}/a",)]


def test_a_database_that_cannot_be_asked_is_told(tmp_path: Path) -> None:
    database = sqlite(tmp_path / "urls.db", ["http://a.test/"])
    cases = {
        ("mysql://x/y", "SELECT 1"): "begin it with one of sqlite://, duckdb://, postgresql://",
        ("urls.db", "SELECT 1"): "begin it with one of",
        (f"sqlite:////{tmp_path}/none.db", "SELECT 1"): "there is no file",
        (database, "SELECT nope FROM urls"): "no such column",
        (database, "SELECT n FROM urls"): "the first column must be text",
        (database, "DELETE FROM urls"): "readonly",
    }
    for (url, sql), said in cases.items():
        with pytest.raises(OptionError, match=said):
            seeds_from(url, sql)
    assert seeds_from(database, "SELECT url FROM urls") == ["http://a.test/"]


@contextmanager
def postgres(directory: Path) -> Iterator[str]:
    """A server of our own behind a socket in the directory; the URL of its database."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (package postgresql)")
    found = programs[-1].parent
    # It refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    directory.chmod(0o777)
    data, log = directory / "data", directory / "log"

    def call(program: str, *arguments: str) -> None:
        subprocess.run([found / program, *arguments], user=user, check=True, capture_output=True, cwd=directory)

    call("initdb", "-D", str(data), "-U", "crawler", "--auth=trust", "--no-sync")
    where = f"-c listen_addresses= -c unix_socket_directories={directory} -c fsync=off"
    call("pg_ctl", "-D", str(data), "-l", str(log), "-w", "-o", where, "start")
    try:
        yield f"postgresql://crawler@/postgres?host={directory}"
    finally:
        call("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")


def test_seeds_come_from_postgresql(tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    # A socket's path must be short, and the server's user must be able to reach it.
    with (
        tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as directory,
        postgres(Path(directory)) as database,
        psycopg.connect(database) as connection,
        served(PAGES) as port,
    ):
        site = f"http://127.0.0.1:{port}"
        connection.execute("CREATE TABLE urls (url TEXT, n INT)")
        connection.execute("CREATE SEQUENCE numbers")
        many = [(f"{site}/{'ab'[at % 2]}?{at}", at) for at in range(3_000)]
        connection.cursor().executemany("INSERT INTO urls VALUES (%s, %s)", many)
        connection.commit()
        asked = "SELECT url FROM urls ORDER BY n"
        assert seeds_from(database, asked) == [url for url, _ in many]
        own = ("--delay", "0s", "--allow-network", "127.0.0.0/8", "--scope", "page")
        few = f"{asked} LIMIT 2"
        done = run("crawl", "--seeds-from", database, few, "--into", str(tmp_path / "out"), *own)
        assert done.code == 0, done.words
        for writes in ("DELETE FROM urls RETURNING url", "SELECT setval('numbers', 7)::text"):
            with pytest.raises(OptionError, match=r"syntax error|read-only transaction"):
                seeds_from(database, writes)
    urls = [url for (url,) in whimbrel.open(tmp_path / "out").sql("SELECT url FROM fetches ORDER BY url")]
    assert urls == [url for url, _ in many[:2]]
