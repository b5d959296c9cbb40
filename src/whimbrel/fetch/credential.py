"""Credentials: which request headers are secrets, to whom they go, and what everybody else sees of them.

A header is a credential by its name. It goes to the *origins* it was given for: scheme, host and port (RFC 6454 §4),
the scheme's own port written out, compared as text. Another scheme or port, a subdomain, a name with a dot at its end:
each is another origin. It does not matter how a request came about (a link, a redirect, robots.txt, a sitemap, a second
try), only where it goes. Other headers go to everybody.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from whimbrel.url import Url, parse
from whimbrel.url.userinfo import REDACTED, redacted_text, redacted_url, without_userinfo

_SECRET: Final = re.compile(
    r"auth|cookie|token|secret|passw|pwd|key|session|credential|jwt|bearer|login", re.ASCII | re.IGNORECASE
)
"""Rather too many names than too few: one that is no secret is only missing where nobody has asked for it."""
_FOR_THE_PROXY: Final = "proxy-authorization"
_NO_SECRETS: Final = frozenset(("cookies", "credential_origins"))
"""Options and settings that are named like secrets: the name of a file, and origins."""
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


def is_credential(name: str) -> bool:
    """Whether a header of this name, in upper or lower case, is a secret."""
    return _SECRET.search(name) is not None


def is_for_the_proxy(name: str) -> bool:
    return name.lower() == _FOR_THE_PROXY


def origin(text: str) -> str:
    """The origin of a URL. Raises ValueError if the text is not an http or https URL."""
    url = parse(text)
    if url is None:
        raise ValueError(f"{redacted_url(text)!r} is not an origin; write for example https://www.example.org")
    return url.site


class Credentials:
    """The headers of a configuration, parted by whom they are for. True if any of them is for some origins only."""

    __slots__ = ("_by_origin", "ordinary", "proxy")

    def __init__(
        self, headers: Mapping[str, str], origins: Iterable[str] = (), authorizations: Mapping[str, str] = NO_HEADERS
    ) -> None:
        """Credentials among `headers` are for `origins`. `authorizations` has an Authorization header for single
        origins, before which a general one stands back. Raises ValueError for an origin that is none."""
        secret = {name: value for name, value in headers.items() if is_credential(name) and not is_for_the_proxy(name)}
        self.ordinary = {name: value for name, value in headers.items() if not is_credential(name)}
        """For everybody."""
        self.proxy = {name: value for name, value in headers.items() if is_for_the_proxy(name)}
        """For the proxy alone."""
        known: dict[str, Mapping[str, str]] = {origin(text): secret for text in origins}
        self._by_origin = known if secret else {}
        for text, value in authorizations.items():
            own = self._by_origin.get(origin(text), NO_HEADERS)
            others = {name: known for name, known in own.items() if name.lower() != "authorization"}
            self._by_origin[origin(text)] = {"Authorization": value, **others}

    def __bool__(self) -> bool:
        return bool(self._by_origin)

    def of(self, url: Url) -> Mapping[str, str]:
        """What is sent to the origin of a URL besides the ordinary headers: the same object each time."""
        return self._by_origin.get(url.site, NO_HEADERS)


def redacted_lines(lines: list[str]) -> list[str]:
    """Header lines as they are kept and shown."""
    return [_redacted_line(*line.partition(":")) for line in lines]


def _redacted_line(name: str, colon: str, value: str) -> str:
    if not is_credential(name):
        return f"{name}{colon}{value}"
    return f"{name}: {REDACTED}" if colon else REDACTED


def redacted_head(head: bytes) -> bytes:
    """The head of a request as it is kept and shown. Lines that go on with a secret are left out."""
    first, end, rest = head.partition(b"\n")
    if b"@" in first:
        # Proxies are asked for whole URLs.
        method, blank, target = first.decode("latin-1").partition(" ")
        first = f"{method}{blank}{without_userinfo(target)}".encode("latin-1")
    kept: list[bytes] = []
    secret = False
    for line in rest.split(b"\n"):
        if secret and line[:1] in (b" ", b"\t"):
            continue
        name, colon, _ = line.partition(b":")
        secret = bool(colon) and is_credential(name.decode("latin-1"))
        kept.append(name + b": " + REDACTED.encode() + b"\r" * line.endswith(b"\r") if secret else line)
    return first + end + b"\n".join(kept)


def redacted_setting(name: str, value: Any) -> Any:
    """An option or a setting as it is shown, tables of them included: what is named like a secret is hidden."""
    if isinstance(value, Mapping):
        hidden = _is_secret(name)
        return {key: redacted_setting(name if hidden else key, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_setting(name, inner) for inner in value]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if _is_secret(name):
        return REDACTED
    if not isinstance(value, str):
        return value
    if name == "header":
        return redacted_lines([value])[0]
    return redacted_url(value) if name in ("seeds", "proxy") else redacted_text(value)


def _is_secret(name: str) -> bool:
    return is_credential(name) and name not in _NO_SECRETS
