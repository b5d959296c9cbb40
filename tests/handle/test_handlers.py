"""Handlers in whole crawls: items, links, filters, and everything that a handler may do wrong."""

import datetime as dt
import os
import resource
import signal
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

import whimbrel as w
from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.job.crawl import CrawlError

PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page("/a", "/b", "/secret/1", title="home"),
    "/a": page("/", "/b", title="first"),
    "/b": page("/c", title="second"),
    "/c": page(title="third"),
    "/secret/1": page("/secret/2"),
    "/hidden": page(title="hidden"),
    "/data": (200, {"Content-Type": "application/json"}, '{"n": 3}'),
}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served(PAGES) as port:
        yield f"http://127.0.0.1:{port}"


def new(site: str, **more: object) -> w.Crawl:
    return w.Crawl(site, delay=0.0, allow_network=["127.0.0.0/8"], **more)  # type: ignore[arg-type]


class Title(w.Item, key="url"):
    url: str
    title: str
    price: float | None = None
    tags: tuple[str, ...] = ()
    seen: dt.datetime | None = None
    more: dict[str, int] | None = None


def test_items_become_a_table(site: str, tmp_path: Path) -> None:
    crawl = new(site)

    @crawl.parse(mime="text/html")
    def title(one: w.Page) -> Iterator[Title]:
        at = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
        yield Title(one.url, one.title, price=1.5, tags=("x", "y"), seen=at, more={"n": 1})

    result = crawl.run(tmp_path / "out")
    rows = result.sql("SELECT * FROM title ORDER BY url")
    assert rows.columns == ["url", "title", "price", "tags", "seen", "more"]
    assert [row[1] for row in rows] == ["home", "first", "second", "third", "a page"]
    assert rows.dicts()[0] == {
        "url": f"{site}/",
        "title": "home",
        "price": 1.5,
        "tags": ["x", "y"],
        "seen": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "more": '{"n":1}',
    }
    runs = result.sql("SELECT outcome, handlers, items, error FROM handled")
    assert list(runs) == [("ok", "title", 1, "")] * 5
    assert result.sql("SELECT * FROM title_history").columns[-4:] == ["_page", "_capture_id", "_at", "_version"]


def test_of_items_with_one_key_the_last_counts(site: str, tmp_path: Path) -> None:
    class Host(w.Item, key=("name",)):
        name: str
        page: str

    class Word(w.Item, table="words"):
        word: str

    crawl = new(site)

    @crawl.parse()
    def both(one: w.Page) -> list[w.Item]:
        return [Host("same", "old"), Host("same", one.url), Word("a"), Word("a")]

    result = crawl.run(tmp_path / "out")
    assert len(result.sql("SELECT * FROM host")) == 1
    assert list(result.sql("SELECT page <> 'old' FROM host")) == [(True,)]
    assert len(result.sql("SELECT * FROM words")) == 10


def test_a_table_is_there_without_items_and_in_a_crawl_that_runs(site: str, tmp_path: Path) -> None:
    crawl = new(site)

    @crawl.parse(url="*/nowhere")
    def title(one: w.Page) -> Title:
        return Title(one.url, "never")

    assert len(crawl.run(tmp_path / "out").sql("SELECT * FROM title")) == 0


def test_links_of_handlers_are_followed(site: str, tmp_path: Path) -> None:
    crawl = new(site, follow="handlers")

    @crawl.parse(url=f"{site}/")
    def start(one: w.Page) -> Iterator[w.Link]:
        yield w.Link(f"{one.url}hidden")
        yield w.Link(one.css("a.none").href)
        yield w.Link(one.css("a").href, priority=1)

    result = crawl.run(tmp_path / "out")
    urls = [url.removeprefix(site) for (url,) in result.sql("SELECT url FROM fetches ORDER BY started_at")]
    assert urls == ["/", "/a", "/hidden"]
    assert list(result.sql("SELECT count(*) FROM links WHERE kind = 'handler'")) == [(2,)]


