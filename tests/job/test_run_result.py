"""How a run ended: what the last commit says, and the exit code that follows."""

import pytest

from whimbrel.commit.committed import Committed
from whimbrel.flow import Report
from whimbrel.flow.report import State
from whimbrel.job.progress import Progress
from whimbrel.job.run_result import RunResult


@pytest.mark.parametrize(
    ("report", "committed", "limit", "outcomes", "state", "exit_code"),
    [
        ("done", "done", "", {"stored": 1}, "done", 0),
        ("done", "done", "", {"failed": 1}, "done", 1),
        ("done", "stopped", "", {"stored": 1}, "stopped", 3),
        ("stopped", "stopped", "", {"failed": 1}, "stopped", 3),
        ("stopped", "done", "", {"stored": 1}, "done", 0),
        ("failed", "running", "", {}, "failed", 1),
        ("stopped", "stopped", "--max-time 1s", {"stored": 1}, "stopped", 0),
        ("done", "stopped", "--max-pages 2", {"failed": 2}, "stopped", 1),
    ],
)
def test_a_run_is_done_when_its_last_commit_says_so(
    report: State, committed: str, limit: str, outcomes: dict[str, int], state: str, exit_code: int
) -> None:
    progress = Progress(outcomes=outcomes)
    result = RunResult(report=Report(report), progress=progress, committed=Committed(state=committed), limit=limit)
    assert (result.state, result.exit_code) == (state, exit_code)
