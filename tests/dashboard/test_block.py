"""Blocking from the dashboard, in a real browser: it hits the row, and says beforehand what it comes to."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.cli.command import run_alone
from tests.control.test_block_site import PAGES, queues, two_sites
from tests.dashboard.conftest import Opening
from tests.dashboard.test_dashboard import number, show, text
from tests.job.site import served


def choose(page: Page, site: str) -> None:
    page.locator("[data-test=host-search]").fill(site)
    page.locator("[data-test=host-load]").click()
    row = page.locator("[data-test=hosts] tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(site)
    row.locator(".q-checkbox").click()


def test_block_hits_the_row_and_the_question_says_what_waits_and_when_the_crawl_ends(
    tmp_path: Path, dashboard: Opening, page: Page
) -> None:
    with two_sites(tmp_path) as (crawl, one, other):
        show(page, dashboard(crawl.directory), "Hosts")
        question = page.locator("[data-test=question]")
        choose(page, one)
        page.locator("[data-test=host-block]").click()
        expect(question).to_contain_text(f"Make no more requests to {one}?")
        expect(question).to_contain_text(re.compile(r"3\d\d queued URLs wait until you unblock it"))
        expect(question).to_contain_text("The crawl ends when nothing else is left to visit")
        page.locator("[data-test=yes]").click()
        expect(page.locator("[data-test=blocked]")).to_have_text(f"blocked: {one}")
        assert crawl.control.config().options["block"] == [one]
        before = queues(crawl)
        crawl.until(lambda _: queues(crawl)[other] < before[other], "the other port is visited")
        assert queues(crawl)[one] == before[one]
        choose(page, other)
        page.locator("[data-test=host-unblock]").click()
        expect(page.locator(".q-notification").last).to_contain_text(f"{other} is not blocked")
        page.locator("[data-test=host-block]").click()
        expect(question).to_contain_text("Nothing else is queued: the crawl ends")
        expect(question).to_contain_text(f"whimbrel control {crawl.directory} unblock {other}")
        page.locator("[data-test=yes]").click()
        crawl.process.communicate(timeout=60)
        expect(page.locator("[data-test=header-state]")).to_have_text("stopped")
        expect(page.locator("[data-test=blocked]")).to_contain_text(f"whimbrel control {crawl.directory} unblock")


def test_a_host_that_is_blocked_by_its_name_is_unblocked_after_a_question(
    tmp_path: Path, dashboard: Opening, page: Page
) -> None:
    with two_sites(tmp_path) as (crawl, one, _):
        crawl.control.pause()
        crawl.control.block("127.0.0.1", one)
        show(page, dashboard(crawl.directory), "Hosts")
        choose(page, one)
        page.locator("[data-test=host-unblock]").click()
        expect(page.locator("[data-test=question]")).to_contain_text(f"{one} is blocked by 127.0.0.1, {one}")
        page.locator("[data-test=yes]").click()
        expect(page.locator("[data-test=blocked]")).to_have_text("nothing is blocked")


def test_a_page_whose_dashboard_ends_with_its_crawl_says_so(tmp_path: Path, page: Page) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    into = tmp_path / "crawl <i> & 'x'"
    with served(PAGES) as port:
        seed = f"http://127.0.0.1:{port}/"
        line = [sys.executable, "-m", "whimbrel", "crawl", seed, "--into", str(into), "--dashboard", "--delay", "0.2s"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout is not None
                found = next(match for said in process.stdout if (match := re.search(r"dashboard: (http://\S+)", said)))
                show(page, found[1])
                process.send_signal(signal.SIGTERM)
                process.stdout.read()
                assert process.wait(30) == 3
            finally:
                process.kill()
    said = page.locator("#popup")
    expect(said).to_be_visible()
    expect(said).not_to_contain_text("Connection lost")
    expect(said).to_contain_text("The dashboard has ended, and with it the crawl")
    expect(said).to_contain_text(f"whimbrel dashboard {into}")


def test_a_finished_crawl_shows_what_is_known_and_no_tile_for_what_is_not(
    tmp_path: Path, dashboard: Opening, page: Page
) -> None:
    with served(PAGES) as port:
        into = tmp_path / "crawl"
        run_alone("crawl", f"http://127.0.0.1:{port}/", "--into", str(into), "--max-pages", "60", "--delay", "0.05s")
    show(page, dashboard(into))
    expect(page.locator("[data-test=state]")).to_have_text("stopped")
    for name in ("memory", "rate", "visiting", "left", "chart-queue"):
        expect(page.locator(f"[data-test={name}]")).to_be_hidden()
    assert number(page, "disk") > 0
    assert "0 B" not in [text(page, name) for name in ("disk", "bytes", "archive", "tables", "stored-state")]
    assert number(page, "visited") == 60
    for chart in ("pages", "bytes", "outcomes", "statuses", "latency"):
        expect(page.locator(f"[data-test=chart-{chart}] canvas")).to_be_visible()