LED = {
    "/robots.txt": (404, {}, ""),
    "/t/start.html": page(title="start", head='<base href="/t/">'),
    "/t/help.html": page(title="help"),
    "/t/menu.html": page(title="menu"),
    "/t/data.json": (200, {"Content-Type": "application/json"}, '{"next": "more.json"}'),
    "/t/more.json": (200, {"Content-Type": "application/json"}, "{}"),
}


def test_links_of_handlers_are_relative_to_the_page_and_none_is_lost_silently(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import whimbrel as w\n\n"
        "@w.handler(url='*/start.html')\n"
        "def links(page):\n"
        "    other = page.url.removeprefix('http:').replace('start.html', 'data.json')\n"
        "    yield from map(w.Link, ['help.html', '/t/menu.html', other, '', None,\n"
        "        'mailto:me@a.test', 'javascript:void(0)', 'http://[junk', '/t/secret.html'])\n\n"
        "@w.handler(mime='application/json')\n"
        "def data(page):\n    yield w.Link(page.json().get('next'))\n\n"
        "@w.filter\ndef wanted(url):\n    return 'secret' not in url\n"
    )
    with served(LED) as port:
        site, out = f"http://127.0.0.1:{port}", str(tmp_path / "out")
        own = ("--delay", "0s", "--allow-network", "127.0.0.0/8", "--follow", "handlers", "--json")
        done = run("crawl", f"{site}/t/start.html", "--into", out, "--with", str(file), *own)
    assert done.code == 0, done.words
    assert done.json()["links_refused"] == {"scheme": 3, "filter": 1}
    rows = run("query", out, "SELECT url FROM pages ORDER BY 1", "--format", "json").json()
    found = [row["url"].removeprefix(f"{site}/t/") for row in rows]
    assert found == ["data.json", "help.html", "menu.html", "more.json", "start.html"]


def test_filters_keep_urls_out_and_one_that_raises_says_no(site: str, tmp_path: Path) -> None:
    crawl = new(site)

    @crawl.filter
    def wanted(url: str) -> bool:
        if url.endswith("/b"):
            raise ValueError("no b")
        return "secret" not in url

    result = crawl.run(tmp_path / "out")
    urls = {url.removeprefix(site) for (url,) in result.sql("SELECT url FROM fetches")}
    assert urls == {"/", "/a"}
    assert {reason: result.progress.refused[reason] for reason in ("filter", "filter-error")} == {
        "filter": 1,
        "filter-error": 2,
    }
    ((page_url, outcome, error),) = result.sql("SELECT url, outcome, error FROM handled")
    assert (page_url, outcome) == (f"{site}/", "filter-error")
    assert error.startswith(f"filter wanted: ValueError: no b\nThe link was {site}/b\nTraceback")


