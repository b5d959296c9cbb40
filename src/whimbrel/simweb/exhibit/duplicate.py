"""The same thing again: exact copies, near copies, many URLs for one page, and pages that are not there."""

from typing import Final

from whimbrel.simweb.answer import Answer, SimRequest, html
from whimbrel.simweb.exhibit.api import STORED, Exhibit, ExhibitPlace, Finding

FAMILY: Final = "duplicate"
GROUP: Final = 4
_LINES: Final = 200
_LINE_WORDS: Final = 12
_OWN_WORDS: Final = 4
"""That the second copy has of its own; the third has twice as many, the fourth three times."""
_ALIASES: Final = ("ref=start", "utm_source=letter", "sort=name&order=up", "PHPSESSID=0123456789abcdef")


def _original(place: ExhibitPlace) -> ExhibitPlace:
    """What all copies show: the first place of the group, without a query."""
    return ExhibitPlace(place.hosts, place.host, place.name, str(place.k - place.k % GROUP))


def _copy(place: ExhibitPlace, request: SimRequest) -> Answer:
    return _original(place).page()


def _near(place: ExhibitPlace, request: SimRequest) -> Answer:
    # Long, equal but for one line, which is longer in each copy: what a near-duplicate detector should find and an
    # exact one should not.
    original = _original(place)
    words = original.words(_LINES * _LINE_WORDS)
    lines = (" ".join(words[at : at + _LINE_WORDS]) for at in range(0, len(words), _LINE_WORDS))
    prose = "".join(f"<p>{line}.</p>\n" for line in lines)
    own = " ".join(place.words(_OWN_WORDS * (place.k % GROUP)))
    return html(original.document(f"{prose}<p>Copy number {place.k}. {own}</p>"))


def _judge_near(place: ExhibitPlace) -> Finding:
    original = _original(place)
    return Finding("stored", "new", near=f"{place.host.content}/{original.rest}")


def _alias(place: ExhibitPlace, request: SimRequest) -> Answer:
    plain = ExhibitPlace(place.hosts, place.host, place.name, place.rest)
    lines = "".join(f'<li><a href="?{query.replace("&", "&amp;")}">again</a></li>' for query in _ALIASES)
    return plain.page(f"<ul>{lines}</ul>")


def _judge_alias(place: ExhibitPlace) -> Finding:
    return Finding("stored", "new", tuple(place.url(query=query) for query in _ALIASES))


def _missing(place: ExhibitPlace, request: SimRequest) -> Answer:
    return not_found(place)


def not_found(place: ExhibitPlace) -> Answer:
    """A page that is not there: 404, or 200 with the same excuse every time on hosts that lie."""
    excuse = ExhibitPlace(place.hosts, place.host, "nothing", "here").document(
        "<p>Sorry, we could not find that page.</p>"
    )
    return html(excuse, 200 if place.host.soft404 else 404)


def judge_missing(place: ExhibitPlace) -> Finding:
    return STORED if place.host.soft404 else Finding("gone", "http-404")


EXHIBITS: Final = (
    Exhibit("copy", FAMILY, "up to four URLs with equal bytes", _copy, lambda place: STORED),
    Exhibit("near", FAMILY, "up to four URLs that differ in one line", _near, _judge_near),
    Exhibit("alias", FAMILY, "five query strings for one page", _alias, _judge_alias),
    Exhibit("missing", FAMILY, "a page that is not there (200 on hosts with soft 404)", _missing, judge_missing),
)
