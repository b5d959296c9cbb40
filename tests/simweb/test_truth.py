"""What a correct crawl makes of a simulated web: limits, robots, duplicates, scope, and a crawl that agrees."""

import http.client
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import msgspec
import pytest

from tests.simweb.conftest import served
from tests.simweb.observation import Links
from whimbrel.simweb.exhibit import PAGE_EXHIBITS, TROUBLES
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.page import path
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions, TruthRow
from whimbrel.simweb.web import Web

WHOLE = WebSpec(
    hosts=60,
    pages=40,
    https=0.3,
    soft404=0.1,
    mirrors=0.1,
    exhibits=dict.fromkeys(PAGE_EXHIBITS, 0.02),
    robots=dict.fromkeys(VARIANTS, 0.01),
    trouble=dict.fromkeys(TROUBLES, 0.01),
)
"""Everything that the catalogue has, each with a small share."""
NO_HOPS = TruthOptions(limits=TruthLimits(hops=None))
ONE = Web(WebSpec(hosts=1))


def truth(web: Web, seeds: list[str], options: TruthOptions | None = None) -> list[TruthRow]:
    return list(Truth(web, seeds, options).rows())


def exhibit(rest: str, options: TruthOptions | None = None, web: Web = ONE) -> list[TruthRow]:
    """The truth from an exhibit of the first host on."""
    return truth(web, [f"{web.hosts.origin(0)}/x/{rest}"], options)


def outcomes(rows: list[TruthRow]) -> Counter[tuple[str, str]]:
    return Counter((row.outcome, row.reason) for row in rows)


@pytest.fixture(scope="module")
def whole() -> list[TruthRow]:
    web = Web(WHOLE)
    return truth(web, web.seed_urls(WHOLE.hosts))


def test_a_plain_web_is_stored_to_its_last_page() -> None:
    web = Web(WebSpec(hosts=10, pages=30))
    rows = truth(web, web.seed_urls())
    everything = {web.hosts.origin(host) + path(page) for host in range(10) for page in range(30)}
    assert {row.url for row in rows} == everything
    assert outcomes(rows) == {("stored", "new"): 300}
    assert {row.topic for row in rows} == {web.hosts.get(host).topic for host in range(10)}


def test_every_url_has_one_row(whole: list[TruthRow]) -> None:
    assert len({row.url for row in whole}) == len(whole) > 2_000


def test_every_page_exhibit_is_met_in_a_web_that_has_them_all(whole: list[TruthRow]) -> None:
    met = {row.url.split("/")[4] for row in whole if "/x/" in row.url and row.outcome != "denied"}
    assert met >= set(PAGE_EXHIBITS)


def test_two_runs_give_the_same_rows(whole: list[TruthRow]) -> None:
    web = Web(WHOLE)
    assert truth(web, web.seed_urls(WHOLE.hosts)) == whole


def test_the_ports_of_a_web_change_nothing_but_urls(whole: list[TruthRow]) -> None:
    web = Web(msgspec.structs.replace(WHOLE, http_port=80, https_port=443))
    assert outcomes(truth(web, web.seed_urls(WHOLE.hosts))) == outcomes(whole)


def test_one_url_of_each_payload_is_stored(whole: list[TruthRow]) -> None:
    classes = defaultdict(list)
    for row in whole:
        if row.payload:
            classes[row.payload].append(row.outcome)
    assert all(Counter(found)["stored"] == 1 and set(found) <= {"stored", "duplicate"} for found in classes.values())
    assert all(row.payload for row in whole if row.outcome == "duplicate")


