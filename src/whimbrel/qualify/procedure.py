"""The procedure of one attempt to qualify a host: its addresses, two rounds over them, the verdict."""

import asyncio

import msgspec

from whimbrel.clock import Clock
from whimbrel.fetch.api import Resolution, Resolver, Transport
from whimbrel.qualify.api import NotAsked, Qualification, RequestGate
from whimbrel.qualify.robots_fetch import RobotsFetcher, RobotsFinding
from whimbrel.qualify.robots_policy import Circumstance, QualifyConfig, fail, judge
from whimbrel.url import Domains
from whimbrel.visit import HostName


class Procedure:
    """Holds no state of hosts: what is known of one comes in as `before` and goes out as the result."""

    def __init__(
        self,
        config: QualifyConfig,
        *,
        resolver: Resolver,
        transport: Transport,
        gate: RequestGate,
        clock: Clock,
        domains: Domains,
    ) -> None:
        self._config = config
        self._resolver = resolver
        self._clock = clock
        self._fetcher = RobotsFetcher(resolver, transport, gate, domains)

    async def qualify(
        self, host: HostName, before: Qualification | None, *, without_robots: bool = False
    ) -> Qualification:
        """One attempt. `before` is the last qualification of the host, None for a new one. `without_robots`: a
        robots.txt that cannot be obtained counts as no rules."""
        found = await self._resolve(host)
        until_s = self._clock.wall_s() + found.ttl_s
        if not found.addresses:
            asked_at_s = before.robots_at_s if before else 0.0
            return fail(self._config, "dns", RobotsFinding(), self._case(host, before, (), until_s, asked_at_s))
        asked_at_s = self._clock.wall_s()
        finding, addresses = await self._two_rounds(host, _familiar_first(found.addresses, before))
        case = self._case(host, before, addresses, until_s, asked_at_s)
        return judge(self._config, finding, case, without_robots=without_robots)

    async def refresh(self, host: HostName, before: Qualification) -> Qualification:
        """New addresses, everything else as it was. A host without addresses is disqualified like any other."""
        found = await self._resolve(host)
        until_s = self._clock.wall_s() + found.ttl_s
        if not found.addresses:
            return fail(self._config, "dns", RobotsFinding(), self._case(host, before, (), until_s, before.robots_at_s))
        addresses = _familiar_first(found.addresses, before)
        return msgspec.structs.replace(before, addresses=addresses, addresses_until_s=until_s)

    async def _resolve(self, host: HostName) -> Resolution:
        found = await self._resolver.resolve(host.host)
        if found.shortage is not None:
            raise NotAsked(found.shortage)
        return found

    async def _two_rounds(self, host: HostName, addresses: tuple[str, ...]) -> tuple[RobotsFinding, tuple[str, ...]]:
        """The finding that counts, and the addresses that may be used, the one that answered first."""
        usable = list(addresses)
        worst = RobotsFinding(trouble="private-address", refused=True)
        for last_round in (False, True):
            for address in tuple(usable):
                finding = await self._fetcher.fetch(
                    host,
                    address,
                    max_redirects=self._config.max_redirects,
                    max_bytes=self._config.max_bytes,
                    http1=last_round,
                )
                if finding.settles:
                    return finding, (address, *(other for other in usable if other != address))
                if finding.refused:
                    usable.remove(address)
                elif worst.refused or finding.retry_after_s >= worst.retry_after_s:
                    worst = finding
            # A host that said when to come again is not asked before, not even for the second round.
            if last_round or not usable or worst.retry_after_s > self._config.pause_s:
                break
            await asyncio.sleep(self._config.pause_s)
        return worst, tuple(usable)

    def _case(
        self,
        host: HostName,
        before: Qualification | None,
        addresses: tuple[str, ...],
        addresses_until_s: float,
        asked_at_s: float,
    ) -> Circumstance:
        return Circumstance(host, before, self._clock.wall_s(), addresses, addresses_until_s, asked_at_s)


def _familiar_first(addresses: tuple[str, ...], before: Qualification | None) -> tuple[str, ...]:
    """The address that answered last time goes first, if the host still has it."""
    first = before.addresses[0] if before and before.addresses else ""
    if first not in addresses:
        return addresses
    return (first, *(address for address in addresses if address != first))
