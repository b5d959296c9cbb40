"""Handlers as a component of the crawl: between the parser and the distributor."""

from collections import OrderedDict
from functools import partial
from typing import Final

import msgspec

from whimbrel.flow import Concurrent, Config, Delivery, In, Inlet, Needs, Out, Outlet
from whimbrel.handle.handler_pool import HandlerPool, HandlerPoolLost
from whimbrel.handle.judged import FILTER, FILTER_ERROR, judged_visit
from whimbrel.handle.message import HandlerResult, HandlerTask
from whimbrel.handle.page import RawPage
from whimbrel.parse.api import Handled, Links, Parsed, ParsedPage
from whimbrel.parse.dispatch import media_type
from whimbrel.url import parse

_CUT: Final = ("timeout", "died")
_JUDGED: Final = 100_000
"""URLs whose verdict by the filters is remembered, beside those of the last page."""


class Handlers(Concurrent[Parsed, Parsed]):
    """Runs handlers. Pages that no rule is for pass at once; the others wait for a worker and pass when it is done."""

    parsed = In(Parsed)
    handled = Out(Parsed)
    pool = Needs(HandlerPool)

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self._judged: OrderedDict[str, str] = OrderedDict()
        """Why filters refuse a URL; empty when they do not."""

    @property
    def source(self) -> Inlet[Parsed]:
        return self.parsed

    @property
    def target(self) -> Outlet[Parsed]:
        return self.handled

    @property
    def room(self) -> int:
        return self.pool.capacity

    def begin(self, delivery: Delivery[Parsed]) -> None:
        task = self._task(delivery.item)
        if task is None:
            self.finish(delivery, self._judged_visit(delivery.item))
        else:
            self.pool.submit(task, partial(self._land, delivery, task))

    def _task(self, parsed: Parsed) -> HandlerTask | None:
        """None when there is nothing to ask."""
        rules, page = self.pool.rules, parsed.page
        response = parsed.exchange.response
        if page is None or response is None:
            return None
        url = parsed.visit.url.text
        handle = bool(rules.matching(url, page.mime))
        links = self._unjudged(page) if rules.filters else ()
        if not handle and not links:
            return None
        raw = RawPage(
            url,
            response.status,
            response.headers,
            response.document.read() if handle else b"",
            page.mime,
            media_type(response.header("content-type") or "")[1],
            parsed.visit.depth,
            parsed.exchange.started_s,
        )
        return HandlerTask(raw, handle, links)

    def _unjudged(self, page: ParsedPage) -> tuple[str, ...]:
        return tuple(target for target in dict.fromkeys(page.links.targets) if target not in self._judged)

    def _land(self, delivery: Delivery[Parsed], task: HandlerTask, result: HandlerResult) -> None:
        if self._is_lost(result):
            return
        if result.outcome in _CUT and task.links and task.handle:
            # A handler is to blame, and the filters have not spoken yet.
            again = HandlerTask(RawPage(task.raw.url, 0, {}, b"", task.raw.mime), handle=False, links=task.links)
            before = msgspec.structs.replace(delivery.item, handled=handled_of(result, self.pool.version))
            self.pool.submit(again, partial(self._land_judged, delivery, before, again))
            return
        self._remember(task, result)
        self.finish(delivery, self._judged_visit(self._completed(delivery.item, task, result), result.nowhere))

    def _land_judged(
        self, delivery: Delivery[Parsed], parsed: Parsed, task: HandlerTask, result: HandlerResult
    ) -> None:
        if self._is_lost(result):
            return
        self._remember(task, result)
        self.finish(delivery, self._judged_visit(parsed))

    def _is_lost(self, result: HandlerResult) -> bool:
        """Then the page stays where it is, unacknowledged: a later run looks at it again."""
        if result.outcome != "lost":
            return False
        self.fail(HandlerPoolLost(result.error))
        return True

    def _remember(self, task: HandlerTask, result: HandlerResult) -> None:
        if not self.pool.rules.filters:
            return
        # Before, not after: the links of this page are about to be asked for.
        while len(self._judged) > _JUDGED:
            self._judged.popitem(last=False)
        said = dict.fromkeys(result.refused, FILTER) | dict.fromkeys(result.filter_failed, FILTER_ERROR)
        for link in (*task.links, *(url for url, _ in result.links)):
            self._judged[link] = said.get(link, "")

    def _judged_visit(self, parsed: Parsed, nowhere: int = 0) -> Parsed:
        page = parsed.page
        if page is None or not self.pool.rules.filters:
            return judged_visit(parsed, {}, nowhere)
        # A link that no filter has judged is refused.
        reasons = {target: self._judged.get(target, FILTER_ERROR) for target in page.links.targets}
        return judged_visit(parsed, {target: reason for target, reason in reasons.items() if reason}, nowhere)

    def _completed(self, parsed: Parsed, task: HandlerTask, result: HandlerResult) -> Parsed:
        page = parsed.page
        if page is None:
            return parsed
        if not task.handle:
            if not result.filter_error:
                return parsed
            handled = msgspec.structs.replace(handled_of(result, self.pool.version), outcome=FILTER_ERROR)
            return msgspec.structs.replace(parsed, handled=handled)
        own = [(url.text, first) for text, first in result.links if (url := parse(text)) is not None]
        page = msgspec.structs.replace(page, links=_with_links(page.links, [text for text, _ in own]))
        first = frozenset(text for text, first in own if first > 0)
        return msgspec.structs.replace(parsed, page=page, handled=handled_of(result, self.pool.version, first))


def handled_of(result: HandlerResult, version: str, first: frozenset[str] = frozenset()) -> Handled:
    """`first` are those of its links that go before all others of their hosts."""
    return Handled(
        handlers=result.handlers,
        version=version,
        outcome=result.outcome,
        error="\n".join(dict.fromkeys(error for error in (result.error, result.filter_error) if error)),
        printed=result.printed,
        elapsed_ms=result.elapsed_ms,
        items=[(table, result.tables[table], values, key) for table, values, key in result.items],
        first=first,
    )


def _with_links(links: Links, own: list[str]) -> Links:
    """Those of handlers come first, so that they are found before those of the page."""
    count = len(own)
    return Links(
        own + links.targets, [""] * count + links.anchors, [""] * count + links.rels, ["handler"] * count + links.kinds
    )
