"""Robots meta tags and X-Robots-Tag: each page links to a leaf, which a correct crawl reaches or not."""

from typing import Final

from whimbrel.simweb.answer import Answer, SimRequest, html
from whimbrel.simweb.exhibit.api import STORED, Exhibit, ExhibitPlace, Finding, Judge, Respond

FAMILY: Final = "directive"

_TAGS: Final = {
    "meta-nofollow": ("robots", "nofollow", False),
    "meta-noindex": ("robots", "noindex", True),
    "meta-noarchive": ("robots", "noarchive", True),
    "meta-none": ("robots", "none", False),
    "meta-case": ("ROBOTS", "NoIndex , NOFOLLOW", False),
    "meta-own-agent": ("whimbrel", "nofollow", False),
    "meta-other-agent": ("googlebot", "nofollow", True),
}
_HEADERS: Final = {
    "header-nofollow": (("nofollow",), False),
    "header-noindex": (("noindex",), True),
    "header-noarchive": (("noarchive",), True),
    "header-several": (("noindex", "nofollow"), False),
    "header-own-agent": (("whimbrel: nofollow",), False),
    "header-other-agent": (("googlebot: nofollow",), True),
}


def _meta(tag: str, content: str) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        link = f'<p><a href="{place.found_path()}">found</a></p>'
        return place.page(link, f'<meta name="{tag}" content="{content}">')

    return respond


def _header(values: tuple[str, ...]) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        link = f'<p><a href="{place.found_path()}">found</a></p>'
        return html(place.document(link), 200, *(("X-Robots-Tag", value) for value in values))

    return respond


def _judge(*, follows: bool) -> Judge:
    return lambda place: Finding("stored", "new", place.found()) if follows else STORED


EXHIBITS: Final = (
    *(
        Exhibit(name, FAMILY, f'meta {tag}: "{content}"', _meta(tag, content), _judge(follows=follows))
        for name, (tag, content, follows) in _TAGS.items()
    ),
    *(
        Exhibit(name, FAMILY, f"X-Robots-Tag: {', '.join(values)}", _header(values), _judge(follows=follows))
        for name, (values, follows) in _HEADERS.items()
    ),
)
