"""The frontier in memory: order, one visit at a time per host, delays, and nothing forgotten before it is finished."""

from hypothesis import given
from hypothesis import strategies as st

from whimbrel.frontier.api import Discovered
from whimbrel.frontier.memory import FrontierConfig, MemoryFrontier, MemorySeen
from whimbrel.url import Url, parse


def url(text: str) -> Url:
    found = parse(text)
    assert found is not None
    return found


def frontier(**config: float | None) -> MemoryFrontier:
    return MemoryFrontier(FrontierConfig(**config))  # type: ignore[arg-type]


def test_a_url_is_new_once() -> None:
    seen = MemorySeen()
    assert seen.add(url("http://a.test/"))
    assert not seen.add(url("http://a.test/"))
    assert seen.add(url("http://a.test/?"))


def test_urls_of_a_host_come_in_the_order_they_were_found_and_one_at_a_time() -> None:
    queue = frontier(delay_s=0)
    for path in "abc":
        queue.add(Discovered(url(f"http://a.test/{path}"), 1))
    first = queue.take(0.0)
    assert first is not None
    assert first.url.target == "/a"
    assert queue.take(0.0) is None, "one visit at a time"
    queue.finish(first, 0.0)
    second = queue.take(0.0)
    assert second is not None
    assert second.url.target == "/b"


def test_the_target_of_a_redirect_goes_to_the_head() -> None:
    queue = frontier(delay_s=0)
    queue.add(Discovered(url("http://a.test/1"), 1))
    queue.add(Discovered(url("http://a.test/moved"), 1, "http://a.test/0", redirects=1))
    visit = queue.take(0.0)
    assert visit is not None
    assert (visit.url.target, visit.redirects) == ("/moved", 1)


def test_the_delay_counts_from_the_end_of_a_visit_also_for_a_host_that_ran_dry() -> None:
    queue = frontier(delay_s=5)
    queue.add(Discovered(url("http://a.test/1"), 0))
    visit = queue.take(0.0)
    assert visit is not None
    queue.finish(visit, 100.0)
    queue.add(Discovered(url("http://a.test/2"), 0))
    assert queue.take(104.9) is None
    assert queue.due_s() == 105.0
    assert queue.take(105.0) is not None


def test_it_is_empty_only_when_the_last_visit_is_finished() -> None:
    queue = frontier(delay_s=0)
    story = [queue.empty]
    queue.add(Discovered(url("http://a.test/"), 0))
    visit = queue.take(0.0)
    assert visit is not None
    story.append(queue.empty)
    queue.finish(visit, 0.0)
    story.append(queue.empty)
    assert story == [True, False, True]


def test_a_page_limit_lets_no_more_out_and_ends_the_crawl() -> None:
    queue = frontier(delay_s=0, max_pages=1)
    for host in "ab":
        queue.add(Discovered(url(f"http://{host}.test/"), 0))
    visit = queue.take(0.0)
    assert visit is not None
    assert queue.take(0.0) is None
    queue.finish(visit, 0.0)
    assert queue.empty
    assert queue.queued == 1


def test_listeners_hear_of_new_urls_and_of_finished_visits() -> None:
    heard: list[int] = []
    queue = frontier(delay_s=0)
    queue.listen(lambda: heard.append(1))
    queue.add(Discovered(url("http://a.test/"), 0))
    visit = queue.take(0.0)
    assert visit is not None
    queue.finish(visit, 0.0)
    assert len(heard) == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=60), st.integers(0, 20))
def test_no_host_is_served_inside_its_delay_and_every_url_comes_once(
    steps: list[tuple[int, int]], delay_s: int
) -> None:
    queue, now, under_way = frontier(delay_s=delay_s), 0.0, []
    ended: dict[str, float] = {}
    added, taken = [], []
    for number, (host, passed) in enumerate(steps):
        now += passed
        added.append(f"http://h{host}.test/{number}")
        queue.add(Discovered(url(added[-1]), 0))
        visit = queue.take(now)
        if visit is not None:
            assert now - ended.get(visit.url.site, -1_000.0) >= delay_s
            under_way.append(visit)
            taken.append(visit.url.text)
        if under_way and host % 2:
            done = under_way.pop(0)
            queue.finish(done, now)
            ended[done.url.site] = now
    while not queue.empty:
        for done in under_way:
            queue.finish(done, now)
        under_way.clear()
        now += delay_s + 1
        while (visit := queue.take(now)) is not None:
            under_way.append(visit)
            taken.append(visit.url.text)
    assert sorted(taken) == sorted(added)
