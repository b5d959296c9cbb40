"""Take a running job from one wiring to another (Agarwal et al. §2.5, Hunyadi §6).

A component whose class, configuration, place or number of instances changes is *replaced*: drained, closed, and opened
anew; so is every synchronous component fused to it. One whose needs alone change is *rebound*. All others are
untouched.

1. Open new providers. 2. Bring whoever stays and is concerned to rest, and everybody upstream. 3. Let the components
that go work off what they have. 4. Part, open, join, bind, fuse again. 5. Start what is new and go on. 6. Close what
has gone.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whimbrel.flow.check import Plan
from whimbrel.flow.component import Sync
from whimbrel.flow.graph import Graph, component_of
from whimbrel.flow.instance import Instance
from whimbrel.flow.port import Activity
from whimbrel.flow.queue import Queue
from whimbrel.flow.wiring import ComponentSpec, ConnectorSpec, Wiring

if TYPE_CHECKING:
    from whimbrel.flow.job import Job


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes between two wirings. `going` and `coming` both hold what is replaced."""

    going: frozenset[str]
    coming: frozenset[str]
    rebound: frozenset[str]
    parted: tuple[ConnectorSpec, ...]
    joined: tuple[ConnectorSpec, ...]
    providers_rebound: tuple[str, ...]
    """Those that stay and need one that changes."""
    providers_going: tuple[str, ...]
    providers_coming: tuple[str, ...]

    def lines(self) -> list[str]:
        said = [f"removed {name}" for name in sorted(self.going - self.coming)]
        said += [f"added {name}" for name in sorted(self.coming - self.going)]
        said += [f"replaced {name}" for name in sorted(self.going & self.coming)]
        return said + [f"rebound {name}" for name in sorted(self.rebound)]


def difference(old: Plan, new: Plan) -> Difference:
    before = {spec.name: spec for spec in old.wiring.components}
    after = {spec.name: spec for spec in new.wiring.components}
    changed = {name for name in before.keys() & after.keys() if not _same(before[name], after[name], old, new)}
    direct = {c for c in old.wiring.connectors if c.kind == "direct"} ^ {
        c for c in new.wiring.connectors if c.kind == "direct"
    }
    touched = (
        (before.keys() - after.keys()) | changed | {component_of(end) for c in direct for end in (c.source, c.target)}
    )
    replaced = _fused_with(old, touched & before.keys()) | _fused_with(new, touched & after.keys()) | changed
    going = (before.keys() - after.keys()) | (replaced & before.keys())
    coming = (after.keys() - before.keys()) | (replaced & after.keys())
    provider_changes = {
        spec.name for spec in (*old.wiring.providers, *new.wiring.providers) if not _same_provider(spec.name, old, new)
    }
    concerned = _needing(new.wiring, provider_changes)
    rebound = {
        name
        for name in after.keys() - coming
        if before[name].needs != after[name].needs or concerned & set(after[name].needs.values())
    }
    return Difference(
        going=frozenset(going),
        coming=frozenset(coming),
        rebound=frozenset(rebound),
        parted=tuple(c for c in old.wiring.connectors if c not in new.wiring.connectors or _touches(c, going)),
        joined=tuple(c for c in new.wiring.connectors if c not in old.wiring.connectors or _touches(c, coming)),
        providers_rebound=tuple(name for name in new.provider_order if name in concerned - provider_changes),
        providers_going=tuple(name for name in old.provider_order if name in provider_changes),
        providers_coming=tuple(name for name in new.provider_order if name in provider_changes),
    )


def _same(before: ComponentSpec, after: ComponentSpec, old: Plan, new: Plan) -> bool:
    same_place = (before.instances, before.place) == (after.instances, after.place)
    return same_place and old.components[before.name] == new.components[before.name]


def _same_provider(name: str, old: Plan, new: Plan) -> bool:
    def needs(wiring: Wiring) -> Any:
        return next((dict(spec.needs) for spec in wiring.providers if spec.name == name), None)

    return old.providers.get(name) == new.providers.get(name) and needs(old.wiring) == needs(new.wiring)


def _needing(wiring: Wiring, changed: set[str]) -> set[str]:
    """The providers that changed and all that need one of them, directly or through others."""
    found, before = set(changed), -1
    while before != len(found):
        before = len(found)
        found |= {spec.name for spec in wiring.providers if found & set(spec.needs.values())}
    return found


def _fused_with(plan: Plan, names: set[str]) -> set[str]:
    """The synchronous components that run in one chain with any of these. An asynchronous caller is not one of them:
    its calls are fused again while it waits."""
    chains: dict[str, set[str]] = {
        name: {name} for name in plan.components if issubclass(plan.components[name][0], Sync)
    }
    for connector in plan.wiring.connectors:
        ends = [component_of(connector.source), component_of(connector.target)]
        if connector.kind == "direct" and all(end in chains for end in ends):
            merged = chains[ends[0]] | chains[ends[1]]
            for name in merged:
                chains[name] = merged
    return {other for name in names if name in chains for other in chains[name]}


def _touches(connector: ConnectorSpec, names: frozenset[str] | set[str]) -> bool:
    return component_of(connector.source) in names or component_of(connector.target) in names


