"""What the overview says of the pace, in a real browser: one reason, and the limit that ends the crawl."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.control.test_pace import MANY, crawl_of
from tests.dashboard.conftest import Opening
from tests.dashboard.test_dashboard import show


def test_the_overview_names_the_limit_on_speed_and_the_limit_that_ends_the_crawl(
    tmp_path: Path, dashboard: Opening, page: Page
) -> None:
    limits = ("--max-pages", "300", "--max-pages-per-s", "0.5", "--delay", "0.2s")
    with crawl_of(MANY, tmp_path, *limits) as crawl:
        crawl.until(lambda now: now["progress"]["visited"] >= 3, "three visits")
        show(page, dashboard(crawl.directory))
        expect(page.locator("[data-test=left]")).to_have_text(re.compile(r"\d+ min, then --max-pages 300"))
        for _ in range(5):
            expect(page.locator("[data-test=bound]")).to_contain_text("bound by the limit on speed")
            expect(page.locator("[data-test=warning-all-hosts-wait]")).to_have_count(0)
