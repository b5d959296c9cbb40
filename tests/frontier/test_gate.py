"""The gate's clocks (hosts, domains, addresses), its lines, and who may wait in them."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.frontier.clock import VirtualClock
from tests.frontier.rig import Rig, qualified, quick_directory, url_of
from whimbrel.clock import SystemClock
from whimbrel.frontier import pace_table
from whimbrel.frontier.gate import PacedGate
from whimbrel.frontier.line import LINE
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.frontier.pace import network_of
from whimbrel.frontier.permit import LocalPermits
from whimbrel.qualify.robots_fetch import RobotsFinding
from whimbrel.qualify.robots_policy import Circumstance, QualifyConfig, judge
from whimbrel.state.memory import MemoryState
from whimbrel.visit import HostName, Visit, VisitResult

ADDRESS = "192.0.2.7"


@pytest.fixture
def directory() -> Iterator[Path]:
    with quick_directory() as found:
        yield found


def gate_of(clock: VirtualClock | SystemClock, state: MemoryState | None = None, /, **config: object) -> PacedGate:
    gate = PacedGate(GateConfig(**{"margin_s": 0.0, **config}))  # type: ignore[arg-type]
    gate.bind("clock", clock)
    gate.bind("state", state or MemoryState())
    gate.bind("permits", LocalPermits())
    asyncio.run(gate.open())
    return gate


def host_of(number: int, domain: int | None = None) -> HostName:
    name = f"h{number}.d{number if domain is None else domain}.example"
    return HostName(f"http://{name}:80", "http", name, 80, name.partition(".")[2])


def enters(gate: PacedGate, host: HostName, address: str = ADDRESS, crawl_delay_s: float = 0.0) -> bool:
    """Whether a host may be visited now; if so, the request is sent at once."""
    let_in = gate.try_enter(host, address, crawl_delay_s, gate.clock.now_s()) is None
    if let_in:
        gate.sent(url_of(f"{host.site}/"), address)
    return let_in


def test_the_clock_of_an_address_counts_from_when_a_request_is_sent_and_not_from_when_it_was_let_out() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)
    slow, other = host_of(1), host_of(2)
    assert gate.try_enter(slow, ADDRESS, 0.0, clock.now_s()) is None
    clock.advance(3.0)
    assert not enters(gate, other), "the first is still connecting"
    gate.sent(url_of("http://h1.d1.example/"), ADDRESS)
    clock.advance(0.4)
    assert not enters(gate, other)
    clock.advance(0.1)
    assert enters(gate, other)


def test_the_clock_of_an_address_counts_from_when_an_answer_has_come_and_not_from_when_it_is_settled() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)
    slow, other = host_of(1), host_of(2)
    assert enters(gate, slow)
    clock.advance(0.6)
    gate.landed(ADDRESS)
    clock.advance(0.4)
    assert not enters(gate, other), "it is 0.4 s since the answer, which waits to be settled"
    clock.advance(0.1)
    assert enters(gate, other)


def test_who_could_not_connect_keeps_nobody_from_the_address() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)
    dead, other = host_of(1), host_of(2)
    assert gate.try_enter(dead, ADDRESS, 0.0, clock.now_s()) is None
    clock.advance(10.0)
    gate.left(dead, ADDRESS, 0.1)
    assert not enters(gate, other)
    clock.advance(0.5)
    assert enters(gate, other)


def test_a_content_network_with_ten_thousand_hosts_has_twenty_requests_in_flight(directory: Path) -> None:
    rig = Rig(directory, FrontierConfig(qualifying=20_000, new_hosts=20_000))
    for number in range(10_000):
        rig.add(f"http://h{number}.d{number}.example/")
    assert len(rig.qualify(address=ADDRESS)) == 10_000
    out: list[Visit] = []
    most, alone, done = 0, 0, 0
    while done < 400:
        while (visit := rig.take()) is not None:
            out.append(visit)
        most = max(most, len(out))
        alone = max(alone, len(out)) if done < 40 else alone
        if done % 40 == 0:
            busy = sum(host.busy for host in rig.frontier.table._hosts.values())
            assert busy <= len(out) + LINE, "the others wait on disk"
        rig.clock.advance(0.2)
        for visit in out[:2]:
            rig.frontier.finish(visit, VisitResult(elapsed_s=0.2, status=200))
            done += 1
        del out[:2]
    assert alone <= 4, "as long as it is not known for a content network"
    assert most == 20
    rig.close()


def crowded(clock: VirtualClock, **config: object) -> PacedGate:
    """A gate that knows its address for a content network, with nothing in flight."""
    gate = gate_of(clock, **config)
    for number in range(51):
        clock.advance(1.0)
        assert enters(gate, host_of(number))
        gate.left(host_of(number), ADDRESS, 0.0)
    return gate


def filled(gate: PacedGate, start: int = 1_000) -> int:
    """How many new hosts are let in at once."""
    count = 0
    while count < 200 and enters(gate, host_of(start + count)):
        count += 1
    return count


def test_a_content_network_that_complains_gets_half_and_wins_it_back_slowly() -> None:
    clock = VirtualClock()
    gate = crowded(clock)
    assert filled(gate) == 20
    for number, cap in enumerate((10, 5, 2, 1, 1)):
        gate.left(host_of(1_000 + number), ADDRESS, 0.0, status=429 if number % 2 else 503)
        assert gate._paces.addresses[ADDRESS].cap == cap
    for number in range(5, 20):
        gate.left(host_of(1_000 + number), ADDRESS, 0.0, status=200)
    assert filled(gate, 2_000) == 1
    gate.left(host_of(2_000), ADDRESS, 0.0)
    for number in range(3_000, 3_050):
        assert enters(gate, host_of(number))
        gate.left(host_of(number), ADDRESS, 0.0, status=200)
    assert filled(gate, 4_000) == 2


def visited(rig: Rig, number: int, status: int = 200) -> None:
    """One visit of a host of its own at the shared address, from its discovery to its end."""
    rig.add(f"http://h{number}.d{number}.example/")
    rig.qualify(address=ADDRESS)
    visit = rig.next()
    assert visit is not None
    rig.frontier.finish(visit, VisitResult(elapsed_s=0.1, status=status))
    rig.clock.advance(1.0)


def let_out(rig: Rig, start: int) -> int:
    """How many of thirty new hosts at the shared address are visited at once."""
    for number in range(start, start + 30):
        rig.add(f"http://h{number}.d{number}.example/")
    rig.qualify(address=ADDRESS)
    rig.clock.advance(1.0)
    out = []
    while (visit := rig.take()) is not None:
        out.append(visit)
    for visit in out:
        rig.frontier.finish(visit, VisitResult(elapsed_s=0.1, status=200))
    return len(out)


def test_a_content_network_is_known_after_the_process_was_killed(directory: Path) -> None:
    rig = Rig(directory)
    for number in range(51):
        visited(rig, number)
    visited(rig, 51, status=429)
    rig.commit()
    rig.crash()
    rig.clock.advance(10.0)
    assert let_out(rig, 100) == 10, "half of what it may have, since it complained"
    rig.close()


def test_a_content_network_that_no_commit_has_seen_is_forgotten(directory: Path) -> None:
    rig = Rig(directory)
    for number in range(40):
        visited(rig, number)
    rig.commit()
    for number in range(40, 51):
        visited(rig, number)
    rig.crash()
    rig.clock.advance(10.0)
    assert let_out(rig, 100) == 1
    rig.close()


def test_a_content_network_by_a_lower_limit_is_none_by_a_higher_one() -> None:
    clock = VirtualClock()
    state = MemoryState()
    low = gate_of(clock, state, crowd_domains=3)
    for number in range(4):
        assert enters(low, host_of(number))
        low.left(host_of(number), ADDRESS, 0.1)
        clock.advance(1.0)
    assert filled(gate_of(clock, state, crowd_domains=3)) == 20
    assert filled(gate_of(clock, state, crowd_domains=3, crowd_cap=5)) == 5
    assert filled(gate_of(clock, state)) == 1


def test_an_address_of_few_domains_has_four_in_flight_half_a_second_apart() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)
    starts = []
    for number in range(20):
        if enters(gate, host_of(number)):
            starts.append(clock.now_s())
        clock.advance(0.25)
    assert len(starts) == 4
    assert all(after - before >= 0.5 for before, after in pairwise(starts))
    gate.left(host_of(0), ADDRESS, 0.0)
    assert not enters(gate, host_of(50)), "half a second after the end, too"
    clock.advance(0.5)
    assert enters(gate, host_of(50))


def test_addresses_of_version_6_count_by_their_network() -> None:
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2::") == "2001:db8:1:2::"
    assert network_of("2001:db8:1:3::1") != network_of("2001:db8:1:2::1")
    gate = gate_of(VirtualClock())
    assert enters(gate, host_of(1), "2001:db8::1")
    assert not enters(gate, host_of(2), "2001:db8::2")
    assert enters(gate, host_of(3), "2001:db8:0:1::1")


def test_a_domain_is_asked_once_a_second_and_never_twice_at_once() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)
    assert enters(gate, host_of(1, domain=1), "192.0.2.1")
    clock.advance(10.0)
    assert not enters(gate, host_of(2, domain=1), "192.0.2.2")
    gate.left(host_of(1, domain=1), "192.0.2.1", 0.1)
    clock.advance(0.999)
    assert not enters(gate, host_of(2, domain=1), "192.0.2.2")
    clock.advance(0.001)
    assert enters(gate, host_of(2, domain=1), "192.0.2.2")


def test_every_delay_has_a_margin_unless_there_is_none() -> None:
    """A server may see the end of an answer a little later than we do."""
    clock = VirtualClock()
    gate = gate_of(clock, margin_s=0.02)
    assert enters(gate, host_of(1))
    gate.left(host_of(1), ADDRESS, 0.1)
    clock.advance(1.019)
    assert not enters(gate, host_of(1))
    clock.advance(0.001)
    assert enters(gate, host_of(1))
    free = gate_of(clock, margin_s=0.02, delay_s=0.0)
    assert enters(free, host_of(1))
    free.left(host_of(1), ADDRESS, 0.0)
    assert enters(free, host_of(1))


def test_no_delay_lifts_all_caps_but_one_request_per_host() -> None:
    gate = gate_of(VirtualClock(), delay_s=0.0)
    assert all(enters(gate, host_of(number, domain=number % 60)) for number in range(300))
    assert not enters(gate, host_of(0, domain=0))
    gate.left(host_of(0, domain=0), ADDRESS, 9.0, status=503)
    assert enters(gate, host_of(0, domain=0))
    assert all(enters(gate, host_of(number, domain=number % 60)) for number in range(300, 400))


@pytest.mark.parametrize(
    ("config", "elapsed_s", "crawl_delay_s", "delay_s", "after_robots_s"),
    [
        ({}, 0.1, 0.0, 1.0, 1.0),
        ({}, 4.0, 0.0, 8.0, 8.0),
        ({}, 60.0, 0.0, 30.0, 30.0),
        ({}, 0.1, 7.0, 7.0, 7.0),
        ({}, 0.1, 5_000.0, 300.0, 300.0),
        ({"max_crawl_delay_s": 20.0}, 0.1, 5_000.0, 20.0, 20.0),
        ({"mode": "broad"}, 0.1, 0.0, 30.0, 1.0),
        ({"mode": "broad"}, 0.1, 60.0, 60.0, 60.0),
        ({"delay_s": 0.5}, 9.0, 0.0, 0.5, 1.0),
        ({"delay_s": 3.0}, 0.1, 0.0, 3.0, 3.0),
        ({"delay_s": 3.0}, 0.1, 9.0, 9.0, 9.0),
        ({"delay_s": 0.0}, 9.0, 0.0, 0.0, 0.0),
        ({"min_delay_s": 0.2}, 0.01, 0.0, 0.2, 1.0),
    ],
)
def test_the_delay_after_an_answer(
    config: dict[str, object], elapsed_s: float, crawl_delay_s: float, delay_s: float, after_robots_s: float
) -> None:
    gate = gate_of(VirtualClock(), **config)
    assert gate.host_delay_s(elapsed_s, crawl_delay_s) == delay_s
    assert gate.host_delay_s(elapsed_s, crawl_delay_s, qualifying=True) == after_robots_s


def test_after_a_restart_everything_counts_as_just_visited() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)
    gate.mark_visited()
    assert not enters(gate, host_of(1))
    assert not enters(gate, host_of(2), crawl_delay_s=5.0)
    clock.advance(1.0)
    assert enters(gate, host_of(1))
    clock.advance(1.0)
    assert not enters(gate, host_of(2), crawl_delay_s=5.0)
    clock.advance(3.0)
    assert enters(gate, host_of(2), crawl_delay_s=5.0)


def test_a_delay_that_was_not_known_when_a_host_was_first_asked_counts_all_the_same() -> None:
    """Another host's robots.txt redirects to it right after a restart."""
    clock = VirtualClock()
    gate = gate_of(clock)
    gate.mark_visited()
    clock.advance(1.0)
    assert enters(gate, host_of(1), "192.0.2.1")
    gate.left(host_of(1), "192.0.2.1", 0.1)
    clock.advance(2.0)
    assert not enters(gate, host_of(1), "192.0.2.1", crawl_delay_s=60.0)
    assert gate.free_s(host_of(1), 60.0) == clock.now_s() + 57.0


