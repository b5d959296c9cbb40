"""Answers for people and for programs.

What pages say must not reach a terminal as it is: an escape sequence in a title could rewrite the screen, and a bracket
could be taken for markup. The table shows such characters as escapes; the other formats keep values exactly.
"""

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whimbrel.query.format import Format
from whimbrel.query.sql import Answer

TABLE_ROWS: Final = 1_000
_CELL_CHARACTERS: Final = 300
_LEAST_CHARACTERS: Final = 12
"""Of a column, if it has so many: in a narrower one nothing can be read."""
_FRAME_CHARACTERS: Final = 3


def render_table(answer: Answer, console: Console, max_rows: int = TABLE_ROWS) -> bool:
    """At most `max_rows` rows; False if there were more. Where so many columns would have no room beside each other,
    each row has a block of lines."""
    rows = [[visible(_text(value)) for value in row] for row in islice(_rows(answer), max_rows + 1)]
    complete = len(rows) <= max_rows
    names = [visible(field.name) for field in answer.schema]
    widths = [max(len(row[at]) for row in (names, *rows)) for at in range(len(names))]
    if sum(min(width, _LEAST_CHARACTERS) + _FRAME_CHARACTERS for width in widths) < console.width:
        console.print(_table(answer, names, rows[:max_rows]), highlight=False, markup=False)
    else:
        _print_blocks(console, names, rows[:max_rows])
    return complete


def _table(answer: Answer, names: list[str], rows: list[list[str]]) -> Table:
    table = Table(header_style="bold")
    for name, kind in zip(names, answer.schema.types, strict=True):
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        table.add_column(Text(name), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print_blocks(console: Console, names: list[str], rows: list[list[str]]) -> None:
    width = max(map(len, names), default=0)
    for number, row in enumerate(rows, 1):
        console.print(Text(f"row {number:,}", style="bold"))
        for name, value in zip(names, row, strict=True):
            console.print(Text(f"  {name:<{width}}  {value}"))


def render_json(answer: Answer, out: BinaryIO) -> None:
    """An array of objects, one per line. Times are in UTC; integers are exact, also where JavaScript's are not."""
    names, encode = _unique_names(answer), msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
    before = b"["
    for row in _rows(answer):
        out.write(before + b"\n" + encode(dict(zip(names, row, strict=True))))
        before = b","
    out.write(b"\n]\n" if before == b"," else b"[]\n")


def render_json_lines(answer: Answer, out: BinaryIO) -> None:
    """An object per line and nothing else, with values as in JSON."""
    names, encode = _unique_names(answer), msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
    out.writelines(encode(dict(zip(names, row, strict=True))) + b"\n" for row in _rows(answer))


def render_csv(answer: Answer, out: BinaryIO) -> None:
    """RFC 4180, with a line of names. Nothing is an empty field."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text)
        writer.writerow([field.name for field in answer.schema])
        for row in _rows(answer):
            writer.writerow([_text(value) for value in row])
    finally:
        text.detach()  # the stream belongs to the caller


def render_parquet(answer: Answer, out: BinaryIO) -> None:
    names = _unique_names(answer)
    kinds = [_storable(field.type) for field in answer.schema]
    wanted = pa.schema(list(zip(names, kinds, strict=True)))
    with pq.ParquetWriter(out, wanted, compression="zstd") as writer:
        for batch in answer:
            columns = [_stored(column, kind) for column, kind in zip(batch.columns, kinds, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=wanted))


RENDERERS: Final[dict[Format, Callable[[Answer, BinaryIO], None]]] = {
    Format.JSON: render_json,
    Format.JSONL: render_json_lines,
    Format.CSV: render_csv,
    Format.PARQUET: render_parquet,
}


def visible(text: str) -> str:
    """Control characters, line ends and marks that turn the direction of writing, as escapes; long texts cut."""
    if len(text) > _CELL_CHARACTERS:
        text = text[:_CELL_CHARACTERS] + "…"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _rows(answer: Answer) -> Iterator[tuple[Any, ...]]:
    for batch in answer:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ").replace("+00:00", "Z")
    if isinstance(value, list | dict):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)


def _unique_names(answer: Answer) -> list[str]:
    """SQL allows two columns of one name; objects and Parquet do not."""
    names: list[str] = []
    for field in answer.schema:
        name, number = field.name, 1
        while name in names:
            name, number = f"{field.name}_{number}", number + 1
        names.append(name)
    return names


def _storable(kind: "pa.DataType") -> "pa.DataType":
    """Parquet in Arrow has no intervals."""
    return pa.string() if pa.types.is_interval(kind) else kind


def _stored(column: "pa.Array", kind: "pa.DataType") -> "pa.Array":
    if column.type == kind:
        return column
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], kind)
