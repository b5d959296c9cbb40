"""What a visit does to the crawl's memory: each effect, and all of them together."""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.effect.rig import SEED, rig
from whimbrel.commit.committed import read_committed
from whimbrel.fetch.trouble import Trouble
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Links, PageLink, ParsedPage
from whimbrel.qualify.api import Qualification
from whimbrel.query.crawl_data import CrawlData
from whimbrel.url import restore
from whimbrel.visit import Discovered, Request, Visit

BODY = b"words " * 100


def fetches(directory: Path) -> list[tuple[str, str, str]]:
    found = CrawlData([directory]).sql("select url, outcome, reason from fetches order by started_at, url")
    return [(url, outcome, reason) for url, outcome, reason in found]


def test_a_crawl_begins_with_its_seeds_once(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path, SEED, "http://b.test/") as one:
            assert one.frontier.queued == 2
            assert one.seeding.seed() == [], "they are known"
        async with rig(tmp_path, SEED, "http://b.test/", "http://c.test/") as again:
            assert again.frontier.queued == 2, "a crawl that goes on has begun before"

    asyncio.run(scene())


def test_the_first_capture_of_a_payload_is_stored_another_url_is_a_duplicate_and_the_same_one_unchanged(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with rig(tmp_path, SEED, "http://b.test/") as one:
            first, second = one.take(), one.take()
            one.effects.apply(one.routed(first, body=BODY))
            one.effects.apply(one.routed(second, body=BODY))
            one.effects.requeue(Discovered(first.url, 0), "stored", "new")
            one.effects.apply(one.routed(one.take(), body=BODY))
            assert one.effects.counters.outcomes == {"stored": 1, "duplicate": 1, "unchanged": 1}
            assert one.effects.counters.current_outcomes() == {"duplicate": 1, "unchanged": 1}
            assert one.effects.counters.recaptured == 1

    asyncio.run(scene())
    assert read_committed(tmp_path).counters.reasons["unchanged"] == {"same-payload": 1}


def test_a_failure_that_may_pass_is_tried_three_times_and_then_is_final(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path, effects={"retry_s": 0.0}) as one:
            for _ in range(3):
                visit = one.take()
                one.effects.apply(one.routed(visit, 500, outcome=Outcome.FAILED, reason="http-500", passing=True))
            assert one.frontier.empty
            assert one.effects.counters.reasons == {"retry": {"http-500": 2}, "failed": {"http-500": 1}}

    asyncio.run(scene())
    assert [outcome for _, outcome, _ in fetches(tmp_path)] == ["retry", "retry", "failed"]


def test_a_visit_that_no_frontier_let_out_is_remembered_and_never_tried_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path) as one:
            foreign = Visit(Request(restore("http://elsewhere.test/")), 2, "", 0, 1, "192.0.2.1", b"")
            busy = one.routed(foreign, 503, outcome=Outcome.FAILED, reason="http-503", passing=True)
            one.effects.apply(busy)
            assert one.effects.counters.reasons == {"failed": {"http-503": 1}}
            assert not one.effects.admit(Discovered(foreign.url, 0)), "it is known"
            assert (one.frontier.queued, one.effects.counters.recaptured) == (1, 0)
            one.effects.apply(one.routed(foreign, body=BODY))
            assert one.effects.counters.recaptured == 1

    asyncio.run(scene())
    assert [row for row in fetches(tmp_path) if "elsewhere" in row[0]] == [
        ("http://elsewhere.test/", "failed", "http-503"),
        ("http://elsewhere.test/", "stored", "new"),
    ]


def test_a_refused_visit_is_a_row_without_a_request(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path) as one:
            visit = one.take()
            one.effects.refuse(msgspec.structs.replace(visit, address="", refusal="robots"))
            assert one.effects.counters.reasons == {"denied": {"robots": 1}}
            assert (one.frontier.queued, one.effects.counters.statuses) == (0, {})

    asyncio.run(scene())
    assert fetches(tmp_path) == [(SEED, "denied", "robots")]


def test_where_a_seed_redirects_the_scope_goes_along_also_after_a_restart(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path) as one:
            visit = one.take()
            moved = one.routed(visit, 301, outcome=Outcome.REDIRECTED, reason="http-301", redirect_to="http://b.test/")
            one.effects.apply(moved)
            assert one.frontier.queued == 1
            assert one.effects.counters.refused == {}
        async with rig(tmp_path) as again:
            page = ParsedPage(
                "text/html", links=Links.of([PageLink("http://b.test/in"), PageLink("http://c.test/out")])
            )
            again.effects.apply(again.routed(again.take(), body=BODY, page=page))
            assert again.take().url.text == "http://b.test/in"
            assert again.effects.counters.refused == {"out-of-scope": 1}

    asyncio.run(scene())


