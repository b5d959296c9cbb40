"""The transport on libcurl's multi interface, driven by the event loop.

All handles stay on the loop's thread. Each visit is pinned to the address that was resolved for it (CONNECT_TO), and
the socket callback looks at the real peer before it connects. Redirects are not followed, the environment's proxies
are not used. Connections are not reused: libcurl silently repeats a request when a reused one dies, and nothing may be
asked for behind the frontier's back.
"""

import asyncio
import ipaddress
import socket
from io import BytesIO
from typing import Any, Final

import pycurl

from whimbrel.fetch.api import Resolver, Response
from whimbrel.flow import Config, Needs, Provider
from whimbrel.url import Url

_LOOPBACK: Final = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_MAX_HEADER_BYTES: Final = 256 * 1024

TROUBLES: Final = {
    pycurl.E_COULDNT_CONNECT: "refused",
    pycurl.E_COULDNT_RESOLVE_HOST: "dns",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_GOT_NOTHING: "closed",
    pycurl.E_RECV_ERROR: "reset",
    pycurl.E_SEND_ERROR: "reset",
    pycurl.E_PARTIAL_FILE: "cut",
    pycurl.E_FTP_WEIRD_SERVER_REPLY: "bad-http",
    pycurl.E_UNSUPPORTED_PROTOCOL: "bad-http",
    pycurl.E_SSL_CONNECT_ERROR: "tls",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls",
    pycurl.E_ABORTED_BY_CALLBACK: "private-address",
    100: "header-too-large",  # CURLE_TOO_LARGE, which pycurl has no name for
}
"""libcurl's errors as reasons; what is not here is `error-NUMBER`."""


def trouble_of(code: int, message: str) -> str:
    """One word for an error. libcurl has one number for a reset and for chunks that make no sense."""
    if code == pycurl.E_RECV_ERROR and "reset" not in message.lower():
        return "bad-http"
    return TROUBLES.get(code, f"error-{code}")


class CurlConfig(Config, frozen=True):
    user_agent: str = "whimbrel"
    allow_networks: tuple[str, ...] = ()
    """Networks that may be connected to. For now only loopback ones: a host outside is fetched from only once its
    robots.txt is honoured."""
    ca: str = ""
    """A file of trusted certificates instead of the system's."""
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    max_bytes: int = 20_000_000


