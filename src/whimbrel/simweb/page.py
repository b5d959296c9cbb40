"""An ordinary page: its path, what it links to, when it changes. Its bytes are written by `html.py`.

The pages of a host form a tree of eight children each, so that all can be reached from the root; the other links go to
popular pages, so that in-degree follows a power law (Hunyadi §4: nine of ten links stay on their site).
"""

from typing import Final

import msgspec

from whimbrel.simweb.dice import Dice, Shares
from whimbrel.simweb.host import SimHost, SimHosts
from whimbrel.simweb.spec import WebSpec

CHILDREN: Final = 8
SECTIONS: Final = (
    *("about", "archive", "catalogue", "events", "guide", "help", "journal", "library", "media", "notes", "private"),
    "topics",
)
"""First path segments. `private` is what the robots.txt variants with rules forbid."""
_SECTION_COUNT: Final = len(SECTIONS)
_PER_U32: Final = 1 / 2**32

TEXT_DRAWS: Final = 72
"""Numbers of a page that decide its text."""


def path(page: int) -> str:
    return f"/{SECTIONS[page % _SECTION_COUNT]}/{page}.html" if page else "/"


def number(path_: str) -> int | None:
    """The page at a path, whether or not a host has that many; None when no page can be there."""
    if path_ == "/":
        return 0
    digits = path_[path_.rfind("/") + 1 : -5]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 8:
        return None
    page = int(digits)
    return page if path(page) == path_ else None


class SimPage(msgspec.Struct, frozen=True, gc=False):
    """What the dice say of one page, all drawn at once.

    `inner` are pages of its own host, `outer` (host number, page) elsewhere, `exhibits` names of exhibits on its own
    host, each at the place with this page's number.
    """

    number: int
    inner: list[int]
    outer: list[tuple[int, int]]
    exhibits: list[str]
    period_s: float
    """The time between two changes."""
    phase_s: float
    has_volatile: bool
    text: tuple[int, ...]


class Pages:
    def __init__(self, spec: WebSpec, hosts: SimHosts) -> None:
        self._spec = spec
        self._hosts = hosts
        self._dice = Dice(spec.seed)
        self._outer_count = round(spec.links * spec.external)
        self._exhibit_total = sum(spec.exhibits.values())
        if self._exhibit_total > 0:
            scaled = {name: share / self._exhibit_total for name, share in spec.exhibits.items()}
            self._exhibit = Shares(scaled, rest=next(iter(scaled)))

    def get(self, host: SimHost, page: int) -> SimPage:
        spec, outer_count = self._spec, self._outer_count
        draws = self._dice.draws(TEXT_DRAWS + 3 + spec.links + outer_count, b"page", host.content, page)
        links = draws[TEXT_DRAWS + 3 :]
        period = spec.change_s * 0.02 * 2500 ** (draws[TEXT_DRAWS] * _PER_U32)
        return SimPage(
            number=page,
            inner=self._inner(host.pages, page, links[2 * outer_count :]),
            outer=self._outer(links[: 2 * outer_count]),
            exhibits=self._exhibits(host, page) if self._exhibit_total else [],
            period_s=period,
            phase_s=period * (draws[TEXT_DRAWS + 1] * _PER_U32),
            has_volatile=draws[TEXT_DRAWS + 2] * _PER_U32 < spec.volatile,
            text=draws[:TEXT_DRAWS],
        )

    def _inner(self, count: int, page: int, draws: tuple[int, ...]) -> list[int]:
        first = page * CHILDREN + 1
        children = list(range(first, min(first + CHILDREN, count))) if first < count else []
        # The cube of a uniform number: a few pages are popular, most are not.
        return children + [int((share := draw * _PER_U32) * share * share * count) for draw in draws[len(children) :]]

    def _outer(self, draws: tuple[int, ...]) -> list[tuple[int, int]]:
        outer = []
        for who, where in zip(draws[::2], draws[1::2], strict=True):
            share = who * _PER_U32
            target = int(share * share * share * self._spec.hosts)
            content = self._hosts.get(target).content if self._spec.mirrors else target
            outer.append((target, 0 if where & 1 else (where >> 1) % self._hosts.pages(content)))
        return outer

    def _exhibits(self, host: SimHost, page: int) -> list[str]:
        """As many as `Σ shares` on average, no name twice."""
        wanted = self._exhibit_total
        whole = int(wanted)
        chance, *draws = self._dice.draws(whole + 2, b"exhibits", host.content, page)
        count = whole + (chance * _PER_U32 < wanted - whole)
        return list(dict.fromkeys(self._exhibit.pick(draw) for draw in draws[:count]))

    def version(self, page: SimPage, now_s: float) -> tuple[int, float]:
        """How often the page has changed since the epoch, and when it last did (0 and the past if never)."""
        changes = int((now_s - self._spec.epoch_s + page.phase_s) // page.period_s)
        return changes, self._spec.epoch_s + changes * page.period_s - page.phase_s

    def volatile_tick(self, page: SimPage, now_s: float) -> int | None:
        """The state of the page's volatile part; None when it has none."""
        return int((now_s - self._spec.epoch_s) // self._spec.volatile_s) if page.has_volatile else None
