"""The questions of the cookbook can be asked."""

import re
from pathlib import Path

import pytest

import whimbrel
from tests.job.site import moved, page, served

COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook.md"
QUESTIONS = re.findall(
    r"^## (.+?)\n\n```sql\n(.+?)\n```\n\n\| (.+?) \|\n", COOKBOOK.read_text(), re.MULTILINE | re.DOTALL
)
PAGES = {"/robots.txt": (404, {}, ""), "/": page("/a", "/gone", "/moved"), "/a": page("/"), "/moved": moved("/a")}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> whimbrel.CrawlResult:
    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}/"
        return whimbrel.Crawl(site, delay=0.0, allow_network=["127.0.0.0/8"]).run(tmp_path_factory.mktemp("c") / "out")


def test_there_are_enough() -> None:
    assert len(QUESTIONS) >= 15


@pytest.mark.parametrize(("sql", "columns"), [(sql, columns) for _, sql, columns in QUESTIONS], ids=lambda _: "")
def test_every_question_is_answered_with_the_columns_shown(crawl: whimbrel.CrawlResult, sql: str, columns: str) -> None:
    assert crawl.sql(sql).columns == columns.split(" | ")
