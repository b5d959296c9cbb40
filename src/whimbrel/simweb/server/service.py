"""From a request to an answer: what every protocol of the server shares."""

from collections import Counter
from itertools import count
from typing import Final, Protocol

import msgspec

from whimbrel.simweb.answer import Answer, Headers, Reply, Reset, Script, SimRequest
from whimbrel.simweb.clock import VirtualClock
from whimbrel.simweb.exhibit.coding import encode
from whimbrel.simweb.server.log import AccessLog
from whimbrel.simweb.server.pulse import Pulse
from whimbrel.simweb.web import Web, unknown_host

_MAX_TRIED: Final = 65_536
_MIN_CODED: Final = 256


class ServedAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer and what the server must know to send it. `label` says in the log what was served."""

    answer: Answer
    label: str
    latency_s: float = 0.0
    bandwidth: int = 0
    idle_s: float = 15.0
    http10: bool = False


class Site(Protocol):
    """Where answers come from: a simulated web, or a snapshot of a real one."""

    def serve(self, request: SimRequest, now_s: float) -> ServedAnswer:
        """Never raises for a request a client can send; what is not known is an answer too."""

    def may_recover(self, host: str, target: str) -> bool:
        """Whether the answer depends on how often the URL was asked for."""


class WebSite:
    """A simulated web as a site."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def serve(self, request: SimRequest, now_s: float) -> ServedAnswer:
        host = self._web.hosts.find(request.host)
        if host is None:
            return ServedAnswer(unknown_host(), "unknown-host")
        if host.trouble == "connect-reset":
            return ServedAnswer(Script((Reset(),)), host.trouble)
        if request.method not in ("GET", "HEAD"):
            return ServedAnswer(Reply(405, (("Allow", "GET, HEAD"),)), "method", idle_s=host.idle_s)
        answer, label = self._web.find(host, request, now_s)
        if request.scheme != host.scheme and request.target != "/robots.txt":
            answer = Reply(301, (("Location", host.origin + request.target),))
        return ServedAnswer(answer, label, host.latency_s, host.bandwidth, host.idle_s, host.http10)

    def may_recover(self, host: str, target: str) -> bool:
        if target.startswith("/x/recovers"):
            return True
        found = self._web.hosts.find(host) if target == "/robots.txt" else None
        return found is not None and found.robots == "recovers"


class Connection(Protocol):
    """An open connection, as the sweeper sees it."""

    idle_since: float
    """Monotonic time of the last finished exchange."""
    idle_s: float
    """How long it may then be idle."""

    @property
    def busy(self) -> bool: ...

    def close(self) -> None: ...


class Service:
    """The server's state: clock, pulse, counters, tries of what may recover, open connections, access log."""

    def __init__(self, site: Site, clock: VirtualClock, log: AccessLog, codings: tuple[str, ...] = ()) -> None:
        self.clock = clock
        self.log = log
        self.pulse = Pulse()
        self.counts: Counter[str] = Counter()
        self.connection_numbers = count(1)
        self.connections: set[Connection] = set()
        self._site = site
        self._codings = codings
        self._tries: dict[str, int] = {}

    def serve(self, request: SimRequest) -> ServedAnswer:
        served = self._site.serve(request, self.clock.now_s())
        self.counts[served.label] += 1
        answer = served.answer
        if self._codings and isinstance(answer, Reply) and answer.status == 200:
            accepted = request.headers.get("accept-encoding")
            if accepted is not None:
                return self._coded(served, answer, accepted)
        return served

    def attempt(self, host: str, target: str) -> int:
        """Count a try of a URL that may recover; 1 for all others."""
        if not self._site.may_recover(host, target):
            return 1
        key = f"{host} {target}"
        tries = self._tries.pop(key, 0) + 1
        self._tries[key] = tries
        if len(self._tries) > _MAX_TRIED:
            del self._tries[next(iter(self._tries))]
        return tries

    def _coded(self, served: ServedAnswer, reply: Reply, accepted: str) -> ServedAnswer:
        """The body in the first coding that the client names and the server knows."""
        if len(reply.body) < _MIN_CODED or any(name == "Content-Encoding" for name, _ in reply.headers):
            return served
        for part in accepted.split(","):
            name, _, parameters = part.strip().lower().partition(";")
            if name in self._codings and parameters.replace(" ", "") not in ("q=0", "q=0.0"):
                # A strong validator names the bytes of one coding; across codings it is weak (RFC 9110 §8.8.3).
                own = ((key, f"W/{value}" if key == "ETag" else value) for key, value in reply.headers)
                headers: Headers = (*own, ("Content-Encoding", name), ("Vary", "Accept-Encoding"))
                coded = Reply(200, headers, encode(name, reply.body))
                return msgspec.structs.replace(served, answer=coded)
        return served
