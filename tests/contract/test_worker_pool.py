"""What every worker pool promises (`whimbrel.worker.api`), on both event loops."""

import asyncio
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.contract.worker_requests import make_nothing, make_serve
from whimbrel.worker import ForkServer, WorkerPool, WorkerReply, fork_server

MEMORY_BYTES = 300_000_000
ENOUGH_S = 30.0
Body = Callable[[WorkerPool], Awaitable[None]]


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def server() -> Iterator[ForkServer]:
    with fork_server(make_serve, MEMORY_BYTES) as found:
        yield found


async def with_pool(server: ForkServer, body: Body, **options: Any) -> None:
    pool = WorkerPool(server, **{"time_limit_s": ENOUGH_S, **options})
    pool.open()
    try:
        async with asyncio.timeout(2 * ENOUGH_S):
            await body(pool)
    finally:
        await pool.close()


class Asked:
    """Replies, in the order of their requests."""

    def __init__(self, pool: WorkerPool, *requests: bytes) -> None:
        self.replies: list[list[WorkerReply]] = [[] for _ in requests]
        self._all = asyncio.Event()
        for number, request in enumerate(requests):
            pool.submit(request, partial(self._take, number))

    def _take(self, number: int, reply: WorkerReply) -> None:
        self.replies[number].append(reply)
        if all(self.replies):
            self._all.set()

    async def done(self) -> list[WorkerReply]:
        await self._all.wait()
        assert [len(found) for found in self.replies] == [1] * len(self.replies)
        return [found[0] for found in self.replies]


async def ask(pool: WorkerPool, *requests: bytes) -> list[WorkerReply]:
    return await Asked(pool, *requests).done()


async def number(pool: WorkerPool, request: bytes) -> int:
    (reply,) = await ask(pool, request)
    assert reply.outcome == "ok", reply
    return int(reply.body)


@contextmanager
def watched(*processes: int) -> Iterator[list[int]]:
    """Descriptors of processes."""
    found = [os.pidfd_open(process) for process in processes]
    try:
        yield found
    finally:
        for one in found:
            os.close(one)


def have_ended(descriptors: list[int], within_s: float = ENOUGH_S) -> bool:
    """Waits for that."""
    events = select.poll()
    for descriptor in descriptors:
        events.register(descriptor, select.POLLIN)
    left = set(descriptors)
    until_s = time.monotonic() + within_s
    while left and time.monotonic() < until_s:
        for descriptor, _ in events.poll(100):
            events.unregister(descriptor)
            left.discard(descriptor)
    return not left


def descriptors() -> set[str]:
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(f"{path.name} {path.readlink()}")
    return {one for one in found if "/proc/" not in one}


def children() -> set[str]:
    return set(Path("/proc/thread-self/children").read_text().split())


@pytest.mark.parametrize("processes", [1, 3])
def test_each_request_gets_exactly_one_reply_also_beside_deadly_ones(
    run: Any, server: ForkServer, processes: int
) -> None:
    async def body(pool: WorkerPool) -> None:
        requests = [b"exit" if one % 50 == 7 else b"echo %d" % one for one in range(500)]
        for one, (request, reply) in enumerate(zip(requests, await ask(pool, *requests), strict=True)):
            if request == b"exit":
                assert reply.outcome == "died"
                assert reply.body == b""
                assert "died" in reply.error
            else:
                assert reply == WorkerReply("ok", b"%d" % one)

    run(with_pool(server, body, processes=processes))


@pytest.mark.parametrize(
    "deadly", [b"exit", b"kill", b"raise", b"eat", b"close", b"garbage \0", b"garbage xxxxxxxxxxxxxxxxxx"]
)
def test_a_request_that_ends_its_worker_costs_only_itself(run: Any, server: ForkServer, deadly: bytes) -> None:
    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, b"echo 1", b"echo 2", deadly, b"echo 3", deadly, deadly, b"echo 4")
        assert [one.outcome for one in replies] == ["ok", "ok", "died", "ok", "died", "died", "ok"]
        assert [one.body for one in replies if one.outcome == "ok"] == [b"1", b"2", b"3", b"4"]

    run(with_pool(server, body))


@pytest.mark.parametrize("endless", [b"pause", b"stop"])
def test_a_request_that_takes_too_long_is_a_timeout(run: Any, server: ForkServer, endless: bytes) -> None:
    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, b"echo 1", endless, b"echo 2")
        assert [one.outcome for one in replies] == ["ok", "timeout", "ok"]
        assert replies[1].error == "not done within 0.5 s"

    run(with_pool(server, body, time_limit_s=0.5))


