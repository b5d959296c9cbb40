"""Content-seen in the crawl's state."""

from collections.abc import Callable
from typing import Final

import msgspec

from whimbrel.dedupe.api import FirstCapture
from whimbrel.flow import Needs, Provider
from whimbrel.state.api import SLOT_BYTES, KeyValues
from whimbrel.url.key import content_slot

_SPACE: Final = "content"
_KEY_BYTES: Final = 16
"""Of the digest's 20: a billion payloads share a key with a chance of one in 10^20."""
_CACHED: Final = 50_000
"""About 15 MB when full; then the older half goes, but not what was asked for since."""


class RocksContent(Provider):
    """Owns the space `content`: the slot and the first 16 bytes of a digest, and a URL with a time in MessagePack.

    The cache holds what was found or claimed, never an absence: other URLs bring the same bytes again and again, but a
    new payload is asked for once.
    """

    state = Needs(KeyValues)

    async def open(self) -> None:
        self._young: dict[bytes, FirstCapture] = {}
        self._old: dict[bytes, FirstCapture] = {}
        self._absent = b""
        """The key that was found missing last, and not claimed since: its claim need not look again."""
        self._decode = msgspec.msgpack.Decoder(FirstCapture).decode
        self._encode = msgspec.msgpack.Encoder().encode

    def find(self, digest: bytes, found: Callable[[FirstCapture | None], None]) -> None:
        found(self._find(content_key(digest)))

    def _find(self, key: bytes) -> FirstCapture | None:
        known = self._young.get(key)
        if known is not None:
            return known
        known = self._old.get(key)
        if known is None:
            value = self.state.get(_SPACE, key)
            if value is None:
                self._absent = key
                return None
            known = self._decode(value)
        self._remember(key, known)
        return known

    def claim(self, digest: bytes, capture: FirstCapture) -> FirstCapture | None:
        key = content_key(digest)
        earlier = None if key == self._absent else self._find(key)
        if earlier is None:
            self._absent = b""
            self.state.put(_SPACE, key, self._encode(capture))
            self._remember(key, capture)
        return earlier

    def _remember(self, key: bytes, capture: FirstCapture) -> None:
        self._young[key] = capture
        if len(self._young) > _CACHED // 2:
            self._old, self._young = self._young, {}


def content_key(digest: bytes) -> bytes:
    return content_slot(digest).to_bytes(SLOT_BYTES, "big") + digest[:_KEY_BYTES]
