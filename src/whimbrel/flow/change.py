"""Take a running job from one wiring to another (Agarwal et al. §2.5, Hunyadi §6).

A component whose class, configuration, place or number of instances changes is *replaced*: drained, closed, and opened
anew; so is every synchronous component fused to it. One whose needs alone change is *rebound*. A part of which only
settings change that it declares as `live` takes them over where it is, and so does a connector its size. All others are
left alone. A part that is `fixed` is never replaced: a change that would is refused, with its reason.

1. Make and open what is new; if that fails nothing has changed. 2. From the sources down, bring whoever stays and is
concerned to rest and let whoever goes work off what it has. 3. Part, join, bind, fuse again. 4. Start what is new and
go on. 5. Close what has gone.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from whimbrel.flow.check import Plan
from whimbrel.flow.component import Provider
from whimbrel.flow.difference import Difference, difference
from whimbrel.flow.error import ChangeFailed, FlowError
from whimbrel.flow.graph import Graph, bind_needs, callers_first, component_of, construct, make_instances
from whimbrel.flow.instance import Instance
from whimbrel.flow.port import Activity
from whimbrel.flow.queue import Queue
from whimbrel.flow.wiring import ConnectorSpec, Wiring

if TYPE_CHECKING:
    from whimbrel.flow.job import Job


class Prepared:
    """What a change needs that is new, made but not yet part of the graph. Making raises ComponentFailed."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        finished = {name for name, found in graph.instances.items() if all(graph.head_of(i).finished for i in found)}
        self.plan = plan
        self.diff: Difference = difference(graph.plan, plan, finished)
        self._check_fixed(graph.plan)
        self.providers: dict[str, Provider] = dict(graph.providers)
        for name in self.diff.providers_coming:
            self.providers[name] = construct(name, *plan.providers[name])
            bind_needs(plan, name, self.providers)
        made = {**plan.providers, **plan.components}
        for name in self.diff.reconfigured:
            construct(name, *made[name])  # A trial: settings that it does not take must not meet it at work.
        others = {name: found for name, found in graph.instances.items() if name not in self.diff.going}
        self.instances: dict[str, list[Instance]] = {}
        for name in callers_first(plan.wiring):
            if name in self.diff.coming:
                self.instances[name] = make_instances(plan, name, others | self.instances, self.providers)

    def _check_fixed(self, old: Plan) -> None:
        made = {**old.providers, **old.components}
        for name in (*self.diff.providers_going, *sorted(self.diff.going)):
            reason = made[name][0].fixed
            if reason:
                raise ChangeFailed(f"nothing was changed: {name!r} stays as it is while the job runs: {reason}")

    @property
    def fresh(self) -> list[Instance]:
        return [instance for instances in self.instances.values() for instance in instances]

    async def open(self, job: "Job") -> None:
        for name in self.diff.providers_coming:
            await job.open(name, self.providers[name])
        for instance in self.fresh:
            await job.open(instance.name, instance.component)

    async def close(self, job: "Job") -> None:
        """After a failure to open: close what was."""
        for instance in reversed(self.fresh):
            await job.close(instance.name, instance.component)
        for name in reversed(self.diff.providers_coming):
            await job.close(name, self.providers[name])


async def apply(job: "Job", prepared: Prepared) -> list[str]:
    """Carry out a change; returns what was done, in words."""
    graph, diff = job.graph, prepared.diff
    gone = [instance for name in diff.going for instance in graph.instances[name]]
    old_providers = {name: graph.providers[name] for name in diff.providers_going}
    rested = await _Settling(job, diff).settle()
    _rewire(graph, prepared)
    # Only these: a head that runs has products in its chain, and a chain that no change concerns.
    for head in (*rested, *(instance for instance in prepared.fresh if instance.is_head)):
        head.compile()
    for instance in prepared.fresh:
        if instance.is_head:
            job.start(instance)
    graph.release()
    for instance in gone:
        await job.close(instance.name, instance.component)
    for name in reversed(diff.providers_going):
        await job.close(name, old_providers[name])
    return diff.lines()


