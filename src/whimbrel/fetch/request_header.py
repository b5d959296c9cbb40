"""Which header lines a request has."""

from collections.abc import Mapping
from typing import Final

from whimbrel.visit import Request

_NOT_OURS_TO_SET: Final = frozenset(("host", "content-length"))


def header_lines(user_agent: str, configured: Mapping[str, str], request: Request | None = None) -> list[str]:
    """The header lines of a request besides Host, in the order they are sent: ours, then those that the configuration
    gives to all requests, then the request's own. A later one takes the place of an earlier one of the same name."""
    headers = {
        "User-Agent": user_agent,
        "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
        "Accept-Encoding": "gzip, deflate, br, zstd",
    }
    known = {name.lower(): name for name in headers}
    for name, value in (*configured.items(), *(request.headers if request is not None else ())):
        if name.lower() in _NOT_OURS_TO_SET or any(char in name + value for char in "\r\n\0"):
            raise ValueError(f"header {name!r} cannot be sent: it is Host or Content-Length, or has a line end in it")
        headers[known.setdefault(name.lower(), name)] = value
    if request is not None and (request.body or request.method == "POST"):
        headers.setdefault(known.get("content-type", "Content-Type"), "application/x-www-form-urlencoded")
        headers["Content-Length"] = str(len(request.body))
    return [f"{name}: {value}" if value else f"{name}:" for name, value in headers.items()]


def curl_lines(lines: list[str]) -> list[str]:
    """As libcurl wants them: it leaves a header out that ends in a colon, and sends it without a value if it ends in a
    semicolon. Expect is left out: a server that knows nothing of it would keep us waiting."""
    return [line[:-1] + ";" if line.endswith(":") else line for line in lines] + ["Expect:"]
