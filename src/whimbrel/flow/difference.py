"""What changes between two wirings: pure, so that a change can be looked at before it is made."""

from dataclasses import dataclass
from typing import Any

from whimbrel.flow.check import Plan
from whimbrel.flow.component import Sync
from whimbrel.flow.graph import component_of
from whimbrel.flow.wiring import ComponentSpec, ConnectorSpec, Wiring


@dataclass(frozen=True, slots=True)
class Difference:
    """`going` and `coming` are components; both hold what is replaced."""

    going: frozenset[str]
    coming: frozenset[str]
    rebound: frozenset[str]
    parted: tuple[ConnectorSpec, ...]
    joined: tuple[ConnectorSpec, ...]
    providers_rebound: tuple[str, ...]
    """Those that stay and need one that changes."""
    providers_going: tuple[str, ...]
    providers_coming: tuple[str, ...]
    reconfigured: tuple[str, ...] = ()
    """Components and providers that take over settings while they run."""
    resized: tuple[ConnectorSpec, ...] = ()
    """Connectors that stay, with another capacity or batch."""

    @property
    def replaced(self) -> list[str]:
        """Components and providers that are there before and after, and are not the same."""
        return [*sorted(self.going & self.coming), *(p for p in self.providers_going if p in self.providers_coming)]

    def lines(self) -> list[str]:
        said = [f"removed {name}" for name in sorted(self.going - self.coming)]
        said += [f"added {name}" for name in sorted(self.coming - self.going)]
        said += [f"replaced {name}" for name in self.replaced]
        said += [f"reconfigured {name}" for name in self.reconfigured]
        said += [f"resized {connector.name}" for connector in self.resized]
        return said + [f"rebound {name}" for name in sorted(self.rebound)]


def difference(old: Plan, new: Plan, finished: set[str]) -> Difference:
    """`finished` are components of the old plan that have ended by themselves: they cannot take up anything new."""
    before = {spec.name: spec for spec in old.wiring.components}
    after = {spec.name: spec for spec in new.wiring.components}
    changed = {name for name in before.keys() & after.keys() if not _same(before[name], after[name], old, new)}
    going, coming = _closure(old, new, changed)
    while more := _fed_anew(old, new, coming) & finished - going:
        changed |= more
        going, coming = _closure(old, new, changed)
    provider_changes = {
        spec.name for spec in (*old.wiring.providers, *new.wiring.providers) if not _same_provider(spec.name, old, new)
    }
    concerned = _needing(new.wiring, provider_changes)
    rebound = {
        name
        for name in after.keys() - coming
        if before[name].needs != after[name].needs or _concerns(after[name], provider_changes, concerned)
    }
    kept = [c for c in new.wiring.connectors if not _touches(c, coming) and _before(c, old) not in (None, c)]
    return Difference(
        going=frozenset(going),
        coming=frozenset(coming),
        rebound=frozenset(rebound),
        parted=tuple(c for c in old.wiring.connectors if _before(c, new) is None or _touches(c, going)),
        joined=_joined(old, new, coming),
        providers_rebound=tuple(name for name in new.provider_order if name in concerned - provider_changes),
        providers_going=tuple(name for name in old.provider_order if name in provider_changes),
        providers_coming=tuple(name for name in new.provider_order if name in provider_changes),
        reconfigured=tuple(
            name
            for name in (*new.provider_order, *after)
            if name not in coming and name not in provider_changes and _made(name, old) != _made(name, new)
        ),
        resized=tuple(kept),
    )


def _concerns(spec: ComponentSpec, changed: set[str], concerned: set[str]) -> bool:
    """Whether a component has to rest while providers change. One that needs a provider which needs another one needs
    not: the provider is rebound between two steps of the loop. On a thread there are no such moments."""
    return bool((concerned if spec.place == "thread" else changed) & set(spec.needs.values()))


