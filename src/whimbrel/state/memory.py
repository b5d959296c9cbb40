"""A state in memory, for what ends with its process: a single fetch, a test."""

from whimbrel.flow import Provider
from whimbrel.state.api import SPACES


class MemoryState(Provider):
    """Meets `KeyValues`. Every space is a dictionary; there are no groups, and nothing becomes durable."""

    fixed = "everything that is known is in it"

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self._spaces: dict[str, dict[bytes, bytes]] = {space: {} for space in SPACES}

    def get(self, space: str, key: bytes) -> bytes | None:
        return self._spaces[space].get(key)

    def put(self, space: str, key: bytes, value: bytes) -> None:
        self._spaces[space][key] = value

    def delete(self, space: str, key: bytes) -> None:
        self._spaces[space].pop(key, None)

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        within = sorted(pair for pair in self._spaces[space].items() if start <= pair[0] < end)
        return within[:most]
