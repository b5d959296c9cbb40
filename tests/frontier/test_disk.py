"""The frontier on disk: limits, heads, hosts that are parked or given up, and what survives the process."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.frontier.rig import Rig, quick_directory, url_of
from whimbrel.frontier import host, queue
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.visit import Visit, VisitResult

ROBOTS = "User-agent: *\nDisallow: /private/\n"
GOOD = VisitResult(elapsed_s=0.1, status=200, bytes=1_000)
DEAD = VisitResult(elapsed_s=1.0, trouble="timeout", connected=False)


@pytest.fixture
def directory() -> Iterator[Path]:
    with quick_directory() as found:
        yield found


def finished(rig: Rig, most: int = 1_000) -> list[str]:
    """Visit whatever time brings."""
    found: list[str] = []
    while len(found) < most and (visit := rig.next()) is not None:
        rig.frontier.finish(visit, GOOD)
        found.append(visit.url.target)
    return found


def taken(rig: Rig) -> Visit:
    visit = rig.next()
    assert visit is not None
    return visit


def test_the_target_of_a_redirect_comes_first_and_the_rest_in_order(directory: Path) -> None:
    rig = Rig(directory)
    for depth, path in ((1, "b"), (0, "a"), (1, "c")):
        rig.add(f"http://a.example/{path}", depth)
    rig.add("http://a.example/moved", 3, redirects=1)
    rig.qualify()
    assert finished(rig) == ["/moved", "/a", "/b", "/c"]
    assert rig.frontier.empty
    rig.close()


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        ("breadth", ["/x/y/", "/x/y/z", "/", "/x/?from=/a/b/c/d"]),
        ("depth", ["/x/y/", "/x/?from=/a/b/c/d", "/", "/x/y/z"]),
        ("ascend", ["/", "/x/?from=/a/b/c/d", "/x/y/z", "/x/y/"]),
    ],
)
def test_orders_within_a_host(directory: Path, order: str, wanted: list[str]) -> None:
    rig = Rig(directory, FrontierConfig(order=order))  # type: ignore[arg-type]
    for depth, path in ((1, "x/y/z"), (1, ""), (1, "x/?from=/a/b/c/d"), (0, "x/y/")):
        rig.add(f"http://a.example/{path}", depth)
    rig.qualify()
    assert finished(rig) == wanted
    rig.close()


def test_the_limit_on_pages_counts_requests_and_not_those_that_a_crash_has_undone(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(max_pages=3))
    for number in range(9):
        rig.add(f"http://h{number}.d{number}.example/")
    rig.qualify()
    first = taken(rig)
    rig.frontier.finish(first, GOOD)
    under_way = [taken(rig), taken(rig)]
    assert rig.take() is None
    assert rig.frontier.due_in_s() is None
    rig.commit()
    rig.crash()
    again = [taken(rig), taken(rig)]
    for visit in again:
        assert rig.take() is None
        rig.frontier.finish(visit, GOOD)
    assert rig.frontier.exhausted
    assert (rig.frontier.queued, rig.frontier.visiting) == (6, 0)
    assert len(under_way) == len(again)
    rig.close()


def test_a_host_that_has_had_its_pages_waits_until_the_limit_is_lifted(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(max_pages_per_host=2))
    for number in range(5):
        rig.add(f"http://a.example/{number}")
    rig.add("http://b.test/")
    rig.qualify()
    assert sorted(finished(rig)) == ["/", "/0", "/1"]
    assert rig.frontier.due_in_s() is None, "no time brings more"
    rig.commit()
    rig.crash()
    assert finished(rig) == []
    rig.crash(max_pages_per_host=4)
    assert finished(rig) == ["/2", "/3"]
    rig.commit()
    rig.crash(max_pages_per_host=None)
    assert finished(rig) == ["/4"]
    assert rig.frontier.empty
    rig.close()


def test_the_limit_on_bytes_closes_the_gate_for_as_long_as_they_are_worth(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(max_bytes_per_s=100), GateConfig(delay_s=0.0))
    rig.add("http://a.example/1")
    rig.add("http://b.example/1")
    rig.qualify()
    rig.frontier.finish(taken(rig), GOOD)
    assert rig.take() is None
    assert rig.frontier.due_in_s() == pytest.approx(10.0)
    rig.clock.advance(10.0)
    assert rig.take() is not None
    rig.close()


def test_a_url_is_added_once_and_limits_on_queries_drop(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(max_queries=2))
    assert [rig.add(f"http://a.example/?q={number}") for number in range(3)] == ["", "", "too-many-queries"]
    assert rig.add("http://a.example/?q=2") == "seen"
    assert rig.add("http://a.example/?other=1") == ""
    assert rig.frontier.remember(url_of("http://a.example/cut"))
    assert not rig.frontier.remember(url_of("http://a.example/cut"))
    assert rig.add("http://a.example/cut") == "seen"
    assert rig.frontier.queued == 3
    assert rig.frontier.hosts == 1
    rig.commit()
    rig.crash()
    assert rig.add("http://a.example/?q=7") == "too-many-queries"
    assert (rig.frontier.queued, rig.frontier.hosts) == (3, 1)
    rig.close()


def test_a_host_that_does_not_answer_is_parked_longer_each_time_and_then_given_up(directory: Path) -> None:
    config = FrontierConfig(park_after=2, park_s=(900.0, 3_600.0))
    rig = Rig(directory, config)
    for number in range(10):
        rig.add(f"http://a.example/{number}")
    rig.qualify()
    waits = []
    for _ in range(6):
        before_s = rig.clock.now_s()
        visit = taken(rig)
        waits.append(round(rig.clock.now_s() - before_s))
        assert visit.address
        rig.frontier.finish(visit, DEAD)
    assert waits == [0, 2, 900, 2, 3_600, 2]
    rig.commit()
    rig.crash()
    ends = [taken(rig) for _ in range(4)]
    assert {(visit.address, visit.refusal) for visit in ends} == {("", "timeout")}
    rig.commit()
    rig.crash()
    ends = [taken(rig) for _ in range(4)]
    for visit in ends:
        rig.frontier.finish(visit, VisitResult())
    assert rig.frontier.empty
    rig.close()


def test_refusals_that_are_lost_are_made_again(directory: Path) -> None:
    """The commit comes when the last refusal of a host is under way, and then the process dies."""
    rig = Rig(directory)
    rig.add("http://a.example/secret")
    rig.qualify(robots="User-agent: *\nDisallow: /\n")
    visit = taken(rig)
    assert visit.refusal == "robots"
    assert rig.take() is None
    rig.commit()
    rig.crash()
    assert rig.frontier.queued == 1
    visit = taken(rig)
    assert visit.refusal == "robots"
    assert rig.take() is None
    rig.add("http://a.example/secret/too")
    assert taken(rig).url.target == "/secret/too"
    rig.close()


def test_an_entry_under_way_is_not_read_again_when_others_have_taken_its_place(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "BUFFER", 2)
    monkeypatch.setattr(queue, "BUFFER", 2)
    rig = Rig(directory)
    rig.add("http://a.example/first")
    rig.qualify(robots="User-agent: *\nDisallow: /\n")
    visits = [taken(rig)]
    for number in range(7):
        rig.add(f"http://a.example/{number}", redirects=1)
    while (visit := rig.next()) is not None:
        visits.append(visit)
    assert len({visit.url.text for visit in visits}) == len(visits) == 8
    rig.close()


@pytest.mark.parametrize("status", [403, 429, 500, 503])
def test_retry_after_holds_the_whole_host_also_after_a_restart(directory: Path, status: int) -> None:
    rig = Rig(directory)
    rig.add("http://a.example/1")
    rig.add("http://a.example/2")
    rig.qualify()
    visit = taken(rig)
    rig.frontier.retry(visit, VisitResult(elapsed_s=0.1, status=status, retry_after_s=3_600.0), 3_600.0)
    rig.commit()
    rig.crash(down_s=600.0)
    before_s = rig.clock.now_s()
    assert taken(rig).url.target in ("/1", "/2")
    assert rig.clock.now_s() - before_s == pytest.approx(3_000.0, abs=0.01)
    rig.close()


def test_new_hosts_are_begun_a_few_at_once_and_slow_ones_keep_nobody_waiting(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(qualifying=5, new_hosts=2))
    for number in range(20):
        rig.add(f"http://h{number}.example/")
    for begun in (2, 4, 5):
        assert rig.take() is None
        assert rig.take() is None
        assert rig.frontier.qualifying == begun
        if begun < 5:
            assert rig.frontier.due_in_s() == pytest.approx(1.0, abs=0.01)
        rig.clock.advance(1.01)
    assert rig.frontier.due_in_s() is None, "only an answer brings more"
    for _ in range(5):
        due = rig.frontier.take_host()
        assert due is not None
        rig.frontier.qualified(due.host, Qualification("disqualified", rig.clock.wall_s() + 1e6, (), 0.0, reason="dns"))
    assert rig.take() is None
    assert rig.frontier.qualifying == 2
    rig.close()


def test_hosts_that_wait_for_the_qualifier_cost_nothing_until_it_has_room(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(qualifying=2, hosts_bytes=100_000, due_cached=80))
    for number in range(500):
        rig.add(f"http://h{number}.example/")
    rig.commit()
    assert rig.take() is None
    rig.commit()
    assert rig.frontier.qualifying == 2
    assert rig.frontier.due_in_s() is None, "only an answer brings more"
    assert len(rig.frontier.table._hosts) <= 60
    rig.clock.advance(60.0)
    assert rig.take() is None
    assert rig.state.changed == 0, "nobody was looked at"
    seen = set()
    for _ in range(500):
        due = rig.frontier.take_host()
        assert due is not None
        assert due.host.host not in seen
        seen.add(due.host.host)
        rig.frontier.qualified(due.host, Qualification("disqualified", rig.clock.wall_s() + 1e6, (), 0.0, reason="dns"))
        assert rig.take() is None
    assert len(seen) == 500
    rig.close()


def test_a_disqualified_host_is_asked_again_in_its_time_and_one_for_good_is_not(directory: Path) -> None:
    rig = Rig(directory)
    rig.add("http://a.example/")
    rig.add("http://b.test/")
    rig.take()
    for standing in ("disqualified", "for-good"):
        due = rig.frontier.take_host()
        assert due is not None
        until_s = rig.clock.wall_s() + 3_600.0
        found = Qualification(standing, until_s, (), 0.0, reason="robots-unreachable")
        rig.frontier.qualified(due.host, found)
    refused = rig.take()
    assert refused is not None
    assert (refused.address, refused.refusal) == ("", "robots-unreachable")
    rig.frontier.finish(refused, VisitResult())
    assert rig.take() is None
    assert rig.frontier.due_in_s() == pytest.approx(3_600.0, abs=0.01)
    rig.clock.advance(3_600.0)
    assert rig.take() is None
    again = rig.frontier.take_host()
    assert again is not None
    assert again.before is not None
    assert again.host.host != refused.url.host
    assert rig.frontier.take_host() is None
    rig.close()


def test_when_only_the_addresses_have_run_out_only_they_are_asked_for(directory: Path) -> None:
    rig = Rig(directory)
    rig.add("http://a.example/")
    rig.take()
    due = rig.frontier.take_host()
    assert due is not None
    wall_s = rig.clock.wall_s()
    found = Qualification("qualified", wall_s + 86_400.0, ("192.0.2.1",), wall_s + 300.0, robots="User-agent: *\n")
    rig.clock.advance(290.0)
    rig.frontier.qualified(due.host, found)
    rig.clock.advance(110.0)
    assert rig.take() is None
    again = rig.frontier.take_host()
    assert again is not None
    assert again.addresses_only
    assert again.before == msgspec.structs.replace(found, robots="")
    rig.close()


def asked_for_addresses(rig: Rig) -> HostDue:
    """A qualified host with rules and a page that is allowed, whose addresses have run out."""
    rig.add("http://a.example/open")
    rig.take()
    due = rig.frontier.take_host()
    assert due is not None
    wall_s = rig.clock.wall_s()
    rig.frontier.qualified(due.host, Qualification("qualified", wall_s + 86_400.0, ("192.0.2.1",), wall_s, ROBOTS))
    rig.commit()
    rig.clock.advance(400.0)
    assert rig.take() is None
    again = rig.frontier.take_host()
    assert again is not None
    assert again.addresses_only
    return again


def test_new_addresses_change_nothing_else_of_a_host(directory: Path) -> None:
    rig = Rig(directory)
    due = asked_for_addresses(rig)
    host = rig.frontier.table.get(rig.frontier.table.id_of(due.host.site, due.host.host))
    rules = rig.frontier.table.rules(host, rig.config.agent)
    host.record.last_error = "timeout"
    assert due.before is not None
    until_s = rig.clock.wall_s() + 300.0
    new = msgspec.structs.replace(due.before, addresses=("192.0.2.9",), addresses_until_s=until_s, detail="odd rules")
    rig.frontier.refreshed(due.host, new)
    assert rig.frontier.qualifying == 0
    assert rig.frontier.table.rules(host, rig.config.agent) is rules
    assert (host.record.last_error, host.noted) == ("timeout", True)
    group = rig.seal()
    assert "robots" not in {space for space, _, _ in group.changes()}, "its text is not written again"
    rig.write(group)
    visit = rig.next()
    assert visit is not None
    assert visit.address == "192.0.2.9"
    rig.frontier.finish(visit, VisitResult(elapsed_s=0.1, status=200))
    rig.add("http://a.example/private/")
    refused = rig.next()
    assert refused is not None
    assert refused.refusal == "robots"
    rig.close()


def test_a_host_that_has_no_addresses_any_more_is_disqualified_and_keeps_its_rules(directory: Path) -> None:
    rig = Rig(directory)
    due = asked_for_addresses(rig)
    assert due.before is not None
    until_s = rig.clock.wall_s() + 3_600.0
    gone = msgspec.structs.replace(
        due.before, standing="disqualified", until_s=until_s, addresses=(), reason="dns", detail="no address"
    )
    rig.frontier.refreshed(due.host, gone)
    assert [summary.last_error for summary in rig.frontier.flush()] == ["no address"]
    assert rig.take() is None
    assert rig.frontier.due_in_s() == pytest.approx(3_600.0, abs=0.01)
    rig.clock.advance(3_600.0)
    assert rig.take() is None
    again = rig.frontier.take_host()
    assert again is not None
    assert not again.addresses_only
    assert again.before == gone
    host = rig.frontier.table.get(rig.frontier.table.id_of(due.host.site, due.host.host))
    assert (host.record.ruled, rig.frontier.table.robots(host)) == (True, ROBOTS)
    rig.close()


def test_a_resumed_crawl_waits_before_its_first_request_and_a_finished_one_ends_at_once(directory: Path) -> None:
    rig = Rig(directory)
    rig.add("http://a.example/")
    rig.qualify()
    rig.commit()
    rig.crash()
    assert rig.take() is None
    assert rig.frontier.due_in_s() == pytest.approx(1.0)
    assert finished(rig) == ["/"]
    rig.commit()
    rig.crash()
    assert rig.frontier.empty
    assert rig.frontier.due_in_s() is None
    rig.close()


def test_whoever_listens_is_told_when_there_may_be_something_to_take(directory: Path) -> None:
    rig = Rig(directory)
    told: list[int] = []
    rig.frontier.listen(lambda: told.append(1))
    rig.add("http://a.example/")
    assert told
    rig.qualify()
    visit = taken(rig)
    told.clear()
    rig.frontier.finish(visit, GOOD)
    assert told
    told.clear()
    rig.gate.leave(rig.frontier.table.of(visit.url).name, visit.address, 0.1, own=False)
    assert told
    rig.close()
