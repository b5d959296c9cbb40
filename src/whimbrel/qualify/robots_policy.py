"""What a finding makes of a host: the table of qualification as pure functions (Agarwal et al. §3.4, RFC 9309)."""

from typing import Final, Literal

import msgspec

from whimbrel.flow import Config
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.robots import RobotsRules
from whimbrel.qualify.robots_fetch import RobotsFinding, robots_url
from whimbrel.url import resolve
from whimbrel.visit import HostName

_NO_ROBOTS: Final = frozenset({400, 404, 410})
_NOBODY: Final = Qualification("disqualified", 0.0, (), 0.0)


class QualifyConfig(Config, frozen=True):
    agent: str = "whimbrel"
    """The product token that robots.txt files know us by, or the whole user agent."""
    robots: Literal["seed", "rfc9309"] = "seed"
    """`rfc9309` takes any 4xx but 429 as "no rules"; `seed` only 400, 404 and 410."""
    recheck_s: float = 86_400.0
    """How long a qualification holds."""
    retry_s: float = 3_600.0
    """Until the next attempt after a failure; doubles with each further one, up to `retry_max_s`."""
    retry_max_s: float = 86_400.0
    """The longest wait between two attempts."""
    max_failures: int = 34
    """Successive failures that disqualify a host for good. With the other defaults that takes about 30 days."""
    pause_s: float = 2.0
    """Between the two rounds of one attempt."""
    keep_rules_s: float = 30 * 86_400.0
    """How long the last good rules are used while robots.txt is unreachable."""
    max_redirects: int = 5
    """Of robots.txt, in a row."""
    max_bytes: int = 512_000
    """Of robots.txt, decoded. What stands beyond is not read."""


class Circumstance(msgspec.Struct, frozen=True):
    """What both verdicts need to know besides the finding."""

    host: HostName
    before: Qualification | None
    now_s: float
    """Wall clock."""
    addresses: tuple[str, ...]
    addresses_until_s: float
    asked_at_s: float
    """When robots.txt was asked for last."""

    @property
    def past(self) -> Qualification:
        """What was known; nothing at first. An operator who lets a host in again lets it begin anew."""
        past = self.before or _NOBODY
        return msgspec.structs.replace(past, failures=0) if past.standing == "for-good" else past


def judge(
    config: QualifyConfig, finding: RobotsFinding, case: Circumstance, *, without_robots: bool = False
) -> Qualification:
    """The verdict on a host that was asked for its robots.txt. `without_robots`: the operator says that one which
    cannot be obtained counts as no rules."""
    lenient = config.robots == "rfc9309" and 400 <= finding.status < 500 and finding.status != 429
    if finding.text is not None:
        return _qualified(config, finding, case, finding.text)
    if finding.status in _NO_ROBOTS or lenient:
        return _qualified(config, finding, case, "")
    failed = fail(config, "private-address" if finding.refused else "robots-unreachable", finding, case)
    if without_robots and not finding.refused and case.addresses:
        until_s = case.now_s + config.recheck_s
        return msgspec.structs.replace(failed, standing="qualified", until_s=until_s, robots="", reason="")
    # Who sent Retry-After wants to be left alone, whatever the rules were.
    keeps = finding.unreachable and not finding.refused and not finding.retry_after_s
    return _with_old_rules(config, failed, case.now_s) if keeps else failed


def fail(config: QualifyConfig, reason: str, finding: RobotsFinding, case: Circumstance) -> Qualification:
    """Disqualified until the retry interval is over, or for good. What is known of its rules stays known.

    A host whose every address is private is not waited for: only other options can change that.
    """
    past = case.past
    failures = past.failures + 1
    for_good = failures >= config.max_failures or reason == "private-address"
    interval_s = max(retry_interval_s(config, failures), finding.retry_after_s)
    return msgspec.structs.replace(
        past,
        standing="for-good" if for_good else "disqualified",
        until_s=case.now_s + interval_s,
        addresses=case.addresses,
        addresses_until_s=case.addresses_until_s,
        robots=None,
        robots_at_s=case.asked_at_s,
        robots_status=finding.status,
        failures=failures,
        reason=reason,
        detail=f"{'no address' if reason == 'dns' else f'robots.txt: {finding}'}; failure {failures} in a row",
    )


def retry_interval_s(config: QualifyConfig, failures: int) -> float:
    # The exponent is bounded so that no number of failures overflows.
    return min(config.retry_s * 2.0 ** min(failures - 1, 60), config.retry_max_s)


def _with_old_rules(config: QualifyConfig, failed: Qualification, now_s: float) -> Qualification:
    """Qualified all the same while the last good rules are young enough. The failure counts nevertheless."""
    end_s = failed.good_robots_at_s + config.keep_rules_s
    if failed.standing == "for-good" or not failed.good_robots_at_s or now_s >= end_s:
        return failed
    age_h = max(0.0, now_s - failed.good_robots_at_s) / 3600
    return msgspec.structs.replace(
        failed,
        standing="qualified",
        until_s=min(failed.until_s, end_s),
        reason="",
        detail=f"{failed.detail}; the rules of {age_h:.1f} hours ago are used",
    )


def _qualified(config: QualifyConfig, finding: RobotsFinding, case: Circumstance, text: str) -> Qualification:
    rules = RobotsRules.parse(text, config.agent)
    return Qualification(
        standing="qualified",
        until_s=case.now_s + config.recheck_s,
        addresses=case.addresses,
        addresses_until_s=case.addresses_until_s,
        robots="" if rules.empty else text,
        crawl_delay_s=rules.crawl_delay_s,
        sitemaps=_absolute(case.host, rules.sitemaps),
        robots_at_s=case.asked_at_s,
        robots_status=finding.status,
        good_robots_at_s=case.asked_at_s,
        detail="; ".join(rules.notes),
    )


def _absolute(host: HostName, sitemaps: tuple[str, ...]) -> tuple[str, ...]:
    """The standard wants absolute URLs; people write paths."""
    base = robots_url(host) if sitemaps else None
    if base is None:
        return ()
    urls = (resolve(base, text) for text in sitemaps)
    return tuple(dict.fromkeys(url.text for url in urls if url is not None))
