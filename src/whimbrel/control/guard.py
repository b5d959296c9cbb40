"""Who may call the control interface."""

import hmac
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from whimbrel.control.address import Address
from whimbrel.control.answer import error_answer

OPEN_PATH: Final = "/openapi.json"
"""Needs no token."""


class CallerGuard:
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
            return error_answer(403, "call this server by its own address")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != self._origin:
            return error_answer(403, "not from another origin")
        if path == OPEN_PATH:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode("utf-8", "replace")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token.encode()):
            found = error_answer(401, "a token is needed; it stands in control.json in the crawl's directory")
            found.headers["www-authenticate"] = "Bearer"
            return found
        return None

    def _names(self) -> tuple[str, str]:
        return self._netloc, f"localhost:{self._netloc.rpartition(':')[2]}"
