"""The 64-bit numbers that name URLs and captures in the tables, and join them (docs/adr/0009-ids-in-the-tables.md)."""

from hashlib import blake2b
from typing import Final

import xxhash

from whimbrel.cache import ENTRY_BYTES

_KEPT_BYTES: Final = 16_000_000
"""About 60,000 URLs of the usual length."""
_KEPT_CHARS: Final = 500


def url_id(url: str) -> int:
    """Of a URL's canonical text. There is no secret in it: the same URL has the same id in every crawl."""
    return xxhash.xxh3_64_intdigest(url.encode())


class UrlIds(dict[str, int]):
    """`url_id` with a memory: pages of a site repeat each other's links. When it is full it forgets all; long URLs are
    rarely repeated, and not kept."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        super().__init__()
        self._left = self._most_bytes = most_bytes

    def __missing__(self, url: str) -> int:
        found = url_id(url)
        if len(url) > _KEPT_CHARS:
            return found
        self._left -= ENTRY_BYTES + len(url)
        if self._left < 0:
            self.clear()
            self._left = self._most_bytes
        self[url] = found
        return found


def capture_id(url: str, at_s: float, digest: bytes) -> int:
    """Of a capture, by its URL, the time of its request and the digest of its payload: whatever knows the payload and
    the capture that brought it first can tell that capture's id. Archives count time in seconds, and may have two
    different captures of a URL in one.

    Not xxh3, which is easy to collide on purpose: no page may pass for a capture of another.
    """
    return int.from_bytes(blake2b(b"%b\n%d\n%b" % (url.encode(), round(at_s * 1e6), digest), digest_size=8).digest())
