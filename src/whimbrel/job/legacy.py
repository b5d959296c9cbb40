"""Settings and wirings of earlier versions, in the words of this one.

A crawl directory keeps its job, and sometimes a wiring of its own, for as long as somebody wants to resume it; so what
was written under an old name is read under the new one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from whimbrel.flow import ComponentSpec, ProviderSpec
from whimbrel.flow.wiring import Wiring

_PARTS: Final = {"settlement": "effects", "handling": "handler-pool"}
"""Parts, and the names in `use`, that have another name now."""
_SETTINGS: Final = {
    ("frontier", "retry_s"): ("effects", "retry_s"),
    ("parser", "max_tries"): ("effects", "max_tries"),
    ("traversal", "patience_s"): ("termination", "patience_s"),
}
"""Settings that belong to another part now."""
_COUNTS: Final = {
    ("router", "cached"): ("cache_bytes", 240),
    ("frontier", "hosts_cached"): ("hosts_bytes", 3_200),
    ("resolver", "hosts"): ("cache_bytes", 400),
}
"""Settings that counted entries and have a limit in bytes now, with what an entry takes."""
_CONNECTORS: Final = frozenset({("traversal.refused", "dedupe.fetched")})
"""Connectors of the crawler's own parts that are gone."""

_Spec = TypeVar("_Spec", ComponentSpec, ProviderSpec)


def current_settings(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Settings by part and key. One that is given under both names keeps the value of the new one."""
    found: dict[str, dict[str, Any]] = {}
    moved: dict[str, dict[str, Any]] = {}
    for part, settings in given.items():
        own = found.setdefault(_PARTS.get(part, part), {})
        for key, value in settings.items():
            place, counted = _SETTINGS.get((part, key)), _COUNTS.get((part, key))
            if counted is not None and isinstance(value, int):
                moved.setdefault(part, {})[counted[0]] = value * counted[1]
            elif place is None:
                own[key] = _PARTS.get(value, value) if key == "use" and isinstance(value, str) else value
            else:
                moved.setdefault(place[0], {})[place[1]] = value
    for part, settings in moved.items():
        found[part] = {**settings, **found.get(part, {})}
    return {part: settings for part, settings in found.items() if settings or part in given}


def current_wiring(wiring: Wiring, standard: Wiring) -> Wiring:
    """A wiring that an earlier version wrote. Parts that are in `standard` too need what they need there, bound as they
    were as far as that goes; providers that did not exist are added."""
    if not any(spec.name in _PARTS for spec in wiring.providers):
        return replace(wiring, components=tuple(_with_new_needs(spec, standard) for spec in wiring.components))
    needs = {spec.name: spec.needs for spec in standard.components} | {
        spec.name: spec.needs for spec in standard.providers
    }
    providers = tuple(_current(spec, needs) for spec in wiring.providers)
    known = {spec.name for spec in providers}
    return replace(
        wiring,
        components=tuple(_current(spec, needs) for spec in wiring.components),
        providers=(*providers, *(spec for spec in standard.providers if spec.name not in known)),
        connectors=tuple(one for one in wiring.connectors if (one.source, one.target) not in _CONNECTORS),
    )


def _with_new_needs(spec: ComponentSpec, standard: Wiring) -> ComponentSpec:
    """A component of the crawler's own, with what it did not need before."""
    now = next((one for one in standard.components if (one.name, one.use) == (spec.name, spec.use)), spec)
    return replace(spec, needs={**now.needs, **spec.needs})


def _current(spec: _Spec, needs: Mapping[str, Mapping[str, str]]) -> _Spec:
    name = _PARTS.get(spec.name, spec.name)
    use = _PARTS.get(spec.use, spec.use) if isinstance(spec.use, str) else spec.use
    bound = {_PARTS.get(need, need): _PARTS.get(to, to) for need, to in spec.needs.items()}
    if name in needs and use == spec.use:
        bound = {need: _rebound(bound, need, to) for need, to in needs[name].items()}
    elif name in needs:
        bound = dict(needs[name])
    return replace(spec, name=name, use=use, needs=bound)


def _rebound(bound: Mapping[str, str], need: str, standard: str) -> str:
    """What a need was bound to, unless another provider stands before that one now."""
    was = bound.get(need, standard)
    return standard if was == need else was
