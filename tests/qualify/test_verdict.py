"""Failures, intervals and old rules, over any history."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.qualify.rig import name_of
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.robots_fetch import RobotsFinding
from whimbrel.qualify.robots_policy import Circumstance, QualifyConfig, fail, judge, retry_interval_s

HOST = name_of("http://a.test/")
CONFIG = QualifyConfig(recheck_s=1_000, retry_s=10, retry_max_s=200, max_failures=7, keep_rules_s=300)
RULES = "User-agent: *\nDisallow: /x\n"
UNREACHABLE = (RobotsFinding(trouble="timeout"), RobotsFinding(503), RobotsFinding(trouble="cut"))
SHUT = (
    RobotsFinding(403),
    RobotsFinding(429, retry_after_s=150.0),
    RobotsFinding(301, trouble="redirect-limit"),
    RobotsFinding(200),
)


class History(RuleBasedStateMachine):
    """One host through good days and bad; the model counts for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 1_000_000.0
        self.found: Qualification | None = None
        self.failures = 0
        self.good_at_s: float | None = None
        self.text = ""

    def case(self) -> Circumstance:
        return Circumstance(HOST, self.found, self.now_s, ("192.0.2.1",), self.now_s + 60, self.now_s)

    @property
    def given_up(self) -> bool:
        return self.found is not None and self.found.standing == "for-good"

    @rule(seconds=st.sampled_from([0.5, 10.0, 90.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds

    @precondition(lambda self: not self.given_up)
    @rule(finding=st.sampled_from([RobotsFinding(200, RULES), RobotsFinding(200, ""), RobotsFinding(404)]))
    def robots_txt_is_had(self, finding: RobotsFinding) -> None:
        self.found = judge(CONFIG, finding, self.case())
        self.failures, self.good_at_s, self.text = 0, self.now_s, finding.text or ""
        assert self.found.standing == "qualified"
        assert self.found.until_s == self.now_s + 1_000
        self.holds()

    @precondition(lambda self: not self.given_up)
    @rule(finding=st.sampled_from(UNREACHABLE))
    def robots_txt_is_unreachable(self, finding: RobotsFinding) -> None:
        self.found = judge(CONFIG, finding, self.case())
        self.failures += 1
        young = self.good_at_s is not None and self.now_s < self.good_at_s + 300
        if self.failures >= 7:
            assert self.found.standing == "for-good"
        elif young:
            assert (self.found.standing, self.found.reason) == ("qualified", "")
            assert self.good_at_s is not None
            assert self.found.until_s == min(self.now_s + self.interval_s(), self.good_at_s + 300)
        else:
            assert (self.found.standing, self.found.reason) == ("disqualified", "robots-unreachable")
            assert self.found.until_s == self.now_s + self.interval_s()
        self.holds()

    @precondition(lambda self: not self.given_up)
    @rule(finding=st.sampled_from(SHUT))
    def robots_txt_is_shut(self, finding: RobotsFinding) -> None:
        self.disqualified(judge(CONFIG, finding, self.case()), "robots-unreachable", finding.retry_after_s)

    @precondition(lambda self: not self.given_up)
    @rule()
    def there_is_no_address(self) -> None:
        self.disqualified(fail(CONFIG, "dns", RobotsFinding(), self.case()), "dns", 0.0)

    @precondition(lambda self: not self.given_up)
    @rule()
    def the_address_is_private(self) -> None:
        """That is final at once: waiting does not help."""
        self.found = judge(CONFIG, RobotsFinding(refused=True), self.case())
        self.failures += 1
        assert (self.found.standing, self.found.reason) == ("for-good", "private-address")
        self.holds()

    @precondition(lambda self: self.given_up)
    @rule()
    def an_operator_lets_it_in_again(self) -> None:
        self.failures = 0
        self.disqualified(judge(CONFIG, RobotsFinding(403), self.case()), "robots-unreachable", 0.0)

    def disqualified(self, found: Qualification, reason: str, retry_after_s: float) -> None:
        self.found = found
        self.failures += 1
        assert found.standing == ("for-good" if self.failures >= 7 else "disqualified")
        assert found.reason == reason
        assert found.until_s == self.now_s + max(self.interval_s(), retry_after_s)
        self.holds()

    def interval_s(self) -> float:
        return {1: 10.0, 2: 20.0, 3: 40.0, 4: 80.0, 5: 160.0}.get(self.failures, 200.0)

    def holds(self) -> None:
        assert self.found is not None
        assert self.found.failures == self.failures
        assert self.found.robots in (self.text, None), "the last good rules stay known"
        assert self.found.good_robots_at_s == (self.good_at_s or 0.0)


TestHistory: Any = History.TestCase
TestHistory.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_with_the_defaults_a_host_is_given_up_after_about_thirty_days() -> None:
    config = QualifyConfig()
    days = sum(retry_interval_s(config, failures) for failures in range(1, config.max_failures)) / 86_400
    assert days == pytest.approx(30, abs=1)
    assert retry_interval_s(config, 10**6) == config.retry_max_s


def test_where_the_operator_says_so_a_robots_txt_that_cannot_be_obtained_counts_as_no_rules() -> None:
    case = Circumstance(HOST, None, 1_000.0, ("192.0.2.1",), 1_060.0, 1_000.0)
    for finding in (*UNREACHABLE, *SHUT):
        found = judge(CONFIG, finding, case, without_robots=True)
        assert (found.standing, found.robots, found.reason, found.until_s) == ("qualified", "", "", 2_000.0)
    private = judge(CONFIG, RobotsFinding(trouble="private-address", refused=True), case, without_robots=True)
    assert private.standing == "for-good", "an address that we do not go to is another matter"
