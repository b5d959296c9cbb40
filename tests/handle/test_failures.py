"""Handlers and filters that fail are told of wherever a user looks."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import whimbrel as w
from tests.cli.command import run
from tests.handle.test_handlers import PAGES, new
from tests.job.site import served
from whimbrel.cli.display import one_line
from whimbrel.job.progress import Progress

OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8")
ITEM = "import whimbrel as w\n\nclass Name(w.Item, key='url'):\n    url: str\n    name: str\n\n"
GOOD = ITEM + "@w.handler()\ndef name(page):\n    yield Name(page.url, page.title)\n"
BROKEN = ITEM + "@w.handler()\ndef name(page):\n    yield Name(page.url, page.titel)\n"
HALF = ITEM + "@w.handler()\ndef name(page):\n    yield Name(page.url, 1 / ('b' not in page.url) and page.title)\n"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served(PAGES) as port:
        yield f"http://127.0.0.1:{port}"


def written(tmp_path: Path, code: str) -> str:
    file = tmp_path / "mine.py"
    file.write_text(code)
    return str(file)


def test_a_crawl_on_whose_pages_all_handlers_fail_says_so_and_ends_with_1(site: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    done = run("crawl", site, "--into", out, "--with", written(tmp_path, BROKEN), *OWN)
    assert done.code == 1
    assert "Handlers failed on 5 of 5 pages" in done.words
    assert "AttributeError: 'Page' object has no attribute 'titel'" in done.words
    assert "most recent call last" not in done.words
    (shown,) = re.findall(r'whimbrel query \S+ "select url[^"]*"', done.words)
    rest = run(*shlex.split(shown)[1:], "--format", "json").json()
    assert len(rest) == 5
    assert "in name\n    yield Name(page.url, page.titel)" in rest[0]["error"]
    status = run("status", out)
    assert "handlers error 5" in status.words


def test_a_crawl_on_some_of_whose_pages_handlers_fail_says_so(site: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    done = run("crawl", site, "--into", out, "--with", written(tmp_path, HALF), *OWN)
    assert done.code == 0
    assert "Handlers failed on 1 of 5 pages" in done.words
    assert "ZeroDivisionError: division by zero (1 page)" in done.words
    out = str(tmp_path / "json")
    summary = run("crawl", site, "--into", out, "--with", written(tmp_path, HALF), "--json", *OWN).json()
    assert summary["handled"] == {"ok": 4, "error": 1}
    assert summary["handler_failures"] == {"ZeroDivisionError: division by zero": 1}


def test_a_resumed_crawl_tells_of_its_own_failures_alone(site: str, tmp_path: Path) -> None:
    out, file = str(tmp_path / "out"), written(tmp_path, BROKEN)
    stopped = run("crawl", site, "--into", out, "--with", file, "--max-pages", "2", *OWN)
    assert stopped.code == 1
    assert "Handlers failed on 2 of 2 pages" in stopped.words
    written(tmp_path, HALF)
    done = run("resume", out, "--max-pages", "100", "--with", file)
    assert done.code == 0
    assert "AttributeError" not in done.words


def test_the_result_of_a_crawl_from_python_has_its_failures(site: str, tmp_path: Path) -> None:
    crawl = new(site)

    @crawl.parse()
    def mistaken(one: w.Page) -> None:
        raise KeyError(one.title[:0])

    result = crawl.run(tmp_path / "out")
    assert result.handled == {"error": 5}
    assert result.failures == ["on 5 pages: KeyError: ''"]


def test_the_result_has_the_failures_of_filters(site: str, tmp_path: Path) -> None:
    crawl = new(site)

    @crawl.filter
    def wanted(_: str) -> bool:
        raise KeyError("k")

    result = crawl.run(tmp_path / "out")
    assert result.handled == {}
    assert result.failures == ["on 1 page: filter wanted: KeyError: 'k'"]


def test_a_filter_that_fails_is_told_of_with_its_error(site: str, tmp_path: Path) -> None:
    code = "import whimbrel as w\n\n@w.filter\ndef wanted(url):\n    return 'secret' not in ur1\n"
    done = run("crawl", site, "--into", str(tmp_path / "out"), "--with", written(tmp_path, code), *OWN)
    assert "A filter failed on 3 links, which are not followed" in done.words
    assert "NameError: name 'ur1' is not defined" in done.words


def test_progress_says_on_how_many_pages_handlers_failed() -> None:
    assert "handlers failed on 3 of 7 pages" in one_line(Progress(handled={"ok": 4, "error": 2, "timeout": 1}))
    assert "handlers" not in one_line(Progress(handled={"ok": 4, "filter-error": 1}))