async def apply(job: "Job", plan: Plan) -> list[str]:
    """Carry out a change; returns what was done, in words."""
    graph = job.graph
    diff = difference(graph.plan, plan)
    old_providers = dict(graph.providers)
    for name in diff.providers_coming:
        await job.open(name, graph.add_provider(plan, name))
    gone = [instance for name in diff.going for instance in graph.instances[name]]
    rested = await _settle(job, graph, diff)
    fresh = await _rewire(job, graph, diff, plan)
    # Only these: a head that runs has products in its chain, and a chain that no change concerns.
    for head in (*rested, *(instance for instance in fresh if instance.is_head)):
        head.compile()
    for instance in fresh:
        if instance.is_head:
            job.start(instance)
    for queue in graph.queues.values():
        queue.lifted = False
    for head in graph.heads():
        head.go_on()
    for instance in gone:
        await job.close(instance.name, instance.component)
    for name in reversed(diff.providers_going):
        if graph.providers[name] is old_providers[name]:
            del graph.providers[name]
        await job.close(name, old_providers[name])
    return diff.lines()


async def _settle(job: "Job", graph: Graph, diff: Difference) -> list[Instance]:
    """Bring the part of the graph that changes to a standstill, from its sources down.

    Whoever stays and feeds a connector that comes or goes, whoever is rebound, and everybody upstream of them comes to
    rest; whoever goes works off what it has. Going downstream, each finds the next still running, so that it can hand
    over what it has in hand, and its own inputs fed by nobody any more, so that they can be emptied. Returns the heads
    that rest.
    """
    readers = {component_of(connector.target) for connector in (*diff.parted, *diff.joined)} - diff.going
    for instance in (instance for name in readers for instance in graph.instances.get(name, ())):
        for inlet in instance.inlets.values():
            inlet.expects_more = True
    concerned = {component_of(connector.source) for connector in (*diff.parted, *diff.joined)} | diff.rebound
    resting = _upstream_of(graph.wiring, concerned & graph.instances.keys()) - diff.going
    heads = []
    for name in _sources_first(graph.wiring):
        await _empty_inputs(job, graph, diff, name)
        if name in resting:
            for connector in graph.wiring.connectors:
                if connector.kind == "queue" and component_of(connector.target) == name:
                    # Only in a circle can its producers still have something in hand.
                    graph.queues[connector.name].lifted = True
            for head in map(graph.head_of, graph.instances[name]):
                await head.rest()
                heads.append(head)
    return heads


async def _empty_inputs(job: "Job", graph: Graph, diff: Difference, name: str) -> None:
    """End the connectors into a component that go, from the side that stays, and wait until they are worked off."""
    inputs = [c for c in diff.parted if c.kind == "queue" and component_of(c.target) == name]
    for connector in inputs:
        if component_of(connector.source) not in diff.going:
            for _ in graph.instances[component_of(connector.source)]:
                graph.queues[connector.name].end()
    if name in diff.going:
        gone = graph.instances[name]
        for instance in gone:
            if not instance.inlets:
                instance.drain()
            elif not instance.is_head and graph.head_of(instance).spec.name not in diff.going:
                # Called by one that stays and rests: nothing is in hand, and nobody else will end its outputs.
                instance.end_outputs()
        tasks = {task for instance in gone if (task := job.task_of(instance)) is not None}
        if tasks:
            await asyncio.wait(tasks)
    for connector in inputs:
        await _empty(graph.queues[connector.name])


def _upstream_of(wiring: Wiring, names: set[str]) -> set[str]:
    """The components and everybody from whom items can reach them."""
    found, before = set(names), -1
    while before != len(found):
        before = len(found)
        found |= {component_of(c.source) for c in wiring.connectors if component_of(c.target) in found}
    return found


def _sources_first(wiring: Wiring) -> list[str]:
    """Component names, each after those that feed it, as far as there are no circles."""
    order: list[str] = []
    begun: set[str] = set()

    def place(name: str) -> None:
        if name not in begun:
            begun.add(name)
            for connector in wiring.connectors:
                if component_of(connector.source) == name:
                    place(component_of(connector.target))
            order.insert(0, name)

    for spec in wiring.components:
        place(spec.name)
    return order


async def _rewire(job: "Job", graph: Graph, diff: Difference, plan: Plan) -> list[Instance]:
    """Part, join, bind and fuse, now that nothing is on its way; returns the instances that are new."""
    for connector in diff.parted:
        graph.part(connector)
    for name in diff.going:
        del graph.instances[name]
    coming = [name for name in Graph.callers_first(plan.wiring) if name in diff.coming]
    fresh = [instance for name in coming for instance in graph.add_component(plan, name)]
    for instance in fresh:
        await job.open(instance.name, instance.component)
    for connector in diff.joined:
        graph.join(connector)
    for name in diff.providers_rebound:
        graph.bind_provider(plan, name)
    for name in diff.rebound:
        for instance in graph.instances[name]:
            for need, provider in plan.wiring.component(name).needs.items():
                instance.component.bind(need, graph.providers[provider])
    graph.plan = plan
    return fresh


async def _empty(queue: Queue[Any]) -> None:
    """Until every item has been acknowledged."""
    woken = Activity()
    queue.watch(woken)
    try:
        while queue.queued or queue.unacknowledged:
            await woken.wait()
    finally:
        queue.unwatch(woken)
