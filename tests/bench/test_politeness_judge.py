"""The judge finds each broken promise in a log made by hand, and none where all are kept."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.access import EPOCH_S, ETIQUETTE, Log, alone, crowd, exhibit, twins
from whimbrel.bench.politeness import Etiquette, busiest
from whimbrel.bench.politeness.etiquette import with_delay
from whimbrel.bench.politeness.judge import RULES
from whimbrel.simweb.page import path

ADAPTIVE = Etiquette()


def test_a_polite_crawl_of_many_hosts_violates_nothing() -> None:
    log = Log()
    for at, host in enumerate(alone(30)):
        log.robots(host, at * 0.01)
        for page in range(20):
            log.page(host, 2.0 + at * 0.01 + page * 3.02, target=path(page))
    assert log.rules() == []
    assert log.rules(ADAPTIVE) == []


def test_an_empty_log_violates_nothing() -> None:
    assert Log().judged() == []


def test_a_violation_says_what_happened_where_and_when() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.page(host, 2.0)
    log.page(host, 4.0, target="/about/1.html")
    (found,) = log.judged()
    assert (found.rule, found.subject, found.at_s) == ("host-delay", f"{host.origin}", EPOCH_S + 4.0)
    assert found.detail == "/about/1.html came 1.990 s after /, not 3.000 s"


def test_a_second_request_in_flight_on_a_site_is_found() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.page(host, 2.0, took=5.0)
    log.page(host, 4.0, target="/about/1.html")
    assert log.rules(with_delay(0.0)) == ["in-flight"]
    assert log.rules() == ["in-flight"]


def test_a_long_visit_keeps_its_site_busy_after_a_short_one_beside_it() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.page(host, 2.0, took=8.0)
    log.page(host, 3.0, target="/about/1.html")
    log.page(host, 7.0, target="/archive/2.html")
    assert log.rules(with_delay(0.0)) == ["in-flight", "in-flight"]


@given(gaps=st.lists(st.floats(0.0, 6.0), min_size=1, max_size=20), took=st.floats(0.001, 2.0))
def test_exactly_the_gaps_that_are_too_short_break_the_host_delay(gaps: list[float], took: float) -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    end, short = 2.0, 0
    for number, gap in enumerate((3.0, *gaps)):
        end = log.page(host, end + gap, took=took, target=path(number))
        short += gap < 2.995
    # A float of seconds since 1970 has a quarter of a microsecond: what lies that near may go either way.
    near = sum(min(abs(gap - 2.995), gap) < 1e-5 for gap in gaps)
    assert abs(log.rules().count("host-delay") - short) <= near


@pytest.mark.parametrize(("took", "gap", "rules"), [(0.1, 0.9, True), (0.1, 1.01, False), (4.0, 7.0, True)])
def test_the_adaptive_delay_is_twice_what_the_visit_took_within_its_bounds(
    took: float, gap: float, rules: bool
) -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    end = log.page(host, 2.0, took=took)
    log.page(host, end + gap, target="/about/1.html")
    assert ("host-delay" in log.rules(ADAPTIVE)) == rules


def test_the_adaptive_delay_ends_at_its_maximum() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    end = log.page(host, 2.0, took=100.0)
    log.page(host, end + 30.0, target="/about/1.html")
    assert log.rules(ADAPTIVE) == []


def test_crawl_delay_is_honoured_up_to_the_maximum() -> None:
    log, host = Log(), exhibit("robots-crawl-delay")
    log.robots(host, 0.0)
    end = log.page(host, 2.0)
    log.page(host, end + 1.9, target="/about/1.html")
    quick = msgspec.structs.replace(ETIQUETTE, delay_s=1.0)
    assert log.rules(quick) == ["host-delay"]
    assert log.rules(msgspec.structs.replace(quick, max_crawl_delay_s=1.5)) == []

    log, host = Log(), exhibit("robots-crawl-delay-long")
    log.robots(host, 0.0)
    end = log.page(host, 2.0)
    log.page(host, end + 300.0, target="/about/1.html")
    assert log.rules() == []


def test_the_clock_of_a_site_holds_for_its_robots_txt_too() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.page(host, 2.0)
    log.robots(host, 4.0)
    assert log.rules() == ["host-delay"]


@pytest.mark.parametrize(
    ("name", "status", "asked_s"),
    [("retry-seconds-429", 429, 2.0), ("retry-date-503", 503, 1.9), ("recovers-retry-after", 429, 2.0)],
)
def test_who_comes_before_the_time_of_retry_after_is_found(name: str, status: int, asked_s: float) -> None:
    quick = with_delay(0.5)
    for gap, rules in ((asked_s - 0.2, ["retry-after"]), (asked_s + 0.1, [])):
        log, host = Log(), alone(1)[0]
        log.robots(host, 0.0)
        # A date has whole seconds: just after a full one, it asks for nearly the two seconds.
        end = log.exhibit(host, 2.01, name, status=status)
        log.page(host, end + gap, target="/about/1.html")
        assert log.rules(quick) == rules


def test_a_kill_makes_the_crawl_forget_the_retry_after_that_it_had_just_got_and_no_other() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    end = log.exhibit(host, 2.0, "retry-seconds-429", status=429)
    log.page(host, end + 1.9, target="/about/1.html")
    quick = with_delay(0.5)
    assert log.rules(quick, kills=(end + 0.5,)) == []
    assert log.rules(quick, kills=(end + 1.8,)) == ["retry-after"]
    assert log.rules(quick, kills=(end - 0.5,)) == ["retry-after"]


def test_only_the_answer_with_retry_after_asks_for_a_pause() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    end = log.exhibit(host, 2.0, "recovers-retry-after", status=200)
    end = log.exhibit(host, end + 0.6, "status-503", status=503)
    log.page(host, end + 0.6, target="/about/1.html")
    assert log.rules(with_delay(0.5)) == []


def test_two_hosts_of_a_domain_share_its_clock() -> None:
    one, other = twins()
    for gap, rules in ((0.9, ["domain-delay"]), (1.0, [])):
        log = Log()
        log.robots(one, 0.0)
        log.robots(other, 5.0)
        end = log.page(one, 10.0)
        log.page(other, end + gap)
        assert log.rules() == rules


def test_a_visit_in_flight_holds_its_domain_from_its_start() -> None:
    one, other = twins()
    for at, rules in ((10.5, ["domain-delay"]), (11.0, [])):
        log = Log()
        log.robots(one, 0.0)
        log.robots(other, 5.0)
        log.page(one, 10.0, took=20.0)
        log.page(other, at)
        assert log.rules() == rules


def test_the_clocks_of_what_is_shared_can_count_from_starts() -> None:
    one, other = twins()
    log = Log()
    log.robots(one, 0.0)
    log.robots(other, 5.0)
    log.page(one, 10.0, took=0.5)
    log.page(other, 11.2)
    assert log.rules() == ["domain-delay"]
    assert log.rules(msgspec.structs.replace(ETIQUETTE, counts_from="start")) == []


def test_two_domains_at_an_address_share_its_clock() -> None:
    one, other = alone(2)
    for gap, rules in ((0.4, ["ip-delay"]), (0.5, [])):
        log = Log()
        log.robots(one, 0.0)
        log.robots(other, 5.0, address=one.addresses[0])
        end = log.page(one, 10.0)
        log.page(other, end + gap, address=one.addresses[0])
        assert log.rules() == rules
        assert log.rules(with_delay(0.0)) == []


@pytest.mark.parametrize(("late", "broken"), [(0.0, ["ip-delay"]), (0.04, ["ip-delay"]), (0.06, []), (1.0, [])])
def test_who_began_before_the_end_of_another_could_be_known_is_not_blamed(late: float, broken: list[str]) -> None:
    one, other = alone(2)
    log = Log()
    log.robots(one, 0.0)
    log.robots(other, 5.0, address=one.addresses[0])
    end = log.page(one, 10.0, took=2.0)
    log.page(other, end + 0.15, address=one.addresses[0], late=late)
    assert log.rules() == broken


@pytest.mark.parametrize(("at", "late", "broken"), [(0.06, 0.1, []), (0.2, 0.0, ["ip-delay"])])
def test_when_a_client_gave_up_is_known_to_a_quarter_of_a_second(at: float, late: float, broken: list[str]) -> None:
    one, other = alone(2)
    log = Log()
    log.robots(one, 0.0)
    log.robots(other, 5.0, address=one.addresses[0])
    end = log.exhibit(one, 10.0, "stall", status=0, took=2.0)
    log.page(other, end + at, address=one.addresses[0], late=late)
    assert log.rules() == broken


@pytest.mark.parametrize(("late", "broken"), [(0.0, ["ip-delay"]), (0.05, ["ip-delay"]), (0.15, [])])
def test_two_starts_are_not_too_close_when_the_first_was_seen_late(late: float, broken: list[str]) -> None:
    one, other = alone(2)
    log = Log()
    log.robots(one, 0.0)
    log.robots(other, 5.0, address=one.addresses[0])
    log.page(one, 10.0, took=2.0, late=late)
    log.page(other, 10.4, address=one.addresses[0])
    assert log.rules() == broken


def test_a_fifth_request_in_flight_at_an_address_is_found() -> None:
    hosts = alone(5)
    log = Log()
    for at, host in enumerate(hosts):
        log.robots(host, float(at), address=hosts[0].addresses[0])
        log.page(host, 10.0 + at, took=10.0, address=hosts[0].addresses[0])
    assert log.rules() == ["ip-cap"]
    assert log.rules(with_delay(0.0)) == []
    assert busiest(log.lines) == {hosts[0].addresses[0]: 5}


def test_a_crowded_address_has_no_clock_but_a_cap() -> None:
    hosts = crowd()
    assert len(hosts) > 60
    for count, rules in ((20, []), (21, ["cdn-cap"])):
        log = Log()
        for at, host in enumerate(hosts[:count]):
            log.robots(host, at * 0.02)
            log.page(host, 10.0 + at * 0.02, took=2.0)
        assert log.rules(seeds=tuple(host.origin + "/" for host in hosts)) == rules


def test_an_address_is_not_crowded_before_the_crawl_has_met_enough_names() -> None:
    first, second, *_ = hosts = crowd()
    log = Log()
    log.robots(first, 0.0)
    log.robots(second, 0.2)
    assert log.rules(seeds=tuple(host.origin + "/" for host in hosts[:50])) == ["ip-delay"]
    assert log.rules(seeds=tuple(host.origin + "/" for host in hosts[:51])) == []


def test_the_links_of_pages_tell_which_addresses_are_crowded() -> None:
    first, second, *_ = crowd()
    log, reader = Log(), alone(1)[0]
    log.robots(reader, 0.0)
    for page in range(40):
        log.page(reader, 2.0 + 4.0 * page, target=path(page))
    log.robots(first, 200.0)
    log.robots(second, 200.2)
    assert log.rules() == []


def test_what_robots_txt_forbids_is_found() -> None:
    log, host = Log(), exhibit("robots-rules")
    log.robots(host, 0.0)
    log.page(host, 2.0, target="/private/10.html")
    log.page(host, 6.0, target="/privateer.html")
    (found,) = log.judged()
    assert (found.rule, "/private/10.html" in found.detail) == ("robots", True)


def test_any_page_of_a_host_without_robots_txt_is_found() -> None:
    log, host = Log(), exhibit("robots-forbidden-403")
    log.robots(host, 0.0, status=403)
    log.page(host, 2.0)
    assert set(log.rules()) == {"robots", "unqualified"}
    assert log.rules(msgspec.structs.replace(ETIQUETTE, rfc9309=True)) == []


def test_a_page_before_robots_txt_is_found() -> None:
    log, host = Log(), alone(1)[0]
    log.page(host, 0.0)
    log.robots(host, 5.0)
    log.page(host, 9.0, target="/about/1.html")
    assert log.rules() == ["unqualified"]


def test_a_page_while_robots_txt_is_still_being_answered_is_found() -> None:
    log, host = Log(), alone(1)[0]
    log.page(host, 0.0, took=3.0, target="/robots.txt", served="robots")
    log.page(host, 2.0)
    assert log.rules() == ["in-flight", "unqualified"]


def test_a_server_error_does_not_qualify_a_host() -> None:
    log, host = Log(), exhibit("robots-recovers")
    log.robots(host, 0.0, status=503)
    log.page(host, 3.0)
    log.robots(host, 7.0)
    log.page(host, 9.0, target="/about/1.html")
    assert log.rules() == ["unqualified"]


def test_the_first_page_waits_after_robots_txt() -> None:
    for gap, rules in ((0.9, ["first-page"]), (1.0, [])):
        log, host = Log(), alone(1)[0]
        end = log.robots(host, 0.0)
        log.page(host, end + gap)
        assert log.rules(msgspec.structs.replace(ETIQUETTE, domain_s=0.5)) == rules
        assert log.rules(with_delay(0.0)) == []


def test_rounds_for_robots_txt_are_apart() -> None:
    for gap, rules in ((1.9, ["qualify-pause"]), (2.0, [])):
        log, host = Log(), exhibit("robots-error-503")
        end = log.robots(host, 0.0, status=503)
        log.robots(host, end + gap, status=503)
        assert log.rules() == rules


def test_another_address_belongs_to_the_same_round() -> None:
    host = exhibit("robots-first-address")
    one, other = host.addresses
    log = Log()
    end = log.robots(host, 0.0, status=503, address=one)
    end = log.robots(host, end + 1.0, status=503, address=other)
    log.robots(host, end + 1.0, status=503, address=one)
    assert log.rules() == ["qualify-pause"]


@pytest.mark.parametrize("variant", ["redirect-5", "redirect-loop", "redirect-404"])
def test_the_hops_of_robots_txt_are_no_new_rounds_and_no_pages(variant: str) -> None:
    host = exhibit(f"robots-{variant}")
    targets = {
        "redirect-5": ["/robots.txt", *(f"/robots-hop/{at}" for at in range(1, 6))],
        "redirect-loop": ["/robots.txt"] * 6,
        "redirect-404": ["/robots.txt", "/no-robots-here"],
    }[variant]
    log, end = Log(), 0.0
    for target in targets[:-1]:
        end = log.robots(host, end + 1.0, target=target, status=301)
    last = {"redirect-5": 200, "redirect-loop": 301, "redirect-404": 404}[variant]
    end = log.robots(host, end + 1.0, target=targets[-1], status=last)
    if variant != "redirect-loop":
        log.page(host, end + 1.0)
    assert log.rules() == []


def test_a_redirect_of_robots_txt_alone_does_not_qualify_a_host() -> None:
    log, host = Log(), exhibit("robots-redirect-1")
    log.robots(host, 0.0, status=301)
    log.page(host, 2.0)
    assert log.rules() == ["unqualified"]


def test_a_fourth_try_of_a_url_is_found() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    for at in range(4):
        log.exhibit(host, 2.0 + 4.0 * at, "status-500", status=500)
    assert log.rules() == ["tries"]
    assert log.rules(kills=(5.0,)) == []


def test_the_same_url_twice_within_the_delay_is_a_repeat() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.exhibit(host, 2.0, "reset", status=0)
    log.exhibit(host, 4.0, "reset", status=0)
    assert log.rules() == ["host-delay", "repeat"]


def test_a_page_that_was_got_is_not_asked_for_again() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.page(host, 2.0)
    log.page(host, 6.0)
    assert log.rules() == ["again"]


def test_a_page_that_came_cut_may_be_asked_for_again() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.exhibit(host, 2.0, "truncated", status=200)
    log.exhibit(host, 6.0, "truncated", status=200)
    assert log.rules() == []


def test_each_kill_allows_one_repeat_of_a_url_and_no_haste() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    log.page(host, 2.0)
    log.page(host, 6.0)
    assert log.rules(kills=(3.0,)) == []
    assert log.rules(kills=(1.0,)) == ["again"]
    assert log.rules(kills=(7.0,)) == ["again"]
    log.page(host, 10.0)
    assert log.rules(kills=(3.0,)) == ["again"]
    assert log.rules(kills=(3.0, 7.0)) == []
    log.page(host, 12.0)
    assert log.rules(kills=(3.0, 7.0, 11.0)) == ["host-delay", "repeat"]


def test_a_visit_that_the_client_ended_may_be_logged_late() -> None:
    log, host = Log(), alone(1)[0]
    log.robots(host, 0.0)
    end = log.exhibit(host, 2.0, "stall", status=0, took=5.0)
    log.page(host, end + 2.9)
    assert log.rules() == []
    log.page(host, end + 5.7, target="/about/1.html")
    assert log.rules() == ["host-delay"]


def test_a_visit_whose_end_is_not_known_exactly_may_still_be_in_flight() -> None:
    one, other = alone(2)
    for gap, rules in ((-0.1, []), (0.2, ["ip-delay"]), (0.5, [])):
        log = Log()
        end = log.page(one, 3.0, target="/robots.txt", status=0, served="robots", took=5.0)
        log.robots(other, end + gap, address=one.addresses[0])
        assert log.rules() == rules


def test_every_rule_has_a_test_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [rule for rule in RULES if f'"{rule}"' not in text] == []
