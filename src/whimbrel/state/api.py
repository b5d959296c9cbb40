"""The contract of the state: keys in spaces, changed in groups."""

from typing import Final, Protocol

SPACES: Final[dict[str, int | None]] = {
    "seen": None,
    "content": None,
    "queue": 10,
    "due": 0,
    "retry": 0,
    "hosts": None,
    "robots": None,
    "counts": None,
    "meta": None,
}
"""Each space with the length of the key's part that a scan stays within; None where nobody scans."""


class State(Protocol):
    """Called from the event loop's thread. Reads see everything that was written; writes go to the open group."""

    def get(self, space: str, key: bytes) -> bytes | None:
        """The value of a key; None when there is none."""

    def put(self, space: str, key: bytes, value: bytes) -> None: ...

    def delete(self, space: str, key: bytes) -> None: ...

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Up to `most` pairs with start <= key < end, in the order of keys. Both ends lie in one part of the space."""
