"""Check a wiring as a whole. What passes can be built; what does not is an error that names the culprit.

The same checks run for wirings from Python and from TOML, before a job starts and before a running job is changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from whimbrel.flow.component import Component, Part, Provider, Sync
from whimbrel.flow.error import (
    BadConfig,
    BadConnector,
    BadWiring,
    DanglingInput,
    DanglingOutput,
    DirectCycle,
    MissingProvider,
    TypeMismatch,
    UnknownComponent,
    UnknownPort,
    UnknownProvider,
    WrongProvider,
    nearest,
)
from whimbrel.flow.port import In, Needs, Out
from whimbrel.flow.registry import Registry
from whimbrel.flow.wiring import ComponentSpec, ConnectorSpec, ProviderSpec, Wiring, used_name


@dataclass(frozen=True, slots=True)
class Plan:
    """A wiring that was found good: the class and the configuration of each part. `provider_order` opens needs
    first."""

    wiring: Wiring
    components: Mapping[str, tuple[type[Component], Any]]
    providers: Mapping[str, tuple[type[Provider], Any]]
    provider_order: tuple[str, ...]


def check(wiring: Wiring, registry: Registry | None = None) -> Plan:
    """A plan for the wiring, or the first WiringError in it."""
    registry = registry or Registry()
    _check_names(wiring)
    providers = {spec.name: _provider(wiring, spec, registry) for spec in wiring.providers}
    components = {spec.name: _component(wiring, spec, registry) for spec in wiring.components}
    classes: dict[str, type[Part]] = {name: cls for name, (cls, _) in providers.items()}
    for provider in wiring.providers:
        _check_needs(wiring, provider, providers[provider.name][0], classes)
    for component in wiring.components:
        _check_needs(wiring, component, components[component.name][0], classes)
    component_classes = {name: cls for name, (cls, _) in components.items()}
    for connector in wiring.connectors:
        _check_connector(wiring, connector, component_classes)
    _check_dangling(wiring, component_classes)
    _check_direct(wiring)
    return Plan(wiring, components, providers, _provider_order(wiring))


def _check_names(wiring: Wiring) -> None:
    for kind, names in (
        ("component", [spec.name for spec in wiring.components]),
        ("provider", [spec.name for spec in wiring.providers]),
        ("connector", [spec.name for spec in wiring.connectors]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BadWiring(twice, f"there are two {kind}s named {twice!r}", wiring.place(twice))
    for spec in wiring.components:
        if "." in spec.name or not spec.name:
            raise BadWiring(spec.name, f"{spec.name!r} cannot name a component: no dots", wiring.place(spec.name))
        if spec.instances < 1 or spec.place not in ("loop", "thread"):
            message = f"component {spec.name!r}: instances must be at least 1 and place must be loop or thread"
            raise BadWiring(spec.name, message, wiring.place(spec.name))


def _component(wiring: Wiring, spec: ComponentSpec, registry: Registry) -> tuple[type[Component], Any]:
    cls = registry.component(spec.use)
    place = wiring.place(spec.name)
    if cls is None:
        message = f"component {spec.name!r}: there is no component {used_name(spec.use)!r}"
        raise UnknownComponent(spec.name, message + nearest(used_name(spec.use), registry.component_names()), place)
    if issubclass(cls, Sync) and not cls.ins:
        raise BadWiring(spec.name, f"component {spec.name!r}: a synchronous component needs an input", place)
    if spec.place == "thread" and not issubclass(cls, Sync):
        raise BadWiring(spec.name, f"component {spec.name!r}: only synchronous components run on a thread", place)
    return cls, _config("component", spec, cls, place)


def _provider(wiring: Wiring, spec: ProviderSpec, registry: Registry) -> tuple[type[Provider], Any]:
    cls = registry.provider(spec.use)
    place = wiring.place(f"provider {spec.name}", spec.name)
    if cls is None:
        message = f"provider {spec.name!r}: there is no provider {used_name(spec.use)!r}"
        raise UnknownProvider(spec.name, message + nearest(used_name(spec.use), registry.provider_names()), place)
    return cls, _config("provider", spec, cls, place)


def _config(kind: str, spec: ComponentSpec | ProviderSpec, cls: type[Part], place: str) -> Any:
    """The configuration as the class declares it."""
    fields = [field.name for field in msgspec.structs.fields(cls.Config)]
    for key in spec.config:
        if key not in fields:
            hint = nearest(key, fields) if fields else "; it takes none"
            raise BadConfig(spec.name, f"{kind} {spec.name!r}: unknown setting {key!r}{hint}", place)
    try:
        return msgspec.convert(dict(spec.config), cls.Config)
    except msgspec.ValidationError as error:
        raise BadConfig(spec.name, f"{kind} {spec.name!r}: {error}", place) from error


def _check_needs(
    wiring: Wiring, spec: ComponentSpec | ProviderSpec, cls: type[Part], providers: Mapping[str, type[Part]]
) -> None:
    place = wiring.place(spec.name, f"provider {spec.name}")
    for need in spec.needs:
        if need not in cls.needs:
            message = f"{spec.name!r} has no need {need!r}{nearest(need, cls.needs)}"
            raise MissingProvider(spec.name, message, place)
    for name, need_ in cls.needs.items():
        bound = spec.needs.get(name)
        if bound is None:
            message = f"{spec.name!r} needs a provider for {name!r} ({need_.protocol.__name__}) and none is bound"
            raise MissingProvider(spec.name, message, place)
        if bound not in providers:
            message = f"{spec.name!r} binds {name!r} to {bound!r}, which is no provider{nearest(bound, providers)}"
            raise UnknownProvider(spec.name, message, place)
        missing = _missing_methods(need_, providers[bound])
        if missing:
            message = (
                f"{spec.name!r} needs {need_.protocol.__name__} for {name!r}; {bound!r} lacks {', '.join(missing)}"
            )
            raise WrongProvider(spec.name, message, place)


def _missing_methods(need: Needs[Any], provider: type[Part]) -> list[str]:
    wanted = [name for name, value in vars(need.protocol).items() if not name.startswith("_") and callable(value)]
    return [name for name in wanted if not callable(getattr(provider, name, None))]


def _port(
    wiring: Wiring, connector: ConnectorSpec, end: str, classes: Mapping[str, type[Component]]
) -> In[Any] | Out[Any]:
    """The declared port at one end of a connector."""
    name, _, port = end.partition(".")
    place = wiring.place(connector.name)
    if name not in classes:
        raise UnknownPort(
            end, f"connector {connector.name}: there is no component {name!r}{nearest(name, classes)}", place
        )
    is_source = end == connector.source
    ports = classes[name].outs if is_source else classes[name].ins
    if port not in ports:
        side = "output" if is_source else "input"
        message = f"connector {connector.name}: {name!r} has no {side} {port!r}{nearest(port, ports)}"
        raise UnknownPort(end, message, place)
    return ports[port]


def _check_connector(wiring: Wiring, connector: ConnectorSpec, classes: Mapping[str, type[Component]]) -> None:
    place = wiring.place(connector.name)
    out, into = (_port(wiring, connector, end, classes) for end in (connector.source, connector.target))
    if not issubclass(out.type, into.type):
        message = f"connector {connector.name}: {out.type.__name__} goes out, {into.type.__name__} is taken in"
        raise TypeMismatch(connector.name, message, place)
    if connector.kind == "direct":
        _check_direct_ends(wiring, connector, classes, place)
    elif connector.kind != "queue":
        raise BadConnector(connector.name, f"connector {connector.name}: kind must be direct or queue", place)
    elif min(connector.batch, connector.capacity) < 1:
        message = f"connector {connector.name}: batch and capacity must be at least 1"
        raise BadConnector(connector.name, message, place)


def _check_direct_ends(
    wiring: Wiring, connector: ConnectorSpec, classes: Mapping[str, type[Component]], place: str
) -> None:
    source, target = (wiring.component(end.partition(".")[0]) for end in (connector.source, connector.target))
    cls = classes[target.name]
    reason = ""
    if not issubclass(cls, Sync) or len(cls.ins) != 1:
        reason = f"{target.name!r} is not a synchronous component with one input"
    elif source.instances != target.instances:
        reason = f"{source.name!r} and {target.name!r} must have equally many instances"
    elif target.place == "thread":
        reason = f"{target.name!r} runs where its caller runs and cannot be placed on a thread"
    elif any(other.target == connector.target and other is not connector for other in wiring.connectors):
        reason = f"{connector.target!r} is fed by another connector too"
    if reason:
        raise BadConnector(connector.name, f"connector {connector.name} cannot be direct: {reason}", place)


def _check_dangling(wiring: Wiring, classes: Mapping[str, type[Component]]) -> None:
    fed = {connector.target for connector in wiring.connectors}
    used = {connector.source for connector in wiring.connectors}
    for name, cls in classes.items():
        place = wiring.place(name)
        for port in cls.ins:
            if f"{name}.{port}" not in fed:
                raise DanglingInput(f"{name}.{port}", f"nothing feeds the input {port!r} of {name!r}", place)
        for port, out in cls.outs.items():
            if f"{name}.{port}" not in used and not out.optional:
                message = f"nothing takes the output {port!r} of {name!r}, and it is not optional"
                raise DanglingOutput(f"{name}.{port}", message, place)


def _check_direct(wiring: Wiring) -> None:
    calls: dict[str, list[ConnectorSpec]] = {}
    for connector in wiring.connectors:
        if connector.kind == "direct":
            calls.setdefault(connector.source.partition(".")[0], []).append(connector)
    circle = find_circle({name: [c.target.partition(".")[0] for c in found] for name, found in calls.items()})
    if circle:
        first = calls[circle[0]][0]
        message = f"direct connectors call each other in a circle: {' -> '.join(circle)}; make one of them a queue"
        raise DirectCycle(first.name, message, wiring.place(first.name))


def _provider_order(wiring: Wiring) -> tuple[str, ...]:
    needs = {spec.name: list(spec.needs.values()) for spec in wiring.providers}
    circle = find_circle(needs)
    if circle:
        message = f"providers need each other in a circle: {' -> '.join(circle)}"
        raise BadWiring(circle[0], message, wiring.place(f"provider {circle[0]}"))
    order: list[str] = []

    def place(name: str) -> None:
        if name not in order:
            for need in needs[name]:
                place(need)
            order.append(name)

    for name in needs:
        place(name)
    return tuple(order)


def find_circle(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """The names on some circle, the first repeated at the end; empty when there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for next_ in edges.get(name, ()):
            circle = walk(next_, [*path, name])
            if circle:
                return circle
        done.add(name)
        return []

    return next((circle for name in edges if (circle := walk(name, []))), [])
