"""Caches in the face of entries of hostile sizes: what they really hold stays within their budgets in bytes."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable

import pytest

from tests.frontier.rig import Rig, quick_directory
from whimbrel.cache import ByteCache
from whimbrel.commit.counters import Counters
from whimbrel.dedupe import rocks
from whimbrel.dedupe.api import FirstCapture
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.effect.counting import Counting
from whimbrel.facts.identity import UrlIds
from whimbrel.frontier import host
from whimbrel.frontier.option import FrontierConfig
from whimbrel.parse import charset, dispatch
from whimbrel.parse.api import Links, PageLink, ParsedPage
from whimbrel.qualify.api import Qualification
from whimbrel.route.router import Router, RouterConfig
from whimbrel.state.memory import MemoryState
from whimbrel.url import Domains, domain, parse, restore
from whimbrel.url.join import Joined, Joiner
from whimbrel.visit import Discovered, Request, Visit

SHORT, LONG = 8, 16_000
"""Characters. Short entries cost more for being entries than for what they say."""
BUDGET = 400_000
MOST_FED = 8_000_000
"""Characters that a cache is given, much more than it may keep."""


def held_bytes(fill: Callable[[int, str], object], size: int, *, most: int = 5_000) -> int:
    """What is still in memory after a cache was given texts of so many characters, each of them new."""
    filler = "a" * size
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(min(most, MOST_FED // size)):
            fill(number, f"{number:08}{filler}")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [SHORT, 4_000])
def test_a_cache_keeps_to_its_budget(size: int) -> None:
    cache: ByteCache[str, str] = ByteCache(BUDGET, lambda key, value: len(key) + len(value))
    assert held_bytes(lambda _, text: cache.put(text, text[1:]), size) < BUDGET
    assert len(cache) > 10, "it does keep something"


def test_a_cache_keeps_what_is_asked_for_and_forgets_the_rest() -> None:
    cache: ByteCache[int, str] = ByteCache(20_000, lambda _, value: len(value))
    for number in range(1_000):
        cache.put(number, "x" * 50)
        assert cache.get(0) == "x" * 50
    assert cache.get(1) is None
    cache.put(1_000, "x" * 20_000)
    assert cache.get(1_000) is None, "one entry that would push out all others"
    cache.clear()
    assert (cache.get(0), len(cache)) == (None, 0)


@pytest.mark.parametrize("size", [SHORT, LONG])
def test_ids_of_urls(size: int) -> None:
    ids = UrlIds(BUDGET)
    assert held_bytes(lambda _, text: ids[text], size) < BUDGET


@pytest.mark.parametrize("size", [SHORT, 180, LONG])
def test_links_that_were_joined(size: int) -> None:
    joined, base = Joined(BUDGET), restore("http://a.test/x")
    assert held_bytes(lambda _, text: Joiner(base, joined).join(f"/{text}"), size) < BUDGET


def test_links_of_one_page_that_were_joined() -> None:
    joined = Joined(BUDGET)
    joiner = Joiner(restore("http://a.test/x"), joined)
    assert held_bytes(lambda _, text: joiner.join(f"/{text}"), 150) < BUDGET


@pytest.mark.parametrize("size", [SHORT, 2_000])
def test_folders_of_pages_whose_links_were_joined(size: int) -> None:
    joined = Joined(BUDGET)
    held = held_bytes(lambda _, text: Joiner(restore(f"http://a.test/{text}/"), joined).join("x"), size)
    assert held < BUDGET


@pytest.mark.parametrize("size", [SHORT, LONG])
def test_decisions_on_links(size: int) -> None:
    router = Router(RouterConfig(seeds=("http://a.test/",), cache_bytes=BUDGET))
    visit = Visit(Request(restore("http://a.test/")), 0, "", 0, 1, "192.0.2.1", b"")

    def route(_: int, text: str) -> None:
        page = ParsedPage("text/html", links=Links.of([PageLink(f"http://a.test/{text}")]))
        router.remember(router.route(visit, page))

    assert held_bytes(route, size) < BUDGET


@pytest.mark.parametrize("size", [SHORT, LONG])
def test_registered_domains(size: int) -> None:
    domains = Domains(BUDGET)
    domains.registered("b.test")  # The list itself is no cache.
    assert held_bytes(lambda _, text: domains.registered(f"{text}.test"), size) < BUDGET


@pytest.mark.parametrize("size", [SHORT, 2_000])
def test_payloads_that_were_seen(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocks, "_CACHE_BYTES", BUDGET)
    seen, state = RocksContent(), MemoryState()
    seen.bind("state", state)
    asyncio.run(seen.open())

    def claim(number: int, text: str) -> None:
        seen.claim(number.to_bytes(20, "big"), FirstCapture(f"http://a.test/{text}", 1.0))
        state._spaces["content"].clear()

    assert held_bytes(claim, size) < BUDGET


def test_names_of_hosts_of_links_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that is too long is dropped, and remembered by the slot of its host, whose name may be as long."""
    monkeypatch.setattr(host, "_IDS_BYTES", BUDGET)
    monkeypatch.setattr(domain, "_CACHE_BYTES", BUDGET)
    with quick_directory() as directory:
        rig = Rig(directory)

        def remember(_: int, text: str) -> None:
            url = parse(f"http://{text}.test/")
            assert url is not None
            rig.frontier.remember(url)
            rig.state._open._spaces["urls"].clear()

        assert held_bytes(remember, LONG) < 4 * BUDGET