def test_the_number_of_paces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace_table, "MAX_PACES", 300)
    clock = VirtualClock()
    gate = gate_of(clock)
    gate.mark_visited()
    clock.advance(301.0)
    for number in range(5_000):
        address = f"192.0.{number // 250}.{number % 250}"
        assert enters(gate, host_of(number), address)
        gate.left(host_of(number), address, 0.1)
        clock.advance(0.1)
        assert sum(gate.sizes().values()) <= 310


def test_who_asks_for_robots_txt_waits_in_the_same_lines() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)

    async def main() -> None:
        assert enters(gate, host_of(1, domain=1))
        waiting = asyncio.create_task(gate.enter(host_of(2, domain=1), "192.0.2.9", own=True))
        await asyncio.sleep(0)
        gate.left(host_of(1, domain=1), ADDRESS, 0.1)
        gate.wake(clock.now_s())
        await asyncio.sleep(0)
        assert not waiting.done()
        clock.advance(1.0)
        assert gate.next_s() is not None
        gate.wake(clock.now_s())
        await waiting
        assert not enters(gate, host_of(3, domain=1), "192.0.2.10")
        gate.leave(host_of(2, domain=1), "192.0.2.9", 0.1, own=True)
        clock.advance(1.0)
        assert enters(gate, host_of(3, domain=1), "192.0.2.10")

    asyncio.run(main())


