"""Where redirecting seeds have led: the scope goes along, also after a restart."""

from typing import Final

import msgspec

from whimbrel.route.router import Route, Router
from whimbrel.state.api import State, StoredPairs
from whimbrel.url import parse
from whimbrel.visit import Visit

_KEY: Final = b"scope"


def stored_leads(state: StoredPairs) -> tuple[str, ...]:
    """URLs out of scope that seeds have redirected to."""
    return tuple(msgspec.msgpack.decode(state.get("meta", _KEY) or b"\x90", type=list[str]))


class ScopeLeads:
    """Kept in the state. The router learns all of them when this is made, and each further one when it is added."""

    def __init__(self, state: State, router: Router) -> None:
        self._state = state
        self._router = router
        self._leads = stored_leads(state)
        for text in self._leads:
            self._extend(text)

    def follows(self, visit: Visit, route: Route) -> bool:
        """Whether the scope goes along: a seed redirects, at once or over several hops, and out of it. The parents of a
        seed are at its depth, but were found through it."""
        is_seed = not visit.depth and (not visit.source or visit.redirects > 0)
        return bool(route.target) and is_seed and "out-of-scope" in route.refused

    def add(self, target: str) -> None:
        """A seed redirects here, out of scope: from now on the scope includes it."""
        self._extend(target)
        self._leads = (*self._leads, target)
        self._state.put("meta", _KEY, msgspec.msgpack.encode(self._leads))

    def _extend(self, text: str) -> None:
        url = parse(text)
        if url is not None:
            self._router.extend(url)
