"""A crawl from Python."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, Final, TypeVar, Unpack

import msgspec

from whimbrel.control.listener import serve_control
from whimbrel.effect.seeding import Requeued
from whimbrel.handle.rule import Filter, Handler, HandlerRules, handler
from whimbrel.handle.rule import filter as filter_
from whimbrel.job.crawl import crawl as begin_crawl
from whimbrel.job.database import seeds_from as database_seeds
from whimbrel.job.options import JOB_FILE, ResolvedOptions, combined, environment, read_job
from whimbrel.job.progress import Progress
from whimbrel.job.resume import resume as resume_crawl
from whimbrel.job.run_result import RunResult
from whimbrel.job.stop import StopRequest
from whimbrel.offline.reparse import Reparsed, reparse
from whimbrel.program.keyword import Keywords
from whimbrel.program.result import CrawlResult

_CODE: Final = "Python"
_Handler = TypeVar("_Handler", bound=Handler)
_Filter = TypeVar("_Filter", bound=Filter)


class Notice(msgspec.Struct, frozen=True):
    """Something that a person should know: the disk is full, a limit is reached."""

    text: str
    """A sentence."""


Event = Progress | Notice | CrawlResult
"""Numbers come a few times a second; `CrawlResult` is the last."""


class Crawl:
    """`Crawl("example.org", max_pages=100).run("out")`.

    A job file is read first, then the environment (WHIMBREL_NAME), then what is given here. OptionError for an option
    that cannot be used.
    """

    def __init__(
        self,
        *seeds: str,
        job: "str | os.PathLike[str] | None" = None,
        seeds_from: tuple[str, str] | None = None,
        **options: Unpack[Keywords],
    ) -> None:
        """`seeds_from` is the URL of a database and a SELECT (`job.database`)."""
        given: dict[str, Any] = {key: _plain(value) for key, value in options.items()}
        found = [*seeds, *([] if seeds_from is None else database_seeds(*seeds_from))]
        if found:
            given["seeds"] = found
        layers: list[tuple[str, dict[str, Any]]] = []
        if job is not None:
            layers.append((os.fspath(job), read_job(Path(job))))
        layers += [("environment", environment()), (_CODE, given)]
        self.rules = HandlerRules()
        """The handlers and filters that the decorators have added."""
        self._layers = layers
        self._given: ResolvedOptions = combined(layers)

    def parse(self, function: Any = None, /, *, url: str | Sequence[str] = (), mime: str | Sequence[str] = ()) -> Any:
        """Decorate a function that makes items and links of pages whose URL and type match a pattern with `*`; of all
        pages when none is given.

        It gets a `whimbrel.Page` and yields items and `whimbrel.Link`s. It runs in a process of its own, with a time
        limit: what it needs must be there when `run` is called, and what it changes is not seen elsewhere.
        """

        def add(function: _Handler) -> _Handler:
            self.rules.add([handler(url=url, mime=mime)(function)])
            return function

        return add if function is None else add(function)

    def filter(self, function: _Filter) -> _Filter:
        """Decorate a function that says whether a URL may be visited. One that raises says no."""
        self.rules.add([filter_(function)])
        return function

    def run(
        self,
        into: "str | os.PathLike[str]",
        *,
        resume: bool = False,
        show: Callable[[Progress], None] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> CrawlResult:
        """Crawl into a directory and wait for the end. An interrupt (Ctrl-C, a notebook's stop button) stops it in good
        order, a second one at once; in a script SIGTERM does so, too.

        A directory that holds a crawl is an error (CrawlError), unless `resume`: then it goes on, or begins where there
        is none yet. `show` gets the numbers a few times a second, `say` what people should know.
        """
        stop = StopRequest()
        task = self._task(into, show or _ignore, say or _ignore, stop, resume=resume)
        if current_thread() is main_thread() and not _has_loop():
            return task()
        return _awaited(_in_thread(task), stop)

    def reparse(self, directory: "str | os.PathLike[str]", *, where: str = "true", processes: int = 1) -> Reparsed:
        """Run the handlers over the pages of a crawl again, from its archive: nothing is fetched. Their items take the
        place of those that earlier versions made of the same pages. `where` is a condition on `pages`, named `page`."""
        return reparse(Path(directory), self.rules, where=where, processes=processes)

    async def events(self, into: "str | os.PathLike[str]", *, resume: bool = False) -> AsyncIterator[Event]:
        """Crawl, and tell what happens. Whoever stops listening, or is cancelled, stops the crawl in good order and
        waits for that."""
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Event | None] = asyncio.Queue()
        stop = StopRequest()

        def tell(event: Event | None) -> None:
            loop.call_soon_threadsafe(told.put_nowait, event)

        future = _in_thread(self._task(into, tell, lambda text: tell(Notice(text)), stop, resume=resume))
        future.add_done_callback(lambda _: tell(None))
        try:
            while (event := await told.get()) is not None:
                yield event
            yield future.result()
        finally:
            stop.ask()
            await asyncio.wait([asyncio.ensure_future(asyncio.wrap_future(future))])

    def _task(
        self,
        into: "str | os.PathLike[str]",
        show: Callable[[Progress], None],
        say: Callable[[str], None],
        stop: StopRequest,
        *,
        resume: bool,
    ) -> Callable[[], CrawlResult]:
        directory = Path(into)

        def work() -> CrawlResult:
            result: RunResult
            if resume and (directory / JOB_FILE).exists():
                given = combined([(JOB_FILE, read_job(directory / JOB_FILE)), *self._layers])
                again = _refused_as_private(directory, given) if "allow_network" in self._layers[-1][1] else []
                result = resume_crawl(given, directory, show, say, stop, self.rules, serve_control, again=again)
            else:
                given = combined([*self._layers, (_CODE, {"handlers": [rule.name for rule in self.rules.parse]})])
                result = begin_crawl(given, directory, show, say, stop, self.rules, serve_control)
            return CrawlResult(directory, result)

        return work


def _refused_as_private(directory: Path, given: ResolvedOptions) -> list[Requeued]:
    from whimbrel.control.requeue import refused_as_private  # DuckDB: not for every crawl that goes on

    return refused_as_private(directory, given)


def _plain(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _ignore(_: Any) -> None:
    pass


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _awaited(future: "Future[CrawlResult]", stop: StopRequest) -> CrawlResult:
    """Each interrupt is passed on; what the crawl makes of the last one is the result."""
    while True:
        try:
            return future.result()
        except KeyboardInterrupt:
            if future.done():
                raise
            stop.ask()


def _in_thread(task: Callable[[], CrawlResult]) -> "Future[CrawlResult]":
    future: Future[CrawlResult] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:  # noqa: BLE001 - it belongs to who waits
            future.set_exception(error)

    Thread(target=run, name="whimbrel-crawl", daemon=True).start()
    return future
