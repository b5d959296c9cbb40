"""How a run of a crawl ended, and the exit code that follows."""

import msgspec

from whimbrel.commit.committed import Committed
from whimbrel.error import Damaged
from whimbrel.flow import Report
from whimbrel.flow.report import Failure
from whimbrel.job.progress import Progress, failed_pages
from whimbrel.shortage import is_refused_memory


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    report: Report
    progress: Progress
    committed: Committed
    limit: str = ""
    """The limit that ended it, as the option that sets it: `--max-pages 200`; else empty."""
    block: tuple[str, ...] = ()
    """What the run was told not to visit."""
    handled: dict[str, int] = {}
    """Pages that handlers looked at in this run, by how it went."""
    began_at_s: float = 0.0
    """When this run began, in seconds since 1970."""

    @property
    def state(self) -> str:
        """`done`, `stopped` with work left, or `failed`. The effects have decided whether work is left, and said so
        in the last commit."""
        if self.report.state == "failed":
            return "failed"
        return "done" if self.committed.state == "done" else "stopped"

    @property
    def damaged(self) -> bool:
        """Whether damaged files ended it: going on would end the same way."""
        return any(isinstance(failure.error, Damaged) for failure in self.report.failures)

    @property
    def failures(self) -> list[str]:
        """Which parts failed, in which phase and why; and where the reason is a library's word for it, that there was
        no memory."""
        return [f"{one.component} failed in {one.phase}: {_reason(one)}" for one in self.report.failures]

    @property
    def handlers_failed(self) -> int:
        """Pages on which handlers failed in this run."""
        return failed_pages(self.handled)

    @property
    def may_have_handler_failures(self) -> bool:
        """Whether it is worth while to ask the tables what handlers and filters failed with."""
        return bool(self.handlers_failed or self.progress.refused.get("filter-error"))

    @property
    def exit_code(self) -> int:
        """0 done, or ended by a limit that the user set; 1 failed or nothing but failures, of pages or of handlers; 3
        stopped with work left."""
        outcomes = self.progress.outcomes
        good = sum(count for name, count in outcomes.items() if name not in ("failed", "denied", "retry", "dropped"))
        bad = outcomes.get("failed", 0) + self.progress.reasons.get("denied robots-unreachable", 0)
        if self.report.exit_code:
            return self.report.exit_code
        if self.handlers_failed and self.handlers_failed == sum(self.handled.values()):
            return 1
        if self.state == "stopped" and not self.limit:
            return 3
        return 1 if bad and not good else 0


def _reason(failure: Failure) -> str:
    lacking = failure.error is not None and is_refused_memory(failure.error)
    return f"this machine has no memory left ({failure.reason})" if lacking else failure.reason
