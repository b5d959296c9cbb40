"""The messages of parsing."""

import msgspec

from whimbrel.fetch.api import Fetched
from whimbrel.outcome import Outcome


class Visited(msgspec.Struct, frozen=True, gc=False):
    """A visit was made and settled. `title` and `links` are of HTML documents."""

    fetched: Fetched
    outcome: Outcome
    reason: str
    title: str = ""
    links: int = 0