def test_the_time_limit_is_for_one_request_and_not_for_a_batch(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        began_s = time.monotonic()
        replies = await ask(pool, *[b"pause", b"echo"] * 3)
        assert [one.outcome for one in replies] == ["timeout", "ok"] * 3
        assert time.monotonic() - began_s >= 0.6

    run(with_pool(server, body, time_limit_s=0.2))


def test_a_loop_that_is_held_up_takes_no_reply_for_late(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        await ask(pool, b"echo")
        asked = Asked(pool, b"echo 1")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        until_s = time.monotonic() + 1.0
        while time.monotonic() < until_s:
            pass
        assert (await asked.done())[0].outcome == "ok"

    run(with_pool(server, body, time_limit_s=0.5))


def test_a_worker_that_has_grown_or_says_so_leaves_and_no_reply_is_lost(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, *[b"keep 100000000"] * 6)
        assert {one.outcome for one in replies} == {"ok"}
        assert len({one.body for one in replies}) > 1
        replies = await ask(pool, *[b"last"] * 4)
        assert len({one.body for one in replies}) == 4

    run(with_pool(server, body))


def test_a_worker_of_a_program_that_is_large_itself_serves_more_than_one_request(run: Any) -> None:
    ballast = bytearray(b"x" * MEMORY_BYTES)

    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, *[b"keep 1000000"] * 20)
        assert len({one.body for one in replies}) == 1

    with fork_server(make_serve, MEMORY_BYTES) as server:
        run(with_pool(server, body))
    assert len(ballast) == MEMORY_BYTES


def test_large_requests_and_replies_pass(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        large = os.urandom(1_000_003) * 60
        for reply in await ask(pool, b"echo " + large, b"echo 1", b"echo " + large):
            assert reply.body in (large, b"1")
        assert (await ask(pool, b"large 0"))[0] == WorkerReply("ok", b"")

    run(with_pool(server, body))


def test_a_reply_or_a_request_that_is_too_large_costs_only_itself(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, b"large 1000", b"large 1001", b"echo " + bytes(MEMORY_BYTES), b"large 10")
        assert [one.outcome for one in replies] == ["ok", "died", "died", "ok"]

    run(with_pool(server, body, max_reply_bytes=1000))


def test_a_child_that_goes_on_with_its_parent_s_work_makes_no_second_reply(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        worker = int((await ask(pool, b"own"))[0].body.split()[0])
        for _ in range(5):
            replies = await ask(pool, b"return_twice", b"echo 1", b"return_twice", b"echo 2")
            assert [one.body for one in replies] == [b"%d" % worker, b"1", b"%d" % worker, b"2"]

    run(with_pool(server, body))


def test_an_idle_worker_that_is_killed_is_replaced(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        first = int((await ask(pool, b"own"))[0].body.split()[0])
        os.kill(first, signal.SIGKILL)
        with suppress(OSError), watched(first) as processes:
            assert have_ended(processes)
        reply = (await ask(pool, b"own"))[0]
        # What was sent to a worker that was dead already may be blamed for it.
        assert reply.outcome == "died" or int(reply.body.split()[0]) != first
        assert (await ask(pool, b"echo 1"))[0].body == b"1"

    run(with_pool(server, body))


def test_a_fork_server_that_is_killed_loses_all_requests_and_blames_none(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        parent = int((await ask(pool, b"own"))[0].body.split()[1])
        asked = Asked(pool, *[b"pause"] * 20)
        await asyncio.sleep(0)
        os.kill(parent, signal.SIGKILL)
        replies = await asked.done()
        assert {one.outcome for one in replies} == {"lost"}
        assert "forks workers has died" in replies[0].error
        assert [one.outcome for one in await ask(pool, b"echo 1", b"echo 2")] == ["lost", "lost"]

    run(with_pool(server, body, processes=2))


def test_a_fork_server_that_does_not_answer_is_given_up_and_killed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by its name alone, which the function of that name has, too.
    module = import_module("whimbrel.worker.fork_server")
    monkeypatch.setattr(module, "_ANSWER_S", 0.5)
    monkeypatch.setattr(module, "_END_S", 0.5)
    before, found = descriptors(), children()

    async def body(pool: WorkerPool) -> None:
        parent = int((await ask(pool, b"own"))[0].body.split()[1])
        os.kill(parent, signal.SIGSTOP)
        assert [one.outcome for one in await ask(pool, b"exit", b"echo")] == ["lost", "lost"]

    with fork_server(make_serve, MEMORY_BYTES) as server:
        run(with_pool(server, body))
    assert children() == found
    assert descriptors() == before


def test_workers_that_die_as_soon_as_they_begin_are_given_up(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.worker.pool._SPAWN_AGAIN_S", 0.001)

    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, b"echo 1", b"echo 2")
        assert [one.outcome for one in replies] == ["lost", "lost"]
        assert "die before they are of use" in replies[0].error

    with fork_server(make_nothing, MEMORY_BYTES) as server:
        run(with_pool(server, body, processes=2))


def test_without_descriptors_for_a_moment_the_requests_wait(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        await ask(pool, b"echo")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            asked = Asked(pool, b"exit", b"echo 1")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await asked.done()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert [one.outcome for one in await asked.done()] == ["died", "ok"]

    run(with_pool(server, body))


def test_close_loses_what_is_outstanding_and_leaves_nothing(run: Any) -> None:
    run(asyncio.sleep(0))  # What a loop leaves open for the next one.
    before, found = descriptors(), children()
    asked: list[Asked] = []
    seen: list[int] = []

    async def body(pool: WorkerPool) -> None:
        replies = await ask(pool, *[b"own"] * 100)
        seen.extend({int(one) for reply in replies for one in reply.body.split()})
        asked.append(Asked(pool, *[b"pause"] * 50, *[b"echo " + bytes(1_000_000)] * 20))
        await asyncio.sleep(0)

    with fork_server(make_serve, MEMORY_BYTES) as server:
        run(with_pool(server, body, processes=3))
    assert [len(one) for one in asked[0].replies] == [1] * 70
    assert {one[0].outcome for one in asked[0].replies} == {"lost"}
    assert len(seen) >= 2
    assert not [one for one in seen if Path(f"/proc/{one}").exists()]
    assert children() == found
    assert descriptors() == before


def test_a_pool_that_is_closed_as_soon_as_it_is_opened_leaves_nothing(run: Any) -> None:
    run(asyncio.sleep(0))
    before, found = descriptors(), children()

    async def nothing(_: WorkerPool) -> None:
        await asyncio.sleep(0)

    with fork_server(make_serve, MEMORY_BYTES) as server:
        for _ in range(5):
            run(with_pool(server, nothing, processes=3))
    assert descriptors() == before
    assert children() == found


def test_what_is_submitted_after_close_is_lost(run: Any, server: ForkServer) -> None:
    async def main() -> None:
        pool = WorkerPool(server)
        pool.open()
        await pool.close()
        assert [one.outcome for one in await ask(pool, b"echo 1")] == ["lost"]

    run(main())


def test_two_pools_share_a_fork_server(run: Any, server: ForkServer) -> None:
    async def body(first: WorkerPool) -> None:
        async def inner(second: WorkerPool) -> None:
            for one in await asyncio.gather(ask(first, *[b"echo 1", b"exit"] * 20), ask(second, *[b"echo 1"] * 40)):
                assert {reply.outcome for reply in one if reply.body} == {"ok"}

        await with_pool(server, inner, processes=2)
        assert (await ask(first, b"echo 1"))[0].outcome == "ok"

    run(with_pool(server, body, processes=2))


def test_a_fork_server_ends_while_a_later_one_lives(run: Any) -> None:
    """The later one has copies of all descriptors of the earlier one's."""
    first = fork_server(make_serve, MEMORY_BYTES)
    server = first.__enter__()
    with fork_server(make_serve, MEMORY_BYTES) as later:
        began_s = time.monotonic()

        async def body(pool: WorkerPool) -> None:
            assert (await ask(pool, b"echo 1"))[0].outcome == "ok"

        run(with_pool(server, body))
        first.__exit__(None, None, None)
        assert time.monotonic() - began_s < 9.0
        run(with_pool(later, body))


def test_processes_that_a_request_started_end_with_its_worker(run: Any) -> None:
    async def body(pool: WorkerPool) -> None:
        with watched(await number(pool, b"child")) as started:
            await ask(pool, b"exit")
            assert await asyncio.to_thread(have_ended, started)
        daemons.append(os.pidfd_open(await number(pool, b"daemon")))
        began_s = time.monotonic()
        assert [one.outcome for one in await ask(pool, b"deafen", b"exit", b"echo")] == ["ok", "died", "ok"]
        assert time.monotonic() - began_s < ENOUGH_S / 2

    daemons: list[int] = []
    with fork_server(make_serve, MEMORY_BYTES) as server:
        run(with_pool(server, body))
    assert have_ended(daemons)
    os.close(daemons[0])


def test_signals_that_mean_the_program_do_not_end_its_workers(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        before = (await ask(pool, b"own"))[0].body
        for process in map(int, before.split()):
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(process, one)
        assert (await ask(pool, b"own"))[0].body == before

    run(with_pool(server, body))


def test_a_callback_that_raises_costs_no_other_request(run: Any, server: ForkServer) -> None:
    async def body(pool: WorkerPool) -> None:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

        def broken(_: WorkerReply) -> None:
            raise ZeroDivisionError

        asked = Asked(pool, b"echo 1")
        pool.submit(b"echo", broken)
        assert [one.outcome for one in await asked.done() + await ask(pool, b"echo")] == ["ok", "ok"]
        assert [type(one["exception"]) for one in told] == [ZeroDivisionError]

    run(with_pool(server, body))


PROGRAM = """
import asyncio, sys
from tests.contract.worker_requests import make_serve
from whimbrel.worker import WorkerPool, fork_server

async def main(server, later):
    pool = WorkerPool(server)
    pool.open()
    pool.submit(b"own", lambda reply: print(reply.body.decode(), flush=True))
    pool.submit(b"pause", print)
    await asyncio.Event().wait()

with fork_server(make_serve, 100_000_000) as server, fork_server(make_serve, 100_000_000) as later:
    asyncio.run(main(server, later))
"""


def test_a_program_that_is_killed_leaves_no_process() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        with watched(*map(int, program.stdout.readline().split())) as processes:
            program.kill()
            assert have_ended(processes)