class _Settling:
    """Brings the part of the graph that changes to a standstill, from its sources down.

    Whoever stays and feeds a connector that comes or goes, whoever is rebound, and everybody upstream of them comes to
    rest; whoever goes works off what it has. Going downstream, each finds the next still running, so that it can hand
    over what it has in hand, and its own inputs fed by nobody any more, so that they can be emptied. In a circle the
    last feeds the first, which rests already: what is left there is taken over by the connector that comes instead.
    """

    def __init__(self, job: "Job", diff: Difference) -> None:
        self._job = job
        self._graph = job.graph
        self._diff = diff
        self._settled: set[str] = set()

    async def settle(self) -> list[Instance]:
        """Returns the heads that rest."""
        graph, diff = self._graph, self._diff
        ends = (*diff.parted, *diff.joined)
        for name in {component_of(connector.target) for connector in ends} - diff.going:
            for instance in graph.instances.get(name, ()):
                for inlet in instance.inlets.values():
                    inlet.expects_more = True
        concerned = {component_of(connector.source) for connector in ends} | diff.rebound
        resting = _upstream_of(graph.wiring, concerned & graph.instances.keys()) - diff.going
        heads = []
        for name in _sources_first(graph.wiring, diff.going):
            await self._settle(name)
            if name in resting:
                self._lift_inputs(name)
                for head in map(graph.head_of, graph.instances[name]):
                    await head.rest()
                    heads.append(head)
            self._settled.add(name)
        return heads

    async def _settle(self, name: str) -> None:
        """End the connectors into a component that go, from the side that stays, and wait until they are worked off."""
        graph, diff = self._graph, self._diff
        inputs = [c for c in diff.parted if c.kind == "queue" and component_of(c.target) == name]
        for connector in inputs:
            if component_of(connector.source) not in diff.going:
                for _ in graph.instances[component_of(connector.source)]:
                    graph.queues[connector.name].end()
        if name in diff.going:
            await self._drain(name)
        for connector in inputs:
            if component_of(connector.source) in self._settled:
                await _empty(graph.queues[connector.name])

    async def _drain(self, name: str) -> None:
        for instance in self._graph.instances[name]:
            head = self._graph.head_of(instance)
            if not instance.inlets:
                instance.drain()
            elif not instance.is_head and self._called_by(name) == head.spec.name not in self._diff.going:
                # Called by one that stays and rests: nobody else will drain it and end its outputs.
                await head.drain_called(instance.member)
                instance.end_outputs()
        tasks = {task for i in self._graph.instances[name] if (task := self._job.task_of(i)) is not None}
        if tasks:
            await asyncio.wait(tasks)

    def _called_by(self, name: str) -> str:
        calls = (c for c in self._graph.wiring.connectors if c.kind == "direct")
        return next(component_of(c.source) for c in calls if component_of(c.target) == name)

    def _lift_inputs(self, name: str) -> None:
        """Only in a circle can its producers still have something in hand."""
        for connector in self._graph.wiring.connectors:
            if connector.kind == "queue" and component_of(connector.target) == name:
                self._graph.queues[connector.name].lifted = True
                for instance in self._graph.instances[component_of(connector.source)]:
                    instance.activity.set()


def _rewire(graph: Graph, prepared: Prepared) -> None:
    """Part, join and bind, now that nothing is on its way."""
    diff, plan = prepared.diff, prepared.plan
    left = {c: graph.queues[c.name].hand_over() for c in diff.parted if c.kind == "queue"}
    for connector in diff.parted:
        graph.part(connector)
    for name in diff.going:
        del graph.instances[name]
    graph.instances |= prepared.instances
    graph.providers = {name: prepared.providers[name] for name in plan.provider_order}
    graph.plan = plan
    for connector in diff.joined:
        graph.join(connector)
    for connector, items in left.items():
        _take_over(graph, diff, connector, items)
    _adjust(graph, diff)
    for name in diff.providers_rebound:
        bind_needs(plan, name, graph.providers)
    for name in diff.rebound:
        for instance in graph.instances[name]:
            for need, provider in plan.wiring.component(name).needs.items():
                instance.component.bind(need, graph.providers[provider])


def _adjust(graph: Graph, diff: Difference) -> None:
    """Sizes and live settings of what stays."""
    for connector in diff.resized:
        graph.resize(connector)
    for name in diff.reconfigured:
        if name in graph.providers:
            graph.providers[name].reconfigure(graph.plan.providers[name][1])
        for instance in graph.instances.get(name, ()):
            instance.component.reconfigure(graph.plan.components[name][1])
            instance.activity.set()


def _take_over(graph: Graph, diff: Difference, old: ConnectorSpec, items: list[Any]) -> None:
    """Give what a circle has left in a connector to the one that leads to the same input now."""
    if not items:
        return
    heirs = [c for c in diff.joined if c.kind == "queue" and c.target == old.target]
    if not heirs:
        raise FlowError(f"{len(items)} items in {old.name} have nowhere to go")
    graph.queues[min(heirs, key=lambda heir: heir.source != old.source).name].adopt(items)


def _upstream_of(wiring: Wiring, names: set[str]) -> set[str]:
    """The components and everybody from whom items can reach them."""
    found, before = set(names), -1
    while before != len(found):
        before = len(found)
        found |= {component_of(c.source) for c in wiring.connectors if component_of(c.target) in found}
    return found


def _sources_first(wiring: Wiring, going: frozenset[str]) -> list[str]:
    """Component names, each after those that feed it; in a circle, one that stays is the first, since it can rest."""
    order: list[str] = []
    begun: set[str] = set()

    def place(name: str) -> None:
        if name not in begun:
            begun.add(name)
            for connector in wiring.connectors:
                if component_of(connector.source) == name:
                    place(component_of(connector.target))
            order.insert(0, name)

    for name in sorted((spec.name for spec in wiring.components), key=going.__contains__):
        place(name)
    return order


async def _empty(queue: Queue[Any]) -> None:
    """Until every item has been acknowledged."""
    woken = Activity()
    queue.watch(woken)
    try:
        while queue.queued or queue.unacknowledged:
            await woken.wait()
    finally:
        queue.unwatch(woken)
