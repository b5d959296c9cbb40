"""The process that runs handlers. Everything that a handler may do wrong is caught here, or kills this process only."""

import gc
import io
import os
import resource
import socket
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from whimbrel.archive.head import head_fields
from whimbrel.archive.read import Captures
from whimbrel.handle.item import Item, columns_of, key_bytes, table_of, values_of
from whimbrel.handle.message import LEAVING, Kept, Made, Task, decode_tasks, encode, receive
from whimbrel.handle.page import Page, Raw
from whimbrel.handle.rule import Link, Rule, Rules

_PAGE_BYTES: Final = resource.getpagesize()
_MOST_PRINTED: Final = 4_000
_MOST_TRACEBACK: Final = 8_000
_MOST_ITEMS: Final = 100_000
"""Of one page."""


class _Printed(io.TextIOBase):
    """Keeps the beginning of what is printed."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: _MOST_PRINTED - len(self.text)]
        return len(text)


def work(rules: Rules, connection: socket.socket, memory_bytes: int) -> None:
    """Until the crawl has gone, or this process has grown to half of what it may take: it is replaced then, before a
    page has to suffer from what others left."""
    _limit_memory(memory_bytes)
    resident, archive = _Resident(), _Archive()
    while True:
        message = receive(connection)
        if message is None:
            return
        for task in decode_tasks(message):
            made = handled(rules, task, archive)
            try:
                answer = encode(made)
            except MemoryError:
                answer = encode(Made(error="MemoryError: what the handlers made is too large", outcome="error"))
            connection.sendall(answer)
            if "MemoryError" in made.error or resident.bytes() > memory_bytes // 2:
                connection.sendall(encode(Made(outcome=LEAVING)))
                return


class _Archive:
    """Pages that are read where they are kept."""

    def __init__(self) -> None:
        self._directory = ""
        self._captures = Captures(Path())

    def read(self, raw: Raw, kept: Kept) -> Raw:
        if kept.directory != self._directory:
            self._captures.close()
            self._directory, self._captures = kept.directory, Captures(Path(kept.directory))
        stored = self._captures.read(kept.file, kept.offset, kept.length)
        headers = head_fields(stored.http_head)
        return Raw(raw.url, raw.status, headers, stored.payload, raw.mime, raw.charset, raw.depth, raw.at_s)


def handled(rules: Rules, task: Task, archive: _Archive) -> Made:
    """What the handlers make of one page. A handler that fails loses its items, and those of the others with it: half
    of a page's items look like all of them."""
    printed, began_s = _Printed(), time.perf_counter()
    # Each time anew: a handler may have put something else there.
    sys.stdout = sys.stderr = printed
    matching = rules.matching(task.raw.url, task.raw.mime) if task.handle else []
    items: list[Item] = []
    links: list[Link] = []
    rows: list[tuple[str, list[Any], bytes]] = []
    error = ""
    try:
        page = Page(task.raw if task.kept is None else archive.read(task.raw, task.kept))
        for rule in matching:
            _run(rule, page, items, links)
        rows = _rows(items)
    except BaseException:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the handler's own
        error, items, links = traceback.format_exc(limit=-20)[-_MOST_TRACEBACK:], [], []
    return Made(
        rows,
        {table_of(kind): columns_of(kind) for kind in set(map(type, items))},
        [(one.url, one.priority) for one in links if one.url and _wanted(rules, one.url)],
        [url for url in task.links if not _wanted(rules, url)],
        " ".join([rule.name for rule in matching]),
        error,
        printed.text,
        (time.perf_counter() - began_s) * 1000,
        "error" if error else "ok",
    )


def _run(rule: Rule, page: Page, items: list[Item], links: list[Link]) -> None:
    result = rule.handler(page)
    if result is None:
        return
    count = 0
    for one in (result,) if isinstance(result, Item | Link) else result:
        if isinstance(one, Item):
            items.append(one)
        elif isinstance(one, Link):
            links.append(one)
        elif one is None:
            continue
        else:
            raise TypeError(f"{rule.name} made {type(one).__name__}; handlers make items and links")
        count += 1
        if count > _MOST_ITEMS:
            raise ValueError(f"{rule.name} made more than {_MOST_ITEMS:,} items of one page")


def _rows(items: list[Item]) -> list[tuple[str, list[Any], bytes]]:
    """Of those with one key the last."""
    found: dict[Any, tuple[str, list[Any], bytes]] = {}
    for number, item in enumerate(items):
        table, key = table_of(type(item)), key_bytes(item)
        found.pop((table, key), None)
        found[(table, key) if key else number] = (table, values_of(item), key)
    return list(found.values())


def _wanted(rules: Rules, url: str) -> bool:
    """A filter that fails says no."""
    try:
        return all(wants(url) for wants in rules.filters)
    except BaseException:  # noqa: BLE001
        return False


def _limit_memory(memory_bytes: int) -> None:
    with suppress(ValueError, OSError):
        now = _status_bytes("VmData")
        resource.setrlimit(resource.RLIMIT_DATA, (now + memory_bytes, now + memory_bytes))


class _Resident:
    """The memory that is this process's own. Asked after every page, so the file stays open."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def bytes(self) -> int:
        _, resident, shared, _ = os.pread(self._file, 200, 0).split(b" ", 3)
        return (int(resident) - int(shared)) * _PAGE_BYTES


def _status_bytes(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def begin(rules: Rules, connection: socket.socket, memory_bytes: int) -> None:
    """In a process that was just forked; never returns."""
    try:
        gc.enable()
        gc.freeze()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        work(rules, connection, memory_bytes)
    except BaseException:  # noqa: BLE001, S110 - nobody is left to tell
        pass
    finally:
        sys.stdout = sys.stderr = None
        os._exit(0)
