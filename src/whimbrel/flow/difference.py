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

    def lines(self) -> list[str]:
        said = [f"removed {name}" for name in sorted(self.going - self.coming)]
        said += [f"added {name}" for name in sorted(self.coming - self.going)]
        said += [f"replaced {name}" for name in sorted(self.going & self.coming)]
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
        if before[name].needs != after[name].needs or concerned & set(after[name].needs.values())
    }
    return Difference(
        going=frozenset(going),
        coming=frozenset(coming),
        rebound=frozenset(rebound),
        parted=tuple(c for c in old.wiring.connectors if c not in new.wiring.connectors or _touches(c, going)),
        joined=_joined(old, new, coming),
        providers_rebound=tuple(name for name in new.provider_order if name in concerned - provider_changes),
        providers_going=tuple(name for name in old.provider_order if name in provider_changes),
        providers_coming=tuple(name for name in new.provider_order if name in provider_changes),
    )


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
    return tuple(c for c in new.wiring.connectors if c not in old.wiring.connectors or _touches(c, coming))


def _fed_anew(old: Plan, new: Plan, coming: set[str]) -> set[str]:
    return {component_of(connector.target) for connector in _joined(old, new, coming)}


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
