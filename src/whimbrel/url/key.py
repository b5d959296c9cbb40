"""Keys: what URL-seen, the frontier's queues and slots call a URL, a site and a name.

A URL's key is of its canonical text, and nothing else is folded: two URLs that a server may tell apart never share one.
"""

import hashlib
from typing import Final

import xxhash

SLOTS: Final = 1024
"""Into so many parts the state is divided; a slot is the least that moves between nodes."""

_LEAST_SECRET: Final = 16


class Keys:
    """Keyed, so that nobody outside can craft two URLs with one key. A crawl keeps its secret: with
    another one all keys are new."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < _LEAST_SECRET:
            raise ValueError(f"the secret of URL keys has {len(secret)} bytes; it needs at least {_LEAST_SECRET}")
        # A copy of a prepared state costs half of a new one: the key block is hashed once.
        self._url = hashlib.blake2b(key=secret, digest_size=16, person=b"url")
        self._host = hashlib.blake2b(key=secret, digest_size=8, person=b"host")

    def url(self, text: str) -> bytes:
        """16 bytes, of a canonical text."""
        state = self._url.copy()
        state.update(text.encode())
        return state.digest()

    def host(self, site: str) -> bytes:
        """8 bytes, of a `Url.site`."""
        state = self._host.copy()
        state.update(site.encode())
        return state.digest()


def slot(name: str) -> int:
    """0 to 1023, the same on every machine and in every run, so that nodes agree on the owner without asking."""
    return xxhash.xxh3_64_intdigest(name.encode()) % SLOTS


def content_slot(digest: bytes) -> int:
    """The slot of a payload, from its fingerprint: mirrors live on different hosts."""
    return int.from_bytes(digest[:8], "big") % SLOTS
