"""The 64-bit numbers that name URLs and captures in the tables, and join them (docs/adr/0009-ids-in-the-tables.md)."""

from hashlib import blake2b
from typing import Final

import xxhash

_IDS_KEPT: Final = 100_000


def url_id(url: str) -> int:
    """Of a URL's canonical text. There is no secret in it: the same URL has the same id in every crawl."""
    return xxhash.xxh3_64_intdigest(url.encode())


class UrlIds(dict[str, int]):
    """`url_id` with a memory: pages of a site repeat each other's links. When it is full it forgets all."""

    def __missing__(self, url: str) -> int:
        if len(self) >= _IDS_KEPT:
            self.clear()
        found = self[url] = url_id(url)
        return found


def capture_id(url: str, at_s: float, digest: bytes) -> int:
    """Of a capture, by its URL, the time of its request and the digest of its payload: whatever knows the payload and
    the capture that brought it first can tell that capture's id. Archives count time in seconds, and may have two
    different captures of a URL in one.

    Not xxh3, which is easy to collide on purpose: no page may pass for a capture of another.
    """
    return int.from_bytes(blake2b(b"%b\n%d\n%b" % (url.encode(), round(at_s * 1e6), digest), digest_size=8).digest())