def test_types_and_encodings_that_headers_name() -> None:
    def read(_: int, text: str) -> None:
        dispatch.media_type(f"text/html; charset={text}; x={text}")
        charset.name(text)

    assert held_bytes(read, 90_000) < 3_000_000


def test_hosts_that_limits_cut() -> None:
    counting = Counting(Counters())
    filled = held_bytes(
        lambda _, text: counting.count_dropped(restore(f"http://{text}.test/"), "too-long"), LONG, most=12_000
    )
    assert filled < 8_000_000


def test_hosts_with_queues_of_long_urls() -> None:
    """Each may have read ahead a hundred entries, with URLs and sources as long as they may be."""
    with quick_directory() as directory:
        rig = Rig(directory, FrontierConfig(hosts_bytes=BUDGET))

        def queue(number: int, text: str) -> None:
            source = f"http://a.test/{text}"
            for at in range(60):
                found = parse(f"http://h{number}.test/{at}/{text}")
                assert found is not None
                rig.frontier.add(Discovered(found, 1, source))
            rig.commit()

        queue(0, "")  # Reads the public suffix list.
        assert held_bytes(queue, 1_800, most=60) < 1.5 * BUDGET + 400_000, "3,600 keys of known URLs come on top"


@pytest.mark.parametrize("lines", [10, 4_000])
def test_rules_of_robots_files(lines: int) -> None:
    with quick_directory() as directory:
        rig = Rig(directory, FrontierConfig(rules_bytes=3_000_000))

        def ask(number: int, _: str) -> None:
            url = parse(f"http://h{number}.test/")
            assert url is not None
            host = rig.frontier.table.of(url)
            text = "".join(f"Disallow: /{number}/{at}\n" for at in range(lines))
            rig.frontier.table.qualify(
                host, Qualification("qualified", 4e9, ("127.0.0.1",), 4e9, robots=f"User-agent: *\n{text}"), ""
            )
            assert not rig.frontier.table.rules(host, "whimbrel").allows(f"/{number}/1")
            assert rig.frontier.table.rules(host, "whimbrel").allows("/no/1")
            rig.commit()

        held = held_bytes(ask, SHORT, most=10 if lines > 10 else 400)
        assert held < 3_000_000 + (1_500_000 if lines == 10 else 500_000), "hosts come on top"


def test_the_rules_of_a_host_are_kept_although_they_alone_are_too_large() -> None:
    with quick_directory() as directory:
        rig = Rig(directory, FrontierConfig(rules_bytes=1_000))
        hosts = []
        for name in ("a", "b"):
            url = parse(f"http://{name}.test/")
            assert url is not None
            hosts.append(rig.frontier.table.of(url))
        first = rig.frontier.table.rules(hosts[0], "whimbrel")
        assert rig.frontier.table.rules(hosts[0], "whimbrel") is first
        rig.frontier.table.rules(hosts[1], "whimbrel")
        assert rig.frontier.table.rules(hosts[0], "whimbrel") is not first
