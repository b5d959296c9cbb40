"""What can be seen of a running crawl: numbers, wiring, history and metrics, and that they agree."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.control.rig import RunningCrawl, crawling
from tests.sim.crawl import whimbrel
from whimbrel.control.api import Pause, Unpause
from whimbrel.control.history import History
from whimbrel.job.progress import Progress
from whimbrel.simweb.spec import WebSpec


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCrawl]:
    spec = WebSpec(hosts=10, pages=4_000, latency_ms=20, robots={}, exhibits={"missing": 0.1})
    with crawling(spec, tmp_path_factory.mktemp("seen"), "--max-pages-per-s", "100") as running:
        running.until(lambda now: now["progress"]["visited"] > 200, "two hundred visits")
        yield running


def test_metrics_are_what_the_status_says(crawl: RunningCrawl) -> None:
    crawl.control.carry_out(Pause())
    crawl.until(lambda now: now["progress"]["visiting"] == 0, "rest")
    status = crawl.control.status()
    found = {}
    for family in text_string_to_metric_families(crawl.control.metrics()):
        assert family.documentation
        for sample in family.samples:
            found[sample.name, *sample.labels.values()] = sample.value
    progress = status.progress
    assert found["whimbrel_visits_total",] == progress.visited
    assert found["whimbrel_received_bytes_total",] == progress.bytes
    assert found["whimbrel_frontier_queued_urls",] == progress.queued
    assert found["whimbrel_frontier_paused",] == 1
    assert {key[1]: value for key, value in found.items() if key[0] == "whimbrel_outcomes_total"} == progress.outcomes
    assert {key[1]: value for key, value in found.items() if key[0] == "whimbrel_statuses_total"} == progress.statuses
    assert found["whimbrel_visit_seconds_count",] == sum(progress.statuses.values())
    assert found["whimbrel_visit_seconds_bucket", "+Inf"] == found["whimbrel_visit_seconds_count",]
    crawl.control.carry_out(Unpause())


def test_history_goes_from_the_oldest_to_the_newest_and_ends_at_the_status(crawl: RunningCrawl) -> None:
    crawl.until(lambda now: now["progress"]["elapsed_s"] > 6, "six seconds")
    samples = crawl.control.history()
    assert len(samples) >= 5
    assert [sample.at_s for sample in samples] == sorted(sample.at_s for sample in samples)
    assert 0 < samples[-1].visited <= crawl.control.status().progress.visited
    assert samples[-1].ok + samples[-1].client_errors == samples[-1].visited
    assert any(sample.p95_ms >= sample.p50_ms > 0 for sample in samples)
    assert len(crawl.control.history(3)) <= 3


def test_the_status_command_says_it_in_words(crawl: RunningCrawl) -> None:
    done = whimbrel("control", str(crawl.directory), "status")
    assert done.returncode == 0, done.stderr
    assert "running" in done.stdout
    assert "visited" in done.stdout


def test_a_crawl_that_does_not_run_cannot_be_reached_and_says_so(tmp_path: Path) -> None:
    for directory, text in ((tmp_path, "no crawl runs in"), (tmp_path / "nowhere", "there is no directory")):
        done = whimbrel("control", str(directory), "pause")
        assert done.returncode == 2
        assert text in done.stderr
        assert "Traceback" not in done.stderr


def test_a_day_of_history_is_small() -> None:
    outcomes = {"stored": 1, "failed": 2}
    tracemalloc.start()
    history = History()
    for second in range(86_400):
        progress = Progress(elapsed_s=second + 0.1, visited=10**9 + second, bytes=10**12 + second, outcomes=outcomes)
        history.add(progress, (1.5 + second, 2.5 + second))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 5_000_000
    samples = history.samples(10_000)
    times = [sample.at_s for sample in samples]
    assert times == sorted(times)
    assert times[-1] == 86_399.1
    assert times[0] < 120
    assert times[-1] - times[-900] == pytest.approx(899)
