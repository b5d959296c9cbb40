"""The user's handlers in a crawl: where they come from, and where they stand in the wiring."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from whimbrel.flow import ComponentSpec, ConnectorSpec, Provider, ProviderSpec, Registry
from whimbrel.flow.wiring import Wiring
from whimbrel.handle.rule import HandlerRules
from whimbrel.handle.runner import handler_code
from whimbrel.job.part_name import JOURNAL, PAGES

_CODE: Final = "handler-code"
_POOL: Final = "handler-pool"


def rules_of(found: Registry, own: HandlerRules | None = None) -> HandlerRules:
    """Those of a program, and those that the user's files mark."""
    rules = HandlerRules()
    if own is not None:
        rules.parse += own.parse
        rules.filters += own.filters
    for module in found.modules:
        rules.add(value for value in vars(module).values() if callable(value))
        for value in vars(module).values():
            if isinstance(getattr(value, "rules", None), HandlerRules):
                rules.parse += value.rules.parse
                rules.filters += value.rules.filters
    return rules


def with_handlers(wiring: Wiring, rules: HandlerRules) -> Wiring:
    """The wiring with handlers behind whatever gives pages to the distributor; the same one without rules."""
    into = next((one for one in wiring.connectors if one.target == PAGES), None)
    if not rules or into is None:
        return wiring
    kept = tuple(one for one in wiring.connectors if one is not into)
    return replace(wiring, connectors=kept).adding(
        ProviderSpec(_CODE, _CODE),
        ProviderSpec(_POOL, _POOL, needs={"code": _CODE}),
        ComponentSpec("handlers", "handlers", needs={"pool": _POOL, "journal": JOURNAL}),
        # Few: a page that was read may be as large as all that workers have.
        ConnectorSpec(into.source, "handlers.parsed", capacity=8, batch=8),
        ConnectorSpec("handlers.handled", into.target, kind="direct"),
    )


@contextmanager
def handler_providers(rules: HandlerRules) -> Iterator[Mapping[str, Provider]]:
    """The providers that a job with handlers is given ready-made; to be entered before the crawl starts threads."""
    if not rules:
        yield {}
        return
    with handler_code(rules) as code:
        yield {_CODE: code}
