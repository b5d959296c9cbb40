"""Seeds from a database.

The URL says which: `sqlite:///urls.db`, `duckdb:///urls.duckdb`, or `postgresql://user@host/name`, which needs the
extra `postgres`. A path after three slashes is relative, after four absolute, as SQLAlchemy writes it. The first column
of the answer is the seed; NULL is passed over. Databases are opened for reading only.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from whimbrel.job.options import OptionError
from whimbrel.url.userinfo import redacted_url

_ROWS: Final = 1_000


def seeds_from(url: str, sql: str) -> list[str]:
    """OptionError when the database cannot be asked, or the answer is not a column of texts."""
    scheme, mark, rest = url.partition("://")
    ask = _DATABASES.get(scheme)
    if not mark or ask is None:
        raise OptionError(
            f"--seeds-from {redacted_url(url)}: begin it with one of {', '.join(f'{name}://' for name in _DATABASES)}"
        )
    try:
        found = [row[0] for row in ask(rest if scheme in _FILES else url, sql) if row and row[0] is not None]
    except OptionError:
        raise
    except Exception as error:
        raise OptionError(f"--seeds-from {redacted_url(url)}: {error}") from error
    wrong = next((value for value in found if not isinstance(value, str)), None)
    if wrong is not None:
        raise OptionError(f"--seeds-from {redacted_url(url)}: the first column must be text; it has {wrong!r}")
    return found


def _sqlite(path: str, sql: str) -> Iterator[Any]:
    file = _file(path)
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield from connection.execute(sql)


def _duckdb(path: str, sql: str) -> Iterator[Any]:
    import duckdb

    with duckdb.connect(str(_file(path)), read_only=True) as connection:
        answer = connection.execute(sql)
        while rows := answer.fetchmany(_ROWS):
            yield from rows


def _postgres(url: str, sql: str) -> Iterator[Any]:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise OptionError("PostgreSQL needs psycopg: pip install 'whimbrel[postgres]'") from error
    read_only = "-c default_transaction_read_only=on"
    # A cursor with a name: the server keeps the answer, and sends it in pieces.
    with psycopg.connect(url, options=read_only) as connection, connection.cursor("whimbrel_seeds") as cursor:
        cursor.itersize = _ROWS
        yield from cursor.execute(sql.encode())


def _file(path: str) -> Path:
    file = Path(path.removeprefix("/"))
    if not file.is_file():
        raise OptionError(f"--seeds-from: there is no file {file}")
    return file


_FILES: Final = ("sqlite", "duckdb")
_DATABASES: Final[dict[str, Callable[[str, str], Iterator[Any]]]] = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "postgresql": _postgres,
}
