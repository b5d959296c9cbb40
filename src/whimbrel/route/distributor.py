"""Decides for each link of a visit that was read whether it is to be visited; pure but for a cache of decisions."""

from typing import Final

import msgspec

from whimbrel.flow import In, Needs, Out, Sync
from whimbrel.parse.api import Parsed
from whimbrel.route.router import Route, Router

_SCHEME: Final = "scheme"


class Routed(msgspec.Struct, frozen=True, gc=False):
    """A visit that was read with what is to be done about its links: everything that one commit must hold."""

    parsed: Parsed
    route: Route | None
    """None when it leads nowhere."""


class Distributor(Sync):
    parsed = In(Parsed)
    routed = Out(Routed)
    router = Needs(Router)

    def process(self, parsed: Parsed) -> list[Routed]:
        visit = parsed.visit
        route = None
        if parsed.redirect_to:
            route = self.router.redirect(visit, parsed.redirect_to)
        elif parsed.page is not None and (parsed.page.links or parsed.nowhere):
            route = self.router.route(visit, parsed.page, parsed.refusals, _first(parsed))
            if parsed.nowhere:
                route = msgspec.structs.replace(route, refused={**route.refused, _SCHEME: parsed.nowhere})
        return [Routed(parsed, route)]


def _first(parsed: Parsed) -> frozenset[str]:
    return parsed.handled.first if parsed.handled is not None else frozenset()


class NoRoute(Sync):
    """In place of the distributor: links are recorded, and none is followed."""

    parsed = In(Parsed)
    routed = Out(Routed)

    def process(self, parsed: Parsed) -> tuple[Routed]:
        return (Routed(parsed, None),)
