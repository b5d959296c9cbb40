"""Which links are followed for what they are: their kind, and nofollow of the page or of the link itself."""

from typing import Final, Literal

from whimbrel.parse.api import PageLink

FOLLOWED: Final = frozenset(
    {"a", "area", "iframe", "frame", "link", "refresh", "canonical", "sitemap", "feed", "text", "handler"}
)
REQUISITES: Final = frozenset({"img", "script", "style", "media"})
LINK_REFUSALS: Final = ("not-followed", "nofollow")
"""Reasons that are about one link: another link to the same URL may be followed."""


class LinkRule:
    """Where a link leads is not looked at: scope, filters and limits are others' to ask."""

    __slots__ = ("_heeds_rel", "_kinds")

    def __init__(self, follow: Literal["links", "handlers"], *, requisites: bool, nofollow_links: bool) -> None:
        kinds = FOLLOWED | REQUISITES if requisites else FOLLOWED
        self._kinds = kinds if follow == "links" else frozenset({"handler"})
        self._heeds_rel = not nofollow_links

    def refusal(self, link: PageLink) -> str:
        """Why a link is not followed; empty when it may be."""
        if link.kind not in self._kinds:
            return "not-followed"
        return "nofollow" if self._heeds_rel and "nofollow" in link.rel.split() else ""


def page_refusal(robots: tuple[str, ...]) -> str:
    """Why no link of a page with these directives is followed, whatever links say; empty when they may be."""
    return "nofollow" if "nofollow" in robots else ""
