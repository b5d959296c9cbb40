"""The dashboard beside a crawl, for as long as it runs: in a process of its own, so that the crawl never waits."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from whimbrel.control.listener import serve_control
from whimbrel.dashboard.library import require_library
from whimbrel.job.live_crawl import Attend, LiveCrawl


def attend_with(dashboard: str | None) -> Attend:
    """What attends to a crawl: the control interface and, if asked for, the dashboard. DashboardError when that is not
    installed: better now than when the crawl runs."""
    if dashboard is None:
        return serve_control
    require_library()

    @asynccontextmanager
    async def both(running: LiveCrawl) -> AsyncIterator[None]:
        async with serve_control(running):
            command = ["-m", "whimbrel", "dashboard", str(running.directory), "--at", dashboard]
            process = await asyncio.create_subprocess_exec(
                sys.executable, *command, stdout=asyncio.subprocess.PIPE, start_new_session=True
            )
            telling = asyncio.create_task(_tell(running, process))
            try:
                yield
            finally:
                telling.cancel()
                with suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()

    return both


async def _tell(running: LiveCrawl, process: asyncio.subprocess.Process) -> None:
    if process.stdout is not None:
        async for line in process.stdout:
            running.say(line.decode(errors="replace").rstrip())
