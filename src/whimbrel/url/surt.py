"""SURT, the sort-friendly form of a URL that CDXJ lines begin with: `com,example)/path?a=1&b=2`.

For CDXJ only, never a crawl key: it folds case, the order of a query and session numbers, which servers tell apart. The
rules are the Internet Archive's ordinary ones (org.archive.url in webarchive-commons), and every detail is that of
cdxj-indexer, since replay tools look URLs up by equal text. Its own library is not used: it is under the AGPL, and
brings an HTTP client along.
"""

import re
from typing import Final
from urllib.parse import quote, unquote

from whimbrel.url.value import Url, parse

_WWW: Final = re.compile(r"www[0-9]*\.")
_KEPT: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PATH_SESSIONS: Final = tuple(
    re.compile(rf"(.*/){session}([^?]+\.aspx.*)", re.ASCII)
    for session in (r"\((?:[a-z]\([0-9a-z]{24}\))+\)/", r"\([0-9a-z]{24}\)/")
)
_QUERY_SESSIONS: Final = tuple(
    re.compile(rf"(.*){session}(?:&(.*))?", re.ASCII | re.IGNORECASE)
    for session in (
        r"jsessionid=[0-9a-z]{32}",
        r"phpsessid=[0-9a-z]{32}",
        r"sid=[0-9a-z]{32}",
        r"aspsessionid[a-z]{8}=[a-z]{24}",
        r"cfid=[^&]+&cftoken=[^&]+",
    )
)
_HINTS: Final = ("sid=", "sessionid", "cftoken=")
"""Without any of these a query has no session number."""


def surt(text: str) -> str:
    """The SURT of an http or https URL; any other text stays as it is."""
    url = parse(text)
    return text if url is None else surt_of(url)


def surt_of(url: Url) -> str:
    # One replacement, not a repeated one, and one `www` only: so does cdxj-indexer.
    host = url.host.strip("[]").replace("..", ".").strip(".")
    where, _, query = url.target.partition("?")
    path = _path(where, named=bool(host))
    query = _query(query)
    return f"{_authority(url, host)}{path}?{query}" if query else _authority(url, host) + path


def _authority(url: Url, host: str) -> str:
    if not host:
        return url.scheme + ":"
    found = _WWW.match(host)
    if found is not None:
        host = host[found.end() :]
    labels = host.split(".")
    labels.reverse()
    # Port 0 counts as none.
    port = f":{url.port}" if url.port and not url.at_default_port else ""
    return f"{','.join(labels)}{port})"


def _path(path: str, *, named: bool) -> str:
    if "%" in path:
        path = _unescaped(path)
        path = _escaped(_without_dots(path) if named else path)
    elif "//" in path and named:
        path = _without_dots(path)
    path = path.lower()
    if ".aspx" in path:
        for session in _PATH_SESSIONS:
            found = session.fullmatch(path)
            if found is not None:
                path = found[1] + found[2]
    return path[:-1] if path[-1:] == "/" and len(path) > 1 else path


def _query(query: str) -> str:
    if "%" in query:
        query = _escaped(_unescaped(query))
    lower = query.lower()
    if any(hint in lower for hint in _HINTS):
        for session in _QUERY_SESSIONS:
            found = session.fullmatch(query)
            if found is not None:
                query = found[1] + (found[2] or "")
        lower = query.lower()
    if "&" not in lower:
        return lower
    parts = sorted(part.split("=", 1) for part in lower.split("&"))
    return "&".join("=".join(part) for part in parts)


def _unescaped(text: str) -> str:
    """Unescaped until nothing changes. Each character of the result stands for one byte."""
    while True:
        further = unquote(text, encoding="latin-1")
        if further == text:
            return text
        text = further


def _escaped(text: str) -> str:
    return quote(text, safe=_KEPT, encoding="latin-1")


def _without_dots(path: str) -> str:
    """Without dot segments and doubled slashes; those that lead above the root stay."""
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and kept:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    if not kept:
        return "/"
    *directories, last = kept
    return "/" + "".join(f"{name}/" for name in directories if name) + last
