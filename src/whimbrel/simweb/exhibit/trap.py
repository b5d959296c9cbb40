"""Endless places. What a correct crawl leaves of each is decided by the URL limits alone (`truth.TruthLimits`)."""

import hashlib
from collections.abc import Callable
from typing import Final

from whimbrel.simweb.answer import Answer, SimRequest
from whimbrel.simweb.exhibit.api import Exhibit, ExhibitPlace, Finding, Judge, Respond

FAMILY: Final = "trap"
LISTED: Final = 1_200
"""Links of the listing trap: more than may be queued for one path and set of query keys."""
_GROWTH: Final = "step-by-step-longer-and-longer-and-longer-"


def _calendar(place: ExhibitPlace) -> list[str]:
    """The month after this one; the entry leads to the first."""
    keys = dict(part.split("=", 1) for part in place.query.split("&") if "=" in part)
    if not (keys.get("y", "").isdigit() and keys.get("m", "").isdigit()):
        return [place.path(query="y=2026&m=1")]
    year, month = int(keys["y"]), int(keys["m"])
    year, month = (year + 1, 1) if month >= 12 else (year, month + 1)
    return [place.path(query=f"y={year}&m={month}")]


def _session(place: ExhibitPlace) -> list[str]:
    """A session id that is new on every page."""
    seed = f"{place.host.content} {place.rest} {place.query}"
    return [place.path(query=f"sid={hashlib.blake2b(seed.encode(), digest_size=12).hexdigest()}")]


def _growing(place: ExhibitPlace) -> list[str]:
    return [place.path(query=f"trail={place.query.removeprefix('trail=')}{_GROWTH}")]


def _repeating(place: ExhibitPlace) -> list[str]:
    """A relative link on a page that answers under any path: /more/more/more/…"""
    return [place.path(f"{place.rest.rstrip('/')}/more/")]


def _repeating_run(place: ExhibitPlace) -> list[str]:
    step = "b" if place.rest.rstrip("/").endswith("/a") else "a"
    return [place.path(f"{place.rest.rstrip('/')}/{step}/")]


def _tree(place: ExhibitPlace) -> list[str]:
    """A deeper folder with a new name each time."""
    depth = place.rest.count("/")
    return [place.path(f"{place.rest.rstrip('/')}/level{depth + 1}")]


def _listing(place: ExhibitPlace) -> list[str]:
    return [] if place.query else [place.path(query=f"item={at}") for at in range(LISTED)]


Next = Callable[[ExhibitPlace], list[str]]


def _respond(links: Next) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        lines = "".join(f'<li><a href="{path.replace("&", "&amp;")}">on</a></li>\n' for path in links(place))
        return place.page(f"<ul>{lines}</ul>")

    return respond


def _judge(links: Next) -> Judge:
    return lambda place: Finding("stored", "new", tuple(place.host.origin + path for path in links(place)))


def _trap(name: str, summary: str, links: Next) -> Exhibit:
    return Exhibit(name, FAMILY, summary, _respond(links), _judge(links))


EXHIBITS: Final = (
    _trap("calendar", "a calendar whose next month always exists", _calendar),
    _trap("session", "a new session id in the query of every link", _session),
    _trap("growing", "a query that grows with every page", _growing),
    _trap("repeating", "a relative link that adds the same folder again and again", _repeating),
    _trap("repeating-run", "the same, with a run of two folders", _repeating_run),
    _trap("tree", "a folder below every folder", _tree),
    _trap("listing", f"{LISTED:,} values for one query key", _listing),
)
