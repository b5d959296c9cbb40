"""Who may see the dashboard: who has the token, calls it by its own address, and comes from no other site's page."""

import hmac
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_COOKIE: Final = "whimbrel"


class Guard:
    """The token comes once, in the address that `whimbrel dashboard` prints, and is a cookie from then on: scripts
    cannot read it, and no other site's page can make the browser send it."""

    def __init__(self, app: ASGIApp, token: str, port: int, host: str) -> None:
        self._app = app
        self._token = token
        self._port = port
        self._hosts = {f"{name}:{port}" for name in (host, "127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 4403})

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("call this server by its own address", 403)
        origin = headers.get("origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self._hosts:
            return PlainTextResponse("not from another origin", 403)
        if self._is_ours(_cookie(headers)):
            return None
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if scope["type"] == "http" and self._is_ours(query.pop("token", [""])[-1]):
            rest = urlencode(query, doseq=True)
            answer = RedirectResponse(f"{scope['path']}?{rest}" if rest else scope["path"], 303)
            # Without the token, so that it stays neither in the history nor in what the browser tells others.
            answer.set_cookie(f"{_COOKIE}-{self._port}", self._token, httponly=True, samesite="strict")
            return answer
        return PlainTextResponse("the address that `whimbrel dashboard` printed has the token you need", 401)

    def _is_ours(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())


def _cookie(headers: Headers) -> str:
    jar = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    host = headers.get("host", "")
    found = jar.get(f"{_COOKIE}-{host.rpartition(':')[2]}")
    return "" if found is None else found.value
