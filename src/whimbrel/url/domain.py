"""Registered domains, by the public suffix list (https://publicsuffix.org), its private section included: the sites
of a hosting company belong to different people."""

from functools import cached_property
from typing import TYPE_CHECKING, Final

from whimbrel.cache import ByteCache

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_CACHE_BYTES: Final = 20_000_000
"""About 60,000 names of the usual length. A name may have as many characters as a link."""


class Domains:
    """Reads the list when it is first asked (about 40 ms), never before."""

    def __init__(self, cache_bytes: int | None = None) -> None:
        self._known: ByteCache[str, str] = ByteCache(cache_bytes or _CACHE_BYTES, _size)

    def registered(self, host: str) -> str:
        """The domain that somebody registered, of a host as `Url` has it. An address and a bare suffix (`com`,
        `github.io`) are their own; a dot at the end is not a difference."""
        found = self._known.get(host)
        if found is None:
            found = self._find(host)
            self._known.put(host, found)
        return found

    def _find(self, host: str) -> str:
        name = host.removesuffix(".")
        # By the standard a last label of digits makes an IPv4 address.
        if host[:1] == "[" or name.rpartition(".")[2].isdigit():
            return host
        return self._list.privatesuffix(name) or name or host

    @cached_property
    def _list(self) -> "PublicSuffixList":
        from publicsuffixlist import PublicSuffixList  # Not at the start of every command.

        return PublicSuffixList()


def _size(host: str, domain: str) -> int:
    return len(host) + len(domain)
