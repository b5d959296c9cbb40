"""A wiring that runs: open, run, drain, close, and a report of what became of everything.

The job owns every task. A component that raises takes the job to `failed`: sources are asked to end, what was already
handed on is worked off, whoever feeds the dead component is stopped, everything is closed, and the report names the
culprit. Nothing waits for ever: draining and closing have time limits, and what oversteps them is reported too.
"""

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from whimbrel.flow import change
from whimbrel.flow.check import Plan, check
from whimbrel.flow.component import Provider, Wired
from whimbrel.flow.error import ChangeFailed, ComponentFailed, ConnectorBroken, FlowError
from whimbrel.flow.graph import Graph
from whimbrel.flow.instance import Instance
from whimbrel.flow.registry import Registry
from whimbrel.flow.report import Failure, Report, State
from whimbrel.flow.wiring import Wiring

_TASK_NAME: Final = "whimbrel {}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long the job waits before it goes on without."""

    open_s: float = 60.0
    drain_s: float = 60.0
    """After a failure or a stop: for components to work off what they have."""
    close_s: float = 10.0
    change_s: float = 60.0


class Job:
    def __init__(
        self,
        plan: Plan,
        registry: Registry | None = None,
        *,
        providers: Mapping[str, Provider] | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """`providers` are ready-made objects for providers of the plan; the job opens and closes them too."""
        self.state: State = "created"
        self.timeouts = timeouts or Timeouts()
        self.graph = Graph(plan, providers or {})
        self._registry = registry or Registry()
        self._tasks: dict[asyncio.Task[None], Instance] = {}
        self._opened: list[tuple[str, Wired]] = []
        self._failures: list[Failure] = []
        self._changes: list[str] = []
        self._asked_to_stop = False
        self._deadline: asyncio.TimerHandle | None = None
        self._changing = asyncio.Lock()
        self._news = asyncio.Event()

    @property
    def wiring(self) -> Wiring:
        """What it runs now; where a change begins."""
        return self.graph.wiring

    async def run(self) -> Report:
        """Run to the end, once. Never raises for what components do; that is in the report."""
        if self.state != "created":
            raise FlowError(f"this job is {self.state}; make another to run again")
        self.state = "opening"
        try:
            if await self._open_all():
                self._set_state("running")
                for head in self.graph.heads():
                    self.start(head)
                await self._supervise()
        except asyncio.CancelledError:
            self.abort("cancelled")
            await asyncio.gather(*self._tasks, return_exceptions=True)
            raise
        finally:
            await self._close_all()
            self.state = self._end_state()
        return self.report()

    def report(self) -> Report:
        return Report(self.state, tuple(self._failures), self.graph.left(), tuple(self._changes))

    def stop(self) -> None:
        """Ask the sources to end; the job then drains by itself."""
        if self.state in ("created", "opening", "running"):
            self._asked_to_stop = True
            self._begin_draining()

    def abort(self, reason: str) -> None:
        """End every task now. Unacknowledged items stay in their connectors."""
        self._asked_to_stop = True
        for task, instance in self._tasks.items():
            if not task.done():
                self._changes.append(f"{instance.name} was ended: {reason}")
                task.cancel()

    async def apply(self, wiring: Wiring) -> None:
        """Take the running job to another wiring: drained, nothing lost, nothing twice.

        Raises WiringError, and changes nothing, when the new wiring is wrong; ChangeFailed when the job does not run,
        or when a component could not be drained in time, which takes the job to `failed`.
        """
        plan = check(wiring, self._registry)
        async with self._changing:
            if self.state != "running":
                raise ChangeFailed(f"the job is {self.state}; only a running job can be changed")
            try:
                async with asyncio.timeout(self.timeouts.change_s):
                    self._changes += await change.apply(self, plan)
            except Exception as error:
                reason = (
                    f"not done within {self.timeouts.change_s:g} s" if isinstance(error, TimeoutError) else str(error)
                )
                self._fail(Failure(wiring.name, "change", reason, "".join(traceback.format_exception(error))))
                for head in self.graph.heads():
                    head.go_on()
                raise ChangeFailed(f"change to {wiring.name!r} failed: {reason}") from error
            finally:
                self._news.set()

    def start(self, instance: Instance) -> asyncio.Task[None]:
        """Give a head its task."""
        task = asyncio.create_task(instance.run(), name=_TASK_NAME.format(instance.name))
        self._tasks[task] = instance
        task.add_done_callback(lambda _: self._news.set())
        return task

    def task_of(self, instance: Instance) -> asyncio.Task[None] | None:
        return next((task for task, owner in self._tasks.items() if owner is instance), None)

    async def open(self, name: str, part: Wired) -> None:
        """Open a component or provider within its time; raises ComponentFailed."""
        try:
            await asyncio.wait_for(part.open(), self.timeouts.open_s)
        except TimeoutError as error:
            late = TimeoutError(f"not open after {self.timeouts.open_s:g} s")
            raise ComponentFailed(name, "open", late) from error
        except Exception as error:
            raise ComponentFailed(name, "open", error) from error
        self._opened.append((name, part))

    async def close(self, name: str, part: Wired) -> None:
        """Close within its time. One that hangs is left behind and reported; even one that swallows cancellation."""
        if (name, part) not in self._opened:
            return
        self._opened.remove((name, part))
        task = asyncio.ensure_future(part.close())
        done, _ = await asyncio.wait({task}, timeout=self.timeouts.close_s)
        if not done:
            task.cancel()
            self._fail(Failure(name, "close", f"not closed after {self.timeouts.close_s:g} s; left behind"))
        elif (error := task.exception()) is not None:
            self._fail(_failure(name, "close", error))

    async def _open_all(self) -> bool:
        try:
            for name in self.graph.plan.provider_order:
                await self.open(name, self.graph.providers[name])
            for instance in self.graph.all():
                await self.open(instance.name, instance.component)
        except ComponentFailed as failed:
            self._fail(_failure(failed.component, failed.phase, failed.__cause__ or failed))
            return False
        return True

    async def _close_all(self) -> None:
        for name, part in reversed(self._opened.copy()):
            await self.close(name, part)

    async def _supervise(self) -> None:
        """Until every task has ended."""
        while self._tasks:
            await self._news.wait()
            self._news.clear()
            for task in [task for task in self._tasks if task.done()]:
                self._ended(task, self._tasks.pop(task))
            if self._changing.locked():
                # A change ends tasks and starts others; there may be more to come.
                async with self._changing:
                    pass
        if self._deadline is not None:
            self._deadline.cancel()

    def _ended(self, task: asyncio.Task[None], instance: Instance) -> None:
        if task.cancelled():
            self._break_inputs(instance, f"{instance.name} was ended")
            return
        match task.exception():
            case None:
                # One that ends before its inputs do wants no more: whoever feeds it must not wait for ever.
                self._break_inputs(instance, f"{instance.name} has ended")
            case ConnectorBroken() as broken:
                # A consequence of somebody else's failure, which is reported by itself.
                self._break_inputs(instance, str(broken))
            case ComponentFailed() as failed:
                self._fail(_failure(failed.component, failed.phase, failed.__cause__ or failed))
                self._break_inputs(instance, f"{failed.component} failed")
            case error:
                self._fail(_failure(instance.name, "run", error))
                self._break_inputs(instance, f"{instance.name} failed")

    def _break_inputs(self, instance: Instance, reason: str) -> None:
        """Stop whoever feeds an instance that has died, unless another of the same component lives."""
        if any(other.is_head and not other.finished for other in self.graph.instances.get(instance.spec.name, ())):
            return
        for inlet in instance.inlets.values():
            for connector in inlet.connectors:
                connector.fail(reason)

    def _fail(self, failure: Failure) -> None:
        self._failures.append(failure)
        if self.state in ("opening", "running"):
            self._begin_draining()

    def _begin_draining(self) -> None:
        self._set_state("draining")
        for head in self.graph.heads():
            if not head.inlets:
                head.drain()
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self.timeouts.drain_s, self._overdue)

    def _overdue(self) -> None:
        late = [instance.name for task, instance in self._tasks.items() if not task.done()]
        for name in late:
            self._failures.append(Failure(name, "drain", f"not drained after {self.timeouts.drain_s:g} s; ended"))
        self.abort("not drained in time")

    def _set_state(self, state: State) -> None:
        if self.state != "draining":
            self.state = state

    def _end_state(self) -> State:
        if self._failures:
            return "failed"
        return "stopped" if self._asked_to_stop else "done"


def _failure(name: str, phase: str, error: BaseException) -> Failure:
    detail = "".join(traceback.format_exception(error))
    return Failure(name, phase, f"{type(error).__name__}: {error}", detail)
