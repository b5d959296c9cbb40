"""A call to the system fails, and the crawl is in the end what it would have been; until then it says what is wrong."""

import shutil
import sys
from collections.abc import Iterator
from random import Random

import pytest

from tests.inject.campaign import Campaign, compiled, planned, table
from tests.inject.found import Found
from tests.inject.trial import Fault
from tests.inject.web import served

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
Counts = dict[str, dict[str, int]]
SAMPLE = 20
FOUND = (
    ("epoll|select", 2),
    ("epoll|loop", 1),
    ("epoll|_cares", 1),
    ("pipe|libcurl", 2),
    ("socket|_socket", 2),
    ("send|_socket", 3),
    ("sync|libpython", 1),
    ("open|rocksdict", 3),
    ("thread|libpython", 2),
    ("open|libpython3.11.so.1.0|public_suffix_list.dat", 1),
)
"""Places that something was wrong with once, and how many calls of each fail."""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc, which compiles what makes calls fail")
    into = tmp_path_factory.mktemp("inject")
    with served() as web:
        yield Campaign(compiled(into), into, web)


@pytest.fixture(scope="module")
def undisturbed(campaign: Campaign) -> tuple[Found, Counts]:
    return campaign.reference()


def carried_out(campaign: Campaign, faults: list[Fault], reference: Found, slots: int) -> str:
    """All of them, and the table of what became of them."""
    ends = list(campaign.run(faults, reference, slots))
    assert [(str(ended.fault), ended.codes, ended.findings) for ended in ends if ended.findings] == []
    assert sum(bool(ended.fired) for ended in ends) > len(faults) / 2
    return table(ends)


def test_the_small_web_has_all_that_a_crawl_deals_with(undisturbed: tuple[Found, Counts]) -> None:
    found, counts = undisturbed
    assert len(found.fetches) == len(set(found.fetches)) > 15
    for part in ("redirected", "denied", "gone http-404", "/big kept", "/flaky kept"):
        assert any(part in line for line in found.fetches), part
    assert found.items
    for phase in counts.values():
        kinds = {place.partition("|")[0] for place in phase}
        assert kinds >= {"write", "sync", "create", "open", "rename", "mmap", "socket", "connect", "allocate", "fork"}
    assert any("cdxj" in place for phase in counts.values() for place in phase), "no rotation"


@pytest.mark.long
def test_what_was_wrong_once(campaign: Campaign, undisturbed: tuple[Found, Counts]) -> None:
    found, counts = undisturbed
    every, faults = list(planned(counts, per_place=4, per_allocation=0)), []
    for part, most in FOUND:
        there = [fault for fault in every if fault.place.startswith(part.replace("3.11", PYTHON))]
        assert there, part
        faults += Random(part).sample(there, min(most, len(there)))  # noqa: S311
    carried_out(campaign, faults, found, slots=2)


@pytest.mark.long
def test_some_calls_that_fail_leave_no_trace(campaign: Campaign, undisturbed: tuple[Found, Counts]) -> None:
    found, counts = undisturbed
    every = [fault for fault in planned(counts, per_place=2, per_allocation=0) if fault.kind not in ("thread", "pipe")]
    carried_out(campaign, Random(len(every)).sample(every, SAMPLE), found, slots=2)  # noqa: S311


@pytest.mark.long
def test_thousands_of_calls_that_fail_leave_no_trace(campaign: Campaign, undisturbed: tuple[Found, Counts]) -> None:
    found, counts = undisturbed
    said = carried_out(campaign, list(planned(counts, per_place=4, per_allocation=1)), found, slots=4)
    assert said
