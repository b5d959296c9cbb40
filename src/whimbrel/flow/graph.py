"""The running parts of a job: providers, instances and connectors, made from a plan and joined to each other."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from whimbrel.flow.check import Plan
from whimbrel.flow.component import Async, Part, Provider
from whimbrel.flow.error import ComponentFailed
from whimbrel.flow.instance import Instance
from whimbrel.flow.port import Activity
from whimbrel.flow.queue import Queue
from whimbrel.flow.wiring import ConnectorSpec, Wiring


def component_of(end: str) -> str:
    return end.partition(".")[0]


def port_of(end: str) -> str:
    return end.partition(".")[2]


W = TypeVar("W", bound=Part)


class Graph:
    """Owned by a job. Building joins the parts; nothing is opened or run here."""

    def __init__(self, plan: Plan, providers: Mapping[str, Provider]) -> None:
        self.plan = plan
        self.providers: dict[str, Provider] = {}
        self.instances: dict[str, list[Instance]] = {}
        self.queues: dict[str, Queue[Any]] = {}
        for name in plan.provider_order:
            self.providers[name] = providers.get(name) or construct(name, *plan.providers[name])
            bind_needs(plan, name, self.providers)
        for name in callers_first(plan.wiring):
            self.instances[name] = make_instances(plan, name, self.instances, self.providers)
        for connector in plan.wiring.connectors:
            self.join(connector)
        for head in self.heads():
            head.compile()

    @property
    def wiring(self) -> Wiring:
        return self.plan.wiring

    def all(self) -> Iterable[Instance]:
        return (instance for instances in self.instances.values() for instance in instances)

    def heads(self) -> list[Instance]:
        return [instance for instance in self.all() if instance.is_head]

    def head_of(self, instance: Instance) -> Instance:
        """The instance whose task runs this one: it shares its alarm clock."""
        return next(head for head in self.heads() if head.activity is instance.activity)

    def join(self, spec: ConnectorSpec) -> None:
        """Put a connector between two ports."""
        sources = self.instances[component_of(spec.source)]
        targets = self.instances[component_of(spec.target)]
        if spec.kind == "direct":
            for source, target in zip(sources, targets, strict=True):
                source.member.direct[port_of(spec.source)].append(target.member)
            return
        queue: Queue[Any] = Queue(spec.name, spec.capacity)
        self.queues[spec.name] = queue
        for source in sources:
            source.outlets[port_of(spec.source)].connectors.append(queue)
            queue.join()
            if self.head_of(source).finished:
                queue.end()
            queue.watch(source.activity)
        for target in targets:
            inlet = target.inlets[port_of(spec.target)]
            inlet.connectors.append(queue)
            inlet.batch = max(inlet.batch, min(spec.batch, spec.capacity))
            queue.listen(target.activity)

    def resize(self, spec: ConnectorSpec) -> None:
        """Another capacity and batch for a queue that stays."""
        if spec.kind == "direct":
            return
        self.queues[spec.name].resize(spec.capacity)
        for target in self.instances[component_of(spec.target)]:
            inlet = target.inlets[port_of(spec.target)]
            inlet.batch = max(inlet.batch, min(spec.batch, spec.capacity))

    def part(self, spec: ConnectorSpec) -> None:
        """Take a connector away from the ports it joined."""
        sources = self.instances.get(component_of(spec.source), [])
        targets = self.instances.get(component_of(spec.target), [])
        if spec.kind == "direct":
            members = [target.member for target in targets]
            for source in sources:
                calls = source.member.direct[port_of(spec.source)]
                calls[:] = [member for member in calls if member not in members]
            return
        queue = self.queues.pop(spec.name)
        for source in sources:
            source.outlets[port_of(spec.source)].connectors.remove(queue)
            queue.unwatch(source.activity)
        for target in targets:
            target.inlets[port_of(spec.target)].connectors.remove(queue)
            queue.unlisten(target.activity)

    def release(self) -> None:
        """End of every rest, also of one that a failed change has left behind."""
        for queue in self.queues.values():
            queue.lifted = False
        for head in self.heads():
            head.go_on()

    def left(self) -> dict[str, int]:
        """Items that no consumer has acknowledged."""
        counts = {name: queue.queued + queue.unacknowledged for name, queue in self.queues.items()}
        counts |= {f"{head.name}, in hand": head.in_hand for head in self.heads()}
        return {name: count for name, count in counts.items() if count}


def callers_first(wiring: Wiring) -> list[str]:
    """Component names, each after those that call it directly."""
    callers = {component_of(c.target): component_of(c.source) for c in wiring.connectors if c.kind == "direct"}

    def depth(name: str) -> int:
        return 1 + depth(callers[name]) if name in callers else 0

    return sorted((spec.name for spec in wiring.components), key=depth)


def construct(name: str, cls: type[W], config: Any) -> W:
    """Make a part; what its constructor raises is laid at its door."""
    try:
        return cls(config)
    except Exception as error:
        raise ComponentFailed(name, "construction", error) from error


def bind_needs(plan: Plan, name: str, providers: Mapping[str, Provider]) -> None:
    """Bind what a provider needs to other providers."""
    spec = next(spec for spec in plan.wiring.providers if spec.name == name)
    for need, other in spec.needs.items():
        providers[name].bind(need, providers[other])


def make_instances(
    plan: Plan, name: str, others: Mapping[str, list[Instance]], providers: Mapping[str, Provider]
) -> list[Instance]:
    """The instances of a component, bound to providers. One that is called directly shares its caller's alarm clock,
    since the caller waits for it; so callers must be among `others`."""
    spec = plan.wiring.component(name)
    direct = next((c for c in plan.wiring.connectors if c.kind == "direct" and component_of(c.target) == name), None)
    made = []
    for number in range(spec.instances):
        component = construct(name, *plan.components[name])
        for need, provider in spec.needs.items():
            component.bind(need, providers[provider])
        activity = component.activity if isinstance(component, Async) else Activity()
        if direct is not None:
            activity = others[component_of(direct.source)][number].activity
        instance = Instance(spec, number, component, activity)
        instance.is_head = direct is None
        made.append(instance)
    return made
