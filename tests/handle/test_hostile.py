"""Handlers that do their worst: each costs its own page, and says what it did wherever that can be known."""

import asyncio
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop

import whimbrel as w
from tests.contract.test_worker_pool import children, descriptors
from tests.control.rig import crawling
from tests.handle.test_handlers import PAGES, Title, new
from tests.job.site import served
from whimbrel.handle.handler_pool import HandlerPool, HandlerPoolConfig, HandlerPoolLost
from whimbrel.handle.message import HandlerResult, HandlerTask
from whimbrel.handle.page import RawPage
from whimbrel.handle.rule import HandlerRules
from whimbrel.handle.runner import handler_code
from whimbrel.simweb.spec import WebSpec

FILTERED = "https://a.test/filtered"


def handled(hostile: Callable[[w.Page], Any], time_limit_s: float = 30.0) -> list[HandlerResult]:
    """What becomes of three pages, of which the second meets a hostile handler."""
    rules = HandlerRules()

    def both(page: w.Page) -> Iterator[Any]:
        yield Title(page.url, "fine")
        if page.url.endswith("1"):
            yield from hostile(page) or ()

    rules.add([w.handler()(both), w.filter(lambda url: url != FILTERED)])
    with handler_code(rules) as code:
        return uvloop.run(_results(code, time_limit_s))


async def _results(code: Any, time_limit_s: float) -> list[HandlerResult]:
    pool = HandlerPool(HandlerPoolConfig(time_limit_s=time_limit_s))
    pool.bind("code", code)
    await pool.open()
    found: dict[int, HandlerResult] = {}
    every = asyncio.Event()

    def take(number: int, result: HandlerResult) -> None:
        assert number not in found
        found[number] = result
        if len(found) == 3:
            every.set()

    for number in range(3):
        raw = RawPage(f"https://a.test/{number}", 200, {}, b"<p>x", "text/html")
        pool.submit(HandlerTask(raw, links=(FILTERED, "https://a.test/good")), partial(take, number))
    async with asyncio.timeout(60):
        await every.wait()
    await pool.close()
    return [found[number] for number in range(3)]


class Unspeakable(BaseException):
    def __str__(self) -> str:
        raise Unspeakable

    __repr__ = __str__


class Deadly(Exception):
    def __str__(self) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""


class Number(w.Item):
    value: int


def _raise(error: BaseException) -> Callable[[w.Page], Any]:
    def hostile(_: w.Page) -> Any:
        raise error

    return hostile


def _print_much(page: w.Page) -> None:
    for _ in range(10_000):
        print("x" * 100_000)  # noqa: T201


def _print_at_once(_: w.Page) -> None:
    print("x" * 2_000_000_000)  # noqa: T201


def _make_too_large(page: w.Page) -> list[Title]:
    # msgspec crashes where it finds no memory to encode into; pytest would tell of it at length.
    faulthandler.disable()
    return [Title(page.url, "x" * 600_000_000)]


def _spoil_output(_: w.Page) -> None:
    sys.stdout = sys.stderr = None


def _close_all(_: w.Page) -> None:
    os.closerange(0, 1_000)


def _fork_and_return(_: w.Page) -> None:
    os.fork()


def _exit(_: w.Page) -> None:
    os._exit(0)


def _stop(_: w.Page) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


