"""URLs with a query, counted among their like: one host, path and set of query keys can have any number of them."""

from whimbrel.state.api import State
from whimbrel.url import Url, query_group
from whimbrel.url.key import Keys


class QueryCounts:
    def __init__(self, state: State, keys: Keys) -> None:
        self._state = state
        self._keys = keys

    def admit(self, slot: bytes, url: Url, most: int | None) -> bool:
        """Count a URL of this slot; false when there are too many of its like already."""
        group = query_group(url) if most is not None else None
        if group is None or most is None:
            return True
        key = slot + self._keys.url(group)
        found = self._state.get("counts", key)
        count = 1 + (0 if found is None else int.from_bytes(found, "little"))
        if count > most:
            return False
        self._state.put("counts", key, count.to_bytes(4, "little"))
        return True
