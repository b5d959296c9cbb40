"""All metrics of a running crawl, for Prometheus."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import (
    Metric as Family,
)
from prometheus_client.registry import Collector

from whimbrel.control.machine import cpu_s, memory_bytes, stored_bytes
from whimbrel.flow import Histogram, Metric
from whimbrel.job.live_crawl import LiveCrawl

PREFIX: Final = "whimbrel_"
KIND: Final = "text/plain; version=0.0.4; charset=utf-8"


def _free_bytes(running: LiveCrawl) -> float:
    found = os.statvfs(running.directory)
    return found.f_bavail * found.f_frsize


OWN: Final = (
    Metric("process_memory_bytes", "gauge", "Resident memory of the crawl.", lambda _: memory_bytes()),
    Metric("process_cpu_seconds_total", "counter", "CPU time of the crawl, user and system.", lambda _: cpu_s()),
    Metric(
        "stored_bytes",
        "gauge",
        "On disk, by what it is: archive, tables, state.",
        lambda running: stored_bytes(running.directory),
        label="of",
    ),
    Metric("disk_free_bytes", "gauge", "Room for the crawl's directory.", _free_bytes),
    Metric(
        "connector_items",
        "gauge",
        "Items in each connector.",
        lambda running: {name: queue.queued + queue.unacknowledged for name, queue in running.job.graph.queues.items()},
        label="connector",
    ),
    Metric(
        "connector_capacity",
        "gauge",
        "Items that each connector holds at most.",
        lambda running: {name: queue.capacity for name, queue in running.job.graph.queues.items()},
        label="connector",
    ),
    Metric(
        "connector_passed_total",
        "counter",
        "Items that have left each connector.",
        lambda running: {name: queue.passed for name, queue in running.job.graph.queues.items()},
        label="connector",
    ),
)
"""Of the crawl as a whole; all others stand beside the parts they are about."""


def exposition(running: LiveCrawl) -> tuple[bytes, str]:
    """The text, and its type."""
    registry = CollectorRegistry()
    registry.register(_Collector(running))
    return generate_latest(registry), KIND


class _Collector(Collector):
    def __init__(self, running: LiveCrawl) -> None:
        self._running = running

    def collect(self) -> Iterator[Family]:
        running = self._running
        for metric in OWN:
            yield _family(metric, metric.read(running))
        if not running.up:
            return
        graph = running.job.graph
        parts: list[Any] = [*graph.providers.values()]
        parts += [instance.component for instance in graph.all() if instance.number == 0]
        for part in parts:
            for metric in part.metrics:
                yield _family(metric, metric.read(part))


def _family(metric: Metric, found: float | Mapping[str, float] | Histogram) -> Family:
    name = PREFIX + metric.name
    if isinstance(found, Histogram):
        return _histogram(name, metric.help, found)
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    if not isinstance(found, Mapping):
        return kind(name, metric.help, value=found)
    family = kind(name, metric.help, labels=[metric.label])
    for value, number in found.items():
        family.add_metric([value], number)
    return family


def _histogram(name: str, text: str, found: Histogram) -> Family:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*map(str, found.bounds), "+Inf"), found.counts, strict=True):
        total += count
        buckets.append((bound, total))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=found.sum)
