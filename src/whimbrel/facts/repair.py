"""Values that no table can hold. One of them must not keep a commit from being made, nor all that come after it.

Handlers and imports check ranges where values arise. What gets here all the same is a mistake of ours: the value is
left out, its row stays, and an event tells of it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.facts.api import TABLES
from whimbrel.facts.item import ItemRows
from whimbrel.facts.links import PageLinks
from whimbrel.facts.row import Row

if TYPE_CHECKING:
    from whimbrel.facts.payload import FactRows

_SUBJECTS: Final = ("url", "site", "subject", "_page")
"""Columns that say what a row is about, the first that a table has."""
_MOST_SAID: Final = 200


class LostValue(msgspec.Struct, frozen=True):
    table: str
    column: str
    subject: str
    """The URL or site that the row is about."""
    error: str


def repaired(rows: "FactRows") -> tuple[dict[str, Any], list[LostValue]]:
    """The rows, without the values that cannot be kept; and which those are."""
    lost: list[LostValue] = []
    return {table: _table(table, of_table, lost) for table, of_table in rows.items()}, lost


def _table(table: str, rows: Any, lost: list[LostValue]) -> Any:
    from whimbrel.facts.payload import arrow_table

    if not rows or _error(lambda: arrow_table(table, rows)) is None:
        return rows
    if isinstance(rows, ItemRows):
        return ItemRows(rows.columns, [_row(table, rows.columns, row, lost) for row in rows.rows])
    if table == "links":
        return [page for page in rows if not _is_lost(page, lost)]
    return [_row(table, TABLES[table], row, lost) for row in rows]


def _is_lost(page: "PageLinks | tuple[Any, ...]", lost: list[LostValue]) -> bool:
    """Whether the links of a page cannot be kept."""
    from whimbrel.facts.payload import arrow_table

    error = _error(lambda: arrow_table("links", [page]))
    if error is not None:
        source = page.source if isinstance(page, PageLinks) else str(page[3])
        lost.append(LostValue("links", "target", source, error))
    return error is not None


def _row(table: str, columns: Sequence[tuple[str, str]], row: Any, lost: list[LostValue]) -> Any:
    """A row whose impossible values are None."""
    from whimbrel.facts.payload import column_array

    values = dict(zip((name for name, _ in columns), _values(row), strict=True))
    subject = next((str(values[name]) for name in _SUBJECTS if name in values), "")
    for name, kind in columns:
        value = values[name]
        error = _error(lambda: column_array([value], kind))  # noqa: B023 - called at once
        if error is not None:
            lost.append(LostValue(table, name, subject, error))
            values[name] = None
    return type(row)(**values) if isinstance(row, Row) else tuple(values.values())


def _values(row: Any) -> tuple[Any, ...]:
    return msgspec.structs.astuple(row) if isinstance(row, Row) else row


def _error(attempt: Callable[[], object]) -> str | None:
    """What it raises, in one line; None when all is well."""
    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - Arrow raises whatever Python has for it
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MOST_SAID]
    return None