def _made(name: str, plan: Plan) -> Any:
    """The class and the configuration of a part."""
    return plan.providers.get(name) or plan.components.get(name)


def _before(connector: ConnectorSpec, old: Plan) -> ConnectorSpec | None:
    """The connector of the same kind between the same ports, whatever its size."""
    ends = (connector.source, connector.target, connector.kind)
    return next((c for c in old.wiring.connectors if (c.source, c.target, c.kind) == ends), None)


def _lives_on(before: Any, after: Any) -> bool:
    """Whether a part with this class and configuration can go on with another: they are equal but for live settings."""
    if before is None or after is None or before[0] is not after[0]:
        return False
    live: frozenset[str] = before[0].live
    changed = {key for key in after[1].__struct_fields__ if _differs(key, before[1], after[1])}
    return changed <= live


def _differs(key: str, before: Any, after: Any) -> bool:
    return bool(getattr(before, key) != getattr(after, key))


def _closure(old: Plan, new: Plan, changed: set[str]) -> tuple[set[str], set[str]]:
    """What goes and what comes when these are replaced: they, what is fused to them, and what was or will be."""
    before, after = set(old.components), set(new.components)
    direct = _direct(old.wiring) ^ _direct(new.wiring)
    ends = {component_of(end) for c in direct for end in (c.source, c.target)}
    touched = (before - after) | (after - before) | changed | ends
    replaced = _fused_with(old, touched & before) | _fused_with(new, touched & after) | changed
    return (before - after) | (replaced & before), (after - before) | (replaced & after)


def _direct(wiring: Wiring) -> set[ConnectorSpec]:
    return {connector for connector in wiring.connectors if connector.kind == "direct"}


def _joined(old: Plan, new: Plan, coming: set[str]) -> tuple[ConnectorSpec, ...]:
    return tuple(c for c in new.wiring.connectors if _before(c, old) is None or _touches(c, coming))


def _fed_anew(old: Plan, new: Plan, coming: set[str]) -> set[str]:
    return {component_of(connector.target) for connector in _joined(old, new, coming)}


def _same(before: ComponentSpec, after: ComponentSpec, old: Plan, new: Plan) -> bool:
    same_place = (before.instances, before.place) == (after.instances, after.place)
    return same_place and _lives_on(old.components[before.name], new.components[before.name])


def _same_provider(name: str, old: Plan, new: Plan) -> bool:
    def needs(wiring: Wiring) -> Any:
        return next((dict(spec.needs) for spec in wiring.providers if spec.name == name), None)

    return _lives_on(old.providers.get(name), new.providers.get(name)) and needs(old.wiring) == needs(new.wiring)


def _needing(wiring: Wiring, changed: set[str]) -> set[str]:
    """The providers that changed and all that need one of them, directly or through others."""
    found, before = set(changed), -1
    while before != len(found):
        before = len(found)
        found |= {spec.name for spec in wiring.providers if found & set(spec.needs.values())}
    return found


def _fused_with(plan: Plan, names: set[str]) -> set[str]:
    """The synchronous components that run in one chain with any of these, or below an asynchronous one of them.

    An asynchronous caller of a chain that changes is not among them: it stays, and its calls are fused again.
    """
    chains: dict[str, set[str]] = {name: {name} for name, (cls, _) in plan.components.items() if issubclass(cls, Sync)}
    below: dict[str, set[str]] = {}
    for connector in plan.wiring.connectors:
        source, target = component_of(connector.source), component_of(connector.target)
        if connector.kind == "direct" and source in chains:
            merged = chains[source] | chains[target]
            for name in merged:
                chains[name] = merged
        elif connector.kind == "direct":
            below.setdefault(source, set()).add(target)
    called = {target for name in names for target in below.get(name, ())}
    return {other for name in names | called if name in chains for other in chains[name]}


def _touches(connector: ConnectorSpec, names: set[str]) -> bool:
    return component_of(connector.source) in names or component_of(connector.target) in names
