"""Every action, by each of the three ways to reach a crawl, as the simulated web and the crawl's own tables see it."""

import sys
import time
from pathlib import Path

import pytest

import whimbrel
from tests.control.rig import CALLERS, PATIENCE_S, RunningCrawl, crawling, started
from tests.sim.crawl import whimbrel as command
from whimbrel.bench.exact import differences
from whimbrel.control.api import (
    Abort,
    Allow,
    Block,
    Checkpoint,
    Pause,
    Requeue,
    Seed,
    Set,
    Speed,
    Stop,
    Unblock,
    Unpause,
)
from whimbrel.job.stored import stored_job
from whimbrel.simweb.spec import WebSpec

LONG = WebSpec(hosts=20, pages=400, latency_ms=20, robots={}, exhibits={})
"""A few thousand pages: no test waits for its end."""


def asked_pages(crawl: RunningCrawl, since: float, until: float) -> int:
    return len([one for one in crawl.requests(since=since, until=until) if one.served != "robots"])


def held_speed(crawl: RunningCrawl, rate: float, *, length_s: float, share: float) -> None:
    """Pages are asked for at that rate: never faster, and slower only while the machine is too busy."""
    found = []
    for _ in range(3):
        began = time.time() + 0.5
        found.append(asked_pages(crawl, began, began + length_s) / length_s)
        assert found[-1] <= rate * (1.0 + share), found
        if found[-1] >= rate * (1.0 - share):
            return
    raise AssertionError(f"{rate:g} pages/s were asked for, not {found}")


