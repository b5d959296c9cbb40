"""Which spellings of a URL are one: default ports, escapes, dots, case and fragments, by the standard's own parser.

Nothing else is folded. Credentials and fragments go; an empty query stays, since it is sent.
"""

import re
from typing import Final

import ada_url

from whimbrel.url.scheme import PREFIXES

_AUTHORITY: Final = 8
"""A slash at or after this place ends the authority: `http://` has 7 characters, and a host has at least one."""
_MAX_FOREIGN_HOST: Final = 255
"""Characters, as written. Names have 253 at most, and to write one in Punycode takes the square of its length."""
_WRITTEN_HOST: Final = re.compile(r"[^/\\?#]*+[/\\]{2,}+(?:[^/\\?#]*@)?([^/\\?#]*)")


def canonical(text: str, base: str | None = None) -> str | None:
    """The text of the URL that a link means, by the standard's own parser; None when it is none, or not http
    or https."""
    if len(text) > _MAX_FOREIGN_HOST and _has_long_foreign_host(text):
        return None
    try:
        href = ada_url.normalize_url(text) if base is None else ada_url.join_url(base, text)
    except ValueError:  # Lone surrogates are among them.
        return None
    if not href.startswith(PREFIXES):
        return None
    # Credentials in a link are never sent, and a fragment never leaves the client. An empty query is sent.
    href = href.partition("#")[0]
    if "@" in href:
        end = href.index("/", _AUTHORITY)
        at = href.rfind("@", 0, end)
        if at >= 0:
            href = href[: href.index("/") + 2] + href[at + 1 :]
    return href


def _has_long_foreign_host(text: str) -> bool:
    written = _WRITTEN_HOST.match(text)
    host = "" if written is None else written[1]
    return len(host) > _MAX_FOREIGN_HOST and (not host.isascii() or "%" in host)