@pytest.mark.parametrize(
    ("name", "limits", "stored", "dropped", "reason"),
    [
        ("calendar", TruthLimits(hops=None), 1_001, 1, "too-many-queries"),
        ("calendar", TruthLimits(), 21, 1, "too-many-hops"),
        ("calendar", TruthLimits(hops=None, queries=7), 8, 1, "too-many-queries"),
        ("session", TruthLimits(hops=None), 1_001, 1, "too-many-queries"),
        ("listing", TruthLimits(), 1_001, 200, "too-many-queries"),
        ("listing", TruthLimits(queries=None), 1_201, 0, ""),
        # /x/tree/0 has three segments.
        ("tree", TruthLimits(), 18, 1, "too-many-segments"),
        ("tree", TruthLimits(segments=None), 21, 1, "too-many-hops"),
        ("repeating", TruthLimits(), 3, 1, "repeating-segments"),
        ("repeating", TruthLimits(repeats=4), 5, 1, "repeating-segments"),
        ("repeating", TruthLimits(repeats=None), 18, 1, "too-many-segments"),
        ("repeating-run", TruthLimits(), 6, 1, "repeating-segments"),
    ],
)
def test_a_limit_cuts_a_trap(name: str, limits: TruthLimits, stored: int, dropped: int, reason: str) -> None:
    found = outcomes(exhibit(f"{name}/0", TruthOptions(limits=limits)))
    assert found == Counter({("stored", "new"): stored, ("dropped", reason): dropped}) - Counter()


def test_the_length_limit_cuts_the_first_url_beyond_it() -> None:
    *kept, last = exhibit("growing/0", NO_HOPS)
    assert {row.outcome for row in kept} == {"stored"}
    assert last.reason == "too-long"
    assert max(len(row.url) for row in kept) <= 2048 < len(last.url)


def test_a_listing_is_queued_in_the_order_of_its_links() -> None:
    dropped = [row.url.partition("item=")[2] for row in exhibit("listing/0") if row.outcome == "dropped"]
    assert dropped == [str(at) for at in range(1_000, 1_200)]


def test_a_redirect_costs_no_hop_and_ten_of_them_are_the_limit() -> None:
    short = exhibit("redirect-chain/0")
    assert [row.outcome for row in short] == ["redirected"] * 5 + ["stored"]
    assert {row.depth for row in short} == {0}
    long = exhibit("redirect-long/0")
    assert [row.outcome for row in long] == ["redirected"] * 10 + ["failed"]
    assert long[-1].reason == "redirect-limit"


def test_depth_is_that_of_the_shortest_way() -> None:
    web = Web(WebSpec(hosts=40, pages=40, exhibits={"redirect-host": 0.3}, robots={}))
    depths = {row.url: row.depth for row in truth(web, web.seed_urls(), NO_HOPS)}
    walk = Truth(web, web.seed_urls(), NO_HOPS)
    for url, depth in depths.items():
        row, links = walk._visit(url, depth)
        cost = 0 if row.outcome == "redirected" else 1
        assert all(depths[link] <= depth + cost for link in links)


@pytest.mark.parametrize("name", ["private", "metadata", "decimal", "octal", "ipv6", "mapped"])
def test_a_redirect_into_a_private_network_fails_there(name: str) -> None:
    first, second = exhibit(f"redirect-{name}/0")
    assert (first.outcome, second.outcome, second.reason) == ("redirected", "failed", "private-address")


def test_copies_are_stored_once_and_near_copies_each() -> None:
    origin = ONE.hosts.origin(0)
    copies = truth(ONE, [f"{origin}/x/copy/{k}" for k in range(5)])
    assert [row.outcome for row in copies] == ["stored", "duplicate", "duplicate", "duplicate", "stored"]
    near = truth(ONE, [f"{origin}/x/near/{k}" for k in range(5)])
    assert {row.outcome for row in near} == {"stored"}
    assert len({row.near for row in near[:4]}) == 1
    assert near[4].near != near[0].near


def test_an_alias_is_stored_under_its_first_url() -> None:
    assert [row.outcome for row in exhibit("alias/0")] == ["stored"] + ["duplicate"] * 4


def test_a_mirror_has_only_duplicates() -> None:
    web = Web(WebSpec(hosts=2, mirrors=0.5, external=0.0))
    assert [web.hosts.get(number).content for number in (0, 1)] == [0, 0]
    rows = truth(web, web.seed_urls(2))
    assert Counter((urlsplit(row.url).hostname, row.outcome) for row in rows) == {
        (web.hosts.name(0), "stored"): 20,
        (web.hosts.name(1), "duplicate"): 20,
    }


