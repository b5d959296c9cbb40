"""What the user blocks: a host or a domain on all its ports, a host at one port, or one site."""

from collections.abc import Iterable
from typing import Final, Protocol

from whimbrel.url.scheme import PREFIXES
from whimbrel.url.value import parse


class Place(Protocol):
    """A URL, or the site of one."""

    @property
    def scheme(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


_MOST_PORT: Final = 65_535


class BlockList:
    """`a.test` is a host and every host under it, `a.test:8080` that host at a port, `http://a.test` one site. Raises
    ValueError if a text is none of these."""

    def __init__(self, names: Iterable[str]) -> None:
        hosts: list[str] = []
        self._places: set[tuple[str, str, int]] = set()
        """Scheme, host and port; the scheme is empty where both are meant."""
        for name in names:
            place = _place(name)
            if place is None:
                hosts.append(name)
            else:
                self._places.add(place)
        self._hosts = HostNames(hosts)

    def __bool__(self) -> bool:
        return bool(self._places or self._hosts)

    def holds(self, place: Place) -> bool:
        if self._places:
            host = place.host.removesuffix(".")
            if ("", host, place.port) in self._places or (place.scheme, host, place.port) in self._places:
                return True
        return bool(self._hosts) and self._hosts.hold(place.host)


def is_pattern(blocked: str) -> bool:
    """Whether something to be blocked is a pattern of URLs, and not a host, a domain or a site."""
    _, scheme, rest = blocked.rpartition("://")
    return "*" in blocked or "/" in (rest if scheme and blocked.startswith(PREFIXES) else blocked)


def _place(name: str) -> tuple[str, str, int] | None:
    """A site, or a host at a port; None when the text has neither scheme nor port."""
    if "://" in name:
        found = parse(name) if name.startswith(PREFIXES) and "@" not in name else None
        if found is None or found.target != "/" or is_pattern(name):
            raise ValueError(f"cannot block {name!r}: it is not a site; write for example http://a.test:8080")
        return found.scheme, found.host.removesuffix("."), found.port
    host, colon, port = name.rpartition(":")
    if not colon or name.endswith("]"):
        return None
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= _MOST_PORT):
        raise ValueError(f"cannot block {name!r}: {port!r} is not a port")
    return "", host_name(host), int(port)


class HostNames:
    """Names of hosts and domains; it holds a host when it has its name, or one that it is under."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(host_name(name) for name in names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def hold(self, host: str) -> bool:
        host = host.removesuffix(".")
        at = -1
        while True:
            if host[at + 1 :] in self._names:
                return True
            at = host.find(".", at + 1)
            if at < 0:
                return False


def host_name(name: str) -> str:
    """As URLs spell it. The port is there so that no other one can be."""
    url = parse(f"http://{name}:1/")
    if url is None or url.text != f"http://{url.host}:1/" or "@" in name:
        raise ValueError(f"cannot block {name!r}: it is not the name or address of a host")
    return url.host.removesuffix(".")
