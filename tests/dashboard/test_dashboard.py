"""The dashboard in a real browser: what it shows is what the crawl says, and what it does is seen in the crawl."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

import whimbrel
from tests.control.rig import RunningCrawl, crawling, started
from tests.control.test_change import TALLY
from tests.dashboard.conftest import Opening
from tests.sim.crawl import options
from tests.sim.web import serve
from whimbrel.control.api import Set, Speed
from whimbrel.simweb.spec import WebSpec

SPEC = WebSpec(
    hosts=12, pages=4_000, latency_ms=20, robots={}, exhibits={"missing": 0.05, "redirect-301": 0.05, "copy": 0.05}
)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCrawl]:
    folder = tmp_path_factory.mktemp("watched")
    with crawling(SPEC, folder, "--connections", "8") as running:
        running.until(lambda now: now["progress"]["outcomes"].get("gone", 0) > 2 and now["commit"] > 1, "some pages")
        running.control.carry_out(Speed(pages_per_s=40))
        yield running


@pytest.fixture(scope="module")
def address(crawl: RunningCrawl, dashboard: Opening) -> str:
    return dashboard(crawl.directory)


def show(page: Page, address: str, tab: str = "Overview") -> None:
    page.goto(address)
    expect(page.locator("[data-test=header-state]")).not_to_have_text("…")
    page.get_by_role("tab", name=tab).click()


def text(page: Page, name: str) -> str:
    return page.locator(f"[data-test={name}]").inner_text()


def number(page: Page, name: str) -> float:
    return float(re.sub(r"[^0-9.]", "", text(page, name)))


def test_the_overview_shows_the_crawl_as_it_is(crawl: RunningCrawl, address: str, page: Page) -> None:
    show(page, address)
    expect(page.locator("[data-test=state]")).to_have_text("running")
    expect(page.locator("[data-test=rate]")).to_have_text(re.compile(r"^(3[6-9]|4[0-4])$"), timeout=60_000)
    before = crawl.status()["progress"]
    shown = {name: number(page, name) for name in ("visited", "queued", "hosts", "rate")}
    after = crawl.status()["progress"]
    # The page is a few seconds behind.
    assert before["visited"] - 400 <= shown["visited"] <= after["visited"]
    assert shown["hosts"] == after["hosts"]
    assert shown["queued"] == pytest.approx(after["queued"], abs=2_500)
    assert all(number(page, name) > 0 for name in ("archive", "tables", "stored-state", "memory", "disk", "commit"))
    rows = page.locator("[data-test=table-outcomes] tbody tr")
    found = dict(row.inner_text().split("\t") for row in rows.all())
    assert set(found) >= {"stored", "gone", "redirected"}
    assert abs(int(found["stored"]) - after["outcomes"]["stored"]) < 400
    for chart in ("pages", "bytes", "outcomes", "statuses", "latency", "queue"):
        assert page.locator(f"[data-test=chart-{chart}] canvas").count() == 1
    expect(page.locator("[data-test=bound]")).to_contain_text("bound by")


def test_the_wiring_is_drawn_with_its_connectors_and_providers(crawl: RunningCrawl, address: str, page: Page) -> None:
    show(page, address, "Wiring")
    drawing = page.locator("[data-test=wiring] svg")
    expect(drawing).to_be_visible()
    expect(drawing).to_contain_text(re.compile(r"downloader\s*(3[0-9]|4[0-9]|5[0-9])/s"))
    live = crawl.control.wiring()
    rows = page.locator("[data-test=connectors] tbody tr").all()
    assert {row.inner_text().split("\t")[0] for row in rows} == {
        f"{one.source} → {one.target}" for one in live.connectors
    }
    expect(page.locator("[data-test=providers]")).to_contain_text("disk-seen")


def test_hosts_are_searched_blocked_slowed_and_let_go(crawl: RunningCrawl, address: str, page: Page) -> None:
    host = crawl.served.web.hosts.origin(3)
    name = urlsplit(host).hostname or ""
    show(page, address, "Hosts")
    page.locator("[data-test=host-search]").fill(name)
    page.locator("[data-test=host-load]").click()
    row = page.locator("[data-test=hosts] tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(name)
    row.locator(".q-checkbox").click()
    page.locator("[data-test=host-delay-s]").fill("2")
    page.locator("[data-test=host-delay]").click()
    expect(page.locator(".q-notification")).to_contain_text("speed")
    assert crawl.control.config().options["delays"] == {name: 2.0}
    page.locator("[data-test=host-block]").click()
    expect(page.locator("[data-test=question]")).to_contain_text(host)
    page.locator("[data-test=yes]").click()
    expect(page.locator("[data-test=blocked]")).to_have_text(f"blocked: {host}")
    blocked = time.time() + 1.0
    assert crawl.control.config().options["block"] == [host]
    time.sleep(1.5)
    assert not [one for one in crawl.requests(since=blocked) if one.host.partition(":")[0] == name]
    page.locator("[data-test=host-unblock]").click()
    expect(page.locator("[data-test=blocked]")).to_have_text("nothing is blocked")
    page.locator("[data-test=host-allow]").click()
    expect(page.locator(".q-notification").last).to_contain_text("asked again")


def test_errors_are_listed_and_any_url_has_its_story(crawl: RunningCrawl, address: str, page: Page) -> None:
    show(page, address, "Errors")
    expect(page.locator("[data-test=error-counts]")).to_contain_text("http-404")
    expect(page.locator("[data-test=errors] tbody tr").first).to_contain_text("gone")
    gone = (
        whimbrel.open(crawl.directory).sql("select url from fetches where outcome = 'gone' limit 1").dicts()[0]["url"]
    )
    page.locator("[data-test=why-url]").fill(gone)
    page.locator("[data-test=why]").click()
    expect(page.locator("[data-test=story]")).to_contain_text("gone (http-404, status 404)")
    page.locator("[data-test=why-url]").fill("http://never.example/x")
    page.locator("[data-test=why-url]").press("Enter")
    expect(page.locator("[data-test=story]")).to_contain_text("is not known")


def test_the_console_answers_draws_and_refuses_to_write(crawl: RunningCrawl, address: str, page: Page) -> None:
    show(page, address, "SQL")
    box = page.locator("textarea[data-test=sql]")
    box.fill("select outcome, count(*) as n from fetches group by outcome order by outcome")
    box.press("Control+Enter")
    expect(page.locator("[data-test=sql-said]")).to_contain_text("rows")
    expect(page.locator("[data-test=sql-answer]")).to_contain_text("stored")
    page.locator("[data-test=sql-kind]").get_by_text("bar").click()
    expect(page.locator("[data-test=sql-chart] canvas")).to_be_visible()
    for sql in (
        "drop table pages",
        "copy pages to '/tmp/x.csv'",
        "select * from read_text('/etc/passwd')",
        "pragma version",
    ):
        box.fill(sql)
        page.locator("[data-test=sql-run]").click()
        expect(page.locator("[data-test=sql-said]")).not_to_contain_text("rows")
        expect(page.locator("[data-test=sql-said]")).not_to_have_text("…")
    assert not Path("/tmp/x.csv").exists()  # noqa: S108


def test_hosts_that_link_to_each_other_are_drawn(address: str, page: Page) -> None:
    show(page, address, "Links")
    expect(page.locator("[data-test=links-said]")).to_contain_text(re.compile(r"[1-9]\d* hosts"))
    expect(page.locator("[data-test=links] canvas")).to_be_visible()


def test_every_action_works_from_its_form(crawl: RunningCrawl, address: str, page: Page) -> None:
    show(page, address, "Control")
    said = page.locator(".q-notification")
    page.locator("[data-test=do-pause]").click()
    expect(page.locator("[data-test=header-state]")).to_have_text("paused")
    page.locator("[data-test=pause]").click()
    expect(page.locator("[data-test=header-state]")).to_have_text("running")
    page.locator("[data-test=do-checkpoint]").click()
    expect(said.last).to_contain_text("is durable")
    page.locator("[data-test=speed-pages]").fill("35")
    page.locator("[data-test=speed-connections]").fill("6")
    page.locator("[data-test=do-set-speed]").click()
    expect(said.last).to_contain_text("reconfigured")
    page.locator("[data-test=block-what]").fill("*/never/*\nnever.example")
    page.locator("[data-test=do-block]").click()
    page.locator("[data-test=yes]").click()
    expect(said.last).to_contain_text("no more requests")
    page.locator("[data-test=unblock-what]").fill("*/never/*\nnever.example")
    page.locator("[data-test=do-unblock]").click()
    expect(said.last).to_contain_text("may be visited again")
    page.locator("[data-test=seed-what]").fill(crawl.served.web.hosts.origin(1) + "/")
    page.locator("[data-test=do-seed]").click()
    expect(said.last).to_contain_text("known already")
    page.locator("[data-test=set-what]").fill("order=depth\nrouter.max_segments=15")
    page.locator("[data-test=do-set]").click()
    expect(said.last).to_contain_text("reconfigured")
    page.locator("[data-test=bind-provider]").fill("seen")
    page.locator("[data-test=bind-use]").fill("bloom-seen")
    page.locator("[data-test=do-bind]").click()
    expect(said.last).to_contain_text("replaced seen")
    page.locator("[data-test=set-what]").fill("mode=broad")
    page.locator("[data-test=do-set]").click()
    expect(said.last).to_contain_text("hosts are grouped by it")
    options = crawl.control.config().options
    assert (options["max_pages_per_s"], options["connections"], options["order"]) == (35.0, 6, "depth")
    crawl.control.carry_out(Set({"order": "breadth", "max_pages_per_s": 40.0}))


def test_it_works_on_a_phone_in_the_dark_and_by_keyboard(address: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    show(page, address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 391
    page.keyboard.press("3")
    expect(page.locator("[data-test=host-search]")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 391
    page.locator("body").click(position={"x": 5, "y": 780})
    page.keyboard.press("d")
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    page.keyboard.press("7")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.test") == "do-checkpoint":
            break
    page.keyboard.press("Enter")
    expect(page.locator(".q-notification").last).to_contain_text("is durable")


def test_nobody_gets_in_without_the_token_or_from_elsewhere(address: str, page: Page) -> None:
    where = urlsplit(address)
    token = parse_qs(where.query)["token"][0]

    def status(path: str, **headers: str) -> int:
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    assert status("/") == 401
    assert status("/?token=wrong") == 401
    assert status(f"/?token={token}") == 303
    assert status(f"/?token={token}", Host="evil.example") == 403
    assert status(f"/?token={token}", Origin="http://evil.example") == 403
    assert status("/_nicegui_ws/socket.io/?EIO=4&transport=polling") == 401
    cookie = f"whimbrel-{where.port}={token}"
    assert status("/", Cookie=cookie) == 200
    assert status("/_nicegui_ws/socket.io/?EIO=4&transport=polling", Cookie=cookie, Origin="http://evil.example") == 403
    page.goto(address)
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""


def test_a_component_is_added_and_removed_gone_urls_requeued_a_host_asked_and_the_crawl_ended_from_their_forms(
    tmp_path: Path, dashboard: Opening, page: Page
) -> None:
    (tmp_path / "tally.py").write_text(TALLY)
    with crawling(SPEC, tmp_path, "--connections", "8", "--with", str(tmp_path / "tally.py")) as crawl:
        crawl.until(lambda now: now["progress"]["outcomes"].get("gone", 0) > 2 and now["commit"] > 1, "some are gone")
        crawl.control.speed(30)
        address = dashboard(crawl.directory)
        show(page, address, "Control")
        said = page.locator(".q-notification")
        page.locator("[data-test=add-name]").fill("tally")
        page.locator("[data-test=add-use]").fill("Tally")
        page.locator("[data-test=add-what]").fill(f"parser.parsed -> tally.parsed\nfile={tmp_path / 'counts'}")
        page.locator("[data-test=do-add]").click()
        expect(said.last).to_contain_text("added tally")
        page.locator("[data-test=requeue-outcome]").click()
        page.get_by_role("option", name="gone").click()
        page.locator("[data-test=do-requeue]").click()
        page.locator("[data-test=yes]").click()
        expect(said.last).to_contain_text(re.compile(r"[1-9]\d* URLs are visited once more"))
        page.locator("[data-test=remove-name]").fill("tally")
        page.locator("[data-test=do-remove]").click()
        page.locator("[data-test=yes]").click()
        expect(said.last).to_contain_text("removed tally")
        page.locator("[data-test=allow-host]").fill(crawl.served.web.hosts.origin(1))
        page.locator("[data-test=do-ask-again]").click()
        expect(said.last).to_contain_text("asked again")
        page.locator("[data-test=do-stop]").click()
        page.locator("[data-test=yes]").click()
        assert crawl.wait()["state"] == "stopped"
        expect(page.locator("[data-test=header-state]")).to_have_text("stopped", timeout=30_000)
        resume = [sys.executable, "-m", "whimbrel", "resume", str(crawl.directory), "--json"]
        with started(resume, crawl.served, crawl.directory) as again:
            expect(page.locator("[data-test=header-state]")).to_have_text("running", timeout=30_000)
            page.locator("[data-test=do-abort]").click()
            page.locator("[data-test=yes]").click()
            assert again.process.wait(20) is not None
    done = whimbrel.open(crawl.directory).sql("select action from events where actor = 'dashboard'").dicts()
    assert [row["action"] for row in done] == ["add", "requeue", "remove", "allow", "stop", "abort"][: len(done)]
    assert len(done) >= 5
    assert int((tmp_path / "counts").read_text().split()[0]) > 0


def test_a_crawl_brings_its_dashboard_and_takes_it_along(tmp_path: Path, page: Page) -> None:
    spec = WebSpec(hosts=3, pages=400, latency_ms=30, robots={}, exhibits={})
    with serve(spec, tmp_path / "web") as served:
        seeds, into = served.running.seeds, str(tmp_path / "crawl")
        line = [sys.executable, "-m", "whimbrel", "crawl", *seeds, "--into", into, "--dashboard", *options(served)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout is not None
                found = next(match for said in process.stdout if (match := re.search(r"dashboard: (http://\S+)", said)))
                show(page, found[1])
                expect(page.locator("[data-test=state]")).to_have_text("running")
                process.send_signal(signal.SIGTERM)
                process.stdout.read()
                assert process.wait(30) == 3
            finally:
                process.kill()
        where = urlsplit(found[1])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((where.hostname or "", where.port or 0), timeout=5).close()
