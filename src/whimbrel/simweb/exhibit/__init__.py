"""The catalogue of exhibits: everything in the simulated web that is not an ordinary page.

One module per family: `connection.py`, `status.py`, `redirect.py`, `coding.py`, `content.py`, `directive.py`,
`odd_url.py`, `trap.py` and `duplicate.py` have page exhibits, `robots.py` and `trouble.py` host exhibits; `api.py` says
what an exhibit is. A page exhibit pairs `respond`, what the server does, with `judge`, what a correct crawl makes of
it; both are written side by side so that they cannot drift apart. Host exhibits are variants of a whole host.
`whimbrel simweb faults` prints this catalogue, and a test lets curl or dig observe every entry.
"""

from typing import TYPE_CHECKING, Final

from whimbrel.simweb.exhibit import (
    coding,
    connection,
    content,
    directive,
    duplicate,
    odd_url,
    redirect,
    robots,
    status,
    trap,
    trouble,
)
from whimbrel.simweb.exhibit.api import Exhibit, HostExhibit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whimbrel.simweb.spec import WebSpec

_FAMILIES: Final = (connection, status, redirect, coding, content, directive, odd_url, trap, duplicate)

PAGE_EXHIBITS: Final[dict[str, Exhibit]] = {
    exhibit.name: exhibit for family in _FAMILIES for exhibit in family.EXHIBITS
}
TROUBLES: Final[dict[str, HostExhibit]] = {exhibit.name: exhibit for exhibit in trouble.TROUBLES}
HOST_LABELS: Final = (
    *(f"robots-{name}" for name in robots.VARIANTS),
    *TROUBLES,
    odd_url.IDN_LABEL,
)
"""The hosts under `exhibit.SUFFIX`, in the order of their numbers."""


def check_names(spec: "WebSpec") -> None:
    """Refuse a specification that names an exhibit which does not exist."""
    _check("exhibits", spec.exhibits, PAGE_EXHIBITS)
    _check("robots", spec.robots, robots.VARIANTS)
    _check("trouble", spec.trouble, TROUBLES)


def _check(key: str, names: "Iterable[str]", known: "Iterable[str]") -> None:
    import difflib

    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "; `whimbrel simweb faults` lists them"
            raise ValueError(f"{key}: there is no {name!r}{hint}")
