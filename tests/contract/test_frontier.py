"""One suite for every implementation of the frontier: what the contract in `frontier/api.py` promises."""

from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.frontier.rig import Rig, qualified, quick_directory, url_of
from whimbrel.frontier.api import Frontier
from whimbrel.frontier.option import FrontierConfig
from whimbrel.frontier.seen import BloomConfig, BloomSeen, DiskSeen, SeenConfig
from whimbrel.qualify.api import Qualification
from whimbrel.visit import Discovered, Visit, VisitResult

GOOD = VisitResult(elapsed_s=0.1, status=200, bytes=1_000)
DEAD = VisitResult(elapsed_s=1.0, trouble="timeout", connected=False)
SEEN: dict[str, Callable[[], DiskSeen | BloomSeen]] = {
    "disk-seen": lambda: DiskSeen(SeenConfig()),
    "bloom-seen": lambda: BloomSeen(BloomConfig(urls=1_000)),
}


@pytest.fixture(params=SEEN)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    with quick_directory() as directory:
        rig = Rig(directory, FrontierConfig(max_queries=2, park_after=2), make_seen=SEEN[request.param])
        yield rig
        rig.close()


@pytest.fixture
def frontier(rig: Rig) -> Frontier:
    """What the tests may use of it is in the contract."""
    return rig.frontier


def taken(rig: Rig) -> Visit:
    visit = rig.next()
    assert visit is not None
    return visit


def found(path: str) -> Discovered:
    return Discovered(url_of(f"http://a.example/{path}"), 0)


def test_a_frontier_that_nothing_was_added_to_is_empty_and_waits_for_nothing(frontier: Frontier) -> None:
    assert frontier.empty
    assert (frontier.queued, frontier.hosts, frontier.visiting, frontier.qualifying) == (0, 0, 0, 0)
    assert (frontier.take(), frontier.take_host(), frontier.due_in_s()) == (None, None, None)
    assert frontier.find(url_of("http://a.example/")) is None
    assert not frontier.exhausted
    assert (frontier.pages_begun, frontier.page_limit, frontier.retry_in_s()) == (0, None, None)
    assert not frontier.limited


def test_a_url_is_queued_once_and_found_until_its_final_outcome(rig: Rig, frontier: Frontier) -> None:
    url = url_of("http://a.example/1")
    assert (frontier.add(found("1")), frontier.add(found("1"))) == ("", "seen")
    entry = frontier.find(url)
    assert entry is not None
    assert (entry.url, entry.attempt) == (url.text, 1)
    rig.qualify()
    visit = taken(rig)
    assert frontier.find(url) == entry, "it is under way"
    frontier.retry(visit, DEAD, 30.0)
    waiting = frontier.find(url)
    assert waiting is not None
    assert waiting.attempt == 2
    rig.commit()
    rig.crash()
    assert rig.frontier.find(url) == waiting
    visit = taken(rig)
    assert visit.attempt == 2
    assert rig.frontier.find(url) == waiting
    rig.frontier.finish(visit, GOOD)
    assert rig.frontier.find(url) is None
    assert rig.frontier.empty
    assert rig.frontier.add(found("1")) == "seen"


def test_limits_drop_urls_for_good(frontier: Frontier) -> None:
    assert [frontier.add(found(f"?q={number}")) for number in range(3)] == ["", "", "too-many-queries"]
    cut = url_of("http://a.example/cut")
    assert (frontier.remember(cut), frontier.remember(cut)) == (True, False)
    assert frontier.add(found("cut")) == "seen"
    assert frontier.find(cut) is None
    assert (frontier.queued, frontier.hosts) == (2, 1)


def test_a_url_is_queued_again_only_when_it_is_not_queued(rig: Rig, frontier: Frontier) -> None:
    frontier.add(found("1"))
    assert not frontier.requeue(found("1"))
    rig.qualify()
    visit = taken(rig)
    assert not frontier.requeue(found("1")), "it is under way"
    frontier.retry(visit, GOOD, 30.0)
    assert not frontier.requeue(found("1")), "it waits to be tried again"
    frontier.finish(taken(rig), GOOD)
    assert frontier.requeue(found("1"))
    assert not frontier.requeue(found("1"))
    assert frontier.queued == 1
    assert taken(rig).attempt == 1
    assert frontier.hosts == 1


