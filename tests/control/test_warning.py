"""Warnings name the cause and the remedy; a crawl that is well has none."""

import msgspec
import pytest

from whimbrel.control.warning import Vitals, warnings
from whimbrel.job.progress import Progress

WELL = Vitals(
    progress=Progress(queued=100, visiting=10, cpu_share=0.4),
    due_in_s=0.0,
    qualifying_most=256,
    standings={"qualified": 100},
    trap=("", 0),
    disk_free_bytes=100_000_000_000,
    disk_reserve_bytes=256_000_000,
    memory_bytes=300_000_000,
    memory_limit_bytes=8_000_000_000,
)
WAITING = Progress(queued=100, visiting=0, bound="politeness")
RETRYING = Progress(queued=1, visiting=0, bound="retry")


def changed(**changes: object) -> Vitals:
    return msgspec.structs.replace(WELL, **changes)


def test_a_crawl_that_is_well_has_no_warning() -> None:
    assert warnings(WELL) == []


@pytest.mark.parametrize(
    ("vitals", "code"),
    [
        (changed(progress=Progress(trouble="Too many open files", lacks="open-files")), "machine-short"),
        (changed(progress=Progress(trouble="No space left on device", lacks="disk")), "disk-full"),
        (changed(disk_free_bytes=900_000_000), "disk-nearly-full"),
        (changed(memory_bytes=7_500_000_000), "memory-nearly-full"),
        (changed(standings={"qualified": 4, "robots-unreachable": 16}), "robots-failing"),
        (changed(standings={"qualified": 4, "dns": 16}), "dns-failing"),
        (changed(progress=Progress(queued=9, visiting=1, qualifying=256, bound="names")), "dns-bound"),
        (changed(trap=("calendar.example", 900)), "trap"),
        (changed(progress=WAITING, due_in_s=12.0), "all-hosts-wait"),
        (changed(progress=RETRYING, due_in_s=90.0), "retries-wait"),
        (changed(progress=Progress(queued=9, visiting=1, cpu_share=0.99, bound="processor")), "processor-bound"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(vitals: Vitals, code: str) -> None:
    found = warnings(vitals)
    assert [warning.code for warning in found] == [code]
    assert found[0].cause
    assert found[0].remedy


@pytest.mark.parametrize(
    "vitals",
    [
        changed(progress=Progress(queued=100, bound="closed"), due_in_s=12.0),
        changed(progress=Progress(queued=100, bound="speed-limit"), due_in_s=12.0),
        changed(progress=Progress(queued=9, visiting=1, cpu_share=0.99, bound="speed-limit")),
        changed(progress=WAITING, due_in_s=0.2),
        changed(progress=Progress(), due_in_s=None),
        changed(standings={"robots-unreachable": 5}),
        changed(trap=("calendar.example", 20)),
    ],
)
def test_what_is_not_wrong_is_not_warned_of(vitals: Vitals) -> None:
    assert warnings(vitals) == []
