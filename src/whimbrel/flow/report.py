"""How a job ended, and what became of everything."""

import traceback
from dataclasses import dataclass, field
from typing import Final, Literal

State = Literal["created", "opening", "running", "draining", "closing", "done", "stopped", "failed"]

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_WORK_LEFT: Final = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """`phase` is open, run, process, drain, close or change; `detail` is the traceback where there is one, and `error`
    what was raised."""

    component: str
    phase: str
    reason: str
    detail: str = ""
    error: BaseException | None = field(default=None, compare=False, repr=False)


def failure_of(component: str, phase: str, error: BaseException) -> Failure:
    reason = f"{type(error).__name__}: {error}"
    return Failure(component, phase, reason, "".join(traceback.format_exception(error)), error)


@dataclass(frozen=True, slots=True)
class Report:
    """`left` counts, for each connector that was not emptied, the items its consumer has not acknowledged.

    Every item that was acknowledged has been worked off, and what came of it has been taken by the next component. An
    item that was not may have been worked off in part when its consumer was ended.
    """

    state: State
    failures: tuple[Failure, ...] = ()
    left: dict[str, int] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    """What was changed while the job ran, in words."""
    cut_off: tuple[str, ...] = ()
    """Instances that had more to give when their consumer ended."""

    @property
    def exit_code(self) -> int:
        """0 done, 1 failed, 3 ended with work left."""
        if self.state == "failed":
            return EXIT_FAILED
        return EXIT_WORK_LEFT if self.left or self.cut_off else EXIT_DONE

    def lines(self) -> list[str]:
        """The report in words, for a log or a terminal."""
        said = [f"job {self.state}"]
        said += [f"{failure.component} failed in {failure.phase}: {failure.reason}" for failure in self.failures]
        return said + [f"left in {name}: {count:,}" for name, count in self.left.items()]
