"""The control interface over HTTP: its endpoints."""

from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from whimbrel.control.address import Address
from whimbrel.control.answer import JSON, answer, error_answer
from whimbrel.control.api import ACTIONS, ControlError, Refused
from whimbrel.control.configuration import effective
from whimbrel.control.executor import ActionExecutor
from whimbrel.control.guard import OPEN_PATH, CallerGuard
from whimbrel.control.history import History
from whimbrel.control.metric import exposition
from whimbrel.control.openapi import HOST_ORDERS, description
from whimbrel.control.status import host_views, status, wiring_view
from whimbrel.job.live_crawl import LiveCrawl

MOST_BYTES: Final = 8_000_000
"""Of a request."""
_MOST_ROWS: Final = 10_000
_MOST_DIGITS: Final = 5
_MOST: Final = f"most is a number from 1 to {_MOST_ROWS}"
_CALLER: Final = "x-whimbrel-caller"
_CALLER_CHARACTERS: Final = 100


def application(running: LiveCrawl, history: History, address: Address) -> ASGIApp:
    """What a request goes through: the guard, then one of the routes."""
    house = Endpoints(running, history)
    routes = [
        Route(OPEN_PATH, house.description),
        Route("/metrics", house.metrics),
        Route("/v1/status", house.status),
        Route("/v1/wiring", house.wiring),
        Route("/v1/config", house.config),
        Route("/v1/history", house.history),
        Route("/v1/hosts", house.hosts),
        *(Route(f"/v1/actions/{name}", house.action, methods=["POST"], name=name) for name in ACTIONS),
    ]
    handlers: dict[Any, Any] = {HTTPException: _trouble, Exception: _failure}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return CallerGuard(app, address)


class Endpoints:
    def __init__(self, running: LiveCrawl, history: History) -> None:
        self._running = running
        self._history = history
        self._executor = ActionExecutor(running)

    async def description(self, _: Request) -> Response:
        return answer(description())

    async def metrics(self, _: Request) -> Response:
        text, kind = exposition(self._running)
        return Response(text, media_type=kind)

    async def status(self, _: Request) -> Response:
        return answer(status(self._running))

    async def wiring(self, _: Request) -> Response:
        return answer(wiring_view(self._running))

    async def config(self, _: Request) -> Response:
        return answer(effective(self._running))

    async def history(self, request: Request) -> Response:
        most = _most(request)
        return error_answer(422, _MOST) if most is None else answer(self._history.samples(most))

    async def hosts(self, request: Request) -> Response:
        most, order = _most(request), request.query_params.get("order", "queued")
        if most is None or order not in HOST_ORDERS:
            return error_answer(422, _MOST if most is None else f"order is one of {', '.join(HOST_ORDERS)}")
        found = self._running.up and host_views(self._running, request.query_params.get("search", ""), order, most)
        return answer(found or [])

    async def action(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return error_answer(415, f"send {JSON}")
        body = await _body(request)
        if body is None:
            return error_answer(413, f"at most {MOST_BYTES:,} bytes")
        try:
            action = msgspec.json.decode(body or b"{}", type=ACTIONS[request.url.path.rpartition("/")[2]])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return error_answer(422, str(error))
        try:
            return answer(await self._executor.carry_out(action, _caller(request)))
        except Refused as error:
            return error_answer(409, str(error))
        except ControlError as error:
            return error_answer(500, str(error))


def _most(request: Request) -> int | None:
    """How many are wanted; None when that is no such number."""
    text = request.query_params.get("most", "1000")
    found = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
    return found if 0 < found <= _MOST_ROWS else None


async def _body(request: Request) -> bytes | None:
    """None when it is too long."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _caller(request: Request) -> str:
    """Whom to name in the events: what the caller says of itself, and that it may not be true is its own affair."""
    said = request.headers.get(_CALLER, "")[:_CALLER_CHARACTERS]
    return said if said.isprintable() and said.strip() else "http"


async def _trouble(_: Request, error: Exception) -> Response:
    """404 and 405, in the form of all other errors."""
    if not isinstance(error, HTTPException):
        raise error
    found = error_answer(error.status_code, error.detail)
    found.headers.update(error.headers or {})
    return found


async def _failure(_: Request, error: Exception) -> Response:
    return error_answer(500, f"{type(error).__name__}: {error}")
