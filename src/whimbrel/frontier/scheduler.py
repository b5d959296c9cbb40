"""Where each host that has work waits, and until when: what is known of the host itself decides (its delay, a rest, its
qualification, a hold). Whether its domain and its address let it pass is asked at the gate when its turn has come."""

from typing import Final, Literal

from whimbrel.clock import Clock
from whimbrel.frontier.api import Gate
from whimbrel.frontier.crawl_time import CrawlTime
from whimbrel.frontier.due_queue import DueQueue, host_of
from whimbrel.frontier.hold import Hold
from whimbrel.frontier.host import Host, HostTable
from whimbrel.frontier.option import FrontierConfig
from whimbrel.state.api import State
from whimbrel.visit import VisitResult

ROUNDED_S: Final = 0.001
"""Due times round up to whole milliseconds; whoever may go at once must not wait for the next one. And times on disk
are of another clock: between the two a little is lost."""

Turn = Literal["visit", "qualify", "refuse", "hold", "rest"]
"""What a host's turn is for. `refuse`: it is given up, and its URLs end without a request. `hold`: the user holds it
back. `rest`: it is disqualified, and not to be asked again yet."""


class HostScheduler:
    """A host waits in one of three queues: for a visit, for the qualifier, or because it is held back (`hold.py`).

    On disk it stands there as long as it has an entry that can be visited, so nothing is forgotten when the crawl dies.
    """

    def __init__(
        self,
        config: FrontierConfig,
        state: State,
        table: HostTable,
        gate: Gate,
        hold: Hold,
        clock: Clock,
        crawl_time: CrawlTime,
    ) -> None:
        self._table = table
        self._gate = gate
        self._hold = hold
        self._clock = clock
        self._time = crawl_time
        page = max(1, config.due_cached // 8)
        self._visits, self._qualifications, self._held = (
            DueQueue(state, kind, most=config.due_cached, page=page) for kind in (b"\0", b"\1", b"\2")
        )

    def next(self, now_s: float, *, asking: bool) -> Host | None:
        """A host whose turn it is, out of its queue; `asking`: the qualifier has room.

        A new host is begun only when nobody else can be visited: so the hosts under way are few, and the connection
        that brought a host's robots.txt brings its pages, too. A TLS handshake costs more than a page.
        """
        time_s = now_s + self._time.ahead_s
        while True:
            key = self._visits.pop(time_s)
            if key is None and asking:
                key = self._qualifications.pop(time_s)
            if key is None:
                return None
            host = self._table.get(host_of(key))
            if host.record.due == key and not host.busy:
                host.busy = True
                return host

    def next_s(self, *, asking: bool) -> float | None:
        """When it is somebody's turn next, on the monotonic clock; None when nobody waits for a time."""
        visit_s, ask_s = self._visits.next_s(), self._qualifications.next_s() if asking else None
        return min((time_s - self._time.ahead_s for time_s in (visit_s, ask_s) if time_s is not None), default=None)

    def wait(self, host: Host) -> None:
        """Back into a queue, or out of all when there is nothing to do. While refusals are under way it keeps its
        place on disk: when the crawl dies they are made again."""
        host.busy = False
        record = host.record
        if host.pending > 0:
            queue, due_s = self._place(host)
            self._set(queue, host, due_s)
        elif record.due and not host.out:
            self._visits.remove(record.due)
            record.due = b""
            self._table.change(host)

    def postpone(self, host: Host, due_s: float) -> None:
        """Its next turn is at a time that others have found."""
        host.busy = False
        self._set(self._visits, host, due_s)

    def leave(self, host: Host, address: str, ending: VisitResult) -> None:
        """A request is over: the paces begin their delays."""
        found = host.record.qualification
        crawl_delay_s = 0.0 if found is None else found.crawl_delay_s
        status, wait_s = ending.status, ending.retry_after_s
        self._gate.left(host.name, address, ending.elapsed_s, crawl_delay_s, status=status, retry_after_s=wait_s)
        host.busy = False

    def rest(self, host: Host, seconds: float) -> None:
        """Leave a host alone for a while: it asked for it, or it does not answer."""
        host.noted = True
        until_s = self._clock.now_s() + seconds
        host.record.not_before_s = max(host.record.not_before_s, until_s + self._time.ahead_s)
        self._gate.rest_until(host.name, until_s)

    def reload(self) -> None:
        """Others have changed what is due: forget what was read of it."""
        for queue in (self._visits, self._qualifications, self._held):
            queue.reload()

    def let_go(self) -> None:
        """There is another limit, or another list of blocked hosts: whom it does not hold back goes on."""
        for key in self._held.each():
            host = self._table.get(host_of(key))
            if not self._hold.holds(host):
                self.wait(host)

    def turn(self, host: Host, at_s: float) -> Turn:
        """What a host's turn is for if it comes at this time."""
        record = host.record
        if record.given_up:
            return "refuse"
        if self._hold.holds(host):
            return "hold"
        found, time_s = record.qualification, at_s + self._time.ahead_s
        if found is None or found.until_s <= time_s or (found.addresses_until_s <= time_s and found.addresses):
            return "qualify"
        return "visit" if found.standing == "qualified" else "rest"

    def _place(self, host: Host) -> tuple[DueQueue, float]:
        """Where a host waits for its next turn, and until when."""
        at_once_s = self._clock.now_s() - ROUNDED_S
        due_s = max(at_once_s, self.due_s(host))
        turn = self.turn(host, due_s)
        if turn == "qualify":
            return self._qualifications, due_s
        if turn == "hold":
            return self._held, at_once_s
        return self._visits, at_once_s if turn == "refuse" else due_s

    def due_s(self, host: Host) -> float:
        """When nothing that the host itself is or asked for keeps it from being visited, or qualified."""
        record = host.record
        found = record.qualification
        crawl_delay_s = 0.0 if found is None else found.crawl_delay_s
        due_s = max(self._gate.free_s(host.name, crawl_delay_s), record.not_before_s - self._time.ahead_s)
        if found is not None and found.standing == "disqualified":
            due_s = max(due_s, found.until_s - self._time.ahead_s)
        return due_s

    def _set(self, queue: DueQueue, host: Host, due_s: float) -> None:
        record = host.record
        key = queue.set(host.id, due_s + self._time.ahead_s, record.due)
        if key != record.due:
            record.due = key
            self._table.change(host)
