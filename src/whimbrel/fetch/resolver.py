"""Addresses of hosts, by asynchronous DNS (c-ares)."""

import ipaddress
from typing import Final

import aiodns

from whimbrel.flow import Config, Provider

_MAX_CACHED: Final = 10_000


class ResolverConfig(Config, frozen=True):
    server: str = ""
    """ADDRESS:PORT of a name server; empty is the system's."""
    timeout_s: float = 5.0


class DnsResolver(Provider):
    """Asks once per host and keeps the answer; when the cache is full the oldest answer goes."""

    Config = ResolverConfig

    async def open(self) -> None:
        servers = [self.config.server] if self.config.server else None
        self._resolver = aiodns.DNSResolver(nameservers=servers, timeout=self.config.timeout_s, tries=2)
        self._cache: dict[str, tuple[str, ...]] = {}

    async def close(self) -> None:
        await self._resolver.close()

    async def resolve(self, host: str) -> tuple[str, ...]:
        try:
            return (str(ipaddress.ip_address(host.strip("[]"))),)
        except ValueError:
            pass  # Not an address but a name.
        found = self._cache.get(host)
        if found is None:
            found = await self._ask(host)
            self._cache[host] = found
            if len(self._cache) > _MAX_CACHED:
                del self._cache[next(iter(self._cache))]
        return found

    async def _ask(self, host: str) -> tuple[str, ...]:
        try:
            answer = await self._resolver.query_dns(host, "A")
        except aiodns.error.DNSError:
            return ()
        return tuple(record.data.addr for record in answer.answer if hasattr(record.data, "addr"))
