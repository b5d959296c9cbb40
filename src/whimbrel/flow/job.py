"""A wiring that runs: open, run, drain, close, and a report of what became of everything.

The job owns every task. A component that raises takes the job to `failed`: sources are asked to end, what was already
handed on is worked off, whoever feeds the dead component is stopped, everything is closed, and the report names the
culprit. Nothing waits for ever: opening, draining, changing and closing have time limits, and whatever oversteps them,
even by swallowing its cancellation, is left behind and reported.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from whimbrel.flow import change
from whimbrel.flow.check import Plan, check
from whimbrel.flow.component import Part, Provider
from whimbrel.flow.error import ChangeFailed, ComponentFailed, ConnectorBroken, FlowError
from whimbrel.flow.graph import Graph
from whimbrel.flow.instance import Instance
from whimbrel.flow.registry import Registry
from whimbrel.flow.report import Failure, Report, State, failure_of
from whimbrel.flow.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long the job waits before it goes on without."""

    open_s: float = 60.0
    drain_s: float = 60.0
    """After a failure or a stop: for components to work off what they have."""
    close_s: float = 10.0
    """Also for a task to end that was cancelled."""
    insist_s: float = 5.0
    """Then a task that was cancelled and goes on is cancelled again."""
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
        """`providers` are ready-made objects for providers of the plan; the job opens and closes them too.

        Raises ComponentFailed when a component or provider cannot be constructed.
        """
        self.state: State = "created"
        self.timeouts = timeouts or Timeouts()
        self.graph = Graph(plan, providers or {})
        self._registry = registry or Registry()
        self._tasks: dict[asyncio.Task[None], Instance] = {}
        self._cancelled: set[asyncio.Task[None]] = set()
        self._opened: list[tuple[str, Part]] = []
        self._failures: list[Failure] = []
        self._changes: list[str] = []
        self._cut_off: list[str] = []
        self._asked_to_stop = False
        self._aborted = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._changing = asyncio.Lock()
        self._change: asyncio.Task[None] | None = None
        self._opening: asyncio.Future[None] | None = None
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
                if not self._asked_to_stop:
                    self.state = "running"
                for head in self.graph.heads():
                    self.start(head)
                self._arm_deadline()
                await self._supervise()
        except asyncio.CancelledError:
            self.abort("the job was cancelled")
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self.timeouts.close_s)
            raise
        finally:
            self.state = "closing"
            await self._close_all()
            self.state = self._end_state()
        return self.report()

    def report(self) -> Report:
        return Report(
            self.state,
            tuple(self._failures),
            self.graph.left(),
            tuple(self._changes),
            tuple(dict.fromkeys(self._cut_off)),
        )

    def stop(self) -> None:
        """Ask the sources to end; the job then drains by itself."""
        if self.state in ("created", "opening", "running"):
            self._asked_to_stop = True
            self._begin_draining()

    def fail(self, where: str, error: BaseException) -> None:
        """Something has failed that is no component's task, a callback of the event loop say: end every task now, and
        say so in the report."""
        self._fail(failure_of(where, "run", error))
        self.abort(f"{where} failed")

    def abort(self, reason: str) -> None:
        """End every task now. Unacknowledged items stay in their connectors."""
        self._asked_to_stop = True
        self._aborted = self._aborted or reason
        for pending in (self._opening, self._change):
            if pending is not None:
                pending.cancel()
        for task in self._tasks:
            self._cancel(task)
        if self._tasks:
            loop = asyncio.get_running_loop()
            loop.call_later(self.timeouts.insist_s, self._insist)
            loop.call_later(self.timeouts.close_s, self._leave_behind)

    async def apply(self, wiring: Wiring) -> None:
        """Take the running job to another wiring: drained, nothing lost, nothing twice.

        Raises WiringError when the new wiring is wrong, and ChangeFailed when the job does not run or something new
        cannot be opened: then nothing has changed. ChangeFailed, and a job that fails, when what goes could not be
        drained in time. A change that has begun is not undone by cancelling the caller.
        """
        plan = check(wiring, self._registry)
        async with self._changing:
            if self.state != "running":
                raise ChangeFailed(f"the job is {self.state}; only a running job can be changed")
            self._change = asyncio.create_task(self._carry_out(plan), name=f"whimbrel change to {wiring.name}")
            self._change.add_done_callback(self._changed)
            await asyncio.shield(self._change)

    async def _carry_out(self, plan: Plan) -> None:
        prepared = None
        try:
            prepared = change.Prepared(self.graph, plan)
            await prepared.open(self)
        except ComponentFailed as error:
            if prepared is not None:
                await prepared.close(self)
            raise ChangeFailed(f"nothing was changed: {error}") from error
        try:
            async with asyncio.timeout(self.timeouts.change_s):
                self._changes += await change.apply(self, prepared)
        except BaseException as error:
            late = isinstance(error, TimeoutError)
            reason = f"not done within {self.timeouts.change_s:g} s" if late else self._aborted or f"{error}"
            self._fail(Failure(plan.wiring.name, "change", reason))
            self.graph.release()
            raise ChangeFailed(f"change to {plan.wiring.name!r} failed: {reason}") from error

    def _changed(self, task: asyncio.Task[None]) -> None:
        self._change = None
        if not task.cancelled():
            task.exception()  # Seen, even where the caller has gone.
        self._news.set()

    def start(self, instance: Instance) -> None:
        """Give a head its task."""
        task = asyncio.create_task(instance.run(), name=f"whimbrel {instance.name}")
        self._tasks[task] = instance
        task.add_done_callback(lambda _: self._news.set())
        if self._aborted:
            self._cancel(task)
        elif self.state == "draining" and not instance.inlets:
            instance.drain()

    def task_of(self, instance: Instance) -> asyncio.Task[None] | None:
        return next((task for task, owner in self._tasks.items() if owner is instance), None)

    async def open(self, name: str, part: Part) -> None:
        """Open a component or provider within its time; raises ComponentFailed."""
        self._opening = asyncio.ensure_future(part.open())
        done, _ = await asyncio.wait({self._opening}, timeout=self.timeouts.open_s)
        opening, self._opening = self._opening, None
        if not done:
            opening.cancel()
            raise ComponentFailed(name, "open", TimeoutError(f"not open after {self.timeouts.open_s:g} s"))
        if opening.cancelled():
            raise ComponentFailed(name, "open", FlowError(self._aborted or "it was cancelled from inside"))
        error = opening.exception()
        if error is not None:
            raise ComponentFailed(name, "open", error) from error
        self._opened.append((name, part))

    async def close(self, name: str, part: Part) -> None:
        """Close within its time. One that hangs is left behind and reported; even one that swallows cancellation."""
        if (name, part) not in self._opened:
            return
        self._opened.remove((name, part))
        try:
            task = asyncio.ensure_future(part.close())
        except TypeError as error:
            self._fail(failure_of(name, "close", error))
            return
        done, _ = await asyncio.wait({task}, timeout=self.timeouts.close_s)
        if not done:
            task.cancel()
            self._fail(Failure(name, "close", f"not closed after {self.timeouts.close_s:g} s; left behind"))
        elif task.cancelled():
            self._fail(Failure(name, "close", "it was cancelled from inside"))
        elif (error_ := task.exception()) is not None:
            self._fail(failure_of(name, "close", error_))

    async def _open_all(self) -> bool:
        try:
            for name in self.graph.plan.provider_order:
                await self.open(name, self.graph.providers[name])
            for instance in self.graph.all():
                await self.open(instance.name, instance.component)
        except ComponentFailed as failed:
            self._fail(failure_of(failed.component, failed.phase, failed.__cause__ or failed))
            return False
        return not self._aborted

    async def _close_all(self) -> None:
        """Close what is open, the last opened first, even when the job is cancelled meanwhile."""

        async def close_each() -> None:
            for name, part in reversed(self._opened.copy()):
                await self.close(name, part)

        closing = asyncio.ensure_future(close_each())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await closing
            raise

    async def _supervise(self) -> None:
        """Until every task has ended and no change may start others."""
        while self._tasks or self._change is not None:
            await self._news.wait()
            self._news.clear()
            for task in [task for task in self._tasks if task.done()]:
                self._ended(task, self._tasks.pop(task))
        if self._deadline is not None:
            self._deadline.cancel()

    def _ended(self, task: asyncio.Task[None], instance: Instance) -> None:
        """Draw the consequences of a task's end for whoever feeds the instance, and for the job."""
        error = None if task.cancelled() else task.exception()
        if task.cancelled() and task not in self._cancelled:
            self._fail(Failure(instance.name, "run", "it was cancelled from inside"))
        elif isinstance(error, ConnectorBroken):
            # A consequence of somebody else's end; where that was no failure, work was cut off.
            self._cut_off.append(instance.name)
        elif isinstance(error, ComponentFailed):
            self._fail(failure_of(error.component, error.phase, error.__cause__ or error))
        elif error is not None:
            self._fail(failure_of(instance.name, "run", error))
        # One that ends before its inputs do wants no more: whoever feeds it must not wait for ever.
        if any(other.is_head and not other.finished for other in self.graph.instances.get(instance.spec.name, ())):
            return
        reason = f"{instance.name} has ended" if error is None else f"{instance.name} has ended: {error}"
        for inlet in instance.inlets.values():
            for connector in inlet.connectors:
                connector.fail(reason)

    def _fail(self, failure: Failure) -> None:
        self._failures.append(failure)
        if self.state in ("opening", "running"):
            self._begin_draining()
        if self._change is not None and self._change is not asyncio.current_task():
            self._change.cancel()

    def _begin_draining(self) -> None:
        self.state = "draining" if self.state == "running" else self.state
        for head in self.graph.heads():
            if not head.inlets:
                head.drain()
        if self._tasks:
            self._arm_deadline()

    def _arm_deadline(self) -> None:
        """From here on the time for draining runs, if the job drains."""
        if (self._asked_to_stop or self._failures) and self._deadline is None:
            self.state = "draining"
            self._deadline = asyncio.get_running_loop().call_later(self.timeouts.drain_s, self._overdue)

    def _overdue(self) -> None:
        """Name those for whom the others wait, and end everybody."""
        late = [instance for task, instance in self._tasks.items() if not task.done()]
        guilty = [instance for instance in late if instance.has_the_move]
        for instance in guilty or late:
            reason = f"not drained after {self.timeouts.drain_s:g} s; ended"
            self._failures.append(Failure(instance.name, "drain", reason))
        self.abort("not drained in time")

    def _cancel(self, task: asyncio.Task[None]) -> None:
        if not task.done():
            self._cancelled.add(task)
            task.cancel()

    def _insist(self) -> None:
        """Cancel those again that are still here: code that uses `asyncio.wait_for` may forget a cancellation."""
        late = [task for task in self._tasks if not task.done()]
        for task in late:
            task.cancel()
        if late:
            asyncio.get_running_loop().call_later(self.timeouts.insist_s, self._insist)

    def _leave_behind(self) -> None:
        """Give up on tasks that swallow their cancellation."""
        for task in [task for task in self._tasks if not task.done()]:
            instance = self._tasks.pop(task)
            self._failures.append(Failure(instance.name, "run", "it swallowed its cancellation; left behind"))
        self._news.set()

    def _end_state(self) -> State:
        if self._failures:
            return "failed"
        return "stopped" if self._asked_to_stop else "done"
