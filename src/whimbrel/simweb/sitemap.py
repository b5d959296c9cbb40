"""Sitemaps of a host: an index, a plain file and a compressed one, with pages that no link leads to."""

import gzip
from typing import Final

from whimbrel.simweb.answer import Answer, Reply
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.page import path

INDEX: Final = "/sitemap.xml"
PLAIN: Final = "/sitemap-pages.xml"
PACKED: Final = "/sitemap-more.xml.gz"
ORPHANS: Final = 3
_LISTED: Final = 50
_XML: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"


def pages(host: SimHost) -> list[str]:
    """Absolute URLs of the plain sitemap: the first ordinary pages."""
    return [host.origin + path(page) for page in range(min(host.pages, _LISTED))]


def orphans(host: SimHost) -> list[str]:
    """Absolute URLs of the compressed sitemap: pages that only it mentions."""
    return [f"{host.origin}/x/found/orphan-{at}" for at in range(ORPHANS)]


def respond(host: SimHost, target: str) -> Answer | None:
    """The sitemap at that path, or None."""
    if target == INDEX:
        entries = "".join(f"<sitemap><loc>{host.origin}{name}</loc></sitemap>\n" for name in (PLAIN, PACKED))
        return _xml(f'{_XML}<sitemapindex xmlns="{_NAMESPACE}">\n{entries}</sitemapindex>\n'.encode())
    if target == PLAIN:
        return _xml(_urlset(pages(host)))
    if target == PACKED:
        return Reply(200, (("Content-Type", "application/gzip"),), gzip.compress(_urlset(orphans(host)), 6, mtime=0))
    return None


def _urlset(urls: list[str]) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc><lastmod>2026-01-01</lastmod></url>\n" for url in urls)
    return f'{_XML}<urlset xmlns="{_NAMESPACE}">\n{entries}</urlset>\n'.encode()


def _xml(body: bytes) -> Reply:
    return Reply(200, (("Content-Type", "application/xml"),), body)