def events(directory: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (
        whimbrel.open(directory).sql('select actor, action, subject, detail from events order by "at"').dicts()
    )
    return found


def test_pause_stops_new_requests_and_unpause_goes_on_with_nothing_lost(tmp_path: Path) -> None:
    spec = WebSpec(hosts=8, pages=120, latency_ms=30, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "8") as crawl:
        pauses = []
        for call in CALLERS.values():
            call(crawl.directory, Pause())
            paused = time.time()
            assert crawl.status()["state"] == "paused"
            time.sleep(1.5)
            pauses.append((paused + 1.0, time.time()))
            call(crawl.directory, Unpause())
        crawl.wait()
        log = crawl.requests()
        for begin, end in pauses:
            assert not [one for one in log if begin <= one.start < end]
            assert [one for one in log if one.start > end]
        assert differences(crawl.directory, crawl.served.web, crawl.served.running.seeds) == []
    said = [(row["actor"], row["action"]) for row in events(crawl.directory) if row["action"].endswith("pause")]
    assert [action for _, action in said] == ["pause", "unpause"] * 3
    assert said[0][0] == "http"
    assert said[2][0].endswith("(command line)")
    assert said[4][0].endswith("(Python)")


def test_a_paused_crawl_that_is_stopped_ends_in_good_order_without_a_request(tmp_path: Path) -> None:
    spec = WebSpec(hosts=40, pages=60, latency_ms=30, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "8") as crawl:
        crawl.until(lambda now: now["progress"]["visited"] >= 50, "fifty visits")
        CALLERS["python"](crawl.directory, Pause())
        crawl.until(lambda now: not now["progress"]["visiting"], "the visits under way have ended")
        paused = time.time()
        assert crawl.status()["progress"]["bound_by"].startswith("the operator, who paused it")
        CALLERS["http"](crawl.directory, Stop())
        assert crawl.wait()["state"] == "stopped"
        assert crawl.process.returncode == 3
        assert not crawl.requests(since=paused), "neither for pages nor for robots.txt"
        done = command("resume", str(crawl.directory), "--json")
        assert done.returncode == 0, done.stderr
        assert differences(crawl.directory, crawl.served.web, crawl.served.running.seeds) == []


def test_speed_is_what_was_asked_for_and_survives_a_restart(tmp_path: Path) -> None:
    with crawling(LONG, tmp_path, "--connections", "32") as crawl:
        for (name, call), rate in zip(CALLERS.items(), (100.0, 150.0, 60.0), strict=True):
            call(crawl.directory, Speed(pages_per_s=rate))
            if name == "http":
                held_speed(crawl, rate, length_s=20.0, share=0.05)
            else:
                held_speed(crawl, rate, length_s=4.0, share=0.25)  # A second is caught up on, whatever the length.
        CALLERS["command"](crawl.directory, Speed(pages_per_s=0.0, connections=5, bytes_per_s=300_000))
        crawl.until(lambda now: now["progress"]["visiting"] <= 5, "five connections")
        received: list[float] = []
        while len(received) < 3 and not (received and received[-1] >= 200_000):
            began = time.time() + 1.0
            received.append(sum(one.bytes for one in crawl.requests(since=began, until=began + 4.0)) / 4.0)
        assert 200_000 <= received[-1] <= 400_000, received
        CALLERS["python"](crawl.directory, Speed(pages_per_s=60.0))
        CALLERS["http"](crawl.directory, Stop())
        crawl.wait()
    kept = stored_job(crawl.directory)
    assert (kept.options.max_pages_per_s, kept.options.connections, kept.options.max_rate) == (60.0, 5, 300_000)
    assert kept.origins["connections"] == "control"


def test_a_delay_of_one_host_leaves_the_others_alone(tmp_path: Path) -> None:
    with crawling(LONG, tmp_path, "--connections", "20") as crawl:
        crawl.until(lambda now: now["progress"]["hosts"] >= 10, "ten hosts")
        slow = [host_name(crawl, number) for number in (1, 2, 3)]
        for call, host in zip(CALLERS.values(), slow, strict=True):
            call(crawl.directory, Speed(delay_s=1.0, of=host))
        began = time.time() + 1.0
        found = crawl.requests(since=began, until=began + 3.0)
        count = {host: sum(one.host.partition(":")[0] == host for one in found) for host in slow}
        assert all(number <= 4 for number in count.values()), count
        assert len(found) > 100
        CALLERS["http"](crawl.directory, Speed(delay_s="default", of=slow[0]))
        assert stored_job(crawl.directory).options.delays == {slow[1]: 1.0, slow[2]: 1.0}


def test_a_blocked_host_is_left_alone_at_once_and_after_a_kill_and_goes_on_when_it_is_unblocked(tmp_path: Path) -> None:
    spec = WebSpec(hosts=8, pages=200, latency_ms=40, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "3") as crawl:
        crawl.until(lambda now: now["progress"]["hosts"] >= 8, "all hosts are known")
        hosts = [host_name(crawl, number) for number in (3, 4, 5)]
        since: dict[str, float] = {}
        for (way, call), host in zip(CALLERS.items(), hosts, strict=True):
            call(crawl.directory, Block((host, f"*/x/{way}/*")))
            since[host] = time.time() + 1.0
        CALLERS["http"](crawl.directory, Checkpoint())
        crawl.process.kill()
        crawl.process.wait()
        resume = [sys.executable, "-m", "whimbrel", "resume", str(crawl.directory), "--json"]
        with started(resume, crawl.served, crawl.directory) as again:
            time.sleep(2.0)
            unblocked = time.time()
            assert again.status()["state"] == "running"
            for (way, call), host in zip(CALLERS.items(), hosts, strict=True):
                call(again.directory, Unblock((host, f"*/x/{way}/*")))
            assert again.wait()["state"] == "done"
            log = again.requests()
        for host, moment in since.items():
            own = [one.start for one in log if one.host.partition(":")[0] == host]
            assert not [start for start in own if moment < start < unblocked], host
            assert [start for start in own if start > unblocked], host
        assert differences(crawl.directory, crawl.served.web, crawl.served.running.seeds) == []
    assert stored_job(crawl.directory).options.block == ()


def test_a_blocked_pattern_ends_queued_urls_and_requeue_brings_them_back(tmp_path: Path) -> None:
    spec = WebSpec(hosts=4, pages=200, latency_ms=40, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "4") as crawl:
        crawl.until(lambda now: now["progress"]["queued"] >= 100, "a queue")
        host = host_name(crawl, 1)
        CALLERS["command"](crawl.directory, Block((f"*//{host}:*",)))
        found = crawl.until(lambda now: now["progress"]["outcomes"].get("denied", 0) > 5, "some are denied")
        assert found["progress"]["reasons"]["denied blocked"] > 5
        CALLERS["http"](crawl.directory, Unblock((f"*//{host}:*",)))
        count = 0
        for call in CALLERS.values():
            count += call(crawl.directory, Requeue("denied", "blocked", host))["count"]
        assert count == found["progress"]["outcomes"]["denied"] or count > 5
        summary = crawl.wait()
        assert "denied" not in summary["outcomes"]
        pages = {row["url"] for row in whimbrel.open(crawl.directory).sql("select url from pages").dicts()}
        assert len([url for url in pages if f"//{host}:" in url]) > 5
    assert command("verify", str(crawl.directory)).returncode == 0


def test_failures_are_visited_once_more(tmp_path: Path) -> None:
    # The exhibit fails five times and then recovers; a crawl tries three times.
    spec = WebSpec(hosts=3, pages=60, latency_ms=30, robots={}, exhibits={"recovers-5": 0.3})
    with crawling(spec, tmp_path, "--connections", "2", **{"effects.retry_s": 0.02}) as crawl:
        crawl.until(lambda now: now["progress"]["outcomes"].get("failed", 0) >= 3, "some have failed")
        asked = sum(call(crawl.directory, Requeue(reason="http-500"))["count"] for call in CALLERS.values())
        assert asked >= 3
        summary = crawl.wait()
        found = whimbrel.open(crawl.directory).sql(
            "select count(*) filter (reason = 'requeued') as requeued, count(*) filter (outcome = 'failed') as failed, "
            "count(*) filter (outcome = 'stored') as stored from fetches where url like '%/x/recovers-5/%'"
        )
        row = found.dicts()[0]
        assert row["requeued"] == asked
        assert row["stored"] == asked
        assert summary["outcomes"].get("failed", 0) == row["failed"] - asked
    assert command("verify", str(crawl.directory)).returncode == 0


def test_seeds_are_added_and_the_scope_goes_along(tmp_path: Path) -> None:
    spec = WebSpec(hosts=5, pages=50, latency_ms=40, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "2", "--scope", "host") as crawl:
        for number, call in zip((2, 3, 4), CALLERS.values(), strict=True):
            assert call(crawl.directory, Seed((crawl.served.web.hosts.origin(number) + "/",)))["count"] == 1
            assert call(crawl.directory, Seed((crawl.served.web.hosts.origin(number) + "/",)))["count"] == 0
        crawl.wait()
        hosts = {row["host"] for row in whimbrel.open(crawl.directory).sql("select distinct host from pages").dicts()}
        assert hosts == {host_name(crawl, number) for number in (0, 2, 3, 4)}
    assert len(stored_job(crawl.directory).options.seeds) == 4


def test_parents_of_seeds_are_counted_beside_them(tmp_path: Path) -> None:
    spec = WebSpec(hosts=2, pages=50, latency_ms=40, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "1", "--order", "ascend") as crawl:
        inside, outside = (crawl.served.web.hosts.origin(number) + "/x/y/z.html" for number in (0, 1))
        one, two = (CALLERS["http"](crawl.directory, Seed((url,))) for url in (inside, outside))
        both = CALLERS["http"](crawl.directory, Seed((inside, outside)))
    assert (one["effect"], one["count"]) == ("1 new, 0 known already; 2 of their parents", 3)
    assert two["effect"].startswith("1 new, 0 known already; "), "a link may have brought the home page before"
    assert (both["effect"], both["count"]) == ("0 new, 2 known already", 0)


def test_a_disqualified_host_is_asked_again_and_visited_when_it_is_allowed(tmp_path: Path) -> None:
    spec = WebSpec(hosts=1, pages=200, latency_ms=40, robots={}, exhibits={})
    patient = {"qualifier.retry_s": 600.0, "qualifier.retry_max_s": 600.0, "qualifier.pause_s": 0.05}
    with crawling(spec, tmp_path, "--connections", "1", **patient) as crawl:
        names = [f"robots-{name}.exhibit.test" for name in ("error-500", "error-503", "stall")]
        origins = []
        for name in names:
            host = crawl.served.web.hosts.find(name)
            assert host is not None
            origins.append(host.origin)
        CALLERS["http"](crawl.directory, Seed(tuple(f"{origin}/" for origin in origins)))

        def standing(now: dict[str, int]) -> bool:
            if not now["commit"]:
                return False
            rows = whimbrel.open(crawl.directory).sql("select qualification from hosts where host like '%exhibit%'")
            return [row["qualification"] for row in rows.dicts()] == ["disqualified"] * 3

        crawl.until(standing, "the hosts are disqualified")
        asked = time.time()
        for origin, call in zip(origins, CALLERS.values(), strict=True):
            call(crawl.directory, Allow(origin, without_robots=True))
        crawl.wait()
        visited = {one.host.partition(":")[0] for one in crawl.requests(since=asked) if one.served != "robots"}
        assert visited >= set(names)


def test_a_checkpoint_is_durable_when_it_returns(tmp_path: Path) -> None:
    with crawling(LONG, tmp_path, **{"journal.every_s": 600.0}) as crawl:
        for call in CALLERS.values():
            before = crawl.until(lambda now: now["progress"]["visited"] > 20, "some visits")["progress"]["visited"]
            commit = call(crawl.directory, Checkpoint())["commit"]
            rows = whimbrel.open(crawl.directory).sql("select count(*) as n from fetches").dicts()[0]["n"]
            assert rows >= before
            assert crawl.status()["commit"] == commit
        crawl.process.kill()
        crawl.process.wait()
    assert command("verify", str(crawl.directory)).returncode == 0


@pytest.mark.parametrize("way", CALLERS)
def test_stop_lets_visits_end_and_abort_does_not(tmp_path: Path, way: str) -> None:
    with crawling(LONG, tmp_path) as crawl:
        crawl.until(lambda now: now["progress"]["visited"] > 20, "some visits")
        CALLERS[way](crawl.directory, Stop())
        assert crawl.wait()["state"] == "stopped"
        assert not (crawl.directory / "control.json").exists()
        resume = [sys.executable, "-m", "whimbrel", "resume", str(crawl.directory), "--json"]
        with started(resume, crawl.served, crawl.directory) as again:
            again.until(lambda now: now["progress"]["visiting"] > 0, "some visits under way")
            CALLERS[way](again.directory, Abort())
            again.process.wait(PATIENCE_S / 2)
    assert command("verify", str(crawl.directory)).returncode == 0


def test_filters_and_limits_change_while_it_runs(tmp_path: Path) -> None:
    spec = WebSpec(hosts=6, pages=60, latency_ms=40, robots={}, exhibits={})
    with crawling(spec, tmp_path, "--connections", "2") as crawl:
        hosts = [host_name(crawl, number) for number in (3, 4, 5)]
        crawl.control.pause()  # Else it may have found all of their pages before the last is excluded.
        for call, host in zip(CALLERS.values(), hosts, strict=True):
            config = crawl.control.config()
            call(crawl.directory, Set({"exclude": [*config.options["exclude"], f"*//{host}:*"]}))
        excluded = time.time()
        crawl.control.unpause()
        crawl.wait()
        late = [one for one in crawl.requests(since=excluded) if one.host.partition(":")[0] in hosts]
        # What was queued before is still visited; nothing is added.
        left = whimbrel.open(crawl.directory).sql(
            "select distinct host(l.target) as host from links l anti join fetches f on l.target = f.url"
        )
        assert len(late) < 3 * 60
        assert {row["host"] for row in left.dicts()} == set(hosts)


def _without_port(url: str) -> str:
    host, slash, path = url.partition("//")[2].partition("/")
    return host.partition(":")[0] + slash + path


def host_name(crawl: RunningCrawl, number: int) -> str:
    return crawl.served.web.hosts.origin(number).partition("//")[2].partition(":")[0]
