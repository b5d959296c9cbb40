"""Cookies: those of a file, and those that servers set."""

import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.fetch.rig import request, transport
from tests.fuzz.api import Target
from tests.fuzz.target.loopback import Server, fetch, on_loop
from whimbrel.job.cookie_file import check_cookie_file
from whimbrel.job.options import OptionError

_HOSTS: Final = ("a.test", "www.a.test", "b.test", "nota.test", "test")
_COOKIE: Final = re.compile(rb"(?im)^cookie: (.*?)\r?$")
_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_FILE: Final = b"a.test\tFALSE\t/\tFALSE\t0\tours\tabc\n.b.test\tTRUE\t/\tFALSE\t0\talso\tdef\n"


@asynccontextmanager
async def files() -> AsyncIterator[Callable[[bytes], Awaitable[None]]]:
    """An input is a file of cookies. One that is taken is sent to no host that it does not name."""
    server = Server()
    server.answer = _OK
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "cookies.txt"

        async def read(data: bytes) -> None:
            path.write_bytes(data)
            try:
                check_cookie_file(str(path))
            except OptionError:
                return
            async with transport(cookies=str(path)) as made:
                for host in _HOSTS:
                    server.requests.clear()
                    exchange = await fetch(made, request(f"http://{host}:{server.port}/x/y"))
                    assert exchange.response is not None, exchange.trouble
                    check_sent(data, host, server.requests[-1])

        async with server.listening():
            yield read


def check_sent(file: bytes, host: str, sent: bytes) -> None:
    """Every cookie of a request is in a line of the file whose domain is that of the host, or above it."""
    assert sent.startswith(b"GET /x/y HTTP/1.1\r\n")
    assert sent.count(b"\r\n\r\n") == 1
    found = _COOKIE.findall(sent)
    assert len(found) <= 1
    lines = [line for line in re.split(rb"[\r\n\0]", file) if _names(line, host)]
    for pair in found[0].split(b"; ") if found else []:
        name = pair.partition(b"=")[0]
        assert any(name in line for line in lines), f"{pair!r} went to {host}"


def _names(line: bytes, host: str) -> bool:
    """Whether a line may be about a host, as widely as the format may be read."""
    if line.lower().startswith(b"set-cookie:"):
        domains = re.findall(rb"(?i)domain\s*=\s*\"?\.?([^;\"\s]+)", line)
    else:
        domains = [re.sub(rb"(?i)^#httponly_", b"", line.split(b"\t")[0]).strip(b" .")]
    return any(_is_under(host, domain.decode("latin-1").strip(".").lower()) for domain in domains)


def _is_under(host: str, domain: str) -> bool:
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


@asynccontextmanager
async def answers() -> AsyncIterator[Callable[[bytes], Awaitable[None]]]:
    """An input is an answer. Whatever it sets, the next requests have the cookies of the file and no others."""
    server = Server()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "cookies.txt"
        path.write_bytes(_FILE)
        async with server.listening(), transport(cookies=str(path)) as made:

            async def read(data: bytes) -> None:
                for answer, host, expected in (
                    (data, "a.test", [b"ours=abc"]),
                    (data, "b.test", [b"also=def"]),
                    (_OK, "a.test", [b"ours=abc"]),
                    (_OK, "b.test", [b"also=def"]),
                    (_OK, "c.test", []),
                ):
                    server.answer = answer
                    server.requests.clear()
                    await fetch(made, request(f"http://{host}:{server.port}/x/y"))
                    assert _COOKIE.findall(server.requests[-1]) == expected, server.requests[-1]

            yield read


_WORDS: Final = (
    *(
        b"a.test",
        b".a.test",
        b"b.test",
        b"test",
        b".test",
        b".",
        b"\t",
        b"TRUE",
        b"FALSE",
        b"/",
        b"/x",
        b"0",
        b"9999999999",
    ),
    *(
        b"#HttpOnly_",
        b"# Netscape HTTP Cookie File\n",
        b"Set-Cookie: a=b; domain=a.test\n",
        b"__Host-",
        b"__Secure-",
        b"\r\n",
    ),
)
FILES: Final = Target(
    "cookie-file", on_loop(files), (*_WORDS, b"Set-Cookie: a=b\n", b"\0", b"\r", b"\x0b", b"\xc2\x85", b"\xe2\x80\xa8")
)
ANSWERS: Final = Target(
    "set-cookie",
    on_loop(answers),
    (
        *(
            *_WORDS,
            b"Set-Cookie: ",
            b"Set-Cookie2: ",
            b"Set-Cookie : x=y\r\n",
            b" Set-Cookie: x=y\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
        ),
        *(
            b"; Domain=",
            b"; Path=/",
            b"; Secure",
            b"; HttpOnly",
            b"; Max-Age=",
            b"; Expires=Sun, 06 Nov 2094 08:49:37 GMT",
            b"=",
            b";",
        ),
        *(b"Transfer-Encoding: chunked\r\n", b"0\r\n", b"ours=other", b"also=x", b"HTTP/1.1 200 OK\r\n"),
    ),
    most_bytes=300_000,
)
