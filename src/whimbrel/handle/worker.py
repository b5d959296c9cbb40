"""The process that runs handlers. Everything that a handler may do wrong is caught here, or kills this process only."""

import gc
import io
import os
import resource
import socket
import sys
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.archive.head import head_fields
from whimbrel.archive.read import read_capture
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
    resident = _Resident()
    while True:
        message = receive(connection)
        if message is None:
            return
        for task in decode_tasks(message):
            made = handled(rules, task)
            try:
                answer = encode(made)
            except MemoryError:
                answer = encode(Made(error="MemoryError: what the handlers made is too large", outcome="error"))
            connection.sendall(answer)
            if "MemoryError" in made.error or resident.bytes() > memory_bytes // 2:
                connection.sendall(encode(Made(outcome=LEAVING)))
                return


def handled(rules: Rules, task: Task) -> Made:
    """What the handlers make of one page. A handler that fails loses its items, and those of the others with it: half
    of a page's items look like all of them."""
    printed, began_s = _Printed(), time.perf_counter()
    found: list[Item | Link] = []
    matching = rules.matching(task.raw.url, task.raw.mime) if task.handle else []
    error = ""
    items: list[tuple[str, list[Any], bytes]] = []
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            page = Page(task.raw if task.kept is None else _read(task.raw, task.kept))
            for rule in matching:
                found += _made(rule, page)
            items = _rows([one for one in found if isinstance(one, Item)])
        except BaseException:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the handler's own
            error, found, items = traceback.format_exc(limit=-20)[-_MOST_TRACEBACK:], [], []
        links = [
            (one.url, one.priority) for one in found if isinstance(one, Link) and one.url and _wanted(rules, one.url)
        ]
        refused = [url for url in task.links if not _wanted(rules, url)]
    return Made(
        items,
        {table_of(kind): columns_of(kind) for kind in {type(one) for one in found if isinstance(one, Item)}},
        links,
        refused,
        " ".join(rule.name for rule in matching),
        error,
        printed.text,
        (time.perf_counter() - began_s) * 1000,
        "error" if error else "ok",
    )


def _read(raw: Raw, kept: Kept) -> Raw:
    stored = read_capture(Path(kept.directory), kept.file, kept.offset, kept.length)
    return msgspec.structs.replace(raw, headers=head_fields(stored.http_head), payload=stored.payload)


def _made(rule: Rule, page: Page) -> list[Item | Link]:
    result = rule.handler(page)
    if result is None:
        return []
    found: list[Item | Link] = []
    for one in [result] if isinstance(result, Item | Link) else result:
        if one is None:
            continue
        if not isinstance(one, Item | Link):
            raise TypeError(f"{rule.name} made {type(one).__name__}; handlers make items and links")
        found.append(one)
        if len(found) > _MOST_ITEMS:
            raise ValueError(f"{rule.name} made more than {_MOST_ITEMS:,} items of one page")
    return found


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
