"""Serves the dashboard of one crawl directory."""

import asyncio
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from whimbrel.dashboard.feed import MomentFeed
from whimbrel.dashboard.guard import Guard
from whimbrel.dashboard.library import DashboardError, missing
from whimbrel.dashboard.source import CrawlSource


def serve(directory: Path, host: str, port: int, said: Callable[[str], None]) -> None:
    """Until it is interrupted. `said` gets the address to open, with the token."""
    try:
        from nicegui import app, ui

        from whimbrel.dashboard.page import Frame
    except ModuleNotFoundError as error:
        raise missing(error) from error
    port = port or _free_port(host)
    token = secrets.token_urlsafe(24)
    feed = MomentFeed(CrawlSource(directory))
    running: set[asyncio.Task[None]] = set()

    def start() -> None:
        running.add(asyncio.create_task(feed.run()))
        running.add(asyncio.create_task(_announce(host, port, token, said)))

    @ui.page("/", title=f"Whimbrel: {directory.resolve().name}")
    def index() -> None:
        Frame(feed)

    app.add_middleware(Guard, token=token, port=port, host=host)
    app.on_startup(start)
    app.on_connect(feed.arrived)
    app.on_disconnect(feed.left)
    ui.run(
        host=host,
        port=port,
        show=False,
        reload=False,
        show_welcome_message=False,
        dark=None,
        favicon="🐦",
        uvicorn_logging_level="error",
    )


async def _announce(host: str, port: int, token: str, said: Callable[[str], None]) -> None:
    """As soon as somebody would be let in."""
    while True:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        said(f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}")
        return


def _free_port(host: str) -> int:
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
            found.bind((host, 0))
            return int(found.getsockname()[1])
    except OSError as error:
        raise DashboardError(f"cannot listen at {host}: {error.strerror}") from error
