"""Which transport takes which scheme."""

from typing import Final

from whimbrel.fetch.api import Done, Exchange, Traffic, Transport
from whimbrel.flow import Needs, Provider
from whimbrel.visit import Request

_TABLE: Final = {"http": "web", "https": "web"}
"""By scheme, the need that its transport is bound to. Another protocol is another need, another line here and one in
`url/scheme.py`."""


class Transports(Provider):
    """Meets `Transport` for every scheme of the table, by handing each request to the transport for its scheme."""

    web = Needs(Transport)

    def begin(
        self,
        request: Request,
        address: str,
        done: Done,
        *,
        fresh: bool = False,
        http1: bool = False,
        traffic: Traffic | None = None,
    ) -> None:
        self._for(request).begin(request, address, done, fresh=fresh, http1=http1, traffic=traffic)

    async def fetch(
        self, request: Request, address: str, traffic: Traffic | None = None, *, http1: bool = False
    ) -> Exchange:
        return await self._for(request).fetch(request, address, traffic, http1=http1)

    def _for(self, request: Request) -> Transport:
        found: Transport = getattr(self, _TABLE[request.url.scheme])
        return found
