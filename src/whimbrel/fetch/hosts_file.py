"""The hosts file, read again whenever it changes."""

import asyncio
import ipaddress
from pathlib import Path
from typing import Final

_LOOPBACK: Final = ("127.0.0.1", "::1")
_LOCALHOST: Final = "localhost"


class HostsFile:
    """Owns what was read of the file. A look at it costs one `stat`; it is read in a thread, since some list a hundred
    thousand names that nobody is to visit."""

    def __init__(self, path: str) -> None:
        """Without a path it knows no name but `localhost`."""
        self._path = Path(path) if path else None
        self._names: dict[str, tuple[str, ...]] = {}
        self._mark: tuple[int, ...] = ()
        self._reading: asyncio.Task[None] | None = None

    async def addresses(self, name: str) -> tuple[str, ...]:
        """Of a name in lower case without a trailing dot; empty when the file has none.

        `localhost` and the names under it have loopback addresses, whatever the file says (RFC 6761 §6.3): those that
        it gives them, else both.
        """
        if self._path is not None and self._changed_mark(self._path) != self._mark:
            await self._read(self._path)
        found = self._names.get(name, ())
        if name != _LOCALHOST and not name.endswith(f".{_LOCALHOST}"):
            return found
        return _loopback(found) or _loopback(self._names.get(_LOCALHOST, ())) or _LOOPBACK

    async def close(self) -> None:
        if self._reading is not None:
            await asyncio.wait([self._reading])

    def _changed_mark(self, path: Path) -> tuple[int, ...]:
        """Differs after a change; empty when there is no such file."""
        try:
            found = path.stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    async def _read(self, path: Path) -> None:
        """All who want it wait for one reading."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._take(path))
        await asyncio.shield(self._reading)

    async def _take(self, path: Path) -> None:
        try:
            mark = self._changed_mark(path)  # Before the reading: a change meanwhile is read, too.
            self._names = await asyncio.to_thread(_read_file, path) if mark else {}
            self._mark = mark
        finally:
            self._reading = None


def _read_file(path: Path) -> dict[str, tuple[str, ...]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return read_hosts(text)


def read_hosts(text: str) -> dict[str, tuple[str, ...]]:
    """The addresses of each name, IPv4 first, else in the order of the file (hosts(5)). Lines that cannot be read are
    passed over, and so are addresses that hold on one network interface only."""
    found: dict[str, dict[str, None]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) > 1 and _is_address(words[0]):
            for name in words[1:]:
                found.setdefault(name.removesuffix(".").lower(), {})[str(ipaddress.ip_address(words[0]))] = None
    return {name: tuple(sorted(addresses, key=lambda address: ":" in address)) for name, addresses in found.items()}


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _loopback(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(address for address in addresses if ipaddress.ip_address(address).is_loopback)
