"""The user's handlers in a crawl: where they come from, and where they stand in the wiring."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from whimbrel.flow import ComponentSpec, ConnectorSpec, ProviderSpec, Registry
from whimbrel.flow.wiring import Wiring
from whimbrel.handle.component import Handling, bound
from whimbrel.handle.nursery import Nursery
from whimbrel.handle.rule import Rules

_HANDLING: Final = "handling"
_MEMORY_BYTES: Final = 1_000_000_000
"""That a worker may take beside what it began with."""


def rules_of(found: Registry, own: Rules | None = None) -> Rules:
    """Those of a program, and those that the user's files mark."""
    rules = Rules()
    if own is not None:
        rules.parse += own.parse
        rules.filters += own.filters
    for module in found.modules:
        rules.add(value for value in vars(module).values() if callable(value))
        for value in vars(module).values():
            if isinstance(getattr(value, "rules", None), Rules):
                rules.parse += value.rules.parse
                rules.filters += value.rules.filters
    return rules


def with_handlers(wiring: Wiring, rules: Rules, found: Registry) -> Wiring:
    """The wiring with handlers behind whatever gives pages to the distributor; the same one without rules."""
    if not rules:
        return wiring
    found.providers({_HANDLING: bound(rules)})
    into = next((one for one in wiring.connectors if one.target == "distributor.parsed"), None)
    if into is None:
        return wiring
    kept = tuple(one for one in wiring.connectors if one is not into)
    return replace(wiring, connectors=kept).adding(
        ProviderSpec(_HANDLING, _HANDLING),
        ComponentSpec("handlers", "handlers", needs={"handling": _HANDLING}),
        ConnectorSpec(into.source, "handlers.parsed", capacity=64, batch=16),
        ConnectorSpec("handlers.handled", into.target, capacity=64, batch=16),
    )


@contextmanager
def hatched(rules: Rules, found: Registry) -> Iterator[None]:
    """Workers can be made: to be entered before the crawl starts threads."""
    kind = found.provider(_HANDLING) if rules else None
    if kind is None or not issubclass(kind, Handling):
        yield
        return
    kind.nursery = Nursery(rules, _MEMORY_BYTES)
    try:
        yield
    finally:
        kind.nursery.close()
