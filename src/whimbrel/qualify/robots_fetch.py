"""Asks one address for robots.txt, and follows where it is sent.

Each request passes the gate, whatever host it goes to. What a server does, however odd, ends in a `RobotsFinding`.
"""

from itertools import count
from typing import Final, NamedTuple

import msgspec

from whimbrel.fetch.api import Exchange, Resolver, Transport
from whimbrel.fetch.trouble import Fault, Trouble
from whimbrel.outcome import Outcome, asked_wait_s
from whimbrel.outcome.redirect import REDIRECTS, classify_redirect
from whimbrel.qualify.api import HostBlocked, NotAsked, RequestGate
from whimbrel.qualify.robots_body import robots_text
from whimbrel.url import Domains, Url, parse
from whimbrel.visit import HostName, Request

_MAX_OTHER_ADDRESSES: Final = 4
"""How many addresses of a host that a redirect names are tried."""


class RobotsFinding(msgspec.Struct, frozen=True, gc=False):
    """What asking one address came to."""

    status: int = 0
    """At the end of the redirects; 0 without a usable answer."""
    text: str | None = None
    """Of a robots.txt that was read; None for every status but 2xx, and when the body cannot be decoded."""
    trouble: str = ""
    """In the words of outcomes."""
    retry_after_s: float = 0.0
    refused: bool = False
    """The address is one that we do not go to."""
    hops: int = 0

    @property
    def settles(self) -> bool:
        """No other address is asked. A 2xx that was cut settles it, too (§3.4): `cut` is only said after a status."""
        return 0 < self.status < 500 or self.trouble == "cut"

    @property
    def unreachable(self) -> bool:
        """Nobody could say anything about robots.txt (RFC 9309 §2.3.1.4)."""
        return self.status == 0 or self.status >= 500

    def __str__(self) -> str:
        what = f"status {self.status}" if self.status else self.trouble
        if self.status and self.trouble:
            what += f", {self.trouble}"
        return f"{what} after {self.hops} redirects" if self.hops else what


class _Answer(NamedTuple):
    exchange: Exchange
    wait_s: float
    """For how long it asks us to leave its host alone."""


class RobotsFetcher:
    """Holds nothing but its tools."""

    def __init__(self, resolver: Resolver, transport: Transport, gate: RequestGate, domains: Domains) -> None:
        self._resolver = resolver
        self._transport = transport
        self._gate = gate
        self._domains = domains

    async def fetch(
        self, host: HostName, address: str, *, max_redirects: int, max_bytes: int, http1: bool = False
    ) -> RobotsFinding:
        """robots.txt of a host, asked for at one of its addresses, over HTTP/1.1 if that is wanted. Raises NotAsked
        when that came to nothing through a fault of our own."""
        url = robots_url(host)
        if url is None:
            return RobotsFinding(trouble="not-allowed")
        for hops in count():
            try:
                answer = await self._reach(host, url, address, http1=http1)
            except HostBlocked as blocked:
                if blocked.site == host.site:
                    raise
                return RobotsFinding(trouble="blocked", hops=hops)
            if answer is None:
                return RobotsFinding(trouble="dns", hops=hops)
            finding = self._read(answer, max_bytes, hops)
            response = answer.exchange.response
            if response is None or finding.status not in REDIRECTS:
                return finding
            verdict = classify_redirect(url, response, hops, max_redirects)
            if verdict.outcome is Outcome.FAILED:
                return msgspec.structs.replace(finding, trouble=verdict.reason)
            if verdict.target is None:
                return finding
            url = verdict.target
        raise AssertionError("redirects are limited")

    async def _reach(self, host: HostName, url: Url, address: str, *, http1: bool) -> _Answer | None:
        """The answer of `address` for a URL of the host, else of the URL's own addresses; None: it has none."""
        if url.site == host.site:
            return await self._request(host, url, address, own=True, http1=http1)
        other = HostName(url.site, url.scheme, url.host, url.port, self._domains.registered(url.host))
        answer = None
        for found in (await self._resolver.resolve(url.host)).addresses[:_MAX_OTHER_ADDRESSES]:
            if answer is not None:
                _close(answer.exchange)
            answer = await self._request(other, url, found, own=False, http1=http1)
            response = answer.exchange.response
            if response is not None and response.status < 500:
                break
        return answer

    async def _request(self, host: HostName, url: Url, address: str, *, own: bool, http1: bool) -> _Answer:
        await self._gate.enter(host, address, own=own)
        elapsed_s, status, wait_s = 0.0, 0, 0.0
        try:
            exchange = await self._transport.fetch(Request(url, purpose="robots"), address, self._gate, http1=http1)
            elapsed_s = exchange.elapsed_s
            status = exchange.response.status if exchange.response else 0
            wait_s = asked_wait_s(exchange)
        finally:
            self._gate.leave(host, address, elapsed_s, own=own, status=status, retry_after_s=wait_s)
        if exchange.trouble.fault is Fault.LOCAL:
            raise NotAsked(exchange.shortage)
        return _Answer(exchange, wait_s)

    def _read(self, answer: _Answer, max_bytes: int, hops: int) -> RobotsFinding:
        """What an answer means."""
        exchange = answer.exchange
        response = exchange.response
        if response is None or exchange.trouble:
            _close(exchange)
            refused = exchange.trouble is Trouble.PRIVATE_ADDRESS and hops == 0
            return RobotsFinding(trouble=exchange.trouble, refused=refused, hops=hops)
        try:
            text = None
            if 200 <= response.status < 300:
                text = robots_text(response.document.read(), response.header("content-encoding") or "", max_bytes)
        finally:
            _close(exchange)
        trouble = "undecodable" if text is None and 200 <= response.status < 300 else ""
        return RobotsFinding(response.status, text, trouble, answer.wait_s, hops=hops)


def robots_url(host: HostName) -> Url | None:
    return parse(f"{host.origin}/robots.txt")


def _close(exchange: Exchange) -> None:
    if exchange.response is not None:
        exchange.response.document.close()
