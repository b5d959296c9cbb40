"""Handlers over an archive."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import whimbrel as w
from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.commit.committed import read_committed
from whimbrel.query.sql import QueryFailed

LONG = "words and words " * 100
TWIN = (200, {"Content-Type": "text/html"}, f"<title>twin</title><p>{LONG}</p>")
PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page("/twin", "/other", *(f"/{number}" for number in range(20)), title="home"),
    "/twin": TWIN,
    "/other": TWIN,
    **{f"/{number}": page("/", title=f"page {number}") for number in range(20)},
}


class Title(w.Item, key="url"):
    url: str
    title: str


def titles(one: w.Page) -> Iterator[Title]:
    yield Title(one.url, one.title)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    directory = tmp_path_factory.mktemp("again") / "out"
    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}"
        crawl = w.Crawl(site, delay=0.0, allow_network=["127.0.0.0/8"])
        crawl.parse()(titles)
        assert crawl.run(directory).state == "done"
        yield directory, site


def test_the_same_handlers_make_the_same_items_again(crawled: tuple[Path, str]) -> None:
    directory, _ = crawled
    before = list(w.open(directory).sql("SELECT * FROM title ORDER BY url"))
    assert len(before) == 23
    crawl = w.Crawl()
    crawl.parse()(titles)
    found = crawl.reparse(directory)
    assert (found.pages, found.items, found.failed) == (23, 23, 0)
    opened = w.open(directory)
    assert list(opened.sql("SELECT * FROM title ORDER BY url")) == before
    assert list(opened.sql("SELECT count(*) FROM title_history")) == [(46,)]
    assert list(opened.sql("SELECT actor, action FROM events WHERE actor = 'reparse'")) == [("reparse", "done")]
    assert run("verify", str(directory)).code == 0
    assert run("status", str(directory), "--json").json()["state"] == "done"


def test_a_crawl_that_was_done_is_done_also_when_reparse_has_made_several_commits(crawled: tuple[Path, str]) -> None:
    directory, _ = crawled
    before = read_committed(directory).number

    def slow(one: w.Page) -> Iterator[Title]:
        while one.title == "page 19" and read_committed(directory).number == before:
            pass
        yield Title(one.url, one.title)

    crawl = w.Crawl()
    crawl.parse()(slow)
    assert crawl.reparse(directory, processes=2).failed == 0
    assert read_committed(directory).number > before + 1
    assert read_committed(directory).state == "done"


def test_a_new_version_takes_the_place_of_the_old(crawled: tuple[Path, str], tmp_path: Path) -> None:
    directory, site = crawled
    file = tmp_path / "mine.py"
    file.write_text(
        "import whimbrel as w\n\n"
        "class Title(w.Item, key='url'):\n    url: str\n    title: str\n    length: int\n\n"
        "@w.handler(mime='text/html')\n"
        "def titles(page):\n"
        "    if page.url.endswith('/3'):\n        raise ValueError('three')\n"
        "    if not page.url.endswith('/4'):\n        yield Title(page.url, page.title.upper(), len(page.body))\n"
    )
    done = run("reparse", str(directory), "--with", str(file), "--json")
    assert done.code == 0, done.words
    assert {key: done.json()[key] for key in ("pages", "items", "failed")} == {"pages": 23, "items": 21, "failed": 1}
    ask = w.open(directory).sql
    rows = {
        url.removeprefix(site): (title, length is not None)
        for url, title, length in ask("SELECT url, title, length FROM title")
    }
    assert rows["/5"] == ("PAGE 5", True)
    assert rows["/twin"] == rows["/other"] == ("TWIN", True)
    assert rows["/3"] == ("page 3", False), "the handler failed there: the earlier item stays"
    assert "/4" not in rows
    assert len(list(ask("SELECT DISTINCT _version FROM title_history"))) >= 2
    some = run("reparse", str(directory), "--with", str(file), "--where", f"page.url = '{site}/5'", "--json")
    assert some.json()["pages"] == 1
    wrong = run("reparse", str(directory), "--with", str(file), "--where", "nonsense")
    assert wrong.code == 2
    assert "nonsense" in wrong.words


def test_a_crawl_that_cannot_be_reparsed_says_why(crawled: tuple[Path, str], tmp_path: Path) -> None:
    directory, _ = crawled
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert "no handler in" in run("reparse", str(directory), "--with", str(empty)).words
    crawl = w.Crawl()
    crawl.parse()(titles)
    with pytest.raises(QueryFailed):
        crawl.reparse(directory, where="nonsense = 1")
    assert run("verify", str(directory)).code == 0


def test_a_new_project_works_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with served(PAGES) as port:
        assert run("new", "shop").code == 0
        monkeypatch.chdir(tmp_path / "shop")
        job = Path("job.toml")
        job.write_text(job.read_text().replace("https://example.org/", f"http://127.0.0.1:{port}/"))
        done = run("crawl", "--job", "job.toml", "--into", "out", "--delay", "0s", "--allow-network", "127.0.0.0/8")
        assert done.code == 0, done.words
    assert len(w.open("out").sql("SELECT * FROM article")) == 23
    assert run("new", "../shop").code == 2
    assert run("new", "a b").code == 2


CLASSES = {"Name": "page.title", "Size": "str(len(page.html))"}


def code(tmp_path: Path, kind: str, value: str = "", when: str = "True") -> str:
    file = tmp_path / f"{kind}.py"
    file.write_text(
        f"import whimbrel as w\n\nclass {kind}(w.Item, key='url'):\n    url: str\n    value: str\n\n"
        f"@w.handler()\ndef make(page):\n    if {when}:\n        yield {kind}(page.url, {value or CLASSES[kind]})\n"
    )
    return str(file)


def test_other_or_broken_code_leaves_the_items_of_earlier_code_alone(tmp_path: Path) -> None:
    out = str(tmp_path / "out")

    def counted(table: str) -> int:
        return len(run("query", out, f"FROM {table}", "--format", "json").json())

    with served(PAGES) as port:
        own = ("--delay", "0s", "--allow-network", "127.0.0.0/8")
        run("crawl", f"http://127.0.0.1:{port}", "--into", out, "--with", code(tmp_path, "Name"), *own)
    assert counted("name") == 23
    assert run("reparse", out, "--with", code(tmp_path, "Size")).code == 0
    assert (counted("name"), counted("size")) == (23, 23), "the code of the second file knows no class Name"
    failed = run("reparse", out, "--with", code(tmp_path, "Name", "page.titel"))
    assert failed.code == 1
    assert "Handlers failed on 23 of 23 pages, whose earlier items stay" in failed.words
    assert "AttributeError: 'Page' object has no attribute 'titel' (23 pages)" in failed.words
    assert counted("name") == 23
    half = run("reparse", out, "--with", code(tmp_path, "Name", "str(1 / (page.title != 'twin'))"))
    assert half.code == 0
    assert "ZeroDivisionError: division by zero (2 pages)" in half.words
    rows = run("query", out, "SELECT DISTINCT value FROM name ORDER BY 1", "--format", "json").json()
    assert [row["value"] for row in rows] == ["1.0", "twin"]
    assert run("reparse", out, "--with", code(tmp_path, "Name", when="page.url.endswith('/7')")).code == 0
    assert counted("name") == 1, "code that has the class and makes fewer of it takes the others away"
    assert run("reparse", out, "--with", code(tmp_path, "Name", when="False")).code == 0
    assert (counted("name"), counted("size")) == (0, 23)
    assert counted("name_history") == 23 + 21 + 1
    assert run("verify", out).code == 0