class CurlTransport(Provider):
    Config = CurlConfig
    resolver = Needs(Resolver)

    def __init__(self, config: CurlConfig) -> None:
        super().__init__(config)
        self._networks = [ipaddress.ip_network(network) for network in config.allow_networks]
        outside = [str(net) for net in self._networks if not any(_inside(net, loop) for loop in _LOOPBACK)]
        if outside:
            raise ValueError(f"{outside[0]} is not on loopback; other networks wait for robots.txt support")

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: dict[Any, asyncio.Future[tuple[int, str]]] = {}
        self._watched: set[int] = set()

    async def close(self) -> None:
        for handle, waiter in self._waiting.items():
            self._multi.remove_handle(handle)
            waiter.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._multi.close()
        for number in self._watched:
            self._loop.remove_reader(number)
            self._loop.remove_writer(number)

    async def fetch(self, url: Url) -> Response | str:
        addresses = await self.resolver.resolve(url.host)
        if not addresses:
            return "dns"
        trouble = ""
        for address in addresses:
            if not self._allowed(address):
                return "private-address" if not ipaddress.ip_address(address).is_global else "not-allowed"
            answer, connected = await self._fetch_from(url, address)
            if isinstance(answer, Response) or connected:
                return answer
            trouble = answer
        return trouble

    def _allowed(self, address: str) -> bool:
        found = ipaddress.ip_address(address)
        return any(found in network for network in self._networks)

    async def _fetch_from(self, url: Url, address: str) -> tuple[Response | str, bool]:
        """The answer of one address, and whether it was connected to at all: another is tried only if not."""
        answer = _Answer(self.config.max_bytes)
        handle = self._handle(url, address, answer)
        waiter = self._waiting[handle] = self._loop.create_future()
        self._multi.add_handle(handle)
        try:
            code, message = await waiter
            connected = handle.getinfo(pycurl.CONNECT_TIME) > 0
        finally:
            self._waiting.pop(handle, None)
            self._multi.remove_handle(handle)
            handle.close()
        if code == pycurl.E_OK or answer.truncated:
            return answer.response(address), True
        return "header-too-large" if answer.too_many_headers else trouble_of(code, message), connected

    def _handle(self, url: Url, address: str, answer: "_Answer") -> Any:
        handle = pycurl.Curl()
        config: CurlConfig = self.config
        pinned = f"[{address}]" if ":" in address else address
        options = {
            pycurl.URL: url.text,
            pycurl.CONNECT_TO: [f"{url.host}:{url.port}:{pinned}:{url.port}"],
            pycurl.FOLLOWLOCATION: 0,
            pycurl.PROXY: "",
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.FRESH_CONNECT: 1,
            pycurl.FORBID_REUSE: 1,
            pycurl.NOSIGNAL: 1,
            pycurl.PATH_AS_IS: 1,
            pycurl.USERAGENT: config.user_agent,
            pycurl.HTTPHEADER: ["Accept: */*"],
            pycurl.CONNECTTIMEOUT_MS: int(config.connect_timeout_s * 1000),
            pycurl.TIMEOUT_MS: int(config.timeout_s * 1000),
            pycurl.HEADERFUNCTION: answer.header,
            pycurl.WRITEFUNCTION: answer.write,
            pycurl.OPENSOCKETFUNCTION: self._open_socket,
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        }
        for option, value in options.items():
            handle.setopt(option, value)
        if config.ca:
            handle.setopt(pycurl.CAINFO, config.ca)
        return handle

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        """The last look before a connection: the address that libcurl really means to use."""
        if not self._allowed(address.addr[0]):
            return int(pycurl.SOCKET_BAD)
        return socket.socket(address.family, address.socktype, address.protocol)

    def _watch_socket(self, event: int, number: int, _multi: Any, _data: Any) -> None:
        self._loop.remove_reader(number)
        self._loop.remove_writer(number)
        self._watched.discard(number)
        if event & pycurl.POLL_IN and event != pycurl.POLL_REMOVE:
            self._loop.add_reader(number, self._act, number, pycurl.CSELECT_IN)
            self._watched.add(number)
        if event & pycurl.POLL_OUT and event != pycurl.POLL_REMOVE:
            self._loop.add_writer(number, self._act, number, pycurl.CSELECT_OUT)
            self._watched.add(number)

    def _set_timer(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds >= 0:
            self._timer = self._loop.call_later(milliseconds / 1000, self._act, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, number: int, mask: int) -> None:
        self._multi.socket_action(number, mask)
        while True:
            left, done, failed = self._multi.info_read()
            for handle in done:
                self._settle(handle, pycurl.E_OK, "")
            for handle, code, message in failed:
                self._settle(handle, code, message)
            if not left:
                return

    def _settle(self, handle: Any, code: int, message: str) -> None:
        waiter = self._waiting.get(handle)
        if waiter is not None and not waiter.done():
            waiter.set_result((code, message))


class _Answer:
    """Collects one response within the limits."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._body = BytesIO()
        self._status = 0
        self._headers: list[tuple[str, str]] = []
        self._header_bytes = 0
        self.truncated = False
        self.too_many_headers = False

    def header(self, line: bytes) -> int:
        self._header_bytes += len(line)
        if self._header_bytes > _MAX_HEADER_BYTES:
            self.too_many_headers = True
            return 0
        text = line.decode("latin-1").rstrip("\r\n")
        if text.startswith("HTTP/"):
            # A new head: what came before was interim.
            self._headers.clear()
            self._status = int(text.split(" ", 2)[1])
        elif ":" in text:
            name, _, value = text.partition(":")
            self._headers.append((name.strip().lower(), value.strip()))
        return len(line)

    def write(self, data: bytes) -> int:
        room = self._max_bytes - self._body.tell()
        self._body.write(data[:room])
        if len(data) > room:
            self.truncated = True
            return 0
        return len(data)

    def response(self, address: str) -> Response:
        return Response(self._status, tuple(self._headers), self._body.getvalue(), address, self.truncated)


def _inside(network: Any, outer: Any) -> bool:
    return bool(network.version == outer.version and network.subnet_of(outer))
