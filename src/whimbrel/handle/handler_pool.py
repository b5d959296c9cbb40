"""The user's handlers as a service: tasks in, results out, worker processes between."""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from whimbrel.error import WhimbrelError
from whimbrel.flow import Config, Needs, Provider
from whimbrel.handle.message import HandlerResult, HandlerTask, decode_result, encode_task
from whimbrel.handle.rule import HandlerRules
from whimbrel.worker import ForkServer, Pool, WorkerPool, WorkerReply

_LINKS_BYTES: Final = 64_000_000
"""More than the links of any page, as texts."""


class HandlerPoolLost(WhimbrelError):
    """No handler can run any more; the pages that wait for one are not to blame."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"handlers cannot run any more: {reason}")


class HandlerCode(Provider):
    """The user's rules, and the process that was forked with their code. It is made before the crawl begins, and given
    to the job ready-made."""

    fixed = "its processes run the code that was there when the crawl began"

    def __init__(self, rules: HandlerRules, fork_server: ForkServer) -> None:
        super().__init__()
        self.rules = rules
        self.fork_server = fork_server
        self.version = rules.version


class HandlerPoolConfig(Config, frozen=True):
    processes: int = 1
    """Workers that run handlers."""
    time_limit_s: float = 10.0
    """For all handlers of one page; a worker that needs longer is killed."""
    batch: int = 8
    """Pages that a worker is sent at once."""
    max_items_bytes: int = 64_000_000
    """Of memory, for the items and links that handlers make of one page: of small items about 100,000. A page of which
    they make more is an error, and has none."""


class HandlerPool(Provider):
    """The workers that run handlers. Results come in any order."""

    Config = HandlerPoolConfig
    code = Needs(HandlerCode)

    async def open(self) -> None:
        config: HandlerPoolConfig = self.config
        self._workers: Pool = WorkerPool(
            self.code.fork_server,
            config.processes,
            config.time_limit_s,
            config.batch,
            # Links come twice: once more where filters refuse them. Those of the page itself may come, too.
            max_reply_bytes=2 * config.max_items_bytes + _LINKS_BYTES,
        )
        self._workers.open()

    async def close(self) -> None:
        await self._workers.close()

    @property
    def rules(self) -> HandlerRules:
        return self.code.rules

    @property
    def version(self) -> str:
        """Of the handlers' code."""
        return self.code.version

    @property
    def capacity(self) -> int:
        return self._workers.capacity

    def submit(self, task: HandlerTask, done: Callable[[HandlerResult], None]) -> None:
        """`done` is called once, on the event loop, whatever becomes of the task. In a result that no worker gave,
        filters have failed on all links of the task."""
        limited = msgspec.structs.replace(task, max_items_bytes=self.config.max_items_bytes)
        request = encode_task(limited)
        self._workers.submit(request, partial(self._land, request, task, done))

    def _land(
        self, request: bytes, task: HandlerTask, done: Callable[[HandlerResult], None], reply: WorkerReply
    ) -> None:
        result = _result(task, reply)
        if result.error.startswith("MemoryError"):
            # Of this machine, perhaps, and not of the handler: another worker tries once more.
            self._workers.submit(request, partial(_pass_on, task, done))
        else:
            done(result)


def _pass_on(task: HandlerTask, done: Callable[[HandlerResult], None], reply: WorkerReply) -> None:
    done(_result(task, reply))


def _result(task: HandlerTask, reply: WorkerReply) -> HandlerResult:
    outcome, error = str(reply.outcome), reply.error
    if outcome == "ok":
        try:
            return decode_result(reply.body)
        except msgspec.DecodeError as broken:
            outcome, error = "died", f"the process that ran it replied with nonsense: {broken}"
    filter_error = error if task.links and not task.handle else ""
    return HandlerResult(error=error, outcome=outcome, filter_failed=list(task.links), filter_error=filter_error)