@pytest.mark.parametrize(
    "name",
    ["slow-start", "length-short", "chunked", "no-length", "http10", "interim", "html-broken", "found"],
)
def test_an_exhibit_of_a_mirror_is_a_duplicate(name: str) -> None:
    web = Web(WebSpec(hosts=2, mirrors=0.5))
    rows = truth(web, [f"{web.hosts.origin(number)}/x/{name}/0" for number in (0, 1)])
    assert [row.outcome for row in rows[:2]] == ["stored", "duplicate"]


def test_a_lying_host_has_one_page_for_all_that_are_missing() -> None:
    web = Web(WebSpec(hosts=1, soft404=1.0))
    rows = truth(web, [f"{web.hosts.origin(0)}{target}" for target in ("/x/missing/0", "/x/missing/1", "/nothing")])
    assert [row.outcome for row in rows] == ["stored", "duplicate", "duplicate"]
    assert exhibit("missing/0")[0].outcome == "gone"


Forbids = Callable[[str], bool]


def none(target: str) -> bool:
    return False


def private(target: str) -> bool:
    return target.startswith("/private/")


ALL_ALLOWED = ("allow-all", "empty", "missing-404", "gone-410", "bad-400", "html-page", "binary", "other-agent")
PRIVATE = (
    "rules",
    "recovers",
    "first-address",
    "wrong-type",
    "bom",
    "huge",
    "own-agent",
    "percent",
    "sloppy",
    "unknown-lines",
)
UNREACHABLE = ("too-many-429", "error-500", "error-503", "cut", "reset", "stall", "redirect-6", "redirect-loop")
LENIENT = ("unauthorized-401", "forbidden-403", "teapot-418")
FORBIDS: dict[str, Forbids] = {
    **dict.fromkeys((*ALL_ALLOWED, "no-group", "redirect-404"), none),
    **dict.fromkeys((*PRIVATE, "crawl-delay", "crawl-delay-long", "sitemap"), private),
    **dict.fromkeys(("redirect-1", "redirect-5", "redirect-host"), private),
    "deny-all": lambda target: True,
    "group-merge": lambda target: target.startswith(("/private/", "/notes/")),
    "wildcard": lambda target: target != "/" and not target.startswith("/catalogue/"),
    "longest": lambda target: private(target) and target != "/private/10.html",
}


