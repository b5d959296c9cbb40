"""Pictures of every view, light and dark, for the docs: `python -m tests.dashboard.screenshot docs/dashboard`."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.control.rig import crawling
from tests.dashboard.conftest import CHROMIUM
from whimbrel.simweb.spec import WebSpec

TABS = ("Overview", "Wiring", "Hosts", "Errors", "SQL", "Links", "Control")
SPEC = WebSpec(
    hosts=40, pages=2_000, latency_ms=60, exhibits={"missing": 0.05, "redirect-301": 0.05, "copy": 0.05, "reset": 0.01}
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        crawling(SPEC, Path(work), "--connections", "24", **{"effects.retry_s": 20.0}) as crawl,
    ):
        time.sleep(75)
        command = [sys.executable, "-m", "whimbrel", "dashboard", str(crawl.directory)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            found = next(match for line in process.stdout if (match := re.search(r"http://\S+", line)))
            with sync_playwright() as playwright:
                take(playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]), found[0], folder)
            process.kill()


def take(browser: Browser, address: str, folder: Path) -> None:
    for scheme in ("light", "dark"):
        for name, width, tabs in (("", 1280, TABS), ("phone-", 390, TABS[:1])):
            context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
            page = context.new_page()
            page.goto(address)
            for tab in tabs:
                picture(page, tab, folder / f"{name}{tab.lower()}-{scheme}.png")
            context.close()


def picture(page: Page, tab: str, path: Path) -> None:
    page.get_by_role("tab", name=tab).click()
    page.mouse.move(0, 0)
    if tab == "SQL":
        page.get_by_role("button", name="outcomes").click()
        page.wait_for_timeout(1_000)
        page.locator("[data-test=sql-kind]").get_by_text("bar").click()
    page.wait_for_timeout(2_500)
    page.screenshot(path=path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
