"""SQL over a snapshot: one SELECT at a time, in a database that can do nothing else.

Three fences, each of which would do for most of what they keep out. The statement is parsed by DuckDB itself and must
be one SELECT. The database has no access to files but the snapshot's Parquet files, loads no extensions, and does not
look for tables among Python's variables. Its settings are locked before the first question.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final, Self

import duckdb
import pyarrow as pa

from whimbrel.error import UsageError, WhimbrelError
from whimbrel.facts.api import FactsDamaged
from whimbrel.flow import Config
from whimbrel.query.function import add_functions, add_url_functions
from whimbrel.query.near_duplicate import NEAR_DUPLICATES, add_near_duplicates, add_simhash
from whimbrel.query.snapshot import Snapshot, has_readable_names
from whimbrel.query.table_rows import literals
from whimbrel.query.view import make_views

_BATCH_ROWS: Final = 10_000
_AGAIN_S: Final = 0.05
_SHOW_TABLES: Final = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_NO_TABLE: Final = re.compile(r"^Catalog Error: Table with name (\S+) does not exist!")
"""DuckDB goes on with a view that has a name like it, which may be one of our own."""


class QueryConfig(Config, frozen=True):
    memory_bytes: int = 1_000_000_000
    spill_bytes: int = 10_000_000_000
    """Sorts and joins that need more memory go to a temporary directory, up to this."""
    threads: int = 1
    time_limit_s: float = 300.0
    """From the question to the last row of the answer."""


class QueryRefused(UsageError):
    """Not a single SELECT."""


class QueryFailed(WhimbrelError):
    """A mistake in the statement, or a limit: what DuckDB says about it."""


class Answer:
    """Columns and rows; the rows can be taken once, batch by batch, so that an answer may be larger than memory."""

    def __init__(self, schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]") -> None:
        self.schema = schema
        self._batches = batches

    @classmethod
    def of(cls, table: "pa.Table") -> Self:
        return cls(table.schema, table.to_batches(max_chunksize=_BATCH_ROWS))

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        return iter(self._batches)


class Query:
    """Use as a context. One question at a time, to one crawl or to several."""

    def __init__(self, crawls: Sequence[Snapshot], config: QueryConfig) -> None:
        self._crawls, self._config = crawls, config
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            spill = stack.enter_context(TemporaryDirectory(prefix="whimbrel-query-"))
            self._connection = stack.enter_context(_connect(self._config, spill))
            add_simhash(self._connection)
            add_url_functions(self._connection)
            with self._as_damage():
                views = make_views(self._connection, self._crawls)
            self._documents = add_functions(self._connection, self._crawls)
            add_near_duplicates(self._connection, several=len(self._crawls) > 1)
            self.tables = sorted([*views, NEAR_DUPLICATES])
            """What can be asked for. The database has more views, which are our own."""
            self._lock()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def run(self, sql: str) -> Iterator[Answer]:
        """Ask. Raises QueryRefused, QueryFailed or Damaged, these two also while the rows are taken."""
        if _SHOW_TABLES.fullmatch(sql):
            sql = f"SELECT unnest({literals(self.tables)}) AS name"
        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.Error as error:
            raise QueryFailed(str(error)) from error
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            found = ", ".join(statement.type.name for statement in statements) or "nothing"
            raise QueryRefused(f"one SELECT is answered; this is {found}")
        with _Deadline(self._connection, self._config.time_limit_s, self._meaning) as deadline:
            with deadline.errors():
                reader = self._connection.sql(statements[0]).to_arrow_reader(_BATCH_ROWS)
            try:
                yield Answer(reader.schema, deadline.watched(reader))
            finally:
                reader.close()

    def _meaning(self, error: Exception) -> WhimbrelError:
        """Whether a statement failed because of the crawl's files. DuckDB names the one that it cannot read, unless the
        library that decodes Parquet's own structures has given up: only that raises no kind of error at all."""
        if self._documents.damage is not None:
            return self._documents.damage
        if isinstance(error, UnicodeDecodeError):
            return self._unreadable_names()
        if any(path in str(error) for path in self._paths()):
            return FactsDamaged(_first_line(error))
        if type(error) is duckdb.Error:
            return FactsDamaged(f"a Parquet file cannot be read: {_first_line(error)}")
        missing = _NO_TABLE.search(str(error))
        return QueryFailed(str(error) if missing is None else self._no_table(missing[1]))

    @contextmanager
    def _as_damage(self) -> Iterator[None]:
        """The views are ours: when one cannot be made, it is because of the files."""
        try:
            yield
        except duckdb.Error as error:
            raise FactsDamaged(_first_line(error)) from error
        except UnicodeDecodeError as error:
            # DuckDB quotes the name of a column that is no text any more, and its own words cannot be read then.
            raise self._unreadable_names() from error

    def _unreadable_names(self) -> FactsDamaged:
        found = [path for path in self._paths() if not has_readable_names(path)]
        return FactsDamaged(f"{', '.join(found) or 'a Parquet file'} has a column whose name is no text")

    def _no_table(self, name: str) -> str:
        near = get_close_matches(name.lower(), self.tables, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"there is no table {name!r}{hint}; the tables are: {', '.join(self.tables)}"

    def _paths(self) -> list[str]:
        tables = [files for crawl in self._crawls for of in (crawl.parquet, crawl.old_parquet) for files in of.values()]
        return [str(path) for files in tables for path in files]

    def _lock(self) -> None:
        """The order matters: without external access no path can be allowed, and locked is locked."""
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute(f"SET allowed_paths = {literals(self._paths())}")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")


class _Deadline:
    """Interrupts the database when the time is over, and again until the question is given up.

    An interrupt is lost when nothing runs at that moment.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, limit_s: float, meaning: Callable[[Exception], WhimbrelError]
    ) -> None:
        self._connection, self._limit_s, self._meaning = connection, limit_s, meaning
        self._ended, self._over = Event(), Event()
        self._thread = Thread(target=self._watch, name="query-deadline", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def check(self) -> None:
        if self._over.is_set():
            raise QueryFailed(f"not answered within {self._limit_s:g} s")

    def watched(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        with self.errors():
            for batch in batches:
                self.check()
                yield batch

    @contextmanager
    def errors(self) -> Iterator[None]:
        """DuckDB's own errors come as OSError where they pass through Arrow."""
        try:
            yield
        except (duckdb.Error, OSError, UnicodeDecodeError) as error:
            self.check()
            raise self._meaning(error) from error

    def _watch(self) -> None:
        if self._ended.wait(self._limit_s):
            return
        self._over.set()
        while not self._ended.wait(_AGAIN_S):
            self._connection.interrupt()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _connect(config: QueryConfig, spill: str) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:",
        config={
            "threads": config.threads,
            "memory_limit": f"{config.memory_bytes}B",
            "temp_directory": spill,
            "max_temp_directory_size": f"{config.spill_bytes}B",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        },
    )
