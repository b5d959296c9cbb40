"""Handlers as a component of the crawl: between the parser and the distributor."""

from collections import OrderedDict, deque
from functools import partial
from typing import Final

import msgspec

from whimbrel.flow import Async, Config, Delivery, In, Needs, Out, Provider
from whimbrel.handle.message import Made, Task
from whimbrel.handle.nursery import Nursery
from whimbrel.handle.page import Raw
from whimbrel.handle.pool import Done, Pool
from whimbrel.handle.rule import Rules
from whimbrel.parse.api import Handled, Links, Page, Parsed
from whimbrel.parse.dispatch import media_type
from whimbrel.url import parse

_CUT: Final = ("timeout", "died")
_JUDGED: Final = 100_000
"""URLs whose verdict by the filters is remembered."""


class HandlingConfig(Config, frozen=True):
    processes: int = 1
    """Workers that run handlers."""
    time_limit_s: float = 10.0
    """For all handlers of one page; a worker that needs longer is killed."""


class Handling(Provider):
    """The workers. A subclass that knows the user's rules is made for each crawl (`bound`)."""

    Config = HandlingConfig
    rules: Rules
    nursery: Nursery

    async def open(self) -> None:
        config: HandlingConfig = self.config
        self._pool = Pool(self.nursery, config.processes, config.time_limit_s)
        self._pool.open()
        self.version = self.rules.version

    async def close(self) -> None:
        await self._pool.close()

    @property
    def capacity(self) -> int:
        return self._pool.capacity

    def submit(self, task: Task, done: Done) -> None:
        self._pool.submit(task, done)


def bound(rules: Rules) -> type[Handling]:
    """Its `nursery` must be set before it is opened."""
    return type("BoundHandling", (Handling,), {"rules": rules})


class Handlers(Async):
    """Pages that no rule is for pass at once. The others wait for a worker; who is done first goes on first."""

    parsed = In(Parsed)
    handled = Out(Parsed)
    handling = Needs(Handling)

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self._landed: deque[tuple[Delivery[Parsed], Parsed]] = deque()
        self._under_way = 0
        self._judged: OrderedDict[str, bool] = OrderedDict()

    async def run(self) -> None:
        while True:
            self._start()
            while self._landed and self._hand_on():
                self._start()
            if self._under_way == 0 and not self._landed and self.parsed.ended:
                return
            await self.woken()

    def _hand_on(self) -> bool:
        delivery, parsed = self._landed[0]
        if not self.handled.offer(parsed):
            return False
        self._landed.popleft()
        delivery.done()
        return True

    def _start(self) -> None:
        while self._under_way + len(self._landed) < self.handling.capacity:
            delivery = self.parsed.take()
            if delivery is None:
                return
            task = self._task(delivery.item)
            if task is None:
                self._landed.append((delivery, self._judged_links(delivery.item)))
            else:
                self._under_way += 1
                self.handling.submit(task, partial(self._land, delivery, task))

    def _task(self, parsed: Parsed) -> Task | None:
        """None when there is nothing to ask."""
        rules, page = self.handling.rules, parsed.page
        response = parsed.fetched.exchange.response
        if page is None or response is None:
            return None
        url = parsed.fetched.visit.url.text
        handle = bool(rules.matching(url, page.mime))
        links = self._unjudged(page) if rules.filters else ()
        if not handle and not links:
            return None
        raw = Raw(
            url,
            response.status,
            response.headers,
            response.document.read() if handle else b"",
            page.mime,
            media_type(response.header("content-type") or "")[1],
            parsed.fetched.visit.depth,
            parsed.fetched.exchange.started_s,
        )
        return Task(raw, handle, links)

    def _unjudged(self, page: Page) -> tuple[str, ...]:
        return tuple(target for target in dict.fromkeys(page.links.targets) if target not in self._judged)

    def _land(self, delivery: Delivery[Parsed], task: Task, made: Made) -> None:
        self._under_way -= 1
        if made.outcome in _CUT and task.links:
            if task.handle:
                # A handler is to blame, and the filters have not spoken yet.
                self._under_way += 1
                again = Task(Raw(task.raw.url, 0, {}, b"", task.raw.mime), handle=False, links=task.links)
                before = msgspec.structs.replace(delivery.item, handled=handled_of(made, self.handling.version))
                self.handling.submit(again, partial(self._land_judged, delivery, before, again))
                return
            made = msgspec.structs.replace(made, refused=list(task.links))
        self._remember(task, made)
        parsed = self._completed(delivery.item, made) if task.handle else delivery.item
        self._landed.append((delivery, self._judged_links(parsed)))
        self.activity.set()

    def _land_judged(self, delivery: Delivery[Parsed], parsed: Parsed, task: Task, made: Made) -> None:
        self._under_way -= 1
        self._remember(task, msgspec.structs.replace(made, refused=list(task.links)) if made.outcome in _CUT else made)
        self._landed.append((delivery, self._judged_links(parsed)))
        self.activity.set()

    def _remember(self, task: Task, made: Made) -> None:
        refused = set(made.refused)
        for link in task.links:
            self._judged[link] = link not in refused
        while len(self._judged) > _JUDGED:
            self._judged.popitem(last=False)

    def _judged_links(self, parsed: Parsed) -> Parsed:
        page = parsed.page
        if page is None or not self.handling.rules.filters:
            return parsed
        # What a worker did not judge, because it died of it, is not wanted either.
        own = {target for target, kind in zip(page.links.targets, page.links.kinds, strict=True) if kind == "handler"}
        unwanted = frozenset(
            target for target in page.links.targets if target not in own and not self._judged.get(target, False)
        )
        return msgspec.structs.replace(parsed, unwanted=unwanted) if unwanted else parsed

    def _completed(self, parsed: Parsed, made: Made) -> Parsed:
        page = parsed.page
        if page is None:
            return parsed
        page = msgspec.structs.replace(page, links=_with_links(page.links, made))
        return msgspec.structs.replace(parsed, page=page, handled=handled_of(made, self.handling.version))


def handled_of(made: Made, version: str) -> Handled:
    return Handled(
        handlers=made.handlers,
        version=version,
        outcome=made.outcome,
        error=made.error,
        printed=made.printed,
        elapsed_ms=made.elapsed_ms,
        items=[(table, made.tables[table], values, key) for table, values, key in made.items],
        first=frozenset(url.text for text, first in made.links if first > 0 and (url := parse(text)) is not None),
    )


def _with_links(links: Links, made: Made) -> Links:
    """Those of handlers come first, so that they are found before those of the page."""
    own = [url.text for text, _ in made.links if (url := parse(text)) is not None]
    count = len(own)
    return Links(
        own + links.targets, [""] * count + links.anchors, [""] * count + links.rels, ["handler"] * count + links.kinds
    )
