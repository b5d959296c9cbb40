"""Handlers as a component of the crawl: between the parser and the distributor."""

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from whimbrel.cache import ByteCache
from whimbrel.flow import Concurrent, Config, Delivery, In, Inlet, Needs, Out, Outlet
from whimbrel.handle.handler_pool import HandlerPool, HandlerPoolLost
from whimbrel.handle.message import FILTER, FILTER_ERROR, HandlerResult, HandlerTask
from whimbrel.handle.page import RawPage
from whimbrel.observable import GroupStatus
from whimbrel.parse.api import Handled, Links, Parsed, ParsedPage
from whimbrel.parse.dispatch import media_type
from whimbrel.url import parse

_CUT: Final = ("timeout", "died")
_UNDER_WAY_BYTES: Final = 16_000_000
"""Of pages that are with workers. One page may be larger."""
_JUDGED_BYTES: Final = 16_000_000
"""Of memory, for what filters said of URLs."""

Verdicts = Mapping[str, str]
"""Why filters refuse a URL, by its text; empty when they do not."""


class Handlers(Concurrent[Parsed, Parsed]):
    """Runs handlers. Pages that no rule is for pass at once; the others wait for a worker and pass when it is done.
    None is begun while the group is full, or while those under way take too much memory."""

    parsed = In(Parsed)
    handled = Out(Parsed)
    pool = Needs(HandlerPool)
    journal = Needs(GroupStatus)

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self._judged: ByteCache[str, str] = ByteCache(_JUDGED_BYTES, _size)
        """Why filters refuse a URL; empty when they do not."""
        self._under_way_bytes = 0

    async def run(self) -> None:
        self.journal.listen(self.activity.set)
        try:
            await super().run()
        finally:
            self.journal.unlisten(self.activity.set)

    @property
    def source(self) -> Inlet[Parsed]:
        return self.parsed

    @property
    def target(self) -> Outlet[Parsed]:
        return self.handled

    @property
    def room(self) -> int:
        is_full = self.journal.is_full or self._under_way_bytes > _UNDER_WAY_BYTES
        return 0 if is_full else self.pool.capacity

    def begin(self, delivery: Delivery[Parsed]) -> None:
        self._under_way_bytes += _held_bytes(delivery.item)
        known = self._known_verdicts(delivery.item.page)
        task = self._task(delivery.item, known)
        if task is None:
            self.finish(delivery, self._judged_visit(delivery.item, known))
        else:
            self.pool.submit(task, partial(self._land, delivery, known, task))

    def finish(self, delivery: Delivery[Parsed], product: Parsed) -> None:
        self._under_way_bytes -= _held_bytes(delivery.item)
        super().finish(delivery, product)

    def _known_verdicts(self, page: ParsedPage | None) -> Verdicts:
        """What filters said before of the links of a page. It is looked up once: they may be forgotten meanwhile."""
        if page is None or not self.pool.rules.filters:
            return {}
        said = ((target, self._judged.get(target)) for target in dict.fromkeys(page.links.targets))
        return {target: verdict for target, verdict in said if verdict is not None}

    def _task(self, parsed: Parsed, known: Verdicts) -> HandlerTask | None:
        """None when there is nothing to ask."""
        rules, page = self.pool.rules, parsed.page
        response = parsed.exchange.response
        if page is None or response is None:
            return None
        url = parsed.visit.url.text
        handle = bool(rules.matching(url, page.mime))
        targets = page.links.targets if rules.filters else ()
        links = tuple(target for target in dict.fromkeys(targets) if target not in known)
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

    def _land(self, delivery: Delivery[Parsed], known: Verdicts, task: HandlerTask, result: HandlerResult) -> None:
        if self._is_lost(result):
            return
        if result.outcome in _CUT and task.links and task.handle:
            # A handler is to blame, and the filters have not spoken yet.
            again = HandlerTask(RawPage(task.raw.url, 0, {}, b"", task.raw.mime), handle=False, links=task.links)
            before = msgspec.structs.replace(delivery.item, handled=handled_of(result, self.pool.version))
            self.pool.submit(again, partial(self._land_judged, delivery, known, before, again))
            return
        said = {**known, **self._verdicts(task, result)}
        self.finish(delivery, self._judged_visit(self._completed(delivery.item, task, result), said, result.nowhere))

    def _land_judged(
        self, delivery: Delivery[Parsed], known: Verdicts, parsed: Parsed, task: HandlerTask, result: HandlerResult
    ) -> None:
        if self._is_lost(result):
            return
        self.finish(delivery, self._judged_visit(parsed, {**known, **self._verdicts(task, result)}))

    def _is_lost(self, result: HandlerResult) -> bool:
        """Then the page stays where it is, unacknowledged: a later run looks at it again."""
        if result.outcome != "lost":
            return False
        self.fail(HandlerPoolLost(result.error))
        return True

    def _verdicts(self, task: HandlerTask, result: HandlerResult) -> Verdicts:
        """What filters said just now. It is remembered, too."""
        if not self.pool.rules.filters:
            return {}
        refused = dict.fromkeys(result.refused, FILTER) | dict.fromkeys(result.filter_failed, FILTER_ERROR)
        said = {link: refused.get(link, "") for link in (*task.links, *(url for url, _ in result.links))}
        for link, verdict in said.items():
            self._judged.put(link, verdict)
        return said

    def _judged_visit(self, parsed: Parsed, said: Verdicts, nowhere: int = 0) -> Parsed:
        page = parsed.page
        if page is None or not self.pool.rules.filters:
            return msgspec.structs.replace(parsed, nowhere=nowhere) if nowhere else parsed
        # A link that no filter has judged is refused.
        reasons = {target: said.get(target, FILTER_ERROR) for target in page.links.targets}
        refusals = {target: reason for target, reason in reasons.items() if reason}
        return msgspec.structs.replace(parsed, refusals=refusals, nowhere=nowhere)

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
        bytes=result.items_bytes,
    )


def _held_bytes(parsed: Parsed) -> int:
    response, page = parsed.exchange.response, parsed.page
    return (0 if response is None else response.document.size) + (0 if page is None else page.held_bytes)


def _with_links(links: Links, own: list[str]) -> Links:
    """Those of handlers come first, so that they are found before those of the page."""
    count = len(own)
    return Links(
        own + links.targets, [""] * count + links.anchors, [""] * count + links.rels, ["handler"] * count + links.kinds
    )


def _size(url: str, _: str) -> int:
    return len(url)
