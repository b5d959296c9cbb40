"""What every gate promises. The clock is virtual: minutes pass in no time."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import pytest

from tests.frontier.clock import VirtualClock
from tests.frontier.rig import url_of
from whimbrel.flow import Provider
from whimbrel.frontier.api import OPERATOR, Gate, Permit, Permits
from whimbrel.frontier.gate import PacedGate
from whimbrel.frontier.option import GateConfig
from whimbrel.frontier.permit import LocalPermits
from whimbrel.qualify.api import GateShut, HostBlocked
from whimbrel.state.memory import MemoryState
from whimbrel.visit import HostName

ADDRESS = "192.0.2.7"
ELSEWHERE = "192.0.2.8"


class Maker(Protocol):
    def __call__(self, clock: VirtualClock, permits: Permits | None = None, **config: object) -> Gate: ...


def paced_gate(clock: VirtualClock, permits: Permits | None = None, **config: object) -> Gate:
    gate = PacedGate(GateConfig(**{"margin_s": 0.0, **config}))  # type: ignore[arg-type]
    gate.bind("clock", clock)
    gate.bind("state", MemoryState())
    gate.bind("permits", permits or LocalPermits())
    asyncio.run(gate.open())
    return gate


@pytest.fixture(params=[paced_gate])
def made(request: pytest.FixtureRequest) -> Maker:
    found: Maker = request.param
    return found


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def host_of(number: int, domain: int | None = None, slot: int = -1) -> HostName:
    name = f"h{number}.d{number if domain is None else domain}.example"
    return HostName(f"http://{name}:80", "http", name, 80, name.partition(".")[2], slot)


def enters(gate: Gate, clock: VirtualClock, host: HostName, address: str = ADDRESS, crawl_delay_s: float = 0.0) -> bool:
    """Whether a visit is let in now; if so, its request is sent at once."""
    let_in = gate.try_enter(host, address, crawl_delay_s, clock.now_s()) is None
    if let_in:
        gate.sent(url_of(f"{host.site}/"), address)
    return let_in


class Waiter:
    """A host that waits in line, and enters when it is called."""

    def __init__(self, gate: Gate, clock: VirtualClock, host: HostName, address: str = ADDRESS) -> None:
        self._gate, self._clock, self._host, self._address = gate, clock, host, address
        self.inside = False
        self.again_s: float | None = None
        self.attempt()

    def attempt(self) -> bool:
        now_s = self._clock.now_s()
        pace = self._gate.try_enter(self._host, self._address, 0.0, now_s)
        self.inside = pace is None
        if pace is None:
            self._gate.sent(url_of(f"{self._host.site}/"), self._address)
        else:
            self.again_s = self._gate.wait_in_line(pace, self.attempt, now_s)
        return False


# Delays and caps.


@pytest.mark.parametrize(("crawl_delay_s", "delay_s"), [(0.0, 1.0), (7.0, 7.0), (5_000.0, 300.0)])
def test_no_host_is_visited_inside_its_delay(
    made: Maker, clock: VirtualClock, crawl_delay_s: float, delay_s: float
) -> None:
    gate = made(clock)
    host = host_of(1)
    assert enters(gate, clock, host, crawl_delay_s=crawl_delay_s)
    clock.advance(100.0)
    assert not enters(gate, clock, host), "one request is in flight"
    gate.left(host, ADDRESS, 0.1, crawl_delay_s)
    assert gate.free_s(host, crawl_delay_s) == clock.now_s() + delay_s
    clock.advance(delay_s - 0.001)
    assert not enters(gate, clock, host, crawl_delay_s=crawl_delay_s)
    clock.advance(0.001)
    assert enters(gate, clock, host, crawl_delay_s=crawl_delay_s)


def test_a_domain_has_one_request_in_flight_and_a_second_between_two(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    assert enters(gate, clock, host_of(1, domain=1), ADDRESS)
    clock.advance(10.0)
    assert not enters(gate, clock, host_of(2, domain=1), ELSEWHERE)
    gate.left(host_of(1, domain=1), ADDRESS, 0.1)
    clock.advance(0.999)
    assert not enters(gate, clock, host_of(2, domain=1), ELSEWHERE)
    clock.advance(0.001)
    assert enters(gate, clock, host_of(2, domain=1), ELSEWHERE)


def test_an_address_has_four_requests_in_flight_half_a_second_apart(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    for number in range(4):
        assert enters(gate, clock, host_of(number))
        clock.advance(0.499)
        assert not enters(gate, clock, host_of(50))
        clock.advance(0.001)
    clock.advance(60.0)
    assert not enters(gate, clock, host_of(50)), "four are in flight"


def test_while_a_request_is_connecting_no_other_goes_to_its_address(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    assert gate.try_enter(host_of(1), ADDRESS, 0.0, clock.now_s()) is None
    clock.advance(30.0)
    assert not enters(gate, clock, host_of(2))
    gate.sent(url_of("http://h1.d1.example/"), ADDRESS)
    clock.advance(0.5)
    assert enters(gate, clock, host_of(2))


def test_a_crowd_has_twenty_in_flight_and_half_of_them_after_a_429(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    for number in range(51):
        assert enters(gate, clock, host_of(number))
        gate.left(host_of(number), ADDRESS, 0.1)
        clock.advance(1.0)
    inside = [number for number in range(100, 150) if enters(gate, clock, host_of(number))]
    assert len(inside) == 20
    gate.left(host_of(inside[0]), ADDRESS, 0.1, status=429)
    for number in inside[1:]:
        gate.left(host_of(number), ADDRESS, 0.1, status=200)
    assert sum(enters(gate, clock, host_of(number)) for number in range(200, 250)) == 10


def test_blocked_hosts_are_named_and_recognised(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock, block=("d1.example", "h3.d3.example:8080"))
    assert gate.blocked == ("d1.example", "h3.d3.example:8080")
    assert gate.blocks(host_of(1))
    assert not gate.blocks(host_of(2))
    assert not gate.blocks(host_of(3))
    assert gate.blocks(HostName("http://h3.d3.example:8080", "http", "h3.d3.example", 8080, "d3.example"))
    with pytest.raises(HostBlocked):
        asyncio.run(gate.enter(host_of(1), ADDRESS, own=True))


# Lines.


def test_a_line_moves_when_its_time_comes(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    assert enters(gate, clock, host_of(1, domain=1))
    waiters = [Waiter(gate, clock, host_of(number, domain=1), f"192.0.2.{number}") for number in (2, 3)]
    gate.left(host_of(1, domain=1), ADDRESS, 0.1)
    gate.wake(clock.now_s())
    assert not any(waiter.inside for waiter in waiters)
    assert gate.next_s() == clock.now_s() + 1.0
    clock.advance(1.0)
    gate.wake(clock.now_s())
    assert [waiter.inside for waiter in waiters] == [True, False], "the first in the line, and one at a time"
    gate.left(host_of(2, domain=1), "192.0.2.2", 0.1)
    clock.advance(1.0)
    gate.wake(clock.now_s())
    assert waiters[1].inside


def test_a_host_whose_time_is_known_is_told_it_and_waits_in_no_line(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    assert enters(gate, clock, host_of(1))
    gate.left(host_of(1), ADDRESS, 0.1, 40.0)
    assert Waiter(gate, clock, host_of(1)).again_s == clock.now_s() + 40.0
    assert gate.next_s() is None


def test_a_long_line_tells_a_time_to_come_again(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    assert enters(gate, clock, host_of(0, domain=0))
    waiters = [Waiter(gate, clock, host_of(number, domain=0)) for number in range(1, 101)]
    told = [waiter.again_s for waiter in waiters if waiter.again_s is not None]
    assert 0 < len(told) < 100
    assert told == sorted(set(told))


# Rests and floors.


def test_a_rest_that_is_held_can_be_forgiven_but_not_the_delay_after_the_last_visit(
    made: Maker, clock: VirtualClock
) -> None:
    gate = made(clock)
    assert enters(gate, clock, host_of(1))
    gate.left(host_of(1), ADDRESS, 0.1)
    gate.rest_until(host_of(1), clock.now_s() + 3_600.0)
    clock.advance(1_000.0)
    assert not enters(gate, clock, host_of(1))
    gate.forgive(host_of(1))
    assert not enters(gate, clock, host_of(1))
    clock.advance(1.0)
    assert enters(gate, clock, host_of(1))


def test_a_host_can_be_held_that_was_never_visited(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    gate.rest_until(host_of(1), clock.now_s() + 60.0)
    assert not enters(gate, clock, host_of(1))
    clock.advance(60.0)
    assert enters(gate, clock, host_of(1))


@pytest.mark.parametrize("known", [False, True])
def test_a_floor_under_everything_counts_for_every_host_known_or_not(
    made: Maker, clock: VirtualClock, known: bool
) -> None:
    gate = made(clock)
    if known:
        assert enters(gate, clock, host_of(1))
        gate.left(host_of(1), ADDRESS, 0.1)
        clock.advance(1_000.0)
    gate.mark_visited()
    assert not enters(gate, clock, host_of(1))
    assert gate.free_s(host_of(1), 0.0) == clock.now_s() + 1.0
    assert gate.free_s(host_of(1), 9.0) == clock.now_s() + 9.0
    clock.advance(1.0)
    assert enters(gate, clock, host_of(1))


@pytest.mark.parametrize("known", [False, True])
def test_a_floor_under_a_slot_counts_for_its_hosts_and_their_domains_and_addresses(
    made: Maker, clock: VirtualClock, known: bool
) -> None:
    gate = made(clock, domain_s=2.0, address_s=4.0)
    taken, other = host_of(1, domain=1, slot=7), host_of(2, slot=8)
    if known:
        assert enters(gate, clock, taken)
        gate.left(taken, ADDRESS, 0.1)
        clock.advance(1_000.0)
    gate.mark_visited(7)
    began_s = clock.now_s()
    assert enters(gate, clock, other, ELSEWHERE), "other slots are as they were"
    assert gate.free_s(taken, 0.0) == began_s + 1.0
    assert not enters(gate, clock, taken)
    clock.advance(1.0)
    assert not enters(gate, clock, taken), "its domain counts, too"
    clock.advance(1.0)
    assert not enters(gate, clock, taken), "and its address"
    clock.advance(2.0)
    assert enters(gate, clock, taken)


def test_an_address_met_through_a_taken_slot_counts_for_all_that_come_after(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock, address_s=4.0)
    gate.mark_visited(7)
    assert not enters(gate, clock, host_of(1, slot=7))
    clock.advance(1.0)
    assert not enters(gate, clock, host_of(2, slot=8)), "at the same address"
    clock.advance(3.0)
    assert enters(gate, clock, host_of(2, slot=8))


# Closed for reasons, and shut.


def test_the_gate_is_open_when_every_reason_is_gone(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    told: list[frozenset[str]] = []
    gate.listen(lambda: told.append(gate.closed_for))
    gate.close_for(OPERATOR)
    gate.close_for("disk")
    gate.close_for(OPERATOR)
    assert gate.closed_for == {OPERATOR, "disk"}
    assert gate.paused
    waiter = Waiter(gate, clock, host_of(1))
    gate.reopen_for(OPERATOR)
    assert sorted(gate.closed_for) == ["disk"]
    gate.reopen_for("lease")
    gate.wake(clock.now_s())
    assert (waiter.inside, told) == (False, [])
    gate.reopen_for("disk")
    assert (waiter.inside, told) == (True, [frozenset()]), "what waited for the gate is called at once"


def test_a_closed_gate_lets_no_request_in_and_its_clocks_go_on(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)

    async def scene() -> None:
        assert enters(gate, clock, host_of(1))
        gate.left(host_of(1), ADDRESS, 2.5)
        gate.close_for("disk")
        robots = asyncio.create_task(gate.enter(host_of(2), ELSEWHERE, own=True))
        await asyncio.sleep(0)
        clock.advance(5.0)
        gate.wake(clock.now_s())
        await asyncio.sleep(0)
        assert not robots.done()
        assert not enters(gate, clock, host_of(1))
        assert gate.next_s() is None, "time alone opens nothing"
        gate.reopen_for("disk")
        await robots
        assert enters(gate, clock, host_of(1))

    asyncio.run(scene())


def test_a_gate_that_is_shut_sends_requests_away_until_it_admits_them_again(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)

    async def scene() -> None:
        gate.close_for(OPERATOR)
        waiting = asyncio.create_task(gate.enter(host_of(1), ADDRESS, own=True))
        await asyncio.sleep(0)
        gate.shut()
        with pytest.raises(GateShut):
            await waiting
        gate.reopen_for(OPERATOR)
        with pytest.raises(GateShut):
            await gate.enter(host_of(2), ADDRESS, own=True)
        gate.admit()
        await gate.enter(host_of(3), ADDRESS, own=True)

    asyncio.run(scene())


def test_listeners_end_one_by_one(made: Maker, clock: VirtualClock) -> None:
    gate = made(clock)
    told: list[int] = []
    changed = told.append
    listeners = [lambda number=number: changed(number) for number in (1, 2)]
    for listener in (*listeners, listeners[0]):
        gate.listen(listener)
    gate.unlisten(listeners[0])
    gate.unlisten(lambda: None)
    gate.close_for("disk")
    gate.reopen_for("disk")
    assert sorted(told) == [1, 2]


# Permits.


class FewPermits(Provider):
    """Grants what is named, refuses the rest until a time, and writes down what is asked of it."""

    unlimited = False

    def __init__(self) -> None:
        super().__init__()
        self.refused: dict[str, float] = {}
        self.log: list[tuple[str, str]] = []
        self.ended: list[float | None] = []
        self._again: dict[str, Callable[[], None]] = {}

    def acquire(self, permit: Permit, again: Callable[[], None]) -> float | None:
        refused_s = self.refused.get(permit.name)
        self.log.append(("refused" if refused_s is not None else "granted", permit.name))
        self._again[permit.name] = again
        return refused_s

    def release(self, permit: Permit, ended_s: float | None) -> None:
        self.log.append(("released", permit.name))
        self.ended.append(ended_s)

    def grant(self, name: str) -> None:
        del self.refused[name]
        self._again[name]()


def test_permits_are_taken_when_the_clocks_are_open_and_returned_when_a_request_is_over(
    made: Maker, clock: VirtualClock
) -> None:
    permits = FewPermits()
    gate = made(clock, permits)
    assert enters(gate, clock, host_of(1))
    assert permits.log == [("granted", "d1.example"), ("granted", ADDRESS)]
    assert not enters(gate, clock, host_of(1))
    assert len(permits.log) == 2, "a host inside its delay needs no permit"
    gate.left(host_of(1), ADDRESS, 0.1)
    assert permits.log[2:] == [("released", "d1.example"), ("released", ADDRESS)]
    assert permits.ended == [clock.now_s(), clock.now_s()]


def test_addresses_of_version_6_have_one_permit_for_their_network(made: Maker, clock: VirtualClock) -> None:
    permits = FewPermits()
    gate = made(clock, permits)
    assert enters(gate, clock, host_of(1), "2001:db8::1")
    gate.left(host_of(1), "2001:db8::1", 0.1)
    assert permits.log[1::2] == [("granted", "2001:db8::"), ("released", "2001:db8::")]


def test_a_domain_is_released_when_its_address_is_refused(made: Maker, clock: VirtualClock) -> None:
    permits = FewPermits()
    gate = made(clock, permits)
    permits.refused[ADDRESS] = clock.now_s() + 10.0
    assert not enters(gate, clock, host_of(1))
    assert permits.log == [("granted", "d1.example"), ("refused", ADDRESS), ("released", "d1.example")]
    assert permits.ended == [None]
    assert enters(gate, clock, host_of(2), ELSEWHERE), "nothing was entered, and others go where they may"


@pytest.mark.parametrize("name", ["d1.example", ADDRESS])
def test_a_refused_permit_is_asked_for_again_at_its_time(made: Maker, clock: VirtualClock, name: str) -> None:
    permits = FewPermits()
    gate = made(clock, permits)
    permits.refused[name] = clock.now_s() + 10.0
    waiter = Waiter(gate, clock, host_of(1))
    assert gate.next_s() == clock.now_s() + 10.0
    clock.advance(9.999)
    gate.wake(clock.now_s())
    assert len([what for what in permits.log if what[0] == "refused"]) == 1
    clock.advance(0.001)
    permits.refused[name] = clock.now_s() + 10.0
    gate.wake(clock.now_s())
    assert not waiter.inside
    assert len([what for what in permits.log if what[0] == "refused"]) == 2
    clock.advance(10.0)
    del permits.refused[name]
    gate.wake(clock.now_s())
    assert waiter.inside


@pytest.mark.parametrize("name", ["d1.example", ADDRESS])
def test_a_permit_that_comes_early_wakes_the_line_and_the_frontier(made: Maker, clock: VirtualClock, name: str) -> None:
    permits = FewPermits()
    gate = made(clock, permits)
    told: list[int] = []
    gate.listen(lambda: told.append(1))
    permits.refused[name] = clock.now_s() + 10.0
    waiter = Waiter(gate, clock, host_of(1))
    clock.advance(1.0)
    permits.grant(name)
    assert told == [1]
    gate.wake(clock.now_s())
    assert waiter.inside


def test_a_refusal_whose_time_is_past_does_not_make_the_gate_spin(made: Maker, clock: VirtualClock) -> None:
    permits = FewPermits()
    gate = made(clock, permits)
    permits.refused[ADDRESS] = clock.now_s() - 1.0
    Waiter(gate, clock, host_of(1))
    next_s = gate.next_s()
    assert next_s is not None
    assert next_s > clock.now_s()


def test_who_gives_up_waiting_keeps_no_permit(made: Maker, clock: VirtualClock) -> None:
    permits = FewPermits()
    gate = made(clock, permits)

    async def scene() -> None:
        permits.refused[ADDRESS] = clock.now_s() + 10.0
        waiting = asyncio.create_task(gate.enter(host_of(1), ADDRESS, own=True))
        await asyncio.sleep(0)
        permits.grant(ADDRESS)
        gate.wake(clock.now_s())
        waiting.cancel()  # It has been let in, and does not know it yet.
        await asyncio.wait([waiting])

    asyncio.run(scene())
    granted = sum(what == "granted" for what, _ in permits.log)
    assert granted == sum(what == "released" for what, _ in permits.log)