def test_a_visit_that_did_not_happen_is_made_next_as_if_for_the_first_time(rig: Rig, frontier: Frontier) -> None:
    for path in ("1", "2"):
        frontier.add(found(path))
    rig.qualify()
    for _ in range(5):
        visit = taken(rig)
        assert (visit.url.target, visit.attempt) == ("/1", 1)
        frontier.abandon(visit)
        assert frontier.take() is None, "the gate is left as after a visit"
        assert (frontier.visiting, frontier.queued) == (0, 2)
    rig.commit()
    (summary,) = [*frontier.loaded()]
    assert (summary.standing, summary.fetched, summary.failed) == ("qualified", 0, 0)
    for path in ("/1", "/2"):
        visit = taken(rig)
        assert visit.url.target == path
        frontier.finish(visit, GOOD)
    assert frontier.empty


def test_a_refusal_that_is_abandoned_is_made_again(rig: Rig, frontier: Frontier) -> None:
    frontier.add(found("secret"))
    rig.qualify(robots="User-agent: *\nDisallow: /\n")
    for _ in range(2):
        visit = taken(rig)
        assert (visit.refusal, visit.address) == ("robots", "")
        frontier.abandon(visit)
    visit = taken(rig)
    frontier.finish(visit, VisitResult())
    assert frontier.empty


def test_every_host_that_is_taken_comes_back(rig: Rig, frontier: Frontier) -> None:
    frontier.add(found("1"))
    assert frontier.take() is None
    due = frontier.take_host()
    assert due is not None
    assert 0 <= due.host.slot < 1024
    assert (due.before, frontier.qualifying, frontier.take_host()) == (None, 1, None)
    frontier.unqualified(due.host)
    assert frontier.qualifying == 0
    assert frontier.take() is None
    again = frontier.take_host()
    assert again == due
    frontier.qualified(due.host, qualified(rig.clock, "192.0.2.1"))
    assert taken(rig).address == "192.0.2.1"


def test_a_host_comes_back_with_new_addresses_and_its_old_rules(rig: Rig, frontier: Frontier) -> None:
    frontier.add(found("no/1"))
    frontier.add(found("2"))
    assert frontier.take() is None
    due = frontier.take_host()
    assert due is not None
    robots = "User-agent: *\nDisallow: /no/\n"
    short = msgspec.structs.replace(qualified(rig.clock, "192.0.2.1", robots=robots), addresses_until_s=0.0)
    frontier.qualified(due.host, short)
    held_s = rig.clock.wall_s() + 2.0
    rig.clock.advance(10.0)
    assert frontier.take() is None
    again = frontier.take_host()
    assert again is not None
    known = msgspec.structs.replace(short, robots="", addresses_until_s=held_s)
    assert (again.addresses_only, again.before) == (True, known), "whatever it says, it holds for two seconds"
    frontier.refreshed(due.host, qualified(rig.clock, "192.0.2.2"))
    assert frontier.qualifying == 0
    refused = taken(rig)
    assert refused.refusal == "robots"
    frontier.finish(refused, VisitResult())
    assert taken(rig).address == "192.0.2.2"


def test_a_host_that_was_given_up_is_asked_again_when_it_is_allowed(rig: Rig, frontier: Frontier) -> None:
    assert not frontier.allow("http://a.example:80", "a.example")
    frontier.add(found("1"))
    assert frontier.take() is None
    due = frontier.take_host()
    assert due is not None
    frontier.qualified(due.host, Qualification("for-good", 0.0, (), 0.0, reason="dns"))
    assert taken(rig).refusal == "dns"
    assert frontier.allow(due.host.site, due.host.host)
    assert frontier.hosts == 1


def test_flush_tells_the_rows_that_are_out_of_date_once(rig: Rig, frontier: Frontier) -> None:
    frontier.add(found("1"))
    rig.qualify()
    (row,) = frontier.flush()
    assert (row.name.host, row.standing, row.queued) == ("a.example", "qualified", 1)
    assert frontier.flush() == []
    frontier.note_all()
    assert frontier.flush() == [row]
    frontier.finish(taken(rig), GOOD)
    (row,) = frontier.flush()
    assert (row.queued, row.fetched) == (0, 1)


def test_counts_survive_the_process(rig: Rig) -> None:
    for number in range(20):
        rig.add(f"http://h{number}.example/")
    rig.qualify()
    for _ in range(3):
        rig.frontier.finish(taken(rig), GOOD)
    rig.commit()
    rig.crash(max_pages=3)
    assert (rig.frontier.queued, rig.frontier.hosts, rig.frontier.page_limit) == (17, 20, 3)
    assert rig.frontier.exhausted
    assert rig.frontier.due_in_s() is None
