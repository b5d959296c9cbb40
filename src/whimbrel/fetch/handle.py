"""One libcurl handle, and the exchange that it makes at the moment."""

import os
import socket
from collections.abc import Mapping
from typing import Any, Final

import pycurl

from whimbrel.clock import Clock
from whimbrel.fetch.api import Done, Exchange, Response, Traffic
from whimbrel.fetch.body import Collector
from whimbrel.fetch.cookie import drop_set_cookies
from whimbrel.fetch.credential import Credentials, redacted_head, redacted_lines
from whimbrel.fetch.curl_option import CurlConfig, constant_options, http_version
from whimbrel.fetch.head import ResponseHead, read_head, request_head
from whimbrel.fetch.network import Networks
from whimbrel.fetch.request_header import curl_lines, header_lines
from whimbrel.fetch.spill_space import SpillSpace
from whimbrel.fetch.trouble import Trouble, socket_shortage, trouble_of
from whimbrel.fetch.watchdog import Watchdog
from whimbrel.shortage import Shortage, shortage_of
from whimbrel.visit import Request

_TOO_LONG: Final = str(2**63)
"""A Content-Length from here on libcurl does not look at."""


class Handle:
    """Used for one exchange after the other: `aim`, a transfer, `exchange`. The options that never differ are set once.

    libcurl repeats a request by itself when a connection that was used before dies, or when an HTTP/2 server turns a
    stream away. `_ask` counts the requests of an exchange and stops the second; `_open_socket` stops the connection
    that would be made for it.
    """

    __slots__ = (
        *(
            "_address",
            "_clock",
            "_config",
            "_credentials",
            "_traffic",
            "_exact",
            "_fresh",
            "_http1",
            "_networks",
            "_own",
            "_plain",
            "_refused",
            "_repeated",
            "_request",
            "_secret",
            "_sent",
            "_shortage",
            "_watchdog",
        ),
        *("_began_s", "_started_s", "asked_s", "body", "curl", "done", "lines", "mark"),
    )

    def __init__(
        self,
        config: CurlConfig,
        networks: Networks,
        clock: Clock,
        space: SpillSpace,
        watchdog: Watchdog,
        credentials: Credentials | None = None,
    ) -> None:
        self._config = config
        self._networks = networks
        self._clock = clock
        self._watchdog = watchdog
        self._own = b""
        """The header lines of the request under way, as they are kept: without secrets."""
        self._plain = False
        """Nothing is set that the next request may not have, whomever it is for: the quick way for most of them."""
        self._secret: Mapping[str, str] | None = None
        """The credentials that are set for a plain request; None after any other."""
        self.use(Credentials(config.headers) if credentials is None else credentials)
        self._exact = bool(config.cookies or config.proxy)
        """What is sent is not known beforehand: libcurl must tell, which costs time."""
        self.lines: list[bytes] = []
        """Header lines as they come, the empty one and interim heads included."""
        self.body = Collector(config.max_bytes, config.spill_bytes, config.spill_directory, space)
        self.curl = pycurl.Curl()
        self._fresh = False
        self._http1 = False
        for option, value in constant_options(config).items():
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)
        self.curl.setopt(pycurl.WRITEFUNCTION, self.body.write)
        self.curl.setopt(pycurl.PREREQFUNCTION, self._ask)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        if self._exact:
            self.curl.setopt(pycurl.DEBUGFUNCTION, self._see)
            self.curl.setopt(pycurl.VERBOSE, 1)

    def use(self, credentials: Credentials) -> None:
        """Send these headers from the next request on."""
        self._credentials = credentials
        self._plain, self._secret = False, None

    def aim(
        self,
        request: Request,
        address: str,
        done: Done,
        traffic: Traffic | None = None,
        *,
        fresh: bool = False,
        http1: bool = False,
    ) -> None:
        """Prepare for a request."""
        curl, url = self.curl, request.url
        plain = request.method == "GET" and not request.headers and not request.body
        if not (plain and self._plain):
            self._set_request(request, plain=plain)
        if http1 is not self._http1:
            self._http1 = http1
            curl.setopt(pycurl.HTTP_VERSION, http_version(self._config, http1=http1))
        if fresh is not self._fresh:
            self._fresh = fresh
            curl.setopt(pycurl.FRESH_CONNECT, int(fresh))
        curl.setopt(pycurl.URL, url.text)
        # libcurl would write %2f as %2F, which is another URL to some servers. To a proxy http is asked for in full.
        in_full = self._config.proxy and url.scheme == "http"
        curl.setopt(pycurl.REQUEST_TARGET, url.text if in_full else url.target)
        if not self._config.proxy:
            # Whatever host and port the URL has: go to this address, at the same port.
            curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        self._request = request
        self._address = address
        self.done = done
        self._traffic = traffic
        self.asked_s = 0.0
        self.mark: tuple[float, int, float, int] | None = None
        self._refused = Trouble.NONE
        self._shortage: Shortage | None = None
        self._repeated = False
        self._sent = b""
        self._started_s = self._clock.wall_s()
        self._began_s = self._clock.now_s()

    def _set_request(self, request: Request, *, plain: bool) -> None:
        """Method, headers and body of one request, or back to a plain GET."""
        secret = self._credentials.of(request.url)
        if plain and secret is self._secret:
            return
        curl = self.curl
        # Should anything fail on the way, all is set anew for the next one.
        self._plain, self._secret = False, None
        lines = header_lines(self._config.user_agent, {**self._credentials.ordinary, **secret}, request)
        self._own = _joined(redacted_lines(lines))
        curl.setopt(pycurl.HTTPHEADER, curl_lines(lines))
        if self._config.proxy:
            curl.setopt(pycurl.PROXYHEADER, [f"{name}: {value}" for name, value in self._credentials.proxy.items()])
        curl.unsetopt(pycurl.CUSTOMREQUEST)
        curl.setopt(pycurl.NOBODY, 0)
        curl.setopt(pycurl.HTTPGET, 1)
        if request.method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        elif request.body or request.method == "POST":
            curl.setopt(pycurl.POSTFIELDS, request.body)
        if not plain:
            curl.setopt(pycurl.CUSTOMREQUEST, request.method)
        self._plain = plain and not self._credentials
        self._secret = secret if plain else None

    def abandoned(self, shortage: Shortage | None = None) -> Exchange:
        """It is not carried on: nobody waits any more, or this machine cannot."""
        return self.exchange(0, "", Trouble.ABANDONED, shortage)

    def exchange(
        self, code: int, message: str, trouble: Trouble = Trouble.NONE, shortage: Shortage | None = None
    ) -> Exchange:
        """What came of it. `trouble` when we ended it ourselves; else `code` and `message` are libcurl's."""
        response = None
        if not trouble:
            if code == 0 or self.body.truncated:
                response, trouble = self._response()
            else:
                trouble, shortage = self._trouble(code, message)
        asked = self.asked_s > 0
        exchange = Exchange(
            response,
            trouble,
            asked or response is not None,
            self._address,
            self._request_head() if asked else b"",
            self._started_s,
            self._clock.now_s() - self._began_s,
            shortage,
        )
        if response is None:
            self.body.clear()
        if self._config.cookies:
            drop_set_cookies(self.curl, self.lines)
        self.lines.clear()
        return exchange

    def close(self) -> None:
        self.body.clear()
        self.curl.close()

    def _response(self) -> tuple[Response | None, Trouble]:
        lines, body = self.lines, self.body
        if sum(map(len, lines)) > self._config.max_header_bytes:
            return None, Trouble.HEADER_TOO_LARGE
        found: ResponseHead | None = read_head(lines)
        if found is None:
            return None, Trouble.BAD_HTTP
        status, head, version, headers = found
        if _is_short(status, headers, self._request):
            return None, Trouble.CUT
        truncated = "length" if body.truncated else ""
        return Response(status, head, version, headers, body.finish(), truncated), Trouble.NONE

    def _trouble(self, code: int, message: str) -> tuple[Trouble, Shortage | None]:
        """Whose fault it is. What this machine lacks comes first: it explains all that follows."""
        shortage = self.body.shortage or self._shortage
        if shortage is not None:
            return Trouble.ABANDONED, shortage
        if self._repeated:
            return Trouble.RESET, None
        if self._refused:
            return self._refused, None
        if sum(map(len, self.lines)) > self._config.max_header_bytes:
            return Trouble.HEADER_TOO_LARGE, None
        has_head = b"\r\n" in self.lines
        used = self.curl.getinfo(pycurl.NUM_CONNECTS) == 0
        found = trouble_of(code, message, self.curl.getinfo(pycurl.OS_ERRNO), has_head=has_head, used=used)
        return (Trouble.ABANDONED, found) if isinstance(found, Shortage) else (found, None)

    def _request_head(self) -> bytes:
        if not self._exact:
            return request_head(self._request, self._own)
        first, _, rest = self._sent.removesuffix(b"\r\n").partition(b"\r\n")
        return redacted_head(first.replace(b" HTTP/2", b" HTTP/1.1") + b"\r\n" + rest)

    def _ask(self, *_connection: Any) -> int:
        """libcurl is about to send the request; the connection stands, TLS and all."""
        if self.asked_s:
            self._repeated = True
            return int(pycurl.PREREQFUNC_ABORT)
        self.asked_s = self._clock.now_s() or 1e-9
        if self._traffic is not None:
            self._traffic.sent(self._request.url, self._address)
        return int(pycurl.PREREQFUNC_OK)

    def _open_socket(self, _purpose: int, address: Any) -> "_Opened | int":
        """The last look before a connection: the address that libcurl really means to use."""
        if self.asked_s:
            self._repeated = True
            return int(pycurl.SOCKET_BAD)
        if not self._config.proxy and not self._networks.allows_for(self._request.url, address.addr[0]):
            self._refused = Trouble.PRIVATE_ADDRESS
            return int(pycurl.SOCKET_BAD)
        try:
            made = socket.socket(address.family, address.socktype, address.protocol)
        except OSError as error:
            # Our own lack of descriptors is not the server's refusal.
            self._shortage = socket_shortage(error)
            self._refused = Trouble.UNREACHABLE
            return int(pycurl.SOCKET_BAD)
        opened = _Opened(made.detach())
        try:
            # pycurl makes a copy, and if it cannot, libcurl takes that for a refusal.
            os.close(os.dup(opened.fileno()))
        except OSError as error:
            self._shortage = shortage_of(error)
            return int(pycurl.SOCKET_BAD)
        self._watchdog.opened(opened.fileno())
        return opened

    def _see(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            # With a tunnel the first is the request to the proxy; the last is the one that counts.
            self._sent = data


def _is_short(status: int, headers: dict[str, str], request: Request) -> bool:
    """Whether more bytes were promised than anybody can send. libcurl takes such a number for none at all."""
    length = headers.get("content-length", "").lstrip("0")
    if not (length.isascii() and length.isdigit()) or (len(length), length) < (len(_TOO_LONG), _TOO_LONG):
        return False
    return "transfer-encoding" not in headers and request.method != "HEAD" and status not in (204, 304)


def _joined(lines: list[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode()


class _Opened:
    """A socket for pycurl, which asks for its number and makes a copy of it. A `socket` would warn that it was not
    closed."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)
