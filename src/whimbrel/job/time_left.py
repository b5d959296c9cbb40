"""A guess at the time until a crawl ends, and the limit that will end it."""

from typing import NamedTuple

from whimbrel.frontier.api import Frontier
from whimbrel.job.options import CrawlOptions


class TimeLeft(NamedTuple):
    seconds: float | None
    """None when nobody can tell."""
    by: str
    """The option that ends it: `--max-pages 20`; empty when the queue does."""


class Throughput(NamedTuple):
    """Of the last seconds."""

    pages_per_s: float
    bytes_per_s: float


def time_left(
    options: CrawlOptions, frontier: Frontier, speed: Throughput, elapsed_s: float, received: int
) -> TimeLeft:
    """The nearest end. The queue tells the least that is left, because links are still found; nothing where each host
    has a limit of its own, which leaves URLs in the queue."""
    ends: list[TimeLeft] = []
    queue_s = None if _limits_hosts(options) else _queue_s(frontier, speed.pages_per_s)
    if queue_s is not None:
        ends.append(TimeLeft(queue_s, ""))
    if options.max_time is not None:
        ends.append(TimeLeft(max(0.0, options.max_time - elapsed_s), f"--max-time {options.max_time:g}s"))
    most = frontier.page_limit
    if most is not None and speed.pages_per_s > 0:
        ends.append(TimeLeft(max(0, most - frontier.pages_begun) / speed.pages_per_s, f"--max-pages {most}"))
    if options.max_bytes is not None and speed.bytes_per_s > 0:
        left = max(0, options.max_bytes - received)
        ends.append(TimeLeft(left / speed.bytes_per_s, f"--max-bytes {options.max_bytes}"))
    return min(ends, key=lambda end: end.seconds or 0.0, default=TimeLeft(None, ""))


def _limits_hosts(options: CrawlOptions) -> bool:
    return options.max_pages_per_host is not None or options.mode == "broad"


def _queue_s(frontier: Frontier, pages_per_s: float) -> float | None:
    """Not before the next URL that failed is tried again."""
    times = (frontier.queued / pages_per_s if pages_per_s > 0 else None, frontier.retry_in_s())
    return max((time_s for time_s in times if time_s is not None), default=None)
