"""Decides for each link of a visit that was read whether it is to be visited; pure but for a cache of decisions."""

import msgspec

from whimbrel.flow import In, Needs, Out, Sync
from whimbrel.handle.judged import SCHEME, JudgedVisit
from whimbrel.parse.api import Parsed
from whimbrel.route.router import Route, Router


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
        elif isinstance(parsed, JudgedVisit) and parsed.page is not None:
            route = self.router.route(visit, parsed.page, parsed.refusals, _first(parsed))
            if parsed.nowhere:
                route = msgspec.structs.replace(route, refused={**route.refused, SCHEME: parsed.nowhere})
        elif parsed.page is not None and parsed.page.links:
            route = self.router.route(visit, parsed.page, first=_first(parsed))
        return [Routed(parsed, route)]


def _first(parsed: Parsed) -> frozenset[str]:
    return parsed.handled.first if parsed.handled is not None else frozenset()


class NoRoute(Sync):
    """In place of the distributor: links are recorded, and none is followed."""

    parsed = In(Parsed)
    routed = Out(Routed)

    def process(self, parsed: Parsed) -> tuple[Routed]:
        return (Routed(parsed, None),)
