"""What documents need, and what must be true of what was read out of one."""

from typing import Final

from whimbrel.parse.api import ParsedPage
from whimbrel.url import Url, parse


def url_of(text: str) -> Url:
    found = parse(text)
    assert found is not None, text
    return found


PAGE: Final = url_of("http://a.test/dir/page?x#y")


def check_page(page: ParsedPage, max_links: int) -> None:
    """Links are as the frontier wants them, and no more than may be."""
    assert len(page.links) <= max_links
    for target in page.links.targets[:200]:
        assert url_of(target).text == target, target
        assert target.startswith(("http://", "https://")), target
    assert len(page.links.targets) == len(page.links.anchors) == len(page.links.rels) == len(page.links.kinds)
