"""How a job ended, and what became of everything."""

from dataclasses import dataclass, field
from typing import Literal

State = Literal["created", "opening", "running", "draining", "done", "stopped", "failed"]

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_WORK_LEFT = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """`phase` is open, run, process, drain, close or change; `detail` is the traceback where there is one."""

    component: str
    phase: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`left` counts, for each connector that was not emptied, the items its consumer has not acknowledged.

    Every item that was acknowledged has been worked off, and what came of it has been taken by the next component.
    """

    state: State
    failures: tuple[Failure, ...] = ()
    left: dict[str, int] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    """What was changed while the job ran, in words."""

    @property
    def exit_code(self) -> int:
        """0 done, 1 failed, 3 ended with work left."""
        if self.state == "failed":
            return EXIT_FAILED
        return EXIT_WORK_LEFT if self.left else EXIT_DONE

    def lines(self) -> list[str]:
        """The report in words, for a log or a terminal."""
        said = [f"job {self.state}"]
        said += [f"{failure.component} failed in {failure.phase}: {failure.reason}" for failure in self.failures]
        said += [f"{count:,} items left in {name}" for name, count in self.left.items()]
        return said
