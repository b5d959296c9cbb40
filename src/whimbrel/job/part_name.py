"""The names that parts of a crawl's wiring must have, in one place.

A wiring may be anybody's: a user's own file, or one that was changed while the crawl ran. Options, control and display
find the parts that they are about by these names, so a wiring that is to be used for a crawl keeps to them. Nothing
else in Whimbrel looks a part up by its name.
"""

from typing import Final, TypeVar

from whimbrel.flow import Job, Plan, Provider
from whimbrel.flow.component import Part
from whimbrel.flow.error import WrongProvider

FRONTIER: Final = "frontier"
GATE: Final = "gate"
JOURNAL: Final = "journal"
EFFECTS: Final = "effects"
SEEDING: Final = "seeding"
ROUTER: Final = "router"
TRANSPORT: Final = "transport"
VISITS: Final = "downloader.visits"
"""The input whose capacity bounds the visits under way."""
PAGES: Final = "distributor.parsed"
"""The input before which handlers look at pages."""

_Kind = TypeVar("_Kind", bound=Provider)


def provider(job: Job, name: str, kind: type[_Kind]) -> _Kind:
    """The provider of a running job that has a name, which must be of a class or derived from it."""
    found = job.graph.providers.get(name)
    if not isinstance(found, kind):
        what = "has none" if found is None else f"has a {type(found).__name__} there"
        raise WrongProvider(name, f"a crawl needs a provider {name!r} that is a {kind.__name__}; the wiring {what}")
    return found


def planned(plan: Plan, name: str) -> tuple[type[Part] | None, object]:
    """The class and the configuration that a plan has for a provider; None twice when it has none."""
    return plan.providers.get(name, (None, None))