HOSTILE: dict[str, tuple[Callable[[w.Page], Any], str, str]] = {
    "exits": (_exit, "died", "the process that ran it died"),
    "closes everything": (_close_all, "died", "the process that ran it died"),
    "stops itself": (_stop, "timeout", "not done within 2 s"),
    "forks and goes on twice": (_fork_and_return, "ok", ""),
    "prints a gigabyte": (_print_much, "ok", ""),
    "prints two at once": (_print_at_once, "error", "MemoryError"),
    "spoils the output": (_spoil_output, "ok", ""),
    "raises what has no text": (_raise(Unspeakable()), "error", "Unspeakable"),
    "raises what kills whoever reads it": (_raise(Deadly()), "died", "the process that ran it died"),
    "raises half of a pair": (_raise(ValueError("\ud800")), "error", "ValueError: ?"),
    "prints half of a pair": (lambda _: print("\ud800"), "ok", ""),  # noqa: T201
    "makes half of a pair": (lambda _: [Title("u", "\ud800")], "error", "cannot be kept: UnicodeEncodeError"),
    "makes a number that is too large": (lambda _: [Number(1 << 70)], "error", "does not fit into 64 bits"),
    "makes a link of a number": (lambda _: [w.Link(5)], "error", "a link has a URL as text"),  # type: ignore[arg-type]
    "makes a link of an element": (lambda page: [w.Link(page.css("p"))], "error", "a link has a URL as text"),  # type: ignore[arg-type]
    "makes a link of no order": (
        lambda _: [w.Link("https://a.test/x", priority="high")],  # type: ignore[arg-type]
        "error",
        "a whole number as its priority",
    ),
    "makes too much": (lambda _: [Title(str(one), "x" * 1_000_000) for one in range(2_000)], "error", "MemoryError"),
    "makes one thing that is too large": (_make_too_large, "died", "used too much memory"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_handler_costs_its_own_page(what: str) -> None:
    hostile, outcome, error = HOSTILE[what]
    before = children()
    first, second, third = handled(hostile, 2.0 if outcome == "timeout" else 30.0)
    assert (first.outcome, third.outcome) == ("ok", "ok")
    assert (len(first.items), len(third.items)) == (1, 1)
    assert second.outcome == outcome
    assert error in second.error
    if outcome != "ok":
        assert (second.items, second.links) == ([], [])
    # Nothing that a handler does lets a URL pass that a filter refuses.
    assert all(FILTERED in (*one.refused, *one.filter_failed) for one in (first, second, third))
    assert children() == before


def test_what_is_printed_is_kept_up_to_its_bound() -> None:
    _, second, _ = handled(_print_much)
    assert second.printed == "x" * 4_000


def test_a_crawl_whose_fork_server_is_killed_ends_with_an_error_and_goes_on_later(tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def title(page: w.Page) -> Title:
        if page.url.endswith("/b") and not marker.exists():
            marker.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return Title(page.url, page.title)

    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}"

        def crawl() -> w.Crawl:
            found = new(site)
            found.parse()(title)
            return found

        failed = crawl().run(tmp_path / "out")
        assert failed.state == "failed"
        assert "handlers cannot run any more: the process that forks workers has died" in failed.failures[0]
        done = crawl().run(tmp_path / "out", resume=True)
        assert done.state == "done"
        assert list(done.sql("SELECT outcome, count(*) FROM handled GROUP BY 1")) == [("ok", 5)]
        assert list(done.sql("SELECT count(*), count(DISTINCT url) FROM title")) == [(5, 5)]


def test_reparse_whose_fork_server_is_killed_says_so_and_can_be_begun_again(tmp_path: Path) -> None:
    with served(PAGES) as port:
        new(f"http://127.0.0.1:{port}").run(tmp_path / "out")
    killer, good = new("https://a.test/"), new("https://a.test/")

    @killer.parse()
    def kills(_: w.Page) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()

    @good.parse()
    def title(page: w.Page) -> Title:
        return Title(page.url, page.title)

    before, found = descriptors(), children()
    with pytest.raises(HandlerPoolLost, match="forks workers has died"):
        killer.reparse(tmp_path / "out")
    assert children() == found
    assert good.reparse(tmp_path / "out").pages == 5
    assert descriptors() == before


def test_settings_change_while_handlers_run(tmp_path: Path) -> None:
    """The code stays that of the first moment; workers with other settings take the place of the first."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import whimbrel as w\n\n"
        "class Seen(w.Item, key='url'):\n    url: str\n\n"
        "@w.handler()\ndef seen(page):\n    yield Seen(page.url)\n"
    )
    spec = WebSpec(hosts=3, pages=20, latency_ms=20, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "2", "--with", str(file)) as crawl:
        crawl.control.set({"max_depth": 15})
        crawl.control.set({"handler-pool.time_limit_s": 9.0, "handler-pool.processes": 2})
        assert crawl.control.config().options["set"]["handler-pool"] == {"time_limit_s": 9.0, "processes": 2}
        crawl.wait()
    data = w.open(crawl.directory)
    assert list(data.sql("SELECT DISTINCT outcome FROM handled")) == [("ok",)]
    assert list(data.sql("SELECT count(*) > 20, count(*) = (SELECT count(*) FROM handled) FROM seen")) == [(True, True)]