def test_every_robots_variant_has_a_verdict_here() -> None:
    assert {*FORBIDS, *UNREACHABLE, *LENIENT} == set(VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rfc9309", [False, True])
def test_robots_denies_what_it_should(variant: str, rfc9309: bool) -> None:
    web = Web(WebSpec(hosts=1, pages=36, robots={variant: 1.0}))
    targets = [path(page) for page in range(36)]
    rows = truth(web, [web.hosts.origin(0) + target for target in targets], TruthOptions(rfc9309=rfc9309))
    forbids = FORBIDS.get(variant, none)
    reachable = variant not in UNREACHABLE and (rfc9309 or variant not in LENIENT)
    for target, row in zip(targets, rows, strict=False):
        verdict = ("denied", "robots") if forbids(target) else ("stored", "new")
        assert (row.outcome, row.reason) == (verdict if reachable else ("denied", "robots-unreachable"))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_of_a_host_is_the_outcome_of_its_urls(trouble: str) -> None:
    web = Web(WebSpec(hosts=1, trouble={trouble: 1.0}))
    rows = truth(web, [web.hosts.origin(0) + path(page) for page in range(3)])
    expected = TROUBLES[trouble].outcome or "stored"
    assert {row.outcome for row in rows} == {expected}


def test_scope_keeps_a_crawl_on_its_host_or_its_domain() -> None:
    web = Web(WebSpec(hosts=12, hosts_per_domain=4))
    reached = {
        scope: {urlsplit(row.url).hostname for row in truth(web, web.seed_urls(), TruthOptions(scope=scope))}
        for scope in ("host", "domain", "any")
    }
    assert reached["host"] == {web.hosts.name(0)}
    assert reached["domain"] == {web.hosts.name(number) for number in range(4)}
    assert reached["any"] == {web.hosts.name(number) for number in range(12)}


@pytest.mark.parametrize(
    ("robots", "asked", "orphans"), [("rules", False, 0), ("rules", True, 3), ("sitemap", False, 3)]
)
def test_sitemaps_add_pages_that_no_link_leads_to(robots: str, asked: bool, orphans: int) -> None:
    web = Web(WebSpec(hosts=1, robots={robots: 1.0}))
    rows = truth(web, web.seed_urls(), TruthOptions(sitemaps=asked))
    assert sum("/x/found/orphan-" in row.url for row in rows) == orphans
    assert sum("/sitemap" in row.url for row in rows) == (3 if orphans else 0)


def test_requisites_are_fetched_when_asked_for() -> None:
    rows = truth(ONE, ONE.seed_urls(), TruthOptions(requisites=True))
    assert sorted(row.url.rpartition(".")[2] for row in rows if "/static/" in row.url) == ["css", "js", "png"]
    assert len(rows) == len(truth(ONE, ONE.seed_urls())) + 3


def test_http_on_an_https_host_is_redirected() -> None:
    web = Web(WebSpec(hosts=1, https=1.0, pages=1))
    rows = truth(web, [f"http://{web.hosts.name(0)}:{web.spec.http_port}/"])
    assert [(row.outcome, row.url) for row in rows] == [
        ("redirected", f"http://{web.hosts.name(0)}:{web.spec.http_port}/"),
        ("stored", f"https://{web.hosts.name(0)}:{web.spec.https_port}/"),
    ]


@dataclass
class Crawl:
    """The simplest crawl there is: breadth first, from a list, on the standard library."""

    web: Web
    statuses: dict[str, int] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)

    def run(self, seeds: list[str]) -> None:
        waiting, seen = deque(seeds), set(seeds)
        while waiting:
            url = waiting.popleft()
            status, location, body = self.fetch(url)
            self.statuses[url] = status
            self.bodies[url] = body
            found = [location] if location else Links(body.decode()).hrefs if status == 200 else []
            for link in found:
                absolute = urldefrag(urljoin(url, link)).url
                if absolute not in seen:
                    seen.add(absolute)
                    waiting.append(absolute)

    def fetch(self, url: str) -> tuple[int, str | None, bytes]:
        parts = urlsplit(url)
        host = self.web.hosts.find(parts.hostname or "")
        assert host is not None
        connection = http.client.HTTPConnection(host.addresses[0], host.port, timeout=10)
        try:
            connection.request("GET", url.removeprefix(host.origin), headers={"Host": parts.netloc})
            response = connection.getresponse()
            return response.status, response.getheader("Location"), response.read()
        finally:
            connection.close()


def test_a_crawl_over_real_http_finds_what_the_truth_says(tmp_path: Path) -> None:
    shares = dict.fromkeys(("redirect-301", "status-404", "copy", "alias"), 0.4)
    with served(WebSpec(hosts=5, pages=24, exhibits=shares), tmp_path) as web:
        crawl = Crawl(web.web)
        crawl.run(web.running.seeds)
        rows = {row.url: row for row in Truth(web.web, web.running.seeds).rows()}
    meaning = {"stored": 200, "duplicate": 200, "redirected": 301, "gone": 404}
    assert crawl.statuses == {url: meaning[row.outcome] for url, row in rows.items()}
    assert {row.outcome for row in rows.values()} == set(meaning)
    classes = defaultdict(list)
    for url, body in crawl.bodies.items():
        if crawl.statuses[url] == 200:
            classes[body].append(rows[url].outcome)
    assert all(sorted(found) == ["duplicate"] * (len(found) - 1) + ["stored"] for found in classes.values())
