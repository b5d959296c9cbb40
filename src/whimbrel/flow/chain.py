"""Synchronous components joined by `direct` connectors, fused into one function.

The head of a chain is the component that has a task. `step` runs its `process` and calls the next component with
everything that comes of it, down to the connectors that leave the chain. What is bound for those waits in *pending*
lists until the item is through: a failure anywhere in the chain takes back what that item had produced.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from whimbrel.flow.api import Intake
from whimbrel.flow.component import Component, Sync
from whimbrel.flow.error import ComponentFailed
from whimbrel.flow.port import Outlet

Sink = Callable[[Any], None]


class Member:
    """One component instance and where its outputs lead: fused members, and connectors."""

    def __init__(self, name: str, component: Component, outlets: dict[str, Outlet[Any]]) -> None:
        self.name = name
        self.component = component
        self.outlets = outlets
        self.direct: dict[str, list[Member]] = {port: [] for port in outlets}


class Chain:
    """The fused functions below a head, and what they have produced and not handed over."""

    def __init__(self) -> None:
        self._pending: dict[int, tuple[Outlet[Any], Intake[Any], list[Any]]] = {}
        self.failure: ComponentFailed | None = None
        """What went wrong in it first, even if a caller has swallowed it."""

    def step(self, member: Member) -> Callable[..., None]:
        """The function that runs a member on one item of each of its inputs, and all that is fused to it."""
        component = cast("Sync", member.component)
        return _fuse(member.name, component.process, self._router(member), len(component.ins))

    def drain_step(self, member: Member) -> Callable[[], None]:
        """The function that runs `drain` of a member and then of everything fused to it."""
        component = cast("Sync", member.component)
        own = _fuse(member.name, component.drain, self._router(member), 0, "drain")
        below = [self.drain_step(next_) for members in member.direct.values() for next_ in members]

        def drain() -> None:
            own()
            for call in below:
                call()

        return drain

    def run(self, step: Callable[..., None], *items: Any) -> None:
        """Run a step; if anything in it raises, what it had produced is forgotten."""
        marks = [len(kept) for _, _, kept in self._pending.values()]
        try:
            step(*items)
        except ComponentFailed as failure:
            self.failure = self.failure or failure
            for (_, _, kept), mark in zip(self._pending.values(), marks, strict=True):
                del kept[mark:]
            raise

    @property
    def pending(self) -> int:
        """Products that were not handed over."""
        return sum(len(items) for _, _, items in self._pending.values())

    @property
    def most_pending(self) -> int:
        return max((len(items) for _, _, items in self._pending.values()), default=0)

    def push(self) -> bool:
        """Hand over what is pending as far as there is room now; true when nothing is left."""
        left = 0
        for _, connector, items in self._pending.values():
            if items:
                del items[: connector.offer(items)]
                left += len(items)
        return left == 0

    async def flush(self) -> None:
        """Hand over what is pending now; returns when all of it has been taken.

        What is pending is taken off the lists before anything is awaited, so that several may flush at once.
        """
        taken = [(outlet, connector, items.copy()) for outlet, connector, items in self._pending.values() if items]
        for _, _, items in self._pending.values():
            items.clear()
        for outlet, connector, items in taken:
            await outlet.deliver(connector, items)

    def _sinks(self, member: Member, port: str) -> list[Sink]:
        """Where the items of an output go: into pending lists, and into fused members."""
        outlet = member.outlets[port]
        into: list[Sink] = [self._pend(outlet, connector) for connector in outlet.connectors]
        return into + [self.step(next_) for next_ in member.direct[port]]

    def _pend(self, outlet: Outlet[Any], connector: Intake[Any]) -> Sink:
        return self._pending.setdefault(id(connector), (outlet, connector, []))[2].append

    def _router(self, member: Member) -> Sink:
        by_type = {out.type: _broadcast(self._sinks(member, port)) for port, out in member.component.outs.items()}
        return next(iter(by_type.values())) if len(by_type) == 1 else _by_type(member.name, by_type)


class CallsBelow:
    """Meets `port.Calls` for one output of an asynchronous component."""

    def __init__(self, chain: Chain, members: list[Member]) -> None:
        self._chain = chain
        self._step = _broadcast([chain.step(member) for member in members])
        self.push = chain.push
        self.flush = chain.flush

    def run(self, item: Any) -> None:
        self._chain.run(self._step, item)


def _broadcast(sinks: list[Sink]) -> Sink:
    if len(sinks) == 1:
        return sinks[0]

    def send(item: Any) -> None:
        for sink in sinks:
            sink(item)

    return send


def _by_type(name: str, routes: dict[type, Sink]) -> Sink:
    """Dispatch on the class of an item, on its bases where the class itself is no output's."""
    known = dict(routes)

    def send(item: Any) -> None:
        sink = known.get(type(item))
        if sink is None:
            sink = next((routes[base] for base in type(item).__mro__ if base in routes), None)
            if sink is None:
                error = TypeError(f"an item of class {type(item).__name__} belongs to none of its outputs")
                raise ComponentFailed(name, "process", error) from error
            known[type(item)] = sink
        sink(item)

    return send


def _listed(products: Any) -> list[Any]:
    if isinstance(products, str | bytes | Mapping) or not isinstance(products, Iterable):
        raise TypeError(f"it must return the items it produces, or None, not one {type(products).__name__}")
    return list(products)


def _fuse(
    name: str, function: Callable[..., Iterable[Any] | None], send: Sink, inputs: int, phase: str = "process"
) -> Callable[..., None]:
    """One call of a component with its products sent on. What it raises is laid at its door, not at its caller's."""

    def step(item: Any) -> None:
        try:
            products = function(item)
            if products is not None and type(products) is not list and type(products) is not tuple:
                products = _listed(products)
        except Exception as error:
            raise ComponentFailed(name, phase, error) from error
        if products:
            for product in products:
                send(product)

    if inputs == 1:
        return step

    def step_all(*items: Any) -> None:
        try:
            products = _listed(function(*items) or ())
        except Exception as error:
            raise ComponentFailed(name, phase, error) from error
        for product in products:
            send(product)

    return step_all
