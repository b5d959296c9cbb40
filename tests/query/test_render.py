"""The formats of an answer."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from whimbrel.query.format import Format
from whimbrel.query.render import RENDERERS, render_table
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.sql import Query, QueryConfig

ODD = """SELECT 18446744073709551615::UBIGINT AS id, NULL AS none, 'a,"b"' || chr(10) AS text, 'a' AS text,
    TIMESTAMPTZ '2026-01-02 03:04:05.000006+00' AS at, 1.50::DECIMAL(4, 2) AS price, [1, 2] AS list, {'k': 'v'} AS pair,
    sum(2)::HUGEINT AS total, INTERVAL 1 DAY AS span, true AS yes, 'nan'::DOUBLE AS nan, 'z'::BLOB AS blob"""


def rendered(form: Format, sql: str, directory: Path) -> bytes:
    out = io.BytesIO()
    with Query([Snapshot(directory, {}, [])], QueryConfig()) as query, query.run(sql) as answer:
        RENDERERS[form](answer, out)
    return out.getvalue()


def table(sql: str, directory: Path, max_rows: int = 10) -> tuple[str, bool]:
    console = Console(file=io.StringIO(), width=200, force_terminal=True)
    with (
        Query([Snapshot(directory, {}, [])], QueryConfig()) as query,
        query.run(sql) as answer,
        console.capture() as shown,
    ):
        complete = render_table(answer, console, max_rows)
    return shown.get(), complete


def test_json_keeps_values(tmp_path: Path) -> None:
    (row,) = json.loads(rendered(Format.JSON, ODD, tmp_path))
    assert row == row | {"id": 2**64 - 1, "none": None, "text": 'a,"b"\n', "text_1": "a", "price": 1.5, "list": [1, 2]}
    assert row == row | {"at": "2026-01-02T03:04:05.000006Z", "pair": {"k": "v"}, "total": 2, "yes": True, "nan": None}


def test_json_of_several_rows_and_of_none(tmp_path: Path) -> None:
    assert json.loads(rendered(Format.JSON, "SELECT i FROM range(25000) t(i)", tmp_path))[-1] == {"i": 24_999}
    assert rendered(Format.JSON, "SELECT 1 WHERE false", tmp_path) == b"[]\n"


def test_csv_can_be_read_back(tmp_path: Path) -> None:
    names, values = csv.reader(io.StringIO(rendered(Format.CSV, ODD, tmp_path).decode(), newline=""))
    row = dict(zip(names, values, strict=True))
    assert (row["id"], row["none"], row["at"]) == (str(2**64 - 1), "", "2026-01-02 03:04:05.000006Z")
    assert (row["list"], row["pair"], row["yes"], values[2]) == ("[1,2]", '{"k":"v"}', "true", 'a,"b"\n')


def test_parquet_keeps_types(tmp_path: Path) -> None:
    found = pq.read_table(io.BytesIO(rendered(Format.PARQUET, ODD, tmp_path)))
    assert found.column_names[:4] == ["id", "none", "text", "text_1"]
    assert (str(found.schema.field("id").type), str(found.schema.field("at").type)) == (
        "uint64",
        "timestamp[us, tz=UTC]",
    )
    assert pq.read_table(io.BytesIO(rendered(Format.PARQUET, "SELECT 1 AS a WHERE false", tmp_path))).num_rows == 0


def test_a_table_shows_control_characters_as_escapes_and_no_markup(tmp_path: Path) -> None:
    evil = "SELECT '[red]x[/red]' || chr(27) || ']0;owned' || chr(7) || chr(10) || chr(8238) || chr(155) AS \"[b]n\""
    shown, _ = table(evil, tmp_path)
    assert r"[red]x[/red]\x1b]0;owned\x07\n\u202e\x9b" in shown
    assert "[b]n" in shown
    assert not {"\x07", "\u202e", "\x9b", "\x1b]"} & {
        shown[at : at + size] for at in range(len(shown)) for size in (1, 2)
    }


def test_a_long_table_is_cut_and_says_so(tmp_path: Path) -> None:
    shown, complete = table("SELECT i FROM range(11) t(i)", tmp_path)
    assert not complete
    assert " 9 " in shown
    assert " 10 " not in shown
    assert table("SELECT i FROM range(10) t(i)", tmp_path)[1]
    assert len(table("SELECT repeat('x', 100000)", tmp_path)[0]) < 2_000