def test_who_waits_is_let_in_by_the_time_alone_and_the_frontier_is_told() -> None:
    """`whimbrel fetch` has no frontier that wakes the gate."""
    gate = gate_of(SystemClock(), delay_s=0.05)
    told = Counter[str]()
    gate.listen(lambda: told.update(["told"]))

    async def main() -> float:
        began_s = asyncio.get_running_loop().time()
        for _ in range(3):
            await gate.enter(host_of(1), ADDRESS, own=False)
            gate.leave(host_of(1), ADDRESS, 0.0, own=False)
        return asyncio.get_running_loop().time() - began_s

    assert 0.1 <= asyncio.run(main()) < 5
    assert told["told"] >= 3


def test_who_gives_up_waiting_takes_nobodys_place() -> None:
    clock = VirtualClock()
    gate = gate_of(clock)

    async def main() -> None:
        assert enters(gate, host_of(1))
        tasks = [asyncio.create_task(gate.enter(host_of(1), ADDRESS, own=True)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        gate.left(host_of(1), ADDRESS, 0.1)
        clock.advance(1.0)
        gate.wake(clock.now_s())
        tasks[1].cancel()  # It has been let in, and does not know it yet.
        await asyncio.wait(tasks[1:2])
        assert gate._paces.addresses[ADDRESS].in_flight == 0
        clock.advance(1.0)
        gate.wake(clock.now_s())
        await tasks[2]
        assert gate._paces.addresses[ADDRESS].in_flight == 1

    asyncio.run(main())


def test_a_waiting_question_is_not_overtaken_by_visits_for_ever(directory: Path) -> None:
    """One host of a domain has a long queue; another's robots.txt is wanted."""
    rig = Rig(directory)
    for number in range(50):
        rig.add(f"http://h1.d1.example/{number}")
    rig.qualify(address=ADDRESS)

    async def main() -> int:
        first = rig.next()
        assert first is not None
        rig.frontier.finish(first, VisitResult(elapsed_s=0.1, status=200))
        waiting = asyncio.create_task(rig.gate.enter(host_of(2, domain=1), ADDRESS, own=True))
        await asyncio.sleep(0)
        for count in range(50):
            visit = rig.next(10.0)
            if visit is None:
                await waiting
                return count
            rig.frontier.finish(visit, VisitResult(elapsed_s=0.1, status=200))
        return 50

    assert asyncio.run(main()) <= 2
    rig.close()


def test_nobody_in_a_line_waits_for_ever(directory: Path) -> None:
    """Sixty hosts of six domains behind three addresses, all with more work than an hour holds."""
    rig = Rig(directory, FrontierConfig(qualifying=100))
    for number in range(60):
        for page in range(100):
            rig.add(f"http://h{number}.d{number % 6}.example/{page}")
    rig.take()
    while (due := rig.frontier.take_host()) is not None:
        number = int(due.host.host[1:].partition(".")[0])
        rig.frontier.qualified(due.host, qualified(rig.clock, f"192.0.2.{number % 3}"))
    served: dict[str, list[float]] = {}
    began_s = rig.clock.now_s()
    out: list[Visit] = []
    while rig.clock.now_s() < began_s + 3_600:
        while (visit := rig.take()) is not None:
            out.append(visit)
            served.setdefault(visit.url.host, []).append(rig.clock.now_s())
        rig.clock.advance(0.25)
        for visit in out:
            rig.frontier.finish(visit, VisitResult(elapsed_s=0.25, status=200))
        out = []
    longest = max(max(b - a for a, b in pairwise(times)) for times in served.values())
    assert len(served) == 60
    assert longest < 60, "a round of ten hosts takes each domain a quarter of a minute"
    assert min(map(len, served.values())) * 2 > max(map(len, served.values()))
    rig.close()


def test_a_host_that_is_called_and_does_not_come_makes_room_for_the_next(directory: Path) -> None:
    """Its addresses have run out while it stood in the line."""
    rig = Rig(directory)
    for number in (1, 2, 3):
        rig.add(f"http://h{number}.d1.example/")
    rig.take()
    for hold_s in (1e6, 1.5, 1e6):
        due = rig.frontier.take_host()
        assert due is not None
        rig.frontier.qualified(due.host, qualified(rig.clock, ADDRESS, hold_s=hold_s))
    visits = [rig.take()]
    assert rig.take() is None
    rig.clock.advance(2.0)
    assert visits[0] is not None
    rig.frontier.finish(visits[0], VisitResult(elapsed_s=2.0, status=200))
    rig.clock.advance(1.0)
    visits.append(rig.take())
    asked = rig.frontier.take_host()
    assert asked is not None
    taken = {visit.url.host for visit in visits if visit is not None} | {asked.host.host}
    assert taken == {"h1.d1.example", "h2.d1.example", "h3.d1.example"}
    rig.close()


@pytest.mark.parametrize(
    ("most_s", "delay_s", "said"),
    [(300.0, 300.0, "Crawl-delay 600 s cut to 300 s"), (1_000.0, 600.0, "")],
)
def test_the_gate_alone_says_how_much_of_a_crawl_delay_is_honoured(
    directory: Path, most_s: float, delay_s: float, said: str
) -> None:
    rig = Rig(directory, gate=GateConfig(margin_s=0.0, max_crawl_delay_s=most_s))
    rig.add("http://h1.d1.example/1")
    rig.add("http://h1.d1.example/2")
    rig.take()
    due = rig.frontier.take_host()
    assert due is not None
    now_s = rig.clock.wall_s()
    finding = RobotsFinding(200, "User-agent: *\nCrawl-delay: 600\n")
    case = Circumstance(due.host, None, now_s, (ADDRESS,), now_s + 1e6, now_s)
    rig.frontier.qualified(due.host, judge(QualifyConfig(recheck_s=1e6), finding, case))
    assert rig.frontier.table.of(url_of("http://h1.d1.example/")).record.last_error == said
    first = rig.next()
    assert first is not None
    rig.frontier.finish(first, VisitResult(elapsed_s=0.1, status=200))
    left_s = rig.clock.now_s()
    assert rig.next() is not None
    assert rig.clock.now_s() - left_s == pytest.approx(delay_s)
    rig.close()
