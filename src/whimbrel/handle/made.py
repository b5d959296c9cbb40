"""What handlers make of one page, within a budget of memory."""

from typing import Any, Final

import msgspec

from whimbrel.handle.item import Columns, Item, columns_of, key_bytes, table_of, values_of
from whimbrel.handle.rule import Link

_ITEM_BYTES: Final = 400
_VALUE_BYTES: Final = 50
_LINK_BYTES: Final = 300
"""What each of these takes besides its texts, until it is in a file: objects here and there, and columns."""
_encode: Final = msgspec.msgpack.Encoder().encode


class Made:
    """Items are taken as they are at the moment when they are made, and kept as they are sent."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rows: dict[Any, bytes] = {}
        self._number = 0
        self.tables: dict[str, Columns] = {}
        """The columns of each table that has items."""
        self.items_bytes = 0
        """What the items take in memory, about."""
        self.links: list[Link] = []
        self._links_bytes = 0

    @property
    def rows(self) -> list[Any]:
        """Table, values and hash of the key of each item, encoded for `HandlerResult.items`."""
        return list(map(msgspec.Raw, self._rows.values()))

    def add_item(self, item: Item) -> None:
        """Of those with one key the last counts. Raises TypeError, OverflowError or UnicodeError for a value that the
        table cannot hold, ValueError when more is made than may be kept in memory."""
        kind = type(item)
        table, key, columns = table_of(kind), key_bytes(item), columns_of(kind)
        row = _encode((table, values_of(item), key))
        self._number += 1
        place = (table, key) if key else self._number
        fixed_bytes = _ITEM_BYTES + _VALUE_BYTES * len(columns)
        before = self._rows.pop(place, None)
        if before is not None:
            self.items_bytes -= len(before) + fixed_bytes
        self._rows[place] = row
        self.tables[table] = columns
        self.items_bytes += len(row) + fixed_bytes
        self._check()

    def add_link(self, link: Link) -> None:
        """Raises TypeError for one that is not made as a link is, ValueError when more is made than may be kept."""
        if not isinstance(link.url, str | None) or not isinstance(link.priority, int):
            raise TypeError(f"{link!r}: a link has a URL as text, and a whole number as its priority")
        self.links.append(link)
        self._links_bytes += _LINK_BYTES + len(link.url or "")
        self._check()

    def _check(self) -> None:
        if self.items_bytes + self._links_bytes > self._max_bytes:
            raise ValueError(
                f"more than {self._max_bytes / 1e6:,.0f} MB of items and links were made of one page; if that is "
                f"meant, raise the limit: --set handler-pool.max_items_bytes={4 * self._max_bytes}"
            )
