"""`whimbrel query`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import run as run_command
from tests.facts import sample
from tests.facts.crawl import commit_nothing, open_facts
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
