"""Random crawls without a network, killed and resumed at random, beside a model of what the frontier has to do."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from tests.frontier.model import NEVER, Model
from tests.frontier.rig import Rig, quick_directory, url_of
from whimbrel.frontier import host, line, queue
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.frontier.order import Order, end_of, is_waiting, retry_key
from whimbrel.frontier.seen import SeenConfig
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.state.group import Group
from whimbrel.url import parse
from whimbrel.visit import Discovered, HostName, Visit, VisitResult

LEAST_HOLD_S = 2.0
ROBOTS = "User-agent: *\nDisallow: */no/\n"
SLACK_S = 0.002 + 1e-6
"""Times on disk are whole milliseconds, and between two clocks the last digits are lost."""

HOSTS_BYTES = 8_000


class Machine:
    """Takes random steps. Sites have a domain and addresses of few; everything that memory holds is tiny."""

    def __init__(self, directory: Path, order: Order, seed: int, *, hosts: int, exact: bool = True) -> None:
        self.dice = Random(seed)  # noqa: S311
        self.exact = exact
        """The frontier must let out whatever can be let out; it need not where lines are longer than it keeps."""
        config = FrontierConfig(
            order=order,
            max_pages_per_host=self.dice.choice([None, None, 7]),
            park_after=3,
            park_s=(900.0, 3_600.0),
            qualifying=3,
            hosts_bytes=HOSTS_BYTES,
            due_cached=8,
        )
        gate_ = GateConfig(crowd_domains=self.dice.choice([3, 50]), crowd_cap=3, address_cap=2, margin_s=0.0)
        self.rig = Rig(directory, config, gate_, SeenConfig(cached=10))
        self.model = Model(self.rig.clock, config, gate_)
        self.hosts = hosts
        self.out: list[Visit] = []
        self.asked: list[HostDue] = []
        self.sealed: list[tuple[Group, Any]] = []
        self.durable: Any = self.model.snapshot()
        self.commit()
        self.steps = {
            self.add: 30,
            self.take: 30,
            self.end: 22,
            self.answer: 12,
            self.advance: 12,
            self.seal: 3,
            self.write: 3,
            self.commit: 1,
            self.crash: 0.6,
        }

    def step(self) -> None:
        self.dice.choices(list(self.steps), list(self.steps.values()))[0]()
        self.compare()

    def add(self) -> None:
        dice = self.dice
        at = dice.randrange(self.hosts)
        path = "/".join(dice.choices("abc", k=dice.randrange(3))) + f"/{dice.choice(['', 'no/'])}{dice.randrange(400)}"
        url = parse(f"http://h{at}.d{at % 7}.example/{path}")
        assert url is not None
        depth, redirects = dice.randrange(4), dice.choice([0, 0, 0, 1])
        name = HostName(url.site, url.scheme, url.host, url.port, f"d{at % 7}.example")
        new = self.model.add(url.text, name, depth, redirects)
        assert self.rig.frontier.add(Discovered(url, depth, redirects=redirects)) == ("" if new else "seen")

    def take(self) -> None:
        frontier, model = self.rig.frontier, self.model
        model.wake()
        visit = self.rig.take()
        while (due := frontier.take_host()) is not None:
            self.ask(due)
        if visit is not None:
            model.take(visit)
            self.out.append(visit)
            return
        due_s = frontier.due_in_s()
        room = len(self.asked) < frontier.config.qualifying
        possible_s = min((model.possible_s(site, room=room) for site in model.sites.values()), default=NEVER)
        again_s = [e.again_ms - self.rig.clock.wall_ms for e in model.entries.values() if e.state == "waiting"]
        assert due_s is not None or possible_s == NEVER, "it waits for nothing"
        assert due_s is not None or not again_s
        if due_s is not None and due_s > 1e-6 and self.exact:
            now_s = self.rig.clock.now_s()
            assert now_s + due_s <= possible_s + SLACK_S, "it oversleeps"
            assert now_s < possible_s + SLACK_S, "it lets nothing out"

    def ask(self, due: HostDue) -> None:
        site = self.model.sites[due.host.site]
        assert not site.asking
        assert not site.in_flight
        assert not site.given_up
        assert self.model.is_over(site, self.rig.clock.wall_s() + 1e-6)
        assert self.rig.clock.now_s() >= self.model.host_free_s(site) - SLACK_S
        assert (due.before is None) == (site.qualification is None)
        site.asking = True
        self.asked.append(due)
        assert len(self.asked) <= self.rig.config.qualifying

    def answer(self) -> None:
        if self.asked:
            due = self.asked.pop(self.dice.randrange(len(self.asked)))
            site = self.model.sites[due.host.site]
            site.asking = False
            if due.addresses_only and self.dice.random() < 0.8:
                self.refresh(due)
                return
            site.qualification = self.qualification(due)
            if site.qualification.standing == "for-good":
                site.given_up = site.qualification.reason
            self.rig.frontier.qualified(due.host, site.qualification)

    def refresh(self, due: HostDue) -> None:
        site, wall_s = self.model.sites[due.host.site], self.rig.clock.wall_s()
        assert site.qualification is not None
        times = {name: getattr(site.qualification, name) for name in ("until_s", "addresses_until_s")}
        assert due.before is not None
        assert times == pytest.approx({name: getattr(due.before, name) for name in times}, abs=1e-6)
        assert msgspec.structs.replace(due.before, **times) == msgspec.structs.replace(site.qualification, robots="")
        new: dict[str, Any] = {"addresses": (f"192.0.2.{self.dice.randrange(4)}",), "addresses_until_s": wall_s + 300.0}
        if self.dice.random() < 0.2:
            new = {"standing": "disqualified", "until_s": wall_s + 60.0, "addresses": (), "reason": "dns"}
        site.qualification = msgspec.structs.replace(site.qualification, **new)
        self.rig.frontier.refreshed(due.host, msgspec.structs.replace(due.before, **new))
        # None is over at once, so that no host is asked again and again.
        until_s = max(site.qualification.until_s, wall_s + LEAST_HOLD_S)
        site.qualification = msgspec.structs.replace(site.qualification, until_s=until_s)

    def qualification(self, due: HostDue) -> Qualification:
        dice, wall_s = self.dice, self.rig.clock.wall_s()
        number = sum(map(ord, due.host.host))
        addresses = (f"192.0.2.{number % 3}", f"2001:db8::{number % 2}:0:0:0:{number % 5}")
        kind = dice.choices(["qualified", "disqualified", "for-good"], [20, 4, 1])[0]
        if kind != "qualified":
            standing: Any = kind
            return Qualification(standing, wall_s + dice.choice([60.0, 3600.0]), (), wall_s + 60, reason="dns")
        return Qualification(
            *("qualified", wall_s + dice.choice([600.0, 86_400.0])),
            *(tuple(dice.sample(addresses, dice.randrange(1, 3))), wall_s + dice.choice([300.0, 21_600.0])),
            robots=dice.choice(["", ROBOTS]),
            crawl_delay_s=dice.choice([0.0, 0.0, 5.0, 1_000.0]),
        )

    def end(self) -> None:
        if not self.out:
            return
        dice = self.dice
        visit = self.out.pop(dice.randrange(len(self.out)))
        kind = dice.choices(["good", "slow", "busy", "broken", "dead"], [60, 5, 6, 6, 23])[0] if visit.address else ""
        ending = {
            "slow": VisitResult(elapsed_s=7.0, status=200),
            "busy": VisitResult(elapsed_s=0.1, status=dice.choice([429, 503]), retry_after_s=dice.choice([0.0, 40.0])),
            "broken": VisitResult(elapsed_s=0.1, status=500, trouble="http-500"),
            "dead": VisitResult(elapsed_s=3.0, trouble="timeout", connected=False),
        }.get(kind, VisitResult(elapsed_s=0.1, status=200))
        again_s = None
        if kind in ("busy", "broken", "dead") and visit.attempt < 3:
            again_s = max(30.0 * 4 ** (visit.attempt - 1), ending.retry_after_s)
            self.rig.frontier.retry(visit, ending, again_s)
        else:
            self.rig.frontier.finish(visit, ending)
        self.model.end(visit, ending, again_s=again_s)

    def advance(self) -> None:
        due_s = self.rig.frontier.due_in_s()
        choices = [0.0, 0.001, 0.3, 1.0, 2.5, due_s or 0.0, due_s or 0.0]
        self.rig.clock.advance(self.dice.choice(choices) if self.dice.random() < 0.97 else 5_000.0)

    def seal(self) -> None:
        if len(self.sealed) < 2:
            self.sealed.append((self.rig.seal(), self.model.snapshot()))

    def write(self) -> None:
        if self.sealed:
            group, self.durable = self.sealed.pop(0)
            self.rig.write(group)

    def commit(self) -> None:
        self.seal()
        while self.sealed:
            self.write()
        self.check_disk()

    def crash(self) -> None:
        self.rig.crash(self.dice.choice([0.0, 0.5, 100_000.0]))
        self.model.restore(self.durable, self.rig.clock)
        self.out, self.asked, self.sealed = [], [], []
        self.commit()

    def compare(self) -> None:
        frontier = self.rig.frontier
        assert frontier.queued == self.model.queued
        assert frontier.visiting == len(self.out)
        assert frontier.qualifying == len(self.asked)
        assert frontier.empty == (not self.model.queued)
        table = frontier.table
        loaded = table._hosts.values()
        assert table._left_bytes == HOSTS_BYTES - sum(one.counted_bytes for one in loaded)
        idle = [one for one in loaded if not (one.busy or one.changed or one.out)]
        assert len(idle) <= HOSTS_BYTES // host._HOST_BYTES + 8
        for one in loaded:
            assert len(one.buffer) <= 2 * host.BUFFER
            entries = sum(host._ENTRY_BYTES + len(value) for _, value in one.buffer)
            assert one.bytes == host._HOST_BYTES + 3 * len(one.name.site) + entries
        for schedule in (frontier._scheduler._visits, frontier._scheduler._qualifications):
            assert len(schedule._heap) <= 2 * schedule._most + schedule._page
        assert not frontier._scheduler._held._heap

    def check_disk(self) -> None:
        """On disk every host that has something to visit stands in one schedule. Others may, until it is their turn."""
        table = self.rig.frontier.table
        names = [self.model.sites[e.site].name for e in self.model.entries.values() if e.state in ("queued", "out")]
        wanted = {table.id_of(name.site, name.host) for name in names}
        found = [key[9:] for key, _ in self.rig.state.scan("due", b"", b"\xff" * 20, 10_000)]
        assert len(found) == len(set(found))
        assert wanted <= set(found)
        queue_ = sum(len(self.rig.state.scan("queue", one, end_of(one), 10_000)) for one in wanted)
        assert queue_ == len(names)
        waiting = self.rig.state.scan("retry", b"", b"\xff", 10_000)
        assert len(waiting) == sum(e.state == "waiting" for e in self.model.entries.values())
        entries = [key for key, _ in self.rig.state.pairs("queue", b"", b"\xff", 10_000)]
        assert {retry_key(key) for key in entries if is_waiting(key)} == {key for key, _ in waiting}
        for entry in self.model.entries.values():
            queued = self.rig.frontier.find(url_of(entry.url))
            assert (queued is not None) == (entry.state != "done"), entry

    def drain(self) -> None:
        """To the end: nothing is added any more, and no limit holds a host back."""
        self.commit()
        self.rig.crash(max_pages_per_host=None)
        self.model.config = self.rig.config
        self.model.restore(self.durable, self.rig.clock)
        self.out, self.asked = [], []
        for _ in range(60_000):
            if self.model.queued == 0:
                break
            self.take()
            self.end()
            self.answer()
            if not self.out and not self.asked:
                self.rig.clock.advance(self.rig.frontier.due_in_s() or 0.0)
        self.compare()
        assert self.rig.frontier.empty
        assert self.rig.take() is None
        assert self.rig.frontier.due_in_s() is None
        assert {entry.state for entry in self.model.entries.values()} == {"done"}
        self.commit()
        assert self.rig.state.scan("due", b"", b"\xff" * 20, 10) == []


def run(machine: Machine, steps: int) -> None:
    try:
        for _ in range(steps):
            machine.step()
        machine.drain()
    finally:
        machine.rig.close()


@pytest.fixture
def directory() -> Iterator[Path]:
    with quick_directory() as found:
        yield found


@pytest.fixture(autouse=True)
def _tiny_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "BUFFER", 3)
    monkeypatch.setattr(queue, "BUFFER", 3)
    monkeypatch.setattr(host, "_BUFFER_BYTES", 500)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ["breadth", "depth", "ascend"])
def test_every_url_is_visited_once_in_order_and_politely_whatever_dies(
    directory: Path, order: Order, seed: int
) -> None:
    run(Machine(directory, order, seed, hosts=6 + 12 * seed), 1_500)


@pytest.mark.parametrize("seed", range(2))
def test_long_lines_cost_time_but_lose_nobody(directory: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "LINE", 2)
    run(Machine(directory, "breadth", 100 + seed, hosts=40, exact=False), 1_500)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(1_000, 1_060))
def test_every_url_is_visited_once_in_hundreds_of_crawls(directory: Path, seed: int) -> None:
    order: Order = Random(seed).choice(["breadth", "depth", "ascend"])  # noqa: S311
    run(Machine(directory, order, seed, hosts=2 + seed % 40), 5_000)
