"""The control interface over HTTP: authentication, endpoints, answers."""

import hmac
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from whimbrel.control.address import Address
from whimbrel.control.api import ACTIONS, ControlError, Refused
from whimbrel.control.configuration import effective
from whimbrel.control.executor import ActionExecutor
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
_JSON: Final = "application/json"
_OPEN: Final = "/openapi.json"
"""Needs no token."""
_CALLER: Final = "x-whimbrel-caller"
_CALLER_CHARACTERS: Final = 100


def application(running: LiveCrawl, history: History, address: Address) -> ASGIApp:
    """What a request goes through: the guard, then one of the routes."""
    house = Endpoints(running, history)
    routes = [
        Route(_OPEN, house.description),
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
    return _Guard(app, address)


class Endpoints:
    def __init__(self, running: LiveCrawl, history: History) -> None:
        self._running = running
        self._history = history
        self._executor = ActionExecutor(running)

    async def description(self, _: Request) -> Response:
        return _answer(description())

    async def metrics(self, _: Request) -> Response:
        text, kind = exposition(self._running)
        return Response(text, media_type=kind)

    async def status(self, _: Request) -> Response:
        return _answer(status(self._running))

    async def wiring(self, _: Request) -> Response:
        return _answer(wiring_view(self._running))

    async def config(self, _: Request) -> Response:
        return _answer(effective(self._running))

    async def history(self, request: Request) -> Response:
        most = _most(request)
        return _error(422, _MOST) if most is None else _answer(self._history.samples(most))

    async def hosts(self, request: Request) -> Response:
        most, order = _most(request), request.query_params.get("order", "queued")
        if most is None or order not in HOST_ORDERS:
            return _error(422, _MOST if most is None else f"order is one of {', '.join(HOST_ORDERS)}")
        found = self._running.up and host_views(self._running, request.query_params.get("search", ""), order, most)
        return _answer(found or [])

    async def action(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            return _error(415, f"send {_JSON}")
        body = await _body(request)
        if body is None:
            return _error(413, f"at most {MOST_BYTES:,} bytes")
        try:
            action = msgspec.json.decode(body or b"{}", type=ACTIONS[request.url.path.rpartition("/")[2]])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _error(422, str(error))
        try:
            return _answer(await self._executor.carry_out(action, _caller(request)))
        except Refused as error:
            return _error(409, str(error))
        except ControlError as error:
            return _error(500, str(error))


class _Guard:
    """Lets in who has the token, called us by our own address, and does not come from another site's page."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._app = app
        self._token = address.token
        self._netloc = urlsplit(address.url).netloc.lower()
        self._origin = address.url.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> Response | None:
        # A name that leads here by another's DNS is not our address: a page could call us by it.
        if headers.get("host", "").lower() not in self._names():
            return _error(403, "call this server by its own address")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != self._origin:
            return _error(403, "not from another origin")
        if path == _OPEN:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode("utf-8", "replace")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token.encode()):
            found = _error(401, "a token is needed; it stands in control.json in the crawl's directory")
            found.headers["www-authenticate"] = "Bearer"
            return found
        return None

    def _names(self) -> tuple[str, str]:
        return self._netloc, f"localhost:{self._netloc.rpartition(':')[2]}"


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


def _answer(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type=_JSON)


def _error(code: int, text: str) -> Response:
    return Response(msgspec.json.encode({"error": text}), code, media_type=_JSON)


async def _trouble(_: Request, error: Exception) -> Response:
    """404 and 405, in the form of all other errors."""
    if not isinstance(error, HTTPException):
        raise error
    found = _error(error.status_code, error.detail)
    found.headers.update(error.headers or {})
    return found


async def _failure(_: Request, error: Exception) -> Response:
    return _error(500, f"{type(error).__name__}: {error}")
