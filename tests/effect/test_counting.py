"""Counters: typed, of exactly what a commit holds, and read from commits of earlier versions."""

import zlib
from pathlib import Path

import msgspec
import pytest

from whimbrel.commit.committed import FORMAT, Committed, CrawlTooNew, encode, read_committed
from whimbrel.commit.counters import Counters
from whimbrel.effect.counting import Counting
from whimbrel.outcome import Outcome
from whimbrel.url import restore

OLD = {
    "visits": 7,
    "bytes": 900,
    "queued": 3,
    "hosts": 2,
    "passed over": 1,
    "outcome stored": 4,
    "reason stored new": 4,
    "outcome failed": 3,
    "reason failed http-500": 3,
    "requeued outcome failed": 1,
    "requeued reason failed http-500": 1,
    "status 200": 4,
    "status 500": 3,
    "refused out-of-scope": 12,
    "host qualified": 2,
}


def published(directory: Path, body: bytes) -> None:
    (directory / "COMMITTED").write_bytes(b"%08x %b\n" % (zlib.crc32(body), body))


def test_a_commit_of_format_1_is_read(tmp_path: Path) -> None:
    published(tmp_path, msgspec.json.encode({"number": 5, "files": {"facts/tail-1": 3}, "counters": OLD}))
    found = read_committed(tmp_path)
    assert (found.number, found.format, found.files) == (5, FORMAT, {"facts/tail-1": 3})
    assert found.counters == Counters(
        visits=7,
        bytes=900,
        queued=3,
        hosts=2,
        passed_over=1,
        outcomes={"stored": 4, "failed": 3},
        reasons={"stored": {"new": 4}, "failed": {"http-500": 3}},
        requeued={"failed": {"http-500": 1}},
        statuses={"200": 4, "500": 3},
        refused={"out-of-scope": 12},
        qualifications={"qualified": 2},
    )
    assert found.counters.current_outcomes() == {"stored": 4, "failed": 2}


def test_a_commit_of_a_later_format_is_refused(tmp_path: Path) -> None:
    published(tmp_path, msgspec.json.encode({"format": FORMAT + 1, "counters": {"new": ["shape"]}}))
    with pytest.raises(CrawlTooNew, match=f"has format {FORMAT + 1}; this version of Whimbrel reads up to {FORMAT}"):
        read_committed(tmp_path)


def test_counters_make_the_round_trip(tmp_path: Path) -> None:
    counting = Counting(Counters())
    counting.count_dropped(restore("http://[::1]:8080/x"), "too-long")
    counting.count_refused({"seen": 2, "scheme": 1})
    counting.count_requeued("failed", "dns")
    counting.count_qualification("dns")
    (tmp_path / "COMMITTED").write_bytes(encode(Committed(counters=counting.counters)))
    assert read_committed(tmp_path).counters == counting.counters
    assert counting.counters.reasons == {Outcome.DROPPED.value: {"too-long": 1}}
    assert dict(counting.dropped_by_host) == {"[::1]": 1}


def test_a_copy_does_not_change_with_the_original() -> None:
    counters = Counters(outcomes={"stored": 1}, reasons={"stored": {"new": 1}})
    copy = counters.copy()
    counters.outcomes["stored"] = counters.reasons["stored"]["new"] = 9
    assert copy == Counters(outcomes={"stored": 1}, reasons={"stored": {"new": 1}})


def test_the_hosts_that_limits_cut_most_are_kept_within_a_bound() -> None:
    counting = Counting(Counters())
    for number in range(12_000):
        counting.count_dropped(restore(f"http://{number}.test/"), "too-long")
        counting.count_dropped(restore("http://trap.test/"), "too-long")
    assert len(counting.dropped_by_host) <= 10_001
    assert counting.dropped_by_host.most_common(1)[0] == ("trap.test", 12_000)
