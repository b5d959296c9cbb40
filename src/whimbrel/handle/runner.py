"""Handlers at work, in a worker: what they may do wrong is caught here, or kills this process only."""

import io
import sys
import time
import traceback
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.archive.head import head_fields
from whimbrel.archive.read import Captures
from whimbrel.handle.handler_pool import HandlerCode
from whimbrel.handle.item import Item
from whimbrel.handle.made import Made
from whimbrel.handle.message import ArchiveRef, HandlerResult, HandlerTask, decode_task, encode_result
from whimbrel.handle.page import Page, RawPage
from whimbrel.handle.rule import Filter, HandlerRule, HandlerRules, Link
from whimbrel.url.join import Joined
from whimbrel.worker import LastReply, fork_server

_MEMORY_BYTES: Final = 1_000_000_000
"""That a worker may take beside what it began with."""
_EXPECTED: Final = (
    "handlers yield or return items (of a class that you derive from whimbrel.Item) and links (whimbrel.Link)"
)
_MOST_PRINTED: Final = 4_000
_MOST_TRACEBACK: Final = 8_000
_MOST_SAID: Final = 1_000


@contextmanager
def handler_code(rules: HandlerRules) -> Iterator[HandlerCode]:
    """Fork a process with the code of handlers, that workers come from. To be entered before threads are started."""
    with fork_server(partial(HandlerRunner, rules), _MEMORY_BYTES) as server:
        yield HandlerCode(rules, server)


class HandlerRunner:
    """What a worker serves: a task, encoded, becomes a result."""

    def __init__(self, rules: HandlerRules) -> None:
        self._rules = rules
        self._archive = _ArchiveReader()
        self._joined = Joined()

    def __call__(self, request: bytes) -> bytes:
        result = self.run(decode_task(request))
        reply = _encoded(result)
        # What a handler keeps after that may be anything: the next page gets another worker.
        return LastReply(reply) if "MemoryError" in result.error else reply

    def run(self, task: HandlerTask) -> HandlerResult:
        """What the handlers make of one page. A handler that fails loses its items, and those of the others with it:
        half of a page's items look like all of them."""
        printed, began_s = _Printed(), time.perf_counter()
        # Each time anew: a handler may have put something else there.
        sys.stdout = sys.stderr = printed
        rules = self._rules
        matching = rules.matching(task.raw.url, task.raw.mime) if task.handle else []
        made = Made(task.max_items_bytes)
        targets: list[tuple[str, int]] = []
        nowhere = 0
        error = ""
        try:
            raw = task.raw if task.ref is None else self._archive.read(task.raw, task.ref)
            page = Page(raw, joined=self._joined)
            for rule in matching:
                _run(rule, page, made)
            targets, nowhere = _targets(made.links, page)
        except BaseException as raised:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the handler's own
            error, made = _told(raised), Made(0)
        judge = _Judge(rules.filters)
        for url in dict.fromkeys((*task.links, *(url for url, _ in targets))) if rules.filters else ():
            judge.ask(url)
        return HandlerResult(
            items=made.rows,
            tables=made.tables,
            links=targets,
            refused=judge.refused,
            filter_failed=judge.failed,
            filter_error=judge.error,
            nowhere=nowhere,
            handlers=" ".join([rule.name for rule in matching]),
            error=error,
            printed=_clean(printed.text),
            elapsed_ms=(time.perf_counter() - began_s) * 1000,
            outcome="error" if error else "filter-error" if judge.error else "ok",
            items_bytes=made.items_bytes,
        )


def _encoded(result: HandlerResult) -> bytes:
    """Where items cannot be sent, the page has none, and an error instead; what filters said stays."""
    try:
        return encode_result(result)
    except MemoryError:
        error = "MemoryError: what the handlers made is too large"
    except Exception as raised:  # noqa: BLE001 - a number of 65 bits, half of a surrogate pair
        error = f"what the handlers made cannot be kept: {_told(raised)}"
    empty = msgspec.structs.replace(result, items=[], items_bytes=0, tables={}, links=[], error=error, outcome="error")
    return encode_result(empty)


def _told(error: BaseException) -> str:
    """What it says, and then the traceback; exceptions may be broken, too."""
    try:
        said = "".join(traceback.format_exception_only(error)).strip()[:_MOST_SAID]
        return _clean(f"{said}\n{''.join(traceback.format_exception(error, limit=-20))[-_MOST_TRACEBACK:]}")
    except BaseException:  # noqa: BLE001
        return f"{type(error)}, and to ask for its text raises again"


def _clean(text: str) -> str:
    """Without what UTF-8 cannot say."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _Printed(io.TextIOBase):
    """Keeps the beginning of what is printed."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: _MOST_PRINTED - len(self.text)]
        return len(text)


class _ArchiveReader:
    """Reads pages where the archive has them."""

    def __init__(self) -> None:
        self._directory = ""
        self._captures = Captures(Path())

    def read(self, raw: RawPage, ref: ArchiveRef) -> RawPage:
        if ref.directory != self._directory:
            self._captures.close()
            self._directory, self._captures = ref.directory, Captures(Path(ref.directory))
        stored = self._captures.read(ref.file, ref.offset, ref.length)
        headers = head_fields(stored.http_head)
        return RawPage(raw.url, raw.status, headers, stored.payload, raw.mime, raw.charset, raw.depth, raw.at_s)


def _run(rule: HandlerRule, page: Page, made: Made) -> None:
    result = rule.handler(page)
    if result is None:
        return
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Item | Link | Iterable):
        raise TypeError(f"{rule.name} returned {_described(result)}; {_EXPECTED}")
    for one in (result,) if isinstance(result, Item | Link) else _each(result, rule.name):
        if isinstance(one, Item):
            _add(one, made)
        elif isinstance(one, Link):
            made.add_link(one)
        elif one is not None:
            raise TypeError(f"{rule.name} made {_described(one)}; {_EXPECTED}")


def _add(item: Item, made: Made) -> None:
    try:
        made.add_item(item)
    except UnicodeError as error:
        raise ValueError(f"what the handlers made cannot be kept: {type(error).__name__}: {error}") from error


def _each(result: Iterable[Any], name: str) -> Iterator[Any]:
    """What a handler yields, or the list that it returns. What a generator returns beside would be lost silently."""
    if not isinstance(result, Generator):
        yield from result
        return
    returned = yield from result
    if returned is not None:
        raise TypeError(
            f"{name} yields, and returned {_described(returned)} at its end, which nobody gets: yield it, too"
        )


def _described(made: Any) -> str:
    kind = type(made).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _targets(links: list[Link], page: Page) -> tuple[list[tuple[str, int]], int]:
    """URL and priority of those that lead somewhere, and the number of those that lead to no http or https URL."""
    joined = [(page.join(one.url), one.priority) for one in links if one.url]
    targets = [(url, priority) for url, priority in joined if url is not None]
    return targets, len(joined) - len(targets)


class _Judge:
    """Asks filters about links. A filter that fails says no."""

    def __init__(self, filters: list[Filter]) -> None:
        self._filters = filters
        self.refused: list[str] = []
        self.failed: list[str] = []
        self.error = ""
        """The first failure."""

    def ask(self, url: str) -> None:
        name = ""
        try:
            for wants in self._filters:
                name = getattr(wants, "__name__", repr(wants))
                if not wants(url):
                    self.refused.append(url)
                    return
        except BaseException as raised:  # noqa: BLE001
            self.failed.append(url)
            if not self.error:
                said, _, rest = _told(raised).partition("\n")
                self.error = f"filter {name}: {said}\nThe link was {url}\n{rest}"
