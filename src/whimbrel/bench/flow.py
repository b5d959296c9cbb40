"""What a hop between two components costs, beside a plain call."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Final

import msgspec

from whimbrel.flow import Async, ComponentSpec, ConnectorSpec, In, Job, Out, Sync, Wiring, check

ITEMS: Final = 30_000
ROUNDS: Final = 3
_HOPS: Final = 4


class Token:
    __slots__ = ()


_TOKEN: Final = Token()


class Source(Async):
    tokens = Out(Token)

    async def run(self) -> None:
        for _ in range(ITEMS):
            while not self.tokens.offer(_TOKEN):
                await self.woken()


class Hop(Sync):
    tokens = In(Token)
    passed = Out(Token)

    def process(self, token: Token) -> tuple[Token]:
        return (token,)


class Sink(Sync):
    tokens = In(Token)

    def process(self, _token: Token) -> None:
        return None


class HopCost(msgspec.Struct, frozen=True):
    """`cost_us` is CPU time of one hop for one item."""

    hop: str
    batch: int
    cost_us: float
    over_call_us: float


def measure(show: Callable[[str], None]) -> list[HopCost]:
    """The table, the best of three rounds for each row."""
    show("plain calls")
    call_us = min(_plain_call() for _ in range(ROUNDS))
    rows = [HopCost("plain call", 0, call_us, 0.0)]
    for kind, batch in (("direct", 0), ("queue", 1), ("queue", 16), ("queue", 64), ("queue", 256)):
        show(f"{kind} {batch or ''}")
        cost = min(_hop(kind, max(1, batch)) for _ in range(ROUNDS))
        rows.append(HopCost(kind, batch, cost, cost - call_us))
    return rows


def _plain_call() -> float:
    """One component calling the next by hand: process, and a loop over what it returns."""
    hop, sink = Hop().process, Sink().process

    def call(token: Token) -> None:
        for product in hop(token):
            sink(product)

    began = time.process_time()
    for _ in range(ITEMS):
        call(_TOKEN)
    return (time.process_time() - began) / ITEMS * 1e6


def _hop(kind: str, batch: int) -> float:
    """The difference between a chain with and without hops, divided by their number."""
    long, short = (_run(_wiring(hops, kind, batch)) for hops in (1 + _HOPS, 1))
    return (long - short) / _HOPS / ITEMS * 1e6


def _wiring(hops: int, kind: str, batch: int) -> Wiring:
    names = ["source", *(f"hop{at}" for at in range(hops)), "sink"]
    uses: list[type] = [Source, *([Hop] * hops), Sink]
    connectors = []
    for at, (before, after) in enumerate(pairwise(names)):
        port = "tokens" if at == 0 else "passed"
        connector = ConnectorSpec(f"{before}.{port}", f"{after}.tokens", capacity=4 * batch, batch=batch)
        connectors.append(replace(connector, kind="direct") if kind == "direct" and at > 0 else connector)
    if kind == "direct":
        connectors[0] = replace(connectors[0], capacity=1024, batch=256)
    return Wiring("bench", tuple(ComponentSpec(n, u) for n, u in zip(names, uses, strict=True)), tuple(connectors))


def _run(wiring: Wiring) -> float:
    job = Job(check(wiring))
    began = time.process_time()
    report = asyncio.run(job.run())
    if report.exit_code != 0:
        raise RuntimeError("; ".join(report.lines()))
    return time.process_time() - began
