"""The limits that end a crawl: pages, time and bytes.

That of pages is the frontier's to keep, since it must never let out one page too many; those of time and bytes are
looked at a few times a second.
"""

from whimbrel.flow import Job
from whimbrel.frontier.disk_frontier import DiskFrontier
from whimbrel.job.options import ResolvedOptions
from whimbrel.job.part_name import FRONTIER
from whimbrel.job.progress import Progress


def limit_that_ended(job: Job, stopped_by: str) -> str:
    """The limit that ended a crawl, as the option that sets it: `--max-pages 200`; empty when none did. `stopped_by` is
    that on time or bytes which stopped it: one that is reached while a crawl ends for another reason did not."""
    frontier = job.graph.providers.get(FRONTIER)
    if isinstance(frontier, DiskFrontier) and frontier.exhausted:
        return f"--max-pages {frontier.page_limit}"
    return stopped_by


def limit_reached(given: ResolvedOptions, progress: Progress) -> str:
    """The limit on time or bytes that a running crawl has reached; empty when it has reached none."""
    options = given.options
    if options.max_time is not None and progress.elapsed_s >= options.max_time:
        return f"--max-time {options.max_time:g}s"
    if options.max_bytes is not None and progress.bytes >= options.max_bytes:
        return f"--max-bytes {options.max_bytes}"
    return ""
