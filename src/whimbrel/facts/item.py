"""Rows of a table that a user's handlers fill."""

from typing import Any, Final

import msgspec

HIDDEN: Final = (("_run", "key"), ("_page", "string"), ("_capture_id", "key"), ("_at", "time"), ("_key", "bytes"))
"""What every item has beside its own columns: the row of `handled` that it comes from, the page and the capture, the
time, and what it shares with later items that take its place."""


class ItemRows(msgspec.Struct, frozen=True):
    """Columns as in `TABLES`, the hidden ones included. Without rows it says that there is such a table."""

    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[Any, ...]]

    def __bool__(self) -> bool:
        return True
