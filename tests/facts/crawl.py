"""A committer in miniature: numbered commits of known rows, and what each of them would have published."""

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tests.facts import sample
from whimbrel.durable_file import Disk
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.query.snapshot import Snapshot


class Published(NamedTuple):
    number: int
    lengths: dict[str, int]
    parquet: list[str]


NOTHING = Published(0, {}, [])


def open_facts(
    directory: Path, published: Published = NOTHING, disk: Disk | None = None, tail_bytes: int = 1
) -> ParquetFacts:
    facts = ParquetFacts(directory, FactsConfig(tail_bytes=tail_bytes), disk or Disk())
    facts.cut(*published)
    return facts


def commit(facts: ParquetFacts, number: int) -> Published:
    links, hosts = [sample.links(number)], [sample.host("a", number)]
    facts.append(number, {"captures": [sample.capture(number)], "links": links, "hosts": hosts})
    return commit_nothing(facts, number)


def commit_nothing(facts: ParquetFacts, number: int) -> Published:
    facts.sync()
    return Published(number, facts.lengths(), facts.parquet())


def wait(facts: ParquetFacts) -> None:
    """Until the conversion under way has ended, if there is one."""
    if facts._conversion is not None:
        facts._conversion._thread.join()


def shown(directory: Path, published: Published) -> dict[str, list[int]]:
    """What a reader sees, as numbers of commits."""
    tables = Snapshot(directory, published.lengths, published.parquet).tables()
    columns = {"captures": "id", "links": "source_key", "hosts": "fetched"}
    return {
        name: (table if isinstance(table, pa.Table) else table.to_table())[columns[name]].to_pylist()
        for name, table in tables.items()
        if name in columns
    }


def expected(number: int) -> dict[str, list[int]]:
    numbers = list(range(1, number + 1))
    return {"captures": numbers, "links": [n for n in numbers for _ in range(3)], "hosts": numbers[-1:]}


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "facts").iterdir())
