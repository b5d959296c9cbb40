"""An answer in memory, for Python."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Rows:
    """Iterates over tuples; `arrow`, `pl`, `df` and `dicts` give it in other shapes."""

    def __init__(self, table: "pa.Table") -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """Their names, in order."""
        return list(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._table.to_batches(max_chunksize=1_000):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each row."""
        found: list[dict[str, Any]] = self._table.to_pylist()
        return found

    def arrow(self) -> "pa.Table":
        """A pyarrow Table, without a copy."""
        return self._table

    def pl(self) -> "pl.DataFrame":
        """A polars DataFrame; needs polars."""
        try:
            import polars as pl
        except ModuleNotFoundError as error:
            raise _missing("polars") from error

        found = pl.from_arrow(self._table)
        if not isinstance(found, pl.DataFrame):
            raise TypeError("an answer is a table")
        return found

    def df(self) -> "pd.DataFrame":
        """A pandas DataFrame; needs pandas."""
        try:
            found: pd.DataFrame = self._table.to_pandas()
        except ModuleNotFoundError as error:
            raise _missing("pandas") from error
        return found

    def write(self, path: str | Path, form: str = "") -> None:
        """To a file: `json`, `jsonl`, `csv` or `parquet`, by its ending unless given."""
        from whimbrel.query.render import RENDERERS
        from whimbrel.query.sql import Answer

        wanted = form or Path(path).suffix.removeprefix(".")
        known = {one.value: one for one in RENDERERS}
        if wanted not in known:
            raise ValueError(f"{wanted!r} is none of {', '.join(known)}")
        with Path(path).open("wb") as out:
            RENDERERS[known[wanted]](Answer.of(self._table), out)

    def __repr__(self) -> str:
        from io import StringIO

        from rich.console import Console

        from whimbrel.query.render import render_table
        from whimbrel.query.sql import Answer

        text = StringIO()
        whole = render_table(Answer.of(self._table), Console(file=text, width=160), max_rows=20)
        return text.getvalue() + ("" if whole else f"the first 20 of {len(self):,} rows\n")


def _missing(library: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"{library} is not installed: pip install {library}; `.arrow()` and `.dicts()` do without", name=library
    )