MISTAKES = {
    "raises": ("error", "ZeroDivisionError"),
    "wrong type": ("error", "Title.price: Expected `float | null`, got `str`"),
    "no item": ("error", "made an int; handlers yield or return items"),
    "exits": ("error", "SystemExit"),
    "loops": ("timeout", "not done within 1 s"),
    "dies": ("died", "the process that ran it died"),
    "eats": ("error", "MemoryError"),
    "recurses": ("error", "RecursionError"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_costs_its_own_page_and_is_told(site: str, tmp_path: Path, mistake: str) -> None:
    crawl = new(site, set={"handler-pool": {"time_limit_s": 1.0 if mistake == "loops" else 20.0}})

    @crawl.parse()
    def title(one: w.Page) -> Iterator[w.Item]:
        yield Title(one.url, one.title)
        if one.url.endswith("/b"):
            yield _mistaken(mistake, one)

    result = crawl.run(tmp_path / "out")
    outcome, said = MISTAKES[mistake]
    assert result.state == "done"
    assert list(result.sql("SELECT outcome, count(*) FROM fetches GROUP BY 1 ORDER BY 1")) == [
        ("gone", 1),
        ("stored", 5),
    ]
    assert {url.removeprefix(site) for (url,) in result.sql("SELECT url FROM title")} == {"/", "/a", "/c", "/secret/1"}
    ((url, found, error),) = result.sql("SELECT url, outcome, error FROM handled WHERE outcome <> 'ok'")
    assert (url, found) == (f"{site}/b", outcome)
    assert said in error


def _mistaken(mistake: str, one: w.Page) -> w.Item:
    match mistake:
        case "raises":
            return Title(one.url, str(1 / 0))
        case "wrong type":
            return Title(one.url, "x", price="dear")  # type: ignore[arg-type]
        case "no item":
            return 7  # type: ignore[return-value]
        case "exits":
            sys.exit(3)
        case "loops":
            while True:
                time.sleep(0.1)
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "eats":
            return Title(one.url, str(len([bytearray(50_000_000) for _ in range(1000)])))
        case "recurses":
            return _mistaken(mistake, one)
    raise AssertionError(mistake)


def test_a_worker_that_leaks_is_replaced_and_nothing_is_lost(site: str, tmp_path: Path) -> None:
    crawl = new(site)
    kept: list[bytearray] = []

    @crawl.parse()
    def title(one: w.Page) -> Title:
        kept.append(bytearray(os.urandom(1) * 400_000_000))
        return Title(one.url, str(len(kept)))

    result = crawl.run(tmp_path / "out")
    assert list(result.sql("SELECT outcome, count(*) FROM handled GROUP BY 1")) == [("ok", 5)]
    assert list(result.sql("SELECT count(*), max(title)::int < 5 FROM title")) == [(5, True)]


def test_what_is_printed_is_kept_and_reaches_no_terminal(
    site: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    crawl = new(site)

    @crawl.parse(url="*/a")
    def noisy(one: w.Page) -> None:
        print("hello", one.url)  # noqa: T201
        print("trouble", file=sys.stderr)  # noqa: T201
        os.write(1, b"raw")
        print("x" * 10_000)  # noqa: T201

    result = crawl.run(tmp_path / "out")
    ((printed,),) = result.sql("SELECT printed FROM handled")
    assert printed.startswith(f"hello {site}/a\ntrouble\nxxx")
    assert len(printed) == 4_000
    out, err = capfd.readouterr()
    assert "hello" not in out + err
    assert "raw" not in out


def test_handlers_of_a_file_on_the_command_line(site: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import whimbrel as w\n\n"
        "with open(__file__ + '.loads', 'a') as loads:\n    loads.write('once\\n')\n\n"
        "class Heading(w.Item, key='url'):\n    url: str\n    words: int\n\n"
        "@w.handler(mime='text/html')\n"
        "def heading(page):\n    yield Heading(page.url, len(page.title.split()))\n\n"
        "@w.filter\ndef wanted(url):\n    return 'secret' not in url\n"
    )
    out = str(tmp_path / "out")
    own = ("--delay", "0s", "--allow-network", "127.0.0.0/8")
    assert run("crawl", site, "--into", out, "--with", str(file), "--max-pages", "2", *own).code == 0
    loads = Path(f"{file}.loads")
    loads.unlink()
    done = run("resume", out, "--max-pages", "100")
    assert done.code == 0, done.words
    assert loads.read_text() == "once\n", "the user's files are executed once, also to compare with the kept job"
    answer = run("query", out, "SELECT count(*) AS n, sum(words) AS words FROM heading", "--format", "json").json()
    assert answer == [{"n": 4, "words": 4}]
    assert run("query", out, "SELECT DISTINCT outcome FROM handled", "--format", "json").json() == [{"outcome": "ok"}]
    broken = tmp_path / "broken.py"
    broken.write_text("import whimbrel as w\n\nclass Pages(w.Item):\n    url: str\n")
    refused = run("crawl", site, "--into", str(tmp_path / "no"), "--with", str(broken), *own)
    assert refused.code == 2
    assert "'pages' cannot be a table" in refused.words


def test_what_workers_compute_is_counted_as_the_program_s(site: str, tmp_path: Path) -> None:
    """Else `time` and every comparison with other crawlers would flatter us."""
    file = tmp_path / "busy.py"
    file.write_text(
        "import time\nimport whimbrel as w\n\n"
        "@w.handler(url='*/')\ndef busy(page):\n    while time.process_time() < 1.5:\n        pass\n"
    )
    before = _children_s()
    arguments = ("--with", str(file), "--scope", "page", "--allow-network", "127.0.0.0/8", "--delay", "0s")
    run("crawl", site, "--into", str(tmp_path / "out"), *arguments)
    assert _children_s() - before > 1.4


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_program_s_crawl_is_not_resumed_without_its_handlers(site: str, tmp_path: Path) -> None:
    crawl = new(site, max_pages=2)

    @crawl.parse()
    def title(one: w.Page) -> Title:
        return Title(one.url, one.title)

    assert crawl.run(tmp_path / "out").state == "stopped"
    refused = run("resume", str(tmp_path / "out"), "--max-pages", "100")
    assert refused.code == 2
    assert "handlers (title)" in refused.words
    with pytest.raises(CrawlError, match="handlers"):
        new(site, max_pages=100).run(tmp_path / "out", resume=True)


def test_a_handler_needs_no_parentheses(site: str, tmp_path: Path) -> None:
    crawl = new(site)

    @crawl.parse
    def title(one: w.Page) -> Title:
        return Title(one.url, one.title)

    assert len(crawl.run(tmp_path / "out").sql("SELECT * FROM title")) == 5
    file = tmp_path / "mine.py"
    file.write_text(
        "import whimbrel as w\n\nclass Heading(w.Item, key='url'):\n    url: str\n\n"
        "@w.handler\ndef heading(page):\n    yield Heading(page.url)\n"
    )
    assert run("reparse", str(tmp_path / "out"), "--with", str(file), "--json").json()["items"] == 5


@pytest.mark.parametrize("head", ["async def heading(page):\n    return", "async def heading(page):\n    yield"])
def test_an_async_handler_is_refused_with_the_reason(tmp_path: Path, head: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"import whimbrel as w\n\n@w.handler()\n{head} None\n")
    refused = run("crawl", "http://a.test", "--into", str(tmp_path / "out"), "--with", str(file))
    assert refused.code == 2
    assert "heading is an async function; handlers are plain ones" in refused.words
    with pytest.raises(TypeError, match="is an async function; filters are plain ones"):

        @w.filter  # type: ignore[arg-type]
        async def wanted(_: str) -> bool:
            return False


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"a": 1}, "wrong returned a dict; handlers yield or return items"), (5, "wrong returned an int; handlers"),
        ("text", "wrong returned a str; handlers"), ([{"a": 1}], "wrong made a dict; handlers"),
        ("generator", "wrong yields, and returned a dict at its end"),
    ],
)  # fmt: skip
def test_what_a_handler_returns_by_mistake_is_told(site: str, tmp_path: Path, result: object, said: str) -> None:
    crawl = new(site, scope="page")

    @crawl.parse
    def wrong(one: w.Page) -> object:
        return _returning(one) if result == "generator" else result

    assert said in crawl.run(tmp_path / "out").failures[0]


def _returning(one: w.Page) -> Generator[Title, None, dict[str, int]]:
    yield Title(one.url, one.title)
    return {"a": 1}


def test_item_classes_are_checked_when_they_are_defined() -> None:
    with pytest.raises(TypeError, match="the key 'nope' is no field"):

        class Keyed(w.Item, key="nope"):
            url: str

    with pytest.raises(TypeError, match="must not begin with an underscore"):

        class Hidden(w.Item):
            _url: str
