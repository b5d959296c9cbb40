"""What the parser makes of every page exhibit of the simulated web that is an answer, compared with its truth."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.parse.answers import WEB, ask, settle, targets
from whimbrel.parse.api import Parsed, ParsedPage
from whimbrel.simweb import sitemap
from whimbrel.simweb.exhibit import PAGE_EXHIBITS

FAMILIES = ("content", "coding", "directive", "duplicate", "odd-url", "status", "redirect")
NAMES = [name for name, exhibit in PAGE_EXHIBITS.items() if exhibit.family in FAMILIES]
ROOT = Path(__file__).parents[2]
FOLLOWED = ("a", "area", "iframe", "frame")


def followed(found: Parsed) -> list[str]:
    """What a crawl goes on to."""
    if found.redirect_to:
        return [found.redirect_to]
    page = found.page
    return [] if page is None or "nofollow" in page.robots else targets(page, *FOLLOWED)


def last(target: str) -> Parsed:
    """The visit that is final: three tries, as long as another may do better."""
    for attempt in (1, 2, 3):
        found = settle(ask(target, attempt)[0])
        if not found.passing:
            break
    return found


@pytest.mark.parametrize("name", NAMES)
def test_outcome_reason_and_links_are_the_truth(name: str) -> None:
    target = f"/x/{name}/4"
    _, finding = ask(target)
    assert finding is not None
    found = last(target)
    assert (found.outcome, found.reason) == (finding.outcome, finding.reason)
    assert set(followed(found)) == set(finding.links)


def test_redirect_chains_end_after_ten() -> None:
    fetched, _ = ask("/x/redirect-long/4/2")
    visit = type(fetched.visit)
    again = visit(fetched.visit.request, 3, "", 10, 1, "127.0.0.1", b"")
    found = settle(type(fetched)(again, fetched.exchange))
    assert (found.outcome, found.reason, found.redirect_to) == ("failed", "redirect-limit", "")


BOMBS = """
from tests.parse.answers import ask, settle
for name in ("gzip", "deflate", "br", "zstd"):
    page = settle(ask(f"/x/bomb-{name}/4")[0]).page
    assert page.trouble == "decoded-cut" and 4 << 20 <= page.length <= 32 << 20, (name, page.trouble, page.length)
print(next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_bombs_of_256_mb_are_cut_in_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", BOMBS], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 400


def page_at(target: str) -> ParsedPage:
    page = settle(ask(target)[0]).page
    assert page is not None
    return page


def test_sitemaps_lead_to_their_pages_plain_and_packed() -> None:
    host = WEB.hosts.get(0)
    assert targets(page_at(sitemap.INDEX), "sitemap") == [host.origin + sitemap.PLAIN, host.origin + sitemap.PACKED]
    assert targets(page_at(sitemap.PLAIN), "sitemap") == sitemap.pages(host)
    assert targets(page_at(sitemap.PACKED), "sitemap") == sitemap.orphans(host)


def test_an_ordinary_page_says_all_there_is() -> None:
    page = page_at("/")
    assert page.title.endswith("page 0 of site 0")
    assert page.language == "en"
    assert page.charset == "utf-8"
    assert " and " in page.description
    assert "Page 0 of" in page.text
    assert "stylesheet" not in page.text
    assert page.links[0].anchor
    assert any(link.rel == "external" for link in page.links)