def test_where_the_parent_of_a_seed_redirects_the_scope_stays(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path, "http://a.test/x/y", router={"ascend": True}) as one:
            visits = {}
            for _ in range(3):
                visit = one.take()
                visits[visit.url.target] = visit
                moved: dict[str, Any] = {
                    "outcome": Outcome.REDIRECTED,
                    "reason": "http-301",
                    "redirect_to": "http://other.test/",
                }
                one.effects.apply(one.routed(visit, 301, **moved) if visit.url.target == "/" else one.routed(visit))
            assert list(visits) == ["/x/y", "/x/", "/"]
            assert [visit.source for visit in visits.values()] == ["", "http://a.test/x/y", "http://a.test/x/y"]
            assert one.effects.counters.refused == {"out-of-scope": 1}

    asyncio.run(scene())


def test_links_of_a_visit_that_was_never_settled_are_followed_from_the_next_page(tmp_path: Path) -> None:
    async def scene() -> None:
        page = ParsedPage("text/html", links=Links.of([PageLink("http://a.test/next")]))
        async with rig(tmp_path, SEED, "http://b.test/") as one:
            settled, lost = sorted((one.take(), one.take()), key=lambda visit: visit.url.text)
            assert one.routed(lost, body=b"lost", page=page).route is not None
            one.effects.apply(one.routed(settled, body=BODY, page=page))
            assert one.take().url.text == "http://a.test/next"

    asyncio.run(scene())


def test_what_is_applied_in_part_never_becomes_durable(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path) as one:
            routed = one.routed(one.take(), body=BODY)
            broken = msgspec.structs.replace(routed.parsed, exchange=None)
            with pytest.raises(AttributeError):
                one.effects.apply(msgspec.structs.replace(routed, parsed=broken))

    asyncio.run(scene())
    assert not (tmp_path / "COMMITTED").exists() or read_committed(tmp_path).counters.visits == 0


def test_a_visit_that_we_ended_ourselves_did_not_happen(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path) as one:
            for _ in range(5):
                visit = one.take()
                assert visit.attempt == 1, "no try is counted"
                routed = one.routed(visit, 500)
                ended = msgspec.structs.replace(routed.parsed.exchange, response=None, trouble=Trouble.ABANDONED)
                parsed = msgspec.structs.replace(routed.parsed, exchange=ended)
                one.effects.apply(msgspec.structs.replace(routed, parsed=parsed))
            assert (one.frontier.queued, one.effects.counters.visits) == (1, 0)

    asyncio.run(scene())
    assert fetches(tmp_path) == []


def test_new_addresses_of_a_host_are_no_qualification_and_bring_no_sitemaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = 0.0
    monkeypatch.setattr("whimbrel.clock._now_s", lambda: time.monotonic() + passed_s)

    async def scene() -> None:
        nonlocal passed_s
        async with rig(tmp_path) as one:
            assert one.frontier.take() is None
            due = one.frontier.take_host()
            assert due is not None
            known = Qualification("qualified", 4e9, ("127.0.0.1",), 1.0, sitemaps=("http://a.test/map.xml",))
            one.effects.qualified(due.host, known)
            counters = one.effects.counters
            for found, counted in (
                (msgspec.structs.replace(known, addresses=("127.0.0.2",)), {"qualified": 1}),
                (msgspec.structs.replace(known, standing="disqualified", reason="dns"), {"qualified": 1, "dns": 1}),
            ):
                passed_s += 10.0  # A host is not looked up again at once, whatever its addresses say.
                assert one.frontier.take() is None
                again = one.frontier.take_host()
                assert again is not None
                assert again.addresses_only
                one.effects.refreshed(again.host, found)
                assert counters.qualifications == counted
            assert (one.frontier.queued, counters.refused) == (2, {})

    asyncio.run(scene())


def test_a_sitemap_that_a_limit_cuts_has_its_row_like_any_other_url(tmp_path: Path) -> None:
    async def scene() -> None:
        async with rig(tmp_path) as one:
            assert one.frontier.take() is None
            due = one.frontier.take_host()
            assert due is not None
            maps = ("http://a.test/map.xml", "http://a.test" + "/x" * 30, "http://b.test/map.xml")
            one.effects.qualified(due.host, Qualification("qualified", 4e9, ("127.0.0.1",), 4e9, sitemaps=maps))
            assert one.frontier.queued == 2
            assert one.effects.counters.reasons == {"dropped": {"too-many-segments": 1}}
            assert one.effects.counters.refused == {"out-of-scope": 1}

    asyncio.run(scene())
    assert fetches(tmp_path) == [("http://a.test" + "/x" * 30, "dropped", "too-many-segments")]
