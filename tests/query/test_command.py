"""`whimbrel query`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import whimbrel
from tests.cli.command import run as run_command
from tests.facts import sample
from tests.facts.crawl import commit_nothing, open_facts
from tests.job.site import page, served
from tests.query.test_snapshot import publish_in


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    facts = open_facts(tmp_path)
    facts.append(1, {"captures": [sample.capture(1), sample.capture(2)]})
    publish_in(tmp_path, commit_nothing(facts, 1))
    facts.close()
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    done = run_command("query", *arguments)
    return done.code, done.out, done.err


def test_the_command_answers(crawl: Path) -> None:
    code, out, _ = run(str(crawl), "SELECT id, url FROM pages ORDER BY id", "--format", "csv")
    assert (code, out.splitlines()) == (0, ["id,url", "1,https://a.example/1", "2,https://a.example/2"])
    assert "https://a.example/2" in run(str(crawl), "SELECT url FROM pages")[1]
    assert json.loads(run(str(crawl), "SELECT count(*) AS n FROM pages", "--format", "json")[1]) == [{"n": 2}]


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("DROP VIEW pages", 2, "one SELECT is answered"),
        ("SELECT nonsense", 1, "nonsense"),
        ("SELECT count(*) FROM range(1000000000000)", 1, "not answered within 0.2 s"),
    ],
)
def test_the_command_says_why_there_is_no_answer(crawl: Path, sql: str, code: int, said: str) -> None:
    ended, _, errors = run(str(crawl), sql, "--max-time", "0.2s")
    assert ended == code
    assert said in errors


def test_show_tables_lists_what_can_be_asked_for_and_nothing_else(crawl: Path) -> None:
    for sql in ("show tables", " SHOW  TABLES; "):
        code, out, _ = run(str(crawl), sql, "--format", "csv")
        wanted = "captures events fetches handled hosts links links_history near_duplicates pages"
        assert (code, out.split()) == (0, ["name", *wanted.split()])


def test_a_table_that_there_is_not_is_told_with_those_that_there_are(crawl: Path) -> None:
    code, _, errors = run(str(crawl), "select * from nosuch")
    assert code == 1
    assert "there is no table 'nosuch'; the tables are: captures, events, fetches," in errors
    assert "_rows" not in errors
    assert "did you mean 'pages'?" in run(str(crawl), "select count(*) from page")[2]


def test_rows_that_are_too_wide_for_a_table_are_shown_one_below_the_other(crawl: Path) -> None:
    code, out, _ = run(str(crawl), "select * from pages order by url")
    lines = out.splitlines()
    assert code == 0
    assert [line.split() for line in lines if line.split()[:1] == ["url"]] == [
        ["url", "https://a.example/1"],
        ["url", "https://a.example/2"],
    ]
    assert sum(line.startswith("row ") for line in lines) == 2
    assert "│ https://a.example/1 │" in run(str(crawl), "select id, url, status, outcome from pages")[1]


def test_pages_and_hosts_join_by_host_and_by_site(tmp_path: Path) -> None:
    with served({"/": page("/a"), "/a": page()}) as port:
        out = tmp_path / "out"
        done = run_command("crawl", f"http://127.0.0.1:{port}/", "--into", str(out), "--delay", "0s")
    assert done.code == 0, done.words
    for column in ("host", "site"):
        sql = f"select url, queued from pages join hosts using ({column}) order by url"  # noqa: S608
        code, answer, _ = run(str(out), sql, "--format", "csv")
        assert (code, answer.split()[1:]) == (0, [f"http://127.0.0.1:{port}/,0", f"http://127.0.0.1:{port}/a,0"])


def test_json_lines_are_one_object_per_line(crawl: Path) -> None:
    code, out, _ = run(str(crawl), "select id, url from pages order by id", "--format", "jsonl")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": 1, "url": "https://a.example/1"},
        {"id": 2, "url": "https://a.example/2"},
    ]
    rows = whimbrel.open(crawl).sql("select id from pages order by id")
    rows.write(crawl / "answer.jsonl")
    assert (crawl / "answer.jsonl").read_text().split() == ['{"id":1}', '{"id":2}']


def test_the_command_wants_crawls(tmp_path: Path) -> None:
    code, _, errors = run(str(tmp_path), "SELECT 1")
    assert code == 2
    assert "holds no crawl" in errors


def test_several_crawls_are_told_apart(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("another")
    facts = open_facts(other)
    facts.append(1, {"captures": [sample.capture(2), sample.capture(3)]})
    publish_in(other, commit_nothing(facts, 1))
    facts.close()
    sql = "SELECT id, string_agg(crawl, ' ' ORDER BY crawl) AS crawls FROM pages GROUP BY id ORDER BY id"
    code, out, _ = run(str(crawl), str(other), sql, "--format", "csv")
    names = sorted((crawl.name, other.name))
    assert (code, out.splitlines()) == (0, ["id,crawls", f"1,{crawl.name}", f"2,{' '.join(names)}", f"3,{other.name}"])
    code, out, _ = run(str(crawl), str(crawl), "SELECT count(DISTINCT crawl) AS n, count(*) AS rows FROM pages")
    assert code == 0


def test_the_facts_are_opened_without_loading_pyarrow() -> None:
    program = """
import sys, whimbrel.facts.store, whimbrel.query.format, whimbrel.facts.links
sys.exit("pyarrow" in sys.modules or "duckdb" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
