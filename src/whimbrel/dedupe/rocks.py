"""Content-seen in the crawl's state."""

from collections.abc import Callable
from typing import Final

import msgspec

from whimbrel.cache import ByteCache
from whimbrel.dedupe.api import FirstCapture
from whimbrel.flow import Needs, Provider
from whimbrel.state.api import SLOT_BYTES, KeyValues
from whimbrel.url.key import content_slot

_SPACE: Final = "content"
_KEY_BYTES: Final = 16
"""Of the digest's 20: a billion payloads share a key with a chance of one in 10^20."""
_CACHE_BYTES: Final = 16_000_000
_CAPTURE_BYTES: Final = 200
"""What a digest, a time and the capture itself take besides the characters of the URL."""


class RocksContent(Provider):
    """Owns the space `content`: the slot and the first 16 bytes of a digest, and a URL with a time in MessagePack.

    The cache holds what was found or claimed, never an absence: other URLs bring the same bytes again and again, but a
    new payload is asked for once.
    """

    state = Needs(KeyValues)

    async def open(self) -> None:
        self._known: ByteCache[bytes, FirstCapture] = ByteCache(_CACHE_BYTES, _size)
        self._absent = b""
        """The key that was found missing last, and not claimed since: its claim need not look again."""
        self._decode = msgspec.msgpack.Decoder(FirstCapture).decode
        self._encode = msgspec.msgpack.Encoder().encode

    def find(self, digest: bytes, found: Callable[[FirstCapture | None], None]) -> None:
        found(self._find(content_key(digest)))

    def _find(self, key: bytes) -> FirstCapture | None:
        known = self._known.get(key)
        if known is None:
            value = self.state.get(_SPACE, key)
            if value is None:
                self._absent = key
                return None
            known = self._decode(value)
            self._known.put(key, known)
        return known

    def claim(self, digest: bytes, capture: FirstCapture) -> FirstCapture | None:
        key = content_key(digest)
        earlier = None if key == self._absent else self._find(key)
        if earlier is None:
            self._absent = b""
            self.state.put(_SPACE, key, self._encode(capture))
            self._known.put(key, capture)
        return earlier


def _size(_: bytes, capture: FirstCapture) -> int:
    return _CAPTURE_BYTES + len(capture.url)


def content_key(digest: bytes) -> bytes:
    return content_slot(digest).to_bytes(SLOT_BYTES, "big") + digest[:_KEY_BYTES]
