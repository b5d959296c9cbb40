"""Handlers at work, in a worker: what they may do wrong is caught here, or kills this process only."""

import io
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.archive.head import head_fields
from whimbrel.archive.read import Captures
from whimbrel.handle.handler_pool import HandlerCode
from whimbrel.handle.item import Item, columns_of, key_bytes, table_of, values_of
from whimbrel.handle.message import ArchiveRef, HandlerResult, HandlerTask, decode_task, encode_result
from whimbrel.handle.page import Page, RawPage
from whimbrel.handle.rule import HandlerRule, HandlerRules, Link
from whimbrel.url.join import Joined
from whimbrel.worker import LastReply, fork_server

_MEMORY_BYTES: Final = 1_000_000_000
"""That a worker may take beside what it began with."""
_MOST_PRINTED: Final = 4_000
_MOST_TRACEBACK: Final = 8_000
_MOST_ITEMS: Final = 100_000
"""Of one page."""


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
        items: list[Item] = []
        links: list[Link] = []
        rows: list[tuple[str, list[Any], bytes]] = []
        error = ""
        try:
            raw = task.raw if task.ref is None else self._archive.read(task.raw, task.ref)
            page = Page(raw, joined=self._joined)
            for rule in matching:
                _run(rule, page, items, links)
            rows = _rows(items)
        except BaseException as raised:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the handler's own
            error, items, links = _told(raised), [], []
        return HandlerResult(
            rows,
            {table_of(kind): columns_of(kind) for kind in set(map(type, items))},
            [(one.url, one.priority) for one in links if one.url and _wanted(rules, one.url)],
            [url for url in task.links if not _wanted(rules, url)],
            " ".join([rule.name for rule in matching]),
            error,
            _clean(printed.text),
            (time.perf_counter() - began_s) * 1000,
            "error" if error else "ok",
        )


def _encoded(result: HandlerResult) -> bytes:
    """Where items cannot be sent, the page has none, and an error instead; what filters said stays."""
    try:
        return encode_result(result)
    except MemoryError:
        error = "MemoryError: what the handlers made is too large"
    except Exception as raised:  # noqa: BLE001 - a number of 65 bits, half of a surrogate pair
        error = f"what the handlers made cannot be kept: {_told(raised)}"
    empty = msgspec.structs.replace(result, items=[], tables={}, links=[], error=error, outcome="error")
    return encode_result(empty)


def _told(error: BaseException) -> str:
    """The traceback; exceptions may be broken, too."""
    try:
        return _clean("".join(traceback.format_exception(error, limit=-20))[-_MOST_TRACEBACK:])
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


def _run(rule: HandlerRule, page: Page, items: list[Item], links: list[Link]) -> None:
    result = rule.handler(page)
    if result is None:
        return
    count = 0
    for one in (result,) if isinstance(result, Item | Link) else result:
        if isinstance(one, Item):
            items.append(one)
        elif isinstance(one, Link):
            links.append(_checked(one))
        elif one is None:
            continue
        else:
            raise TypeError(f"{rule.name} made {type(one).__name__}; handlers make items and links")
        count += 1
        if count > _MOST_ITEMS:
            raise ValueError(f"{rule.name} made more than {_MOST_ITEMS:,} items of one page")


def _checked(link: Link) -> Link:
    if not isinstance(link.url, str | None) or not isinstance(link.priority, int):
        raise TypeError(f"{link!r}: a link has a URL as text, and a whole number as its priority")
    return link


def _rows(items: list[Item]) -> list[tuple[str, list[Any], bytes]]:
    """Of those with one key the last."""
    found: dict[Any, tuple[str, list[Any], bytes]] = {}
    for number, item in enumerate(items):
        table, key = table_of(type(item)), key_bytes(item)
        found.pop((table, key), None)
        found[(table, key) if key else number] = (table, values_of(item), key)
    return list(found.values())


def _wanted(rules: HandlerRules, url: str) -> bool:
    """A filter that fails says no."""
    try:
        return all(wants(url) for wants in rules.filters)
    except BaseException:  # noqa: BLE001
        return False
