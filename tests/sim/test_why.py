"""`why` for every URL that a simulated web knows: the answer and the rule that it names are those of the truth."""

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

import whimbrel
from tests.sim.crawl import options
from tests.sim.crawl import whimbrel as command
from tests.sim.test_exact import PATIENT, UNHURRIED, wild
from tests.sim.web import Served, serve
from tests.sim.why_truth import Expected, WhyJob, WhyTruth, universe
from whimbrel.simweb.exhibit import PAGE_EXHIBITS
from whimbrel.simweb.server.log import read_log
from whimbrel.simweb.spec import WebSpec, changed


def crawled(served: Served, into: Path, job: WhyJob, timeout_s: float, **settings: object) -> None:
    done = command(
        *("crawl", *job.seeds, "--into", str(into), *options(served, **settings), *job.options()),
        timeout_s=timeout_s,
    )
    assert done.returncode in (0, 3), done.stderr[-3000:]


def is_right(story: whimbrel.UrlStory, answer: Expected, payloads: dict[str, str]) -> bool:
    if story.kind != answer.kind:
        return False
    if answer.payload and story.outcome == "duplicate":
        return story.reason == "same-payload" and payloads.get(story.rule) == answer.payload
    rules = {story.rule, *(one.rule for one in story.refusals if one.reason == answer.reason)}
    named = answer.rule in rules if answer.said is None else any(answer.said in rule for rule in rules)
    reasons = {story.reason, *(one.reason for one in story.refusals if story.kind == "refused")}
    return story.outcome == answer.outcome and answer.reason in reasons and named


def wrong_answers(directory: Path, truth: WhyTruth, urls: Iterable[str]) -> tuple[Counter[str], list[str]]:
    """How many answers there were of each kind, and those that are wrong."""
    kinds: Counter[str] = Counter()
    wrong = []
    with whimbrel.Explainer(directory) as explainer:
        for story in explainer.stories(urls):
            kinds[f"{story.kind} {story.outcome or story.reason}"] += 1
            answers = truth.expected(story.url)
            reasons = {answer.reason for answer in answers}
            right = (
                all(is_right(story, one, truth.payloads) for one in answers)
                and {one.reason for one in story.refusals} == reasons
                if story.kind == "refused" and story.refusals
                else any(is_right(story, one, truth.payloads) for one in answers)
            )
            kinds["of several right answers"] += len(answers) > 1 and story.kind != "refused"
            if not right:
                told = (story.kind, story.outcome, story.reason, story.rule[:200], story.refusals[:3])
                wrong.append(f"{story.url[:150]}: {told}, truth: {answers}; {story.explanation}")
    return kinds, wrong


def check(
    served: Served, folder: Path, job: WhyJob, least: dict[str, int], timeout_s: float, **settings: object
) -> None:
    crawled(served, folder / "crawl", job, timeout_s, **settings)
    time.sleep(2)  # The server's log is a second behind.
    truth = WhyTruth(served.web, job, read_log(folder / "web" / "access.tsv"))
    urls = sorted({*universe(served.web, job.seeds), *truth.answers})
    began_s = time.monotonic()
    kinds, wrong = wrong_answers(folder / "crawl", truth, urls)
    print(f"{len(urls):,} URLs in {time.monotonic() - began_s:.1f} s: {dict(kinds.most_common())}")  # noqa: T201
    assert not wrong, f"{len(wrong)} of {len(urls)}:\n" + "\n".join(wrong[:30])
    assert {kind: kinds[kind] for kind, count in least.items() if kinds[kind] < count} == {}


QUICK_EXHIBITS = [
    *("redirect-301", "redirect-chain", "redirect-loop", "redirect-scheme", "redirect-private", "redirect-long"),
    *("status-404", "status-403", "copy", "near", "alias", "meta-nofollow", "header-nofollow", "meta-noindex"),
    *("odd-urls", "html-broken", "repeating", "chunked", "redirect-host"),
]
QUICK_ROBOTS = ["rules", "deny-all", "forbidden-403", "error-500", "wildcard", "longest", "percent", "group-merge"]
QUICK_TROUBLES = ["dns-nxdomain", "dns-private", "connect-refused", "tls-expired"]


def small() -> WebSpec:
    return WebSpec(
        hosts=60,
        pages=12,
        pages_tail=True,
        page_bytes=3_000,
        https=0.2,
        mirrors=0.1,
        soft404=0.1,
        exhibits=dict.fromkeys((name for name in PAGE_EXHIBITS if name in QUICK_EXHIBITS), 0.08),
        robots=dict.fromkeys((*QUICK_ROBOTS, "sitemap"), 0.06),
        trouble=dict.fromkeys(QUICK_TROUBLES, 0.03),
    )


def seeds_of(served: Served, *more: str) -> tuple[str, ...]:
    return (*served.running.seeds, *more)


def test_why_is_true_for_every_url_of_a_small_web_with_limits_of_all_kinds(tmp_path: Path) -> None:
    with serve(small(), tmp_path / "web") as served:
        origin = served.web.hosts.origin
        job = WhyJob(
            seeds=seeds_of(served, origin(8) + "/", origin(0) + "/notes/9.html"),
            exclude=("*/events/*", "*.example/*", "*/sitemap-pages.xml"),
            block=("s2.test", "shop.s1.test"),
            refuse=("*/notes/*",),
            max_pages_per_host=12,
        )
        check(
            served,
            tmp_path,
            job,
            {"visited stored": 100, "queued max-pages-per-host": 20, "unknown ": 50},
            200,
            **UNHURRIED,
        )


def test_why_is_true_within_a_domain_and_a_depth(tmp_path: Path) -> None:
    spec = changed(small(), {"robots": dict.fromkeys(QUICK_ROBOTS, 0.06), "hosts": 24})
    with serve(spec, tmp_path / "web") as served:
        origin = served.web.hosts.origin
        job = WhyJob(
            seeds=tuple(origin(at) + "/" for at in (0, 5, 9)),
            scope="domain",
            include=("*/x/*", "*.html", "*/"),
            max_depth=2,
        )
        check(
            served,
            tmp_path,
            job,
            {"visited stored": 50, "visited dropped": 10, "refused out-of-scope": 20},
            200,
            **UNHURRIED,
        )


@pytest.mark.long
def test_why_is_true_for_every_url_of_a_large_wild_web(tmp_path: Path) -> None:
    spec = wild(2_000, 50, often=0.003, slow=0.0002, endless=0.0002)
    with serve(spec, tmp_path / "web") as served:
        origin = served.web.hosts.origin
        job = WhyJob(
            seeds=seeds_of(served, origin(28) + "/", origin(1) + "/help/5.html"),
            exclude=("*/events/*", "*/x/status-404/*"),
            block=("s7.test", "docs.s30.test"),
            refuse=("*/help/*",),
            max_pages_per_host=120,
        )
        least = {"visited stored": 50_000, "queued max-pages-per-host": 1_000, "refused excluded": 1_000}
        check(served, tmp_path, job, least, 1_700, **PATIENT)
