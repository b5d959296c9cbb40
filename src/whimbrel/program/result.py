"""How a crawl from Python ended, and what it left."""

from pathlib import Path

from whimbrel.job.progress import Progress
from whimbrel.job.run_result import RunResult
from whimbrel.query.crawl_data import CrawlData
from whimbrel.query.handler_failure import handler_failures
from whimbrel.terminal import counted


class CrawlResult(CrawlData):
    """The crawl's directory, opened for questions."""

    def __init__(self, directory: Path, result: RunResult) -> None:
        super().__init__([directory])
        self.directory = directory
        """Where the crawl is."""
        self._result = result

    @property
    def state(self) -> str:
        """`done`, `stopped` with work left, or `failed`."""
        return self._result.state

    @property
    def progress(self) -> Progress:
        """The last numbers: what became durable."""
        return self._result.progress

    @property
    def limit(self) -> str:
        """The limit that ended it, as the option that sets it; else empty."""
        return self._result.limit

    @property
    def failures(self) -> list[str]:
        """Which parts failed, in which phase and why; and on how many pages handlers and filters failed in this run,
        with the last line of the traceback. Mostly none."""
        result = self._result
        found = result.failures
        if result.may_have_handler_failures:
            failures = handler_failures(self.directory, result.began_at_s)
            found += [f"on {pages:,} page{'s' if pages > 1 else ''}: {error}" for error, pages in failures.items()]
        return found

    @property
    def handled(self) -> dict[str, int]:
        """Pages that handlers looked at in this run, by how it went: `ok`, `error`, `timeout`, `died`, or
        `filter-error` where only a filter failed."""
        return dict(self._result.handled)

    def __repr__(self) -> str:
        progress = self.progress
        visits, hosts = counted(progress.visited, "visit"), counted(progress.hosts, "host")
        return f"<{self.state}: {visits} on {hosts} in {self.directory}>"
