"""The table of qualification, row by row, on hosts of the simulated web."""

import asyncio
import time

import pytest

from tests.qualify.rig import OpenGate, exhibit, names, procedure, qualifying, run, transport
from tests.sim.web import Served
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.robots import RobotsRules
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.exhibit.trouble import TROUBLES

TARGETS = (
    *("/", "/private", "/private/", "/private/1", "/private/2?x=/private/", "/catalogue/a.html", "/a.html", "/a.htmlx"),
    *("/notes/", "/notes/3", "/robots.txt", "/x/reset/0", "/priv%61te/x", "/Private/", "/?p=/private/"),
)
ATTEMPTS = 3
"""Enough for everything that recovers."""


def qualify_all(web: Served, labels: list[str], **config: object) -> dict[str, Qualification]:
    """All at once, each again until it is qualified or has had its attempts.

    Each has a resolver of its own: in c-ares 1.34 one answer that makes no sense (`dns-garbage`) fails the questions
    behind it, too, and some hosts here count questions.
    """

    async def scene() -> dict[str, Qualification]:
        gate = OpenGate()

        async def one(label: str) -> Qualification:
            found = None
            async with names(web) as resolver:
                for _ in range(ATTEMPTS):
                    attempt = procedure(resolver, made, gate, **config)
                    found = await attempt.qualify(exhibit(web, label), found)
                    if found.standing == "qualified":
                        break
            assert found is not None
            return found

        async with transport(ca=web.running.ca) as made:
            found = await asyncio.gather(*map(one, labels))
        assert gate.inside == 0
        return dict(zip(labels, found, strict=True))

    return run(scene())


@pytest.mark.parametrize("robots", ["seed", "rfc9309"])
def test_every_variant_of_robots_txt_gets_the_verdict_that_the_simulated_web_states(web: Served, robots: str) -> None:
    found = qualify_all(web, [f"robots-{name}" for name in VARIANTS], robots=robots)
    for name, variant in VARIANTS.items():
        one = found[f"robots-{name}"]
        admitted = variant.admits(rfc9309=robots == "rfc9309")
        assert (one.standing == "qualified") == admitted, (name, one)
        assert one.reason == ("" if admitted else "robots-unreachable"), name
        assert one.failures == (0 if admitted else ATTEMPTS), name
        assert one.crawl_delay_s == variant.crawl_delay_s, name
        rules = RobotsRules.parse(one.robots or "", "whimbrel")
        if admitted:
            denied = [target for target in TARGETS if not rules.allows(f"http://h.test:81{target}")]
            wanted = [target.replace("%61", "a") for target in TARGETS]
            expected = [TARGETS[at] for at, target in enumerate(wanted) if variant.denies(target)]
            assert denied == [target for target in expected if target != "/robots.txt"], name
            assert rules.empty == (not one.robots), name


def test_details_say_what_was_not_taken_as_it_stands(web: Served) -> None:
    found = qualify_all(web, ["robots-html-page", "robots-sitemap", "robots-error-503"])
    assert found["robots-html-page"].detail == "robots.txt has no line that can be read"
    sitemap = web.web.hosts.find("robots-sitemap.exhibit.test")
    assert sitemap is not None
    assert found["robots-sitemap"].sitemaps == (f"{sitemap.origin}/sitemap.xml",)
    assert found["robots-error-503"].detail == f"robots.txt: status 503; failure {ATTEMPTS} in a row"
    assert found["robots-error-503"].robots_status == 503


def test_every_trouble_of_a_host_gets_its_reason(web: Served) -> None:
    found = qualify_all(web, [trouble.name for trouble in TROUBLES])
    for trouble in TROUBLES:
        one = found[trouble.name]
        assert (one.standing == "qualified") == (trouble.outcome == ""), (trouble.name, one)
        assert one.reason == trouble.reason, (trouble.name, one)
    assert found["dns-nxdomain"].addresses == ()
    assert found["dns-private"].addresses == ()
    assert found["tls-expired"].detail == f"robots.txt: tls; failure {ATTEMPTS} in a row"


@pytest.mark.parametrize("label", ["robots-first-address", "connect-first-silent"])
def test_each_address_is_tried_and_the_one_that_answers_goes_first(web: Served, label: str) -> None:
    async def scene() -> None:
        async with qualifying(web) as (made, gate):
            host = exhibit(web, label)
            first = await made.qualify(host, None)
            before = web.web.hosts.find(host.host)
            assert before is not None
            assert first.addresses == (before.addresses[1], before.addresses[0])
            assert [passage.address for passage in gate.passages] == list(before.addresses)
            # The next time it is asked first.
            await made.qualify(host, first)
            assert [passage.address for passage in gate.passages[2:]] == [before.addresses[1]]
            assert (await made.refresh(host, first)).addresses == first.addresses

    run(scene())


@pytest.mark.parametrize(("label", "requests"), [("robots-error-500", 2), ("robots-reset", 2), ("robots-cut", 1)])
def test_there_are_two_rounds_with_a_pause_unless_the_first_settles_it(web: Served, label: str, requests: int) -> None:
    async def scene() -> None:
        async with qualifying(web, pause_s=0.5) as (made, gate):
            began = time.monotonic()
            await made.qualify(exhibit(web, label), None)
            assert len(gate.passages) == requests
            assert all(passage.own for passage in gate.passages)
            assert (time.monotonic() - began >= 0.5) == (requests == 2)

    run(scene())


def test_a_redirect_to_another_host_passes_the_gate_as_that_host(web: Served) -> None:
    async def scene() -> None:
        async with qualifying(web) as (made, gate):
            host = exhibit(web, "robots-redirect-host")
            found = await made.qualify(host, None)
            other = exhibit(web, "robots-rules")
            assert found.robots == "User-agent: *\nDisallow: /private/\n"
            assert [(passage.site, passage.own, passage.status) for passage in gate.passages] == [
                (host.site, True, 301),
                (other.site, False, 200),
            ]

    run(scene())


def test_six_redirects_are_one_too_many_and_no_other_address_is_asked(web: Served) -> None:
    async def scene() -> None:
        async with qualifying(web) as (made, gate):
            found = await made.qualify(exhibit(web, "robots-redirect-6"), None)
            assert (found.standing, found.robots_status, len(gate.passages)) == ("disqualified", 301, 6)

    run(scene())


def test_a_refresh_changes_the_addresses_and_nothing_else(web: Served) -> None:
    async def scene() -> None:
        async with qualifying(web) as (made, gate):
            host = exhibit(web, "robots-rules")
            found = await made.qualify(host, None)
            asked = len(gate.passages)
            old = Qualification("qualified", found.until_s, ("127.9.9.9",), 1.0, robots=found.robots, failures=3)
            new = await made.refresh(host, old)
            assert len(gate.passages) == asked, "robots.txt is not asked for"
            assert (new.addresses, new.until_s, new.failures) == (found.addresses, old.until_s, 3)
            assert new.addresses_until_s > 1.0
            gone = await made.refresh(exhibit(web, "dns-nxdomain"), old)
            assert (gone.standing, gone.reason, gone.failures) == ("disqualified", "dns", 4)

    run(scene())
