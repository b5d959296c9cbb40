"""What pages, servers and callers say is text, wherever it is shown."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import Opening
from tests.job.site import served
from tests.sim.crawl import whimbrel

SCRIPT = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>{{7*7}}"
ESCAPED = SCRIPT.replace("<", "&lt;")
PATH = "/a?q=%3Cscript%3Ewindow.hacked=1%3C/script%3E'\"<svg/onload=window.hacked=1>"


def test_hostile_content_is_inert_in_every_panel(tmp_path: Path, dashboard: Opening, page: Page) -> None:
    head = {"Content-Type": "text/html; charset=utf-8", "ETag": SCRIPT, "Last-Modified": SCRIPT}
    first = f'<title>{ESCAPED}</title><meta name=description content="{ESCAPED}"><a href="{PATH}">{ESCAPED}</a>'
    pages = {"/": (200, head, first), "/robots.txt": (404, {}, "")}
    with served(pages, "127.0.0.2") as port:
        pages["127.0.0.1/"] = (200, head, f"{first}<a href='http://127.0.0.2:{port}/'>{ESCAPED}</a>")
        command = ["crawl", f"http://127.0.0.1:{port}/", "--into", str(tmp_path / "crawl"), "--scope", "any"]
        done = whimbrel(*command, "--allow-network", "127.0.0.0/8", "--delay", "0s")
        assert done.returncode == 0, done.stderr
        shouted: list[str] = []
        page.on("dialog", lambda dialog: shouted.append(dialog.message))
        page.goto(dashboard(tmp_path / "crawl"))
        for tab in ("Overview", "Wiring", "Hosts", "Errors", "SQL", "Links", "Control"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(300)
        page.get_by_role("tab", name="SQL").click()
        box = page.locator("textarea[data-test=sql]")
        for sql in (
            "select title, description, etag, last_modified, url, 1 as n from pages",
            "select anchor, target, 1 as n from links",
            f"select '{SCRIPT.replace(chr(39), chr(39) * 2)}' as \"<img src=x onerror='window.hacked=1'>\", 2 as n",
        ):
            box.fill(sql)
            page.locator("[data-test=sql-run]").click()
            expect(page.locator("[data-test=sql-said]")).to_contain_text(re.compile(r"\d+ rows?"))
            expect(page.locator("[data-test=sql-answer]")).to_contain_text("window.hacked=1")
            for kind in ("bar", "pie", "line"):
                page.locator("[data-test=sql-kind]").get_by_text(kind).click()
                page.wait_for_timeout(400)  # The drawing before it goes.
                drawn = page.locator("[data-test=sql-chart] canvas")
                expect(drawn).to_be_visible()
                place = drawn.bounding_box()
                assert place is not None
                for share in (0.3, 0.5, 0.7):  # Over the bars, for what is shown there.
                    page.mouse.move(place["x"] + place["width"] * share, place["y"] + place["height"] * 0.5)
                    page.wait_for_timeout(100)
            page.locator("[data-test=sql-kind]").get_by_text("table").click()
        box.fill(f"select {SCRIPT}")
        page.locator("[data-test=sql-run]").click()
        expect(page.locator("[data-test=sql-said]")).to_contain_text("Error")
        page.get_by_role("tab", name="Errors").click()
        for url in (f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}{PATH}", SCRIPT):
            page.locator("[data-test=why-url]").fill(url)
            page.locator("[data-test=why-url]").press("Enter")
            page.wait_for_timeout(500)
        expect(page.locator("[data-test=story]")).to_contain_text("is not an http or https URL")
        assert page.evaluate("window.hacked") is None
        assert page.locator("img[src=x]").count() == 0
        assert shouted == []
        assert "49" not in page.locator("[data-test=story]").inner_text()
