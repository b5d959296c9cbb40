"""A wiring: which components, connectors and providers a job is made of. A frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from whimbrel.flow.error import BadWiring, nearest

Kind = Literal["direct", "queue"]
Place = Literal["loop", "thread"]


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """`use` is a registered name or a class; `needs` maps what it needs to names of other providers."""

    name: str
    use: str | type
    config: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze(self)


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """`instances` run side by side and share the inputs; `place` is where a synchronous component's `process` runs."""

    name: str
    use: str | type
    config: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    instances: int = 1
    place: Place = "loop"

    def __post_init__(self) -> None:
        _freeze(self)


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """`source` and `target` are written `component.port`. `capacity` bounds a queue; `batch` is the most that a
    consumer takes from it at once, never more than the capacity."""

    source: str
    target: str
    kind: Kind = "queue"
    capacity: int = 1024
    batch: int = 64

    @property
    def name(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True, slots=True)
class Wiring:
    """`places` maps names of parts to FILE:LINE when the wiring was read from a file; it is no part of the value."""

    name: str
    components: tuple[ComponentSpec, ...] = ()
    connectors: tuple[ConnectorSpec, ...] = ()
    providers: tuple[ProviderSpec, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def component(self, name: str) -> ComponentSpec:
        return next(spec for spec in self.components if spec.name == name)

    def place(self, *names: str) -> str:
        """Where the first of the names that has a known place stands; empty when none has."""
        return next((self.places[name] for name in names if name in self.places), "")

    def _expect(self, name: str, specs: tuple[Any, ...]) -> None:
        """A mistyped name must not make a change that changes nothing."""
        names = [spec.name for spec in specs]
        if name not in names:
            raise BadWiring(name, f"the wiring {self.name!r} has no {name!r}{nearest(name, names)}")

    def adding(self, *parts: ComponentSpec | ConnectorSpec | ProviderSpec) -> "Wiring":
        """The same wiring with more parts; one with the name of an old part takes its place."""
        new = self
        for part in parts:
            match part:
                case ComponentSpec():
                    new = replace(new, components=(*_without(new.components, part.name), part))
                case ProviderSpec():
                    new = replace(new, providers=(*_without(new.providers, part.name), part))
                case ConnectorSpec():
                    new = replace(new, connectors=(*_without(new.connectors, part.name), part))
        return new

    def removing(self, component: str) -> "Wiring":
        """The same wiring without a component and the connectors that touch it."""
        self._expect(component, self.components)
        ends = f"{component}."
        kept = (c for c in self.connectors if not c.source.startswith(ends) and not c.target.startswith(ends))
        return replace(self, components=_without(self.components, component), connectors=tuple(kept))

    def configuring(self, name: str, /, **settings: Any) -> "Wiring":
        """The same wiring with some settings of a component or provider changed."""
        self._expect(name, (*self.components, *self.providers))

        def changed(spec: Any) -> Any:
            return replace(spec, config={**spec.config, **settings}) if spec.name == name else spec

        return replace(
            self,
            components=tuple(changed(spec) for spec in self.components),
            providers=tuple(changed(spec) for spec in self.providers),
        )

    def rebinding(self, component: str, need: str, provider: str) -> "Wiring":
        """The same wiring with a component's need bound to another provider."""
        self._expect(component, self.components)
        changed = (
            replace(spec, needs={**spec.needs, need: provider}) if spec.name == component else spec
            for spec in self.components
        )
        return replace(self, components=tuple(changed))


def used_name(use: str | type) -> str:
    """What a `use` is called, be it a registered name or a class."""
    return use if isinstance(use, str) else use.__name__


def _freeze(spec: ProviderSpec | ComponentSpec) -> None:
    """Copies that nobody can change take the place of the mappings."""
    object.__setattr__(spec, "config", MappingProxyType(dict(spec.config)))
    object.__setattr__(spec, "needs", MappingProxyType(dict(spec.needs)))


def _without(specs: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    return tuple(spec for spec in specs if spec.name != name)
