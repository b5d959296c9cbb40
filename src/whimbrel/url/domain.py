"""Registered domains, by the public suffix list (https://publicsuffix.org), its private section included: the sites
of a hosting company belong to different people."""

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_CACHED: Final = 65_536


class Domains:
    """Reads the list when it is first asked (about 40 ms), never before. The cache is bounded: it forgets the host
    that was not asked for longest."""

    def __init__(self, cached: int = _CACHED) -> None:
        self._cached = lru_cache(maxsize=cached)(self._find)

    def registered(self, host: str) -> str:
        """The domain that somebody registered, of a host as `Url` has it. An address and a bare suffix (`com`,
        `github.io`) are their own; a dot at the end is not a difference."""
        return self._cached(host)

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
